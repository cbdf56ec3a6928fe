"""The exact join: how rare each shingle is, which documents have a partner at all, and the prefix-filter join.

Shingles are ordered by (class, hash). The class is one byte a cell of a table that is indexed by the leading bits of
the hash: at most OWN where no other document can share the shingle, else higher the more often the cell was met. It is
a function of the shingle, so any two documents order their common shingles alike: all that a prefix filter asks.

    hashes ── cells_of ──► cells, by part of the table ── count_cells ──► occurrences ── (stage) ──► classes
    documents ── survivors ──► those that could have a partner ── verify.build_sets ──► sets ── prefixes ──► rarest
    prefixes ── index_keys, index_rows ──► postings ── probe ──► pairs with their exact similarity
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._jit import kernel, part
from neardup.kernels.hashing import CHUNK, STATE, fill
from neardup.kernels.verify import VACANT, intersection, overlap_needed

__all__ = [
    "cells_of",
    "count_cells",
    "index_keys",
    "index_rows",
    "pack",
    "prefix_lengths",
    "prefixes",
    "probe",
    "survivors",
]

ONE = np.uint64(1)
OWN = 1
"""Largest class of a shingle that one document has to itself."""


@kernel
def cells_of(kind, k, key, data, offsets, letters, docs, bits, part_bits, raw, starts, out):
    """Cells of all shingles of ``docs``, sorted by part of the table.

    ``raw`` (uint32) and ``out`` (uint32) have room for all shingles with repeats. Part p, which is named by the leading
    ``part_bits`` bits of a cell, is ``out[starts[p] : starts[p + 1]]``. About 3 ns a shingle.
    """
    hashes = np.empty(CHUNK, np.uint64)
    words = np.empty(CHUNK + k, np.uint64)
    state = np.empty(STATE, np.int64)
    shift = np.uint64(64 - bits)
    low = bits - part_bits
    held = np.zeros((1 << part_bits) + 1, np.int64)
    n = 0
    for i in range(docs.size):
        begin, stop = offsets[docs[i]], offsets[docs[i] + 1]
        state[0], state[1], state[2], state[3] = begin, begin, 0, 0
        while True:
            count = fill(kind, k, key, data, stop, letters, words, state, hashes)
            if count == 0:
                break
            for j in range(count):
                cell = np.uint32(min(hashes[j], VACANT - ONE) >> shift)
                raw[n] = cell
                held[(cell >> low) + 1] += 1
                n += 1
    for p in range(1 << part_bits):
        held[p + 1] += held[p]
    starts[:] = held
    for i in range(n):
        p = raw[i] >> low
        out[held[p]] = raw[i]
        held[p] += 1


@kernel
def count_cells(cells, side, most, table, sides):
    """Count each cell up, to ``most`` at most, and note in ``sides``, unless it is empty, the side that it was met on.

    Random access within one part of the table.
    """
    for i in range(cells.size):
        cell = cells[i]
        table[cell] += table[cell] < most
        if sides.size > 0:
            sides[cell] |= side


@part
def _least_partner(size, threshold):
    """Size of the smallest set that can be at least ``threshold`` similar to one of ``size``."""
    least = max(1, np.int64(threshold * size) - 2)
    while overlap_needed(least, size, threshold) > least:
        least += 1
    return least


@kernel
def prefix_lengths(sizes, threshold, probing, indexed):
    """How many of its rarest shingles a set must be probed with, and indexed with, so that no partner is missed.

    A probe meets sets of at most its own size. ``probing``: size - overlap with the smallest possible partner + 1.
    ``indexed``: size - overlap with a set of the same size + 1. (Xiao, Wang, Lin, Yu: Efficient Similarity Joins for
    Near Duplicate Detection, 2008, section 4.)
    """
    for i in range(sizes.size):
        size = sizes[i]
        if size == 0:
            probing[i] = 0
            indexed[i] = 0
            continue
        probing[i] = size - overlap_needed(_least_partner(size, threshold), size, threshold) + 1
        indexed[i] = size - overlap_needed(size, size, threshold) + 1


@kernel
def survivors(kind, k, key, data, offsets, letters, docs, counts, classes, bits, threshold, alive):
    """Write whether each document could have a partner.

    It has none when more of its shingles are its own than a partner may lack. Those were met once, so they are
    distinct, and repeats of others only make the allowance larger: never a false no. A document is left as soon as it
    is decided.
    """
    hashes = np.empty(256, np.uint64)
    words = np.empty(256 + k, np.uint64)
    state = np.empty(STATE, np.int64)
    shift = np.uint64(64 - bits)
    for i in range(docs.size):
        size = counts[i]
        spare = size - overlap_needed(_least_partner(size, threshold), size, threshold)
        begin, stop = offsets[docs[i]], offsets[docs[i] + 1]
        state[0], state[1], state[2], state[3] = begin, begin, 0, 0
        own = 0
        while own <= spare:
            count = fill(kind, k, key, data, stop, letters, words, state, hashes)
            if count == 0:
                break
            for j in range(count):
                own += classes[min(hashes[j], VACANT - ONE) >> shift] <= OWN
        alive[i] = own <= spare


@kernel
def pack(sets, starts, sizes, classes, bits, threshold, out):
    """Move the sets that could have a partner to the front of ``out``, end to end; the others get the size 0.

    As ``survivors``, with the sets themselves instead of shingles with repeats, so that it drops more. ``starts``
    become places in ``out``, which may be empty: then only sizes are wanted. Returns the shingles kept.
    """
    shift = np.uint64(64 - bits)
    n = 0
    for i in range(sizes.size):
        size, begin = sizes[i], starts[i]
        spare = size - overlap_needed(_least_partner(size, threshold), size, threshold)
        own = 0
        for j in range(begin, begin + size):
            own += classes[sets[j] >> shift] <= OWN
            if own > spare:
                break
        starts[i] = n
        if own > spare:
            sizes[i] = 0
            continue
        if out.size > 0:
            out[n : n + size] = sets[begin : begin + size]
        n += size
    return n


@kernel
def prefixes(sets, starts, sizes, lengths, indexed, classes, bits, rooms, tokens, held, held_indexed, ends, kinds):
    """The rarest shingles of each set, by (class, hash), without its own, which nobody shares.

    Set i is ``sets[starts[i] : starts[i] + sizes[i]]``; ``lengths[i]`` of its shingles are looked for, ``indexed[i]``
    of them for the index. What is left without its own goes to ``tokens[rooms[i]:]``, ``held[i]`` of them,
    ``held_indexed[i]`` from the front for the index. ``ends[i]`` and ``kinds[i]`` are the last one probed with and the
    last one indexed, and their classes. One counting sort a set.
    """
    shift = np.uint64(64 - bits)
    most = 1
    for i in range(sizes.size):
        most = max(most, sizes[i])
    kind_of = np.empty(most, np.uint8)
    place = np.empty(257, np.int64)
    for i in range(sizes.size):
        n, begin = sizes[i], starts[i]
        place[:] = 0
        for j in range(n):
            kind = classes[sets[begin + j] >> shift]
            kind_of[j] = kind
            place[kind + 1] += 1
        own = place[1] + place[2]
        for c in range(256):
            place[c + 1] += place[c]
        wanted, room = lengths[i], rooms[i]
        held[i] = max(0, wanted - own)
        held_indexed[i] = max(0, indexed[i] - own)
        ends[i, :] = 0
        kinds[i, :] = 0
        if held[i] == 0:
            continue
        for j in range(n):
            kind = kind_of[j]
            if kind > OWN:
                at = place[kind]
                place[kind] += 1
                if at < wanted:
                    tokens[room + at - own] = sets[begin + j]
                    if at == wanted - 1:
                        ends[i, 0] = sets[begin + j]
                        kinds[i, 0] = kind
                    if at == indexed[i] - 1:
                        ends[i, 1] = sets[begin + j]
                        kinds[i, 1] = kind


@part
def _slot(token, keys):
    """Where ``token`` is in an open-addressing table, or the vacant cell where it would be."""
    mask = np.uint64(keys.size - 1)
    at = token & mask
    while keys[at] != token and keys[at] != VACANT:
        at = (at + ONE) & mask
    return np.int64(at)


@kernel
def index_keys(tokens, rooms, held, keys, starts):
    """Enter the indexed shingles: ``keys`` (all VACANT before; a power of two) and posting counts, then ``starts``."""
    starts[:] = 0
    for i in range(held.size):
        for j in range(rooms[i], rooms[i] + held[i]):
            at = _slot(tokens[j], keys)
            keys[at] = tokens[j]
            starts[at + 1] += 1
    for at in range(keys.size):
        starts[at + 1] += starts[at]


@kernel
def index_rows(tokens, rooms, held, keys, starts, postings):
    """Write the postings: places of the sets that have each key, rising. Moves ``starts`` back by one cell."""
    for i in range(held.size):
        for j in range(rooms[i], rooms[i] + held[i]):
            at = _slot(tokens[j], keys)
            postings[starts[at]] = i
            starts[at] += 1
    for at in range(keys.size, 0, -1):
        starts[at] = starts[at - 1]
    starts[0] = 0


@part
def _first_of_size(sizes, least, high):
    """First place below ``high`` whose size is at least ``least``; sizes rise up to there."""
    low = 0
    while low < high:
        middle = (low + high) >> 1
        if sizes[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _first_at_least(postings, begin, end, place):
    """First of ``postings[begin:end]`` that is at least ``place``."""
    while begin < end:
        middle = (begin + end) >> 1
        if postings[middle] < place:
            begin = middle + 1
        else:
            end = middle
    return begin


@part
def _rest(end, kind, tail, own_end, own_kind, own_tail):
    """Most shingles that two sets can share behind their prefixes.

    What they share up to the earlier end of the two prefixes was counted; behind it, one of them has its tail left.
    """
    if end == own_end:
        return min(tail, own_tail)
    is_after = kind > own_kind or (kind == own_kind and end > own_end)
    return own_tail if is_after else tail


@kernel
def probe(
    sets, starts, sizes, sides, tokens, rooms, held, lengths, ends, kinds,
    own_sets, own_starts, own_sizes, own_sides, own_indexed, own_ends, own_kinds,
    keys, posting_starts, postings, same, first, stop, threshold, overlap, touched, state, left, right, similarity,
):  # fmt: skip
    """Pairs of the sets ``first`` to ``stop`` with indexed ones (``own_*``) that come before them in order of size.

    With ``same`` the probing sets are the indexed ones; else all indexed ones come before all probing ones. Loop:
    probing sets, their prefixes, postings; then each set that was met is counted in full, unless what was counted in
    the prefixes and what is left behind them cannot make the overlap that is needed: the positional filter, taken once
    at the end of both prefixes. ``overlap`` (int32, all 0) and ``touched`` have a cell for each indexed set. A pair
    needs the ``sides`` of both to make 3. Returns the number of pairs written, indexed set to the left. Stops early
    where the pairs of the next set might not fit: ``state[0]`` is the set to go on with, ``state[3]`` the room that it
    needs. ``state[1]`` counts pairs met, ``state[2]`` those counted in full.
    """
    n = 0
    x = first
    state[3] = 0
    while x < stop:
        if held[x] == 0:
            x += 1
            continue
        size = sizes[x]
        high = x if same else own_sizes.size
        low = _first_of_size(own_sizes, _least_partner(size, threshold), high)
        met = 0
        for j in range(rooms[x], rooms[x] + held[x]):
            at = _slot(tokens[j], keys)
            begin, end = posting_starts[at], posting_starts[at + 1]
            if begin < end and postings[begin] < low:
                begin = _first_at_least(postings, begin, end, low)
            for i in range(begin, end):
                y = postings[i]
                if y >= high:
                    break
                if overlap[y] == 0:
                    touched[met] = y
                    met += 1
                overlap[y] += 1
        if met > left.size - n:
            for m in range(met):
                overlap[touched[m]] = 0
            state[3] = met
            break
        known_size, needed = -1, 0
        for m in range(met):
            y = touched[m]
            common = np.int64(overlap[y])
            overlap[y] = 0
            if sides[x] | own_sides[y] != 3:
                continue
            state[1] += 1
            if own_sizes[y] != known_size:
                known_size = own_sizes[y]
                needed = overlap_needed(known_size, size, threshold)
            rest = _rest(
                ends[x, 0], kinds[x, 0], size - lengths[x], own_ends[y, 1], own_kinds[y, 1], known_size - own_indexed[y]
            )
            if common + rest < needed:
                continue
            state[2] += 1
            a, b = starts[x], own_starts[y]
            shared = intersection(a, a + size, sets, b, b + known_size, own_sets, needed)
            if shared >= needed:
                share = shared / (size + known_size - shared)
                if share >= threshold:
                    left[n] = y
                    right[n] = x
                    similarity[n] = share
                    n += 1
        x += 1
    state[0] = x
    return n
