"""The documents of an index that contain given ones, or are contained in them: one pass over all stored texts.

Bands cannot find them, so this is the containment join of the batch pipeline, between the queries and the documents of
one transaction. Asking for similar documents is in ``answers``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from neardup.engine import run as engine
from neardup.engine.state import FoundRows
from neardup.index.as_input import IndexSource
from neardup.index.core import Core
from neardup.index.outcomes import ContainedHit
from neardup.index.prepared import original_id
from neardup.index.statements import Reading
from neardup.index.views import names_of
from neardup.inputs.reader import Reader
from neardup.inputs.source import ReadOptions, Source, Task
from neardup.params import CONTAINMENT, RunOptions
from neardup.session import Run
from neardup.tuning import as_exact
from neardup.types import F64, I64, Batch, Documents

__all__ = ["find_contained"]

PIECE = 4096
"""Queries of a batch."""
NO_CROWD = 1 << 30
"""Copies of a query, however many, are all listed."""
SIDES = ("query", "both", "document")
"""Which is part of the other: where the query is the smaller, as large, the larger."""


def _given(batch: Batch) -> Batch:
    return batch


class _QuerySource(Source):
    """Queries as a source."""

    paths = None

    def __init__(self, documents: Documents) -> None:
        super().__init__("queries", ReadOptions(), total_bytes=documents.nbytes)
        self._documents = documents

    def tasks(self) -> Iterator[Task]:
        """Yield a task for each block."""
        for first in range(0, len(self._documents), PIECE):
            last = min(first + PIECE, len(self._documents))
            batch = Batch(self._documents.slice(first, last), self.name, np.arange(first + 1, last + 1))
            yield partial(_given, batch)


class _NumberedSource(IndexSource):
    """The documents of a transaction, whose numbers are remembered as they pass."""

    def __init__(self, reading: Reading, name: str) -> None:
        super().__init__(reading, name)
        self._numbers = [np.empty(0, dtype=np.int64)]

    def _seen(self, numbers: I64) -> None:
        self._numbers.append(numbers)

    @property
    def numbers(self) -> I64:
        """int64[n], of all documents in order."""
        return np.concatenate(self._numbers)


def find_contained(
    core: Core, reading: Reading, queries: Documents, *, top: int | None, threshold: float
) -> list[list[ContainedHit]]:
    """For each query the documents of which one contains the threshold's share of the other, most first.

    O(all stored text). Memory: as of a run, half of what is free at most, then work goes to a temporary folder.
    """
    found: list[list[ContainedHit]] = [[] for _ in range(len(queries))]
    spec = replace(as_exact(core.spec), measure=CONTAINMENT, threshold=threshold, crowd=NO_CROWD, collapse_exact=False)
    stored = _NumberedSource(reading, core.name)
    options = ReadOptions(item=core.sketcher.is_item)
    reader = Reader([_QuerySource(queries)], [], options, further=[stored], is_across=True)
    with Run(reader, spec, RunOptions(threads=core.threads)) as run:
        query, place, similarity, contained = _pairs(engine.find(run.search(), rule="star"), len(queries), top)
    numbers = stored.numbers[place]
    names = {number: (id, kind) for number, id, kind in _names(reading, np.unique(numbers).tolist())}
    for asked, number, share, side in zip(
        query.tolist(), numbers.tolist(), similarity.tolist(), contained.tolist(), strict=True
    ):
        found[asked].append(ContainedHit(original_id(*names[number]), share, SIDES[side]))
    return found


def _names(reading: Reading, numbers: list[int]) -> list[tuple[int, str, int]]:
    return names_of(reading.names(numbers), reading.path)


def _pairs(found: FoundRows, cut: int, top: int | None) -> tuple[I64, I64, F64, I64]:
    """Query, place of the document, similarity and side of the pairs, as they are to be listed."""
    nothing = np.empty(0, dtype=np.int64)
    columns = [(nothing, nothing, np.empty(0), nothing)]
    assert found.sizes is not None
    for piece in found.pairs.pieces():
        side = found.sizes.sides(piece.left, piece.right)
        columns.append((piece.left, piece.right - cut, piece.similarity, side))
    query, place, similarity, side = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.lexsort((place, -similarity, query))
    if top is not None:
        asked = query[order]
        rank = np.arange(order.size) - np.searchsorted(asked, asked)
        order = order[rank < top]
    return query[order], place[order], similarity[order], side[order]
