"""How many shingles any two of some thousand sets share, counted for all pairs: for thresholds so low that an index of
rare shingles would meet all of them too.

A shingle is counted where it is cheapest. One that many sets hold is a bit in a row of marks of each, and a pair counts
64 of them at a time. One that fewer hold has a list of them: each set adds 1 to the counter of every set that comes
before it in the list. The counters of one set take a few kilobytes, which the fastest cache holds.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._bits import ones64
from neardup.native.declare import kernel

ONE = np.uint64(1)


@kernel("int32[::1], int64[::1], int64, uint64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1]")
def place_runs(holders, runs, many, marks, marked, starts, firsts, places):
    """Sort the holders of shingles into marks and lists. Linear.

    ``holders`` (int32[t]) has the sets that hold each shingle, rising, one shingle after the other; shingle r is at
    ``runs[r]`` to ``runs[r + 1]``. Those with more than ``many`` holders become bits of ``marks`` (uint64[n, w], all 0
    before), of which ``marked`` (int64[n], all 0 before) are set. Of the others, those of one holder count for nothing.
    The rest is given by holder: those of set i are ``starts[i]`` to ``starts[i + 1]`` (int64[n + 1], all 0 before), and
    the sets before i that hold the same shingle are ``holders[firsts[e]]`` to ``holders[places[e]]``.
    """
    bit = 0
    for r in range(runs.size - 1):
        begin, end = runs[r], runs[r + 1]
        if end - begin > many:
            for p in range(begin, end):
                marks[holders[p], bit >> 6] |= ONE << np.uint64(bit & 63)
                marked[holders[p]] += 1
            bit += 1
        elif end - begin > 1:
            for p in range(begin, end):
                starts[holders[p] + 1] += 1
    for i in range(1, starts.size):
        starts[i] += starts[i - 1]
    for r in range(runs.size - 1):
        begin, end = runs[r], runs[r + 1]
        if 1 < end - begin <= many:
            for p in range(begin, end):
                e = starts[holders[p]]
                firsts[e], places[e] = begin, p
                starts[holders[p]] += 1
    for i in range(starts.size - 1, 0, -1):
        starts[i] = starts[i - 1]
    starts[0] = 0


@kernel(
    "int32[::1], uint64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], float64, int32[::1], "
    "int64[::1], int64[::1], int64[::1]"
)
def sharing_pairs(
    holders, marks, marked, starts, firsts, places, sizes, threshold, shared, state, left, right
):  # fmt: skip
    """Pairs of sets, the lesser to the left, whose counts could make a Jaccard similarity of ``threshold``.

    A pair at just below it may come too; none above it is missed. ``sizes`` (int64[n]) are those of the sets, and
    ``shared`` (int32[n]) is room. Goes on with set ``state[0]`` and stops before one whose pairs might not fit;
    returns the pairs written. Loop: sets; their lists; then all sets before, of which few need their marks counted.
    """
    share = threshold / (1.0 + threshold)
    n = 0
    i = state[0]
    while i < sizes.size and left.size - n >= i:
        for j in range(i):
            shared[j] = 0
        for e in range(starts[i], starts[i + 1]):
            for p in range(firsts[e], places[e]):
                shared[holders[p]] += 1
        for j in range(i):
            needed = np.int64(share * (sizes[i] + sizes[j])) - 1
            common = np.int64(shared[j])
            if common + min(marked[i], marked[j]) < max(needed, 1):
                continue
            for w in range(marks.shape[1]):
                common += ones64(marks[i, w] & marks[j, w])
            if common >= max(needed, 1):
                left[n], right[n] = j, i
                n += 1
        i += 1
    state[0] = i
    return n
