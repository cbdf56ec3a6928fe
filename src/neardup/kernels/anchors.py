"""Anchors of windows: from every window of N units a place that is chosen by what the window holds, and by that only.

A unit is a byte, or a number of four bytes that stands for a character or a word. Equal windows choose the same place
inside of them, so wherever two windows are equal, the k units at their anchors are. Consecutive windows mostly choose
one place: there is one anchor for every 35 bytes of prose at N = 100.

The place is that of the mod-minimizer (Groot Koerkamp and Pibiri, WABI 2024): x is where the smallest hash of a gram
stands in the window, of equal ones the last, and the anchor is x mod w behind the window's begin, w = N - k + 1.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._bits import load32, load64, windows64
from neardup.kernels.hashing import hash_bytes
from neardup.native.declare import kernel, part

GRAM = 8
"""Bytes of a gram."""
BY = np.uint64(0x9E3779B97F4A7C15)
"""What the numbers of a gram are multiplied by, one behind the other."""
PLACES = 39
"""Bits of a place: 550 GB of text."""
MORE = 12
"""Bits for the windows of one anchor, and for how far it stands behind the first of them."""
LOW, BITS24 = np.uint64((1 << MORE) - 1), np.uint64(2 * MORE)
S32 = np.uint64(32)
HEAD = np.uint64(1 << 63)
"""Set in an anchor of one window that stands for others, which follow it in a loop."""
LONGEST_PERIOD = 32
LOOP = 8
"""Windows of a loop, at least, and of each period three."""
STEP = 16
BLOCK = 1 << 13
"""Windows whose grams are hashed at a time: they stay in the cache."""


@part
def _hash_grams(data, at, count, unit, gram, salt, by, words, grams):
    """Hash ``count`` grams from unit ``at`` on into ``grams`` (uint32); writes and reads up to eight behind them."""
    if unit == 1:
        for i in range(0, count, 8):
            windows64(data, at + i, words, i)
    else:
        for i in range(count):
            x = np.uint64(0)
            for j in range(gram):
                x = x * BY + np.uint64(load32(data, 4 * (at + i + j)))
            words[i] = x
    for i in range(count):
        x = (words[i] ^ salt) * by
        grams[i] = np.uint32((x ^ (x >> S32)) & np.uint64(0xFFFFFFFF))


@part
def _last_least(grams, begin, size):
    """The last place of the least of ``size`` grams."""
    least = grams[begin]
    for i in range(begin, begin + size):
        least = min(least, grams[i])
    at = begin + size - 1
    while grams[at] != least:
        at -= 1
    return at


@part
def _next_least(grams, begin, stop, least):
    """The first place from ``begin`` to below ``stop`` of a gram that is not above ``least``, else ``stop``."""
    at = begin
    while at + STEP <= stop:
        low = grams[at]
        for i in range(1, STEP):
            low = min(low, grams[at + i])
        if low <= least:
            break
        at += STEP
    while at < stop and grams[at] > least:
        at += 1
    return at


@part
def _write_anchor(data, unit, k, key, first, held, last, flag, keys, anchors, found):
    """Write the anchor ``held`` of the windows ``first`` to ``last``."""
    keys[found] = hash_bytes(data, held * unit, k * unit, key)
    packed = (np.uint64(held - first) << np.uint64(MORE)) | np.uint64(last - first)
    anchors[found] = (np.uint64(first) << BITS24) | packed | flag
    return found + 1


@part
def _end_of_loop(data, unit, begin, period, stop, least):
    """Up to where the units from ``begin`` on have this period, at least ``least`` units; else ``begin``."""
    if begin + least > stop:
        return begin
    size = (least - period) * unit
    at, to = begin * unit, (begin + period) * unit
    if load64(data, at + size - 8) != load64(data, to + size - 8) or load64(data, at) != load64(data, to):
        return begin
    i, most = 0, (stop - begin - period) * unit
    while i + 8 <= most and load64(data, at + i) == load64(data, to + i):
        i += 8
    while i < most and data[at + i] == data[to + i]:
        i += 1
    return begin + period + i // unit


@kernel(
    "read(uint8[::1]), int64[::1], int64, int64, int64, int64, UniTuple(uint64, 4), "
    "uint64[::1], uint64[::1], int64[:, ::1]"
)
def select_anchors(data, offsets, unit, span, gram, k, key, keys, anchors, loops):
    """The anchors of the windows of ``span`` units of each document; returns how many there are, and how many loops.

    ``offsets`` are places of units in ``data`` (uint8), which has 64 bytes more. Anchor i has in ``keys`` the hash of
    its k units, and in ``anchors`` the place of its first window (39 bits, below HEAD), how far it stands behind that,
    and its windows less one (12 bits each). They rise by the first window; windows do not reach from one document
    into the next. ``gram`` is in units: GRAM, if they are bytes.

    A stretch of short period is a loop (int64[m, 3]: place of its first window, period, place of its last): the
    windows of the first period have an anchor each, with HEAD, and stand for all that follow. Every other window has
    one anchor.

    Loop: grams are hashed eight at a time; then from event to event: the smallest gram leaves the window, a smaller one
    enters, or the anchor is reached. About 2 ns a byte at N = 100. Memory: 12 bytes a window of a block.
    """
    width = span - gram + 1
    reach = span - k + 1
    block = max(BLOCK, 4 * width)
    words = np.empty(block + width + 16, np.uint64)
    grams = np.empty(block + width + 16, np.uint32)
    found, looped = 0, 0
    none = np.uint64(0)
    for d in range(offsets.size - 1):
        begin, stop = offsets[d], offsets[d + 1]
        last = stop - span
        first, held = begin, np.int64(-1)  # the windows that wait to be written: all of one anchor
        base, barren = begin, begin
        while base <= last:
            n = min(block, last - base + 1)
            _hash_grams(data, base, n + width - 1, unit, gram, key[0], key[1], words, grams)
            p, after = 0, base + n
            least_at = _last_least(grams, 0, width)
            while p < n:
                least = grams[least_at]
                back = (least_at - p) % reach
                anchor = base + p + back
                if anchor != held:
                    if held >= 0:
                        found = _write_anchor(data, unit, k, key, first, held, base + p - 1, none, keys, anchors, found)
                    first, held = base + p, anchor
                until = min(n, p + back + 1)
                at = _next_least(grams, p + width, min(until, n - 1) + width, least)
                if at == min(until, n - 1) + width:
                    p = until
                    if p < n and least_at < p:
                        least_at = _last_least(grams, p, width)
                    continue
                period = at - least_at
                p, least_at = at - width + 1, at
                if grams[at] < least or period > LONGEST_PERIOD or base + p < barren or p + period > n:
                    continue
                least_size = span + max(LOOP, 3 * period)
                end = _end_of_loop(data, unit, base + p, period, stop, least_size)
                if end < base + p + least_size:
                    barren = max(barren, end - period)
                    continue
                found = _write_anchor(data, unit, k, key, first, held, base + p - 1, none, keys, anchors, found)
                for i in range(p, p + period):
                    held = base + i + (_last_least(grams, i, width) - i) % reach
                    found = _write_anchor(data, unit, k, key, base + i, held, base + i, HEAD, keys, anchors, found)
                held = np.int64(-1)
                loops[looped, 0], loops[looped, 1], loops[looped, 2] = base + p, period, end - span
                looped += 1
                after = end - span + 1
                break
            base = after
        if held >= 0:
            found = _write_anchor(data, unit, k, key, first, held, last, none, keys, anchors, found)
    return found, looped


@kernel("uint64[::1], uint64[::1], uint64, int64, int64[::1], uint64[:, ::1]")
def spread_anchors(keys, anchors, ahead, shift, starts, out):
    """Write keys and anchors to ``out`` (uint64[n, 2]) by part, the bits of the key from ``shift`` on, in order.

    Part p begins at ``starts[p]`` (int64[parts + 1]). ``ahead`` is added to the place of each first window.
    """
    parts = starts.size - 1
    starts[:] = 0
    by = np.uint64(shift)
    for i in range(keys.size):
        starts[np.int64(keys[i] >> by) + 1] += 1
    for p in range(parts):
        starts[p + 1] += starts[p]
    place = starts[:parts].copy()
    for i in range(keys.size):
        p = np.int64(keys[i] >> by)
        out[place[p], 0] = keys[i]
        out[place[p], 1] = anchors[i] + (ahead << BITS24)
        place[p] += 1
