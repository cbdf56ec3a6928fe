"""The screen: a few bits of each signature, and the candidate pairs that are worth an exact check by them.

How many bits, and in how many of them a pair must agree, is chosen in ``neardup.screening``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.kernels import screening
from neardup.params import Screen
from neardup.types import I64, U32, U64, Mask, frozen

SMALL = 64
"""Rows of a bucket up to which all of its pairs are screened at once. In larger ones whole signatures are compared."""
ROOM = 1 << 16
"""Pairs that are written at a time."""


def bits_of(values: U32, screen: Screen) -> U64:
    """uint64[n, screen.words]: the bits of signatures, uint32[n, slots]."""
    bits = np.empty((values.shape[0], screen.words), dtype=np.uint64)
    put_bits(values, screen, 0, bits)
    return bits


def put_bits(values: U32, screen: Screen, first: int, bits: U64) -> None:
    """Write ``bits_of`` some rows to those of all, from row ``first`` on."""
    screening.put_bits(values, screen.fields, screen.width, first, bits)


def near_pairs(members: I64, starts: I64, screen: Screen, bits: U64 | None) -> Iterator[tuple[I64, I64, int]]:
    """Yield the pairs of small buckets that agree in ``screen.least`` fields, some at a time, and how many were met.

    Bucket g is ``members[starts[g] : starts[g + 1]]``, rising. ``bits`` (uint64[n, words]) are those of all rows; None:
    every pair is given. Left rows are smaller than right ones. Buckets of more than SMALL members are passed over.
    """
    known = np.empty((0, screen.words), dtype=np.uint64) if bits is None else bits
    state = np.zeros(2, dtype=np.int64)
    left, right = np.empty((2, ROOM), dtype=np.int64)
    most_apart = screen.fields - screen.least
    while state[0] < starts.size - 1:
        met = int(state[1])
        n = screening.near_pairs(members, starts, SMALL, frozen(known), screen.width, most_apart, state, left, right)
        yield left[:n].copy(), right[:n].copy(), int(state[1]) - met


def passes(first: U64, left: I64, second: U64, right: I64, screen: Screen, is_alone: Mask) -> Mask:
    """Return which pairs of a row of ``first`` and one of ``second`` (uint64[·, words]) are worth an exact check.

    ``is_alone``: whether a pair meets in one band only.
    """
    apart = np.empty(left.size, dtype=np.int64)
    screening.count_apart(frozen(first), left, frozen(second), right, screen.width, apart)
    keep: Mask = apart <= screen.fields - np.where(is_alone, screen.least_alone, screen.least)
    return keep
