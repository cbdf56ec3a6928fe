"""Chains of equal pieces: a passage that stands again with changes, found and aligned without a pair of documents.

Segments (``kernels.segments``) are taken document by document, in the order of the text. A segment whose source lies in
a passage that was chained before is led on to the source of that passage. So all places of one passage point to its
first one, wherever their pieces occurred first, and no two later places are ever compared.

``draft_chains`` puts the pieces of a document together: those that rise in one earlier document, with at most so many
units between two of them on either side. It is the dynamic programming of sequence aligners (Li 2018, "Minimap2",
section 2.1), with a fixed number of pieces looked back. ``align_chains`` compares what lies between the pieces, by edit
distance, cuts off what lowers the similarity below the least, and goes on at both ends as long as texts are alike.
``link_chains`` chooses those that stay, and notes where they lead.

Places are units from the begin of the collection. Score: of a stretch of n units, the longer of the two, and d
differences, ``(1000 - similarity) * n - 1000 * d``; it is below zero where the similarity is below the least.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.segments import _find_document
from neardup.native.declare import kernel, part, record

LOOK_BACK = 64
"""Pieces before a piece that may be the one before it in a chain."""
DROP = 16
"""An extension ends where it has so many differences more than its best point allows."""
NOWHERE = 0
"""In place of how far back a link leads: what lies there was aligned, and is not equal."""
DOCUMENT, LINKED, WORK, ROOM = range(4)
"""State: the document that is next; links that there are; cells and steps that were computed; room that pieces need."""
BEGIN, END, SOURCE, SOURCE_END, DIFFERENCES, SCORE, FIRST_PIECE, PIECES = range(8)
"""Columns of an aligned chain; the last two: its pieces among those of the draft."""


class Rules(NamedTuple):
    """The least and greatest sizes of a chain, in units, and its least similarity."""

    match: int
    """Of the shortest segment: so many that are equal."""
    gap: int
    """Between two pieces, at most, on either side. A passage reaches half as far beyond its first and last piece."""
    length: int
    """Of the passage, where it stands again and where it stood before, at least."""
    similarity: int
    """At least, in thousandths."""


class Stretches(NamedTuple):
    """Texts of chains: of place p of chain c the unit ``p + own[c]`` of ``data``, of its source ``p + source[c]``."""

    data: Any
    """uint8."""
    unit: int
    """Bytes of a unit: 1 or 4."""
    own: Any
    """int64[chains]."""
    source: Any
    """int64[chains]."""


RULES = record(Rules, "int64", "int64", "int64", "int64")
STRETCHES = record(Stretches, "uint8[::1]", "int64", "int64[::1]", "int64[::1]")


@part
def _lead(links, linked, least, begin, end, source, pieces, used):
    """Cut a segment where links begin and end, lead each piece on, and write those of ``least`` units or more.

    Returns how many pieces there are then, also where there was no room for them.
    """
    at, stop = source, source + end - begin
    i, high = 0, linked
    while i < high:
        middle = (i + high) // 2
        if links[middle, 1] <= at:
            i = middle + 1
        else:
            high = middle
    while at < stop:
        to, until = at, stop
        if i < linked and links[i, 0] <= at:
            to = at - links[i, 2] if links[i, 2] != NOWHERE else np.int64(-1)
            until = min(stop, links[i, 1])
            i += 1
        elif i < linked:
            until = min(stop, links[i, 0])
        if to >= 0 and until - at >= least:
            if used < pieces.shape[0]:
                pieces[used, 0], pieces[used, 1], pieces[used, 2] = begin + at - source, begin + until - source, to
            used += 1
        at = until
    return used


@part
def _chain(pieces, order, roots, own, gap, best, before, begins):
    """Of each piece the best chain that ends with it: its score, the piece before it, where it begins. Returns steps.

    A chain has the units of its pieces as score, less how much longer the gaps are on one side than on the other.
    """
    steps = 0
    for at in range(order.size):
        i = order[at]
        begin, end, source = pieces[i, 0], pieces[i, 1], pieces[i, 2]
        best[i], before[i], begins[i] = end - begin, -1, begin
        if roots[i] == own and source + end - begin > begin:
            best[i] = 0  # a stretch that repeats itself
            continue
        for back in range(at - 1, max(-1, at - 1 - LOOK_BACK), -1):
            j = order[back]
            steps += 1
            ahead, source_ahead = begin - pieces[j, 1], source - (pieces[j, 2] + pieces[j, 1] - pieces[j, 0])
            over = max(0, -ahead, -source_ahead)
            fresh = end - begin - over
            is_next = roots[j] == roots[i] and source >= pieces[j, 2] and max(ahead, source_ahead) + over <= gap
            if not is_next or fresh <= 0 or best[j] == 0 or (roots[i] == own and source + end - begin > begins[j]):
                continue
            score = best[j] + fresh - abs(ahead - source_ahead)
            if score > best[i]:
                best[i], before[i], begins[i] = score, j, begins[j]
    return steps


@part
def _write_chain(pieces, last, before, is_used, rules, out, used):
    """Write the pieces of one chain, without what two of them share; returns how many pieces there are then.

    None is written of a chain that has too little: two segments' units equal, or half of a passage.
    """
    stop, i = used, last
    while i >= 0 and not is_used[i]:
        is_used[i] = 1
        stop += 1
        i = before[i]
    i = last
    for at in range(stop - 1, used - 1, -1):
        out[at, 0], out[at, 1], out[at, 2] = pieces[i, 0], pieces[i, 1], pieces[i, 2]
        i = before[i]
    equal = np.int64(0)
    for at in range(used, stop):
        if at > used:
            source_end = out[at - 1, 2] + out[at - 1, 1] - out[at - 1, 0]
            over = max(0, out[at - 1, 1] - out[at, 0], source_end - out[at, 2])
            out[at, 0], out[at, 2] = out[at, 0] + over, out[at, 2] + over
        equal += out[at, 1] - out[at, 0]
    is_enough = equal >= min(2 * rules.match, (rules.length + 1) // 2)
    return stop if is_enough and out[stop - 1, 1] - out[used, 0] + rules.gap >= rules.length else used


@kernel("int64[:, ::1], int64[::1], int64[::1], int64[:, ::1]", RULES, "int64[::1], int64[:, ::1], int64[::1]")
def draft_chains(segments, stops, offsets, links, rules, state, out, starts):
    """The chains of the next document that has any; returns how many, 0 when no document is left.

    ``segments`` (int64[n, 3]): begin, end, source of each, in the order of the text; those of the d-th
    document that has any end before ``stops[d]``. ``out`` (int64[p, 3]) gets the same of the pieces of chains, and
    ``starts`` (int64[p + 1]) where those of each chain begin. -1: they need room for ``state[ROOM]`` pieces; call again
    with it. O(n log n) for n pieces, which are at most the units of the segments.
    """
    least = max(np.int64(1), rules.match // 4)
    while state[DOCUMENT] < stops.size:
        document = state[DOCUMENT]
        first = stops[document - 1] if document else np.int64(0)
        n = np.int64(0)
        for i in range(first, stops[document]):
            n = _lead(links, state[LINKED], least, segments[i, 0], segments[i, 1], segments[i, 2], out, n)
        if n > out.shape[0]:
            state[ROOM] = n
            return -1
        state[DOCUMENT] += 1
        if n == 0:
            continue
        pieces = out[:n].copy()
        own = _find_document(offsets, pieces[0, 0])
        roots, best, before = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        begins, is_used = np.empty(n, np.int64), np.zeros(n, np.uint8)
        for i in range(n):
            roots[i] = _find_document(offsets, pieces[i, 2])
        order = np.argsort(pieces[:, 0], kind="mergesort")
        state[WORK] += n + _chain(pieces, order, roots, own, rules.gap, best, before, begins)
        count, used = 0, np.int64(0)
        for i in np.argsort(-best, kind="mergesort"):
            if is_used[i] or best[i] == 0:
                continue
            stop = _write_chain(pieces, i, before, is_used, rules, out, used)
            if stop > used:
                starts[count] = used
                count, used = count + 1, stop
        starts[count] = used
        if count:
            return count
    return 0


@part
def _load(data, unit, begin, size, step, out):
    """``size`` units from ``begin`` on, forward or, with a ``step`` of -1, backward from before it."""
    for i in range(size):
        at = (begin + i if step > 0 else begin - 1 - i) * unit
        value = np.int64(data[at])
        for k in range(1, unit):
            value |= np.int64(data[at + k]) << (8 * k)
        out[i] = value


@part
def _distance(a, n, b, m, row):
    """The edit distance of ``a[:n]`` and ``b[:m]``; O(n m)."""
    while n > 0 and m > 0 and a[n - 1] == b[m - 1]:
        n, m = n - 1, m - 1
    for j in range(m + 1):
        row[j] = j
    for i in range(n):
        corner, row[0] = row[0], i + 1
        for j in range(m):
            above = row[j + 1]
            row[j + 1] = min(corner + (a[i] != b[j]), above + 1, row[j] + 1)
            corner = above
    return row[m]


@part
def _extend(a, n, b, m, kept, row, found):
    """How far two texts are alike from their begin: units of each, differences and score of the best such stretch."""
    found[0] = found[1] = found[2] = found[3] = 0
    cells = np.int64(0)
    for j in range(m + 1):
        row[j] = j
    for i in range(n):
        corner, row[0] = row[0], i + 1
        highest = kept * (i + 1) - 1000 * row[0]
        for j in range(m):
            above = row[j + 1]
            row[j + 1] = min(corner + (a[i] != b[j]), above + 1, row[j] + 1)
            corner = above
            score = kept * max(i + 1, j + 1) - 1000 * row[j + 1]
            if score > found[3]:
                found[0], found[1], found[2], found[3] = i + 1, j + 1, row[j + 1], score
            highest = max(highest, score)
        cells += m
        if highest < found[3] - 1000 * DROP:
            break
    return cells


@kernel(
    "int64[:, ::1], int64[::1], int64",
    *("int64[::1]", RULES, STRETCHES),
    "int64[::1], int64[:, ::1]",
)
def align_chains(pieces, starts, count, offsets, rules, texts, state, out):
    """Align ``count`` chains of one document, as ``draft_chains`` left them; returns how many passages they make.

    ``out`` (int64[pieces, 8]) gets them, see BEGIN and so on. A chain may make several, or none. O(gap) a unit.
    """
    gap, kept, used = rules.gap, 1000 - rules.similarity, 0
    a, b, row = np.empty(gap, np.int64), np.empty(gap, np.int64), np.empty(gap + 1, np.int64)
    found = np.empty(4, np.int64)
    own = _find_document(offsets, pieces[starts[0], 0])
    for c in range(count):
        first, stop = starts[c], starts[c + 1]
        root = _find_document(offsets, pieces[first, 2])
        own_at, source_at = texts.own[c], texts.source[c]
        head, best, best_last, best_lost = first, np.int64(0), first, np.int64(0)
        total, lost = np.int64(0), np.int64(0)
        at = first
        while at <= stop:
            if at < stop:
                if at > head:
                    end, source_end = pieces[at - 1, 1], pieces[at - 1, 2] + pieces[at - 1, 1] - pieces[at - 1, 0]
                    n, m = pieces[at, 0] - end, pieces[at, 2] - source_end
                    _load(texts.data, texts.unit, end + own_at, n, 1, a)
                    _load(texts.data, texts.unit, source_end + source_at, m, 1, b)
                    differences = _distance(a, n, b, m, row)
                    state[WORK] += n * m
                    total, lost = total + kept * max(n, m) - 1000 * differences, lost + differences
                if at == head or total > 0:
                    total += kept * (pieces[at, 1] - pieces[at, 0])
                    if total > best:
                        best, best_last, best_lost = total, at, lost
                    at += 1
                    continue
            # what began at head is over
            begin, source = pieces[head, 0], pieces[head, 2]
            end = pieces[best_last, 1]
            source_end = pieces[best_last, 2] + end - pieces[best_last, 0]
            room, source_room = offsets[own + 1] - end, offsets[root + 1] - source_end
            if root == own:
                source_room = min(source_room, begin - source_end)
            n, m = min(gap // 2, room), min(gap // 2, source_room)
            _load(texts.data, texts.unit, end + own_at, n, 1, a)
            _load(texts.data, texts.unit, source_end + source_at, m, 1, b)
            state[WORK] += _extend(a, n, b, m, kept, row, found)
            end, source_end = end + found[0], source_end + found[1]
            best_lost, best = best_lost + found[2], best + found[3]
            room, source_room = begin - offsets[own], source - offsets[root]
            if root == own:
                room = min(room, begin - source_end)
            n, m = min(gap // 2, room), min(gap // 2, source_room)
            _load(texts.data, texts.unit, begin + own_at, n, -1, a)
            _load(texts.data, texts.unit, source + source_at, m, -1, b)
            state[WORK] += _extend(a, n, b, m, kept, row, found)
            begin, source = begin - found[0], source - found[1]
            best_lost, best = best_lost + found[2], best + found[3]
            longer = max(end - begin, source_end - source)
            if min(end - begin, source_end - source) >= rules.length and kept * longer >= 1000 * best_lost:
                out[used, BEGIN], out[used, END] = begin, end
                out[used, SOURCE], out[used, SOURCE_END] = source, source_end
                out[used, DIFFERENCES], out[used, SCORE] = best_lost, best
                out[used, FIRST_PIECE], out[used, PIECES] = head, best_last + 1 - head
                used += 1
            head, total, lost, best, best_last, best_lost = at, np.int64(0), np.int64(0), np.int64(0), at, np.int64(0)
            if at == stop:
                break
    return used


@kernel("int64[:, ::1], int64, int64[:, ::1], int64[:, ::1], int64[::1], int64[::1]")
def link_chains(passages, count, pieces, links, state, stays):
    """Choose among the passages of one document, as ``align_chains`` has them, and link those that are chosen.

    Of two that have more than half of the shorter one in common the one with the higher score is chosen; the first of
    equals. ``stays[i]`` is i, or the passage for which i is not chosen. ``links`` (int64[m, 3]) gets begin and end of
    stretches, rising and apart, and how far back each leads, or NOWHERE; at most ``2 * pieces + count`` more of them.
    """
    order = np.argsort(passages[:count, BEGIN], kind="mergesort")
    last = np.int64(-1)
    for i in order:
        stays[i] = i
        if last >= 0:
            shorter = min(passages[i, END] - passages[i, BEGIN], passages[last, END] - passages[last, BEGIN])
            if 2 * (passages[last, END] - passages[i, BEGIN]) > shorter:
                if passages[i, SCORE] <= passages[last, SCORE]:
                    stays[i] = last
                    continue
                stays[last] = i
        last = i
    at, n = np.int64(0), state[LINKED]
    for i in order:
        if stays[i] != i:
            continue
        at = max(at, passages[i, BEGIN])
        for p in range(passages[i, FIRST_PIECE], passages[i, FIRST_PIECE] + passages[i, PIECES]):
            begin, end = max(at, pieces[p, 0]), pieces[p, 1]
            if begin >= end:
                continue
            if begin > at:
                links[n, 0], links[n, 1], links[n, 2] = at, begin, NOWHERE
                n += 1
            links[n, 0], links[n, 1], links[n, 2] = begin, end, pieces[p, 0] - pieces[p, 2]
            n, at = n + 1, end
        if passages[i, END] > at:
            links[n, 0], links[n, 1], links[n, 2] = at, passages[i, END], NOWHERE
            n, at = n + 1, passages[i, END]
    state[LINKED] = n
