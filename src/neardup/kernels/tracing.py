"""Normalised characters, each with the bytes of the document that it came from.

For documents whose characters tell by themselves what becomes of them, as in ``kernels.normal``, by the same tables.
One more thing is asked here: a form changes a letter and the marks behind it as a whole, and then they have one place
together. Documents with such marks behind a character that changes are left to ``stages.offsets``, the definition.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._bits import load32, load64
from neardup.kernels.normal import (
    CHARACTERS,
    DROP,
    FIRST,
    GAP,
    JOINS,
    LAST,
    LENGTH,
    PARTED,
    PLACE,
    REPLACED,
    SPACE,
    decoded,
    is_apart,
)
from neardup.kernels.utf8 import sequence_length
from neardup.native.declare import kernel, part


@part
def _put(code, start, end, codes, starts, ends, n):
    codes[n], starts[n], ends[n] = code, start, end
    return n + 1


@part
def _put_gap(start, end, begin, codes, starts, ends, n, is_gap):
    """A space for white space, none at the begin of a text, and one for all that follow each other."""
    if is_gap:
        ends[n - 1] = end
    elif n > begin:
        n = _put(0x20, start, end, codes, starts, ends, n)
    return n


@part
def _put_text(pool, place, size, start, end, codes, starts, ends, n):
    """The characters of a text in UTF-8, all from one place."""
    stop = place + size
    while place < stop:
        code = np.int64(pool[place])
        length = 1
        if code >= 0x80:
            code = decoded(load64(pool, place))
            length = 2 + np.int64(pool[place] >= 0xE0) + np.int64(pool[place] >= 0xF0)
        n = _put(code, start, end, codes, starts, ends, n)
        place += length
    return n


@kernel(
    CHARACTERS,
    "read(uint8[::1]), read(int64[::1]), boolean[::1], boolean[::1], uint32[::1], uint32[::1], uint32[::1], int64[::1]",
)
def trace(characters, data, offsets, is_asked, wanted, codes, starts, ends, out_offsets):
    """Write the characters of documents as they become, and the bytes in the document where each came from.

    Document d has code points ``codes[out_offsets[d] : out_offsets[d + 1]]``, of bytes ``starts`` to ``ends``; none if
    it is to be traced by ``stages.offsets``: then it is marked in ``is_asked``, as are documents for which the arrays
    have no room. Returns how often a page was met that is not in the table, each marked in ``wanted``: call again.
    """
    pages, entries, pairs, pool = characters.pages, characters.entries, characters.pairs, characters.pool
    table = characters.ascii
    missing = 0
    n = 0
    for d in range(offsets.size - 1):
        origin, at, stop = offsets[d], offsets[d], offsets[d + 1]
        out_offsets[d] = begin = n
        is_asked[d] = n + stop - at > codes.size
        is_gap, is_changed = False, False
        letter, last = -1, 0
        while at < stop and not is_asked[d]:
            here = at - origin
            byte = data[at]
            if byte < 0x80:
                value = table[byte]
                if value == SPACE:
                    n = _put_gap(here, here + 1, begin, codes, starts, ends, n, is_gap)
                    is_gap = n > begin
                elif value != DROP:
                    n = _put(value, here, here + 1, codes, starts, ends, n)
                    is_gap = False
                letter = np.int64(byte) if value == byte or value >= 0x80 else -1
                last, is_changed = 0, False
                at += 1
                continue
            length = sequence_length(load32(data, at))
            if length == 0 or at + length > stop:
                is_asked[d] = True
                break
            code = decoded(load64(data, at))
            page = pages[code >> 6]
            if page < 0:
                missing += 1
                wanted[code >> 6] = True
                at += length
                continue
            entry = entries[(page << 6) | (code & 63)]
            kind = entry & 3
            joins = (entry & JOINS != 0) | ((entry >> FIRST) & 0xFF != 0)
            if not is_apart(entry, code, letter, last, pairs) or (joins and (is_changed or kind != 0)):
                is_asked[d] = True
                break
            is_changed = is_changed if joins else kind != 0
            if kind == GAP:
                n = _put_gap(here, here + length, begin, codes, starts, ends, n, is_gap)
                is_gap = n > begin
            elif kind == REPLACED:
                size = (entry >> LENGTH) & 0xFF
                if n + size + stop - at > codes.size:
                    is_asked[d] = True
                    break
                n = _put_text(pool, entry >> PLACE, size, here, here + length, codes, starts, ends, n)
                is_gap = is_gap and size == 0
            else:
                n = _put(code, here, here + length, codes, starts, ends, n)
                is_gap = False
            at += length
            last = (entry >> LAST) & 0xFF
            if entry & PARTED:
                letter = -1
            elif last == 0:
                letter = code
        n = begin if is_asked[d] else n - np.int64(is_gap)
    out_offsets[offsets.size - 1] = n
    return missing


@kernel("uint32[::1], uint32[::1], uint32[::1], int64[::1], uint8[::1], uint32[:, ::1], int64[::1]")
def write_bytes(codes, starts, ends, offsets, out, places, out_offsets):
    """Write characters as UTF-8, and for each byte where it begins and ends in the document, into ``places``.

    The first byte of a character begins where that does, and the last one ends where it ends. Any other begins where
    the next character does that came from somewhere else, and ends where the one before does: so what stands in part
    in a stretch of bytes is not in its place. Returns how many bytes there are.
    """
    n = 0
    for d in range(offsets.size - 1):
        out_offsets[d] = n
        first, stop = offsets[d], offsets[d + 1]
        head, tail = first, first - 1  # of the characters that came from one place
        for i in range(first, stop):
            code, start, end = np.int64(codes[i]), starts[i], ends[i]
            if i > first and start >= ends[i - 1]:
                head = i
            if code < 0x80:
                out[n], places[n, 0], places[n, 1] = code, start, end
                n += 1
                continue
            if tail < i:
                tail = i
                while tail + 1 < stop and starts[tail + 1] < ends[tail]:
                    tail += 1
            behind = ends[tail] if tail + 1 == stop else starts[tail + 1]
            before = starts[head] if head == first else ends[head - 1]
            size = 2 + np.int64(code >= 0x800) + np.int64(code >= 0x10000)
            for j in range(size):
                rest = code >> (6 * (size - 1 - j))
                out[n + j] = ((0xF00 >> size) & 0xFF) | rest if j == 0 else 0x80 | (rest & 0x3F)
                places[n + j, 0], places[n + j, 1] = behind, before
            places[n, 0] = start
            n += size
            places[n - 1, 1] = end
    out_offsets[offsets.size - 1] = n
    return n


@kernel("uint32[::1], int64[::1], uint8[::1], int64[::1], int64[::1], int64[::1]")
def find_words(codes, offsets, letters, firsts, ends, out_offsets):
    """Runs of characters that have their bit in ``letters``, into ``firsts`` and ``ends``; returns how many.

    Document d has characters ``offsets[d]`` to ``offsets[d + 1]`` and words ``out_offsets[d]`` to
    ``out_offsets[d + 1]``.
    """
    n = 0
    for d in range(offsets.size - 1):
        out_offsets[d] = n
        inside = False
        for i in range(offsets[d], offsets[d + 1]):
            code = np.int64(codes[i])
            is_letter = (letters[code >> 3] >> (code & 7)) & 1 != 0
            if is_letter and not inside:
                firsts[n] = i
            if inside and not is_letter:
                ends[n] = i
                n += 1
            inside = is_letter
        if inside:
            ends[n] = offsets[d + 1]
            n += 1
    out_offsets[offsets.size - 1] = n
    return n
