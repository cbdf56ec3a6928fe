"""Clusters from the edges of a graph: components and greedy stars. Linear in rows and edges."""

from __future__ import annotations

import numpy as np

from neardup.kernels._bits import cttz64, ones64
from neardup.native.declare import kernel
from neardup.types import I32, I64


def components(left: I64, right: I64, n: int) -> I32:
    """Smallest row of each row's connected component, int32[n]."""
    parent = np.arange(n, dtype=np.int32)
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


@kernel("int64[::1], int64[::1], int64, uint64[::1], int64[::1], int64[::1]")
def number(left, right, first, marks, a, b):
    """Number the distinct rows of pairs from 0 on, as they rise: those of the two sides into ``a`` and ``b``.

    ``marks``: zeros, with a bit for each row from ``first`` to the last. Returns the rows, int64[m]. O(pairs + marks),
    about 10 ns a pair where a sort takes 200.
    """
    one = np.uint64(1)
    for e in range(left.size):
        x, y = left[e] - first, right[e] - first
        marks[x >> 6] |= one << np.uint64(x & 63)
        marks[y >> 6] |= one << np.uint64(y & 63)
    before = np.empty(marks.size, np.int64)
    count = 0
    for w in range(marks.size):
        before[w] = count
        count += ones64(marks[w])
    rows = np.empty(count, np.int64)
    at = 0
    for w in range(marks.size):
        word = marks[w]
        while word != 0:
            rows[at] = first + 64 * w + cttz64(word)
            word &= word - one
            at += 1
    for e in range(left.size):
        x, y = left[e] - first, right[e] - first
        a[e] = before[x >> 6] + ones64(marks[x >> 6] & ((one << np.uint64(x & 63)) - one))
        b[e] = before[y >> 6] + ones64(marks[y >> 6] & ((one << np.uint64(y & 63)) - one))
    return rows


@kernel("int32[::1], int64[::1]")
def by_component(label, left):
    """Rows and edges of each connected component, together: ``label`` as ``components`` gives it, ``left`` of edges.

    Returns rows, int64[n], and where those of each component start, int64[components + 1]; the same of edges. Within a
    component both rise. Two counting sorts, linear.
    """
    component = np.empty(label.size, np.int64)
    count = 0
    for i in range(label.size):
        if label[i] == i:
            component[i] = count
            count += 1
        else:
            component[i] = component[label[i]]
    row_starts, edge_starts = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    for i in range(label.size):
        row_starts[component[i] + 1] += 1
    for e in range(left.size):
        edge_starts[component[left[e]] + 1] += 1
    for c in range(count):
        row_starts[c + 1] += row_starts[c]
        edge_starts[c + 1] += edge_starts[c]
    rows, edges = np.empty(label.size, np.int64), np.empty(left.size, np.int64)
    at = row_starts.copy()
    for i in range(label.size):
        rows[at[component[i]]] = i
        at[component[i]] += 1
    at[:] = edge_starts
    for e in range(left.size):
        edges[at[component[left[e]]]] = e
        at[component[left[e]]] += 1
    return rows, row_starts, edges, edge_starts


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
