"""The exact join of shingle sets: all pairs of at least a threshold, none missed.

Prefix filter over rare-first shingles, size filter, the positional filter at the end of both prefixes, early-stopping
merge: AllPairs (Bayardo, Ma, Srikant 2007) and PPJoin (Xiao, Wang, Lin, Yu 2008), of whose filters these are the ones
that pay (Mann, Augsten, Bouros: An Empirical Evaluation of Set Similarity Join Techniques, 2016, section 5). Before
the join, a document is dropped when more of its shingles are its own than a partner may lack.

Here: counting how often shingles are met, dropping documents, one join of sets that are in memory. Who fetches texts,
and how a collection larger than memory is cut into blocks, is in ``pipeline.exact``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import joining, verify
from neardup.stages.shingle import Hasher
from neardup.types import F64, I64, U8, U32, U64, Documents

__all__ = ["Cells", "Index", "Joined", "Occurrences", "Rarity", "SetBlock", "cells", "pack", "survivors"]

PART_CELLS = 18
"""Binary logarithm of the cells that are counted at a time: 512 kB of the table, which a processor's cache holds."""
SMALL_BITS = 24
"""Binary logarithm of the cells of a small table."""
ROOM = 1 << 14
"""Pairs that a probe has room for at first."""

Table = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells that the shingles of some documents fall into, sorted by part of the table."""

    values: U32
    starts: I64
    """int64[parts + 1] into ``values``."""
    side: int
    """1, 2 or, for both, 3: the side of the join that the documents are on."""


@dataclass(frozen=True, slots=True)
class Rarity:
    """How rare shingles are: the class of each cell."""

    classes: U8
    """uint8[2**bits]: 0 or 1 where no other document can share the shingle, else rising with the times it was met."""
    bits: int


def _part_bits(bits: int) -> int:
    return max(0, bits - PART_CELLS)


def cells(documents: Documents, docs: I64, hasher: Hasher, *, bits: int, side: int, raw: U32, values: U32) -> Cells:
    """Cells of all shingles of ``docs`` (indices into the block) in a table of ``2**bits``; ``bits`` at most 32.

    ``raw`` and ``values`` are room for all of them; the result is in ``values``.
    """
    starts = np.empty((1 << _part_bits(bits)) + 1, dtype=np.int64)
    joining.cells_of(*_hashing(hasher, documents), docs, bits, _part_bits(bits), raw, starts, values)
    return Cells(values[: starts[-1]], starts, side)


class Occurrences:
    """A table of how often each cell was met: up to 255 times, in a small table up to 65,535 times.

    1 byte a cell, 2 where two sides are kept apart. What is met more often than can be counted is behind everything
    else in the order of shingles, and rarely comes into a prefix where there are many shingles.
    """

    def __init__(self, bits: int, *, is_across: bool) -> None:
        """All 0.

        Args:
            bits: binary logarithm of the cells.
            is_across: pairs lie across two sides only.
        """
        self.bits = bits
        self.parts = 1 << _part_bits(bits)
        self._table: Table = np.zeros(1 << bits, dtype=np.uint16 if bits <= SMALL_BITS else np.uint8)
        self._sides: U8 = np.zeros((1 << bits) if is_across else 0, dtype=np.uint8)

    def count(self, met: Sequence[Cells], first: int, last: int) -> None:
        """Count the cells of the parts ``first`` to ``last``; other threads may count other parts meanwhile."""
        for part in range(first, last):
            for some in met:
                inside = some.values[some.starts[part] : some.starts[part + 1]]
                joining.count_cells(
                    inside, np.uint8(some.side), np.iinfo(self._table.dtype).max, self._table, self._sides
                )

    def rarity(self) -> Rarity:
        """Classes from counts; the table is used up.

        A cell that was met once holds a shingle that one document has, and one met on one side only, where pairs lie
        across, is as good as that.
        """
        classes: U8 = _CLASS_OF[self._table] if self._table.dtype == np.uint16 else self._table
        if self._sides.size:
            classes[self._sides != 3] = 0
        self._table, self._sides = self._table[:0], self._sides[:0]
        return Rarity(classes, self.bits)


def _class_of() -> U8:
    """Class of each count up to 65,535: itself up to 128, then 14 to each doubling."""
    count = np.arange(1 << 16)
    log = np.log2(np.maximum(count, 128) / 128)
    return np.where(count <= 128, count, 128 + np.ceil(14 * log)).astype(np.uint8)


_CLASS_OF = _class_of()


def survivors(documents: Documents, docs: I64, counts: I64, hasher: Hasher, rarity: Rarity, threshold: float) -> Any:
    """bool[m]: which of ``docs`` could have a partner of at least ``threshold``; never a false no."""
    alive = np.empty(docs.size, dtype=np.bool_)
    joining.survivors(*_hashing(hasher, documents), docs, counts, rarity.classes, rarity.bits, threshold, alive)
    return alive


def pack(sets: U64, starts: I64, sizes: I64, rarity: Rarity, threshold: float, out: U64) -> int:
    """Move sets that could have a partner to the front of ``out`` (empty: only sizes are wanted), the rest to size 0.

    ``starts`` and ``sizes`` are changed. Returns the shingles kept.
    """
    return int(joining.pack(sets, starts, sizes, rarity.classes, rarity.bits, threshold, out))


def _hashing(hasher: Hasher, documents: Documents) -> tuple[Any, ...]:
    return hasher.kind, hasher.k, hasher.key, documents.data, documents.offsets, hasher.letters


@dataclass(frozen=True, slots=True)
class SetBlock:
    """Shingle sets in memory, in rising order of size; behind the first ``members`` another run of rising sizes."""

    sets: U64
    starts: I64
    sizes: I64
    sides: U8
    """1, 2 or 3; a pair needs both sides. 3 for all where any two may pair."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Pairs of places in a block, ``left`` before ``right``."""

    left: I64
    right: I64
    similarity: F64
    met: int
    """Pairs that shared a shingle of their prefixes."""
    counted: int
    """Of these, pairs that were counted in full."""


