"""Candidates for a few documents among all: an index of the few, and the pass that holds documents against it.

No partner is lost; which candidates are partners says the exact check. ``tasks.audit.exact_partners`` draws the few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.cutting import starts_of
from neardup.kernels import rarest, scanning
from neardup.kernels.scanning import Block, Index, Scratch
from neardup.kernels.verify import VACANT
from neardup.stages.shingle import SALT, Hasher
from neardup.types import I64, U32, U64, Documents, ShingleSets

FURTHER_SHARE = 0.05
"""Of what a partner may lack: so much more it must hold, or strangers would be candidates too often."""
FURTHER = 4.0
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


STEP_NS, WORD_NS = 1.5, 0.8
"""Rough cost of counting one shingle that a document shares with a set, and of a word of the bits of both."""
BITS_PER_SHINGLE = 2
"""Of those words, up to twice as many, for each shingle of a set of middling size: a fifth to a third are set then."""
MOST_BITS = 1 << 15
"""Of a set."""


@dataclass(slots=True)
class Commonness:
    """How common shingles are, as far as some documents tell: only those whose hash is below ``bound`` are counted."""

    bound: np.uint64
    times: U32
    """uint32, a power of two of cells: shingles seen of each, with repeats."""
    seen: int = 0
    """Documents."""

    @classmethod
    def of(cls, threshold: float, shingles: int) -> Commonness:
        """Nothing seen yet; ``shingles`` are expected."""
        part = min(1.0, POOL * (1.0 - threshold))
        bound = np.uint64(min(int(part * 2.0**64), 2**64 - 1))
        cells = 1 << max(6, (4 * shingles - 1).bit_length())
        return cls(bound, np.zeros(min(MOST_CELLS, cells), dtype=np.uint32))

    def see(self, documents: Documents, docs: I64, hasher: Hasher) -> None:
        """Count the shingles of some documents. O(shingles)."""
        scanning.count(hasher.params, documents.data, documents.offsets, docs, self.bound, self.times)
        self.seen += docs.size


def build_index(sets: ShingleSets, rows: I64, plain: int, *, commonness: Commonness, threshold: float) -> Index:
    """Index the sets of a sample, none of them empty: ``plain`` ones, then those of documents in crowds.

    ``rows`` (int64[n]) are their documents, ``threshold`` is the least similarity of a partner, for which
    ``commonness`` was made. The answer is the same whatever that tells, but not the time.

    Memory: 24 bytes a shingle of the sample, and 40 for each that is kept.
    """
    n = len(sets)
    kept = np.empty(sets.hashes.size, dtype=np.uint64)
    chosen, needed = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    bound, times, seen = commonness.bound, commonness.times, commonness.seen
    total = scanning.choose(
        sets.offsets, sets.hashes, bound, times, seen, threshold, FURTHER_SHARE, FURTHER, kept, chosen, needed
    )
    coarse = np.zeros(1 << scanning.COARSE, dtype=np.uint8)
    coarse[kept[:total] >> np.uint64(64 - scanning.COARSE)] = 1
    bits = max(BITS_PER_KEY * total, min(4 * BITS_PER_KEY * total, CACHED))
    bitmap, slots, posts = rarest.table_of(kept[:total], starts_of(chosen)[:-1], chosen, SALT, bits)
    table = rarest.Table(bitmap, slots, posts, SALT)
    return Index(rows, np.diff(sets.offsets), needed, plain, threshold, coarse, table)


def bits_of(sets: ShingleSets, index: Index, commonness: Commonness) -> U64 | None:
    """uint64[n, words], bits of the sets of an index for ``find_candidates``, where these are cheaper than counting.

    What a stranger shares with all sets is predicted by ``commonness``.
    """
    _, slots, posts, _ = index.table
    keys, who = slots[slots[:, 0] != VACANT].T
    several = who >= rarest.LIST
    times_kept = np.ones(keys.size)
    times_kept[several] = posts[(who[several] - rarest.LIST).astype(np.int64)]
    cells = np.uint64(commonness.times.size - 1)
    often = np.minimum(commonness.seen, commonness.times[(keys >> scanning.APART) & cells])
    counting = STEP_NS * float(times_kept @ often) / max(1, commonness.seen)
    wanted = min(MOST_BITS, BITS_PER_SHINGLE * int(np.median(index.sizes)))
    words = 1 << max(0, (wanted - 1).bit_length() - 6)
    if WORD_NS * words * len(sets) >= counting:
        return None
    bits = np.zeros((len(sets), words), dtype=np.uint64)
    scanning.mark(sets.offsets, sets.hashes, bits)
    return bits


def new_scratch(index: Index) -> Scratch:
    """Fresh scratch for an index."""
    n = index.rows.size
    room = max(ROOM, n)
    return Scratch(
        np.zeros(len(index.table.slots), dtype=np.int32),
        np.zeros(n, dtype=np.int32),
        np.zeros(n + 1, dtype=np.int32),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
    )


def find_candidates(
    documents: Documents, block: Block, index: Index, scratch: Scratch, hasher: Hasher, bits: U64 | None = None
) -> tuple[I64, I64]:
    """Pairs (document of the block, document of the index) that may be partners: every one that is, and few others.

    A pair inside crowds is left out. O(shingles), and one step for each set that keeps a shingle which is met or, with
    the ``bits_of`` the index, for each word of them.
    """
    found_left, found_right = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    first = 0
    while first < block.docs.size:
        text = hasher.params, documents.data, documents.offsets, block, first, index
        if bits is None:
            first, n = scanning.scan(*text, scratch)
        else:
            first, n = scanning.screen(*text, bits, scratch.left, scratch.right)
        found_left.append(scratch.left[:n].copy())
        found_right.append(index.rows[scratch.right[:n]])
    return np.concatenate(found_left), np.concatenate(found_right)
