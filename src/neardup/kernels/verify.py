"""Exact sets and their overlap: the part of the chain that decides its speed.

A set is built by insertion into an ordered table: linear probing on the leading bits, each run kept in rising order.
The hashes are uniform, so a scan of the table is the sorted set without repeats, in about 6 ns a shingle where a radix
sort takes 11 and a library sort 60; a document that repeats one shingle a million times costs no more.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.hashing import CHUNK, HASH_PARAMS, fill, new_cursor, rewind, table_bits
from neardup.native.declare import kernel, maker, part, record
from neardup.types import PaddedSets

VACANT = np.uint64(0xFFFFFFFFFFFFFFFF)
UNIQUE = 1
"""Largest class of a shingle that only one document has, in the tables of how rare shingles are."""
TAIL = 64
STEPS = 8
"""Steps an insertion, on average, up to which a table is filled; at half its cells chance makes about 1.5 of them."""
SPARE_STEPS = 1 << 16
"""Steps that are allowed beside."""
STRIDE, LEAST_STRIDE = 64, 4
"""Steps that two merges of the same sets make between two looks at how far they are, at most and at least."""
BYTE = np.uint64(255)

PADDED_SETS = record(PaddedSets, "int64[::1], int64[::1], uint64[::1]")


@part
def _insert(table, home, value):
    """Put ``value`` in its place at or after ``home``; larger values move up.

    Returns 1 when it was not there, else 0, and the steps from ``home``.
    """
    index = home
    while table[index] < value:
        index += 1
    if table[index] == value:
        return 0, index - home
    while value != VACANT:
        value, table[index] = table[index], value
        index += 1
    return 1, index - home


@part
def _fill_table(params, data, begin, stop, cursor, shift, table):
    """Insert the shingles of one document; returns how many are distinct, or -1 when they take too many steps."""
    hashes = cursor.hashes
    rewind(cursor, begin)
    n, total, steps = 0, 0, 0
    while True:
        count = fill(params, data, stop, cursor)
        for j in range(count):
            value = min(hashes[j], VACANT - np.uint64(1))
            fresh, more = _insert(table, np.int64(value >> shift), value)
            n += fresh
            steps += more
        total += count
        if steps > STEPS * total + SPARE_STEPS:
            return -1
        if count < hashes.size:
            break
    return n


@maker
def _sort(values, n, room):
    """Sort ``values[:n]`` by its bytes, lowest first, with ``room`` for as many beside; linear for any values."""
    ends = np.empty(257, np.int64)
    for turn in range(8):
        shift = np.uint64(8 * turn)
        ends[:] = 0
        for i in range(n):
            ends[np.int64((values[i] >> shift) & BYTE) + 1] += 1
        for b in range(256):
            ends[b + 1] += ends[b]
        for i in range(n):
            b = np.int64((values[i] >> shift) & BYTE)
            room[ends[b]] = values[i]
            ends[b] += 1
        values[:n] = room[:n]


@part
def _sort_all(params, data, begin, stop, cursor, room, table, out):
    """Write the shingles of one document, at most ``room``, to ``out``, sorted, each once; returns how many."""
    hashes = cursor.hashes
    rewind(cursor, begin)
    total = 0
    while True:
        count = fill(params, data, stop, cursor)
        for j in range(count):
            table[total + j] = min(hashes[j], VACANT - np.uint64(1))
        total += count
        if count < hashes.size:
            break
    _sort(table, total, table[room:])
    n = 0
    for i in range(total):
        if i == 0 or table[i] != table[i - 1]:
            out[n] = table[i]
            n += 1
    return n


@kernel(HASH_PARAMS, "read(uint8[::1]), read(int64[::1]), int64[::1], int64[::1], int64[::1], uint64[::1]")
def build_sets(params, data, offsets, docs, starts, sizes, out):
    """Sorted unique shingle hashes of ``docs`` (indices into ``offsets``).

    Set i goes to ``out[starts[i] : starts[i] + sizes[i]]``; the room to ``starts[i + 1]`` must hold all its shingles
    with repeats. Memory: one table of at most four words a shingle of the largest document. The hash 2**64 - 1
    marks a vacant cell, so it is stored as 2**64 - 2, in every document alike.
    """
    most = 1
    for i in range(docs.size):
        most = max(most, starts[i + 1] - starts[i])
    bits = table_bits(most)
    table = np.empty((1 << bits) + most + TAIL, np.uint64)
    cursor = new_cursor(params, CHUNK)
    for i in range(docs.size):
        room = starts[i + 1] - starts[i]
        bits = table_bits(room)
        shift = np.uint64(64 - bits)
        end = (1 << bits) + room + TAIL
        table[:end] = VACANT
        begin, stop = offsets[docs[i]], offsets[docs[i] + 1]
        n = _fill_table(params, data, begin, stop, cursor, shift, table)
        at = starts[i]
        if n < 0:
            sizes[i] = _sort_all(params, data, begin, stop, cursor, room, table, out[at:])
            continue
        sizes[i] = n
        limit = at + n
        j = 0
        while at < limit:
            value = table[j]
            out[at] = value
            at += value != VACANT
            j += 1


@part
def first_at_least(values, low, high, least):
    """First place from ``low`` on of rising values that is at least ``least``, else ``high``."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@part
