"""The containment join of a collection: every document that is part of another, whatever the memory limit.

    documents that may be part of one (``rarity``) ── sets ──► index of their rarest shingles ── all texts ──► pairs

A document x is part of y when y has at least the threshold's share of its shingles. It is found by them: of any K
shingles of x, y holds all but as many as it may lack. So the rarest of each document that may be a part are indexed, as
few as it takes, and every document that is large enough to hold one is passed over the index and, where it holds
enough of those few, against the whole set. Where the sets do not fit into memory together there is a part of the index
and a pass over the texts for each piece of them, in order of size: the later ones leave out most texts. The answer
does not depend on threads, pieces, or the size of the table of occurrences.

As ``exact``, the same for Jaccard similarity; what is of both, dropping documents, is in ``rarity``.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from neardup.engine.check import TooLargeError
from neardup.engine.joins.exact import BOTH, Join
from neardup.engine.joins.rarity import SLAB, Sieve, slabs
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.results.pairs import PairStore
from neardup.engine.threads import in_order
from neardup.stages import join as join_stage
from neardup.stages import shingle as shingle_stage
from neardup.stages.contain import Parts, Scratch
from neardup.stages.join import Rarity
from neardup.stages.shingle import Hasher
from neardup.types import I64, U8, U64, SetBlock

__all__ = ["Sizes", "join", "sizes_of"]

SHARE = 0.4
"""Of the memory for data, for the sets that are indexed at a time."""
TABLE_BYTES = 40
"""Memory for each shingle of a document while its set is built, the set included."""
KEPT_BYTES = 40
"""Memory for each shingle by which parts are known: itself, its cell of the table, in a list, in the bitmap."""
MOST_FIT = 1 << 31
"""Shingles that are indexed at a time however much memory there is: more than a table can tell apart."""
FURTHER = 1.25
"""Of what a container may lack, so much is kept, about."""

Key = tuple[int, int]


def join(
    collection: Collection, rows: I64, hasher: Hasher, *, sides: U8 | None, threads: int, observer: Observer
) -> Join:
    """All pairs of ``rows`` of which one contains the threshold's share of the other's shingles.

    Memory: 1 byte a cell of the table of occurrences, which has one cell or two a shingle or what a third of the
    budget allows (a smaller one only drops fewer documents), then for each shingle of the documents that may be part
    of another 18 bytes at a threshold of 0.8, 33 at 0.5, in pieces where that is too much.

    Args:
        collection: texts and counts.
        rows: representatives that are not empty, rising.
        hasher: shingle and seed.
        sides: uint8[rows]: 1 and 2 where a pair needs one document of each side, 3 for both; None: any two.
        threads: how many.
        observer: told about progress.

    Raises:
        TooLargeError: two documents do not fit into memory together.
    """
    space = collection.space
    found = Join(PairStore("verified", len(collection), space, part=0.25, is_lasting=True))
    found.met, found.counted = space.state.get("joined", (0, 0))
    if "verified" in space.state:
        return found
    sieve = Sieve(collection, hasher, is_across=sides is not None, threads=threads, observer=observer)
    sides = np.full(rows.size, BOTH, dtype=np.uint8) if sides is None else sides
    # one round: a document that is part of nothing may still have a part, so all of them count in every round
    rarity, parts, of_parts = sieve.survivors(rows, sides, rounds=1)
    if parts.size:
        _Work(collection, hasher, rarity, rows, sides, threads, observer).join(parts, of_parts, found)
    if space.is_lasting:
        found.pairs.flush()
        space.checkpoint(verified=True, joined=[found.met, found.counted])
    return found


@dataclass(frozen=True, slots=True)
class _Queue:
    """Documents that may be part of another, by the number of their shingles with repeats, then by row."""

    rows: I64
    counts: I64
    sides: U8

    @classmethod
    def of(cls, rows: I64, counts: I64, sides: U8) -> _Queue:
        """Rising rows, put in order."""
        order = np.argsort(counts, kind="stable")
        return cls(rows[order], counts[order], sides[order])

    def behind(self, key: Key | None) -> int:
        """Documents up to the one of this count and row; none where there is no key."""
        if key is None:
            return 0
        first, last = np.searchsorted(self.counts, [key[0], key[0] + 1])
        return int(first + np.searchsorted(self.rows[first:last], key[1], side="right"))

    def key(self, last: int) -> Key | None:
        """Count and row of the document before place ``last``."""
        return (int(self.counts[last - 1]), int(self.rows[last - 1])) if last else None


class _Work:
    """One join: the documents that are passed over, and how."""

    fit: int | None = None
    """Shingles of the sets that are indexed at a time; None: as many as the budget allows. Tests set it."""

    def __init__(
        self, collection: Collection, hasher: Hasher, rarity: Rarity, rows: I64, sides: U8, threads: int, seen: Observer
    ) -> None:
        self.collection, self.hasher, self.rarity = collection, hasher, rarity
        self.rows, self.sides, self.counts = rows, sides, collection.counts.take(rows)
        self.threads, self.observer = threads, seen
        self.threshold = collection.spec.threshold
        self.space = collection.space
        self._lock = threading.Lock()
        self._rooms: list[U64] = []

    def join(self, parts: I64, sides: U8, found: Join) -> None:
        """Find what contains each of ``parts``, piece after piece of them."""
        queue = _Queue.of(parts, self.collection.counts.take(parts), sides)
        cost = _shingle_bytes(self.threshold)
        largest = np.sort(np.argsort(self.counts, kind="stable")[-2:])
        need = int(cost * self.counts[largest].min() + TABLE_BYTES * self.counts[largest].max())
        if need > self.space.budget.work:
            raise TooLargeError(self.rows[largest], need)
        fit = self.fit if self.fit is not None else min(MOST_FIT, int(self.space.budget.share(SHARE) / cost))
        state = self.space.state
        begin, end, passed = queue.behind(state.get("contained")), queue.behind(state.get("until")), state.get("passed")
        if end <= begin or int(queue.counts[begin:end].sum()) > fit:
            end, passed = begin, None  # less memory than before the interruption: this piece from its start
        total = np.concatenate((np.zeros(1, np.int64), np.cumsum(queue.counts)))
        while begin < parts.size:
            if end <= begin:
                end = max(begin + 1, int(np.searchsorted(total, total[begin] + fit, side="right")) - 1)
            pieces = begin > 0 or end < parts.size
            name = f"joining to {end:,} of {parts.size:,} parts" if pieces else "join"
            self._pass(name, queue, begin, end, passed, found)
            self.space.settle()
            begin, passed = end, None
            self._keep(found, contained=queue.key(end), until=None, passed=None)

    def _pass(self, name: str, queue: _Queue, begin: int, end: int, passed: int | None, found: Join) -> None:
        """Index a piece, and pass all documents behind the row ``passed`` that are large enough over it."""
        own = self._indexed(queue.rows[begin:end], queue.counts[begin:end], queue.sides[begin:end])
        if not own.sizes.size:
            return
        parts = Parts(own, self.rarity, self.threshold, documents=self.rows.size)
        at = np.flatnonzero(self.counts >= own.sizes[0])
        at = at[np.searchsorted(self.rows[at], passed, side="right") :] if passed is not None else at
        rows, sides, counts = self.rows[at], self.sides[at], self.counts[at]
        self.observer.stage(name, rows.size, "documents")
        spare: list[Scratch] = []

        def work(slab: slice) -> tuple[slice, int, int]:
            try:
                scratch = spare.pop()
            except IndexError:
                scratch = parts.scratch()
            met = counted = 0
            room, starts, sizes = self._built(rows[slab], counts[slab])
            for some in parts.probe(SetBlock(rows[slab], sides[slab], starts, sizes, room), scratch):
                with self._lock:
                    found.pairs.add(some.part, some.whole, some.similarity)
                met += some.candidates_met
                counted += some.overlaps_counted
            self._rooms.append(room)
            spare.append(scratch)
            return slab, met, counted

        for slab, met, counted in in_order(work, slabs(counts), threads=self.threads):
            found.met += met
            found.counted += counted
            self.observer.advance(slab.stop - slab.start)
            last = int(rows[slab.stop - 1])
            self._keep(found, contained=queue.key(begin), until=queue.key(end), passed=last)

    def _keep(self, found: Join, **done: Key | int | None) -> None:
        """Let what was found so far last, where it is time to."""
        if self.space.is_due:
            with self._lock:
                found.pairs.flush()
                self.space.checkpoint(joined=[found.met, found.counted], **done)

    def _indexed(self, rows: I64, counts: I64, sides: U8) -> SetBlock:
        """Sets in rising order of size, without those of which too many shingles turn out to be their own."""
        order = np.argsort(rows)
        rows, counts, sides = rows[order], counts[order], sides[order]
        rooms = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        hashes = np.empty(int(rooms[-1]), dtype=np.uint64)  # what is left over is never touched
        starts, sizes = np.empty(rows.size, dtype=np.int64), np.empty(rows.size, dtype=np.int64)

        def build(slab: slice) -> None:
            room, begins, some = self._built(rows[slab], counts[slab])
            out = hashes[int(rooms[slab.start]) : int(rooms[slab.stop])]
            join_stage.pack(room, begins, some, self.rarity, self.threshold, out)
            self._rooms.append(room)
            starts[slab], sizes[slab] = begins + rooms[slab.start], some

        for _ in in_order(build, slabs(counts), threads=self.threads):
            pass
        alive = np.flatnonzero(sizes)
        alive = alive[np.argsort(sizes[alive], kind="stable")]
        return SetBlock(rows[alive], sides[alive], starts[alive], sizes[alive], hashes)

    def _built(self, rows: I64, counts: I64) -> tuple[U64, I64, I64]:
        return _build(self.collection, rows, counts, self.hasher, self._rooms)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many shingles some documents have: of a pair the smaller set is the part."""

    rows: I64
    """Rising."""
    sizes: I64

    def of(self, rows: I64) -> I64:
        """Sizes of some of these rows."""
        some: I64 = self.sizes[np.searchsorted(self.rows, rows)]
        return some

    def sides(self, left: I64, right: I64) -> I64:
        """Which of two documents is part of the other: 0 where the left one is, 2 the right one, 1 equally large."""
        sides: I64 = np.sign(self.of(left) - self.of(right)) + 1
        return sides


