"""The exact join of a collection: every pair of at least the threshold, whatever the memory limit.

    documents that may have a partner ── sets, in order of size ──► index ── probe, in threads ──► pairs

Sets that do not fit into memory together are indexed block after block, in the order of their sizes. Larger sets are
built again for each block that they are held against, as far as their size allows a pair. The answer does not depend on
threads, blocks, or the size of the table of occurrences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from neardup.cutting import cut
from neardup.engine.check import TooLargeError
from neardup.engine.joins.common import SLAB, JoinWork, Queue
from neardup.engine.threads import in_order
from neardup.stages.join import Index, Prefixes
from neardup.types import F64, I64, U8, Mask, SetBlock

INDEX_SHARE = 0.45
"""Of the memory for data, for the sets that are indexed."""
RANGES = 24
"""Ranges of probing sets that each thread gets, about: the more, the more even their work."""
LEAST_RANGE = 1 << 14
"""Shingles of a range, at least: each has its own scratch memory."""


class ExactJoin(JoinWork):
    """The exact join: as one block of sets, or block after block.

    Memory: a byte for each cell of the table of occurrences (1 or 2 a shingle), up to a third of the budget; a smaller
    table drops fewer documents. For each shingle of the documents that are left 14 bytes at a threshold of 0.8, 25 at
    0.5; in blocks where that is too much.
    """

    rounds = 3

    def join(self, rows: I64, sides: U8) -> None:
        """Find the pairs of the documents that pruning left."""
        counts = self.collection.counts.take(rows)
        cost = _shingle_bytes(self.threshold)
        largest = np.sort(np.argsort(counts, kind="stable")[-2:])
        need = int(cost * counts[largest].sum())
        if need > self.space.budget.work:
            raise TooLargeError(rows[largest], need)
        fit = self.fit if self.fit is not None else int(self.space.budget.share(INDEX_SHARE) / cost)
        is_whole = int(counts.sum()) <= fit
        sets, starts, sizes = self.packed(rows, counts, threads=self.threads, is_kept=is_whole)
        alive = np.flatnonzero(sizes)
        order = alive[np.argsort(sizes[alive], kind="stable")]
        queue = Queue(rows, counts, sizes, sides)[order]
        self.observer.stage("join", len(queue), "documents")
        done = queue.behind(self.space.state.get("probed"))
        if is_whole:
            self.observer.advance(done)
            block = SetBlock(queue.rows, queue.sides, starts[order], queue.sizes, sets)
            prefixes = Prefixes(block, self.rarity, self.threshold, self.crowds_of(block.rows))
            for stop in self._probe(Index(prefixes), prefixes, _ranges(queue.sizes, done, RANGES * self.threads)):
                self.observer.advance(stop - done)
                done = stop
                self.keep(probed=queue.key(stop))
            return
        begun = queue.behind(self.space.state.get("indexed"))
        self.observer.advance(begun)
        for part in cut(queue.sizes, fit):
            if part.stop > begun:
                self._join_block(queue, part, done)
                self.observer.advance(part.stop - max(part.start, begun))
                self.keep(indexed=queue.key(part.stop))

    def near(self, left: I64, right: I64) -> tuple[Mask, F64]:
        found = self.check(left, right, self.enough)
        return found >= 0, found[found >= 0]

    def _join_block(self, queue: Queue, part: slice, done: int) -> None:
        """A block of sets against itself, and against larger ones as far as their size allows; from ``done`` on."""
        own = queue[part]
        prefixes = self._prefixes(own, threads=self.threads)
        index = Index(prefixes)
        ranges = _ranges(own.sizes, max(part.start, done) - part.start, RANGES * self.threads)
        for _ in self._probe(index, prefixes, ranges):
            pass
        # a set is too large for the whole block when it is for the largest of it
        low = part.stop
        reach = low + int(np.searchsorted(-int(own.sizes[-1]) / queue.sizes[low:], -self.threshold, side="right"))
        larger = queue[max(low, done) : max(low, done, reach)]

        def against(part: slice) -> tuple[int, int]:
            return self.add(index.probe(self._prefixes(larger[part], threads=1), 0, part.stop - part.start))

        for counted in in_order(against, cut(larger.sizes, SLAB), threads=self.threads):
            self.count(*counted)

    def _probe(self, index: Index, prefixes: Prefixes, ranges: Iterable[tuple[int, int]]) -> Iterator[int]:
        """Probe with ranges of the indexed sets, in threads; yields the end of each range."""

        def work(part: tuple[int, int]) -> tuple[int, tuple[int, int]]:
            return part[1], self.add(index.probe(prefixes, *part))

        for stop, counted in in_order(work, ranges, threads=self.threads):
            self.count(*counted)
            yield stop

    def _prefixes(self, queue: Queue, *, threads: int) -> Prefixes:
        """Prefixes of the sets of documents, in the order of the queue."""
        order = np.argsort(queue.rows)
        hashes, starts, sizes = self.packed(queue.rows[order], queue.counts[order], threads=threads)
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        block = SetBlock(queue.rows, queue.sides, starts[back], sizes[back], hashes)
        return Prefixes(block, self.rarity, self.threshold, self.crowds_of(block.rows))


def _shingle_bytes(threshold: float) -> float:
    """Memory for each shingle of an indexed set: itself, in a prefix, in a posting list, in the table of keys."""
    probing, indexed = 1 - threshold, (1 - threshold) / (1 + threshold)
    return 8 + 8 * probing + 40 * indexed


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
