"""An exact join of overfull documents: those of hot buckets that rare shingles cannot tell apart.

Such documents are nearly nothing but boilerplate, so that shingles which many hold can make two of them similar. The
join of ``engine.joins`` compares two documents only if they share one of the rarest shingles of each, and of documents
that differ in little but boilerplate most such pairs are similar. So its cost follows the number of similar pairs.

If each document has more similar ones than ``spec.crowd`` on average, there are crowds that nobody has found: in hot
buckets the longest documents lead, but of documents with one boilerplate the shortest are similar to most. These lead
crowds here, and the join passes over the pairs inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from neardup.engine.check import Checker
from neardup.engine.joins.common import Join
from neardup.engine.joins.exact import ExactJoin
from neardup.engine.observe import Silent
from neardup.engine.reading.collection import Collection, content_order
from neardup.engine.results.pairs import PairStore
from neardup.stages.sharing import MOST_BITS
from neardup.stages.shingle import Hasher
from neardup.types import F64, I32, I64, Mask

SHARE = 0.1
"""The share of the memory for data that the indexed sets may take; the pairs may take as much."""
SAMPLE = 64
"""Of this many documents, one is chosen that may lead a crowd."""
LEAST_SAMPLE = 128
"""The fewest documents that are chosen to lead crowds, however few there are in all."""
MET_PER_COMPARED = 64
"""Candidates that are met for the cost of comparing one."""


class _TooManyError(Exception):
    """More pairs would be compared than documents below the crowd limit can have."""


class OverfullJoin(ExactJoin):
    """All pairs of some documents, except those inside a crowd."""

    rounds = 1
    most_cells = 1 << MOST_BITS

    def __init__(
        self, collection: Collection, rows: I64, *, weight: I32, crowd: I32, check: Checker, threads: int
    ) -> None:
        """Prepare to join ``rows`` (rising).

        ``weight`` (int32[n]) is the number of documents that each row stands for; ``crowd`` (int32[n]) is the leader of
        the row's crowd, or -1.
        """
        hasher = Hasher(collection.spec.shingle, collection.spec.seed)
        super().__init__(
            *(collection, rows, hasher), weight=weight, check=check, sides=None, threads=threads, observer=Silent()
        )
        self.enough = self.threshold
        self.fit = self.space.budget.share(SHARE) // 16
        self._crowd = crowd
        self._spent = 0

    def find(self) -> bool:
        """Find the pairs, and crowds if the pairs are too many; return False if they are too many even so.

        The answer depends on neither threads nor memory.
        """
        rows, sides = self._pruned(self.rows, self.sides)
        free = rows[self._crowd[rows] < 0]
        for proposed in (free[:0], self._smallest_of_sample(free)):
            self._begin()
            self._proposed = proposed
            self._find_crowds(free)
            self.found.crowd = np.where(self._crowd < 0, self.found.crowd, self._crowd)
            try:
                if rows.size:
                    self.join(rows, sides)
                return True
            except _TooManyError:
                continue
        return False

    def pieces(self) -> Iterator[tuple[I64, I64, F64, Mask]]:
        """Yield the pairs, their similarities, and whether each is a pair of a new leader and a member of its crowd."""
        crowd = self.found.crowd
        for piece in self.found.pairs.pieces():
            is_inside = (crowd[piece.left] >= 0) & (crowd[piece.left] == crowd[piece.right])
            yield piece.left, piece.right, piece.similarity, is_inside

    def count(self, candidates_met: int, overlaps_counted: int) -> None:
        super().count(candidates_met, overlaps_counted)
        self._spent += candidates_met + MET_PER_COMPARED * overlaps_counted
        if self._spent > MET_PER_COMPARED * self.rows.size * self.collection.spec.crowd // 2:
            raise _TooManyError

    def keep(self, **done: Any) -> None:
        """Write no checkpoint: an interrupted join begins again."""

    def _begin(self) -> None:
        self.found.pairs.drop()
        n = len(self.collection)
        pairs = PairStore("overfull", n, self.space, part=SHARE)
        self.found, self._spent = Join(pairs, crowd=np.full(n, -1, dtype=np.int32)), 0

    def _may_have_crowds(self, rows: I64) -> bool:
        return False  # they are proposed by size

    def _smallest_of_sample(self, rows: I64) -> I64:
        """Return some of ``rows``, chosen by content, the smallest first."""
        prints = self.collection.prints.take(rows)
        some = np.lexsort((prints[:, 1], prints[:, 0]))[: max(LEAST_SAMPLE, rows.size // SAMPLE)]
        return content_order(self.collection, np.sort(rows[some]))[::-1].copy()
