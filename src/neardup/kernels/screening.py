"""Fields of a few bits of each signature, and the pairs of documents that agree in enough fields.

The fields of a document are packed end to end in ``bits[row]``, the first in the lowest bits of the first word. Their
width is 1, 2, 4 or 8, so that no field reaches into the next word.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._bits import ones64
from neardup.native.declare import inlined, kernel

HALF, QUARTER, EIGHTH = np.uint64(0x5555555555555555), np.uint64(0x1111111111111111), np.uint64(0x0101010101010101)
S1, S2, S4 = np.uint64(1), np.uint64(2), np.uint64(4)


@kernel("uint32[:, ::1], int64, int64, int64, uint64[:, ::1]")
def put_bits(values, fields, width, first, bits):
    """Write the lowest bits of the first ``fields`` slots of each signature to ``bits``, starting at row ``first``."""
    a_word = 64 // width
    mask = np.uint64((1 << width) - 1)
    for i in range(values.shape[0]):
        for word in range(bits.shape[1]):
            x = np.uint64(0)
            begin = word * a_word
            for s in range(begin, min(begin + a_word, fields)):
                x |= (np.uint64(values[i, s]) & mask) << np.uint64((s - begin) * width)
            bits[first + i, word] = x


@inlined
def _fields_apart(x, width):
    """Count the fields of a word in which any bit is set."""
    if width == 1:
        return ones64(x)
    x |= x >> S1
    if width == 2:
        return ones64(x & HALF)
    x |= x >> S2
    if width == 4:
        return ones64(x & QUARTER)
    return ones64((x | (x >> S4)) & EIGHTH)


@kernel("read(uint64[:, ::1]), int64[::1], read(uint64[:, ::1]), int64[::1], int64, int64[::1]")
def count_apart(first, left, second, right, width, apart):
    """Count the fields in which row ``left[p]`` of ``first`` and row ``right[p]`` of ``second`` differ."""
    for p in range(left.size):
        n = np.int64(0)
        for word in range(first.shape[1]):
            n += _fields_apart(first[left[p], word] ^ second[right[p], word], width)
        apart[p] = n


@kernel("int64[::1], int64[::1], int64, read(uint64[:, ::1]), int64, int64, int64[::1], int64[::1], int64[::1]")
def near_pairs(members, starts, largest, bits, width, most_apart, state, left, right):
    """Write the pairs of buckets that differ in at most ``most_apart`` fields; return the number of pairs written.

    ``state`` is int64[2]: the next bucket, and the number of pairs that have met. Buckets of more than ``largest``
    members are skipped. The kernel stops if ``left`` and ``right`` have no room for all pairs of the next bucket. The
    members of a bucket ascend, so left rows are the smaller ones. If ``bits`` has no rows, every pair is written.
    """
    words = bits.shape[1]
    held = np.empty((largest, words), np.uint64)
    is_blind = bits.shape[0] == 0
    n = 0
    bucket = state[0]
    while bucket < starts.size - 1:
        begin = starts[bucket]
        size = starts[bucket + 1] - begin
        if size > largest:
            bucket += 1
            continue
        if n + size * (size - 1) // 2 > left.size:
            break
        if not is_blind:
            for i in range(size):
                for word in range(words):
                    held[i, word] = bits[members[begin + i], word]
        for i in range(size):
            for j in range(i + 1, size):
                apart = np.int64(0)
                if not is_blind:
                    for word in range(words):
                        apart += _fields_apart(held[i, word] ^ held[j, word], width)
                left[n], right[n] = members[begin + i], members[begin + j]
                n += apart <= most_apart
        state[1] += size * (size - 1) // 2
        bucket += 1
    state[0] = bucket
    return n
