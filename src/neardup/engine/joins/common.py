"""What both joins share: their course, the order of the work, what was found, and how it lasts.

pruning (``rarity``) ── documents that may have a partner ──► ``JoinWork.join`` of ``exact`` or ``containment`` ── pairs
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from neardup.cutting import starts_of
from neardup.engine.joins.rarity import ROUNDS, SLAB, Pruner, slabs
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.results.pairs import PairStore
from neardup.engine.sets import Buffers, built_sets
from neardup.engine.threads import in_order
from neardup.stages import join as join_stage
from neardup.stages.join import Rarity
from neardup.stages.shingle import Hasher
from neardup.types import F64, I64, U8, U64

__all__ = ["Join", "JoinWork", "Key", "Queue"]

BOTH = 3
"""A document on both sides of the join; any two of them may pair."""

Key = tuple[int, int]


@dataclass(slots=True)
class Join:
    """What a join found."""

    pairs: PairStore
    candidates_met: int = 0
    """Pairs that shared one of their rarest shingles."""
    overlaps_counted: int = 0
    """Of these, pairs whose common shingles were counted."""


@dataclass(frozen=True, slots=True)
class Queue:
    """Documents in the order in which they are worked on: by size, equally large ones by row."""

    rows: I64
    counts: I64
    """int64[n], shingles with repeats."""
    sizes: I64
    """int64[n], the order: shingles of the set or, where it was not built yet, ``counts``."""
    sides: U8

    def __len__(self) -> int:
        return self.rows.size

    def __getitem__(self, part: slice | I64) -> Queue:
        """Some of them."""
        return Queue(self.rows[part], self.counts[part], self.sizes[part], self.sides[part])

    def behind(self, key: Key | None) -> int:
        """Documents up to the one of this size and row; none where there is no key."""
        if key is None:
            return 0
        first, last = np.searchsorted(self.sizes, [key[0], key[0] + 1])
        return int(first + np.searchsorted(self.rows[first:last], key[1], side="right"))

    def key(self, stop: int) -> Key | None:
        """Size and row of the document before place ``stop``: the same one, whatever the memory of a resumed run."""
        return (int(self.sizes[stop - 1]), int(self.rows[stop - 1])) if stop else None


class JoinWork:
    """One join of a collection."""

    rounds = ROUNDS
    """Times that documents without a partner are looked for, at most."""
    fit: int | None = None
    """Shingles of the sets that are indexed at a time; None: as many as the budget allows. Tests set it."""
    rarity: Rarity
    """How rare shingles are among the documents that are joined."""

    def __init__(
        self, collection: Collection, rows: I64, hasher: Hasher, *, sides: U8 | None, threads: int, observer: Observer
    ) -> None:
        """Nothing is read yet; the arguments are those of ``exact.join``."""
        self.collection, self.hasher, self.space = collection, hasher, collection.space
        self.threshold = collection.spec.threshold
        self.rows, self.is_across = rows, sides is not None
        self.sides = np.full(rows.size, BOTH, dtype=np.uint8) if sides is None else sides
        self.threads, self.observer = threads, observer
        pairs = PairStore("verified", len(collection), self.space, part=0.25, is_lasting=True)
        self.found = Join(pairs, *self.space.state.get("joined", (0, 0)))
        self._lock = threading.Lock()
        self._buffers = Buffers(np.uint64)

    def run(self) -> Join:
        """All pairs, or the rest of them, where a run was interrupted."""
        if "verified" in self.space.state:
            return self.found
        pruner = Pruner(
            self.collection, self.hasher, is_across=self.is_across, threads=self.threads, observer=self.observer
        )
        self.rarity, rows, sides = pruner.prune(self.rows, self.sides, rounds=self.rounds)
        if rows.size:
            self.join(rows, sides)
        if self.space.is_lasting:
            self._checkpoint(verified=True)
        return self.found

    def join(self, rows: I64, sides: U8) -> None:
        """Find the pairs of the documents that pruning left."""
        raise NotImplementedError

    def add(self, left: I64, right: I64, similarity: F64) -> None:
        """Take note of pairs of rows; from any thread."""
        with self._lock:
            self.found.pairs.add(left, right, similarity)

    def count(self, candidates_met: int, overlaps_counted: int) -> None:
        """Add to what was counted; from the thread of ``run``."""
        self.found.candidates_met += candidates_met
        self.found.overlaps_counted += overlaps_counted

    def keep(self, **done: Key | int | None) -> None:
        """Let what was found so far last, where it is time to."""
        if self.space.is_due:
            with self._lock:
                self._checkpoint(**done)

    def _checkpoint(self, **done: Key | int | bool | None) -> None:
        self.found.pairs.flush()
        self.space.checkpoint(joined=[self.found.candidates_met, self.found.overlaps_counted], **done)

    def packed(self, rows: I64, counts: I64, *, threads: int, is_kept: bool = True) -> tuple[U64, I64, I64]:
        """Sets of rising rows: (hashes, where each starts, its size); without ``is_kept`` the sizes only.

        A document that turns out to have too many shingles of its own for any partner has the size 0.
        """
        places = starts_of(counts)
        hashes = np.empty(int(places[-1]) if is_kept else 0, dtype=np.uint64)  # what is left over is never touched
        starts, sizes = np.empty(rows.size, dtype=np.int64), np.empty(rows.size, dtype=np.int64)

        def build(slab: slice) -> None:
            out = hashes[int(places[slab.start]) : int(places[slab.stop])]
            with self.built(rows[slab], counts[slab]) as (built, begins, some):
                join_stage.pack(built, begins, some, self.rarity, self.threshold, out)
            starts[slab], sizes[slab] = begins + places[slab.start], some

        for _ in in_order(build, slabs(counts), threads=threads):
            pass
        return hashes, starts, sizes

    def built(self, rows: I64, counts: I64) -> AbstractContextManager[tuple[U64, I64, I64]]:
        """Whole sets of rising rows, for as long as the block lasts; from any thread. See ``built_sets``."""
        return built_sets(self.collection, rows, counts, self.hasher, self._buffers, fresh=SLAB)
