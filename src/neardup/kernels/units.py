"""Lines and paragraphs of texts, and the hashes of units. White space is what ``str.isspace`` says."""

from __future__ import annotations

import numpy as np

from neardup.kernels.hashing import _in_word, _next, hash_bytes
from neardup.native.declare import kernel, part

LF, CR = 10, 13


@part
def _white_size(data, at, stop):
    """Bytes of the character at a place (UTF-8) if it is white space, else 0."""
    c = data[at]
    if c < 0x80:
        return np.int64(9 <= c <= 13 or 0x1C <= c <= 0x20)
    if c == 0xC2 and at + 1 < stop:
        return 2 * np.int64(data[at + 1] == 0x85 or data[at + 1] == 0xA0)
    if at + 2 >= stop:
        return np.int64(0)
    second, third = data[at + 1], data[at + 2]
    if c == 0xE2:
        if second == 0x80:
            return 3 * np.int64(third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF)
        return 3 * np.int64(second == 0x81 and third == 0x9F)
    ogham, ideographic = c == 0xE1 and second == 0x9A, c == 0xE3 and second == 0x80
    return 3 * np.int64((ogham or ideographic) and third == 0x80)


@kernel("read(uint8[::1]), read(int64[::1]), int64, int64[::1], int64[:, ::1]")
def split_at_breaks(data, offsets, breaks, counts, out):
    """Divide each document at white space that has ``breaks`` line breaks or more; returns how many units there are.

    A line break is LF, CR LF or CR. ``counts`` (int64[n]) gets the units of each document, ``out`` (int64[m, 2], two
    bytes of text for each row, and one for each document) where each begins and ends. About 3 ns a byte.
    """
    used = 0
    for d in range(offsets.size - 1):
        at, stop = offsets[d], offsets[d + 1]
        first, begin, end, broken = used, np.int64(-1), at, 0
        while at < stop:
            c = data[at]
            size = np.int64(0) if 0x20 < c < 0x80 else _white_size(data, at, stop)
            if size:
                if c == CR or (c == LF and not (at > offsets[d] and data[at - 1] == CR)):
                    broken += 1
                at += size
                continue
            if broken >= breaks and begin >= 0:
                out[used, 0], out[used, 1] = begin, end
                used += 1
                begin = np.int64(-1)
            if begin < 0:
                begin = at
            at += 1
            end, broken = at, 0
        if begin >= 0:
            out[used, 0], out[used, 1] = begin, end
            used += 1
        counts[d] = used - first
    return used


@kernel("read(uint8[::1]), int64[:, ::1]")
def trim(data, bounds):
    """Move the bounds of stretches (int64[m, 2]) inward past white space; one of nothing else ends where it begins."""
    for i in range(bounds.shape[0]):
        at, stop = bounds[i, 0], bounds[i, 1]
        begin, end = np.int64(-1), at
        while at < stop:
            size = _white_size(data, at, stop)
            if size:
                at += size
                continue
            if begin < 0:
                begin = at
            at += 1
            end = at
        bounds[i, 0], bounds[i, 1] = max(begin, bounds[i, 0]), max(end, bounds[i, 0])


@kernel("read(uint8[::1]), read(int64[::1]), uint8[::1], int64[::1]")
def count_words(data, offsets, letters, counts):
    """The words of each document, into ``counts``: runs of the characters that ``letters``, a bitmap, has."""
    for d in range(offsets.size - 1):
        at, stop, n, inside = offsets[d], offsets[d + 1], 0, False
        while at < stop:
            is_letter = _in_word(data, at, stop, letters)
            n += np.int64(is_letter and not inside)
            inside = is_letter
            at = _next(data, at, stop)
        counts[d] = n


@kernel("read(uint8[::1]), read(int64[::1]), UniTuple(uint64, 4), uint64[::1]")
def hash_texts(data, offsets, key, out):
    """The hash of each document under a key; of an empty one the start of the key."""
    for d in range(offsets.size - 1):
        size = offsets[d + 1] - offsets[d]
        out[d] = hash_bytes(data, offsets[d], size, key) if size > 0 else key[0]
