"""Crowds: anchors of one key that are too many to be grouped in memory.

All their windows are told apart one by one. They are spread by hash, and then those of one part are counted in the
order of the text, with what is known of each distinct window in memory, and the places outside of it. Linear in the
windows. Two windows of one hash have their texts compared: should these differ, the part is hashed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from neardup.cutting import cut
from neardup.engine.repeats.around import Around, places_of
from neardup.engine.repeats.units import Key, private_key
from neardup.engine.space import Space
from neardup.kernels import anchors as anchoring
from neardup.kernels import crowds, repeats, vocabulary
from neardup.types import I64, U64

MOST_BITS = 9
"""Of a hash, for the parts of windows, at most."""
CROWD_SHARE = 0.05
"""Of the memory for data, windows that wait to be counted."""
WINDOWS = 4
"""Windows that take as much memory as an anchor that is grouped."""


def crowd_pieces(
    rows: Iterator[U64], count: int, around: Around, key: Key, *, most: int, space: Space
) -> Iterator[U64]:
    """The pieces of ``count`` anchors of one key (blocks of uint64[n, 2], by place), each of one window.

    ``most``: anchors for which there is memory at a time.
    """
    span, k = around.window.span, around.window.k
    bits = max(1, min(MOST_BITS, (count * (span - k + 1) // (WINDOWS * most)).bit_length()))
    windows = space.partitions("windows", width=2, parts=1 << bits, share=CROWD_SHARE)
    for block in rows:
        more = (block[:, 1] & anchoring.LOW).astype(np.int64)
        for some in cut(more + 1, max(WINDOWS * most, 1 << anchoring.MORE)):
            hashed = _hashed(places_of(block[some]), more[some], around, key)
            spread = np.empty_like(hashed)
            starts = np.empty(windows.parts + 1, dtype=np.int64)
            hashes, places = (hashed[:, i].copy() for i in (0, 1))
            anchoring.spread_anchors(hashes, places, np.uint64(0), 64 - bits, starts, spread)
            windows.add(spread, starts)
    for part in np.flatnonzero(windows.sizes).tolist():
        yield from _counted(partial(windows.scan, part, WINDOWS * most), around)
    windows.drop()


def _hashed(places: I64, more: I64, around: Around, key: Key) -> U64:
    """uint64[m, 2]: hash and place of the window at each place, and of so many more behind it."""
    window = around.window
    data, at = around.text.around(places, more + window.span)
    found = np.empty((int(more.sum()) + more.size, 2), dtype=np.uint64)
    crowds.hash_windows(data, at, places, more, window.unit, window.span, key, found)
    return found


def _counted(blocks: Callable[[], Iterator[U64]], around: Around) -> Iterator[U64]:
    """The pieces of windows (hash and place, by place), of which all that are equal are there."""
    known = _Known()
    for windows in blocks():
        places = windows[:, 1].astype(np.int64)
        of = known.number(windows, around.documents(places), around.weights(places))
        if not _are_same(places, known.facts[of, crowds.FIRST], around):
            yield from _counted(partial(_again, blocks, around, private_key()), around)
            return
    for windows in blocks():
        nothing = np.zeros(windows.shape[0], dtype=np.int64)
        facts = known.facts[known.number(windows, nothing, nothing)]
        is_repeated = facts[:, crowds.COUNT] > 1
        first, count, documents, _ = facts[is_repeated].astype(np.uint64).T
        count = np.minimum(count, np.uint64(repeats.FULL))
        place = windows[is_repeated, 1] << np.uint64(anchoring.MORE)
        yield np.stack([place, first, count << repeats.BITS32 | count, documents], axis=1)


def _again(blocks: Callable[[], Iterator[U64]], around: Around, key: Key) -> Iterator[U64]:
    """The same windows with other hashes."""
    for windows in blocks():
        places = windows[:, 1].astype(np.int64)
        yield _hashed(places, np.zeros_like(places), around, key)


def _are_same(places: I64, firsts: I64, around: Around) -> bool:
    """Whether the windows at some places (rising) are those at others."""
    others = np.flatnonzero(places != firsts)
    if not others.size:
        return True
    span, unit = around.window.span, around.window.unit
    places, (rising, back) = places[others], np.unique(firsts[others], return_inverse=True)
    data, at = around.text.around(places, np.full(places.size, span))
    before, to = around.text.around(rising, np.full(rising.size, span))
    return bool(crowds.all_same(data, at * unit, before, to[back] * unit, span * unit))


class _Known:
    """The distinct windows of a part, by hash."""

    def __init__(self) -> None:
        self._count = 0
        self._cells: I64 = np.full(64, -1, dtype=np.int64)
        self._hashes: U64 = np.empty(0, dtype=np.uint64)
        self.facts: I64 = np.empty((0, 4), dtype=np.int64)
        """int64[n, 4]: of each window, by its number, as ``kernels.crowds`` says."""

    def number(self, windows: U64, documents: I64, weights: I64) -> I64:
        """int64[m]: the number of each window; weights and documents are counted."""
        need = self._count + windows.shape[0]
        if need > self._hashes.size:
            hashes, facts = np.empty(need + need // 2, dtype=np.uint64), np.empty((need + need // 2, 4), dtype=np.int64)
            hashes[: self._count], facts[: self._count] = self._hashes[: self._count], self.facts[: self._count]
            self._hashes, self.facts = hashes, facts
        if 2 * need > self._cells.size:
            self._cells = np.full(1 << (2 * need).bit_length(), -1, dtype=np.int64)
            vocabulary.place_words(self._hashes[: self._count], self._cells)
        of = np.empty(windows.shape[0], dtype=np.int64)
        self._count = crowds.tally_windows(
            windows, documents, weights, self._cells, self._hashes, self.facts, self._count, of
        )
        return of
