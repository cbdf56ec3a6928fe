"""The exact check of candidate pairs against a collection, chunk by chunk in threads, and the sets that it takes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from neardup.cutting import starts_of
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.params import CONTAINMENT, TEXT
from neardup.stages import verify as verify_stage
from neardup.stages.shingle import Hasher, build_rows
from neardup.stages.verify import Chunk
from neardup.types import F64, I64, Documents, PaddedSets

CHUNK_SHINGLES = 8_000_000
"""Shingles held at a time by a thread, unless the budget has room for fewer: 64 MB of sets."""
SHINGLE_BYTES = 20
"""Memory for each of them: the text, the set, the table in which it is built."""
FEW = 256
"""Pairs that are checked in the calling thread: starting others would take longer."""
COMPARED_BYTES = 64
"""Memory for each byte of the two longest documents while shingles themselves are compared."""
TABLE_BYTES = 32
"""Memory for each shingle of the largest document while its set is built."""
PAIR_BYTES = 200
"""Memory for each pair that is being checked, beside the texts."""


def pairs_at_once(space: Space) -> int:
    """Pairs that the memory has room for while they are checked."""
    return max(1_000, space.budget.share(0.15) // PAIR_BYTES)


class TooLargeError(Exception):
    """Two documents are too long to be compared within the memory limit."""

    def __init__(self, rows: I64, need: int) -> None:
        super().__init__(rows, need)
        self.rows = rows
        self.need = need


class Buffers:
    """Arrays that threads use one after the other: fresh pages of memory cost more than filling them."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._spare: list[NDArray[Any]] = []

    def take(self, size: int, *, fresh: int) -> NDArray[Any]:
        """An array of at least ``size`` values; one that has to be made has at least ``fresh``."""
        with suppress(IndexError):
            buffer = self._spare.pop()
            if buffer.size >= size:
                return buffer
        return np.empty(max(size, fresh), dtype=self._dtype)

    def give_back(self, buffer: NDArray[Any]) -> None:
        """Let the next ``take`` have it; nobody may look at it any more."""
        self._spare.append(buffer)

    def clear(self) -> None:
        """Give up the memory of those that are not in use."""
        self._spare.clear()


@contextmanager
def built_sets(
    collection: Collection, rows: I64, counts: I64, hasher: Hasher, buffers: Buffers, *, fresh: int
) -> Iterator[PaddedSets]:
    """Sets of rising ``rows``, in a buffer for as long as the block lasts.

    ``counts`` are shingles with repeats of each; a fresh buffer has room for at least ``fresh`` of them.
    """
    starts = starts_of(counts)
    sizes = np.empty(rows.size, dtype=np.int64)
    hashes = buffers.take(int(starts[-1]), fresh=fresh)
    for documents, local, part in collection.texts.parts(rows):
        places = starts[part.start : part.stop + 1]
        build_rows(documents, local, counts[part], hasher, places, sizes[part], hashes)
    yield PaddedSets(starts[:-1], sizes, hashes)
    buffers.give_back(hashes)


class Checker:
    """Knows a collection's texts and gives the exact similarity of pairs of its rows.

    Shingles are compared by hashes of a private key, so that no texts can be written for which they lie: two shingles
    that differ share a hash with a probability of about 2**-64, whoever wrote them. ``Spec.verify`` "text" leaves
    nothing to chance: the shingles of each pair that is given are compared themselves.
    """

    def __init__(self, collection: Collection, *, threads: int) -> None:
        self.collection = collection
        self.hasher = Hasher.private(collection.spec.shingle)
        self.threads = threads
        self.checked = 0
        self._is_containment = collection.spec.measure == CONTAINMENT
        self._chunk = min(CHUNK_SHINGLES, collection.space.budget.share(0.25) // (threads * SHINGLE_BYTES))
        self._buffers = Buffers(np.uint64)
        self._large = threading.Lock()
        """Held while texts are compared that have more than the share of a thread."""

    def __call__(self, left: I64, right: I64, threshold: float, *, observer: Observer | None = None) -> F64:
        """Exact similarity of each pair by the measure of the spec, or -1 where it is below the threshold.

        The result does not depend on threads or chunks. ``checked`` counts the pairs that are held against a threshold;
        those of which only the similarity is asked for (a threshold of 0) are not counted.
        """
        self.checked += left.size if threshold > 0 else 0
        similarity = np.full(left.size, -1.0)
        step = pairs_at_once(self.collection.space)
        for i in range(0, left.size, step):
            part = similarity[i : i + step]
            for chunk, found in self._checked(left[i : i + step], right[i : i + step], threshold):
                part[chunk.pairs] = found
                if observer is not None:
                    observer.advance(chunk.pairs.size)
        return similarity

    def drop_buffers(self) -> None:
        """Give up the memory that is kept for the next chunk."""
        self._buffers.clear()

    def _checked(self, left: I64, right: I64, threshold: float) -> Iterator[tuple[Chunk, F64]]:
        parts = verify_stage.chunks(left, right, self.collection.counts.take, budget=self._chunk)

        def work(chunk: Chunk) -> tuple[Chunk, F64]:
            return chunk, self._check_chunk(chunk, threshold)

        threads = self.threads if left.size >= FEW else 1
        return in_order(work, parts, threads=threads, ahead=threads + 1)

    def _check_chunk(self, chunk: Chunk, threshold: float) -> F64:
        """Build the sets of a chunk's documents, each once, then merge its pairs."""
        counts = self.collection.counts.take(chunk.docs)
        total = int(counts.sum())
        need = SHINGLE_BYTES * total + TABLE_BYTES * int(counts.max(initial=0))
        if need > max(self._chunk * SHINGLE_BYTES, self.collection.space.budget.work):
            raise TooLargeError(chunk.docs[np.argsort(counts)[-2:]], need)
        fresh = min(self._chunk, 4 * total)
        with built_sets(self.collection, chunk.docs, counts, self.hasher, self._buffers, fresh=fresh) as sets:
            similarity = verify_stage.check_pairs(
                *(chunk.left, chunk.right, sets, sets), threshold=threshold, is_containment=self._is_containment
            )
        if self.collection.spec.verify == TEXT:
            self._compare_shingles(chunk, counts, similarity, threshold)
        return similarity

    def _compare_shingles(self, chunk: Chunk, counts: I64, similarity: F64, threshold: float) -> None:
        """Hold the pairs that reach the threshold against their texts."""
        near = np.flatnonzero(similarity >= 0)
        used, place = np.unique(np.concatenate((chunk.left[near], chunk.right[near])), return_inverse=True)
        rows = chunk.docs[used]
        lengths = np.sort(self.collection.texts.lengths(rows))
        need = int(lengths.sum()) + COMPARED_BYTES * int(lengths[-2:].sum())
        if need > self.collection.space.budget.work:
            raise TooLargeError(chunk.docs[np.argsort(counts)[-2:]], need)
        checked = similarity[near]
        with self._large if need > self._chunk * SHINGLE_BYTES else nullcontext():
            found: list[bytes] = []
            for documents, local, _ in self.collection.texts.parts(rows):
                found += [documents.blob(at) for at in local.tolist()]
            verify_stage.compare_shingles(
                Documents.from_bytes(found),
                *(place[: near.size], place[near.size :], self.hasher, checked),
                threshold=threshold,
                is_containment=self._is_containment,
            )
        similarity[near] = checked
