"""Candidates for a few documents among all: an index of the few, and the pass that holds documents against it.

Here: ``build_index`` over the shingle sets of a sample, and ``find_candidates`` of a block of documents. No partner is
lost; which candidates are partners says the exact check. Drawing the sample and fetching the texts is in
``pipeline.truth``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import scanning
from neardup.types import I32, I64, U8, U64, Documents, ShingleSets

__all__ = ["Index", "Scratch", "build_index", "find_candidates"]

SPARE = 4.0
"""Shingles that a partner must hold beside what else is asked of it: one phrase in common is no sign."""
MOST_CELLS = 1 << 22
"""In which the shingles of the sample are counted, four for each of them: 16 MB are enough for a few million."""
BITS_PER_KEY = 8
"""Of the bitmap: a few strange shingles in a hundred are looked up in the table for nothing; more would leave L2."""
ROOM = 1 << 16
"""Candidates written at a time, or one for each set of the sample if there are more."""


@dataclass(frozen=True, slots=True)
class Index:
    """The shingles by which partners of n sets will be known."""

    rows: I64
    """int64[n]: the document of each set."""
    needed: I32
    """int32[n]: kept shingles that a partner holds at least."""
    least: I64
    """int64[n]: shingles that a partner has at least."""
    bits: U64
    """Bitmap in front of the table; its size and that of ``cells`` is a power of two."""
    cells: I32
    """From a hash to its group, or -1."""
    keys: U64
    """Hash of each group."""
    starts: I64
    """First set of each group in ``posts``, and of the next."""
    middles: I64
    """First set of each group that stands in a crowd."""
    posts: I32
    """Sets that keep the hash of each group."""

    @property
    def groups(self) -> int:
        """Distinct shingles kept."""
        return self.keys.size


@dataclass(slots=True)
class Scratch:
    """What one thread writes on while it passes over documents; may be used again for the same index."""

    stamps: I32
    hits: I32
    touched: I32
    left: I64
    right: I64

    @classmethod
    def of(cls, index: Index) -> Scratch:
        """Fresh scratch for an index."""
        n = index.rows.size
        room = max(ROOM, n)
        return cls(
            np.zeros(index.groups, dtype=np.int32),
            np.zeros(n, dtype=np.int32),
            np.zeros(n, dtype=np.int32),
            np.empty(room, dtype=np.int64),
            np.empty(room, dtype=np.int64),
        )


@dataclass(frozen=True, slots=True)
class Block:
    """Documents to be held against an index."""

    documents: Documents
    docs: I64
    """int64[m]: places in the block."""
    rows: I64
    """int64[m]: the row of each."""
    counts: I64
    """int64[m]: shingles of each, with repeats."""
    crowded: NDArray[np.bool_] = field(repr=False)
    """bool[m]: whether each stands in a crowd."""


def _power(least: int) -> int:
    """The smallest power of two that is at least so much."""
    return 1 << max(6, (least - 1).bit_length())


def build_index(sets: ShingleSets, rows: I64, plain: int, *, threshold: float) -> Index:
    """Index the sets of a sample.

    Args:
        sets: none empty; those of documents in crowds last.
        rows: int64[n], the document of each.
        plain: how many are in no crowd.
        threshold: least similarity of a partner.

    Memory: 12 bytes a shingle of the sample, 40 for each that is kept, and 16 MB at most.
    """
    n = len(sets)
    common = np.zeros(min(MOST_CELLS, _power(4 * sets.hashes.size)), dtype=np.uint32)
    scanning.rarity(sets.hashes, common)
    kept = np.empty(sets.hashes.size, dtype=np.uint64)
    chosen, needed, least = (np.empty(n, dtype=np.int64) for _ in range(3))
    total = int(scanning.choose(sets.offsets, sets.hashes, common, threshold, SPARE, kept, chosen, needed, least))
    kept = kept[:total]
    owners = np.repeat(np.arange(n, dtype=np.int32), chosen)
    bits = np.zeros(_power(BITS_PER_KEY * total // 64), dtype=np.uint64)
    cells = np.full(_power(2 * total), -1, dtype=np.int32)
    keys = np.empty(total, dtype=np.uint64)
    starts = np.zeros(total + 2, dtype=np.int64)
    middles = np.zeros(total, dtype=np.int64)
    posts = np.empty(total, dtype=np.int32)
    groups = int(scanning.index(kept, owners, plain, bits, cells, keys, starts, middles, posts))
    return Index(
        rows,
        needed.astype(np.int32),
        least,
        bits,
        cells,
        keys[:groups].copy(),
        starts[: groups + 1].copy(),
        middles[:groups].copy(),
        posts,
    )


def find_candidates(
    block: Block, index: Index, scratch: Scratch, *, kind: int, k: int, key: np.uint64, letters: U8
) -> tuple[I64, I64]:
    """Pairs (document of the block, document of the index) that may be partners: every one that is, and few others.

    A pair inside crowds is left out. O(shingles), and one step for each set that keeps a shingle which is met.
    """
    found_left, found_right = [], []
    first = 0
    while first < block.docs.size:
        first, written = scanning.scan(
            kind,
            k,
            key,
            block.documents.data,
            block.documents.offsets,
            letters,
            block.docs,
            block.rows,
            block.counts,
            block.crowded,
            first,
            index.bits,
            index.cells,
            index.keys,
            index.starts,
            index.middles,
            index.posts,
            index.rows,
            index.needed,
            index.least,
            scratch.stamps,
            scratch.hits,
            scratch.touched,
            scratch.left,
            scratch.right,
        )
        found_left.append(scratch.left[:written].copy())
        found_right.append(index.rows[scratch.right[:written]])
    if not found_left:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(found_left), np.concatenate(found_right)
