"""Write rows of a table as lines of text, from cells or, for ids, from the rows of their documents.

Nothing is quoted or escaped here. The caller has done that to cells, and takes ids as cells if one of them needs it.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._bits import peek64, store64
from neardup.kernels.integers import write_integer
from neardup.native.declare import kernel, part

_FIRST, _OFFSETS, _BEGIN, _END, _NUMBERS, _NUMBER = range(6)
"""Columns of a table of batches: the first row; if the ids are strings, the addresses of their int64 offsets (else 0)
and of their bytes; else the addresses of the text before a number and of the byte after it, and that of the int64
numbers, or 0 if they are consecutive from the last column on."""


@part
def _copy(begin, end, out, to):
    """Copy the bytes between two addresses, and up to sixteen more; return the index after the last one."""
    store64(out, to, peek64(begin))
    store64(out, to + 8, peek64(begin + 8))
    for offset in range(16, end - begin, 8):
        store64(out, to + offset, peek64(begin + offset))
    return to + end - begin


@part
def _copy_text(begin, offsets, out, to):
    """Copy the bytes from ``begin`` on between the two int64 offsets at an address; return the index after the last."""
    return _copy(begin + np.int64(peek64(offsets)), begin + np.int64(peek64(offsets + 8)), out, to)


@part
def _batch_of(row, batches):
    """Return the batch of a row, by a binary search without a branch that depends on the row."""
    low, size = 0, batches.shape[0]
    while size > 1:
        half = size >> 1
        low += half * np.int64(batches[low + half, _FIRST] <= row)
        size -= half
    return low


@kernel("int64[:, ::1], int64[:, ::1], int64[::1], int64, int64, int64, int64, int64, int64, int64,int64, uint8[::1]")
def write_rows(batches, columns, between, count, row, to, rows, size, most_rows, most_size, widest, out):
    """Write rows from ``row`` on, until none of ``count`` is left, the piece is full, or ``out`` has no room.

    A piece is full when it has ``most_rows`` rows or ``most_size`` bytes: eight a column, and those of its texts.
    ``columns`` (int64[k, 4]) has for ids the address of the int64 rows, and 1 if they count as texts; for cells 0, and
    the addresses of their bytes, of their int64 offsets, and of the bytes that each counts. ``between`` (int64[k + 2])
    has the addresses where the text before each column begins, then that after the last one, and the end. ``widest`` is
    a bound on the bytes of a row. Returns row, to, rows and size. O(bytes).
    """
    k = columns.shape[0]
    while row < count and rows < most_rows and size < most_size and to + widest <= out.size:
        for c in range(k):
            to = _copy(between[c], between[c + 1], out, to)
            values, begin = columns[c, 0], columns[c, 1]
            if values == 0:
                to = _copy_text(begin, columns[c, 2] + 8 * row, out, to)
                size += np.int64(peek64(columns[c, 3] + 8 * row))
                continue
            value, before = np.int64(peek64(values + 8 * row)), to
            at = _batch_of(value, batches)
            inside = value - batches[at, _FIRST]
            if batches[at, _OFFSETS]:
                to = _copy_text(batches[at, _BEGIN], batches[at, _OFFSETS] + 8 * inside, out, to)
            else:
                to = _copy(batches[at, _BEGIN], batches[at, _END], out, to)
                number = batches[at, _NUMBER] + inside
                if batches[at, _NUMBERS]:
                    number = np.int64(peek64(batches[at, _NUMBERS] + 8 * inside))
                to = write_integer(number, out, to)
            size += (to - before) * begin
        to = _copy(between[k], between[k + 1], out, to)
        size += 8 * k
        rows += 1
        row += 1
    return row, to, rows, size
