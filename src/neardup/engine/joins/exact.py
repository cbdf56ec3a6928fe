"""The exact join of a collection: every pair of at least the threshold, whatever the memory limit.

    documents that may have a partner (``rarity``) ── sets, in order of size ──► index ── probe, in threads ──► pairs

Sets that do not fit into memory together are indexed block after block, in the order of their sizes, and those of
larger documents, as far as their size allows a pair, are built again for each block that they are held against. The
answer does not depend on threads, blocks, or the size of the table of occurrences.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from neardup.engine.check import TooLargeError
from neardup.engine.joins.rarity import SLAB, Sieve, slabs
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.results.pairs import PairStore
from neardup.engine.threads import in_order
from neardup.stages import join as join_stage
from neardup.stages import shingle as shingle_stage
from neardup.stages.join import Index, Prefixes, Rarity
from neardup.stages.shingle import Hasher
from neardup.types import I64, U8, U64, SetBlock

__all__ = ["Join", "join"]

SHARE = 0.45
"""Of the memory for data, for the sets that are indexed."""
RANGES = 24
"""Ranges of probing sets that each thread gets, about: the more, the more even their work."""
LEAST_RANGE = 1 << 14
"""Shingles of a range, at least: each has its own scratch memory."""
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
    budget allows (a smaller one only drops fewer documents), then for each shingle of the documents that are left 14
    bytes at a threshold of 0.8, 25 at 0.5, in blocks where that is too much.

    Args:
        collection: texts and counts.
        rows: representatives that are not empty, rising.
        hasher: shingle and seed.
        sides: uint8[rows]: 1 and 2 where a pair needs one document of each side, 3 for both; None: any two.
        threads: how many.
        observer: told about progress.
    """
    space = collection.space
    found = Join(PairStore("verified", len(collection), space, part=0.25, is_lasting=True))
    found.met, found.counted = space.state.get("joined", (0, 0))
    if "verified" in space.state:
        return found
    sieve = Sieve(collection, hasher, is_across=sides is not None, threads=threads, observer=observer)
    rarity, rows, sides = sieve.survivors(rows, np.full(rows.size, BOTH, dtype=np.uint8) if sides is None else sides)
    if rows.size:
        _Work(collection, hasher, rarity, threads, observer).join(rows, sides, found)
    if space.is_lasting:
        found.pairs.flush()
        space.checkpoint(verified=True, joined=[found.met, found.counted])
    return found


@dataclass(frozen=True, slots=True)
class _Queue:
    """Documents that are joined, in the order of their sizes, equally large ones by row."""

    rows: I64
    counts: I64
    """int64[n], shingles with repeats."""
    sizes: I64
    sides: U8

    def __len__(self) -> int:
        return self.rows.size

    def slice(self, first: int, last: int) -> _Queue:
        """Some of them."""
        part = slice(first, last)
        return _Queue(self.rows[part], self.counts[part], self.sizes[part], self.sides[part])

    def behind(self, key: tuple[int, int] | None) -> int:
        """Documents up to the one of this size and row; none where there is no key."""
        if key is None:
            return 0
        size, row = key
        first, last = np.searchsorted(self.sizes, [size, size + 1])
        return int(first + np.searchsorted(self.rows[first:last], row, side="right"))

    def key(self, last: int) -> tuple[int, int]:
        """Size and row of the document before place ``last``."""
        return int(self.sizes[last - 1]), int(self.rows[last - 1])


