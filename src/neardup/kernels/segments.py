"""Pieces of repeated windows, walked in the order of the text and put together to segments with one source each.

A segment stays with its source while the units there agree, so that a stretch of short period is one segment, and a
passage that was copied whole is one wherever its parts occurred before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels._jit import kernel, part, record
from neardup.kernels.anchors import LONGEST_PERIOD, LOW, MORE

FIRST, OWN, OTHER = 1, 2, 3
"""Kinds of windows: the first of its kind in the collection; a later one, of which the first is in the same document,
or in an earlier one."""
DONE, FULL = 0, 1
"""Why a walk came back: all pieces are walked; ``out`` is full. Below zero: page -1 - i of the text is not at hand."""
(
    PIECE,
    WINDOW,
    WHY,
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
    AT_DOCUMENT,
    AT_LOOP,
) = range(16)
HEADS = 16
"""Fields of the state of a walk, and where the kinds, counts and documents of the heads of a loop begin."""
STATE = HEADS + 3 * LONGEST_PERIOD
S32, BELOW32 = np.uint64(32), np.uint64(0xFFFFFFFF)


class Pages(NamedTuple):
    """A text of which some pages are at hand, or, as its one page, all of it."""

    data: Any
    """uint8."""
    begins: Any
    """int64[pages]: where each page begins in ``data``; -1: it is not at hand."""
    bits: int
    """A page has ``2**bits`` bytes."""


PAGES = record(Pages, "read(uint8[::1]), read(int64[::1]), int64")


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
def _close(state, span, out, used):
    """Write the open segment."""
    if not state[OPEN]:
        return used
    out[used, 0] = state[DOCUMENT]
    out[used, 1] = state[BEGIN]
    out[used, 2] = state[LAST] + span
    out[used, 3] = state[KIND]
    out[used, 4] = state[SOURCE]
    out[used, 5] = state[BEGIN] - state[SHIFT]
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


@kernel(PAGES, "read(uint64[:, ::1]), read(int64[::1]), read(int64[:, ::1]), int64, int64, int64[::1], int64[:, ::1]")
def walk_pieces(pages, pieces, offsets, loops, unit, span, state, out):
    """Put pieces (uint64[n, 3], as ``repeats`` has them, rising by place) together to segments; returns how many.

    ``out`` (int64[m, 9]) gets document, begin, end, kind, source document, begin in the source, least and most places
    of a window, most documents of a window. ``state`` (int64[STATE], zeros at first) says where the walk stands, and by
    WHY why it came back: call again, with more room or with the page, until it is DONE. The last segment is
    open then, since what follows may go on with it; ``close_segment`` writes it.

    Linear in the pieces and in the windows of loops.
    """
    used = 0
    i = state[PIECE]
    while i < pieces.shape[0]:
        place, more = np.int64(pieces[i, 0] >> np.uint64(MORE)), np.int64(pieces[i, 0] & LOW)
        source = np.int64(pieces[i, 1])
        count, documents = np.int64(pieces[i, 2] >> S32), np.int64(pieces[i, 2] & BELOW32)
        document = state[AT_DOCUMENT]
        while offsets[document + 1] <= place:
            document += 1
        state[AT_DOCUMENT] = document
        kind = FIRST if source == place else (OWN if source >= offsets[document] else OTHER)
        loop = state[AT_LOOP]
        while loop < loops.shape[0] and loops[loop, 2] < place:
            loop += 1
        state[AT_LOOP] = loop
        total, head, period = more + 1, np.int64(0), np.int64(1)
        if loop < loops.shape[0] and loops[loop, 0] <= place < loops[loop, 0] + loops[loop, 1]:
            head, period = loops[loop, 0], loops[loop, 1]
            at = HEADS + 3 * (place - head)
            state[at], state[at + 1], state[at + 2] = max(kind, OWN), count, documents
            if place == head + period - 1:
                total = loops[loop, 2] - place + 1
        t = state[WINDOW]
        while t < total:
            window, shift = place + t, place - source
            if t > more:
                at = HEADS + 3 * ((window - head) % period)
                kind, count, documents, shift = state[at], state[at + 1], state[at + 2], period
            goes_on = 0
            if (
                state[OPEN]
                and state[LAST] == window - 1
                and state[DOCUMENT] == document
                and state[KIND] == kind
            ):
                if state[SHIFT] == shift:
                    goes_on = 1 if t > more else more + 1 - t
                elif window - state[SHIFT] + span <= state[SOURCE_END]:
                    goes_on = _agree(pages, unit, window + span - 1, window + span - 1 - state[SHIFT])
                    if goes_on < 0:
                        state[PIECE], state[WINDOW], state[WHY] = i, t, goes_on
                        return used
            if goes_on:
                state[LAST] += goes_on
                state[LEAST], state[MOST] = min(state[LEAST], count), max(state[MOST], count)
                state[DOCUMENTS] = max(state[DOCUMENTS], documents)
                t += goes_on
                continue
            if used == out.shape[0]:
                state[PIECE], state[WINDOW], state[WHY] = i, t, FULL
                return used
            used = _close(state, span, out, used)
            from_document = document if kind != OTHER or t > more else _find_document(offsets, window - shift)
            state[OPEN], state[DOCUMENT], state[KIND] = 1, document, kind
            state[BEGIN], state[LAST], state[SHIFT] = window, window, shift
            state[SOURCE], state[SOURCE_END] = from_document, offsets[from_document + 1]
            state[LEAST], state[MOST], state[DOCUMENTS] = count, count, documents
            t += 1
        state[WINDOW] = 0
        i += 1
    state[PIECE], state[WINDOW], state[WHY] = 0, 0, DONE
    return used


@kernel("int64, int64[::1], int64[:, ::1]")
def close_segment(span, state, out):
    """Write the segment that is open after a walk, if one is; returns how many."""
    return _close(state, span, out, 0)


@kernel("read(uint8[::1]), read(int64[::1]), read(int64[::1]), int64[::1]")
def count_characters(data, begins, ends, counts):
    """The characters that begin in ``data[begins[i] : ends[i]]`` (UTF-8), into ``counts``."""
    for i in range(begins.size):
        n = 0
        for at in range(begins[i], ends[i]):
            n += np.int64((data[at] & 0xC0) != 0x80)
        counts[i] = n
