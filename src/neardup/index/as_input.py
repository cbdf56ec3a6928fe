"""The documents of an index as an input of the batch pipeline, and the spec as it was stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from neardup.arrays import numbers, strings
from neardup.errors import FormatError, SpecMismatch
from neardup.index.prepared import NUMBER
from neardup.index.statements import Reading, Row
from neardup.index.views import documents_of
from neardup.inputs.source import BATCH_BYTES, ReadOptions, Source, Task
from neardup.params import SPEC_VERSION, Spec
from neardup.types import I64, Batch

__all__ = ["IndexSource", "check_same", "read_spec", "stored_blocks"]

BLOCK = 4096
"""Documents that are read at a time."""


def stored_blocks(reading: Reading, *, counted: bool = True) -> Iterator[list[Row]]:
    """All documents as rows, in order, about 4 MB and at most BLOCK of them at a time.

    Raises:
        FormatError: a text is none; or, with ``counted``, there are more or fewer than the index counts.
    """
    held: list[Row] = []
    nbytes = count = 0
    for row in reading.scan(0, reading.state().next):
        if not isinstance(row[4], bytes):
            raise FormatError(f"{reading.path} is damaged: the text of document {row[1]!r} is none. Restore the file.")
        held.append(row)
        count += 1
        nbytes += len(row[4])
        if nbytes >= BATCH_BYTES or len(held) >= BLOCK:
            yield held
            held, nbytes = [], 0
    if counted and count != reading.state().documents:
        raise FormatError(f"{reading.path} is damaged: it has {count} documents and counts others. Restore the file.")
    if held:
        yield held


class IndexSource(Source):
    """One transaction's documents, for ``Reader``. To be read once, in the thread that holds the transaction."""

    paths = None

    def __init__(self, reading: Reading, name: str) -> None:
        super().__init__(name, ReadOptions())
        self._reading = reading

    def tasks(self) -> Iterator[Task]:
        """Yield a task for each block."""
        position = 0
        for rows in stored_blocks(self._reading):
            yield partial(self._batch, rows, position)
            self._seen(np.fromiter((row[0] for row in rows), np.int64, len(rows)))
            position += len(rows)

    def _seen(self, numbers: I64) -> None:
        """Told the numbers of the documents as they pass."""

    def _batch(self, rows: list[Row], position: int) -> Batch:
        documents, _, kinds = documents_of(rows, self._reading.path)
        if (kinds & NUMBER).all():
            ids: Any = numbers(np.array([int(row[1]) for row in rows], dtype=np.int64))
        else:
            ids = strings(row[1] for row in rows)
        places = np.arange(position + 1, position + 1 + len(rows))
        return Batch(documents, self.name, places, ids, consumed=documents.nbytes)


def read_spec(meta: dict[str, str], path: object) -> Spec:
    """The spec of an index from what its database says.

    Raises:
        FormatError: it is damaged, or of a version that this neardup does not know.
    """
    try:
        stored = json.loads(meta["spec"])
        if stored["version"] != SPEC_VERSION:
            raise FormatError(
                f"{path}: its spec has version {stored['version']}, this neardup knows {SPEC_VERSION}. Use the neardup "
                f"that wrote it ({meta.get('created_by')}), or build the index again."
            )
        return Spec.from_dict(stored)
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError) as exc:
        raise FormatError(f"{path}: the spec of the index is damaged ({exc}). Restore the file from a copy.") from exc


def check_same(mine: Spec, theirs: Spec, other: object) -> None:
    """Raise SpecMismatch, which says what differs, unless two indexes have one spec."""
    ours, others = mine.as_dict(), theirs.as_dict()
    differing = [name for name in ours if name != "id" and ours[name] != others.get(name)]
    if not differing and len(ours) == len(others):
        return
    told = ", ".join(f"{name} ({ours[name]} here and {others.get(name)} there)" for name in differing)
    raise SpecMismatch(f"{other} differs in {told}. Build one of the two again with the other's options.")
