"""A sample of the documents of a collection, drawn by their content."""

from __future__ import annotations

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME
from neardup.engine.reading.collection import Collection
from neardup.types import I32, I64, U64


def draw(collection: Collection, weight: I32, *, documents: int, seed: int) -> I64:
    """Rows of ``documents`` distinct texts, or of all if there are fewer, rising: those of smallest hash.

    The hash is of the text and the seed, so the order of the input does not matter. Documents without a shingle are
    left out. About 5 ns a document: most of them have a larger hash than the last of those that are held.
    """
    held = np.empty((0, 3), dtype=np.uint64)
    rows = np.empty(0, dtype=np.int64)
    bound = ~np.uint64(0)
    if documents == 0:
        return rows
    for first, prints in collection.prints.scan(ROWS_AT_A_TIME):
        hashes = hashes_of(prints, seed)
        near = np.flatnonzero(hashes <= bound)
        inside = near[weight[first + near] != 0]
        if inside.size > documents:  # at first, when all are near
            last = np.partition(hashes[inside], documents - 1)[documents - 1]
            inside = inside[hashes[inside] <= last]
        keys = np.column_stack((hashes[inside], prints[inside]))
        held, rows = np.concatenate((held, keys)), np.concatenate((rows, inside + first))
        if rows.size > documents:
            order = np.lexsort((held[:, 2], held[:, 1], held[:, 0]))[:documents]
            held, rows = held[order], rows[order]
            bound = held[-1, 0]
    return np.sort(rows)


def hashes_of(prints: U64, seed: int) -> U64:
    """A hash of the 128 bits of a text and the seed (the finaliser of SplitMix64, twice)."""
    start = np.uint64((seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & 0xFFFFFFFFFFFFFFFF)
    hashes = prints[:, 0] ^ start
    _mix(hashes)
    hashes += prints[:, 1]
    _mix(hashes)
    return hashes


def _mix(x: U64) -> None:
    """Mix numbers in place."""
    room = x >> np.uint64(30)
    x ^= room
    x *= np.uint64(0xBF58476D1CE4E5B9)
    np.right_shift(x, np.uint64(27), out=room)
    x ^= room
    x *= np.uint64(0x94D049BB133111EB)
    np.right_shift(x, np.uint64(31), out=room)
    x ^= room
