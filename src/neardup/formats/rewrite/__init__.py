"""Clean copies of input files.

    outputs ── files ──┬─ text ──────┬─ blocks ── codes      bytes of lines, as they are stored
                       ├─ annotate ──┴─ feed                 which lines, from the file's own reader
                       ├─ parquet ─┬─ columnar
                       ├─ ipc ─────┘
                       ├─ copying                            text files, one document each
                       └─ sink                               counting and compressing

``rewrite_file`` makes one copy; ``OutputSet`` decides what the copies of a run are called, and ``CleanWriter`` writes
them so that they appear together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neardup.formats.rewrite.model import Annotation, Written

if TYPE_CHECKING:
    from neardup.formats.rewrite.copying import copy_files
    from neardup.formats.rewrite.files import rewrite_file
    from neardup.formats.rewrite.outputs import OutputSet
    from neardup.formats.rewrite.writer import CleanWriter

__all__ = ["Annotation", "CleanWriter", "OutputSet", "Written", "copy_files", "rewrite_file"]

_HOMES = {"CleanWriter": "writer", "OutputSet": "outputs", "copy_files": "copying", "rewrite_file": "files"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
