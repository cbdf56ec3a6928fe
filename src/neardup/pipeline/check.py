"""The exact check of candidate pairs against a collection, chunk by chunk in threads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from neardup.pipeline.collect import Collection
from neardup.pipeline.observe import Observer
from neardup.stages import shingle as shingle_stage
from neardup.stages import verify as verify_stage
from neardup.stages.shingle import Hasher
from neardup.stages.verify import Chunk
from neardup.types import F64, I64, U64

__all__ = ["CHUNK_SHINGLES", "Checker"]

CHUNK_SHINGLES = 8_000_000
"""Shingles held at a time by a thread: 64 MB of sets."""


class Checker:
    """Knows a collection's texts and gives the exact similarity of pairs of its rows."""

    def __init__(self, collection: Collection, hasher: Hasher, *, threads: int, observer: Observer) -> None:
        self.collection = collection
        self.hasher = hasher
        self.threads = threads
        self.observer = observer
        self.checked = 0
        self._rooms: list[U64] = []

    def __call__(self, left: I64, right: I64, threshold: float) -> F64:
        """Exact Jaccard similarity of each pair, or -1 where it is below the threshold.

        ``checked`` counts pairs held against a threshold; similarities of pairs known already (0.0) are not counted.

        The result does not depend on threads or chunks.
        """
        self.checked += left.size if threshold > 0 else 0
        similarity = np.full(left.size, -1.0)
        for chunk, found in self._checked(left, right, threshold):
            similarity[chunk.pairs] = found
            self.observer.advance(chunk.pairs.size)
        return similarity

    def _checked(self, left: I64, right: I64, threshold: float) -> Iterator[tuple[Chunk, F64]]:
        parts = verify_stage.chunks(left, right, self.collection.counts, budget=CHUNK_SHINGLES)

        def work(chunk: Chunk) -> tuple[Chunk, F64]:
            return chunk, self._check_chunk(chunk, threshold)

        if self.threads == 1:
            yield from map(work, parts)
            return
        pool = ThreadPoolExecutor(self.threads, thread_name_prefix="neardup")
        try:
            yield from pool.map(work, parts)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _check_chunk(self, chunk: Chunk, threshold: float) -> F64:
        """Build the sets of a chunk's documents, each once, then merge its pairs."""
        counts = self.collection.counts[chunk.docs]
        starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        sizes = np.empty(chunk.docs.size, dtype=np.int64)
        sets = self._room(int(starts[-1]))
        first_rows = self.collection.first_rows
        block_of = np.searchsorted(first_rows, chunk.docs, side="right") - 1
        cuts = np.concatenate(([0], np.flatnonzero(np.diff(block_of)) + 1, [block_of.size]))
        for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            block = int(block_of[begin])
            shingle_stage.build_rows(
                self.collection.blocks[block],
                chunk.docs[begin:end] - first_rows[block],
                counts[begin:end],
                self.hasher,
                starts[begin : end + 1],
                sizes[begin:end],
                sets,
            )
        similarity = verify_stage.check_pairs(chunk, starts, sizes, sets, threshold=threshold)
        self._rooms.append(sets)
        return similarity

    def _room(self, size: int) -> U64:
        """Memory for sets, used again where it is large enough: fresh pages cost more than filling them."""
        try:
            room = self._rooms.pop()
        except IndexError:
            room = np.empty(0, dtype=np.uint64)
        return room if room.size >= size else np.empty(max(size, min(CHUNK_SHINGLES, 4 * size)), dtype=np.uint64)
