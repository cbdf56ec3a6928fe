"""All partners of a few documents, found in one pass over the texts of all: what an audit stands on.

A document with the set S has J(S, d) >= t only with documents d that hold at least ``ceil(t |S|)`` shingles of S. So
each is known by its rarest shingles (``rarest``), here among those of small hash, as common as ``count`` tells, and
``scan`` holds the shingles of all documents against their table as they are hashed. Many end at their leading bits,
nearly all others at one word of the bitmap. No pair is lost; that a candidate is a partner is for ``verify`` to say.

Where shingles are so common that strangers share hundreds of those that are kept, counting them takes longer than
holding each document against each set: ``screen`` does that, by words of bits that shingles set (``mark``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.hashing import CHUNK, HASH_PARAMS, fill, new_cursor, rewind, table_bits
from neardup.kernels.rarest import TABLE, Table, find, is_enough, is_marked, place, tally
from neardup.kernels.verify import VACANT, least_held
from neardup.native.declare import inlined, kernel, part, record

COARSE = 13
"""Leading bits of a hash by which it is first asked whether any such is kept: 8 KB of bytes, which stay in L1."""
RANKS = 1024
"""Shingles seen so often or more are equally common."""
SEEN = 16
"""Leading bits of a hash that tell shingles apart where those of one document are counted."""
APART = np.uint64(12)
"""A hash is counted by the bits from here on: those of small hash, which are kept, share their highest ones."""
ONE, TWO, FOUR, SIX = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(6)
IN_WORD, S56 = np.uint64(63), np.uint64(56)
PAIRS, FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
EIGHTS, BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
SPARE = 1e-6
"""Rounding must not lose a pair at exactly the threshold."""
LEAD = np.uint64(64 - COARSE)
FACE = np.uint64(64 - SEEN)


class Index(NamedTuple):
    """The shingles of n sets that identify their partners."""

    rows: Any
    """int64[n]: the document of each set."""
    sizes: Any
    """int64[n]: shingles of each set."""
    needed: Any
    """int64[n]: kept shingles that a partner holds at least."""
    plain: int
    """Sets that stand in no crowd: the first ones."""
    threshold: float
    coarse: Any
    """uint8[2**COARSE]: whether any hash is kept that begins so."""
    table: Table


INDEX = record(Index, "int64[::1], int64[::1], int64[::1], int64, float64, uint8[::1]", TABLE)


class Block(NamedTuple):
    """Documents of a block that are held against an index."""

    docs: Any
    """int64[m]: places in the block."""
    rows: Any
    """int64[m]: the row of each."""
    counts: Any
    """int64[m]: shingles of each, with repeats."""
    crowded: Any
    """bool[m]: whether each stands in a crowd."""


BLOCK = record(Block, "int64[::1], int64[::1], int64[::1], boolean[::1]")


class Scratch(NamedTuple):
    """What one thread writes on while it passes over documents; may be used again for the same index."""

    stamps: Any
    """int32 a cell of the table, zeroed once: one more than the row that met the cell last."""
    hits: Any
    """int32 a set, zeroed, and left so."""
    touched: Any
    """int32, a cell more."""
    left: Any
    """int64, a cell a set at least, as ``right``: the row of the document of each candidate ..."""
    right: Any
    """... and the number of the set."""


SCRATCH = record(Scratch, "int32[::1], int32[::1], int32[::1], int64[::1], int64[::1]")


@inlined
def _counted_at(value, mask):
    """Where a hash is counted, among ``mask`` + 1 cells, a power of two."""
    return np.int64((value >> APART) & mask)


@kernel(HASH_PARAMS, "read(uint8[::1]), read(int64[::1]), int64[::1], uint64, uint32[::1]")
def count(params, data, offsets, docs, bound, times):
    """Add to ``times`` (uint32, a power of two of cells) how many hashes below ``bound`` fall into each cell.

    Of the shingles of ``docs``, with repeats: an upper bound of how many documents hold a shingle, enough to tell rare
    ones from common ones.
    """
    mask = np.uint64(times.size - 1)
    cursor = new_cursor(params, CHUNK)
    hashes = cursor.hashes
    for i in range(docs.size):
        stop = offsets[docs[i] + 1]
        rewind(cursor, offsets[docs[i]])
        while True:
            held = fill(params, data, stop, cursor)
            below = 0
            for j in range(held):
                value = hashes[j]
                hashes[below] = value
                below += value < bound
            for j in range(below):
                times[_counted_at(hashes[j], mask)] += np.uint32(1)
            if held < CHUNK:
                break


@kernel(
    "int64[::1], uint64[::1], uint64, uint32[::1], int64, float64, float64, float64, uint64[::1], int64[::1], "
    "int64[::1]"
)
def choose(offsets, hashes, bound, times, seen, threshold, share, spare, kept, chosen, needed):
    """Shingles of each set by which its partners will be known, rarest first; returns how many in all.

    Those of set s follow those of the sets before it in ``kept``; ``chosen[s]`` says how many, ``needed[s]`` how many
    of them a partner has at least. They are as many as ``is_enough``, as far as the ``seen`` documents behind ``times``
    tell. Only hashes below ``bound`` are kept, where these are enough; else the whole set is.
    """
    mask = np.uint64(times.size - 1)
    room = np.zeros(RANKS + 1, np.int64)
    most = 0
    for s in range(offsets.size - 1):
        most = max(most, offsets[s + 1] - offsets[s])
    held = np.empty(most, np.int64)
    total = 0
    for s in range(offsets.size - 1):
        begin, size = offsets[s], offsets[s + 1] - offsets[s]
        lacking = size - least_held(size, threshold)
        # counting sort by how often the shingle was seen; ties stay in the order of the hashes
        room[:] = 0
        below = 0
        while below < size and hashes[begin + below] < bound:
            held[below] = min(seen, np.int64(times[_counted_at(hashes[begin + below], mask)]))
            room[min(RANKS - 1, held[below]) + 1] += 1
            below += 1
        for i in range(RANKS):
            room[i + 1] += room[i]
        for i in range(below):
            rank = min(RANKS - 1, held[i])
            kept[total + room[rank]] = hashes[begin + i]
            room[rank] += 1
        strangers = 0.0
        take = 0
        while take < below:
            often = min(seen, np.int64(times[_counted_at(kept[total + take], mask)]))
            strangers += max(0, often - 1) / max(1, seen - 1)
            take += 1
            if is_enough(take, lacking, strangers, share, spare):
                break
        else:
            take = size
            kept[total : total + size] = hashes[begin : begin + size]
        chosen[s] = take
        needed[s] = take - lacking
        total += take
    return total


@part
def _distinct(params, data, begin, stop, cursor, seen, enough):
    """Distinct shingles of a document or, where leading bits are equal, fewer; no longer counted above ``enough``."""
    hashes = cursor.hashes
    seen[:] = 0
    found = 0
    rewind(cursor, begin)
    while found <= enough:
        held = fill(params, data, stop, cursor)
        for j in range(held):
            face = np.int64(hashes[j] >> FACE)
            found += seen[face] == 0
            seen[face] = 1
        if held < CHUNK:
            break
    return found


@kernel("int64[::1], uint64[::1], uint64[:, ::1]")
def mark(offsets, hashes, bits):
    """Set in ``bits[s]``, a power of two of words, one bit for each shingle of each set, by its leading bits."""
    words = np.int64(bits.shape[1])
    shift = np.uint64(64 - table_bits(words * 32))
    for s in range(offsets.size - 1):
        for j in range(offsets[s], offsets[s + 1]):
            bit = hashes[j] >> shift
            bits[s, np.int64(bit >> SIX)] |= ONE << (bit & IN_WORD)


@part
def _mark_all(params, data, begin, stop, cursor, shift, own):
    """Set the bits of all shingles of a document."""
    hashes = cursor.hashes
    own[:] = 0
    rewind(cursor, begin)
    while True:
        held = fill(params, data, stop, cursor)
        for j in range(held):
            bit = min(hashes[j], VACANT - ONE) >> shift
            own[np.int64(bit >> SIX)] |= ONE << (bit & IN_WORD)
        if held < CHUNK:
            break


@part
def _only_in(mine, yours, begin, stop):
    """Bits of some words that are set in the first and not in the second."""
    n = np.int64(0)
    for w in range(begin, stop):
        x = mine[w] & ~yours[w]
        x -= (x >> ONE) & PAIRS
        x = (x & FOURS) + ((x >> TWO) & FOURS)
        x = (x + (x >> FOUR)) & EIGHTS
        n += np.int64((x * BYTES) >> S56)
    return n


@kernel(
    HASH_PARAMS, "read(uint8[::1]), read(int64[::1])", BLOCK, "int64", INDEX, "uint64[:, ::1], int64[::1], int64[::1]"
)
def screen(params, data, offsets, block, first, index, bits, left, right):
    """As ``scan``, with the bits of the sets by ``mark``, and other candidates: each partner is one, few others are.

    A bit that one side has and the other has not is a shingle, at least, that the other lacks. So of a set S with p
    bits that d has not, and d with q that S has not, J is at most (|S| - p) / (|S| + q). O(sets x words) a document.
    """
    words = np.int64(bits.shape[1])
    half = words // 2
    shift = np.uint64(64 - table_bits(words * 32))
    own = np.empty(words, np.uint64)
    cursor = new_cursor(params, CHUNK)
    written = 0
    for i in range(first, block.docs.size):
        if left.size - written < index.rows.size:
            return i, written
        doc = block.docs[i]
        _mark_all(params, data, offsets[doc], offsets[doc + 1], cursor, shift, own)
        last = index.plain if block.crowded[i] else index.rows.size
        for s in range(last):
            size = index.sizes[s]
            if block.counts[i] < least_held(size, index.threshold) or index.rows[s] == block.rows[i]:
                continue
            its = bits[s]
            lacks, more = _only_in(its, own, 0, half), _only_in(own, its, 0, half)
            if size - lacks < index.threshold * (size + more) - SPARE:
                continue
            lacks += _only_in(its, own, half, words)
            more += _only_in(own, its, half, words)
            if size - lacks >= index.threshold * (size + more) - SPARE:
                left[written], right[written] = block.rows[i], s
                written += 1
    return block.docs.size, written


@kernel(HASH_PARAMS, "read(uint8[::1]), read(int64[::1])", BLOCK, "int64", INDEX, SCRATCH)
def scan(params, data, offsets, block, first, index, scratch):
    """Candidates among the documents of ``block`` from place ``first`` on, and the sets of ``index``.

    Returns the place to go on from and the candidates written to ``scratch``; it stops early where fewer than one place
    for each set is left. A shingle that a document repeats counts once. A document is no partner of a set that needs
    more shingles than it has with repeats, nor is it one if its distinct shingles are more than go with those that the
    two can share. A crowded one is not held against the sets of crowds.

    The common case is a hash and a load or two; time grows with the shingles, and beside that with the kept
    shingles that each document shares with each set.
    """
    bitmap, slots, posts, salt = index.table
    coarse, sizes, threshold = index.coarse, index.sizes, index.threshold
    stamps, hits, touched, left, right = scratch
    in_bitmap, cells = np.uint64(bitmap.size - 1), slots.shape[0]
    n = hits.size
    cursor = new_cursor(params, CHUNK)
    hashes = cursor.hashes
    seen = np.empty(1 << SEEN, np.uint8)
    reach = np.empty(n, np.int64)
    written = 0
    for i in range(first, block.docs.size):
        if left.size - written < n:
            return i, written
        row, doc = block.rows[i], block.docs[i]
        begin, stop = offsets[doc], offsets[doc + 1]
        rewind(cursor, begin)
        stamp = np.int32(row + 1)
        last = index.plain if block.crowded[i] else n
        met = 0
        while True:
            found = fill(params, data, stop, cursor)
            # without a branch: loads that miss the cache overlap
            near = 0
            for j in range(found):
                value = hashes[j]
                hashes[near] = value
                near += np.int64(coarse[np.int64(value >> LEAD)])
            held = near
            near = 0
            for j in range(held):
                value = min(hashes[j], VACANT - ONE)
                word = bitmap[np.int64(value & in_bitmap)]
                hashes[near] = value
                near += np.int64(is_marked(word, value))
            held = near
            near = 0
            for j in range(held):
                value = hashes[j]
                cell = place(value, salt, cells)
                there = slots[cell, 0]
                hashes[near] = value
                near += (there != VACANT) & ((there != value) | (stamps[cell] != stamp))
            for j in range(near):
                cell = find(hashes[j], slots, place(hashes[j], salt, cells))
                if slots[cell, 0] == VACANT or stamps[cell] == stamp:
                    continue
                stamps[cell] = stamp
                met = tally(slots[cell, 1], posts, last, hits, touched, met)
            if found < CHUNK:
                break
        near = 0
        farthest = np.int64(-1)
        for m in range(met):
            s = np.int64(touched[m])
            if hits[s] >= index.needed[s] and index.rows[s] != row:
                least = least_held(sizes[s], threshold)
                if block.counts[i] >= least:
                    # J >= t with x in common means |d| <= x / t + x - |S|; of what is not kept it may hold all
                    common = np.float64(hits[s] + least - index.needed[s])
                    reach[near] = np.int64(common / threshold + common) - sizes[s] + 1
                    farthest = max(farthest, reach[near])
                    left[written + near], right[written + near] = row, s
                    near += 1
            hits[s] = 0
        if near == 0:
            continue
        size = _distinct(params, data, begin, stop, cursor, seen, farthest)
        behind = written + near
        for m in range(near):
            left[written], right[written] = row, right[behind - near + m]
            written += size <= reach[m]
    return block.docs.size, written
