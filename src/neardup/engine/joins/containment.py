"""The containment join of a collection: every document that is part of another, whatever the memory limit.

    documents that may be part of one ── sets ──► index of their rarest shingles, outlines ── all texts ──► pairs

A document x is part of y when y has at least the threshold's share of its shingles. It is found by them: of any K
shingles of x, y holds all but as many as it may lack. So the rarest of each document that may be a part are indexed, as
few as it takes. Every document that is large enough to hold one is passed over the index. Where it holds enough of
those few, it is held against the outline of the set, of a byte a shingle, and where that agrees against the set itself,
which is built again: of 618,507 pairs of abstracts 9,065 came so far, and all of them were pairs. Where the index does
not fit into memory as a whole, there is a part of it and a pass over the texts for each piece of the documents, in
order of size: the later ones leave out most texts. The answer does not depend on threads, pieces, or the size of the
table of occurrences.

``exact`` is the same for Jaccard similarity; what both share is in ``common``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import cut, distinct, starts_of
from neardup.engine.check import Buffers, TooLargeError, built_sets
from neardup.engine.joins.common import SLAB, WORTH, JoinWork, Queue, slabs
from neardup.engine.joins.crowds import near_enough
from neardup.engine.reading.collection import Collection
from neardup.engine.threads import in_order
from neardup.kernels.containing import Scratch
from neardup.stages import join as join_stage
from neardup.stages.join import Joined, Kept, Parts
from neardup.stages.shingle import Hasher
from neardup.types import F64, I64, U8, Mask, PaddedSets, SetBlock

INDEX_SHARE = 0.4
"""Of the memory for data, for what is indexed at a time."""
LEFT_SHARE = 0.8
"""Of what the documents leave of it, where they are in memory: another piece is another pass over the texts."""
TABLE_BYTES = 40
"""Memory for each shingle of a document while its set is built, the set included."""
SET_BYTES = 8
"""... and once it is built."""
OUTLINE_BYTES = 1.25
"""Memory for each shingle of an outline, at most."""
KEPT_BYTES = 40
"""Memory for each shingle by which parts are known: itself, its cell of the table, in a list, in the bitmap."""
MOST_FIT = 1 << 31
"""Shingles that are indexed at a time however much memory there is: more than a table can tell apart."""
TRIED = 16
"""Of so many slabs of documents one tells whether those that have no partner are worth looking for."""
FURTHER = 1.25
"""Of what a container may lack, so much is kept, about."""


class ContainmentJoin(JoinWork):
    """The containment join: all documents are passed over an index of those that may be part of one, piece by piece.

    Memory: a byte for each cell of the table of occurrences (1 or 2 a shingle), up to a third of the budget; a smaller
    table drops fewer documents. For each shingle of the documents that may be a part 11 bytes at most at a threshold of
    0.8, 26 at 0.5, and about half of that where texts have much in common; in pieces where that is too much.
    """

    # a document that is part of nothing may still have a part, so all of them count in every round
    rounds = 1

    def join(self, rows: I64, sides: U8) -> None:
        """Find what contains each of the documents that pruning left, which may be a part."""
        counts = self.collection.counts.take(self.rows)
        cost = _shingle_bytes(self.threshold)
        largest = np.sort(np.argsort(counts, kind="stable")[-2:])
        small, large = int(counts[largest].min()), int(counts[largest].max())
        need = int(cost * small + max(TABLE_BYTES * large, SET_BYTES * large + TABLE_BYTES * small))
        if need > self.space.budget.work:
            raise TooLargeError(self.rows[largest], need)
        everyone = Queue(self.rows, counts, counts, self.sides)
        fit = self.fit if self.fit is not None else min(MOST_FIT, int(self._room() / cost))
        counts = self.collection.counts.take(rows)
        queue = Queue(rows, counts, counts, sides)[np.argsort(counts, kind="stable")]
        state = self.space.state
        begin, end, passed = queue.behind(state.get("contained")), queue.behind(state.get("until")), state.get("passed")
        if end <= begin or int(queue.counts[begin:end].sum()) > fit:
            end, passed = begin, None  # less memory than before the interruption: this piece from its start
        total = starts_of(queue.counts)
        while begin < len(queue):
            if end <= begin:
                end = max(begin + 1, int(np.searchsorted(total, total[begin] + fit, side="right")) - 1)
            is_piece = begin > 0 or end < len(queue)
            name = f"joining to {end:,} of {len(queue):,} parts" if is_piece else "join"
            self._pass_over(name, everyone, queue, begin, end, passed)
            self.space.release_memory()
            begin, passed = end, None
            self.keep(contained=queue.key(end), until=None, passed=None)

    def _alive(self, rows: I64, counts: I64) -> Mask:
        """As far as it pays: one look more at the texts costs half of what a set takes that it saves."""
        every = list(slabs(counts))
        tried = np.concatenate((rows[:0], *(np.arange(slab.start, slab.stop) for slab in every[::TRIED])))
        alive = np.ones(rows.size, dtype=np.bool_)
        alive[tried] = super()._alive(rows[tried], counts[tried])
        rest = np.setdiff1d(np.arange(rows.size), tried, assume_unique=True)
        if int(counts[tried][alive[tried]].sum()) <= WORTH * int(counts[tried].sum()):
            alive[rest] = super()._alive(rows[rest], counts[rest])
        else:
            self.observer.advance(rest.size)
        return alive

    def _room(self) -> int:
        """Bytes for what is indexed at a time."""
        budget = self.space.budget
        if self.space.workdir is not None:
            return budget.share(INDEX_SHARE)
        left = budget.work - self.collection.nbytes - self.rarity.classes.nbytes
        return max(budget.share(INDEX_SHARE), int(LEFT_SHARE * left))

    def near(self, left: I64, right: I64) -> tuple[Mask, F64]:
        found = self.check(left, right, self.threshold)
        rows = distinct(np.concatenate((left, right)))
        known = sizes_of(self.collection, rows, self.check.hasher, threads=self.threads)
        a, b = known.of(left), known.of(right)
        common = np.rint(found * np.minimum(a, b))
        enough = (found >= 0) & (common / (a + b - common) >= near_enough(self.threshold))
        return enough, found[enough]

    def _pass_over(self, name: str, everyone: Queue, queue: Queue, begin: int, end: int, passed: int | None) -> None:
        """Index a piece, and pass all documents behind the row ``passed`` that are large enough over it."""
        parts = self._indexed(queue[begin:end], is_last=end == len(queue))
        if not parts.sets.sizes.size:
            return
        at = np.flatnonzero(everyone.counts >= parts.sets.sizes[0])
        if passed is not None:
            at = at[np.searchsorted(everyone.rows[at], passed, side="right") :]
        others = everyone[at]
        self.observer.stage(name, len(others), "documents")
        spare: list[Scratch] = []

        def work(slab: slice) -> tuple[slice, tuple[int, int]]:
            try:
                scratch = spare.pop()
            except IndexError:
                scratch = parts.scratch()
            rows = others.rows[slab]
            with self.built(rows, others.counts[slab]) as sets:
                block = SetBlock(rows, others.sides[slab], *sets)
                may_be = parts.probe(block, scratch, self.crowds_of(rows))
                counted = self.add(found for some in may_be for found in self._contained(some, rows, sets))
            spare.append(scratch)
            return slab, counted

        for slab, counted in in_order(work, slabs(others.counts), threads=self.threads):
            self.count(*counted)
            self.observer.advance(slab.stop - slab.start)
            last = int(others.rows[slab.stop - 1])
            self.keep(contained=queue.key(begin), until=queue.key(end), passed=last)

    def _contained(self, some: Joined, rows: I64, sets: PaddedSets) -> Iterator[Joined]:
        """The pairs of ``Parts.probe`` that are contained, by the sets of both; ``sets`` are those of ``rows``."""
        met = some.candidates_met, some.overlaps_counted
        members = distinct(some.left)
        counts = self.collection.counts.take(members)
        for piece in cut(counts, SLAB):
            own = members[piece]
            at = np.flatnonzero((some.left >= own[0]) & (some.left <= own[-1]))
            with self.built(own, counts[piece]) as built:
                left, right = np.searchsorted(own, some.left[at]), some.right[at]
                share = join_stage.contained(left, right, built, sets, self.threshold)
            near = share >= 0
            yield Joined(own[left[near]], rows[right[near]], share[near], 0, 0)
        yield Joined(members[:0], members[:0], np.empty(0), *met)

    def _indexed(self, queue: Queue, *, is_last: bool) -> Parts:
        """The documents of a queue, without those of which too many shingles turn out to be their own."""
        queue = queue[np.argsort(queue.rows)]

        def choose(slab: slice) -> Kept:
            with self.built(queue.rows[slab], queue.counts[slab]) as sets:
                return join_stage.kept_of(sets, self.rarity, self.threshold, documents=self.rows.size)

        every = in_order(choose, slabs(queue.counts), threads=self.threads)
        kept = join_stage.joined(every, int(queue.counts.sum()), len(queue))
        if is_last:
            self.rarity = self.rarity.dropped()
        self.space.release_memory()
        return Parts(queue.rows, queue.sides, self.crowds_of, kept, self.threshold)


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
    buffers = Buffers(np.uint64)

    def count(slab: slice) -> None:
        with built_sets(collection, rows[slab], counts[slab], hasher, buffers, fresh=SLAB) as found:
            sizes[slab] = found.sizes

    for _ in in_order(count, slabs(counts), threads=threads):
        pass
    return Sizes(rows, sizes)


def _shingle_bytes(threshold: float) -> float:
    """Memory for each shingle of an indexed set: in its outline, and as one by which the set is known."""
    return OUTLINE_BYTES + KEPT_BYTES * min(1.0, FURTHER * (1 - threshold))
