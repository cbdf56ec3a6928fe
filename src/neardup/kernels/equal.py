"""Whether two texts, or two shingles, are the same, byte for byte. A hash of them only says where to look."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels._bits import peek64
from neardup.kernels.hashing import (
    BYTE,
    CHAR,
    CHUNK,
    HASH_PARAMS,
    ITEM,
    SEPARATOR,
    WORD,
    _in_word,
    _next,
    fill,
    new_cursor,
    rewind,
    table_bits,
)
from neardup.kernels.stored import ALL
from neardup.native.declare import kernel, part


@kernel("int64[::1], int64[::1], int64[::1], boolean[::1]")
def equal_bytes(first, second, lengths, equal):
    """Whether the ``lengths[i]`` bytes at two addresses are the same, into ``equal`` (bool).

    Up to seven bytes behind a text are loaded and not looked at. Loop: 64 bytes at a time, so that texts which differ
    early are left early; limited by memory, 5 to 10 GB/s.
    """
    for i in range(lengths.size):
        a, b, left = first[i], second[i], lengths[i]
        differing = np.uint64(0)
        while left >= 64 and differing == 0:
            for j in range(8):
                differing |= peek64(a + 8 * j) ^ peek64(b + 8 * j)
            a, b, left = a + 64, b + 64, left - 64
        while left >= 8 and differing == 0:
            differing = peek64(a) ^ peek64(b)
            a, b, left = a + 8, b + 8, left - 8
        if left > 0 and differing == 0:
            differing = (peek64(a) ^ peek64(b)) & (ALL >> np.uint64(64 - 8 * left))
        equal[i] = differing == 0


@part
def _tokens(params, data, begin, stop, begins, ends, n):
    """Where each token begins and ends, from place ``n`` of the arrays on; a text of no word is one. How many."""
    kind, letters = params.kind, params.letters
    first = n
    at = begin
    while at < stop:
        start = at
        if kind == BYTE:
            at += 1
        elif kind == CHAR:
            at = _next(data, at, stop)
        elif kind == WORD:
            while at < stop and _in_word(data, at, stop, letters):
                at = _next(data, at, stop)
        else:
            while at < stop and data[at] != SEPARATOR:
                at += 1
        if at > start:
            begins[n], ends[n] = start, at
            n += 1
        else:
            at = _next(data, at, stop) if kind == WORD else at + 1
    if n == first and kind == WORD and stop > begin:
        begins[n], ends[n] = begin, stop
        n += 1
    return n - first


@part
def _same_span(data, a, a_end, b, b_end):
    if a_end - a != b_end - b:
        return False
    for i in range(a_end - a):
        if data[a + i] != data[b + i]:
            return False
    return True


@part
def _same_shingle(kind, data, begins, ends, a, run_a, b, run_b):
    """Whether two runs of tokens are one shingle. What stands between two words is no part of it."""
    if kind != WORD:
        return _same_span(data, begins[a], ends[a + run_a - 1], begins[b], ends[b + run_b - 1])
    if run_a != run_b:
        return False
    for i in range(run_a):
        if not _same_span(data, begins[a + i], ends[a + i], begins[b + i], ends[b + i]):
            return False
    return True


class Table(NamedTuple):
    """The first shingle of each hash, of two documents; a shingle is named by the place of its first token."""

    names: Any
    """int64, a power of two of cells: the name of a shingle, or -1."""
    values: Any
    """uint64: the hash of each."""
    cells: Any
    """int64: the cells in use."""
    begins: Any
    """int64: where each token begins."""
    ends: Any
    """int64: where each token ends."""


@part
def _enter(params, data, begin, stop, cursor, table, bits, first, run, middle, run_before, used):
    """Put the shingles of a document, the first one named ``first``, into ``2**bits`` cells of the table.

    Names below ``middle`` are of the other document, whose shingles are runs of ``run_before`` tokens, these of
    ``run``. Returns the cells in use, or -1 when two shingles that differ share a hash.
    """
    kind, hashes = params.kind, cursor.hashes
    names, values, cells, begins, ends = table
    mask, shift = (1 << bits) - 1, np.uint64(64 - bits)
    rewind(cursor, begin)
    name = first
    while True:
        count = fill(params, data, stop, cursor)
        for j in range(count):
            value = hashes[j]
            at = np.int64(value >> shift)
            while names[at] >= 0 and values[names[at]] != value:
                at = (at + 1) & mask
            other = names[at]
            if other < 0:
                names[at] = name
                values[name] = value
                cells[used] = at
                used += 1
            elif not _same_shingle(kind, data, begins, ends, name, run, other, run_before if other < middle else run):
                return -1
            name += 1
        if count < CHUNK:
            break
    return used


@kernel(HASH_PARAMS, "read(uint8[::1]), read(int64[::1]), int64[::1], int64[::1], boolean[::1]")
def colliding(params, data, offsets, left, right, found):
    """Whether two shingles that differ share a hash in the documents of each pair, into ``found`` (bool).

    Where none do, what their sets have in common is exactly what the sets of their hashes have. One table a pair, in
    which each shingle is held against the first one of its hash; that of the left document stays while the next pairs
    have it too. Memory: 48 to 64 bytes a byte of the two longest documents. 35 to 60 ns a shingle.
    """
    longest = 0
    for p in range(left.size):
        a, b = left[p], right[p]
        longest = max(longest, offsets[a + 1] - offsets[a] + offsets[b + 1] - offsets[b])
    names, values = np.full(1 << table_bits(longest), -1, np.int64), np.empty(longest, np.uint64)
    begins, ends, cells = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    table = Table(names, values, cells, begins, ends)
    cursor = new_cursor(params, CHUNK)
    kind, k = params.kind, params.k
    bits, last, used_a, n_a, run_a = 0, -1, 0, 0, 0
    for p in range(left.size):
        a, b = left[p], right[p]
        if a != last:
            n_a = _tokens(params, data, offsets[a], offsets[a + 1], begins, ends, 0)
            run_a = 1 if kind == ITEM else min(k, n_a)
        n_b = _tokens(params, data, offsets[b], offsets[b + 1], begins, ends, n_a)
        run_b = 1 if kind == ITEM else min(k, n_b)
        wanted = table_bits(n_a + n_b)
        if a != last or wanted > bits:
            for i in range(used_a):
                names[cells[i]] = -1
            bits, last = wanted, a
            used_a = _enter(params, data, offsets[a], offsets[a + 1], cursor, table, bits, 0, run_a, 0, 0, 0)
        used = used_a
        if used_a >= 0:
            begin, stop = offsets[b], offsets[b + 1]
            used = _enter(params, data, begin, stop, cursor, table, bits, n_a, run_b, n_a, run_a, used_a)
        found[p] = used < 0
        if used < 0:  # how far it came is not known
            names[:] = -1
            used_a, last = 0, -1
        for i in range(used_a, used):
            names[cells[i]] = -1
