"""Pieces of an open file, each read to its place.

A run that reads its candidates again, or some rows of a column on disk, asks for a hundred thousand pieces at a time.
A call from Python takes 5 microseconds for each beside the one that the system takes; so many are read in one call.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from neardup.kernels._bits import load64, pread, store64
from neardup.native.declare import kernel

NEAR = 4096
"""Bytes between two pieces that are cheaper to read than to jump over: a page."""
STAGE = 1 << 17
"""Bytes read at a time where pieces are near to each other."""


def _with_pread(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel where the platform has ``pread``. Windows has none: there nothing is read, as of a file cut short."""
    made = kernel("int64, int64[::1], int64[::1], uint8[::1], int64[::1]")
    return made(function) if hasattr(os, "pread") else lambda fd, begins, sizes, out, places: 0


@_with_pread
def read_pieces(fd, begins, sizes, out, places):
    """Read ``sizes[i]`` bytes from ``begins[i]`` of a file to ``out`` (uint8) at ``places[i]``; how many it did.

    Pieces rise and do not overlap, in the file and in ``out``. It stops at the first that cannot be read whole: whoever
    reads that by other means is told why.
    """
    stage = np.empty(STAGE + 8, np.uint8)
    stage_at, out_at = stage.ctypes.data, out.ctypes.data
    i = 0
    while i < begins.size:
        begin = begins[i]
        end = begin + sizes[i]
        j = i + 1
        touching = True
        while j < begins.size:
            following = begins[j] + sizes[j]
            joins = begins[j] == end and places[j] == places[i] + end - begin
            if not (touching and joins):
                if begins[j] - end > NEAR or following - begin > STAGE:
                    break
                touching = False
            end = following
            j += 1
        into = out_at + places[i] if touching else stage_at
        done = 0
        while done < end - begin:
            got = pread(fd, into + done, end - begin - done, begin + done)
            if got <= 0:
                return i
            done += got
        if not touching:
            for p in range(i, j):
                at, to, size = begins[p] - begin, places[p], sizes[p]
                whole = size & ~7
                for k in range(0, whole, 8):
                    store64(out, to + k, load64(stage, at + k))
                for k in range(whole, size):
                    out[to + k] = stage[at + k]
        i = j
    return i


@kernel("read(uint8[::1]), int64[::1], int64[::1], uint8[::1], int64[::1]")
def copy_pieces(data, begins, sizes, out, places):
    """Copy ``sizes[i]`` bytes of ``data`` from ``begins[i]`` on to ``out`` at ``places[i]``.

    No byte outside of them is touched.
    """
    for i in range(begins.size):
        at, to, size = begins[i], places[i], sizes[i]
        whole = size & ~7
        for k in range(0, whole, 8):
            store64(out, to + k, load64(data, at + k))
        for k in range(whole, size):
            out[to + k] = data[at + k]
