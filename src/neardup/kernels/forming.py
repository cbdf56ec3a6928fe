"""Unicode forms of whole documents: decomposition, canonical order, composition (UAX #15, section 1.3).

A document is written as it is read. Only the last starter and the marks after it can still change, so no more than
these marks are held. ``stages.characters`` makes the tables from ``unicodedata``. Documents that ``kernels.normal``
recognises to need none of this never come here.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._bits import load32, load64
from neardup.kernels.hashing import SEPARATOR
from neardup.kernels.normal import CHARACTERS, composite, decoded
from neardup.kernels.utf8 import broken_length, encode, sequence_length
from neardup.native.declare import kernel, part

# A point is a code point and what decides its place in a text. An entry is, in these tables, the point of a character
# that stays itself, less its code; or else the size and index of its points in ``pool``, which holds them as uint32.
CODE = 0x1FFFFF
"""The bits of a point that are the code point."""
CLASS = 21
"""Where eight bits begin for the combining class; 0 is a starter."""
JOINS = 1 << 29
"""The bit of a point that composes with some before it."""
SIZE = 32
"""Where the number of points begins in an entry. The bits below are the index of the first in ``pool``, in bytes."""

REPLACEMENT = 0xFFFD
FULL, LONG = -1, -2


@part
def _settle(letter, begin, n, marks, held, pairs, out):
    """Write the held marks after ``letter``, which is at ``out[begin:n]``, ordered, composed with it if they join it.

    Returns the index after them, and the letter or, if marks are left between it and what follows, -1. Each class
    takes a look at all of them, so 56 classes bound the cost of a mark. Marks that are left go to the second half.
    """
    made, left = letter, marks.size >> 1
    first_left = left
    own = 0
    while own < 256:
        following, is_blocked = 256, False
        for i in range(held):
            mark = np.int64(marks[i])
            its = (mark >> CLASS) & 0xFF
            if its > own:
                following = min(following, its)
            elif its == own:
                joined = -1
                if mark & JOINS != 0 and made >= 0 and not is_blocked:
                    joined = composite(made, mark & CODE, pairs)
                if joined >= 0:
                    made = joined
                else:
                    marks[left] = mark
                    left += 1
                    is_blocked = True
        own = following
    if made != letter:
        n = encode(made, out, begin)
    for i in range(first_left, left):
        n = encode(np.int64(marks[i]) & CODE, out, n)
    return n, (-1 if left > first_left else made)


@kernel(CHARACTERS, "read(uint8[::1]), read(int64[::1]), boolean, boolean[::1], uint32[::1], uint8[::1], int64[::1]")
def form(characters, data, offsets, items, wanted, marks, out, out_offsets):
    """Write documents in a Unicode form, with U+FFFD for bytes that are not UTF-8, as Python decodes them.

    With ``items`` a document is a set, its items apart by SEPARATOR. Returns how often a page was met that is not in
    the table, each marked in ``wanted``. Returns FULL if ``out`` has no room, and LONG if a run has more marks than
    half of ``marks``. Then call again.
    """
    pages, entries, pairs, pool = characters.pages, characters.entries, characters.pairs, characters.pool
    table = characters.ascii
    missing, n = 0, 0
    for d in range(offsets.size - 1):
        at, stop = offsets[d], offsets[d + 1]
        out_offsets[d] = n
        if n + stop - at > out.size:
            return FULL
        letter, begin, held = -1, n, 0  # the last starter, -1 once marks are written after it; the marks not written
        while at <= stop:
            if held == 0:
                while at < stop and data[at] < 0x80:
                    out[n] = letter = np.int64(table[data[at]])
                    begin = n
                    n += 1
                    at += 1
            is_border = at == stop or (items and data[at] == SEPARATOR)
            code, entry, size = 0, 0, 1
            if is_border:
                at += 1
            elif data[at] < 0x80:
                code = np.int64(table[data[at]])
                at += 1
            else:
                word = load32(data, at)
                length = sequence_length(word)
                if length == 0 or at + length > stop:
                    code, length = REPLACEMENT, broken_length(word, stop - at)
                else:
                    code = decoded(load64(data, at))
                at += length
                page = pages[code >> 6]
                if page < 0:
                    missing += 1
                    wanted[code >> 6] = True
                    continue
                entry = entries[(page << 6) | (code & 63)]
                size = max(1, entry >> SIZE)
                if n + 4 * (held + size) + stop - at > out.size:
                    return FULL
                if 2 * (held + size) > marks.size:
                    return LONG
            for i in range(size):
                point = entry | code
                if entry >> SIZE != 0:
                    point = np.int64(load32(pool, (entry & 0xFFFFFFFF) + 4 * i))
                if (point >> CLASS) & 0xFF != 0:
                    marks[held] = point
                    held += 1
                    continue
                if held != 0:
                    n, letter = _settle(letter, begin, n, marks, held, pairs, out)
                    held = 0
                if is_border:
                    continue
                code, joined = point & CODE, -1
                if point & JOINS != 0 and letter >= 0:
                    joined = composite(letter, code, pairs)
                if joined < 0:
                    joined, begin = code, n
                letter = joined
                n = encode(letter, out, begin)
            if is_border:
                letter = -1
                if at <= stop:
                    out[n] = SEPARATOR
                    n += 1
    out_offsets[offsets.size - 1] = n
    return missing
