"""Pieces of repeated windows, walked in the order of the text and put together to segments with one source each.

Consecutive windows whose first places follow each other make a *stretch*. A stretch goes on with the segment before it
where all its units agree with that one's source. So a passage that was copied whole is one segment, wherever its parts
occurred before. Else it begins a segment: with the same document a few units before as its source, if it agrees there,
so that a text of short period is one segment, and with its first place if not. All this depends on the texts only, and
not on how anchors fell.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.anchors import LONGEST_PERIOD, LOW, MORE
from neardup.native.declare import also, kernel, part, record

FIRST, OWN, OTHER, IGNORED = 1, 2, 3, 4
"""Kinds of windows: the first of its kind in the collection; a later one, of which the first is in the same document,
or in an earlier one, or in another collection that comes first wherever it is; one that stands in a template."""
DONE, FULL = 0, 1
"""Why a walk came back: all pieces are walked; ``out`` is full. Below zero: page -1 - i of the text is not at hand."""
(
    PIECE,
    WINDOW,
    WHY,
    AT_DOCUMENT,
    AT_LOOP,
    STAGE,
    TESTED,
    OPEN,
    DOCUMENT,
    KIND,
    BEGIN,
    LAST,
    SHIFT,
    SOURCE,
    SOURCE_END,
    LEAST,
    MOST,
    DOCUMENTS,
    S_OPEN,
    S_DOCUMENT,
    S_KIND,
    S_BEGIN,
    S_LAST,
    S_SHIFT,
    S_LEAST,
    S_MOST,
    S_DOCUMENTS,
    FOREIGN,
    TEMPLATES,
    TOLD,
    TOLD_BEGIN,
) = range(31)
"""Fields of the state of a walk: where it is; how far the test of a stretch has come; the open segment; the stretch;
the places from which on what stands is of another collection or a template, and of a template (0: there are none);
the document and place that the open segment is said to come from."""
HEADS = 32
"""Where kind, first place, count and documents of each head of a loop begin; behind them the last windows."""
RECENT = HEADS + 4 * LONGEST_PERIOD
"""Where the last windows begin, by their place: each with its first place."""
STATE = RECENT + 2 * LONGEST_PERIOD
S32, BELOW32 = np.uint64(32), np.uint64(0xFFFFFFFF)


class Pages(NamedTuple):
    """A text of which some pages are at hand, or, as its one page, all of it."""

    data: Any
    """uint8."""
    begins: Any
    """int64[pages]: where each page begins in ``data``; -1: it is not at hand."""
    bits: int
    """A page has ``2**bits`` bytes."""


PAGES = record(Pages, "uint8[::1], int64[::1], int64")


@part
def _find_document(offsets, place):
    low, high = 0, offsets.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if offsets[middle] <= place:
            low = middle
        else:
            high = middle
    return low


@part
def _begins_document(offsets, place):
    """Whether a document begins at a place. Windows of one unit on both sides of it are equal to no stretch."""
    return offsets[_find_document(offsets, place)] == place


@part
def _close(state, span, out, used):
    """Write the open segment."""
    if not state[OPEN]:
        return used
    out[used, 0] = state[DOCUMENT]
    out[used, 1] = state[BEGIN]
    out[used, 2] = state[LAST] + span
    out[used, 3] = state[KIND]
    out[used, 4] = state[TOLD]
    out[used, 5] = state[TOLD_BEGIN]
    out[used, 6] = state[LEAST]
    out[used, 7] = state[MOST]
    out[used, 8] = state[DOCUMENTS]
    state[OPEN] = 0
    return used + 1


@part
def _agree(pages, unit, a, b):
    """Whether two units are the same: 1, else 0; or the page that is not at hand, below zero, less one."""
    mask = (1 << pages.bits) - 1
    a, b = a * unit, b * unit
    page_a, page_b = pages.begins[a >> pages.bits], pages.begins[b >> pages.bits]
    if page_a < 0:
        return -1 - (a >> pages.bits)
    if page_b < 0:
        return -1 - (b >> pages.bits)
    for i in range(unit):
        if pages.data[page_a + ((a + i) & mask)] != pages.data[page_b + ((b + i) & mask)]:
            return 0
    return 1


@part
def _test(pages, unit, span, state, first, shift):
    """Whether the windows of the stretch from ``first`` on end as those ``shift`` units before do, as ``_agree``."""
    at = max(first, state[TESTED])
    while at <= state[S_LAST]:
        same = _agree(pages, unit, at + span - 1, at + span - 1 - shift)
        if same <= 0:
            state[TESTED] = at if same < 0 else 0
            return same
        at += 1
    state[TESTED] = 0
    return 1


@part
def _recent_shift(state, from_place):
    """How far before the stretch, in its document, stands the last window that is equal to its first one; else 0.

    Up to LONGEST_PERIOD is looked.
    """
    begin = state[S_BEGIN]
    first = begin - state[S_SHIFT]
    for shift in range(1, min(LONGEST_PERIOD, begin - from_place) + 1):
        at = RECENT + 2 * ((begin - shift) % LONGEST_PERIOD)
        if state[at] == begin - shift + 1 and state[at + 1] == first:
            return shift
    return 0


@part
def _settle(pages, unit, span, offsets, state, out, used):
    """Let the stretch go on with the open segment, or begin one. Returns 0, or why it could not yet."""
    goes_on = (
        state[OPEN]
        and state[LAST] == state[S_BEGIN] - 1
        and state[DOCUMENT] == state[S_DOCUMENT]
        and state[KIND] == state[S_KIND]
    )
    goes_on = goes_on and state[S_LAST] - state[SHIFT] + span <= state[SOURCE_END]
    if goes_on and state[SHIFT] != state[S_SHIFT]:
        goes_on = state[STAGE] == 0
        if goes_on:
            same = _test(pages, unit, span, state, state[S_BEGIN], state[SHIFT])
            if same < 0:
                return same
            goes_on = same > 0
    if goes_on:
        state[LAST] = state[S_LAST]
        state[LEAST] = min(state[LEAST], state[S_LEAST])
        state[MOST] = max(state[MOST], state[S_MOST])
        state[DOCUMENTS] = max(state[DOCUMENTS], state[S_DOCUMENTS])
    else:
        if used[0] == out.shape[0]:
            return FULL
        state[STAGE] = 1  # the open segment is no longer asked
        shift = _recent_shift(state, offsets[state[S_DOCUMENT]]) if state[S_KIND] != FIRST else 0
        if shift:
            same = _test(pages, unit, span, state, state[S_BEGIN] + 1, shift)
            if same < 0:
                return same
            shift = shift if same else 0
        used[0] = _close(state, span, out, used[0])
        document = state[S_DOCUMENT]
        if not shift:
            shift = state[S_SHIFT]
            if state[S_KIND] >= OTHER:
                document = _find_document(offsets, state[S_BEGIN] - shift)
        state[OPEN], state[DOCUMENT], state[KIND] = 1, state[S_DOCUMENT], state[S_KIND]
        state[BEGIN], state[LAST], state[SHIFT] = state[S_BEGIN], state[S_LAST], shift
        state[SOURCE], state[SOURCE_END] = document, offsets[document + 1]
        state[TOLD], state[TOLD_BEGIN] = document, state[BEGIN] - shift
        first = state[S_BEGIN] - state[S_SHIFT]
        if shift != state[S_SHIFT] and state[FOREIGN] and first >= state[FOREIGN]:
            state[TOLD], state[TOLD_BEGIN] = _find_document(offsets, first), first
        state[LEAST], state[MOST], state[DOCUMENTS] = state[S_LEAST], state[S_MOST], state[S_DOCUMENTS]
    for window in range(max(state[S_BEGIN], state[S_LAST] - LONGEST_PERIOD + 1), state[S_LAST] + 1):
        at = RECENT + 2 * (window % LONGEST_PERIOD)
        state[at], state[at + 1] = window + 1, window - state[S_SHIFT]
    state[S_OPEN], state[STAGE], state[TESTED] = 0, 0, 0
    return 0


@kernel(PAGES, "uint64[:, ::1], int64[::1], int64[:, ::1], int64, int64, int64[::1], int64[:, ::1]")
def walk_pieces(pages, pieces, offsets, loops, unit, span, state, out):
    """Put pieces (uint64[n, 4], as ``repeats`` has them, rising by place) together to segments; returns how many.

    ``out`` (int64[m, 9]) gets document, begin, end, kind, source document, begin in the source, least and most places
    of a window, most documents of a window. ``state`` (int64[STATE], zeros at first but for FOREIGN and TEMPLATES)
    says where the walk stands, and by WHY why it came back: call again, with more room or with the page, until it is
    DONE. A stretch and a segment are open then, since what follows may go on with them; when nothing follows,
    ``end_walk`` writes them. Pieces whose windows stand nowhere are heads of loops that do not count.

    A segment stands whole at its source. One of short period whose windows stand in another collection may be longer
    than what stands there: its first window does.

    Linear in the pieces, in the windows of loops and in the units of stretches that change their source.
    """
    used = np.zeros(1, np.int64)
    i = state[PIECE]
    while i < pieces.shape[0]:
        place, more = np.int64(pieces[i, 0] >> np.uint64(MORE)), np.int64(pieces[i, 0] & LOW)
        source = np.int64(pieces[i, 1])
        most, least = np.int64(pieces[i, 2] >> S32), np.int64(pieces[i, 2] & BELOW32)
        documents = np.int64(pieces[i, 3])
        document = state[AT_DOCUMENT]
        while offsets[document + 1] <= place:
            document += 1
        state[AT_DOCUMENT] = document
        kind = FIRST if source == place else (OWN if source >= offsets[document] else OTHER)
        if least == 0:
            kind = 0
        elif state[FOREIGN] and source >= state[FOREIGN]:
            kind = IGNORED if state[TEMPLATES] and source >= state[TEMPLATES] else OTHER
        loop = state[AT_LOOP]
        while loop < loops.shape[0] and loops[loop, 2] < place:
            loop += 1
        state[AT_LOOP] = loop
        windows, head, period = 1, np.int64(0), np.int64(1)
        if loop < loops.shape[0] and loops[loop, 0] <= place < loops[loop, 0] + loops[loop, 1]:
            head, period = loops[loop, 0], loops[loop, 1]
            at = HEADS + 4 * (place - head)
            state[at], state[at + 1] = max(kind, OWN) if kind else 0, source
            state[at + 2], state[at + 3] = most, documents
            if place == head + period - 1:
                windows = loops[loop, 2] - place + 1
        t = state[WINDOW]  # 0: the piece; from 1 on the windows of the loop behind it, one by one
        while t < windows:
            begin = place if t == 0 else place + t
            if t:
                at = HEADS + 4 * ((begin - head) % period)
                kind, source, most, documents = state[at], state[at + 1], state[at + 2], state[at + 3]
                least, more = most, 0
            if kind == 0:
                t += 1
                continue
            is_one = (
                state[S_OPEN]
                and state[S_LAST] == begin - 1
                and state[S_DOCUMENT] == document
                and state[S_KIND] == kind
                and state[S_SHIFT] == begin - source
                and (span > 1 or kind < OTHER or not _begins_document(offsets, source))
            )
            if is_one:
                state[S_LAST] = begin + more
                state[S_LEAST], state[S_MOST] = min(state[S_LEAST], least), max(state[S_MOST], most)
                state[S_DOCUMENTS] = max(state[S_DOCUMENTS], documents)
            else:
                if state[S_OPEN]:
                    why = _settle(pages, unit, span, offsets, state, out, used)
                    if why != 0:
                        state[PIECE], state[WINDOW], state[WHY] = i, t, why
                        return used[0]
                state[S_OPEN], state[S_DOCUMENT], state[S_KIND] = 1, document, kind
                state[S_BEGIN], state[S_LAST], state[S_SHIFT] = begin, begin + more, begin - source
                state[S_LEAST], state[S_MOST], state[S_DOCUMENTS] = least, most, documents
            t += 1
        state[WINDOW] = 0
        i += 1
    state[PIECE], state[WINDOW], state[WHY] = 0, 0, DONE
    return used[0]


@kernel(PAGES, "int64[::1], int64, int64, int64[::1], int64[:, ::1]")
def end_walk(pages, offsets, unit, span, state, out):
    """Write what is open after a walk to ``out``, of two rows; returns how many. Call again until WHY is DONE."""
    used = np.zeros(1, np.int64)
    if state[S_OPEN]:
        why = _settle(pages, unit, span, offsets, state, out, used)
        if why != 0:
            state[WHY] = why
            return used[0]
    state[WHY] = DONE
    return _close(state, span, out, used[0])


@also("read(uint8[::1]), int64[::1], int64[::1], int64[::1]")
@kernel("uint8[::1], int64[::1], int64[::1], int64[::1]")
def count_characters(data, begins, ends, counts):
    """The characters that begin in ``data[begins[i] : ends[i]]`` (UTF-8), into ``counts``."""
    for i in range(begins.size):
        n = 0
        for at in range(begins[i], ends[i]):
            n += np.int64((data[at] & 0xC0) != 0x80)
        counts[i] = n