class _Work:
    """One join: the collection and how it is worked on."""

    fit: int | None = None
    """Shingles of the sets that are indexed at a time; None: as many as the budget allows. Tests set it."""

    def __init__(
        self, collection: Collection, hasher: Hasher, rarity: Rarity, threads: int, observer: Observer
    ) -> None:
        self.collection, self.hasher, self.rarity = collection, hasher, rarity
        self.threads, self.observer = threads, observer
        self.threshold = collection.spec.threshold
        self.space = collection.space
        self._lock = threading.Lock()
        self._rooms: list[U64] = []

    def join(self, rows: I64, sides: U8, found: Join) -> None:
        """Join documents: as one block, or block after block.

        Raises:
            TooLargeError: two documents do not fit into memory together.
        """
        counts = self.collection.counts.take(rows)
        cost = _shingle_bytes(self.threshold)
        largest = np.sort(np.argsort(counts, kind="stable")[-2:])
        need = int(cost * counts[largest].sum())
        if need > self.space.budget.work:
            raise TooLargeError(rows[largest], need)
        fit = self.fit if self.fit is not None else int(self.space.budget.share(SHARE) / cost)
        is_whole = int(counts.sum()) <= fit
        sets, starts, sizes = self._sets(rows, counts, is_kept=is_whole)
        alive = np.flatnonzero(sizes)
        order = alive[np.lexsort((rows[alive], sizes[alive]))]
        queue = _Queue(rows[order], counts[order], sizes[order], sides[order])
        self.observer.stage("join", len(queue), "documents")
        done = queue.behind(self.space.state.get("probed"))
        if is_whole:
            self.observer.advance(done)
            block = SetBlock(queue.rows, queue.sides, starts[order], queue.sizes, sets)
            self._join_whole(queue, Prefixes(block, self.rarity, self.threshold), done, found)
            return
        begun = queue.behind(self.space.state.get("indexed"))
        self.observer.advance(begun)
        for low, high in _cuts(queue.sizes, fit):
            if high > begun:
                self._join_block(queue, low, high, done, found)
                self.observer.advance(high - max(low, begun))
                self._keep(found, indexed=queue.key(high))

    def _join_whole(self, queue: _Queue, prefixes: Prefixes, done: int, found: Join) -> None:
        """All sets against those before them; what was probed with is kept from time to time."""
        index = Index(prefixes)
        jobs = ((prefixes, first, last) for first, last in _ranges(queue.sizes, done, RANGES * self.threads))
        for last in self._probe(index, queue.rows, jobs, found):
            self.observer.advance(last - done)
            done = last
            self._keep(found, probed=queue.key(last))

    def _join_block(self, queue: _Queue, low: int, high: int, done: int, found: Join) -> None:
        """A block of sets against itself, and against larger ones as far as their size allows; from ``done`` on."""
        own = queue.slice(low, high)
        prefixes = Prefixes(self._block(own), self.rarity, self.threshold)
        index = Index(prefixes)
        inside = _ranges(own.sizes, max(low, done) - low, RANGES * self.threads)
        for _ in self._probe(index, own.rows, ((prefixes, *part) for part in inside), found):
            pass
        # a set is too large for the whole block when it is for the largest of it
        reach = high + int(np.searchsorted(-int(own.sizes[-1]) / queue.sizes[high:], -self.threshold, side="right"))
        larger = queue.slice(max(high, done), max(high, done, reach))

        def against(part: tuple[int, int]) -> tuple[int, int]:
            some = larger.slice(*part)
            probing = Prefixes(self._block(some, is_alone=True), self.rarity, self.threshold)
            return self._add(index, own.rows, probing, some.rows, 0, len(some), found)

        for met, counted in in_order(against, _cuts(larger.sizes, SLAB), threads=self.threads):
            found.met += met
            found.counted += counted

    def _probe(self, index: Index, rows: I64, jobs: Iterable[tuple[Prefixes, int, int]], found: Join) -> Iterator[int]:
        """Probe with ranges of the indexed sets, in threads; yields the end of each range."""

        def work(job: tuple[Prefixes, int, int]) -> tuple[int, int, int]:
            prefixes, first, last = job
            return last, *self._add(index, rows, prefixes, rows, first, last, found)

        for last, met, counted in in_order(work, jobs, threads=self.threads):
            found.met += met
            found.counted += counted
            yield last

    def _add(
        self, index: Index, rows: I64, probing: Prefixes, others: I64, first: int, last: int, found: Join
    ) -> tuple[int, int]:
        met = counted = 0
        for some in index.probe(probing, first, last):
            with self._lock:
                found.pairs.add(rows[some.left], others[some.right], some.similarity)
            met += some.candidates_met
            counted += some.overlaps_counted
        return met, counted

    def _keep(self, found: Join, **done: tuple[int, int]) -> None:
        """Let what was found so far last, where it is time to."""
        if self.space.is_due:
            with self._lock:
                found.pairs.flush()
                self.space.checkpoint(joined=[found.met, found.counted], **done)

    def _sets(self, rows: I64, counts: I64, *, is_kept: bool) -> tuple[U64, I64, I64]:
        """Sets of rising rows, where each starts, and its size; without ``is_kept`` the sizes only.

        A document that turns out to have no partner has the size 0.
        """
        rooms = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        sets = np.empty(int(rooms[-1]) if is_kept else 0, dtype=np.uint64)  # what is left over is never touched
        starts, sizes = np.empty(rows.size, dtype=np.int64), np.empty(rows.size, dtype=np.int64)

        def build(slab: slice) -> None:
            out = sets[int(rooms[slab.start]) : int(rooms[slab.stop])]
            starts[slab], sizes[slab] = self._build(rows[slab], counts[slab], out)
            starts[slab] += rooms[slab.start]

        for _ in in_order(build, slabs(counts), threads=self.threads):
            pass
        return sets, starts, sizes

    def _build(self, rows: I64, counts: I64, out: U64) -> tuple[I64, I64]:
        """Sets of rising rows into ``out``, end to end, if it is not empty; where each starts, and its size."""
        starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        sizes = np.empty(rows.size, dtype=np.int64)
        try:
            room = self._rooms.pop()
        except IndexError:
            room = np.empty(0, dtype=np.uint64)
        if room.size < starts[-1]:
            room = np.empty(max(int(starts[-1]), SLAB), dtype=np.uint64)
        for documents, local, part in self.collection.texts.parts(rows):
            rooms = starts[part.start : part.stop + 1]
            shingle_stage.build_rows(documents, local, counts[part], self.hasher, rooms, sizes[part], room)
        join_stage.pack(room, starts[:-1], sizes, self.rarity, self.threshold, out)
        self._rooms.append(room)
        return starts[:-1], sizes

    def _block(self, queue: _Queue, *, is_alone: bool = False) -> SetBlock:
        """Sets of documents in the order of their sizes; ``is_alone``: built in this thread."""
        order = np.argsort(queue.rows)
        rows, counts = queue.rows[order], queue.counts[order]
        if is_alone:
            sets = np.empty(int(counts.sum()), dtype=np.uint64)
            starts, sizes = self._build(rows, counts, sets)
        else:
            sets, starts, sizes = self._sets(rows, counts, is_kept=True)
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return SetBlock(queue.rows, queue.sides, starts[back], sizes[back], sets)


def _shingle_bytes(threshold: float) -> float:
    """Memory for each shingle of an indexed set: itself, in a prefix, in a posting list, in the table of keys."""
    probing, indexed = 1 - threshold, (1 - threshold) / (1 + threshold)
    return 8 + 8 * probing + 40 * indexed


def _cuts(sizes: I64, most: int) -> list[tuple[int, int]]:
    """Blocks of at most ``most`` shingles, or of one document."""
    total = np.cumsum(sizes)
    cuts = []
    begin = 0
    while begin < sizes.size:
        spent = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, spent + most, side="right")))
        cuts.append((begin, end))
        begin = end
    return cuts


def _ranges(sizes: I64, first: int, parts: int) -> Iterator[tuple[int, int]]:
    """At most ``parts`` runs of sets from ``first`` on, of about equal numbers of shingles."""
    total = np.cumsum(sizes[first:])
    if total.size:
        parts = min(parts, 1 + int(total[-1]) // LEAST_RANGE)
        ends = np.unique(np.searchsorted(total, np.arange(1, parts + 1) * (int(total[-1]) / parts), side="left") + 1)
        begin = 0
        for end in np.minimum(ends, total.size).tolist():
            if end > begin:
                yield first + begin, first + end
                begin = end
