"""The exact join: how rare each shingle is, which documents have a partner at all, and the prefix-filter join.

Shingles are ordered by (class, hash). The class is one byte a cell of a table that is indexed by the leading bits of
the hash: at most UNIQUE where no partner can share the shingle, else higher the more often the cell was met. It
is a function of the shingle, so any two documents order their common shingles alike: all that a prefix filter asks.

    hashes ── cells_of ──► cells, by part of the table ── count_cells ──► occurrences ── (stage) ──► classes
    documents ── survivors ──► those that could have a partner ── verify.build_sets ──► sets ── prefixes_of ──► prefixes
    prefixes ── postings_of ──► postings ── probe ──► pairs with their exact similarity
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels._bits import peek32
from neardup.kernels.hashing import CHUNK, HASH_PARAMS, fill, new_cursor, rewind
from neardup.kernels.rarest import SET_BLOCK
from neardup.kernels.stored import mix
from neardup.kernels.verify import UNIQUE, VACANT, first_at_least, intersection, overlap_needed
from neardup.native.declare import also, kernel, part, record

ONE = np.uint64(1)
HALF = np.uint64(32)
SIX, BIT = np.uint64(6), np.uint64(63)
ALIVE, DOUBTFUL = 1, 2
"""What ``survivors`` writes of a document that could have a partner, and of one whose set must be looked at."""
FEW = 256
"""Hashes at a time where a document is left as soon as it is decided: loads that miss the cache overlap."""


@part
def _lower(value, lowest, n):
    """Put a hash among the ``n`` lowest ones, in rising order, unless it is there; returns how many there are then."""
    at = n
    while at > 0 and lowest[at - 1] > value:
        at -= 1
    if at > 0 and lowest[at - 1] == value:
        return n
    n = min(n + 1, lowest.size)
    for i in range(n - 1, at, -1):
        lowest[i] = lowest[i - 1]
    lowest[at] = value
    return n


@kernel(
    HASH_PARAMS,
    "read(uint8[::1]), read(int64[::1]), int64[::1], int64, int64, uint32[::1], int64[::1], uint32[::1], int64, "
    "uint32[::1]",
)
def cells_of(params, data, offsets, docs, bits, part_bits, raw, starts, out, lows, keys):
    """Cells of all shingles of ``docs``, sorted by part of the table.

    ``raw`` (uint32) and ``out`` (uint32) have room for all shingles with repeats. Part p, which is named by the leading
    ``part_bits`` bits of a cell, is ``out[starts[p] : starts[p + 1]]``. About 3 ns a shingle.

    ``keys``, unless it is empty, get a hash of the ``lows`` lowest distinct shingles of each document, or of all if it
    has fewer: near-copies agree in them with a good chance.
    """
    cursor = new_cursor(params, CHUNK)
    hashes = cursor.hashes
    shift = np.uint64(64 - bits)
    low = bits - part_bits
    held = np.zeros((1 << part_bits) + 1, np.int64)
    lowest = np.empty(max(1, lows), np.uint64)
    n = 0
    for i in range(docs.size):
        begin, stop = offsets[docs[i]], offsets[docs[i] + 1]
        rewind(cursor, begin)
        few, bound = 0, VACANT
        while True:
            count = fill(params, data, stop, cursor)
            for j in range(count):
                cell = np.uint32(min(hashes[j], VACANT - ONE) >> shift)
                raw[n] = cell
                held[(cell >> low) + 1] += 1
                n += 1
            if keys.size > 0:
                for j in range(count):
                    if hashes[j] < bound:
                        few = _lower(hashes[j], lowest, few)
                        if few == lowest.size:
                            bound = lowest[few - 1]
            if count < CHUNK:
                break
        if keys.size > 0:
            key = np.uint64(few)
            for j in range(few):
                key = mix(key ^ lowest[j])
            keys[i] = key >> HALF
    for p in range(1 << part_bits):
        held[p + 1] += held[p]
    starts[:] = held
    for i in range(n):
        p = raw[i] >> low
        out[held[p]] = raw[i]
        held[p] += 1


@also("int64[::1], int64[:, ::1], uint8[::1], int64, int64, int64, uint8[::1], uint8[::1]")  # of more, smaller cells
@kernel("int64[::1], int64[:, ::1], uint8[::1], int64, int64, int64, uint16[::1], uint8[::1]")
def count_cells(addresses, starts, sides_of, first, last, most, table, sides):
    """Count each cell of some parts up, to ``most`` at most, and note in ``sides``, unless it is empty, the side.

    Cells ``starts[g, p]`` to ``starts[g, p + 1]`` of those at ``addresses[g]`` (uint32) are in part p, and were met on
    the side ``sides_of[g]``. Loop: parts, groups; random access within one part of the table.
    """
    for p in range(first, last):
        for g in range(starts.shape[0]):
            side = sides_of[g]
            for i in range(starts[g, p], starts[g, p + 1]):
                cell = peek32(addresses[g] + 4 * i)
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


@part
def _map_words(shingles):
    """Number of words, a power of two, of a map with 16 bits or more for each of so many shingles."""
    words = 1
    while 4 * words <= shingles:
        words *= 2
    return words


@part
def _mark(value, seen, words):
    """Set the bit of a shingle in the first ``words`` words of a map; returns 1 if it was not set, else 0."""
    word = np.int64((value >> SIX) & np.uint64(words - 1))
    bit = ONE << (value & BIT)
    is_fresh = np.int64(seen[word] & bit == 0)
    seen[word] |= bit
    return is_fresh


@kernel(
    HASH_PARAMS, "read(uint8[::1]), read(int64[::1]), int64[::1], int64[::1], uint8[::1], int64, float64, uint8[::1]"
)
def survivors(params, data, offsets, docs, counts, classes, bits, threshold, fate):
    """Write whether each document could have a partner: ALIVE, DOUBTFUL or 0.

    A document has none if more of its distinct shingles are unique to it than a partner may lack. A shingle of the
    class UNIQUE was met once, so it is distinct. One of the class 0 may repeat in the document, so it counts only if
    it sets a fresh bit of a map. Repeats of other shingles only make the allowance larger. So a document with a partner
    never gets 0. A document is DOUBTFUL if it would get 0 with its repeats counted: ``pack`` decides by its set. The
    loop leaves a document as soon as it is decided.
    """
    cursor = new_cursor(params, FEW)
    hashes = cursor.hashes
    shift = np.uint64(64 - bits)
    most = 0
    for i in range(docs.size):
        most = max(most, counts[i])
    seen = np.zeros(_map_words(most), np.uint64)
    kinds, places = np.empty(FEW, np.uint8), np.empty(FEW + 1, np.int64)
    for i in range(docs.size):
        size = counts[i]
        spare = size - overlap_needed(_least_partner(size, threshold), size, threshold)
        begin, stop = offsets[docs[i]], offsets[docs[i] + 1]
        rewind(cursor, begin)
        words = _map_words(spare)
        seen[:words] = 0
        unique = repeats = 0
        while unique <= spare:
            count = fill(params, data, stop, cursor)
            for j in range(count):
                kinds[j] = classes[min(hashes[j], VACANT - ONE) >> shift]
            for j in range(count):
                unique += kinds[j] == UNIQUE
            marked = 0
            for j in range(count):  # without a branch, which would be guessed wrongly as often as not
                places[marked] = j
                marked += kinds[j] == 0
            for j in range(marked):
                is_fresh = _mark(min(hashes[places[j]], VACANT - ONE), seen, words)
                unique += is_fresh
                repeats += 1 - is_fresh
            if count < FEW:
                break
        fate[i] = 0 if unique > spare else DOUBTFUL if unique + repeats > spare else ALIVE


@kernel("uint64[::1], int64[::1], int64[::1], uint8[::1], int64, float64, uint64[::1]")
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
        unique = 0
        for first in range(begin, begin + size, FEW):
            for j in range(first, min(first + FEW, begin + size)):
                unique += classes[sets[j] >> shift] <= UNIQUE
            if unique > spare:
                break
        starts[i] = n
        if unique > spare:
            sizes[i] = 0
            continue
        if out.size > 0:
            out[n : n + size] = sets[begin : begin + size]
        n += size
    return n


class Prefixes(NamedTuple):
    """The rarest shingles of n sets, by (class, hash), without the unique ones, which nobody shares."""

    tokens: Any
    """uint64: those of set i from ``starts[i]`` on."""
    starts: Any
    """int64[n + 1]."""
    held: Any
    """int64[n]: how many each set has ..."""
    held_indexed: Any
    """... and how many of these, the first ones, are indexed."""
    probing: Any
    """int64[n]: how many a set is probed with, unique ones counted ..."""
    indexed: Any
    """... and how many it is indexed with."""
    ends: Any
    """uint64[n, 2]: the last one that is probed with and the last one that is indexed; 0 where it is unique ..."""
    kinds: Any
    """... and uint8[n, 2], their classes."""


PREFIXES = record(
    Prefixes, "uint64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], uint64[:, ::1], uint8[:, ::1]"
)


class Postings(NamedTuple):
    """Which sets have a shingle among those that are indexed: an open-addressing table."""

    keys: Any
    """uint64, a power of two of cells: a shingle, or VACANT."""
    starts: Any
    """int64[cells + 1]: where the sets of each are in ``places``."""
    places: Any
    """int32: places of the sets in their block, rising for each shingle."""


POSTINGS = record(Postings, "uint64[::1], int64[::1], int32[::1]")


@part
def _set_lengths(sizes, threshold, starts, probing, indexed):
    """How many of its rarest shingles a set must be probed with, and indexed with, so that no partner is missed.

    A probe meets sets of at most its own size. ``probing``: size - overlap with the smallest possible partner + 1.
    ``indexed``: size - overlap with a set of the same size + 1. (Xiao, Wang, Lin, Yu: Efficient Similarity Joins for
    Near Duplicate Detection, 2008, section 4.)
    """
    for i in range(sizes.size):
        size = sizes[i]
        if size > 0:
            probing[i] = size - overlap_needed(_least_partner(size, threshold), size, threshold) + 1
            indexed[i] = size - overlap_needed(size, size, threshold) + 1
        starts[i + 1] = starts[i] + probing[i]


@kernel(SET_BLOCK, "uint8[::1], int64, float64")
def prefixes_of(block, classes, bits, threshold):
    """The fields of ``Prefixes`` of the sets of a ``SetBlock``. One counting sort a set."""
    n = block.sizes.size
    starts, probing, indexed = np.zeros(n + 1, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    _set_lengths(block.sizes, threshold, starts, probing, indexed)
    tokens = np.empty(starts[n], np.uint64)
    held, held_indexed = np.empty(n, np.int64), np.empty(n, np.int64)
    ends, kinds = np.zeros((n, 2), np.uint64), np.zeros((n, 2), np.uint8)
    shift = np.uint64(64 - bits)
    most = 1
    for i in range(n):
        most = max(most, block.sizes[i])
    kind_of = np.empty(most, np.uint8)
    place = np.empty(257, np.int64)
    for i in range(n):
        size, begin = block.sizes[i], block.starts[i]
        sets = block.hashes[begin : begin + size]
        place[:] = 0
        for j in range(size):
            kind = np.int64(classes[sets[j] >> shift])
            kind_of[j] = kind
            place[kind + 1] += 1
        unique = place[1] + place[2]
        for c in range(256):
            place[c + 1] += place[c]
        held[i] = max(0, probing[i] - unique)
        held_indexed[i] = max(0, indexed[i] - unique)
        if held[i] == 0:
            continue
        for j in range(size):
            kind = kind_of[j]
            if kind > UNIQUE:
                at = place[kind]
                place[kind] += 1
                if at < probing[i]:
                    tokens[starts[i] + at - unique] = sets[j]
                    if at == probing[i] - 1:
                        ends[i, 0], kinds[i, 0] = sets[j], kind
                    if at == indexed[i] - 1:
                        ends[i, 1], kinds[i, 1] = sets[j], kind
    return tokens, starts, held, held_indexed, probing, indexed, ends, kinds


@part
def slot(token, keys):
    """Where ``token`` is in an open-addressing table, or the vacant cell where it would be."""
    mask = np.uint64(keys.size - 1)
    at = token & mask
    while keys[at] != token and keys[at] != VACANT:
        at = (at + ONE) & mask
    return np.int64(at)


@kernel(PREFIXES, "int64[::1]")
def postings_of(prefixes, order):
    """Return the fields of ``Postings`` for all indexed shingles. Linear: count the sets of each, then place them.

    The sets of a shingle are in rising order, or in that of ``order`` unless it is empty.
    """
    tokens, begins, held = prefixes.tokens, prefixes.starts, prefixes.held_indexed
    total = held.sum()
    cells = 16
    while cells <= 3 * total // 2:
        cells *= 2
    keys, starts, places = np.full(cells, VACANT), np.zeros(cells + 1, np.int64), np.empty(total, np.int32)
    for i in range(held.size):
        for j in range(begins[i], begins[i] + held[i]):
            at = slot(tokens[j], keys)
            keys[at] = tokens[j]
            starts[at + 1] += 1
    for at in range(cells):
        starts[at + 1] += starts[at]
    for k in range(held.size):
        i = order[k] if order.size > 0 else k
        for j in range(begins[i], begins[i] + held[i]):
            at = slot(tokens[j], keys)
            places[starts[at]] = i
            starts[at] += 1
    for at in range(cells, 0, -1):
        starts[at] = starts[at - 1]
    starts[0] = 0
    return keys, starts, places


@part
def run_end(places, begin, end, crowds):
    """Where the run of one crowd that begins at ``begin`` ends; ``places`` are in rising order of their crowds."""
    crowd = crowds[places[begin]]
    while begin < end:
        middle = (begin + end) >> 1
        if crowds[places[middle]] > crowd:
            end = middle
        else:
            begin = middle + 1
    return end


@part
def _rest(end, kind, tail, other_end, other_kind, other_tail):
    """Most shingles that two sets can share behind their prefixes.

    What they share up to the earlier end of the two prefixes was counted; behind it, one of them has its tail left.
    """
    if end == other_end:
        return min(tail, other_tail)
    is_after = kind > other_kind or (kind == other_kind and end > other_end)
    return other_tail if is_after else tail


@kernel(
    SET_BLOCK,
    PREFIXES,
    SET_BLOCK,
    PREFIXES,
    POSTINGS,
    "int32[::1], int32[::1], boolean, int64, float64, int32[::1], int32[::1], int64[::1], int64[::1], int64[::1], "
    "float64[::1]",
)
def probe(
    block, prefixes, indexed, indexed_prefixes, postings, crowds, indexed_crowds, same, stop, threshold, overlap,
    touched, state, left, right, similarity,
):  # fmt: skip
    """Pairs of the sets ``state[0]`` to ``stop`` of a block with indexed ones that come before them in order of size.

    With ``same`` the probing sets are the indexed ones; else all indexed ones come before all probing ones. Loop:
    probing sets, their prefixes, postings; then each set that was met is counted in full, unless what was counted in
    the prefixes and what is left behind them cannot make the overlap that is needed: the positional filter, taken once
    at the end of both prefixes. Where ``crowds`` and ``indexed_crowds`` are not empty they say which crowd each set is
    in, or -1, and the postings of a shingle are in their order: those of one's own crowd are passed over at once.
    ``overlap`` (int32, all 0) and ``touched`` have a cell for each indexed set. A pair
    needs the ``sides`` of both to make 3. Returns the number of pairs written, indexed set to the left. Stops early
    where the pairs of the next set might not fit: ``state[0]`` is the set to go on with, ``state[3]`` the room that it
    needs. ``state[1]`` counts pairs met, ``state[2]`` those counted in full.
    """
    sizes, begins, held = indexed.sizes, prefixes.starts, prefixes.held
    keys, starts, places = postings
    n = 0
    x = state[0]
    state[3] = 0
    while x < stop:
        if held[x] == 0:
            x += 1
            continue
        size = block.sizes[x]
        high = x if same else sizes.size
        low = first_at_least(sizes, 0, high, _least_partner(size, threshold))
        met = 0
        for j in range(begins[x], begins[x] + held[x]):
            at = slot(prefixes.tokens[j], keys)
            begin, end = starts[at], starts[at + 1]
            while begin < end:
                behind = end
                if indexed_crowds.size > 0:
                    behind = run_end(places, begin, end, indexed_crowds)
                    if crowds[x] >= 0 and crowds[x] == indexed_crowds[places[begin]]:
                        begin = behind
                        continue
                if places[begin] < low:
                    begin = first_at_least(places, begin, behind, low)
                for i in range(begin, behind):
                    y = places[i]
                    if y >= high:
                        break
                    if overlap[y] == 0:
                        touched[met] = y
                        met += 1
                    overlap[y] += 1
                begin = behind
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
            if block.sides[x] | indexed.sides[y] != 3:
                continue
            state[1] += 1
            if sizes[y] != known_size:
                known_size = sizes[y]
                needed = overlap_needed(known_size, size, threshold)
            tail, other_tail = size - prefixes.probing[x], known_size - indexed_prefixes.indexed[y]
            end, kind = prefixes.ends[x, 0], prefixes.kinds[x, 0]
            other_end, other_kind = indexed_prefixes.ends[y, 1], indexed_prefixes.kinds[y, 1]
            if common + _rest(end, kind, tail, other_end, other_kind, other_tail) < needed:
                continue
            state[2] += 1
            a, b = block.starts[x], indexed.starts[y]
            shared = intersection(a, a + size, block.hashes, b, b + known_size, indexed.hashes, needed)
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
