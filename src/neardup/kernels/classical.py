"""The classical MinHash families over shingle sets, for learning and comparing. Loop: sets, slots, elements."""

from __future__ import annotations

import numpy as np

from neardup.kernels.stored import mix
from neardup.native.declare import inlined, kernel, part

S32 = np.uint64(32)
PRIME = np.uint64((1 << 61) - 1)
S61 = np.uint64(61)
LOW32 = np.uint64(0xFFFFFFFF)
MOST = np.uint32(0xFFFFFFFE)
EMPTY = np.uint32(0xFFFFFFFF)


@kernel("uint64[::1], int64[::1], uint64[::1], uint32[:, ::1]")
def independent(hashes, offsets, keys, values):
    """Slot s: least leading 32 bits of a keyed bijection of the hash."""
    for d in range(offsets.size - 1):
        for s in range(keys.size):
            least = EMPTY
            for i in range(offsets[d], offsets[d + 1]):
                least = min(least, min(np.uint32(mix(hashes[i] ^ keys[s]) >> S32), MOST))
            values[d, s] = least


@kernel("uint64[::1], int64[::1], uint64, uint32[:, ::1]")
def one_permutation(hashes, offsets, key, values):
    """One keyed bijection of the hash: its upper half says which slot, its lower half is the value; least in each slot.

    A slot that no element falls into keeps EMPTY. Loop: sets, elements; the slots of one set stay in L1.
    """
    slots = np.uint64(values.shape[1])
    for d in range(offsets.size - 1):
        row = values[d]
        row[:] = EMPTY
        for i in range(offsets[d], offsets[d + 1]):
            h = mix(hashes[i] ^ key)
            slot = ((h >> S32) * slots) >> S32
            row[slot] = min(row[slot], min(np.uint32(h & LOW32), MOST))


@inlined
def _fold(x):
    """x mod 2**61 - 1, for any 64-bit x."""
    x = (x & PRIME) + (x >> S61)
    return x - PRIME if x >= PRIME else x


@part
def _times(a, x):
    """a * x mod 2**61 - 1 for a, x below it, without overflow: 32-bit halves, since 2**61 = 1."""
    a_low, a_high = a & LOW32, a >> S32
    x_low, x_high = x & LOW32, x >> S32
    high = a_high * x_high  # below 2**58; stands for 2**64 of them: eight mod p
    middle = a_low * x_high + a_high * x_low  # below 2**62; stands for 2**32 of them
    low = _fold(a_low * x_low)
    shifted = (middle >> np.uint64(29)) + ((middle & np.uint64(0x1FFFFFFF)) << S32)
    return _fold(_fold(high * np.uint64(8)) + _fold(_fold(shifted) + low))


@kernel("uint64[::1], int64[::1], uint64[::1], uint64[::1], uint32[:, ::1]")
def universal(hashes, offsets, a, b, values):
    """Slot s: least leading 32 bits of (a[s] x + b[s]) mod 2**61 - 1, x the hash mod that prime."""
    for d in range(offsets.size - 1):
        for s in range(a.size):
            least = EMPTY
            for i in range(offsets[d], offsets[d + 1]):
                y = _fold(_times(a[s], _fold(hashes[i])) + b[s])
                least = min(least, min(np.uint32(y >> np.uint64(29)), MOST))
            values[d, s] = least


@kernel("uint32[::1], int64[::1], int64[::1], uint32[::1]")
def least_rank(ranks, index, offsets, column):
    """Least rank of each set's elements into ``column``; EMPTY for an empty set."""
    for d in range(offsets.size - 1):
        least = EMPTY
        for i in range(offsets[d], offsets[d + 1]):
            least = min(least, ranks[index[i]])
        column[d] = least
