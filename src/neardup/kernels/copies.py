"""Pairs of representatives expanded to pairs of all their copies. Linear in the pairs written.

The copies of row r are ``members[starts[r] : starts[r + 1]]``, rising.
"""

from __future__ import annotations

import numpy as np

from neardup.native.declare import kernel


@kernel("int64[::1], int64[::1], float64[::1], int64[::1], int64[::1]")
def cross_copies(left, right, similarity, starts, members):
    """Every copy of each left row with every copy of its right row, the smaller one first, and their similarity."""
    total = 0
    for p in range(left.size):
        total += (starts[left[p] + 1] - starts[left[p]]) * (starts[right[p] + 1] - starts[right[p]])
    a, b, s = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.float64)
    n = 0
    for p in range(left.size):
        for i in range(starts[left[p]], starts[left[p] + 1]):
            for j in range(starts[right[p]], starts[right[p] + 1]):
                a[n] = min(members[i], members[j])
                b[n] = max(members[i], members[j])
                s[n] = similarity[p]
                n += 1
    return a, b, s


@kernel("int64[::1], int64[::1], int64[::1]")
def pair_copies(rows, starts, members):
    """Every pair of copies of each of ``rows``; two int64 arrays, the smaller row first."""
    total = 0
    for g in range(rows.size):
        size = starts[rows[g] + 1] - starts[rows[g]]
        total += size * (size - 1) // 2
    a, b = np.empty(total, np.int64), np.empty(total, np.int64)
    n = 0
    for g in range(rows.size):
        end = starts[rows[g] + 1]
        for i in range(starts[rows[g]], end):
            for j in range(i + 1, end):
                a[n] = members[i]
                b[n] = members[j]
                n += 1
    return a, b