def sizes_of(collection: Collection, rows: I64, hasher: Hasher, *, threads: int) -> Sizes:
    """Count the distinct shingles of rising rows. O(shingles); memory: 16 bytes a row."""
    counts = collection.counts.take(rows)
    sizes = np.empty(rows.size, dtype=np.int64)

    def count(slab: slice) -> None:
        _, _, sizes[slab] = _build(collection, rows[slab], counts[slab], hasher, [])

    for _ in in_order(count, slabs(counts), threads=threads):
        pass
    return Sizes(rows, sizes)


def _build(collection: Collection, rows: I64, counts: I64, hasher: Hasher, spare: list[U64]) -> tuple[U64, I64, I64]:
    """Sets of rising rows in a room, of the ``spare`` ones if there is one, where each starts, and its size."""
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    sizes = np.empty(rows.size, dtype=np.int64)
    try:
        room = spare.pop()
    except IndexError:
        room = np.empty(0, dtype=np.uint64)
    if room.size < starts[-1]:
        room = np.empty(max(int(starts[-1]), SLAB), dtype=np.uint64)
    for documents, local, part in collection.texts.parts(rows):
        rooms = starts[part.start : part.stop + 1]
        shingle_stage.build_rows(documents, local, counts[part], hasher, rooms, sizes[part], room)
    return room, starts[:-1], sizes


def _shingle_bytes(threshold: float) -> float:
    """Memory for each shingle of an indexed set: itself, and as one by which the set is known."""
    return 8 + KEPT_BYTES * min(1.0, FURTHER * (1 - threshold))
