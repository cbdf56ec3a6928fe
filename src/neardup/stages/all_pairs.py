"""All pairs of some thousand sets from a low threshold on, by counting what any two share.

Not here: the joins of large collections, which meet few of the pairs (``join``).
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import counting
from neardup.stages.verify import check_pairs
from neardup.types import I32, I64, PaddedSets

MANY = 8
"""A shingle that more than one in so many sets hold is a mark: 64 sets' worth of counting for about eight."""
LEAST_MANY = 2
ROOM = 1 << 14
"""Pairs that there is room for at first."""


def pairs_above(sets: PaddedSets, threshold: float) -> tuple[I64, I64]:
    """Pairs of distinct sets with a Jaccard similarity of at least ``threshold``, above 0: ``left < right``.

    Exact, and complete. O(n^2 / 64) for each shingle that many sets hold, d^2 for each that d hold: at most seconds
    for 2,500 sets of 3 million shingles, however they are dealt. Memory: about 40 bytes a shingle.
    """
    n, sizes = sets.sizes.size, sets.sizes
    holders, runs = _holders(sets)
    many = max(LEAST_MANY, n // MANY)
    words = -(-int(np.count_nonzero(np.diff(runs) > many)) // 64)
    marks, marked = np.zeros((n, words), dtype=np.uint64), np.zeros(n, dtype=np.int64)
    starts = np.zeros(n + 1, dtype=np.int64)
    firsts, places = np.empty(holders.size, dtype=np.int64), np.empty(holders.size, dtype=np.int64)
    counting.place_runs(holders, runs, many, marks, marked, starts, firsts, places)
    room, state = np.zeros(n, dtype=np.int32), np.zeros(1, dtype=np.int64)
    lefts, rights = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    while state[0] < n:
        left, right = np.empty(max(ROOM, n), dtype=np.int64), np.empty(max(ROOM, n), dtype=np.int64)
        lists = holders, marks, marked, starts, firsts, places
        count = counting.sharing_pairs(*lists, sizes, threshold, room, state, left, right)
        left, right = left[:count], right[:count]
        is_above = check_pairs(left, right, sets, sets, threshold=threshold) > 0
        lefts.append(left[is_above])
        rights.append(right[is_above])
    return np.concatenate(lefts), np.concatenate(rights)


def _holders(sets: PaddedSets) -> tuple[I32, I64]:
    """The sets that hold each shingle, and where those of the next one begin.

    The number of a set is written over the lowest bits of each hash, so that one sort does it. Shingles whose other
    bits are the same count as one: the pairs may be too many then, never too few.
    """
    n, total = sets.sizes.size, int(sets.sizes.sum())
    bits = np.uint64(max(n - 1, 0).bit_length())
    keys = np.empty(total, dtype=np.uint64)
    first = 0
    for i, (start, size) in enumerate(zip(sets.starts.tolist(), sets.sizes.tolist(), strict=False)):
        np.right_shift(sets.hashes[start : start + size], bits, out=keys[first : first + size])
        keys[first : first + size] <<= bits
        keys[first : first + size] |= np.uint64(i)
        first += size
    keys.sort()
    holders = (keys & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int32)
    keys >>= bits
    runs = np.concatenate((np.flatnonzero(np.diff(keys, prepend=~keys[:1])), [total]))
    return holders, runs
