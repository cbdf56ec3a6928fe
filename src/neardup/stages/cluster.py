"""Clusters from verified pairs, by one of two link rules. Nothing here adds an edge.

``star``: greedily in the order given, a free row keeps all its free neighbours. Every member is a verified neighbour of
its keeper, and no two keepers are neighbours. ``connected``: connected components; members may be chained.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import graph
from neardup.types import I64, Clusters, Pairs

__all__ = ["link"]


def link(pairs: Pairs, order: I64, n: int, *, rule: str) -> Clusters:
    """Cluster n rows by their pairs.

    Args:
        pairs: verified pairs of rows.
        order: int64[n], rows in the order in which they may be keepers; a permutation.
        n: number of rows.
        rule: ``star`` or ``connected``.

    Returns:
        Clusters; a row without pairs is alone. O(n + pairs).
    """
    if rule == "star":
        keeper = graph.stars(pairs.left, pairs.right, order, n)
        label = np.full(n, n, dtype=np.int64)
        np.minimum.at(label, keeper, np.arange(n))
        return Clusters(label[keeper], keeper)
    label = graph.components(pairs.left, pairs.right, n)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    best = np.full(n, n, dtype=np.int64)
    np.minimum.at(best, label, rank)
    return Clusters(label, order[best[label]])
