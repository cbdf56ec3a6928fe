"""Normalisation of documents character by character, if no character depends on those around it.

A table holds the result of each code point alone, and the facts that show whether others change this result: the quick
check of Unicode (UAX #15, section 9), with a look at the letter before a mark that joins some letters. A document where
others may change it is left to ``kernels.forming``, as is invalid UTF-8. ``stages.characters`` makes the tables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels._bits import bits_between, cttz64, load32, load64, store64
from neardup.kernels.hashing import BYTE0, LOW6, ONE, S8, S16, S24, S63, SEPARATOR
from neardup.kernels.stored import ALL
from neardup.kernels.utf8 import sequence_length
from neardup.native.declare import inlined, kernel, part, record

BEFORE = -2
"""For a letter: the quiet character before, which was not looked at."""
S2, S3, S61, S62 = np.uint64(2), np.uint64(3), np.uint64(61), np.uint64(62)

PAGE = 64
"""Code points to a page: those that differ in the last byte of their UTF-8 only."""
PAGES = 0x110000 // PAGE

QUIET = (0xC3, 0xD0, 0xD1, *range(0xE4, 0xEA), 0xEB, 0xEC)
"""Bytes that begin characters of which each is in both forms, has class 0, and composes with none before it: those of
Latin-1, Cyrillic, ideographs, most of Hangul. Code points from U+4000 to U+9FFF not assigned yet are for ideographs."""

SAME, MAPPED, ASK, UNSEEN = 0, 1, 2, 3
"""The states of a document: it is already normalised, its characters can be mapped one by one, they perhaps cannot, or
nothing is known yet."""

SPACE, DROP = 0x80, 0xFF
"""In the table of ASCII: white space of which a run becomes one space; nothing."""

# An entry. 0: the character becomes itself, stays apart from what surrounds it, and does not decompose.
REPLACED, GAP, UNKNOWN = 1, 2, 3
"""Lowest two bits: another text, from ``pool``; white space of which a run becomes one space; not known."""
JOINS = 4
"""It composes with some letters before it."""
PARTED = 8
"""It decomposes, or becomes another text: no mark that composes with any letter may follow it."""
FIRST, LAST, LENGTH, PLACE = 8, 16, 24, 32
"""Where eight bits begin for the combining class of its first and its last character; for the length of the text that
it becomes; and 32 bits for the place of that in ``pool``."""


class Characters(NamedTuple):
    """The results of characters under some steps of normalisation, or their decompositions (``kernels.forming``)."""

    ascii: Any
    """uint8[128]: the result of each ASCII character."""
    pages: Any
    """int32[PAGES]: the number of each page in ``entries``, -1 for a page that no text has needed so far."""
    entries: Any
    """int64[n * PAGE]."""
    pool: Any
    """uint8: texts that characters become, with eight bytes after the last."""
    pairs: Any
    """int64, ascending: first << 42 | second << 21 | composite. Trailing consonants of Hangul are left to a rule."""


CHARACTERS = record(
    Characters, "read(uint8[::1]), read(int32[::1]), read(int64[::1]), read(uint8[::1]), read(int64[::1])"
)


HANGUL, SYLLABLES, TRAILING, TRAILINGS = 0xAC00, 11172, 0x11A7, 28
"""The first syllable and how many there are; the code point before the trailing consonants, and one more than those."""


@part
def composite(letter, mark, pairs):
    """Return the code point that the forms make of a letter and the character after it, or -1 if they make none."""
    if 0 < mark - TRAILING < TRAILINGS:
        syllable = letter - HANGUL
        return letter + mark - TRAILING if 0 <= syllable < SYLLABLES and syllable % TRAILINGS == 0 else -1
    pair = letter << 21 | mark
    low, high = 0, pairs.size
    while low < high:
        middle = (low + high) >> 1
        if pairs[middle] >> 21 < pair:
            low = middle + 1
        else:
            high = middle
    return pairs[low] & 0x1FFFFF if low < pairs.size and pairs[low] >> 21 == pair else -1


@part
def is_apart(entry, code, letter, last, pairs):
    """Whether a character keeps its own result after ``letter`` (-1: one that decomposes) and class ``last``."""
    if entry & 3 == UNKNOWN:
        return False
    first = (entry >> FIRST) & 0xFF
    if first != 0 and first < last:
        return False
    return entry & JOINS == 0 or (letter >= 0 and composite(letter, code, pairs) < 0)


@inlined
def _quiet(data, position):
    """A bit for each of 64 bytes that is in QUIET."""
    found = bits_between(data, position, 0xC3, 0xC3) | bits_between(data, position, 0xD0, 0xD1)
    return found | bits_between(data, position, 0xE4, 0xE9) | bits_between(data, position, 0xEB, 0xEC)


@part
def _leads(data, position, stop, items, owed):
    """Return a bit for each of the 64 bytes from ``position`` on that begins a character to be looked up.

    ``owed`` are the continuation bytes, a bit each, that the bytes before still need. Also returns the ones that these
    64 need, or ALL if a byte that continues a character has none before it, or one that is needed is missing.
    """
    if bits_between(data, position, 0x80, 0xFF) == 0:
        return np.uint64(0), np.uint64(0) if owed == 0 else ALL
    within = ALL >> np.uint64(max(0, 64 - (stop - position)))
    if items:
        within &= ~bits_between(data, position, SEPARATOR, SEPARATOR)
    more = bits_between(data, position, 0x80, 0xBF) & within
    two = bits_between(data, position, 0xC0, 0xFF) & within
    three = bits_between(data, position, 0xE0, 0xFF) & within
    four = bits_between(data, position, 0xF0, 0xFF) & within
    loud = two & ~_quiet(data, position)
    needed = owed | (two << ONE) | (three << S2) | (four << S3)
    if needed != more:
        return loud, ALL
    return loud, (two >> S63) | (three >> S62) | (four >> S61)


@inlined
def decoded(word):
    """Return the code point of the sequence that begins ``word`` (uint64), -1 if it is overlong or beyond Unicode."""
    lead = np.int64(word & BYTE0)
    size = 2 + np.int64(lead >= 0xE0) + np.int64(lead >= 0xF0)
    low = np.int64((word >> S8) & LOW6) << 12 | np.int64((word >> S16) & LOW6) << 6 | np.int64((word >> S24) & LOW6)
    code = ((lead & (0x7F >> size)) << 18 | low) >> (24 - 6 * size)
    least = 1 << (5 * size - 4 + np.int64(size == 2))
    return -1 if (code < least) | (code > 0x10FFFF) | (lead > 0xF4) else code


@kernel(CHARACTERS, "read(uint8[::1]), read(int64[::1]), boolean, uint8[::1], boolean[::1]")
def look(characters, data, offsets, items, found, wanted):
    """Find the state of each document that is UNSEEN, for steps that leave ASCII as it is: SAME, MAPPED or ASK.

    With ``items`` a document is a set, its items separated by SEPARATOR. Returns the number of times that a page was
    missing in the table. These pages are marked in ``wanted``, and documents that need them stay UNSEEN. Loop: 64 bytes
    at a time, then their characters beyond ASCII, none of which waits for the one before it.
    """
    pages, entries, pairs = characters.pages, characters.entries, characters.pairs
    missing_in_all = 0
    for d in range(offsets.size - 1):
        if found[d] != UNSEEN:
            continue
        missing = 0
        stop = offsets[d + 1]
        state = SAME
        letter, last = -1, 0
        disordered = False
        expected = offsets[d]
        owed = np.uint64(0)
        for position in range(offsets[d], stop, 64):
            left, owed = _leads(data, position, stop, items, owed)
            if owed == ALL or (owed != 0 and position + 64 >= stop):
                state = ASK
                break
            while left:
                at = position + cttz64(left)
                left &= left - ONE
                if at != expected:  # ASCII before it, a quiet character, or the border of an item
                    before = np.int64(data[at - 1])
                    letter, last = before if before < 0x80 else (BEFORE if before < 0xC0 else -1), 0
                lead = data[at]
                expected = at + 2 + np.int64(lead >= 0xE0) + np.int64(lead >= 0xF0)
                code = decoded(load64(data, at))
                if code < 0:
                    state = ASK
                    break
                page = pages[code >> 6]
                if page < 0:
                    missing += 1
                    wanted[code >> 6] = True
                    continue
                entry = entries[(page << 6) | (code & 63)]
                if entry & (JOINS | 3) == 0:  # no branch for marks among letters: a processor cannot predict them
                    first = (entry >> FIRST) & 0xFF
                    disordered |= (first != 0) & (first < last)
                    last = (entry >> LAST) & 0xFF
                    lost = (entry & PARTED != 0) | ((letter == BEFORE) & (last != 0))
                    letter = -1 if lost else (code if last == 0 else letter)
                    continue
                if letter == BEFORE and entry & JOINS:
                    letter = decoded(load64(data, at - (2 if data[at - 2] >= 0xC0 else 3)))
                    page = pages[letter >> 6]
                    if page < 0:
                        missing += 1
                        wanted[letter >> 6] = True
                        continue
                    if entries[(page << 6) | (letter & 63)] != 0:
                        letter = -1
                if not is_apart(entry, code, letter, last, pairs):
                    state = ASK
                    if missing == 0:
                        break
                    continue
                if entry & 3 != 0:
                    state = max(state, MAPPED)
                last = (entry >> LAST) & 0xFF
                if entry & PARTED or (letter == BEFORE and last != 0):
                    letter = -1
                elif last == 0:
                    letter = code
            if disordered:
                state = ASK
            if state == ASK and missing == 0:
                break
        missing_in_all += missing
        if missing == 0:
            found[d] = state
    return missing_in_all


@kernel(CHARACTERS, "read(uint8[::1]), read(int64[::1]), boolean, uint8[::1], boolean[::1], uint8[::1], int64[::1]")
def write(characters, data, offsets, items, found, wanted, out, out_offsets):
    """Copy documents that are SAME, map the characters of those that are MAPPED, and leave the others empty.

    A document that cannot be mapped, or for which ``out`` has no room, is marked ASK in ``found``. The room needed is
    the size of the text, the bytes by which replaced characters grow, and eight. A run of white space that the table
    marks as SPACE or GAP becomes one space, and none at the ends. Returns the same as ``look``.
    """
    pages, entries, pairs, pool = characters.pages, characters.entries, characters.pairs, characters.pool
    table = characters.ascii
    missing = 0
    n = 0
    for d in range(offsets.size - 1):
        at, stop = offsets[d], offsets[d + 1]
        out_offsets[d] = n
        room = out.size - 8 - (stop - at) - n
        if found[d] == ASK or room < 0:
            found[d] = ASK
            continue
        if found[d] == SAME:
            for i in range(at, stop):
                out[n] = data[i]
                n += 1
            continue
        whole = n
        begin = n
        gap = 1  # the last that was written is a space, or there is none
        letter, last = -1, 0
        while at < stop:
            if data[at] < 0x80:
                while at < stop:
                    byte = data[at]
                    if byte >= 0x80:
                        break
                    value = table[byte]
                    dropped = np.int64(value == DROP)
                    space = np.int64(value == SPACE)
                    out[n] = 0x20 if space else value
                    n += (1 - dropped) & (1 - (space & gap))
                    gap = space | (gap & dropped)
                    at += 1
                byte = data[at - 1]
                letter = np.int64(byte) if table[byte] == byte or table[byte] >= 0x80 else -1
                last = 0
                continue
            if items and data[at] == SEPARATOR:
                n -= gap & np.int64(n > begin)
                out[n] = SEPARATOR
                n += 1
                at += 1
                begin, gap = n, 1
                letter, last = -1, 0
                continue
            word = load32(data, at)
            length = sequence_length(word)
            if length == 0 or at + length > stop:
                found[d] = ASK
                break
            code = decoded(load64(data, at))
            page = pages[code >> 6]
            if page < 0:
                missing += not wanted[code >> 6]
                wanted[code >> 6] = True
                at += length
                continue
            entry = entries[(page << 6) | (code & 63)]
            if entry & ~PARTED == 0:
                store64(out, n, load64(data, at))
                n += length
                at += length
                letter, last, gap = code if entry == 0 else -1, 0, 0
                continue
            if not is_apart(entry, code, letter, last, pairs):
                found[d] = ASK
                if missing == 0:
                    break
                at += length
                continue
            kind = entry & 3
            if kind == 0:
                store64(out, n, load64(data, at))
                n += length
                gap = 0
            elif kind == GAP:
                out[n] = 0x20
                n += 1 - gap
                gap = 1
            else:
                size = (entry >> LENGTH) & 0xFF
                room -= max(0, size - length)
                if room < 0:
                    found[d] = ASK
                    break
                place = entry >> PLACE
                for i in range(0, size, 8):
                    store64(out, n + i, load64(pool, place + i))
                n += size
                gap &= np.int64(size == 0)
            at += length
            last = (entry >> LAST) & 0xFF
            if entry & PARTED:
                letter = -1
            elif last == 0:
                letter = code
        n = whole if found[d] == ASK else n - (gap & np.int64(n > begin))
    out_offsets[offsets.size - 1] = n
    return missing
