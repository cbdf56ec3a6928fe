"""How rare shingles are in a collection, and which documents can have no partner: what the exact join begins with.

documents ── cells of their shingles ──► occurrences ──► rarity ── drop ──► those that are left, again while it pays
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from neardup.cutting import cut
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.sets import Buffers
from neardup.engine.threads import in_order
from neardup.stages import join as join_stage
from neardup.stages.join import Cells, Occurrences, Rarity
from neardup.stages.shingle import Hasher
from neardup.types import I64, U8, U32

__all__ = ["ROUNDS", "SLAB", "Pruner", "slabs"]

Flags = NDArray[np.bool_]

SLAB = 1 << 18
"""Shingles that a thread hashes at a time."""
HELD = 96
"""Slabs whose cells are held before they are counted, at most: the more, the less often the table comes through the
cache."""
ROUNDS = 3
"""Times that documents without a partner are looked for, at most."""
WORTH = 0.7
"""Share of the shingles that may be left for another round to pay."""
LEAST_BITS, MOST_BITS = 12, 32
"""Of the table of occurrences: binary logarithms of its cells."""


class Pruner:
    """Drops the documents of a collection that can have no partner of at least the threshold."""

    def __init__(
        self, collection: Collection, hasher: Hasher, *, is_across: bool, threads: int, observer: Observer
    ) -> None:
        """Nothing is read yet.

        Args:
            collection: texts and counts.
            hasher: shingle and seed.
            is_across: pairs lie across two sides only.
            threads: how many.
            observer: told about progress.
        """
        self._collection, self._hasher, self._is_across = collection, hasher, is_across
        self._threads, self._observer = threads, observer
        self._buffers = Buffers(np.uint32)

    def prune(self, rows: I64, sides: U8, *, rounds: int) -> tuple[Rarity, I64, U8]:
        """How rare shingles are among the documents that could have a partner, and these documents.

        More than one of the ``rounds`` is only for pairs of which both documents are left: those of Jaccard similarity.
        After one round all that were given are still counted, and those that are left could be part of any of them: a
        document may lack as much of itself by either measure.
        """
        for _ in range(rounds):
            counts = self._collection.counts.take(rows)
            total = int(counts.sum())
            rarity = self._rarity(rows, sides, counts, total)
            alive = self._alive(rows, counts, rarity)
            rows, sides = rows[alive], sides[alive]
            if int(counts[alive].sum()) > WORTH * total:
                break
        return rarity, rows, sides

    def _rarity(self, rows: I64, sides: U8, counts: I64, total: int) -> Rarity:
        cells_fit = self._collection.space.budget.share(0.33) // (2 if self._is_across else 1)
        bits = max(LEAST_BITS, min(total.bit_length(), cells_fit.bit_length() - 1, MOST_BITS))
        table = Occurrences(bits, is_across=self._is_across)
        self._observer.stage("rarity", rows.size, "documents")

        def cells(slab: slice) -> tuple[U32, list[Cells]]:
            side, size = int(sides[slab.start]), int(counts[slab].sum())
            raw, values = (self._buffers.take(size, fresh=SLAB) for _ in range(2))
            found = []
            used = 0
            for documents, local, _ in self._collection.texts.parts(rows[slab]):
                some = join_stage.cells(
                    documents, local, self._hasher, bits=bits, side=side, raw=raw, values=values[used:]
                )
                found.append(some)
                used += some.values.size
            self._buffers.give_back(raw)
            return values, found

        most = max(1, min(HELD, self._collection.space.budget.share(0.25) // (4 * SLAB)))
        held: list[tuple[U32, list[Cells]]] = []
        every = list(slabs(counts, sides))
        for number, found in enumerate(in_order(cells, every, threads=self._threads), 1):
            held.append(found)
            if number % most == 0 or number == len(every):
                self._count(table, [some for _, all_of in held for some in all_of])
                for values, _ in held:
                    self._buffers.give_back(values)
                held = []
        self._buffers.clear()
        return table.rarity()

    def _count(self, table: Occurrences, held: list[Cells]) -> None:
        step = -(-table.parts // (4 * self._threads))
        ranges = ((first, min(first + step, table.parts)) for first in range(0, table.parts, step))
        for _ in in_order(lambda part: table.count(held, *part), ranges, threads=self._threads):
            pass

    def _alive(self, rows: I64, counts: I64, rarity: Rarity) -> Flags:
        alive = np.empty(rows.size, dtype=np.bool_)

        def look(slab: slice) -> int:
            for documents, local, part in self._collection.texts.parts(rows[slab]):
                alive[slab][part] = join_stage.survivors(
                    documents, local, counts[slab][part], self._hasher, rarity, self._collection.spec.threshold
                )
            return int(slab.stop - slab.start)

        for done in in_order(look, slabs(counts), threads=self._threads):
            self._observer.advance(done)
        return alive


def slabs(counts: I64, sides: U8 | None = None) -> Iterator[slice]:
    """Runs of documents of about ``SLAB`` shingles, each of one side."""
    borders = [] if sides is None else (np.flatnonzero(sides[1:] != sides[:-1]) + 1).tolist()
    for first, stop in pairwise((0, *borders, counts.size)):
        for part in cut(counts[first:stop], SLAB):
            yield slice(first + part.start, first + part.stop)
