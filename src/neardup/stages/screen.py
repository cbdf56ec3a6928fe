"""The screen: a few bits of each signature decide which candidate pairs are worth an exact check.

``neardup.screening`` chooses the number of bits, and the number of fields in which a pair must agree.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.kernels import screening
from neardup.params import Screen
from neardup.types import I64, U32, U64, Mask, frozen

SMALL = 64
"""The most rows of a bucket whose pairs are screened by bits. In larger buckets whole signatures are compared."""
ROOM = 1 << 16
"""The most pairs that are yielded at a time."""


def bits_of(values: U32, screen: Screen) -> U64:
    """Return the bits of signatures (uint32[n, slots]) as uint64[n, screen.words]."""
    bits = np.empty((values.shape[0], screen.words), dtype=np.uint64)
    put_bits(values, screen, 0, bits)
    return bits


def put_bits(values: U32, screen: Screen, first: int, bits: U64) -> None:
    """Write the ``bits_of`` some consecutive signatures into ``bits`` of all rows, starting at row ``first``."""
    screening.put_bits(values, screen.fields, screen.width, first, bits)


def near_pairs(members: I64, starts: I64, screen: Screen, bits: U64 | None) -> Iterator[tuple[I64, I64, int]]:
    """Yield the pairs of small buckets that agree in ``screen.least`` fields, some at a time, and how many pairs met.

    Bucket g is ``members[starts[g] : starts[g + 1]]``, ascending, so left rows are smaller than right rows. ``bits``
    (uint64[n, words]) has all rows; with None, every pair is yielded. Buckets of more than SMALL members are skipped.
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
    """Return a mask of the pairs that are worth an exact check: pair p is ``first[left[p]]`` and ``second[right[p]]``.

    ``first`` and ``second`` are bits, uint64[·, words]. ``is_alone`` marks the pairs that meet in only one band.
    """
    apart = np.empty(left.size, dtype=np.int64)
    screening.count_apart(frozen(first), left, frozen(second), right, screen.width, apart)
    keep: Mask = apart <= screen.fields - np.where(is_alone, screen.least_alone, screen.least)
    return keep