def overlap_needed(size_a, size_b, threshold):
    """Smallest intersection whose share of the union, as a float64, is at least ``threshold``.

    Counted up from below the real solution, so that rounding never loses a pair at exactly the threshold.
    """
    total = size_a + size_b
    needed = max(0, np.int64(threshold / (1.0 + threshold) * total) - 2)
    while needed < total and needed / (total - needed) < threshold:
        needed += 1
    return needed


@part
def least_held(size, threshold):
    """Fewest shingles of a set of ``size`` whose share of it, as a float64, is at least ``threshold``."""
    least = max(0, np.int64(threshold * size) - 1)
    while least < size and least / size < threshold:
        least += 1
    return least


@part
def intersection(a, a_end, sets_a, b, b_end, sets_b, needed):
    """Size of the intersection of two rising runs, or -1 as soon as it is seen that it cannot reach ``needed``.

    Two merges go towards each other: a step of one waits for its own last step only. They stop before they could meet,
    and one merges what is left between them. A place is unsigned, since a signed one might count from the end.
    """
    spare_a, spare_b = (a_end - a) - needed, (b_end - b) - needed
    if spare_a < 0 or spare_b < 0:
        return -1
    one = np.uint64(1)
    i, j, i_end, j_end = np.uint64(a), np.uint64(b), np.uint64(a_end), np.uint64(b_end)
    rising, falling = 0, 0
    while True:
        steps = min(min(np.int64(i_end - i), np.int64(j_end - j)) >> 1, STRIDE)
        if steps < LEAST_STRIDE:
            break
        for _ in range(steps):
            x, y = sets_a[i], sets_b[j]
            u, v = sets_a[i_end - one], sets_b[j_end - one]
            rising += x == y
            falling += u == v
            i += np.uint64(x <= y)
            j += np.uint64(y <= x)
            i_end -= np.uint64(u >= v)
            j_end -= np.uint64(v >= u)
        common = rising + falling
        passed_a = (a_end - a) - np.int64(i_end - i)
        passed_b = (b_end - b) - np.int64(j_end - j)
        if passed_a - common > spare_a or passed_b - common > spare_b:
            return -1
    while i < i_end and j < j_end:
        x, y = sets_a[i], sets_b[j]
        rising += x == y
        i += np.uint64(x <= y)
        j += np.uint64(y <= x)
    return rising + falling


@kernel("int64[::1], int64[::1]", PADDED_SETS, PADDED_SETS, "float64, boolean, float64[::1]")
def check_pairs(left, right, first, second, threshold, is_containment, similarity):
    """Exact similarity of a set of ``first`` and one of ``second`` each, or -1 where it is below the threshold.

    Jaccard's or, for containment, the share of the smaller set that the larger one holds. Both are ``PaddedSets``, and
    may be the same. Steps of the merges have no branch; every 64 of each the misses so far are held against what the
    threshold allows. About 2 ns a shingle of the union.
    """
    for p in range(left.size):
        a, b = left[p], right[p]
        size, other = first.sizes[a], second.sizes[b]
        needed = least_held(min(size, other), threshold) if is_containment else overlap_needed(size, other, threshold)
        a_end, b_end = first.starts[a] + size, second.starts[b] + other
        common = intersection(first.starts[a], a_end, first.hashes, second.starts[b], b_end, second.hashes, needed)
        similarity[p] = -1.0
        if common >= needed:
            whole = min(size, other) if is_containment else size + other - common
            if whole > 0 and common / whole >= threshold:
                similarity[p] = common / whole
