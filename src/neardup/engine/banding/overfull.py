"""An exact join of the documents that shingles of few holders cannot tell apart, so that no pair of them is missed.

Such documents are nearly nothing but boilerplate. The rarest shingles of each say which could be similar; these are
few, or the documents are similar in fact. One that is similar to more documents than ``spec.crowd`` leads a crowd.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.engine.joins.common import Join
from neardup.engine.joins.exact import ExactJoin
from neardup.engine.reading.collection import content_order
from neardup.engine.results.pairs import PairStore
from neardup.types import I64

SHARE = 0.1
"""Of the memory for data, for the sets that are indexed, and as much for the pairs."""
SAMPLE = 64
"""One of so many documents may lead a crowd, and LEAST_SAMPLE of them at least."""
LEAST_SAMPLE = 128
MET_PER_COMPARED = 64
"""Candidates that cost as much as one that is compared."""


class _TooMany(Exception):
    """More pairs would be compared than a crowd has room for."""


class OverfullJoin(ExactJoin):
    """The exact join of some documents, of which those that have too many similar ones are crowds."""

    rounds = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.enough = self.threshold
        self.fit = self.space.budget.share(SHARE) // 16
        self.found = Join(PairStore("overfull", len(self.collection), self.space, part=SHARE))
        self._spent = 0

    def find(self) -> bool:
        """Find all pairs, with crowds where there are more than a crowd has room for; False: even so they are too many."""
        rows, sides = self._pruned(self.rows, self.sides)
        if not rows.size:
            return True
        for proposed in (rows[:0], self._smallest_of_sample(rows)):
            self.found = Join(PairStore("overfull", len(self.collection), self.space, part=SHARE), crowd=np.empty(0, np.int32))
            self._spent = 0
            self._proposed = proposed
            self._find_crowds(rows)
            try:
                self.join(rows, sides)
                return True
            except _TooMany:
                print("too many")
        return False

    def pieces(self):
        crowd = self.found.crowd
        for piece in self.found.pairs.pieces():
            if crowd.size:
                inside = (crowd[piece.left] >= 0) & (crowd[piece.left] == crowd[piece.right])
            else: inside = np.zeros(piece.left.size, dtype=np.bool_)
            yield piece.left, piece.right, piece.similarity, inside

    def count(self, candidates_met: int, overlaps_counted: int) -> None:
        super().count(candidates_met, overlaps_counted)
        self._spent += candidates_met // MET_PER_COMPARED + overlaps_counted
        if self._spent > self.rows.size * self.collection.spec.crowd // 2:
            raise _TooMany

    def keep(self, **done: Any) -> None:
        """Nothing lasts before all is found."""

    def _may_have_crowds(self, rows: I64) -> bool:
        return False  # not such as the exact join has

    def _smallest_of_sample(self, rows: I64) -> I64:
        """Some rows, chosen by content, the smallest first: what has least of its own is similar to most."""
        prints = self.collection.prints.take(rows)
        some = np.lexsort((prints[:, 1], prints[:, 0]))[: max(LEAST_SAMPLE, rows.size // SAMPLE)]
        return content_order(self.collection, np.sort(rows[some]))[::-1].copy()
