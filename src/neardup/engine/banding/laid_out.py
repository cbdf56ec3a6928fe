"""Candidate pairs in the order in which they are checked, so that each text is read once.

    pending ── components ──► blocks of documents ──┬── pairs sorted by the blocks of both
                                                    └── texts ──► read again in the order of the input, laid by block

The screen leaves few pairs between documents that have little in common, so that components of the candidate graph are
small. Those of one block are checked together. A component that is larger than a block is cut into several.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.cutting import cut
from neardup.engine.banding.pending import Pending
from neardup.engine.check import pairs_at_once
from neardup.engine.pairing import Pairing
from neardup.engine.reading.laid_texts import drop_texts, lay_texts, restored_texts
from neardup.spool import Parts
from neardup.stages.cluster import Components
from neardup.types import I32, I64

BLOCK_PART = 0.15
"""The share of the memory for data that the sets of a block may take in all threads ..."""
SHINGLE_BYTES = 20
"""... of so many bytes a shingle, with text and table."""


class LaidOut:
    """The candidate pairs of a run, each once, with what is needed to check them."""

    def __init__(self, pending: Pending, crowd: I32, *, threads: int, pairing: Pairing | None = None) -> None:
        """Lay out the pairs that are not inside a crowd, or go on with those that an interrupted run laid out.

        ``crowd`` is int32[n], the leader of each row's crowd or -1. Few pairs stay in one piece. Else their texts are
        read again once, unless they are at hand.
        """
        self._pending, self._crowd, self._threads, self._pairing = pending, crowd, threads, pairing
        self._collection = pending.collection
        space = self._collection.space
        self.parts: Parts = self._collection.texts.parts
        """Gives the texts of documents that have a pair."""
        self._rows = pairs_at_once(space)
        self._few: list[tuple[I64, I64]] = []
        self._layout = None
        # an interrupted run that passed some pairs goes on in their order, also if fewer fit into the memory now
        if space.state.get("laid_out") or ("passed" not in space.state and len(pending) > self._rows):
            # beside documents in memory there is room for half of what there is beside those in files
            part = 0.15 if self._collection.is_spooled else 0.075
            self._layout = space.sorter("layout", payload=np.dtype(np.uint64), part=part)
            if space.state.get("laid_out"):
                self.parts = restored_texts(self._collection)
            else:
                self._lay_out()
        else:
            self._few = [pairs for pairs in self._passing() if pairs[0].size]

    def __len__(self) -> int:
        return sum(left.size for left, _ in self._few) if self._layout is None else len(self._layout)

    def pieces(self, skip: int) -> Iterator[tuple[I64, I64, int]]:
        """Yield left and right of some pairs, and the pairs that were passed with them; ``skip`` were passed before."""
        passed = 0
        for left, right in self._stream():
            passed += left.size
            fresh = slice(max(0, left.size - max(0, passed - skip)), None)
            if left[fresh].size:
                yield left[fresh], right[fresh], passed

    def drop(self) -> None:
        """Forget the pairs and what was laid out."""
        self._pending.drop()
        if self._layout is not None:
            self._layout.drop()
            drop_texts(self._collection.space)

    def _passing(self) -> Iterator[tuple[I64, I64]]:
        for left, right in self._pending.passing(self._rows):
            some = (self._crowd[left] < 0) | (self._crowd[left] != self._crowd[right])
            if self._pairing is not None:
                some &= self._pairing.allows(left, right)
            yield left[some], right[some]

    def _stream(self) -> Iterator[tuple[I64, I64]]:
        if self._layout is None:
            yield from self._few
            return
        for _, payload in self._layout.merged(self._rows, unique=False):
            assert payload is not None
            left, right = np.divmod(payload, np.uint64(max(1, len(self._collection))))
            yield left.astype(np.int64), right.astype(np.int64)

    def _lay_out(self) -> None:
        assert self._layout is not None, "few pairs are not laid out"
        space, n = self._collection.space, len(self._collection)
        pairs, components = space.column("passing", np.int32, 2), Components(n)
        for left, right in self._passing():
            pairs.append(np.column_stack((left, right)).astype(np.int32))
            components.join(left, right)
        self._pending.drop()
        rows, label = components.joined()
        del components
        block, blocks = self._blocks(rows, label)
        for _, some in pairs.scan(self._rows):
            left, right = some.T
            key = block[left].astype(np.uint64) * np.uint64(blocks) + block[right].astype(np.uint64)
            self._layout.add(key, left.astype(np.uint64) * np.uint64(n) + right.astype(np.uint64))
        if space.workdir is not None and "passing" in space.workdir.names():
            space.workdir.delete("passing")
        self.parts = lay_texts(self._collection, rows, block[rows], threads=self._threads)
        if space.is_lasting:
            self._layout.flush()
            space.checkpoint(laid_out=True, repeats=self._pending.repeats)

    def _blocks(self, rows: I64, label: I32) -> tuple[I32, int]:
        """Give ``rows`` with a pair, rising, blocks by the ``label`` of their components.

        Returns the block of every row (int32[n]) and the number of blocks.
        """
        n, counts = len(self._collection), self._collection.counts
        order = np.argsort(label, kind="stable")
        first = np.flatnonzero(np.append(True, np.diff(label[order]) != 0)) if rows.size else rows
        cost = np.empty(rows.size, dtype=np.int64)
        for some in cut(np.ones(rows.size, np.int32), 1 << 20):
            cost[some] = counts.take(rows[some])
        size = max(1, self._collection.space.budget.share(BLOCK_PART) // (SHINGLE_BYTES * self._threads))
        before = np.cumsum(cost[order]) - cost[order]
        whole = np.add.reduceat(cost[order], first) <= size if rows.size else first.astype(np.bool_)
        sizes = np.diff(np.append(first, rows.size))
        place = np.where(np.repeat(whole, sizes), np.repeat(before[first], sizes), before) // size
        block = np.zeros(n, dtype=np.int32)
        block[rows[order]] = place.astype(np.int32)
        return block, int(place.max(initial=0)) + 1
