"""Clusters from verified pairs, by one of two link rules. Nothing here adds an edge.

Pairs come in pieces, so they need not all be held; rows are numbered by rank, the first to keep being 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import graph
from neardup.types import F64, I32, I64


class Components:
    """Connected components of n rows, whose members may be chained: union-find, 4 bytes a row."""

    def __init__(self, n: int) -> None:
        self._parent = np.arange(n, dtype=np.int32)

    def join(self, left: I64, right: I64) -> None:
        """Add edges. Amortised nearly constant time for each."""
        graph.join(self._parent, left, right)

    def labels(self) -> I32:
        """int32[n]: smallest row of each row's component."""
        graph.settle(self._parent)
        return self._parent

    def joined(self) -> tuple[I64, I32]:
        """Rows that have an edge, rising, and their labels."""
        labels = self.labels()
        joined = labels != np.arange(labels.size, dtype=np.int32)
        joined[labels[joined]] = True
        rows = np.flatnonzero(joined)
        return rows, labels[rows]


class Stars:
    """Greedy stars over n rows numbered in the order in which they may keep: a free row keeps all its free neighbours.

    Every member is a verified neighbour of its keeper, and no two keepers are neighbours. 13 bytes a row.
    """

    def __init__(self, n: int, fixed: NDArray[np.bool_] | None = None) -> None:
        """No edges yet. A row that is ``fixed`` is kept, and keeps others, even when it is near an earlier one."""
        self._fixed = np.zeros(n, dtype=np.bool_) if fixed is None else fixed
        self._keeper = np.full(n, -1, dtype=np.int32)
        self._similarity = np.ones(n)

    def add(self, first: I64, second: I64, similarity: F64) -> None:
        """Add edges, sorted by (first, second) within a call and from call to call, first < second."""
        graph.stars(first, second, similarity, self._fixed, self._keeper, self._similarity)

    def keepers(self) -> tuple[I32, F64]:
        """The first that keeps each row, itself when there is none, and the similarity to it (1.0 then)."""
        alone = np.flatnonzero(self._keeper < 0)
        self._keeper[alone] = alone
        return self._keeper, self._similarity
