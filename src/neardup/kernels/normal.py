"""Tests and maps over the bytes of a block that keep plain text away from slow paths."""

from __future__ import annotations

from neardup.kernels._bits import load64
from neardup.kernels._jit import kernel
from neardup.kernels.hashing import HIGH, _code_point, _next
from neardup.kernels.utf8 import is_ascii


@kernel("read(uint8[::1]), read(int64[::1]), boolean[::1]")
def mark_not_ascii(data, offsets, out):
    """``out[i]`` says whether document i has a byte of 0x80 or above."""
    for d in range(offsets.size - 1):
        out[d] = not is_ascii(data, offsets[d], offsets[d + 1])


@kernel("read(uint8[::1]), read(int64[::1]), int64[::1], boolean[::1]")
def mark_not_inert(data, offsets, ends, out):
    """``out[i]``: document i has a code point outside the ranges that ``ends`` bounds (low, high + 1, …)."""
    for d in range(offsets.size - 1):
        position, stop = offsets[d], offsets[d + 1]
        out[d] = False
        while position < stop:
            if position + 8 <= stop and not load64(data, position) & HIGH:
                position += 8
                continue
            if data[position] < 0xCC:
                position += 1 if data[position] < 0xC0 else 2
                continue
            value = _code_point(data, position, stop)
            below = 0
            while below < ends.size and ends[below] <= value:
                below += 1
            if below & 1 == 0:
                out[d] = True
                break
            position = _next(data, position, stop)


@kernel("read(uint8[::1]), read(int64[::1]), uint8[::1], int64, uint8[::1], int64[::1]")
def map_ascii(data, offsets, table, space, out, out_offsets):
    """Map each byte of ASCII documents by ``table``: 0xFF drops it, 0x80 is white space.

    ``space`` 0 keeps white space as it is, 1 makes one space of a run and none at the ends, 2 drops it.
    """
    n = 0
    for d in range(offsets.size - 1):
        out_offsets[d] = n
        begin = n
        waiting = False
        for i in range(offsets[d], offsets[d + 1]):
            value = table[data[i]]
            if value == 0xFF:
                continue
            if value == 0x80:
                if space == 0:
                    out[n] = data[i]
                    n += 1
                else:
                    waiting = space == 1
                continue
            if waiting:
                if n > begin:
                    out[n] = 0x20
                    n += 1
                waiting = False
            out[n] = value
            n += 1
    out_offsets[offsets.size - 1] = n
