"""Which sets hold another one, or a share of it: an index of the rarest shingles of some sets, probed with others.

A set x is contained in y to a share t when y holds at least ``ceil(t |x|)`` of the shingles of x, and lacks at most
``|x| - ceil(t |x|)``. So of any K shingles of x it holds all but so many: ``rarest`` keeps the rarest ones, of which
those that x has to itself need not be kept at all, ``enter`` and ``post`` make a table of them with a bitmap in front
of it, and ``probe`` counts what each document holds of them, and then holds the few that hold enough against
the whole set. No size tells anything but that the container is the larger one.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._jit import inlined, kernel, part
from neardup.kernels.joining import OWN
from neardup.kernels.scanning import is_marked, marks
from neardup.kernels.verify import VACANT, intersection, least_held

__all__ = ["enter", "post", "probe", "rarest"]

ONE, TWO = np.uint64(1), np.uint64(2)
LOW, S32 = np.uint64(0xFFFFFFFF), np.uint64(32)
LIST = np.uint64(1 << 62)
"""Beside the number of a list, so that it is not taken for that of a set."""
LOOK = 1024
"""Shingles of a document that are held against the bitmap together."""
LONGER = 8
"""So many times longer than the other, a set is looked up in; else the two are merged."""


@kernel
def rarest(sets, starts, sizes, classes, bits, often, seen, threshold, share, spare, slack, tokens, held, needed):
    """The shingles of each set by which its containers will be known; returns how many in all.

    Set i is ``sets[starts[i] : starts[i] + sizes[i]]``; its shingles follow those of the sets before it in ``tokens``,
    ``held[i]`` of them, of which a container holds ``needed[i]`` at least. One more than it may lack is enough for that
    to be 1. More are taken while strangers are likely to hold that many: until ``needed`` is ``share`` of what it may
    lack, ``spare`` beside, and half as much again as a stranger holds on average; but only while these hold fewer
    documents, together, than the first ones and ``slack``: a phrase that all documents share is no help and costs a
    step for each of them. ``often`` (float64[256]) is about how many documents hold a shingle of each class, ``seen``
    how many there are. Of equally rare ones those of small hash are taken. O(shingles).
    """
    shift = np.uint64(64 - bits)
    room = np.empty(256, np.int64)
    total = 0
    for i in range(sizes.size):
        begin, size = starts[i], sizes[i]
        held[i] = needed[i] = 0
        if size == 0:
            continue
        room[:] = 0
        for j in range(begin, begin + size):
            room[classes[sets[j] >> shift]] += 1
        lacking = size - least_held(size, threshold)
        take, strangers, first, further = 0, 0.0, 0.0, 0.0
        last, of_last = 0, 0
        is_done = False
        for kind in range(256):
            of_last = 0
            last = kind
            while of_last < room[kind]:
                if take > lacking:
                    more = further + often[kind]
                    if more > first + slack or take - lacking >= 1.5 * strangers + share * lacking + spare:
                        is_done = True
                        break
                    further = more
                elif kind > OWN:
                    first += often[kind]
                strangers += max(0.0, often[kind] - 1.0) / max(1.0, seen - 1.0)
                take += 1
                of_last += 1
            if is_done:
                break
        needed[i] = take - lacking
        before = total
        for j in range(begin, begin + size):
            kind = classes[sets[j] >> shift]
            if kind > last:
                continue
            if kind == last:
                of_last -= 1
                if of_last < 0:
                    continue
            if kind > OWN:
                tokens[total] = sets[j]
                total += 1
        held[i] = total - before
    return total


@inlined
def _place(value, cells):
    """Where a shingle belongs among so many cells, fewer than 2**32: by its low bits, for small hashes are kept."""
    return np.int64(((value & LOW) * np.uint64(cells)) >> S32)


@part
def _cell(value, slots, at):
    """The cell of a shingle from ``at`` on, or the vacant one where it would be."""
    while slots[at, 0] != value and slots[at, 0] != VACANT:
        at += 1
        if at == slots.shape[0]:
            at = 0
    return at


@kernel
def enter(tokens, slots, words):
    """Enter shingles into an empty table and a bitmap; returns the room that ``post`` needs.

    ``slots`` (uint64[cells, 2], more cells than shingles) is VACANT, and has in each cell then a shingle and how often
    it came; ``words`` (uint64, a power of two, zeroed) tells which shingles are not in it.
    """
    mask = np.uint64(words.size - 1)
    room = 0
    for i in range(tokens.size):
        value = tokens[i]
        words[np.int64(value & mask)] |= marks(value)
        at = _cell(value, slots, _place(value, slots.shape[0]))
        if slots[at, 0] == VACANT:
            slots[at, 0] = value
            slots[at, 1] = 0
        slots[at, 1] += ONE
        room += (slots[at, 1] > ONE) + (slots[at, 1] == TWO) * 2
    return room


@kernel
def post(tokens, held, slots, posts):
    """Say in each cell which set keeps its shingle or, with ``LIST`` added, where in ``posts`` those are that do.

    A list is its length, then the sets, rising. ``tokens`` are those that were entered, ``held`` of each set.
    """
    room = 0
    for at in range(slots.shape[0]):
        if slots[at, 0] != VACANT and slots[at, 1] > ONE:
            posts[room] = 0
            size = np.int64(slots[at, 1]) + 1
            slots[at, 1] = LIST + np.uint64(room)
            room += size
    end = 0
    for x in range(held.size):
        first, end = end, end + held[x]
        for i in range(first, end):
            at = _cell(tokens[i], slots, _place(tokens[i], slots.shape[0]))
            begin = np.int64(slots[at, 1] - LIST)
            if slots[at, 1] < LIST:
                slots[at, 1] = np.uint64(x)
            else:
                posts[begin] += 1
                posts[begin + posts[begin]] = x


@part
def _larger_from(sizes, size):
    """First of the rising ``sizes`` that is above ``size``."""
    low, high = 0, sizes.size
    while low < high:
        middle = (low + high) >> 1
        if sizes[middle] <= size:
            low = middle + 1
        else:
            high = middle
    return low


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


@kernel
def probe(
    rows, sides, starts, sizes, sets, own_rows, own_sides, own_starts, own_sizes, own_sets, needed,
    words, slots, posts, threshold, hits, touched, state, left, right, similarity,
):  # fmt: skip
    """Pairs of an indexed set (``own_*``) and one of the documents from ``state[0]`` on that contains it.

    Indexed sets come in rising order of size; of two of one size the smaller row is the part. A pair needs the
    ``sides`` of both to make 3. ``hits`` (int32 an indexed set, all 0, and left so) and ``touched`` (one cell more) are
    scratch. Writes rows, the part to the left, and the share of it that the other holds. Returns the number of pairs
    written. Stops early where those of the next document might not fit: ``state[0]`` is the one to go on with,
    ``state[3]`` the room that it needs. ``state[1]`` counts pairs that shared a kept shingle, ``state[2]`` those that
    shared enough of them to be counted in full.
    """
    in_words = np.uint64(words.size - 1)
    near = np.empty(LOOK, np.uint64)
    cells, lengths = np.empty(LOOK, np.int64), np.empty(LOOK, np.int64)
    places = np.empty(2, np.int64)
    n = 0
    i = state[0]
    state[3] = 0
    while i < rows.size:
        begin, size = starts[i], sizes[i]
        high = _larger_from(own_sizes, size)
        met = 0
        for first in range(begin, begin + size if high > 0 else begin, LOOK):
            # step by step and without a branch where memory is waited for: loads that miss the cache overlap
            kept = 0
            for j in range(first, min(first + LOOK, begin + size)):
                value = sets[j]
                near[kept] = value
                kept += np.int64(is_marked(words[np.int64(value & in_words)], value))
            there = 0
            for j in range(kept):
                value = near[j]
                at = _place(value, slots.shape[0])
                near[there], cells[there] = value, at
                there += slots[at, 0] != VACANT
            lists = 0
            for j in range(there):
                at = _cell(near[j], slots, cells[j])
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
                at = cells[j]
                for p in range(at + 1, at + 1 + lengths[j]):
                    x = posts[p]
                    if x >= high:
                        break
                    count = hits[x]
                    touched[met] = x
                    met += count == 0
                    hits[x] = count + 1
        enough = 0
        for m in range(met):
            x = touched[m]
            count = hits[x]
            hits[x] = 0
            if count >= needed[x] and (own_sizes[x] < size or own_rows[x] < rows[i]) and own_sides[x] | sides[i] == 3:
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
            a, part_size = own_starts[x], own_sizes[x]
            least = least_held(part_size, threshold)
            if size < LONGER * part_size:
                common = intersection(a, a + part_size, own_sets, begin, begin + size, sets, least)
            else:
                if shift == 0:
                    lead = 1
                    while (2 << lead) < size:
                        lead += 1
                    shift = 64 - lead
                    if places.size < (1 << lead) + 1:
                        places = np.empty((1 << lead) + 1, np.int64)
                    _spread(sets, begin, size, shift, places)
                common = _looked_up(a, part_size, own_sets, sets, shift, places, least)
            if common >= least and common / part_size >= threshold:
                left[n] = own_rows[x]
                right[n] = rows[i]
                similarity[n] = common / part_size
                n += 1
        i += 1
    state[0] = i
    return n
