"""Normalisation of the documents whose characters tell by themselves what becomes of them.

A table has for each code point what it becomes alone, and what is needed to know that it becomes the same among others:
the test is the quick check of Unicode (UAX #15, section 9), with a look at the letter before a mark that joins to some
letters. A document that is not certain to become what its characters become is left to the judge, as is one that is not
UTF-8. ``stages.characters`` makes the tables out of the judge's answers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels._bits import cttz64, load32, load64, store64
from neardup.kernels._jit import inlined, kernel, part, record
from neardup.kernels.hashing import BYTE0, HIGH, LOW6, ONE, S8, S16, S24, S63, SEPARATOR, gathered
from neardup.kernels.stored import ALL
from neardup.kernels.utf8 import sequence_length

EACH = np.uint64(0x0101010101010101)
BEFORE = -2
"""For a letter: the quiet character before, which was not looked at."""
S2, S3, S4, S61, S62 = np.uint64(2), np.uint64(3), np.uint64(4), np.uint64(61), np.uint64(62)

PAGE = 64
"""Code points to a page: those that differ in the last byte of their UTF-8 only."""
PAGES = 0x110000 // PAGE

QUIET = (0xC3, 0xD0, 0xD1, *range(0xE4, 0xEA), 0xEB, 0xEC)
"""Bytes that begin characters of which each is in both forms, has class 0, and composes with none before it: those of
Latin-1, Cyrillic, ideographs, most of Hangul. What is not assigned yet from U+4000 to U+9FFF is for ideographs."""

SAME, MAPPED, ASK = 0, 1, 2
"""What is known of a document: it is in the form, its characters tell what it becomes, only the judge can tell."""

SPACE, DROP = 0x80, 0xFF
"""In the table of ASCII: white space of which a run becomes one space; nothing."""

# An entry. 0: the character becomes itself, stays apart from what surrounds it, and does not decompose.
REPLACED, GAP, UNKNOWN = 1, 2, 3
"""Lowest two bits: another text, from ``pool``; white space of which a run becomes one space; ask the judge."""
JOINS = 4
"""It composes with some letters before it."""
PARTED = 8
"""It decomposes, or becomes another text: no mark that composes with any letter may follow it."""
FIRST, LAST, LENGTH, PLACE = 8, 16, 24, 32
"""Where eight bits begin for the combining class of its first and its last character; for the length of the text that
it becomes; and 32 bits for the place of that in ``pool``."""


class Characters(NamedTuple):
    """What becomes of characters under some steps of normalisation."""

    ascii: Any
    """uint8[128]: what becomes of each ASCII character."""
    pages: Any
    """int32[PAGES]: the place of each page in ``entries``, -1 for one that nobody has asked for."""
    entries: Any
    """int64[n * PAGE]."""
    pool: Any
    """uint8: texts that characters become, with eight bytes behind the last."""
    pairs: Any
    """int64, rising: all (letter << 21 | mark) that compose."""


CHARACTERS = record(
    Characters, "read(uint8[::1]), read(int32[::1]), read(int64[::1]), read(uint8[::1]), read(int64[::1])"
)


@part
def _composes(pairs, pair):
    low, high = 0, pairs.size
    while low < high:
        middle = (low + high) >> 1
        if pairs[middle] < pair:
            low = middle + 1
        else:
            high = middle
    return low < pairs.size and pairs[low] == pair


@part
def _is_apart(entry, code, letter, last, pairs):
    """Whether a character stays what it is alone, behind ``letter`` (-1: one that decomposes) and class ``last``."""
    if entry & 3 == UNKNOWN:
        return False
    first = (entry >> FIRST) & 0xFF
    if first != 0 and first < last:
        return False
    return entry & JOINS == 0 or (letter >= 0 and not _composes(pairs, letter << 21 | code))


@inlined
def _between(bytes7, least, most):
    """Of eight bytes below 0x80 the highest bit of each from ``least`` to ``most``."""
    return (bytes7 + EACH * np.uint64(0x80 - least)) & ~(bytes7 + EACH * np.uint64(0x7F - most))


@inlined
def _is_quiet(word):
    """Of eight bytes that begin characters the highest bit of each that is in QUIET, and some of other bytes."""
    low = word & ~HIGH
    return _between(low, 0x43, 0x43) | _between(low, 0x50, 0x51) | _between(low, 0x64, 0x69) | _between(low, 0x6B, 0x6C)


@part
def _leads(data, position, stop, items, owed):
    """A bit for each of the 64 bytes from ``position`` on that begins a character that must be looked at.

    ``owed`` are the continuation bytes, a bit each, that the bytes before still need. Returns those that these need,
    too, or ALL where a byte that continues a character has none before it, or one that is needed is missing.
    """
    high = np.uint64(0)
    for j in range(8):
        high |= load64(data, position + 8 * j)
    if high & HIGH == 0:
        return np.uint64(0), np.uint64(0) if owed == 0 else ALL
    loud, two, three, four, more = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for j in range(8):
        word = load64(data, position + 8 * j)
        shift = np.uint64(8 * j)
        lead = word & (word << ONE) & HIGH
        if items:
            every = word & (word << ONE)
            every &= every << S2
            lead &= ~(every & (every << S4))
        more |= gathered(word & ~(word << ONE) & HIGH) << shift
        two |= gathered(lead) << shift
        three |= gathered(lead & (word << S2)) << shift
        four |= gathered(lead & (word << S2) & (word << S3)) << shift
        loud |= gathered(lead & ~_is_quiet(word)) << shift
    within = ALL >> np.uint64(max(0, 64 - (stop - position)))
    two &= within
    three &= within
    four &= within
    needed = owed | (two << ONE) | (three << S2) | (four << S3)
    if needed != more & within:
        return loud, ALL
    return loud & within, (two >> S63) | (three >> S62) | (four >> S61)


@inlined
def _decoded(word):
    """Code point of the sequence that begins ``word`` (uint64), -1 where it is too long a form or beyond Unicode."""
    lead = np.int64(word & BYTE0)
    size = 2 + np.int64(lead >= 0xE0) + np.int64(lead >= 0xF0)
    low = np.int64((word >> S8) & LOW6) << 12 | np.int64((word >> S16) & LOW6) << 6 | np.int64((word >> S24) & LOW6)
    code = ((lead & (0x7F >> size)) << 18 | low) >> (24 - 6 * size)
    least = 1 << (5 * size - 4 + np.int64(size == 2))
    return -1 if (code < least) | (code > 0x10FFFF) | (lead > 0xF4) else code


@kernel(CHARACTERS, "read(uint8[::1]), read(int64[::1]), boolean, uint8[::1], boolean[::1]")
def look(characters, data, offsets, items, found, wanted):
    """What is known of each document, for steps that leave ASCII as it is: SAME, MAPPED or ASK into ``found``.

    With ``items`` a document is a set, its items apart by SEPARATOR. Returns the number of pages met that are not in
    the table, which are marked in ``wanted``; ``found`` means nothing then. Loop: 64 bytes at a time, then their
    characters beyond ASCII, of which none waits for the one before it.
    """
    pages, entries, pairs = characters.pages, characters.entries, characters.pairs
    missing = 0
    for d in range(offsets.size - 1):
        stop = offsets[d + 1]
        state = SAME
        letter, last = -1, 0
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
                code = _decoded(load64(data, at))
                if code < 0:
                    state = ASK
                    break
                page = pages[code >> 6]
                if page < 0:
                    missing += not wanted[code >> 6]
                    wanted[code >> 6] = True
                    continue
                entry = entries[(page << 6) | (code & 63)]
                if entry & ~PARTED == 0:
                    letter, last = code if entry == 0 else -1, 0
                    continue
                if letter == BEFORE and entry & JOINS:
                    letter = _decoded(load64(data, at - (2 if data[at - 2] >= 0xC0 else 3)))
                    page = pages[letter >> 6]
                    if page < 0:
                        missing += not wanted[letter >> 6]
                        wanted[letter >> 6] = True
                        continue
                    if entries[(page << 6) | (letter & 63)] != 0:
                        letter = -1
                if not _is_apart(entry, code, letter, last, pairs):
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
            if state == ASK and missing == 0:
                break
        found[d] = state
    return missing


@kernel(CHARACTERS, "read(uint8[::1]), read(int64[::1]), boolean, uint8[::1], boolean[::1], uint8[::1], int64[::1]")
def write(characters, data, offsets, items, found, wanted, out, out_offsets):
    """Write documents that are SAME as they are, those that are MAPPED as their characters become, of others nothing.

    A document that turns out to be one for the judge, or for which ``out`` has no room, is marked ASK in ``found``;
    room is a byte for each of the text, what replaced characters take more, and eight. A run of white space becomes
    one space, and none at the ends, where the table says SPACE or GAP of it. Returns as ``look``.
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
            code = _decoded(load64(data, at))
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
            if not _is_apart(entry, code, letter, last, pairs):
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
