"""All partners of a few documents, found in one pass over the shingles of all: what an audit stands on.

A document s with the set S has J(s, d) >= t only with documents d that hold at least ``ceil(t |S|)`` shingles of S. So
of any K shingles of S they hold at least ``K - (|S| - ceil(t |S|))``. ``choose`` keeps the K that are rarest as far as
``rarity`` tells, as many as it takes for strangers to stay below that number; ``index`` puts them into a table, and
``scan`` holds the shingles of each document against it. Many of them end at their leading bits, nearly all others at
one word of a bitmap. No pair is lost; that a candidate is a partner is for ``verify`` to say.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._jit import inlined, kernel, part
from neardup.kernels.hashing import CHUNK, STATE, fill

__all__ = ["COARSE", "choose", "index", "is_marked", "marks", "rarity", "scan"]

VACANT = np.uint64(0xFFFFFFFFFFFFFFFF)
COARSE = 13
"""Leading bits of a hash by which it is first asked whether any such is kept: 8 KB of bytes, which stay in L1."""
RANKS = 1024
"""Shingles seen so often or more are equally common."""
SEEN = 16
"""Leading bits of a hash that tell shingles apart where those of one document are counted."""
APART = np.uint64(12)
"""A hash has its place in the bitmap by its lowest bits, in the table by those from here on. Its highest ones are no
good: of equally rare shingles those of small hash are kept."""
ONE, SIX = np.uint64(1), np.uint64(63)
S40, S46 = np.uint64(40), np.uint64(46)
LEAD = np.uint64(64 - COARSE)
FACE = np.uint64(64 - SEEN)


@inlined
def marks(value):
    """Two bits of a word of the bitmap, so that one load tells: at 8 bits a key one stranger in twenty passes."""
    return (ONE << ((value >> S40) & SIX)) | (ONE << ((value >> S46) & SIX))


@inlined
def is_marked(word, value):
    """Whether both bits of ``value`` are set in its word: 1 or 0."""
    return (word >> ((value >> S40) & SIX)) & (word >> ((value >> S46) & SIX)) & ONE


@inlined
def _place(value, mask):
    """Where a hash belongs in a table of ``mask`` + 1 cells, a power of two."""
    return np.int64((value >> APART) & mask)


@inlined
def _cell(value, salt, shift):
    """Where a hash belongs in a table of which nobody may know the places."""
    return np.int64((value * salt) >> shift)


@part
def _shift_of(cells):
    """The shift that leaves a number below ``cells``, a power of two from 2 up."""
    shift = np.uint64(64)
    while (np.int64(1) << np.int64(np.uint64(64) - shift)) < cells:
        shift -= np.uint64(1)
    return shift


@inlined
def _begin(state, begin):
    state[0], state[1], state[2], state[3] = begin, begin, 0, 0


@kernel
def rarity(kind, k, key, data, offsets, letters, docs, bound, common):
    """Add to ``common`` (uint32, a power of two of cells) how many hashes below ``bound`` fall into each cell.

    Of the shingles of ``docs``, with repeats: an upper bound of how many documents hold a shingle, enough to tell rare
    ones from common ones.
    """
    mask = np.uint64(common.size - 1)
    hashes = np.empty(CHUNK, np.uint64)
    words = np.empty(CHUNK + k, np.uint64)
    state = np.empty(STATE, np.int64)
    for i in range(docs.size):
        _begin(state, offsets[docs[i]])
        while True:
            count = fill(kind, k, key, data, offsets[docs[i] + 1], letters, words, state, hashes)
            if count == 0:
                break
            below = 0
            for j in range(count):
                value = hashes[j]
                hashes[below] = value
                below += value < bound
            for j in range(below):
                common[_place(hashes[j], mask)] += np.uint32(1)


@kernel
def choose(offsets, hashes, bound, common, seen, threshold, share, spare, kept, chosen, needed, least):
    """Shingles of each set by which its partners will be known, rarest first; returns how many in all.

    Those of set s follow those of the sets before it in ``kept``; ``chosen[s]`` says how many, ``needed[s]`` how many
    of them a partner has at least, and ``least[s]`` the shingles that a partner has at least. A partner needs ``share``
    of what it may lack, ``spare`` beside, and half as much again as a stranger holds on average, as far as the ``seen``
    documents behind ``common`` tell: so strangers hardly ever count as candidates. Only hashes below ``bound`` are
    kept, and no more than it takes; where those are too few for it the whole set is.
    """
    mask = np.uint64(common.size - 1)
    room = np.zeros(RANKS + 1, np.int64)
    held = np.empty(np.max(offsets[1:] - offsets[:-1]), np.int64)
    total = 0
    for s in range(offsets.size - 1):
        begin, size = offsets[s], offsets[s + 1] - offsets[s]
        least[s] = max(0, np.int64(threshold * size) - 1)
        while least[s] < size and least[s] / size < threshold:
            least[s] += 1
        lacking = size - least[s]
        # counting sort by how often the shingle was seen; ties stay in the order of the hashes
        room[:] = 0
        below = 0
        while below < size and hashes[begin + below] < bound:
            held[below] = min(seen, np.int64(common[_place(hashes[begin + below], mask)]))
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
            often = min(seen, np.int64(common[_place(kept[total + take], mask)]))
            strangers += max(0, often - 1) / max(1, seen - 1)
            take += 1
            if take - lacking >= 1.5 * strangers + share * lacking + spare:
                break
        else:
            take = size
            kept[total : total + size] = hashes[begin : begin + size]
        chosen[s] = take
        needed[s] = take - lacking
        total += take
    return total


@kernel
def index(kept, owners, n, plain, salt, coarse, bits, slots, starts, middles, posts):
    """Build the table hash -> sets that keep it; returns how many hashes are kept by several sets.

    ``owners[i]``, rising, is the set of the ``n`` that keeps hash ``kept[i]``; the sets below ``plain`` are in no
    crowd. ``slots`` (uint64[cells, 2], all ones, cells a power of two and more than the hashes) has in each cell a hash
    and the set that keeps it, or ``n`` + g: ``posts[starts[g]:starts[g + 1]]`` has its sets, rising, those of crowds
    from ``middles[g]`` on. ``coarse`` (uint8, a cell for each COARSE leading bits) and ``bits`` (uint64, a power of
    two) tell which hashes are not in it; both are zeroed, as are ``starts`` and ``middles``, which have room for a list
    of every two hashes, and ``starts`` for two more.
    """
    in_bits, in_cells, shift = np.uint64(bits.size - 1), slots.shape[0] - 1, _shift_of(slots.shape[0])
    lists = 0
    places = np.empty(kept.size, np.int64)
    for i in range(kept.size):
        value = kept[i]
        coarse[np.int64(value >> LEAD)] = 1
        bits[np.int64(value & in_bits)] |= marks(value)
        cell = _cell(value, salt, shift)
        while slots[cell, 0] != VACANT and slots[cell, 0] != value:
            cell = (cell + 1) & in_cells
        places[i] = cell
        if slots[cell, 0] == VACANT:
            slots[cell, 0] = value
            slots[cell, 1] = np.uint64(owners[i])
            continue
        group = np.int64(slots[cell, 1]) - n
        if group < 0:
            group = lists
            lists += 1
            starts[group + 2] = 1
            middles[group] = slots[cell, 1] < np.uint64(plain)
            slots[cell, 1] = np.uint64(n + group)
        starts[group + 2] += 1
        middles[group] += owners[i] < plain
    for g in range(lists):
        starts[g + 2] += starts[g + 1]
        middles[g] += starts[g + 1]
    for i in range(kept.size):
        group = np.int64(slots[places[i], 1]) - n
        if group >= 0:
            posts[starts[group + 1]] = owners[i]
            starts[group + 1] += 1
    return lists


@part
def _distinct(kind, k, key, data, begin, stop, letters, words, state, hashes, seen, enough):
    """Distinct shingles of a document or, where leading bits are equal, fewer; no longer counted above ``enough``."""
    seen[:] = 0
    found = 0
    _begin(state, begin)
    while found <= enough:
        count = fill(kind, k, key, data, stop, letters, words, state, hashes)
        if count == 0:
            break
        for j in range(count):
            face = np.int64(hashes[j] >> FACE)
            found += seen[face] == 0
            seen[face] = 1
    return found


@kernel
def scan(
    kind, k, key, data, offsets, letters, docs, rows, counts, crowded, first,
    salt, coarse, bits, slots, starts, middles, posts, own, sizes, plain, needed, least, threshold,
    stamps, hits, touched, left, right,
):  # fmt: skip
    """Candidates of ``docs[first:]``: the row of the document into ``left``, the number of the set into ``right``.

    Returns the document to go on from and the candidates written; it stops early where fewer than one place for
    each set is left. A shingle that a document repeats counts once: ``stamps`` (int32 a cell, zeroed once) has one
    more than the row that met the cell last. A document of ``counts`` shingles with repeats is no partner of a set
    that needs more, nor is one of more distinct shingles than go with those that the two can share; a ``crowded``
    one is not held against the sets of crowds, those from ``plain`` on. ``own`` are the rows of the sets themselves,
    ``sizes`` their shingles. ``hits`` and ``touched`` are scratch, int32 a set, ``hits`` zeroed and left so.

    The common case is a hash and a load or two; time grows with the shingles, and beside that with the kept
    shingles that each document shares with each set.
    """
    in_bits, in_cells, shift = np.uint64(bits.size - 1), slots.shape[0] - 1, _shift_of(slots.shape[0])
    n = hits.size
    hashes = np.empty(CHUNK, np.uint64)
    words = np.empty(CHUNK + k, np.uint64)
    state = np.empty(STATE, np.int64)
    seen = np.empty(1 << SEEN, np.uint8)
    reach = np.empty(n, np.int64)
    written = 0
    for i in range(first, docs.size):
        if left.size - written < n:
            return i, written
        begin, stop = offsets[docs[i]], offsets[docs[i] + 1]
        _begin(state, begin)
        stamp = np.int32(rows[i] + 1)
        met = 0
        while True:
            count = fill(kind, k, key, data, stop, letters, words, state, hashes)
            if count == 0:
                break
            # without a branch: loads that miss the cache overlap
            near = 0
            for j in range(count):
                value = hashes[j]
                hashes[near] = value
                near += np.int64(coarse[np.int64(value >> LEAD)])
            count = near
            near = 0
            for j in range(count):
                value = min(hashes[j], VACANT - ONE)
                word = bits[np.int64(value & in_bits)]
                hashes[near] = value
                near += np.int64(is_marked(word, value))
            count = near
            near = 0
            for j in range(count):
                value = hashes[j]
                cell = _cell(value, salt, shift)
                there = slots[cell, 0]
                hashes[near] = value
                near += (there != VACANT) & ((there != value) | (stamps[cell] != stamp))
            for j in range(near):
                value = hashes[j]
                cell = _cell(value, salt, shift)
                while slots[cell, 0] != VACANT and slots[cell, 0] != value:
                    cell = (cell + 1) & in_cells
                if slots[cell, 0] == VACANT or stamps[cell] == stamp:
                    continue
                stamps[cell] = stamp
                s = np.int64(slots[cell, 1])
                if s < n:
                    if s < plain or not crowded[i]:
                        touched[met] = s
                        met += hits[s] == 0
                        hits[s] += 1
                    continue
                group = s - n
                end = middles[group] if crowded[i] else starts[group + 1]
                for p in range(starts[group], end):
                    s = np.int64(posts[p])
                    held = hits[s]
                    touched[met] = s
                    met += held == 0
                    hits[s] = held + 1
        near = 0
        farthest = np.int64(-1)
        for m in range(met):
            s = np.int64(touched[m])
            if hits[s] >= needed[s] and counts[i] >= least[s] and own[s] != rows[i]:
                # J >= t with x in common means |d| <= x / t + x - |S|; of what is not kept it may hold all
                common = np.float64(hits[s] + least[s] - needed[s])
                reach[near] = np.int64(common / threshold + common) - sizes[s] + 1
                farthest = max(farthest, reach[near])
                left[written + near] = rows[i]
                right[written + near] = s
                near += 1
            hits[s] = 0
        if near == 0:
            continue
        size = _distinct(kind, k, key, data, begin, stop, letters, words, state, hashes, seen, farthest)
        last = written + near
        for m in range(near):
            left[written], right[written] = rows[i], right[last - near + m]
            written += size <= reach[m]
    return docs.size, written
