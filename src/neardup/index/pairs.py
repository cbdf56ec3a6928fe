"""Pairs by the batch pipeline: of all documents of an index, and of texts with those that contain them.

Bands cannot find what contains a text, so that is the containment join of the pipeline, between the queries and the
documents of one transaction. Asking for similar documents is in ``answers``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from neardup.arrays import numbers, strings
from neardup.cutting import distinct
from neardup.engine import run as engine
from neardup.engine.observe import Observer, Silent
from neardup.engine.state import FoundRows
from neardup.index.answers import first_of_each
from neardup.index.columns import Where, matching_rows, read_columns
from neardup.index.core import Core
from neardup.index.outcomes import ContainedHit
from neardup.index.prepared import NUMBER, original_id
from neardup.index.statements import Reading, Row
from neardup.index.views import documents_of, names_of
from neardup.inputs.reader import Reader
from neardup.inputs.source import ReadOptions, Source, Task
from neardup.params import CONTAINMENT, NO_CROWD, ListOptions, RunOptions
from neardup.result import Result
from neardup.session import Run
from neardup.tuning import as_exact
from neardup.types import F64, I64, Batch, Documents

PIECE = 4096
"""Queries of a batch."""
SIDES = ("query", "both", "document")
"""Which is part of the other: where the query is the smaller, as large, the larger."""


class _IndexSource(Source):
    """One transaction's documents, for ``Reader``. To be read once, in the thread that holds the transaction."""

    paths = None

    def __init__(self, reading: Reading, name: str, passed: list[I64] | None = None, where: Where = None) -> None:
        """Read the documents that match a filter. ``passed`` takes their numbers, block after block."""
        super().__init__(name, ReadOptions())
        self._reading, self._passed, self._where = reading, passed, where

    def tasks(self) -> Iterator[Task]:
        position = 0
        for block in self._reading.blocks():
            rows = matching_rows(self._reading, block, self._where)
            if not rows:
                continue
            yield partial(self._batch, rows, position)
            if self._passed is not None:
                self._passed.append(np.array([row[0] for row in rows], dtype=np.int64))
            position += len(rows)

    def _batch(self, rows: list[Row], position: int) -> Batch:
        documents, _, kinds = documents_of(rows, self._reading.path)
        if (kinds & NUMBER).all():
            ids: Any = numbers(np.array([int(row[1]) for row in rows], dtype=np.int64))
        else:
            ids = strings(row[1] for row in rows)
        places = np.arange(position + 1, position + 1 + len(rows))
        return Batch(documents, self.name, places, ids, consumed=documents.nbytes)


class _QuerySource(Source):
    """Queries, for ``Reader``."""

    paths = None

    def __init__(self, documents: Documents) -> None:
        super().__init__("queries", ReadOptions(), total_bytes=documents.nbytes)
        self._documents = documents

    def tasks(self) -> Iterator[Task]:
        for first in range(0, len(self._documents), PIECE):
            last = min(first + PIECE, len(self._documents))
            yield partial(Batch, self._documents.slice(first, last), self.name, np.arange(first + 1, last + 1))


def find_pairs(
    core: Core, index: object, listing: ListOptions, *, link: str, options: RunOptions, observer: Observer
) -> Result:
    """Return the result of ``find`` for the documents of an index; it names ``index`` as its input."""
    with core.database.reading() as reading:
        source = _IndexSource(reading, core.name)
        reader = Reader([source], [source.name], ReadOptions(item=core.sketcher.is_item), index)
        keep_written = listing.with_text is not False
        with Run(reader, core.spec, options, observer=observer, keep_written=keep_written) as run:
            return run.find(link).result(listing)


def find_contained(
    core: Core, queries: Documents, *, top: int | None, threshold: float, where: Where, observer: Observer | None
) -> list[list[ContainedHit]]:
    """Find for each query the documents of which one contains the threshold's share of the other, most first.

    O(all stored text). Memory: as of a run, half of what is free at most, then work goes to a temporary folder.
    """
    found: list[list[ContainedHit]] = [[] for _ in range(len(queries))]
    spec = replace(as_exact(core.spec), measure=CONTAINMENT, threshold=threshold, crowd=NO_CROWD, collapse_exact=False)
    passed = [np.empty(0, dtype=np.int64)]
    with core.database.reading() as reading:
        stored = _IndexSource(reading, core.name, passed, where)
        options = ReadOptions(item=core.sketcher.is_item)
        reader = Reader([_QuerySource(queries)], [], options, further=[stored], is_across=True)
        with Run(reader, spec, RunOptions(threads=core.threads), observer=observer or Silent()) as run:
            query, place, similarity, contained = _pairs(engine.find(run.search(), rule="star"), len(queries), top)
        number = np.concatenate(passed)[place]
        named = names_of(reading.names(distinct(number).tolist()), reading.path)
        beside = read_columns(reading, named)
    names = {number: (id, kind) for number, id, kind in named}
    columns = (query.tolist(), number.tolist(), similarity.tolist(), contained.tolist())
    for asked, at, share, side in zip(*columns, strict=True):
        found[asked].append(ContainedHit(original_id(*names[at]), share, SIDES[side], beside.get(at)))
    return found


def _pairs(found: FoundRows, cut: int, top: int | None) -> tuple[I64, I64, F64, I64]:
    """Query, place of the document, similarity and side of the pairs, as they are to be listed."""
    nothing = np.empty(0, dtype=np.int64)
    columns = [(nothing, nothing, np.empty(0), nothing)]
    assert found.sizes is not None
    for piece in found.pairs.pieces():
        side = found.sizes.sides(piece.left, piece.right)
        columns.append((piece.left, piece.right - cut, piece.similarity, side))
    query, place, similarity, side = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = first_of_each(query, top, place, -similarity)
    return query[order], place[order], similarity[order], side[order]
