"""Put the candidate pairs into the order in which they are checked, so that each text is read once.

    pending ── components ──► blocks of documents ──┬── pairs, sorted by the blocks of both documents
                                                    └── texts, reread in input order and written by block

The screen leaves few pairs between documents that have little in common, so the components of the candidate graph are
small. The components of a block are checked together. A component larger than a block is split over several blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.engine.banding.pending import WHOLE, Pending
from neardup.engine.check import pairs_at_once
from neardup.engine.pairing import Pairing
from neardup.engine.reading.laid_texts import ROWS, lay_texts, restored_texts
from neardup.spool import Parts
from neardup.stages.cluster import Components
from neardup.stages.numbering import PairNumbers
from neardup.types import I32, I64

BLOCK_PART = 0.15
"""The share of the memory for data that sets may take, with one block in each thread."""
SHINGLE_BYTES = 20
"""Memory for each shingle of a block, including its text and the table in which its set is built."""


class LaidOut:
    """The candidate pairs of a run, each once, and the texts to check them by."""

    def __init__(self, pending: Pending, crowd: I32, *, threads: int, pairing: Pairing | None = None) -> None:
        """Lay out the pairs that are not inside a crowd, or reuse the layout of an interrupted run.

        ``crowd`` is int32[n], the leader of each row's crowd or -1. If there are few pairs, they are kept in memory as
        they come. Otherwise their texts are reread once, unless all texts are in memory.
        """
        self._pending, self._crowd, self._threads, self._pairing = pending, crowd, threads, pairing
        self._collection = pending.collection
        space = self._collection.space
        self.parts: Parts = self._collection.texts.parts
        """A function that yields the texts of documents that have a pair; see ``Texts.parts``."""
        self._rows = pairs_at_once(space)
        self._numbers = PairNumbers(len(self._collection), WHOLE)
        self._few: list[tuple[I64, I64]] = []
        self._layout = None
        # a resumed run that has passed some pairs keeps their order, even if fewer pairs fit into memory now
        if space.state.get("laid_out") or ("passed" not in space.state and len(pending) > self._rows):
            # documents held in memory leave half as much room for pairs as documents in files
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
        """Yield (left, right, passed) in pieces, without the first ``skip`` pairs, which ``passed`` counts too."""
        passed = 0
        for left, right in self._stream():
            passed += left.size
            fresh = slice(max(0, left.size - max(0, passed - skip)), None)
            if left[fresh].size:
                yield left[fresh], right[fresh], passed

    def drop(self) -> None:
        """Delete the pairs and the texts that were laid out."""
        self._pending.drop()
        if self._layout is not None:
            self._layout.drop()
            self._collection.space.delete("laid")  # the texts and their columns

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
            yield self._numbers.pairs(payload)

    def _lay_out(self) -> None:
        assert self._layout is not None, "few pairs are not laid out"
        space = self._collection.space
        pairs, components = space.column("passing", np.int32, 2), Components(len(self._collection))
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
            self._layout.add(key, self._numbers.of(left, right))
        space.delete("passing")
        self.parts = lay_texts(self._collection, rows, block[rows], threads=self._threads)
        if space.is_lasting:
            self._layout.flush()
            space.checkpoint(laid_out=True, repeats=self._pending.repeats)

    def _blocks(self, rows: I64, label: I32) -> tuple[I32, int]:
        """Assign the sorted ``rows`` that have a pair to blocks, by the ``label`` of their components.

        Returns the block of every row of the collection (int32[n]) and the number of blocks.
        """
        block = np.zeros(len(self._collection), dtype=np.int32)
        if not rows.size:
            return block, 1
        order = np.argsort(label, kind="stable")
        first = np.flatnonzero(np.append(True, np.diff(label[order]) != 0))
        cost = np.concatenate([self._collection.counts.take(rows[i : i + ROWS]) for i in range(0, rows.size, ROWS)])
        size = max(1, self._collection.space.budget.share(BLOCK_PART) // (SHINGLE_BYTES * self._threads))
        before = np.cumsum(cost[order]) - cost[order]
        whole = np.add.reduceat(cost[order], first) <= size
        sizes = np.diff(np.append(first, rows.size))
        place = np.where(np.repeat(whole, sizes), np.repeat(before[first], sizes), before) // size
        block[rows[order]] = place.astype(np.int32)
        return block, int(place.max()) + 1
