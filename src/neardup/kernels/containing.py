"""Which sets hold another one, or a share of it: the table of the rarest shingles of some, probed with others.

A set x is contained in y to a share t when y holds at least ``ceil(t |x|)`` of the shingles of x. ``probe`` counts what
each document holds of the shingles by which the sets are known (``rarest``). The few sets of which it holds enough are
then counted in full. Of two sizes only their order tells anything: the container is the larger set.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels._jit import kernel, part, record
from neardup.kernels.joining import run_end
from neardup.kernels.rarest import LIST, SET_BLOCK, TABLE, find, is_marked, place
from neardup.kernels.verify import VACANT, first_at_least, intersection, least_held

LOOK = 1024
"""Shingles of a document that are held against the bitmap together."""
LONGER = 8
"""So many times longer than the other, a set is looked up in; else the two are merged."""


class Scratch(NamedTuple):
    """What one thread writes on while it probes; may be used again for the same table."""

    hits: Any
    """int32 a set of the table, all 0, and left so."""
    touched: Any
    """int32, a cell more."""


SCRATCH = record(Scratch, "int32[::1], int32[::1]")


@part
def _spread(sets, begin, size, shift, places):
    """Where the shingles of each run of leading bits begin in a set."""
    j = begin
    end = begin + size
    for p in range((1 << (64 - shift)) + 1):
        while j < end and np.int64(sets[j] >> np.uint64(shift)) < p:
            j += 1
        places[p] = j


@part
def _looked_up(a, size, sets, others, shift, places, needed):
    """How many shingles of a set are in the one that was ``_spread``, or -1 as soon as that cannot be ``needed``."""
    missing, spare = 0, size - needed
    for j in range(a, a + size):
        value = sets[j]
        p = np.int64(value >> np.uint64(shift))
        at, end = places[p], places[p + 1]
        while at < end and others[at] < value:
            at += 1
        if at == end or others[at] != value:
            missing += 1
            if missing > spare:
                return -1
    return size - missing


@kernel(
    SET_BLOCK,
    SET_BLOCK,
    "int32[::1], int32[::1], int32[::1]",
    TABLE,
    "float64",
    SCRATCH,
    "int64[::1], int64[::1], int64[::1], float64[::1]",
)
def probe(others, parts, crowds, part_crowds, needed, table, threshold, scratch, state, left, right, similarity):
    """Pairs of a set of the table and one of the documents from ``state[0]`` on that contains it.

    ``others`` and ``parts``, the sets of the table, are ``SetBlock``; of two of one size the smaller row is the part.
    A pair needs the ``sides`` of both to make 3. Where ``crowds`` and ``part_crowds`` are not empty they say which
    crowd each set is in, or -1, and the lists of the table are in their order: pairs inside a crowd are passed over.

    Writes rows, the part to the left, and the share of it that the other holds. Returns the number of pairs written.
    Stops early where those of the next document might not fit: ``state[0]`` is the one to go on with, ``state[3]`` the
    room that it needs. ``state[1]`` counts pairs that shared a kept shingle, ``state[2]`` those that shared enough of
    them to be counted in full.
    """
    bitmap, slots, posts, salt = table
    in_bitmap = np.uint64(bitmap.size - 1)
    sets, hits, touched = others.hashes, scratch.hits, scratch.touched
    near = np.empty(LOOK, np.uint64)
    cells, lengths = np.empty(LOOK, np.int64), np.empty(LOOK, np.int64)
    places = np.empty(2, np.int64)
    n = 0
    i = state[0]
    state[3] = 0
    while i < others.rows.size:
        begin, size = others.starts[i], others.sizes[i]
        high = first_at_least(parts.sizes, 0, parts.sizes.size, size + 1)
        met = 0
        for first in range(begin, begin + size if high > 0 else begin, LOOK):
            # step by step and without a branch where memory is waited for: loads that miss the cache overlap
            kept = 0
            for j in range(first, min(first + LOOK, begin + size)):
                value = sets[j]
                near[kept] = value
                kept += np.int64(is_marked(bitmap[np.int64(value & in_bitmap)], value))
            there = 0
            for j in range(kept):
                value = near[j]
                at = place(value, salt, slots.shape[0])
                near[there], cells[there] = value, at
                there += slots[at, 0] != VACANT
            lists = 0
            for j in range(there):
                at = find(near[j], slots, cells[j])
                if slots[at, 0] == VACANT:
                    continue
                if slots[at, 1] >= LIST:
                    cells[lists] = np.int64(slots[at, 1] - LIST)
                    lists += 1
                    continue
                x = np.int32(slots[at, 1])
                count = hits[x]
                touched[met] = x
                met += (count == 0) & (x < high)
                hits[x] = count + (x < high)
            for j in range(lists):
                lengths[j] = posts[cells[j]]
            for j in range(lists):
                p, stop = cells[j] + 1, cells[j] + 1 + lengths[j]
                while p < stop:
                    behind = stop
                    if part_crowds.size > 0:
                        behind = run_end(posts, p, stop, part_crowds)
                        if crowds[i] >= 0 and crowds[i] == part_crowds[posts[p]]:
                            p = behind
                            continue
                    for q in range(p, behind):
                        x = posts[q]
                        if x >= high:
                            break
                        count = hits[x]
                        touched[met] = x
                        met += count == 0
                        hits[x] = count + 1
                    p = behind
        enough = 0
        for m in range(met):
            x = touched[m]
            count = hits[x]
            hits[x] = 0
            is_smaller = parts.sizes[x] < size or parts.rows[x] < others.rows[i]
            if part_crowds.size > 0 and crowds[i] >= 0 and crowds[i] == part_crowds[x]:
                continue
            if count >= needed[x] and is_smaller and parts.sides[x] | others.sides[i] == 3:
                touched[enough] = x
                enough += 1
        if enough > left.size - n:
            state[3] = enough
            break
        state[1] += met
        state[2] += enough
        shift = 0
        for m in range(enough):
            x = touched[m]
            a, part_size = parts.starts[x], parts.sizes[x]
            least = least_held(part_size, threshold)
            if size < LONGER * part_size:
                common = intersection(a, a + part_size, parts.hashes, begin, begin + size, sets, least)
            else:
                if shift == 0:
                    lead = 1
                    while (2 << lead) < size:
                        lead += 1
                    shift = 64 - lead
                    if places.size < (1 << lead) + 1:
                        places = np.empty((1 << lead) + 1, np.int64)
                    _spread(sets, begin, size, shift, places)
                common = _looked_up(a, part_size, parts.hashes, sets, shift, places, least)
            if common >= least and common / part_size >= threshold:
                left[n] = parts.rows[x]
                right[n] = others.rows[i]
                similarity[n] = common / part_size
                n += 1
        i += 1
    state[0] = i
    return n
