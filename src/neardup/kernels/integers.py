"""Whole numbers as decimal text: the items of sets that are lists of numbers."""

from __future__ import annotations

import numpy as np
from numpy import uint64

from neardup.kernels._jit import kernel, part

LONGEST = 20
"""Bytes of the longest, with its sign."""
_SEPARATOR = 0xFF  # inputs.items.ITEM_SEPARATOR
_MINUS, _ZERO = 0x2D, 0x30
_HUNDRED = uint64(100)

# The two digits of each number below 100.
_PAIRS = np.array([_ZERO + digit for number in range(100) for digit in divmod(number, 10)], dtype=np.uint8)


@part
def _write(value, out, to):
    """Write a number in decimal from ``to`` on, and return the place behind it."""
    left = uint64(value)
    if value < 0:
        out[to] = _MINUS
        to += 1
        left = uint64(0) - left
    size = 1
    most = uint64(10)
    while size < 19 and left >= most:
        most *= uint64(10)
        size += 1
    at = to + size
    while left >= _HUNDRED:
        rest = left // _HUNDRED
        two = np.int64(left - rest * _HUNDRED)
        at -= 2
        out[at] = _PAIRS[2 * two]
        out[at + 1] = _PAIRS[2 * two + 1]
        left = rest
    if at - to == 2:
        out[to] = _PAIRS[2 * np.int64(left)]
    out[at - 1] = _PAIRS[2 * np.int64(left) + 1]
    return to + size


@kernel("read(int64[::1]), read(int64[::1]), uint8[::1], int64[::1]")
def join_integers(values, starts, out, offsets):
    """Write each set of numbers to ``out``, its items in decimal with a separator between.

    Set i is ``values[starts[i]:starts[i + 1]]``. ``out`` (uint8) has room for LONGEST + 1 bytes a number; ``offsets``
    (int64[n + 1]) get where each set begins, and the end.
    """
    to = 0
    offsets[0] = 0
    for i in range(starts.size - 1):
        for j in range(starts[i], starts[i + 1]):
            if j > starts[i]:
                out[to] = _SEPARATOR
                to += 1
            to = _write(values[j], out, to)
        offsets[i + 1] = to
