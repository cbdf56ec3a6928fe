"""Clusters from the edges of a graph: components and greedy stars. Linear in rows and edges."""

from __future__ import annotations

import numpy as np

from neardup.kernels._jit import kernel

__all__ = ["components", "reach", "stars"]


@kernel
def components(left, right, n):
    """Smallest row of each row's connected component, int64[n]: union by smaller row, path halving."""
    parent = np.arange(n)
    for e in range(left.size):
        a, b = left[e], right[e]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b
    for i in range(n):
        parent[i] = parent[parent[i]]
    return parent


@kernel
def stars(left, right, order, n):
    """Keeper of each row, int64[n]: greedily in ``order``, a free row keeps all its free neighbours.

    Every row is its own keeper or a neighbour of its keeper, and no two keepers are neighbours.
    """
    degree = np.zeros(n + 1, np.int64)
    for e in range(left.size):
        degree[left[e] + 1] += 1
        degree[right[e] + 1] += 1
    for i in range(n):
        degree[i + 1] += degree[i]
    place = degree[:n].copy()
    neighbour = np.empty(2 * left.size, np.int64)
    for e in range(left.size):
        a, b = left[e], right[e]
        neighbour[place[a]] = b
        place[a] += 1
        neighbour[place[b]] = a
        place[b] += 1
    keeper = np.full(n, -1, np.int64)
    for i in range(order.size):
        row = order[i]
        if keeper[row] >= 0:
            continue
        keeper[row] = row
        for e in range(degree[row], degree[row + 1]):
            if keeper[neighbour[e]] < 0:
                keeper[neighbour[e]] = row
    return keeper


@kernel
def reach(left, right, cost, begin, budget, seen):
    """End of the run of pairs from ``begin`` whose distinct rows cost at most ``budget`` together; one pair at least.

    ``seen`` is int64[rows] of scratch, -1 at first and kept from call to call.
    """
    spent = 0
    at = begin
    while at < left.size:
        more = 0
        if seen[left[at]] != begin:
            more += cost[left[at]]
        if seen[right[at]] != begin:
            more += cost[right[at]]
        if at > begin and spent + more > budget:
            break
        seen[left[at]] = begin
        seen[right[at]] = begin
        spent += more
        at += 1
    return at
