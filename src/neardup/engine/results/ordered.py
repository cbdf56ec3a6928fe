"""The pairs that a table lists, in its order: of the input, or the most similar first, and of these the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME
from neardup.engine.space import Space
from neardup.spool import Sorter
from neardup.types import U64, Pairs

_PART = 0.1
"""Of the memory for data, what pairs may take while they are put in order."""
_HELD = 64
"""Bytes of memory for each of the most similar pairs that are held: twice as many are gathered, and put in order."""


def ordered_pairs(
    pieces: Iterable[Pairs], n: int, space: Space, *, by_similarity: bool, top: int | None
) -> Iterator[Pairs]:
    """Pairs of rows below ``n``, given in the order of the input, as a table lists them, some at a time.

    ``by_similarity``: the most similar first, of equals the first of the input. ``top``: the so many most similar ones
    only, in this order or in that of the input. All pieces are taken before the first is given, unless nothing is to
    be done. Memory: a tenth of that for data; more is sorted in files. O(pairs log pairs), and for few of them
    O(pairs).
    """
    if top is None and not by_similarity:
        yield from pieces
        return
    # Keys rise as similarities fall, because the bits of floats from 0 on rise with them.
    keyed = ((~np.ascontiguousarray(piece.similarity).view(np.uint64), _packed(piece, n)) for piece in pieces)
    if top is not None and top * _HELD <= space.budget.share(_PART):
        chosen: Iterable[tuple[U64, U64]] = [_most_similar(keyed, top)]
    else:
        chosen = _first(_sorted("by-similarity", keyed, space), top)
    if not by_similarity:
        chosen = ((pair, key) for key, pair in chosen)
        chosen = ((key, pair) for pair, key in _sorted("by-input", chosen, space))
    for keys, pairs in chosen:
        for start in range(0, keys.size, ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            left, right = np.divmod(pairs[part], np.uint64(n))
            yield Pairs(left.astype(np.int64), right.astype(np.int64), (~keys[part]).view(np.float64))


def _packed(piece: Pairs, n: int) -> U64:
    return piece.left.astype(np.uint64) * np.uint64(n) + piece.right.astype(np.uint64)


def _most_similar(keyed: Iterable[tuple[U64, U64]], top: int) -> tuple[U64, U64]:
    """The first ``top`` by key, of equal keys those that came first, in order; at most twice as many are held."""
    held = np.empty(0, np.uint64), np.empty(0, np.uint64)
    waiting, count = [held], 0
    for keys, pairs in keyed:
        if held[0].size == top:  # what is as similar as the last one comes too late
            better = keys < held[0][-1]
            keys, pairs = keys[better], pairs[better]
        waiting.append((keys, pairs))
        count += keys.size
        if count > top + ROWS_AT_A_TIME:
            held, count = _best(waiting, top), 0
            waiting = [held]
    return _best(waiting, top)


def _best(blocks: list[tuple[U64, U64]], top: int) -> tuple[U64, U64]:
    keys, pairs = (np.concatenate(column) for column in zip(*blocks, strict=True))
    order = np.argsort(keys, kind="stable")[:top]
    return keys[order], pairs[order]


def _sorted(name: str, keyed: Iterable[tuple[U64, U64]], space: Space) -> Iterator[tuple[U64, U64]]:
    sorter: Sorter = space.sorter(name, payload=np.dtype(np.uint64), part=_PART)
    sorter.drop()  # of an interrupted run
    for keys, data in keyed:
        sorter.add(keys, data)
    try:
        for keys, payload in sorter.merged(ROWS_AT_A_TIME, unique=False):
            assert payload is not None
            yield keys, payload
    finally:  # where only the first are taken too
        sorter.drop()


def _first(blocks: Iterable[tuple[U64, U64]], top: int | None) -> Iterator[tuple[U64, U64]]:
    left = top
    for keys, pairs in blocks:
        if left is not None:
            keys, pairs = keys[:left], pairs[:left]
            left -= keys.size
        yield keys, pairs
        if left == 0:
            return
