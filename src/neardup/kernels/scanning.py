"""All partners of a few documents, found in one pass over the shingles of all: what an audit stands on.

A document s with the set S has J(s, d) >= t only with documents d that hold at least ``ceil(t |S|)`` shingles of S. So
of any K shingles of S they hold at least ``K - (|S| - ceil(t |S|))``. ``choose`` keeps the K that are rarest in the
sample, as many as it takes for strangers to stay below that number; ``index`` puts them into a table, and ``scan``
holds the shingles of each document against it. Nearly all of them end at one word of a bitmap. No pair is lost; that
a candidate is a partner is for ``verify`` to say.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._jit import inlined, kernel, part
from neardup.kernels.hashing import CHUNK, STATE, fill

__all__ = ["choose", "index", "rarity", "scan"]

VACANT = np.uint64(0xFFFFFFFFFFFFFFFF)
NOBODY = np.int32(-1)
APART = np.uint64(12)
"""A hash has its place in the bitmap by its lowest bits, in the table by those from here on. Its highest ones are no
good: of equally rare shingles those of small hash are kept."""
ONE, SIX = np.uint64(1), np.uint64(63)
S40, S46, S52 = np.uint64(40), np.uint64(46), np.uint64(52)


@part
def _shift(cells):
    """By how much a hash is shifted to give a place in a table of ``cells`` cells, a power of two."""
    bits = 0
    while (1 << bits) < cells:
        bits += 1
    return np.uint64(64 - bits)


@inlined
def _marks(value):
    """Three bits of a word of the bitmap, so that one load tells: at 8 bits a key one stranger in thirty passes."""
    return (ONE << ((value >> S40) & SIX)) | (ONE << ((value >> S46) & SIX)) | (ONE << ((value >> S52) & SIX))


@kernel
def rarity(hashes, common):
    """Add to ``common`` (uint32, a power of two of cells) how many of ``hashes`` fall into each cell.

    An upper bound of how many sets hold a shingle: enough to tell rare ones from common ones.
    """
    shift = _shift(common.size)
    for i in range(hashes.size):
        common[np.int64(hashes[i] >> shift)] += np.uint32(1)


@kernel
def choose(offsets, hashes, common, threshold, spare, kept, chosen, needed, least):
    """Shingles of each set by which its partners will be known, rarest first; returns how many in all.

    Those of set s follow those of the sets before it in ``kept``; ``chosen[s]`` says how many, ``needed[s]`` how many
    of them a partner has at least, and ``least[s]`` the shingles that a partner has at least. Where there are enough, a
    partner needs a quarter of what it may lack, ``spare`` beside, and three times what a stranger holds on average
    as far as the sample tells. Common shingles are left out for it, so strangers hardly ever count as candidates.
    """
    n = offsets.size - 1
    shift = _shift(common.size)
    room = np.zeros(n + 2, np.int64)
    total = 0
    for s in range(n):
        begin, size = offsets[s], offsets[s + 1] - offsets[s]
        least[s] = max(0, np.int64(threshold * size) - 1)
        while least[s] < size and least[s] / size < threshold:
            least[s] += 1
        lacking = size - least[s]
        # counting sort by how many sets of the sample hold the shingle; ties stay in the order of the hashes
        room[:] = 0
        for i in range(begin, begin + size):
            room[min(n, np.int64(common[np.int64(hashes[i] >> shift)])) + 1] += 1
        for i in range(n + 1):
            room[i + 1] += room[i]
        for i in range(begin, begin + size):
            held = min(n, np.int64(common[np.int64(hashes[i] >> shift)]))
            kept[total + room[held]] = hashes[i]
            room[held] += 1
        strangers = 0.0
        take = 0
        while take < size:
            held = min(n, np.int64(common[np.int64(kept[total + take] >> shift)]))
            strangers += (held - 1) / max(1, n - 1)
            take += 1
            if take - lacking >= 3.0 * strangers + 0.25 * lacking + spare:
                break
        chosen[s] = take
        needed[s] = take - lacking
        total += take
    return total


@kernel
def index(kept, owners, plain, bits, cells, keys, starts, middles, posts):
    """Build the table hash -> sets that keep it; returns how many distinct hashes there are.

    ``owners[i]``, rising, is the set that keeps hash ``kept[i]``; the sets below ``plain`` are in no crowd. ``cells``
    (int32, all -1, a power of two of at least twice the hashes) leads to a group, ``keys`` to its hash, and
    ``posts[starts[g]:starts[g + 1]]`` has its sets, rising, those of crowds from ``middles[g]`` on. ``bits`` (uint64,
    zeroed, a power of two) is the bitmap in front. ``starts`` has two more cells than there are hashes and is zeroed,
    as is ``middles``.
    """
    in_bits, in_cells = np.uint64(bits.size - 1), np.uint64(cells.size - 1)
    groups = 0
    places = np.empty(kept.size, np.int32)
    for i in range(kept.size):
        value = kept[i]
        bits[np.int64(value & in_bits)] |= _marks(value)
        cell = np.int64((value >> APART) & in_cells)
        while cells[cell] != NOBODY and keys[cells[cell]] != value:
            cell = (cell + 1) & np.int64(in_cells)
        if cells[cell] == NOBODY:
            cells[cell] = np.int32(groups)
            keys[groups] = value
            groups += 1
        group = cells[cell]
        places[i] = group
        starts[group + 2] += 1
        if owners[i] < plain:
            middles[group] += 1
    for g in range(groups):
        starts[g + 2] += starts[g + 1]
        middles[g] += starts[g + 1]
    for i in range(kept.size):
        group = places[i]
        posts[starts[group + 1]] = owners[i]
        starts[group + 1] += 1
    return groups


@kernel
def scan(
    kind, k, seed, data, offsets, letters, docs, rows, counts, crowded, first,
    bits, cells, keys, starts, middles, posts, own, needed, least,
    stamps, hits, touched, left, right,
):  # fmt: skip
    """Candidates of ``docs[first:]``: the row of the document into ``left``, the number of the set into ``right``.

    Returns the document to go on from and the candidates written; it stops early where fewer than one place for
    each set is left. A shingle that a document repeats counts once: ``stamps`` (int32 a group, zeroed once) has one
    more than the row that met the group last. A document of ``counts`` shingles with repeats is no partner of a set
    that needs more, and a ``crowded`` one is not held against the sets of crowds. ``own`` are the rows of the sets
    themselves. ``hits`` and ``touched`` are scratch, int32 a set, ``hits`` zeroed and left so.

    The common case is a hash and one load from ``bits``; time grows with the shingles, and beside that with the kept
    shingles that each document shares with each set.
    """
    in_bits, in_cells = np.uint64(bits.size - 1), np.uint64(cells.size - 1)
    hashes = np.empty(CHUNK, np.uint64)
    words = np.empty(CHUNK + k, np.uint64)
    state = np.empty(STATE, np.int64)
    written = 0
    for i in range(first, docs.size):
        if left.size - written < hits.size:
            return i, written
        begin, stop = offsets[docs[i]], offsets[docs[i] + 1]
        state[0], state[1], state[2], state[3] = begin, begin, 0, 0
        stamp = np.int32(rows[i] + 1)
        met = 0
        while True:
            count = fill(kind, k, seed, data, stop, letters, words, state, hashes)
            if count == 0:
                break
            # without a branch: loads that miss the cache overlap
            near = 0
            for j in range(count):
                value = min(hashes[j], VACANT - np.uint64(1))
                marks = _marks(value)
                hashes[near] = value
                near += bits[np.int64(value & in_bits)] & marks == marks
            for j in range(near):
                value = hashes[j]
                cell = np.int64((value >> APART) & in_cells)
                while cells[cell] != NOBODY and keys[cells[cell]] != value:
                    cell = (cell + 1) & np.int64(in_cells)
                group = cells[cell]
                if group == NOBODY or stamps[group] == stamp:
                    continue
                stamps[group] = stamp
                end = middles[group] if crowded[i] else starts[group + 1]
                for p in range(starts[group], end):
                    s = posts[p]
                    if hits[s] == 0:
                        touched[met] = s
                        met += 1
                    hits[s] += 1
        for m in range(met):
            s = touched[m]
            if hits[s] >= needed[s] and counts[i] >= least[s] and own[s] != rows[i]:
                left[written] = rows[i]
                right[written] = s
                written += 1
            hits[s] = 0
    return docs.size, written
