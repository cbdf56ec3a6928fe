"""Postings: which documents have which key in which band, sorted, and the lookup over all runs of them at once.

A posting is a uint64: the leading 32 bits of a band key, then the number of the document inside its run. A *run* has
for each band a rising array of postings and a directory over the leading ``bits`` bits of the keys, so that a lookup
touches two cache lines a band. 32 bits of a key suffice: two keys that agree in them by chance make a candidate, which
the exact check drops.

Runs lie in memory or in mapped files, so the lookup takes their addresses, one row of ``RUN_FIELDS`` int64 a run:
postings, row starts, directory, hashes of the texts, bits, number of the first document, and for a mapped file the
address of its first checked page, of the checksums of the pages and of the flags of those that were checked (0 for a
run in memory). A page of a file is held against its checksum when it is first touched, so that a damaged byte is seen
before it can change an answer, and opening a file costs nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels._bits import peek8, peek32, peek64, poke8
from neardup.kernels.stored import M1, mix
from neardup.native.declare import kernel, maker, part
from neardup.types import I32, I64, Mask

PAGE = 4096
RUN_FIELDS = 9
POSTINGS, STARTS, DIRECTORY, PRINTS, BITS, BASE, PAGES, SUMS, SEEN = range(RUN_FIELDS)
GOOD = 1
"""Flag of a page that was checked; 0 before that."""
LOW = np.uint64(0xFFFFFFFF)
S32 = np.uint64(32)
VACANT = np.int64(-1)
ALL = 2**62
"""As a limit of postings: no limit."""
PROBES = 64
"""Cells that are looked at for a document of the same hash. Hashes can be chosen so that all fall into one cell; one
that is not found for that is checked like any other text."""


class Found(NamedTuple):
    """Documents that share a key with queries, as met; those of a query are distinct."""

    ends: I64
    """int64[queries]: those of query q are ``ends[q - 1]`` to ``ends[q]``."""
    numbers: I64
    bands: I32
    """Keys that agree."""
    same_text: I64
    """Place of the first document of the same query whose text has the same hash, itself included: perhaps a copy.
    PROBES bounds the search for it."""
    is_cut: Mask
    """bool[queries]: whether a key of the query has more postings than the limit, so that documents may be missing."""
    damaged: int
    """The run whose file is damaged, or -1; then nothing else is told."""


@part
def _page_sum(address):
    """Checksum of the page at ``address``: four chains of invertible steps, so one changed word always shows."""
    a, b, c, d = M1, M1 + np.uint64(1), M1 + np.uint64(2), M1 + np.uint64(3)
    for i in range(0, PAGE, 32):
        a = (a ^ peek64(address + i)) * M1
        b = (b ^ peek64(address + i + 8)) * M1
        c = (c ^ peek64(address + i + 16)) * M1
        d = (d ^ peek64(address + i + 24)) * M1
        a ^= a >> S32
        b ^= b >> S32
        c ^= c >> S32
        d ^= d >> S32
    return mix(a) + mix(mix(b) + mix(mix(c) + mix(d)))


@kernel("read(uint8[::1]), uint64[::1]")
def page_sums(data, sums):
    """Checksum of each page of ``data`` (uint8, whole pages) into ``sums``; about 10 GB/s."""
    first = np.int64(data.ctypes.data)
    for page in range(sums.size):
        sums[page] = _page_sum(first + page * PAGE)


@part
def _is_good(run, address):
    """Whether the page that holds ``address`` is as it was written; pages of memory always are."""
    first = run[PAGES]
    if first == 0:
        return True
    page = (address - first) // PAGE
    if peek8(run[SEEN] + page) == GOOD:
        return True
    if _page_sum(first + page * PAGE) != peek64(run[SUMS] + 8 * page):
        return False
    poke8(run[SEEN] + page, np.uint8(GOOD))
    return True


@part
def _narrow(run, key, limit, span):
    """Narrow the places of a directory entry in ``span`` to the addresses of the postings of ``key``.

    Returns their number, or -1 if a page is damaged; it stops at one more than ``limit``. The end is found by steps
    that double, so only a few pages are touched, and only those are checked.
    """
    low, high = span[0], span[1]
    first, wanted, end = span[2], np.uint64(key) << S32, high
    while low < high:
        middle = (low + high) // 2
        if not _is_good(run, first + 8 * middle):
            return -1
        if peek64(first + 8 * middle) < wanted:
            low = middle + 1
        else:
            high = middle
    stop, step, end = low, 1, min(end, low + limit + 1)
    while stop < end:
        at = min(stop + step, end) - 1
        if not _is_good(run, first + 8 * at):
            return -1
        if peek64(first + 8 * at) >> S32 == np.uint64(key):
            stop, step = at + 1, 2 * step
        else:
            end, step = at, 1
    span[0], span[1] = first + 8 * low, first + 8 * min(stop, low + limit)
    return stop - low


@part
def _find(runs, first_row, keys, q, limit, spans):
    """Find the postings of each key of query ``q``, at most ``limit`` of a key, and write their addresses to ``spans``.

    Returns the number of postings, or -1 - r if run r is damaged, and whether a key has more. All directory entries
    are read before any posting, and one posting of each range before any search, so that the loads overlap.
    """
    rows = keys.shape[0]
    for r in range(runs.shape[0]):
        run = runs[r]
        bits = run[BITS]
        for row in range(rows):
            prefix = np.int64(np.uint64(keys[row, q]) >> np.uint64(32 - bits))
            entry = run[DIRECTORY] + 4 * ((first_row + row) * ((1 << bits) + 1) + prefix)
            if not (_is_good(run, entry) and _is_good(run, entry + 4)):
                return -1 - r, False
            span = spans[r * rows + row]
            span[0], span[1] = np.int64(peek32(entry)), np.int64(peek32(entry + 4))
            span[2] = run[POSTINGS] + 8 * np.int64(peek64(run[STARTS] + 8 * (first_row + row)))
    for span in spans[: runs.shape[0] * rows]:
        if span[0] < span[1]:
            span[3] = np.int64(peek64(span[2] + 8 * ((span[0] + span[1]) // 2)))
    total, is_cut = 0, False
    for row in range(rows):
        left = limit
        for r in range(runs.shape[0]):
            count = _narrow(runs[r], keys[row, q], left, spans[r * rows + row])
            if count < 0:
                return -1 - r, False
            is_cut |= count > left
            total += min(count, left)
            left -= min(count, left)
    return total, is_cut


@maker
def _grown(array, used, room):
    more = np.empty(room, array.dtype)
    more[:used] = array[:used]
    return more


@kernel("int64[:, ::1], uint32[:, ::1], boolean[::1], int64, int64")
def lookup(runs, keys, wanted, first_row, limit):
    """The fields of a ``Found``: documents that share a key with each query.

    ``runs`` is int64[runs, RUN_FIELDS], ``keys`` uint32[rows, queries] for the rows ``first_row`` and on of the runs.
    Queries that are not ``wanted`` (bool[queries]) get nothing. At most ``limit`` postings of one key are copied.

    Loop: queries, runs, rows; first all ranges are found, which is where the memory is waited for, then copied.
    """
    rows, queries = keys.shape
    ends = np.zeros(queries, np.int64)
    numbers = np.empty(64, np.int64)
    bands = np.empty(64, np.int32)
    prints = np.empty(64, np.uint64)
    same_text = np.empty(64, np.int64)
    is_cut = np.zeros(queries, np.bool_)
    spans = np.empty((runs.shape[0] * rows, 4), np.int64)
    table = np.full(64, VACANT, np.int64)
    cells = np.empty(64, np.int64)
    n = 0
    for q in range(queries):
        ends[q] = n
        if not wanted[q]:
            continue
        total, is_cut[q] = _find(runs, first_row, keys, q, limit, spans)
        if total < 0:
            return ends, numbers[:0], bands[:0], same_text[:0], is_cut, -1 - total
        if total == 0:
            continue
        if n + total > numbers.size:
            room = 2 * (n + total)
            numbers = _grown(numbers, n, room)
            bands = _grown(bands, n, room)
            prints = _grown(prints, n, room)
            same_text = _grown(same_text, n, room)
        size = 64
        while size < 2 * total:
            size *= 2
        if size > table.size:
            table = np.full(size, VACANT, np.int64)
            cells = np.empty(size, np.int64)
        mask = size - 1
        begin = n
        for r in range(runs.shape[0]):
            run = runs[r]
            for row in range(rows):
                address, stop = spans[r * rows + row, 0], spans[r * rows + row, 1]
                while address < stop:
                    if address % PAGE == 0 and not _is_good(run, address):
                        return ends, numbers[:0], bands[:0], same_text[:0], is_cut, r
                    local = np.int64(peek64(address) & LOW)
                    address += 8
                    number = run[BASE] + local
                    cell = np.int64(mix(np.uint64(number))) & mask
                    while table[cell] != VACANT and numbers[table[cell]] != number:
                        cell = (cell + 1) & mask
                    if table[cell] != VACANT:
                        bands[table[cell]] += 1
                        continue
                    place = run[PRINTS] + 8 * local
                    if not _is_good(run, place):
                        return ends, numbers[:0], bands[:0], same_text[:0], is_cut, r
                    table[cell] = n
                    cells[n - begin] = cell
                    numbers[n] = number
                    bands[n] = 1
                    prints[n] = peek64(place)
                    n += 1
        for i in range(n - begin):
            table[cells[i]] = VACANT
        for i in range(begin, n):
            cell = np.int64(mix(prints[i])) & mask
            probes = 0
            while table[cell] != VACANT and prints[table[cell]] != prints[i] and probes < PROBES:
                cell = (cell + 1) & mask
                probes += 1
            if table[cell] == VACANT:
                table[cell] = i
            cells[i - begin] = cell
            same_text[i] = table[cell] if prints[table[cell]] == prints[i] else i
        for i in range(n - begin):
            table[cells[i]] = VACANT
        ends[q] = n
    return ends, numbers[:n], bands[:n], same_text[:n], is_cut, -1


@kernel("uint64[::1], int64[::1], int64, uint32[:, ::1]")
def directory(postings, starts, bits, out):
    """Where the keys of each prefix of ``bits`` bits begin in each row, into ``out[rows, 2**bits + 1]`` (uint32)."""
    shift = np.uint64(64 - bits)
    for row in range(starts.size - 1):
        entry = 0
        begin, end = starts[row], starts[row + 1]
        for i in range(begin, end):
            prefix = np.int64(postings[i] >> shift) if bits > 0 else 0
            while entry <= prefix:
                out[row, entry] = i - begin
                entry += 1
        while entry <= 1 << bits:
            out[row, entry] = end - begin
            entry += 1


@kernel("uint64[::1], int64[::1], uint64[::1], int64[::1], int64, uint64[::1], int64[::1]")
def merge(left, left_starts, right, right_starts, shift, out, starts):
    """Merge the postings of two runs row by row into ``out`` and ``starts``; documents of ``right`` are counted on.

    ``shift`` is the number by which the documents of ``right`` move. Of equal keys those of ``left`` come first.
    One pass, 16 bytes moved a posting.
    """
    n = 0
    move = np.uint64(shift)
    starts[0] = 0
    for row in range(left_starts.size - 1):
        i, left_end = left_starts[row], left_starts[row + 1]
        j, right_end = right_starts[row], right_starts[row + 1]
        while i < left_end and j < right_end:
            a, b = left[i], right[j] + move
            if a < b:
                out[n] = a
                i += 1
            else:
                out[n] = b
                j += 1
            n += 1
        while i < left_end:
            out[n] = left[i]
            i += 1
            n += 1
        while j < right_end:
            out[n] = right[j] + move
            j += 1
            n += 1
        starts[row + 1] = n
