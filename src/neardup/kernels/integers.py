"""Whole numbers as decimal text: the items of sets that are lists of numbers."""

from __future__ import annotations

from numpy import uint64

from neardup.kernels._bits import cttz64, store64
from neardup.native.declare import kernel, part

LONGEST = 20
"""Bytes of the longest, with its sign."""
_SEPARATOR = 0xFF  # inputs.items.ITEM_SEPARATOR
_MINUS = 0x2D
_ZEROS = uint64(0x3030303030303030)
_GROUP = uint64(10**8)


@part
def _eight(value):
    """Return the eight digits of a number below 10**8, each in a byte of a uint64, the first one in the lowest."""
    high = value // uint64(10_000)
    fours = high | (value - high * uint64(10_000)) << uint64(32)
    high = fours * uint64(10_486) >> uint64(20) & uint64(0x0000007F0000007F)
    twos = high | (fours - high * uint64(100)) << uint64(16)
    high = twos * uint64(103) >> uint64(10) & uint64(0x000F000F000F000F)
    return high | (twos - high * uint64(10)) << uint64(8)


@part
def write_integer(value, out, to):
    """Write a number in decimal from ``to`` on, and up to seven bytes more; return the index after it."""
    left = uint64(value)
    if value < 0:
        out[to] = _MINUS
        to += 1
        left = uint64(0) - left
    scale = uint64(1)
    while left // scale >= _GROUP:
        scale *= _GROUP
    digits = _eight(left // scale)
    zeros = min(cttz64(digits) >> 3, 7)
    store64(out, to, digits + _ZEROS >> uint64(8 * zeros))
    to += 8 - zeros
    while scale > uint64(1):
        scale //= _GROUP
        store64(out, to, _eight(left // scale % _GROUP) + _ZEROS)
        to += 8
    return to


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
            to = write_integer(values[j], out, to)
        offsets[i + 1] = to
