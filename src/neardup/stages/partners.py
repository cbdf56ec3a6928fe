"""Candidates for a few documents among all: an index of the few, and the pass that holds documents against it.

Here: ``Rarity``, how common shingles are; ``build_index`` over the shingle sets of a sample, which keeps rare ones;
and ``find_candidates`` of a block of documents. No partner is lost; which candidates are partners says the exact check.
Drawing the sample and fetching the texts is in ``tasks.audit.exact_partners``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import scanning
from neardup.stages.salt import SALT
from neardup.stages.shingle import Hasher
from neardup.types import I32, I64, U8, U32, U64, Documents, ShingleSets

__all__ = ["Block", "Index", "Rarity", "Scratch", "build_index", "find_candidates"]

SHARE = 0.05
"""Of what a partner may lack: so much more it must hold, or strangers would be candidates too often."""
SPARE = 4.0
"""Shingles that a partner must hold beside what else is asked of it: one phrase in common is no sign. At least one,
for documents that hold nothing of what is kept are never looked at."""
POOL = 2.5
"""Shingles are chosen out of so many times what a partner may lack, those of smallest hash: the other hashes of a
document end at one load, but the fewer there are to choose from, the more common are those that are kept."""
MOST_CELLS = 1 << 22
"""In which shingles are counted, four for each of them: 16 MB are enough for a few million."""
BITS_PER_KEY = 6
"""Of the bitmap, up to twice as many: a few strange shingles in a hundred are looked up in the table for nothing ..."""
CACHED = 1 << 22
"""... and four times as many while these bits suffice: 512 KB, half of L2."""
ROOM = 1 << 16
"""Candidates written at a time, or one for each set of the sample if there are more."""


@dataclass(slots=True)
class Rarity:
    """How common shingles are, as far as some documents tell: only those whose hash is below ``bound`` are counted."""

    bound: np.uint64
    common: U32
    """uint32, a power of two of cells: shingles seen of each, with repeats."""
    seen: int = 0
    """Documents."""

    @classmethod
    def of(cls, threshold: float, shingles: int) -> Rarity:
        """Nothing seen yet; ``shingles`` are expected."""
        part = min(1.0, POOL * (1.0 - threshold))
        bound = np.uint64(min(int(part * 2.0**64), 2**64 - 1))
        return cls(bound, np.zeros(min(MOST_CELLS, _power(4 * shingles)), dtype=np.uint32))

    def see(self, documents: Documents, docs: I64, hasher: Hasher) -> None:
        """Count the shingles of some documents. O(shingles)."""
        args = hasher.kind, hasher.k, hasher.key, documents.data, documents.offsets, hasher.letters
        scanning.rarity(*args, docs, self.bound, self.common)
        self.seen += docs.size


@dataclass(frozen=True, slots=True)
class Index:
    """The shingles by which partners of n sets will be known."""

    rows: I64
    """int64[n]: the document of each set."""
    sizes: I64
    """int64[n]: shingles of each set."""
    plain: int
    """Sets that stand in no crowd: the first ones."""
    threshold: float
    needed: I32
    """int32[n]: kept shingles that a partner holds at least."""
    least: I64
    """int64[n]: shingles that a partner has at least."""
    coarse: U8
    """Whether any hash is kept that begins so."""
    bits: U64
    """Bitmap in front of the table; its size and that of ``slots`` is a power of two."""
    slots: U64
    """uint64[cells, 2]: a hash and the set that keeps it, or n and the number of a list."""
    starts: I64
    """First set of each list in ``posts``, and of the next."""
    middles: I64
    """First set of each list that stands in a crowd."""
    posts: I32
    """Sets that keep the hash of each list."""


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
            np.zeros(len(index.slots), dtype=np.int32),
            np.zeros(n, dtype=np.int32),
            np.zeros(n + 1, dtype=np.int32),
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


def build_index(sets: ShingleSets, rows: I64, plain: int, *, rarity: Rarity, threshold: float) -> Index:
    """Index the sets of a sample.

    Args:
        sets: none empty; those of documents in crowds last.
        rows: int64[n], the document of each.
        plain: how many are in no crowd.
        rarity: which shingles are common. The answer is the same whatever it tells, but not the time.
        threshold: least similarity of a partner, for which ``rarity`` was made.

    Memory: 24 bytes a shingle of the sample, and 80 for each that is kept.
    """
    n = len(sets)
    kept = np.empty(sets.hashes.size, dtype=np.uint64)
    chosen, needed, least = (np.empty(n, dtype=np.int64) for _ in range(3))
    bound, common, seen = rarity.bound, rarity.common, rarity.seen
    total = int(
        scanning.choose(
            sets.offsets, sets.hashes, bound, common, seen, threshold, SHARE, SPARE, kept, chosen, needed, least
        )
    )
    kept = kept[:total]
    owners = np.repeat(np.arange(n, dtype=np.int32), chosen)
    coarse = np.zeros(1 << scanning.COARSE, dtype=np.uint8)
    room = max(BITS_PER_KEY * total, min(4 * BITS_PER_KEY * total, CACHED))
    bits = np.zeros(_power(room // 64), dtype=np.uint64)
    slots = np.full((_power(total + total // 2), 2), scanning.VACANT)
    starts = np.zeros(total // 2 + 2, dtype=np.int64)
    middles = np.zeros(total // 2, dtype=np.int64)
    posts = np.empty(total, dtype=np.int32)
    lists = int(scanning.index(kept, owners, n, plain, SALT, coarse, bits, slots, starts, middles, posts))
    return Index(
        rows,
        np.diff(sets.offsets),
        plain,
        threshold,
        needed.astype(np.int32),
        least,
        coarse,
        bits,
        slots,
        starts[: lists + 1].copy(),
        middles[:lists].copy(),
        posts[: starts[lists]].copy(),
    )


def find_candidates(block: Block, index: Index, scratch: Scratch, hasher: Hasher) -> tuple[I64, I64]:
    """Pairs (document of the block, document of the index) that may be partners: every one that is, and few others.

    A pair inside crowds is left out. O(shingles), and one step for each set that keeps a shingle which is met.
    """
    found_left, found_right = [], []
    first = 0
    while first < block.docs.size:
        first, written = scanning.scan(
            hasher.kind,
            hasher.k,
            hasher.key,
            block.documents.data,
            block.documents.offsets,
            hasher.letters,
            block.docs,
            block.rows,
            block.counts,
            block.crowded,
            first,
            SALT,
            index.coarse,
            index.bits,
            index.slots,
            index.starts,
            index.middles,
            index.posts,
            index.rows,
            index.sizes,
            index.plain,
            index.needed,
            index.least,
            index.threshold,
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
