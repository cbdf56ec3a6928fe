"""Clusters from the edges of a graph: components and greedy stars. Linear in rows and edges."""

from __future__ import annotations

import numpy as np

from neardup.kernels._jit import kernel


@kernel("int64[::1], int64[::1], int64")
def components(left, right, n):
    """Smallest row of each row's connected component, int32[n]."""
    parent = np.arange(n).astype(np.int32)
    join(parent, left, right)
    settle(parent)
    return parent


@kernel("int32[::1], int64[::1], int64[::1]")
def join(parent, left, right):
    """Union by smaller row, path halving: the components of ``parent`` with these edges too."""
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


@kernel("int32[::1]")
def settle(parent):
    """Let every row point at the smallest of its component; a parent is never larger than its row."""
    for i in range(parent.size):
        parent[i] = parent[parent[i]]


@kernel("int64[::1], int64[::1], float64[::1], boolean[::1], int32[::1], float64[::1]")
def stars(first, second, similarity, fixed, keeper, to_keeper):
    """Greedy stars: a free row keeps all its free neighbours, rows taken in rising order.

    Edges come sorted by (first, second), first < second, in one call or in several. ``keeper`` is -1 for a free row.
    Every row that is met becomes its own keeper, or gets its first neighbour that keeps, with the similarity to it in
    ``to_keeper``. A row that is ``fixed`` keeps its free neighbours even when it was taken; no two others that keep are
    neighbours.
    """
    for e in range(first.size):
        a, b = first[e], second[e]
        if keeper[a] < 0:  # all neighbours before it had their turn
            keeper[a] = a
        if keeper[b] < 0 and (keeper[a] == a or fixed[a]):
            keeper[b] = a
            to_keeper[b] = similarity[e]


@kernel("int64[::1], int64[::1], int64[::1], int64, int64, int64[::1]")
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
