"""Pairs of rows as numbers that sort as the pairs do.

Only pairs left < right have one, which are half of all: so those of a billion rows fit into 64 bits, with a band each.
"""

from __future__ import annotations

import math

import numpy as np

from neardup.types import I64, U64


def most_documents(tags: int) -> int:
    """Rows whose pairs can be numbered in 64 bits, with one of so many tags each: 1.29 billion with 22.

    Rows themselves have 31 bits in places.
    """
    return min(math.isqrt(2 * ((1 << 64) // tags)), (1 << 31) - 1)


def number_pairs(left: I64, right: I64, n: int) -> U64:
    """Numbers of pairs of rows below n, left < right: from 0 without a gap, in the order of left, then right."""
    a, b = left.astype(np.uint64), right.astype(np.uint64)
    return _before(a, n) + (b - a - np.uint64(1))


def pairs_of(numbers: U64, n: int) -> tuple[I64, I64]:
    """The pairs of such numbers; of no rows there are none."""
    if not n:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    # left is a root of what _before says; in float64 it is one too many now and then, or too few
    wide = float(2 * n - 1)
    left = ((wide - np.sqrt(np.maximum(wide * wide - 8.0 * numbers, 0.0))) / 2).astype(np.uint64)
    while True:
        rest = numbers - _before(left, n)
        wrong = np.flatnonzero(rest >= np.uint64(n - 1) - left)
        if not wrong.size:
            return left.astype(np.int64), (left + rest + np.uint64(1)).astype(np.int64)
        is_over = _before(left[wrong], n) > numbers[wrong]
        left[wrong] = np.where(is_over, left[wrong] - np.uint64(1), left[wrong] + np.uint64(1))


def _before(left: U64, n: int) -> U64:
    """Pairs of rows below n whose left one is less than each."""
    before: U64 = left * (np.uint64(2 * n - 1) - left) // np.uint64(2)
    return before
