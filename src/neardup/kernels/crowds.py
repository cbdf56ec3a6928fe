"""Windows around the anchors of a key that stands at very many places, one by one.

What ``kernels.repeats`` does for a group whose anchors fit into memory with what it notes of them, this does for a
stream of them: each window is looked up by its hash, and what is kept grows with the distinct windows, not with the
places. Whoever calls compares the texts of windows that were taken for one.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.groups import same_bytes
from neardup.kernels.hashing import hash_bytes
from neardup.native.declare import kernel

FIRST, COUNT, DOCUMENTS, LAST = 0, 1, 2, 3
"""What is known of a distinct window: its first place; its places; the documents that hold it; the last of these."""


@kernel("uint8[::1], int64[::1], int64[::1], int64[::1], int64, int64, UniTuple(uint64, 4), uint64[:, ::1]")
def hash_windows(data, at, places, more, unit, span, key, out):
    """Hashes and places of runs of windows, into ``out`` (uint64[m, 2]).

    Run i begins at place ``places[i]``, which is ``at[i]`` in ``data``, and has ``more[i]`` windows more. Cost: the
    units of each window.
    """
    used = 0
    for i in range(at.size):
        for window in range(more[i] + 1):
            out[used, 0] = hash_bytes(data, (at[i] + window) * unit, span * unit, key)
            out[used, 1] = np.uint64(places[i] + window)
            used += 1


@kernel(
    "uint64[:, ::1], int64[::1], int64[::1], int64[::1], uint64[::1], int64[:, ::1], int64, int64[::1]",
)
def tally_windows(windows, documents, weights, cells, hashes, facts, known, of):
    """Number windows by their hashes, and count the places and documents of each; returns how many are known then.

    ``windows`` (uint64[n, 2]: hash, place) rise by place within each hash, and so they come from call to call. Window
    i gets its number in ``of[i]`` and stands for ``weights[i]`` places; with a weight of 0 it is only looked up.
    ``cells`` (int64, a power of two, -1 where free) hold numbers by hash, as ``vocabulary.place_words`` puts them;
    number w has ``hashes[w]`` and ``facts[w]`` (FIRST to LAST). Both have room for n more, and half of the cells stay
    free.
    """
    mask = np.uint64(cells.size - 1)
    for i in range(windows.shape[0]):
        hashed = windows[i, 0]
        cell = np.int64(hashed & mask)
        while cells[cell] >= 0 and hashes[cells[cell]] != hashed:
            cell = np.int64((np.uint64(cell) + np.uint64(1)) & mask)
        number = cells[cell]
        if number < 0:
            number = known
            known += 1
            cells[cell], hashes[number] = number, hashed
            facts[number, FIRST] = np.int64(windows[i, 1])
            facts[number, COUNT], facts[number, DOCUMENTS], facts[number, LAST] = 0, 0, -1
        of[i] = number
        if weights[i]:
            facts[number, COUNT] += weights[i]
            if facts[number, LAST] != documents[i]:
                facts[number, LAST] = documents[i]
                facts[number, DOCUMENTS] += 1
    return known


@kernel("uint8[::1], int64[::1], uint8[::1], int64[::1], int64")
def all_same(data, at, others, to, size):
    """Whether ``size`` bytes of ``data`` at each of ``at`` are those of ``others`` at the same of ``to``."""
    for i in range(at.size):
        if not same_bytes(data, at[i], others, to[i], size):
            return False
    return True
