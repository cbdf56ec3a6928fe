"""Whether bytes are plain ASCII or, one sequence at a time, UTF-8 as strict as RFC 3629 and Python's own decoder.

Strict: no overlong forms, no surrogates, nothing beyond U+10FFFF, no sequence cut short.
"""

from __future__ import annotations

from numpy import uint32, uint64

from neardup.kernels._bits import load64
from neardup.native.declare import kernel, part

_HIGH = uint64(0x8080808080808080)


@kernel("read(uint8[::1]), int64, int64")
def is_ascii(data, start, stop):
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
def sequence_length(word):
    """Return the length, 2 to 4, of the well-formed sequence that begins ``word`` (uint32, little-endian), else 0."""
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


@part
def broken_length(word, rest):
    """Count the bytes that one U+FFFD replaces, as Python decodes, if ``word`` (uint32) begins no well-formed sequence.

    They are the longest start of a sequence within ``rest`` bytes, which only its first two decide, or one byte.
    """
    for size in (3, 2):
        kept = uint32((1 << (8 * size)) - 1)
        if size <= rest and sequence_length((word & kept) | (uint32(0x80808080) & ~kept)) > size:
            return size
    return 1


@part
def encode(code, out, n):
    """Write a code point as UTF-8 at ``out[n]`` and return the index after it."""
    if code < 0x80:
        out[n] = code
        return n + 1
    if code < 0x800:
        out[n] = 0xC0 | code >> 6
        out[n + 1] = 0x80 | code & 0x3F
        return n + 2
    if code < 0x10000:
        out[n] = 0xE0 | code >> 12
        out[n + 1] = 0x80 | code >> 6 & 0x3F
        out[n + 2] = 0x80 | code & 0x3F
        return n + 3
    out[n] = 0xF0 | code >> 18
    out[n + 1] = 0x80 | code >> 12 & 0x3F
    out[n + 2] = 0x80 | code >> 6 & 0x3F
    out[n + 3] = 0x80 | code & 0x3F
    return n + 4
