"""Hashes that the files of an index hold, and what others are built on: frozen. A change needs a new format version.

``prints`` is held against accidents (checksums of documents) and leads to candidates (keys of ids, documents that may
be copies). It is no protection against anybody: two texts of one print can be written down. So nothing may be decided
by it; who finds two that agree compares the things themselves. The same in plain Python is in ``tests/golden``.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._bits import load64
from neardup.native.declare import inlined, kernel, part

M1 = np.uint64(0x9E3779B97F4A7C15)
M2 = np.uint64(0xD6E8FEB86659FD93)
M3 = np.uint64(0xFF51AFD7ED558CCD)
ID, AT, KIND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
S29, S32 = np.uint64(29), np.uint64(32)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def mix(x):
    """Bijection of uint64: every input bit reaches every output bit."""
    x = (x ^ (x >> S32)) * M2
    x = (x ^ (x >> S29)) * M3
    return x ^ (x >> S32)


@part
def lanes(data, begin, stop):
    """Two 64-bit lanes over the bytes of a document, 16 at a time. Loads up to 15 bytes past the last one."""
    x = M1 ^ (np.uint64(stop - begin) * M2)
    y = M2 ^ (np.uint64(stop - begin) * M2)
    position = begin
    while position + 16 <= stop:
        x = (x ^ load64(data, position)) * M1
        y = (y ^ load64(data, position + 8)) * M3
        x ^= x >> S29
        y ^= y >> S32
        x += y
        position += 16
    rest = stop - position
    if rest > 0:
        low = load64(data, position)
        high = load64(data, position + 8)
        if rest < 8:
            low &= ALL >> np.uint64(64 - 8 * rest)
            high = np.uint64(0)
        elif rest == 8:
            high = np.uint64(0)
        else:
            high &= ALL >> np.uint64(128 - 8 * rest)
        x = (x ^ low) * M1
        y = (y ^ high) * M3
        x ^= x >> S29
        y ^= y >> S32
    return x, y


@kernel("read(uint8[::1]), read(int64[::1]), uint64[::1]")
def prints(data, offsets, out):
    """64-bit hash of each document's bytes into ``out[n]``; about 5 GB/s. Loads up to 15 bytes past the last one."""
    for d in range(offsets.size - 1):
        x, y = lanes(data, offsets[d], offsets[d + 1])
        out[d] = mix(x + (y >> S29))


@kernel("uint64[::1], uint64[::1], int64[::1], int64[::1], int64[::1]")
def checksums(text_prints, id_prints, numbers, kinds, out):
    """Write the checksum of each stored document.

    The leading half is over id, number and kind, so that a name can be trusted without its text; the other half is
    over text and number.
    """
    for d in range(out.size):
        at = np.uint64(numbers[d]) * AT
        name = id_prints[d] * ID + at + np.uint64(kinds[d]) * KIND
        out[d] = np.int64((name >> S32 << S32) | ((text_prints[d] + at) >> S32))
