"""Folders that the library ``datasets`` writes with ``save_to_disk``; that library is not needed.

``folders`` reads them, ``rewrite`` writes clean copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neardup.formats.hf.folders import (
    DATASET,
    DICT_FILE,
    INFO_FILE,
    STATE_FILE,
    DatasetSource,
    dataset_folders,
    open_dataset,
)

if TYPE_CHECKING:
    from neardup.formats.hf.rewrite import rewrite_dataset, rewrite_dataset_dict

__all__ = [
    "DATASET",
    "DICT_FILE",
    "INFO_FILE",
    "STATE_FILE",
    "DatasetSource",
    "dataset_folders",
    "open_dataset",
    "rewrite_dataset",
    "rewrite_dataset_dict",
]

_REWRITE = ("rewrite_dataset", "rewrite_dataset_dict")


def __getattr__(name: str) -> Any:
    if name not in _REWRITE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from neardup.formats.hf import rewrite

    return getattr(rewrite, name)
