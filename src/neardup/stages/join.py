"""The exact join of shingle sets: all pairs of at least a threshold, none missed.

Prefix filter over rare-first shingles, size filter, the positional filter at the end of both prefixes, early-stopping
merge: AllPairs (Bayardo, Ma, Srikant 2007) and PPJoin (Xiao, Wang, Lin, Yu 2008), of whose filters these are the ones
that pay (Mann, Augsten, Bouros: An Empirical Evaluation of Set Similarity Join Techniques, 2016, section 5). Before
the join, a document is dropped when more of its shingles are unique to it than a partner may lack.

Here: counting how often shingles are met, dropping documents, one join of sets that are in memory. Who fetches texts,
and how a collection larger than memory is cut into blocks, is in ``engine.joins.exact``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import joining
from neardup.stages.shingle import Hasher
from neardup.types import F64, I64, U8, U32, U64, Documents, SetBlock

__all__ = ["Cells", "Index", "Joined", "Occurrences", "Prefixes", "Rarity", "cells", "pack", "survivors"]

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

    @property
    def often(self) -> F64:
        """float64[256]: about how many documents hold a shingle of each class, seldom fewer."""
        counts = np.arange(256, dtype=np.float64)
        if self.bits <= SMALL_BITS:
            counts[128:] = 128 * 2.0 ** ((counts[128:] - 128) / 14)
        return np.maximum(counts, 1.0)


def _part_bits(bits: int) -> int:
    return max(0, bits - PART_CELLS)


def cells(documents: Documents, docs: I64, hasher: Hasher, *, bits: int, side: int, raw: U32, values: U32) -> Cells:
    """Cells of all shingles of ``docs`` (indices into the block) in a table of ``2**bits``; ``bits`` at most 32.

    ``raw`` and ``values`` are room for all of them; the result is in ``values``.
    """
    starts = np.empty((1 << _part_bits(bits)) + 1, dtype=np.int64)
    text = documents.data, documents.offsets
    joining.cells_of(hasher.params, *text, docs, bits, _part_bits(bits), raw, starts, values)
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
    text = documents.data, documents.offsets
    joining.survivors(hasher.params, *text, docs, counts, rarity.classes, rarity.bits, threshold, alive)
    return alive


def pack(sets: U64, starts: I64, sizes: I64, rarity: Rarity, threshold: float, out: U64) -> int:
    """Move sets that could have a partner to the front of ``out`` (empty: only sizes are wanted), the rest to size 0.

    ``starts`` and ``sizes`` are changed. Returns the shingles kept.
    """
    return int(joining.pack(sets, starts, sizes, rarity.classes, rarity.bits, threshold, out))


@dataclass(frozen=True, slots=True)
class Joined:
    """Pairs of places, the indexed set ``left``, the probing one ``right``."""

    left: I64
    right: I64
    similarity: F64
    candidates_met: int
    """Pairs that shared a shingle of their prefixes."""
    overlaps_counted: int
    """Of these, pairs that were counted in full."""


class Prefixes:
    """The rarest shingles of the sets of a block, with which they are indexed and probed with."""

    def __init__(self, block: SetBlock, rarity: Rarity, threshold: float) -> None:
        """Choose them. O(shingles); the sets are only read."""
        self.block, self.threshold = block, threshold
        self.kept = joining.Prefixes(*joining.prefixes_of(block, rarity.classes, rarity.bits, threshold))


class Index:
    """The sets of a block, ready to be probed with sets of its own or of larger ones."""

    def __init__(self, prefixes: Prefixes) -> None:
        """Build the posting lists. O(shingles of the prefixes)."""
        self._indexed = prefixes
        self._postings = joining.Postings(*joining.postings_of(prefixes.kept))

    def probe(self, probing: Prefixes, first: int, stop: int) -> Iterator[Joined]:
        """Pairs of the sets ``first`` to ``stop`` with indexed ones before them in the order of size, some at a time.

        ``probing`` are the prefixes that were indexed, or those of sets that all come behind the indexed ones.
        """
        indexed = self._indexed
        overlap = np.zeros(indexed.block.sizes.size, dtype=np.int32)
        touched = np.empty(indexed.block.sizes.size, dtype=np.int32)
        state = np.array([first, 0, 0, 0], dtype=np.int64)
        room = ROOM
        while state[0] < stop:
            state[1] = state[2] = 0
            left, right, similarity = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64)
            n = joining.probe(
                *(probing.block, probing.kept, indexed.block, indexed.kept, self._postings, probing is indexed),
                *(stop, indexed.threshold, overlap, touched, state, left, right, similarity),
            )
            room = max(room, int(state[3]))
            yield Joined(left[:n], right[:n], similarity[:n], int(state[1]), int(state[2]))
