"""Which sets hold another one, or a share of it: the table of the rarest shingles of some, probed with others.

A set x is contained in y to a share t when y holds at least ``ceil(t |x|)`` of the shingles of x. ``probe`` counts what
each document holds of the shingles by which the sets are known (``rarest``). Of those of which it holds enough it asks
their outlines (``outline``), of one byte a shingle in place of eight: a document that has too few of the cells of one
does not hold the set. Nearly all that is left does, and ``held`` counts it in full, with sets that are built again.
Of two sizes only their order tells anything: the container is the larger set.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.joining import run_end
from neardup.kernels.rarest import LIST, SET_BLOCK, TABLE, find, is_marked, place
from neardup.kernels.verify import PADDED_SETS, VACANT, first_at_least, intersection, least_held
from neardup.native.declare import kernel, part, record

LOOK = 1024
"""Shingles of a document that are held against the bitmap together."""
LONGER = 8
"""So many times longer than the other, a set is looked up in; else the two are merged."""
CELLS = 32
"""Cells for each shingle of an outline, or up to twice as many: the gaps between those that are taken fit a byte."""
SKIP = 255
"""A byte of an outline that goes on by so many cells, and has no shingle there."""
RUN = 64
"""Bytes of an outline between two looks at what is lacking."""
LEAST_SCALE = 6
"""Binary logarithm of the cells of an outline, at least: a word of bits."""
ONE, SIX, IN_WORD = np.uint64(1), np.uint64(6), np.uint64(63)


class Outlined(NamedTuple):
    """Sets that may be contained in others, in rising order of their sizes, without their shingles."""

    rows: Any
    """int64[n]: the document of each."""
    sides: Any
    """uint8[n]: the side of the join that it is on."""
    sizes: Any
    """int64[n]."""
    needed: Any
    """int32[n]: how many of the shingles by which it is known a container holds at least."""
    crowds: Any
    """int32[n]: the crowd that each is in, or -1; empty where there is no crowd at all."""
    starts: Any
    """int64[n]: where its outline starts in ``outlines`` ..."""
    lengths: Any
    """... int64[n]: and its bytes."""
    outlines: Any
    """uint8."""


OUTLINED = record(
    Outlined,
    "int64[::1], uint8[::1], int64[::1], int32[::1], int32[::1], int64[::1], int64[::1], uint8[::1]",
)


class Scratch(NamedTuple):
    """What one thread writes on while it probes; may be used again for the same table."""

    hits: Any
    """int32 a set of the table, all 0, and left so."""
    touched: Any
    """int32, a cell more."""


SCRATCH = record(Scratch, "int32[::1], int32[::1]")


@part
def _scale(size):
    """Binary logarithm of the cells of the outline of a set."""
    scale = LEAST_SCALE
    while (1 << scale) < CELLS * size:
        scale += 1
    return scale


@kernel(PADDED_SETS, "int64[::1], uint8[::1]")
def outline(sets, lengths, out):
    """Outlines of sets, end to end in ``out``; their ``lengths``, and how many bytes in all.

    The hashes, by their leading bits, are numbers of cells. A byte goes on from one that is taken to the next, and SKIP
    goes on without one. ``out`` has room for 5/4 of the shingles, and 2 for each set. O(shingles).
    """
    n = 0
    for i in range(sets.sizes.size):
        size, begin, before = sets.sizes[i], sets.starts[i], n
        shift = np.uint64(64 - _scale(size))
        last = 0
        for j in range(begin, begin + size):
            cell = np.int64(sets.hashes[j] >> shift)
            gap = cell - last
            while gap >= SKIP:
                out[n] = SKIP
                n += 1
                gap -= SKIP
            out[n] = gap
            n += 1
            last = cell
        lengths[i] = n - before
    return n


@part
def _mark(sets, begin, size, scale, cells):
    """Set the bits of the cells of a set; those of each scale have words of their own."""
    shift = np.uint64(64 - scale)
    first = 1 << (scale - LEAST_SCALE)
    for w in range(first, 2 * first):
        cells[w] = 0
    for j in range(begin, begin + size):
        cell = sets[j] >> shift
        cells[first + np.int64(cell >> SIX)] |= ONE << (cell & IN_WORD)


@part
def _may_hold(outlines, begin, length, spare, scale, marked, cells):
    """Whether at most ``spare`` shingles of an outline of this scale fall into cells that are not ``marked``."""
    shift = np.uint64(scale - marked)
    first = 1 << (marked - LEAST_SCALE)
    lacking, at = 0, np.uint64(0)
    i, end = begin, begin + length
    while i < end:
        stop = min(end, i + RUN)
        for j in range(i, stop):
            gap = np.uint64(outlines[j])
            at += gap
            cell = at >> shift
            is_there = (cells[first + np.int64(cell >> SIX)] >> (cell & IN_WORD)) & ONE
            lacking += np.int64(gap != SKIP) & np.int64(is_there ^ ONE)
        if lacking > spare:
            return False
        i = stop
    return True


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


@kernel(SET_BLOCK, OUTLINED, "int32[::1]", TABLE, "float64", SCRATCH, "int64[::1], int64[::1], int64[::1]")
def probe(others, parts, crowds, table, threshold, scratch, state, left, right):
    """Pairs of a set of the table and one of the documents from ``state[0]`` on that may contain it.

    ``others`` is a ``SetBlock``; ``parts`` are the sets of the table. Of two of one size the smaller row is the part.
    A pair needs the ``sides`` of both to make 3. Where ``crowds``, of the documents, and those of the parts are not
    empty, the lists of the table are in their order: pairs inside a crowd are passed over.

    Writes the number of the part and that of the document. Returns the number of pairs written. Stops early where those
    of the next document might not fit: ``state[0]`` is the one to go on with, ``state[3]`` the room that it needs.
    ``state[1]`` counts pairs that shared a kept shingle, ``state[2]`` those that shared enough of them to be held
    against the outline.
    """
    bitmap, slots, posts, salt = table
    in_bitmap = np.uint64(bitmap.size - 1)
    sets, hits, touched, part_crowds = others.hashes, scratch.hits, scratch.touched, parts.crowds
    near = np.empty(LOOK, np.uint64)
    cells, lengths = np.empty(LOOK, np.int64), np.empty(LOOK, np.int64)
    marks = np.empty(2, np.uint64)
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
            if count >= parts.needed[x] and is_smaller and parts.sides[x] | others.sides[i] == 3:
                touched[enough] = x
                enough += 1
        if enough > left.size - n:
            state[3] = enough
            break
        state[1] += met
        state[2] += enough
        finest, marked = max(LEAST_SCALE, _scale(size) - 1), 0
        for m in range(enough):
            x = touched[m]
            part_size = parts.sizes[x]
            scale = _scale(part_size)
            level = min(scale, finest)
            if (marked >> level) & 1 == 0:
                if marks.size < (2 << (level - LEAST_SCALE)):
                    marks, marked = np.empty(2 << (level - LEAST_SCALE), np.uint64), 0
                _mark(sets, begin, size, level, marks)
                marked |= 1 << level
            spare = part_size - least_held(part_size, threshold)
            if _may_hold(parts.outlines, parts.starts[x], parts.lengths[x], spare, scale, level, marks):
                left[n] = x
                right[n] = i
                n += 1
        i += 1
    state[0] = i
    return n


@kernel("int64[::1], int64[::1]", PADDED_SETS, PADDED_SETS, "float64, float64[::1]")
def held(left, right, parts, others, threshold, share):
    """What a set of ``others`` holds of one of ``parts``, which is no larger, or -1 where it is below the threshold.

    Pairs of one of the others stand together.
    """
    places = np.empty(2, np.int64)
    spread, shift = -1, 0
    for p in range(left.size):
        x, y = left[p], right[p]
        a, part_size = parts.starts[x], parts.sizes[x]
        begin, size = others.starts[y], others.sizes[y]
        least = least_held(part_size, threshold)
        if size < LONGER * part_size:
            common = intersection(a, a + part_size, parts.hashes, begin, begin + size, others.hashes, least)
        else:
            if spread != y:
                lead = 1
                while (2 << lead) < size:
                    lead += 1
                shift = 64 - lead
                if places.size < (1 << lead) + 1:
                    places = np.empty((1 << lead) + 1, np.int64)
                _spread(others.hashes, begin, size, shift, places)
                spread = y
            common = _looked_up(a, part_size, parts.hashes, others.hashes, shift, places, least)
        share[p] = -1.0
        if common >= least and common / part_size >= threshold:
            share[p] = common / part_size
