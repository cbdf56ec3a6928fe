"""The exact join of a collection: every pair of at least the threshold, whatever the memory limit.

    all documents ── count shingles ──► rarity ── drop those that can have no partner ──► (again while it pays)
        ── sets, in order of size ──► index ── probe, in threads ──► verified pairs

Sets that do not fit into memory together are joined block against block, in the order of their sizes; only blocks whose
sizes allow a pair meet. The answer does not depend on threads, blocks, or the size of the table of occurrences.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.pipeline.check import TooLargeError
from neardup.pipeline.collection import Collection
from neardup.pipeline.observe import Observer
from neardup.pipeline.pairs import PairStore
from neardup.pipeline.threads import in_order
from neardup.stages import join as join_stage
from neardup.stages import shingle as shingle_stage
from neardup.stages.join import Cells, Index, Occurrences, Rarity, SetBlock
from neardup.stages.shingle import Hasher
from neardup.types import I64, U8, U32, U64

__all__ = ["Join", "join"]

Flags = NDArray[np.bool_]

SLAB = 1 << 18
"""Shingles that a thread hashes at a time."""
HELD = 96
"""Slabs whose cells are held before they are counted: the more, the less often the table comes through the cache."""
ROUNDS = 3
"""Times that documents without a partner are looked for, at most."""
WORTH = 0.7
"""Share of the shingles that may be left for another round to pay."""
SET_BYTES = 32
"""Memory for each shingle of a block: set, prefix, table of keys, postings."""
RANGES = 24
"""Ranges of probing sets that each thread gets, about: the more, the more even their work."""
LEAST_BITS, MOST_BITS = 12, 32
"""Of the table of occurrences: binary logarithms of its cells."""
BOTH = 3
"""A document on both sides of the join; any two of them may pair."""


@dataclass(slots=True)
class Join:
    """What the join found."""

    pairs: PairStore
    met: int = 0
    """Pairs that shared one of their rarest shingles."""
    counted: int = 0
    """Pairs whose shingles were counted."""


def join(
    collection: Collection, rows: I64, hasher: Hasher, *, sides: U8 | None, threads: int, observer: Observer
) -> Join:
    """All pairs of ``rows`` of at least the threshold of the spec.

    Memory: 1 byte a cell of the table of occurrences, which has one cell or two a shingle or what a third of the
    budget allows (a smaller one only drops fewer documents), then 32 bytes a shingle of the documents that are left, in
    blocks where that is too much.

    Args:
        collection: texts and counts.
        rows: representatives that are not empty, rising.
        hasher: shingle and seed.
        sides: uint8[rows]: 1 and 2 where a pair needs one document of each side, 3 for both; None: any two.
        threads: how many.
        observer: told about progress.
    """
    space = collection.space
    found = Join(PairStore("verified", len(collection), space, part=0.25, may_spill=True))
    found.met, found.counted = space.state.get("joined", (0, 0))
    if "verified" in space.state:
        return found
    work = _Work(collection, hasher, sides is not None, threads, observer)
    rarity, rows, sides = work.survivors(rows, np.full(rows.size, BOTH, dtype=np.uint8) if sides is None else sides)
    if rows.size:
        work.join(rows, sides, rarity, found)
    if space.workdir is not None:
        found.pairs.flush()
        space.checkpoint(verified=True, joined=[found.met, found.counted])
    return found


class _Work:
    """One join: the collection and how it is worked on."""

    fit: int | None = None
    """Shingles of the sets held at a time; None: as many as the budget allows. Tests set it."""

    def __init__(
        self, collection: Collection, hasher: Hasher, is_across: bool, threads: int, observer: Observer
    ) -> None:
        self.collection, self.hasher, self.is_across = collection, hasher, is_across
        self.threads, self.observer = threads, observer
        self.threshold = collection.spec.threshold
        self.space = collection.space
        self._lock = threading.Lock()
        self._rooms: list[U32] = []

    def survivors(self, rows: I64, sides: U8) -> tuple[Rarity, I64, U8]:
        """How rare shingles are among the documents that could have a partner, and these documents."""
        for _ in range(ROUNDS):
            counts = self.collection.counts.take(rows)
            total = int(counts.sum())
            rarity = self._rarity(rows, sides, counts, total)
            alive = self._alive(rows, counts, rarity)
            rows, sides = rows[alive], sides[alive]
            if int(counts[alive].sum()) > WORTH * total:
                break
        return rarity, rows, sides

    def _rarity(self, rows: I64, sides: U8, counts: I64, total: int) -> Rarity:
        most = self.space.budget.share(0.33) // (2 if self.is_across else 1)
        bits = max(LEAST_BITS, min(total.bit_length(), most.bit_length() - 1, MOST_BITS))
        table = Occurrences(bits, is_across=self.is_across)
        self.observer.stage("rarity", rows.size, "documents")

        def cells(slab: slice) -> tuple[U32, list[Cells]]:
            side, size = int(sides[slab.start]), int(counts[slab].sum())
            raw, values = self._room(size), self._room(size)
            found = []
            used = 0
            for documents, local, _ in self.collection.texts.parts(rows[slab]):
                some = join_stage.cells(
                    documents, local, self.hasher, bits=bits, side=side, raw=raw, values=values[used:]
                )
                found.append(some)
                used += some.values.size
            self._rooms.append(raw)
            return values, found

        held: list[tuple[U32, list[Cells]]] = []
        slabs = list(_slabs(counts, sides))
        for number, found in enumerate(in_order(cells, slabs, threads=self.threads), 1):
            held.append(found)
            if number % HELD == 0 or number == len(slabs):
                self._count(table, [some for _, all_of in held for some in all_of])
                self._rooms += [values for values, _ in held]
                held = []
        self._rooms.clear()
        return table.rarity()

    def _room(self, size: int) -> U32:
        """Memory for cells, used again where it is large enough: fresh pages cost more than filling them."""
        try:
            room = self._rooms.pop()
        except IndexError:
            room = np.empty(0, dtype=np.uint32)
        return room if room.size >= size else np.empty(max(size, SLAB), dtype=np.uint32)

    def _count(self, table: Occurrences, held: list[Cells]) -> None:
        step = -(-table.parts // (4 * self.threads))
        ranges = ((first, min(first + step, table.parts)) for first in range(0, table.parts, step))
        for _ in in_order(lambda part: table.count(held, *part), ranges, threads=self.threads):
            pass

    def _alive(self, rows: I64, counts: I64, rarity: Rarity) -> Flags:
        alive = np.empty(rows.size, dtype=np.bool_)

        def look(slab: slice) -> int:
            for documents, local, part in self.collection.texts.parts(rows[slab]):
                alive[slab][part] = join_stage.survivors(
                    documents, local, counts[slab][part], self.hasher, rarity, self.threshold
                )
            return int(slab.stop - slab.start)

        for done in in_order(look, _slabs(counts), threads=self.threads):
            self.observer.advance(done)
        return alive

    def join(self, rows: I64, sides: U8, rarity: Rarity, found: Join) -> None:
        """Join the documents that are left: as one block, or block against block.

        Raises:
            TooLargeError: two documents do not fit into memory together.
        """
        counts = self.collection.counts.take(rows)
        largest = np.sort(np.argsort(counts, kind="stable")[-2:])
        need = SET_BYTES * int(counts[largest].sum())
        if need > self.space.budget.work:
            raise TooLargeError(rows[largest], need)
        fit = self.fit if self.fit is not None else self.space.budget.share(0.55) // SET_BYTES
        is_whole = int(counts.sum()) <= fit
        sets, starts, sizes = self._sets(rows, counts, rarity, is_kept=is_whole)
        alive = np.flatnonzero(sizes)
        order = alive[np.lexsort((rows[alive], sizes[alive]))]
        rows, counts, sizes, sides = rows[order], counts[order], sizes[order], sides[order]
        done = self._done(rows, sizes)
        self.observer.stage("join", rows.size, "documents")
        self.observer.advance(done)
        if is_whole:
            index = Index(SetBlock(sets, starts[order], sizes, sides), rows.size, rarity, self.threshold)
            self._probe(index, rows, done, found, is_last=True)
            return
        cuts = _cuts(sizes, fit // 2)
        for first, last in cuts:
            if last <= done:
                continue
            for low, high in cuts:
                # the largest of a block must be large enough for the smallest of the block that it is probed with
                if high > last or sizes[high - 1] / sizes[first] < self.threshold:
                    continue
                own = np.arange(low, high)
                places = own if low == first else np.concatenate((own, np.arange(first, last)))
                block = self._block(rows[places], counts[places], sides[places], rarity)
                index = Index(block, own.size, rarity, self.threshold)
                begin = max(first, done) - first + (0 if low == first else own.size)
                self._probe(index, rows[places], begin, found, is_last=low == first)

    def _done(self, rows: I64, sizes: I64) -> int:
        """Probing sets that an interrupted run had finished; it may have had other blocks."""
        if "probed" not in self.space.state:
            return 0
        size, row = self.space.state["probed"]
        first, last = np.searchsorted(sizes, [size, size + 1])
        return int(first + np.searchsorted(rows[first:last], row, side="right"))

    def _sets(self, rows: I64, counts: I64, rarity: Rarity, *, is_kept: bool) -> tuple[U64, I64, I64]:
        """Sets of rising rows, where each starts, and its size; without ``is_kept`` the sizes only.

        A document that turns out to have no partner has the size 0.
        """
        rooms = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        sets = np.empty(int(rooms[-1]) if is_kept else 0, dtype=np.uint64)  # what is left over is never touched
        starts, sizes = np.empty(rows.size, dtype=np.int64), np.empty(rows.size, dtype=np.int64)
        spare: list[U64] = []

        def build(slab: slice) -> None:
            first, last = int(rooms[slab.start]), int(rooms[slab.stop])
            try:
                out = spare.pop()
            except IndexError:
                out = np.empty(0, dtype=np.uint64)
            if out.size < last - first:
                out = np.empty(max(last - first, SLAB), dtype=np.uint64)
            for documents, local, part in self.collection.texts.parts(rows[slab]):
                inside = rooms[slab.start + part.start : slab.start + part.stop + 1] - first
                shingle_stage.build_rows(
                    documents, local, counts[slab][part], self.hasher, inside, sizes[slab][part], out
                )
            starts[slab] = rooms[slab] - first
            join_stage.pack(out, starts[slab], sizes[slab], rarity, self.threshold, sets[first:last])
            starts[slab] += first
            spare.append(out)

        for _ in in_order(build, _slabs(counts), threads=self.threads):
            pass
        return sets, starts, sizes

    def _block(self, rows: I64, counts: I64, sides: U8, rarity: Rarity) -> SetBlock:
        """Sets of rows in any order."""
        order = np.argsort(rows)
        sets, starts, sizes = self._sets(rows[order], counts[order], rarity, is_kept=True)
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return SetBlock(sets, starts[back], sizes[back], sides)

    def _probe(self, index: Index, rows: I64, first: int, found: Join, *, is_last: bool) -> None:
        """Probe with the sets from ``first`` on; ``is_last``: then all pairs with smaller ones are known."""

        def work(part: tuple[int, int]) -> tuple[int, int, int]:
            met = counted = 0
            for some in index.probe(*part):
                with self._lock:
                    found.pairs.add(rows[some.left], rows[some.right], some.similarity)
                met += some.met
                counted += some.counted
            return part[1], met, counted

        sizes = index.block.sizes
        for stop, met, counted in in_order(work, _ranges(sizes, first, RANGES * self.threads), threads=self.threads):
            found.met += met
            found.counted += counted
            if is_last:
                self.observer.advance(stop - first)
                first = stop
                if self.space.is_due:
                    with self._lock:
                        found.pairs.flush()
                        probed = [int(sizes[stop - 1]), int(rows[stop - 1])]
                        self.space.checkpoint(joined=[found.met, found.counted], probed=probed)


def _slabs(counts: I64, sides: U8 | None = None) -> Iterator[slice]:
    """Runs of documents of about ``SLAB`` shingles, each of one side."""
    total = np.cumsum(counts)
    begin = 0
    while begin < counts.size:
        spent = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, spent + SLAB, side="right")))
        if sides is not None:
            other = np.flatnonzero(sides[begin:end] != sides[begin])
            end = begin + int(other[0]) if other.size else end
        yield slice(begin, end)
        begin = end


def _cuts(counts: I64, most: int) -> list[tuple[int, int]]:
    """Blocks of at most ``most`` shingles, or of one document."""
    total = np.cumsum(counts)
    cuts = []
    begin = 0
    while begin < counts.size:
        spent = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, spent + most, side="right")))
        cuts.append((begin, end))
        begin = end
    return cuts


def _ranges(sizes: I64, first: int, parts: int) -> Iterator[tuple[int, int]]:
    """About ``parts`` runs of sets from ``first`` on, of equal numbers of shingles."""
    total = np.cumsum(sizes[first:])
    if total.size:
        ends = np.unique(np.searchsorted(total, np.arange(1, parts + 1) * (int(total[-1]) / parts), side="left") + 1)
        begin = 0
        for end in np.minimum(ends, total.size).tolist():
            if end > begin:
                yield first + begin, first + end
                begin = end
