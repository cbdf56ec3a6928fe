"""Strict UTF-8: where a block of bytes first breaks it, and whether it is plain ASCII.

Strict as RFC 3629 and Python's own decoder: no overlong forms, no surrogates, nothing beyond U+10FFFF, no
sequence cut short. One pass, eight bytes at a time while they are ASCII, inside ``[start, stop)`` only.
"""

from __future__ import annotations

from typing import Any

from numpy import uint64

from neardup.kernels._bits import cttz64, load32, load64
from neardup.kernels._jit import kernel, part

_HIGH = uint64(0x8080808080808080)


@kernel
def is_ascii(data: Any, start: int, stop: int) -> bool:
    """True when all of ``data[start:stop]`` (uint8) is below 0x80."""
    i = start
    while i + 32 <= stop:
        word = load64(data, i) | load64(data, i + 8) | load64(data, i + 16) | load64(data, i + 24)
        if word & _HIGH:
            return False
        i += 32
    while i < stop:
        if data[i] >= 0x80:
            return False
        i += 1
    return True


@part
def sequence_length(word: Any) -> int:
    """Length, 2 to 4, of the well-formed sequence that begins ``word`` (uint32, little-endian), else 0."""
    if word & 0xC0E0 == 0x80C0:
        return 2 if word & 0x1E else 0
    if word & 0xC0C0F0 == 0x8080E0:
        # The code point over 2048. Zero: an overlong form; 27: a surrogate.
        upper = (word & 0xF) << 1 | (word >> 13) & 1
        return 3 if upper != 0 and upper != 27 else 0
    if word & 0xC0C0C0F8 == 0x808080F0:
        plane = (word & 7) << 2 | (word >> 12) & 3
        return 4 if 1 <= plane <= 16 else 0
    return 0


@kernel
def invalid_at(data: Any, start: int, stop: int) -> int:
    """Position of the first byte of ``data[start:stop]`` (uint8) that breaks UTF-8, or -1."""
    i = start
    while i + 8 <= stop:
        high = load64(data, i) & _HIGH
        if high == 0:
            i += 8
            continue
        i += cttz64(high) >> 3
        while i + 4 <= stop and data[i] >= 0x80:
            length = sequence_length(load32(data, i))
            if length == 0:
                return i
            i += length
    while i < stop:
        if data[i] < 0x80:
            i += 1
            continue
        word = uint64(0)
        for j in range(min(4, stop - i)):
            word |= uint64(data[i + j]) << uint64(8 * j)
        length = sequence_length(word)
        if length == 0:
            return i
        i += length
    return -1
