"""The exact check of candidate pairs against a collection, chunk by chunk in threads, and the sets that it takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
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
from neardup.types import F64, I64, U32, Documents, Mask, PaddedSets

CHUNK_SHINGLES = 2_000_000
"""Shingles held at a time by a thread, unless the budget has room for fewer: 16 MB of sets."""
MOST_PAIRS = 1 << 20
"""Pairs that are checked together, at most: 200 MB."""
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
    return min(MOST_PAIRS, max(1_000, space.budget.share(0.15) // PAIR_BYTES))


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


@dataclass(frozen=True, slots=True)
class Screen:
    """What is known of candidate pairs before they are checked, and who decides by their signatures which are."""

    keep: Callable[[U32, I64, I64, I64, Mask], Mask]
    """(signatures, left and right as places in them, tag, is_inside): bool[m], which to check."""
    tag: I64
    """0: to be checked as it is, unless it is inside a crowd."""
    is_inside: Mask
    """Whether both documents stand in one crowd."""


def _compacted(left: I64, right: I64, n: int) -> tuple[I64, I64, I64]:
    """The numbers below n that two columns have, rising, and the columns as places in them."""
    is_used = np.zeros(n, dtype=np.bool_)
    is_used[left] = is_used[right] = True
    place = np.cumsum(is_used) - 1
    return np.flatnonzero(is_used), place[left], place[right]


Read = list[tuple[Documents, I64, I64]]
"""Texts that are at hand: blocks, the rows of some of their documents, rising, and their places in the block."""


def _texts(collection: Collection, rows: I64, read: Read) -> Iterator[tuple[Documents, I64, I64]]:
    """Documents of rising ``rows``, block by block: the block, places in it, and which of ``rows`` they are."""
    rest = np.ones(rows.size, dtype=np.bool_)
    for documents, have, places in read:
        at = np.minimum(np.searchsorted(rows, have), rows.size - 1)
        here = rows[at] == have
        if here.any():
            rest[at[here]] = False
            yield documents, places[here], at[here]
    others = np.flatnonzero(rest)
    for documents, places, part in collection.texts.parts(rows[others]):
        yield documents, places, others[part]


@contextmanager
def built_sets(
    collection: Collection,
    rows: I64,
    counts: I64,
    hasher: Hasher,
    buffers: Buffers,
    *,
    fresh: int,
    read: Read | None = None,
) -> Iterator[PaddedSets]:
    """Sets of rising ``rows``, in a buffer for as long as the block lasts.

    ``counts`` are shingles with repeats of each; a fresh buffer has room for at least ``fresh`` of them. ``read`` has
    texts that need not be asked for.
    """
    starts, sizes = np.empty(rows.size, dtype=np.int64), np.empty(rows.size, dtype=np.int64)
    hashes = buffers.take(int(counts.sum()), fresh=fresh)
    end = 0
    for documents, local, which in _texts(collection, rows, read or []):
        places = starts_of(counts[which]) + end
        found = np.empty(which.size, dtype=np.int64)
        build_rows(documents, local, counts[which], hasher, places, found, hashes)
        starts[which], sizes[which], end = places[:-1], found, int(places[-1])
    yield PaddedSets(starts, sizes, hashes)
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

    def __call__(
        self,
        left: I64,
        right: I64,
        threshold: float,
        *,
        screen: Screen | None = None,
        observer: Observer | None = None,
    ) -> F64:
        """Exact similarity of each pair by the measure of the spec, or -1 where it is below the threshold.

        With ``screen`` also -1 of those pairs that it leaves out. The result does not depend on threads or chunks.
        ``checked`` counts the pairs that are held against a threshold; those of which only the similarity is asked for
        (a threshold of 0) are not counted.
        """
        similarity = np.full(left.size, -1.0)
        step = pairs_at_once(self.collection.space)
        for i in range(0, left.size, step):
            some = slice(i, i + step)
            part = similarity[some]
            of = screen and Screen(screen.keep, screen.tag[some], screen.is_inside[some])
            for chunk, found, checked in self._checked(left[some], right[some], threshold, of):
                part[chunk.pairs] = found
                self.checked += checked if threshold > 0 else 0
                if observer is not None:
                    observer.advance(chunk.pairs.size)
        return similarity

    def drop_buffers(self) -> None:
        """Give up the memory that is kept for the next chunk."""
        self._buffers.clear()

    def _checked(
        self, left: I64, right: I64, threshold: float, screen: Screen | None
    ) -> Iterator[tuple[Chunk, F64, int]]:
        beside = 0 if screen is None else self.collection.values.slots // 2  # signatures, of half a shingle a slot
        counts = self.collection.counts.take
        parts = verify_stage.chunks(left, right, lambda rows: counts(rows) + beside, budget=self._chunk)

        def work(chunk: Chunk) -> tuple[Chunk, F64, int]:
            if screen is None:
                return chunk, self._check_chunk(chunk, threshold, []), chunk.pairs.size
            return chunk, *self._screened(chunk, threshold, screen)

        threads = self.threads if left.size >= FEW else 1
        return in_order(work, parts, threads=threads, ahead=threads + 1)

    def _screened(self, chunk: Chunk, threshold: float, screen: Screen) -> tuple[F64, int]:
        """Check the pairs of a chunk that pass the screen; how many they are. Each text is read once for both."""
        tag, is_inside = screen.tag[chunk.pairs], screen.is_inside[chunk.pairs]
        keep = ~is_inside
        told = np.flatnonzero(tag)
        read: Read = []
        if told.size:
            used, left, right = _compacted(chunk.left[told], chunk.right[told], chunk.docs.size)
            signatures = self.collection.values
            values = np.empty((used.size, signatures.slots), dtype=np.uint32)
            unknown = np.flatnonzero(signatures.put_held(chunk.docs[used], values))
            rows = chunk.docs[used[unknown]]
            for documents, local, part in self.collection.texts.parts(rows):
                values[unknown[part]] = signatures.make(documents, local)
                read.append((documents, rows[part], local))
            keep[told] = screen.keep(values, left, right, tag[told], is_inside[told])
        similarity = np.full(keep.size, -1.0)
        some = np.flatnonzero(keep)
        if some.size:
            docs, left, right = _compacted(chunk.left[some], chunk.right[some], chunk.docs.size)
            fewer = Chunk(chunk.pairs[some], chunk.docs[docs], left, right)
            similarity[some] = self._check_chunk(fewer, threshold, read)
        return similarity, some.size

    def _check_chunk(self, chunk: Chunk, threshold: float, read: Read) -> F64:
        """Build the sets of a chunk's documents, each once, then merge its pairs."""
        counts = self.collection.counts.take(chunk.docs)
        total = int(counts.sum())
        need = SHINGLE_BYTES * total + TABLE_BYTES * int(counts.max(initial=0))
        if need > max(self._chunk * SHINGLE_BYTES, self.collection.space.budget.work):
            raise TooLargeError(chunk.docs[np.argsort(counts)[-2:]], need)
        fresh = min(self._chunk, 4 * total)
        with built_sets(
            self.collection, chunk.docs, counts, self.hasher, self._buffers, fresh=fresh, read=read
        ) as sets:
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
