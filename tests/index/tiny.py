"""Everything that an index does at some size, at sizes that a test has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module

SIZES = {
    "upkeep": {"FLUSH_DOCUMENTS": 8, "FLUSH_BATCHES": 5, "FAN": 2, "REWRITE_LEAST": 4, "IDLE_SECONDS": 0.002},
    "answers": {"CHUNK": 3},
    "views": {"CHUNK": 5},
    "bulk": {"SEGMENT_DOCUMENTS": 7},
    "changes": {},
    "statements": {"_MANY": 3},
}
"""Constants of modules in ``neardup.index``, and what they are here."""


@contextlib.contextmanager
def tiny(*, admit_at_once: int = 12) -> Iterator[None]:
    """Segments of a few documents, merged often; blocks of a few documents everywhere.

    ``admit_at_once``: documents of one transaction of ``add_if_new``, which a test of whole batches must not pass.
    """
    before = [
        (module, name, getattr(module, name), value)
        for home, values in SIZES.items()
        for module in [import_module(f"neardup.index.{home}")]
        for name, value in ({"ADMIT_AT_ONCE": admit_at_once} if home == "changes" else values).items()
    ]
    try:
        for module, name, _, value in before:
            setattr(module, name, value)
        yield
    finally:
        for module, name, old, _ in before:
            setattr(module, name, old)