class Index:
    """The first ``members`` sets of a block, ready to be probed with any set of the block."""

    def __init__(self, block: SetBlock, members: int, rarity: Rarity, threshold: float) -> None:
        """Choose prefixes and build the posting lists. O(shingles); the sets are only read."""
        n = block.sizes.size
        self.block, self.members, self.threshold = block, members, threshold
        self._lengths, self._indexed = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        joining.prefix_lengths(block.sizes, threshold, self._lengths, self._indexed)
        self._rooms = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(self._lengths, out=self._rooms[1:])
        self._tokens = np.empty(int(self._rooms[-1]), dtype=np.uint64)
        self._held, self._held_indexed = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        self._last = np.empty((n, 2), dtype=np.uint8)
        joining.prefixes(
            *(block.sets, block.starts, block.sizes, self._lengths, self._indexed),
            *(rarity.classes, rarity.bits),
            *(self._rooms, self._tokens, self._held, self._held_indexed, self._last),
        )
        held = self._held_indexed[:members]
        total = int(held.sum())
        self._keys = np.full(1 << max(4, (2 * total - 1).bit_length()), verify.VACANT, dtype=np.uint64)
        self._starts = np.empty(self._keys.size + 1, dtype=np.int64)
        self._postings = np.empty(total, dtype=np.int32)
        joining.index_keys(self._tokens, self._rooms, held, self._keys, self._starts)
        joining.index_rows(self._tokens, self._rooms, held, self._keys, self._starts, self._postings)

    def probe(self, first: int, stop: int) -> Iterator[Joined]:
        """Pairs of the sets ``first`` to ``stop`` with indexed ones before them, some at a time."""
        block = self.block
        overlap = np.zeros(self.members, dtype=np.int32)
        touched = np.empty(self.members, dtype=np.int32)
        state = np.array([first, 0, 0, 0], dtype=np.int64)
        room = ROOM
        while state[0] < stop:
            state[1] = state[2] = 0
            left, right = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
            similarity = np.empty(room, dtype=np.float64)
            n = joining.probe(
                *(block.sets, block.starts, block.sizes, block.sides, self._tokens, self._rooms),
                *(self._held, self._held_indexed, self._lengths, self._indexed, self._last),
                *(self._keys, self._starts, self._postings, self.members, int(state[0]), stop, self.threshold),
                *(overlap, touched, state, left, right, similarity),
            )
            room = max(room, int(state[3]))
            yield Joined(left[:n], right[:n], similarity[:n], int(state[1]), int(state[2]))
