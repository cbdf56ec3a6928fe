"""What documents of one boilerplate share beside it: the shingles that few of them hold, and how many any two share.

All shingles of the documents are counted in a table of cells (``count_all``), which may say too many and never too few.
Of each document ``few_of`` keeps those that several and not too many hold. Where there are more shingles than cells,
most of these have one holder, so they are counted once more by themselves (``count_kept``), and those that nobody
shares are dropped (``drop_alone``). ``rarest.table_of`` says who holds the others, and
``shared`` counts what two documents share, document after document, and hands out the pairs that could reach the
threshold. What a document shares with nobody, and what all have, is only counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels._bits import cttz64
from neardup.kernels.hashing import CHUNK, HASH_PARAMS, fill, new_cursor, rewind, table_bits
from neardup.kernels.rarest import TABLE, find, is_marked, place, tally
from neardup.kernels.verify import VACANT, overlap_needed
from neardup.native.declare import kernel, part, record

ONE = np.uint64(1)
FULL = 255
"""Up to which a cell counts."""


class Few(NamedTuple):
    """What is known of n documents."""

    rows: Any
    """int64[n]: the row of each."""
    sizes: Any
    """int64[n]: distinct shingles ..."""
    common: Any
    """int64[n]: ... of which so many may be held by more documents than are looked at."""
    held: Any
    """int64[n]: and so many are kept."""
    starts: Any
    """int64[n + 1]: where those of each are in ``tokens``."""
    tokens: Any
    """uint64."""


FEW = record(Few, "int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], uint64[::1]")


@kernel(HASH_PARAMS, "read(uint8[::1]), read(int64[::1]), int64[::1], int64, uint8[::1]")
def count_all(params, data, offsets, docs, bits, times):
    """Count the shingles of ``docs``, repeats too, in ``times[2**bits]``, up to FULL: a random access each."""
    cursor = new_cursor(params, CHUNK)
    hashes = cursor.hashes
    shift = np.uint64(64 - bits)
    for i in range(docs.size):
        stop = offsets[docs[i] + 1]
        rewind(cursor, offsets[docs[i]])
        while True:
            count = fill(params, data, stop, cursor)
            for j in range(count):
                cell = np.int64(min(hashes[j], VACANT - ONE) >> shift)
                times[cell] += times[cell] < FULL
            if count < CHUNK:
                break


@part
def _is_fresh(value, table, shift, salt):
    """Put a hash into a table; whether it was not there."""
    mask = table.size - 1
    at = np.int64((value * salt) >> shift)
    while table[at] != VACANT and table[at] != value:
        at = (at + 1) & mask
    if table[at] == value:
        return False
    table[at] = value
    return True


@kernel(
    HASH_PARAMS,
    "read(uint8[::1]), read(int64[::1]), int64[::1], int64[::1], int64, uint8[::1], int64, uint64, "
    "int64[::1], int64[::1], int64[::1], uint64[::1]",
)
def few_of(params, data, offsets, docs, counts, bits, times, most, salt, sizes, common, held, tokens):
    """The shingles of each of ``docs`` that 2 to ``most`` documents hold, end to end into ``tokens``; how many in all.

    ``counts`` are shingles with repeats, for so many of which ``tokens`` has room. ``sizes`` becomes the distinct ones,
    ``common`` those in cells that count more than ``most``, ``held`` those that are kept. A shingle met once in all is
    not put into the table that finds repeats.
    """
    cursor = new_cursor(params, CHUNK)
    hashes = cursor.hashes
    shift = np.uint64(64 - bits)
    largest = 1
    for i in range(counts.size):
        largest = max(largest, counts[i])
    room = np.empty(1 << table_bits(largest), np.uint64)
    n = 0
    for i in range(docs.size):
        stop = offsets[docs[i] + 1]
        rewind(cursor, offsets[docs[i]])
        table_of = table_bits(counts[i])
        table = room[: 1 << table_of]
        table[:] = VACANT
        in_table = np.uint64(64 - table_of)
        alone, often, before = 0, 0, n
        while True:
            count = fill(params, data, stop, cursor)
            for j in range(count):
                value = min(hashes[j], VACANT - ONE)
                times_here = times[np.int64(value >> shift)]
                if times_here <= 1:
                    alone += 1
                elif _is_fresh(value, table, in_table, salt):
                    if times_here > most:
                        often += 1
                    else:
                        tokens[n] = value
                        n += 1
            if count < CHUNK:
                break
        held[i] = n - before
        common[i] = often
        sizes[i] = alone + often + n - before
    return n


@kernel("uint64[::1], uint64, uint8[::1]")
def count_kept(tokens, salt, times):
    """Count shingles in ``times``, a power of two of cells: as ``count_all``, but each set tells its own once."""
    shift = np.uint64(64 - cttz64(np.uint64(times.size)))
    for i in range(tokens.size):
        cell = np.int64((tokens[i] * salt) >> shift)
        times[cell] += times[cell] < FULL


@kernel("uint64[::1], int64[::1], uint64, uint8[::1]")
def drop_alone(tokens, held, salt, times):
    """Take out the shingles that were counted once; ``held`` are those of each set. Returns how many are left."""
    shift = np.uint64(64 - cttz64(np.uint64(times.size)))
    n, i = 0, 0
    for x in range(held.size):
        before, end = n, i + held[x]
        while i < end:
            value = tokens[i]
            tokens[n] = value
            n += times[np.int64((value * salt) >> shift)] > 1
            i += 1
        held[x] = n - before
    return n


@part
def _met(few, x, table, last, hits, touched):
    """Count in ``hits`` what document x shares with each of the first ``last`` indexed ones; who they are, how many."""
    bitmap, slots, posts, salt = table
    in_bitmap, cells = np.uint64(bitmap.size - 1), slots.shape[0]
    met = 0
    for j in range(few.starts[x], few.starts[x] + few.held[x]):
        value = few.tokens[j]
        if not is_marked(bitmap[np.int64(value & in_bitmap)], value):
            continue
        cell = find(value, slots, place(value, salt, cells))
        if slots[cell, 0] == VACANT:
            continue
        met = tally(slots[cell, 1], posts, last, hits, touched, met)
    return met


@part
def _demanded(few, x, indexed, s, threshold):
    """Fewest of the shingles kept that documents x and s must share to be similar, and half of what either has beside
    common ones."""
    size, other = few.sizes[x], indexed.sizes[s]
    needed = overlap_needed(size, other, threshold) - min(few.common[x], indexed.common[s])
    return max(1, needed), min(size - few.common[x], other - indexed.common[s]) // 2


@kernel(FEW, FEW, TABLE, "float64, int32[::1], int32[::1], int64[::1]")
def shares(few, sample, table, threshold, hits, touched, numbers):
    """Add to ``numbers[b]`` the pairs of a document of ``few`` and one of ``sample``, which ``table`` is of, that could
    be similar and share 2**b to 2**(b + 1) - 1 shingles that few hold; those that share half of theirs are passed over.

    ``hits`` (int32, all 0) and ``touched`` have a cell, and one more, for each of the sample.
    """
    for x in range(few.rows.size):
        met = _met(few, x, table, sample.rows.size, hits, touched)
        for m in range(met):
            s = np.int64(touched[m])
            share = np.int64(hits[s])
            hits[s] = 0
            if sample.rows[s] == few.rows[x]:
                continue
            needed, half = _demanded(few, x, sample, s, threshold)
            if needed <= share < half:
                bit = 0
                while share > 1:
                    share >>= 1
                    bit += 1
                numbers[bit] += 1


@kernel(FEW, FEW, TABLE, "boolean, int64, int64, float64, int32[::1], int32[::1], int64[::1], int64[::1]")
def shared(few, indexed, table, same, first, floor, threshold, hits, touched, left, right):
    """Pairs of the documents of ``few`` from ``first`` on, and indexed ones, that could be similar.

    Each has the shingles that it needs in common with the other, and at least ``floor`` of those that few hold, or half
    of all such that either has. With ``same`` both are the same documents, and each pair comes once. Returns the
    document to go on with and the pairs written; it stops where those of the next one might not fit. Cost: a step for
    each shingle kept and each document that shares it.
    """
    n = 0
    for x in range(first, few.rows.size):
        met = _met(few, x, table, x if same else indexed.rows.size, hits, touched)
        if met > left.size - n:
            for m in range(met):
                hits[touched[m]] = 0
            return x, n
        for m in range(met):
            s = np.int64(touched[m])
            share = np.int64(hits[s])
            hits[s] = 0
            needed, half = _demanded(few, x, indexed, s, threshold)
            if share >= max(needed, min(floor, half)):
                left[n] = min(few.rows[x], indexed.rows[s])
                right[n] = max(few.rows[x], indexed.rows[s])
                n += 1
    return few.rows.size, n
