"""Windows that stand at several places of a collection: anchors grouped by key, and told apart by their texts.

Anchors of one key are laid over each other. Two windows are equal when they begin equally far before their anchors and
have the same units before and behind them. So the anchors with all their windows are sorted by what stands before
them, and by what follows; neighbours in both orders say for each distance which windows are equal. The texts
themselves are compared everywhere: a hash decides what is looked at, never the answer.

A *piece* is a run of windows of one anchor whose first places in the collection follow each other, too. It is four
numbers: the place of its first window (52 bits) and its windows less one (12 bits); the first place of that window, its
own or an earlier one; the places at which a window of it stands, the most and the fewest (32 bits each); and the most
documents that hold one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.anchors import HEAD, MORE
from neardup.kernels.groups import (
    ANCHORED,
    FEW,
    Classes,
    back_of,
    classify,
    common,
    common_before,
    more_of,
    place_of,
)
from neardup.native.declare import kernel, maker, part

BITS32 = np.uint64(32)
FULL = np.int64(0xFFFFFFFF)


@maker
def _room(out, used, more):
    """``out`` (uint64[m, 4]), or a longer copy, with room for ``more`` rows."""
    if used + more <= out.shape[0]:
        return out
    grown = np.empty((2 * out.shape[0] + more, 4), np.uint64)
    grown[:used] = out[:used]
    return grown


@part
def _counts(a, source, places, documents, min_documents):
    """Whether windows count that stand at so many places in so many documents of the inputs, first at a row."""
    first = place_of(a.rows, source)
    if first >= a.foreign:
        if first >= a.templates:
            return places > 0
    elif a.is_across:
        return False
    return places >= a.min_count and documents >= min_documents


@part
def _write(a, classes, c, low, high, source, most, least, documents, is_counted, out, used):
    """Write the windows of all members of class c that begin ``low`` to ``high`` units before their anchors.

    ``source`` is a row, the first one with these windows. Of windows that do not count only heads of loops are written,
    as standing nowhere: a loop needs all its heads.
    """
    if not is_counted and not a.is_choosing:
        return used
    first = place_of(a.rows, source) + back_of(a.rows, source) - high
    counts = np.uint64(min(most, FULL)) << BITS32 | np.uint64(min(least, FULL)) if is_counted else np.uint64(0)
    for i in range(classes.starts[c], classes.starts[c + 1]):
        row = classes.sorted[i]
        if a.weights[row] == 0 or not (is_counted or a.rows[row, 1] & HEAD):
            continue
        begin = place_of(a.rows, row) + back_of(a.rows, row) - high
        out[used, 0] = np.uint64(begin) << np.uint64(MORE) | np.uint64(high - low)
        out[used, 1] = np.uint64(first)
        out[used, 2] = counts
        out[used, 3] = np.uint64(documents)
        used += 1
    return used


@part
def _follows(a, one, other, is_before):
    """How many units of two anchors agree, from the anchor on or before it, and whether the first comes later."""
    unit, span = a.unit, a.span
    back_one, back_other = back_of(a.rows, one), back_of(a.rows, other)
    at, to = (a.places[one] + back_one) * unit, (a.places[other] + back_other) * unit
    if is_before:
        size_one, size_other = back_one, back_other
        most = min(size_one, size_other)
        same = common_before(a.data, at, to, most * unit)
        if same < most * unit:
            return same // unit, a.data[at - same - 1] > a.data[to - same - 1]
    else:
        size_one = more_of(a.rows, one) + span - back_one
        size_other = more_of(a.rows, other) + span - back_other
        most = min(size_one, size_other)
        same = common(a.data, at, to, most * unit)
        if same < most * unit:
            return same // unit, a.data[at + same] > a.data[to + same]
    return most, size_one > size_other


@part
def _sort(a, classes, count, is_before, order, spare):
    """Sort classes by what stands before their anchors or from them on; merge sort, from the bottom."""
    for c in range(count):
        order[c] = c
    size = 1
    while size < count:
        begin = 0
        while begin < count:
            middle, end = min(begin + size, count), min(begin + 2 * size, count)
            i, j, at = begin, middle, begin
            while i < middle or j < end:
                take_left = j >= end
                if i < middle and j < end:
                    _, is_later = _follows(a, classes.reps[order[i]], classes.reps[order[j]], is_before)
                    take_left = not is_later
                if take_left:
                    spare[at] = order[i]
                    i += 1
                else:
                    spare[at] = order[j]
                    j += 1
                at += 1
            begin = end
        for i in range(count):
            order[i] = spare[i]
        size *= 2


class Sweep(NamedTuple):
    """Scratch for a group of many classes, int64 of its members each."""

    before: Any
    """Classes in the order of what stands before their anchors."""
    before_same: Any
    """Units before the anchors that each has in common with the one sorted before it."""
    behind: Any
    behind_same: Any
    left: Any
    """Of each class: the first, in order, of those that have the same before, as far as is looked."""
    right: Any
    joined: Any
    """Of each class: the first whose windows are equal to its own at a distance; -1 where it has none there."""
    count: Any
    documents: Any
    seen: Any
    """The document that was counted last."""
    open_from: Any
    """Of each class: the distance from which on its repeated windows have one source; -1: none are open."""
    open_source: Any
    open_most: Any
    open_least: Any
    open_documents: Any
    is_counted: Any
    """1: the open windows count; else 0."""


@part
def _join(classes, count, active, sweep, table):
    """Set ``joined`` by ``left`` and ``right``; whether any two classes are joined."""
    bits = 2
    while count > FEW and (1 << bits) < 2 * count:
        bits += 1
    last = (1 << bits) - 1
    if count > FEW:
        table[: last + 1] = -1
    any_joined = False
    for c in range(count):
        sweep.joined[c] = -1
        if not active[c]:
            continue
        found = np.int64(-1)
        left, right = sweep.left[c], sweep.right[c]
        if count <= FEW:
            for other in range(c):
                if sweep.joined[other] == other and sweep.left[other] == left and sweep.right[other] == right:
                    found = other
                    break
        else:
            x = (np.uint64(left) << BITS32 | np.uint64(right)) * np.uint64(0x9E3779B97F4A7C15)
            cell = np.int64(x >> np.uint64(64 - bits))
            while table[cell] >= 0:
                other = table[cell]
                if sweep.left[other] == left and sweep.right[other] == right:
                    found = other
                    break
                cell = (cell + 1) & last
            if found < 0:
                table[cell] = c
        if found < 0:
            sweep.joined[c] = c
            sweep.count[c] = classes.count[c]
            sweep.documents[c] = classes.documents[c]
        else:
            sweep.joined[c] = found
            sweep.count[found] += classes.count[c]
            any_joined = True
    return any_joined


@maker
def _sweep(a, members, classes, count, min_documents, sweep, table, out, used):
    """The pieces of a group of any number of classes: from distance to distance before the anchors."""
    rows, span = a.rows, a.span
    least, most = np.int64(1 << 60), np.int64(0)
    for c in range(count):
        row = classes.reps[c]
        least = min(least, back_of(rows, row) - more_of(rows, row))
        most = max(most, back_of(rows, row))
        sweep.open_from[c] = -1
    # distances at which the windows that are equal may be others than one unit nearer
    changes = np.zeros(most + 3, np.bool_)
    changes[least] = True
    changes[most + 1] = True
    for c in range(count):
        row = classes.reps[c]
        changes[back_of(rows, row) - more_of(rows, row)] = True
        changes[back_of(rows, row) + 1] = True
    _sort(a, classes, count, True, sweep.before, sweep.left)
    _sort(a, classes, count, False, sweep.behind, sweep.left)
    for i in range(1, count):
        same, _ = _follows(a, classes.reps[sweep.before[i - 1]], classes.reps[sweep.before[i]], True)
        sweep.before_same[i] = same
        if same + 1 <= most:
            changes[same + 1] = True
        same, _ = _follows(a, classes.reps[sweep.behind[i - 1]], classes.reps[sweep.behind[i]], False)
        sweep.behind_same[i] = same
        if 0 <= span - same <= most:
            changes[span - same] = True
    active = np.zeros(count, np.bool_)
    for distance in range(least, most + 2):
        if not changes[distance]:
            continue
        for c in range(count):
            row = classes.reps[c]
            active[c] = back_of(rows, row) - more_of(rows, row) <= distance <= back_of(rows, row)
        left, right = np.int64(0), np.int64(0)
        for i in range(count):
            if i == 0 or sweep.before_same[i] < distance:
                left = i
            if i == 0 or sweep.behind_same[i] < span - distance:
                right = i
            sweep.left[sweep.before[i]] = left
            sweep.right[sweep.behind[i]] = right
        if _join(classes, count, active, sweep, table):
            for c in range(count):
                sweep.documents[c] = 0
                sweep.seen[c] = -1
            for i in range(members.size):
                c = sweep.joined[classes.of[i]]
                if c >= 0 and a.weights[members[i]] > 0 and sweep.seen[c] != a.documents[members[i]]:
                    sweep.seen[c] = a.documents[members[i]]
                    sweep.documents[c] += 1
        for c in range(count):
            source, open_ = sweep.joined[c], sweep.open_from[c] >= 0
            everywhere = sweep.count[source] if source >= 0 else 0
            is_counted = source >= 0 and _counts(
                a, classes.reps[source], everywhere, sweep.documents[source], min_documents
            )
            goes_on = open_ and sweep.open_source[c] == source and sweep.is_counted[c] == is_counted
            if goes_on:
                sweep.open_most[c] = max(sweep.open_most[c], everywhere)
                sweep.open_least[c] = min(sweep.open_least[c], everywhere)
                sweep.open_documents[c] = max(sweep.open_documents[c], sweep.documents[source])
                continue
            if open_:
                out = _room(out, used, classes.starts[c + 1] - classes.starts[c])
                used = _write(
                    a,
                    classes,
                    c,
                    sweep.open_from[c],
                    distance - 1,
                    classes.reps[sweep.open_source[c]],
                    sweep.open_most[c],
                    sweep.open_least[c],
                    sweep.open_documents[c],
                    sweep.is_counted[c] != 0,
                    out,
                    used,
                )
            sweep.open_from[c] = -1
            if is_counted or (source >= 0 and a.is_choosing):
                sweep.open_from[c], sweep.open_source[c], sweep.is_counted[c] = distance, source, is_counted
                sweep.open_most[c], sweep.open_least[c] = everywhere, everywhere
                sweep.open_documents[c] = sweep.documents[source]
    return out, used


@part
def _joint_documents(a, classes):
    """Distinct documents of two classes together."""
    i, j, count = classes.starts[0], classes.starts[1], np.int64(0)
    last = np.int64(-1)
    while i < classes.starts[1] or j < classes.starts[2]:
        if j >= classes.starts[2] or (i < classes.starts[1] and classes.sorted[i] < classes.sorted[j]):
            row = classes.sorted[i]
            i += 1
        else:
            row = classes.sorted[j]
            j += 1
        document = a.documents[row]
        if document != last and a.weights[row] > 0:
            count += 1
            last = document
    return count


@kernel(ANCHORED, "int64[::1], int64[::1], UniTuple(uint64, 4)")
def find_pieces(anchored, members, starts, key):
    """The pieces of windows that stand at two or more places: uint64[m, 4], in no order.

    Group g, of anchors with one key, is ``members[starts[g] : starts[g + 1]]``, rows of ``anchored``, rising.
    Each window of the inputs that counts is in exactly one piece, whatever the keys were made by, and so is one that
    does not count but is a head of a loop, with no places: where not all repeated windows count, pieces are divided so
    that either all their windows do or none. Where all anchors of a
    group agree, or are of two kinds, they are compared once; else c kinds take c log c comparisons and up to c
    for each of span - k + 1 distances. Memory: 32 bytes a piece, and some 150 for each member of the largest group.
    """
    a = anchored
    largest = 1
    for g in range(starts.size - 1):
        largest = max(largest, starts[g + 1] - starts[g])
    cells = 64
    while cells < 4 * largest:
        cells *= 2
    table = np.empty(cells, np.int64)
    classes = Classes(
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest + 3, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.uint64),
    )
    sweep = Sweep(
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
    )
    out = np.empty((max(16, members.size), 4), np.uint64)
    used = 0
    for g in range(starts.size - 1):
        group = members[starts[g] : starts[g + 1]]
        least = a.min_documents[g]
        count = classify(a, group, key, classes, table)
        if count == 1:
            row = group[0]
            out = _room(out, used, group.size)
            high = back_of(a.rows, row)
            low = high - more_of(a.rows, row)
            everywhere = classes.count[0]
            documents = classes.documents[0]
            is_counted = _counts(a, row, everywhere, documents, least)
            used = _write(a, classes, 0, low, high, row, everywhere, everywhere, documents, is_counted, out, used)
        elif count == 2:
            one, other = classes.reps[0], classes.reps[1]
            before, _ = _follows(a, one, other, True)
            behind, _ = _follows(a, one, other, False)
            low, high = max(np.int64(0), a.span - behind), before
            is_shared = behind >= a.k and low <= high
            everywhere = classes.count[0] + classes.count[1]
            together = _joint_documents(a, classes) if is_shared else 0
            both = is_shared and _counts(a, one, everywhere, together, least)
            out = _room(out, used, 3 * group.size)
            for c in range(2):
                row = classes.reps[c]
                size, documents = classes.count[c], classes.documents[c]
                top = back_of(a.rows, row)
                bottom = top - more_of(a.rows, row)
                alone = _counts(a, row, size, documents, least)
                if not is_shared:
                    used = _write(a, classes, c, bottom, top, row, size, size, documents, alone, out, used)
                    continue
                used = _write(a, classes, c, low, high, one, everywhere, everywhere, together, both, out, used)
                if top > high:
                    used = _write(a, classes, c, high + 1, top, row, size, size, documents, alone, out, used)
                if bottom < low:
                    used = _write(a, classes, c, bottom, low - 1, row, size, size, documents, alone, out, used)
        else:
            out, used = _sweep(a, group, classes, count, least, sweep, table, out, used)
    return out[:used].copy()
