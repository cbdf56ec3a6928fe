"""The exact check of candidate pairs against a collection, chunk by chunk in threads, and the sets that it takes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from neardup.cutting import cut, distinct, starts_of
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.results.pairs import PairStore
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.params import CONTAINMENT, TEXT
from neardup.spool import Parts
from neardup.stages import verify as verify_stage
from neardup.stages.shingle import Hasher, build_rows
from neardup.stages.verify import Chunk
from neardup.types import F64, I64, Documents, PaddedSets

CHUNK_SHINGLES = 2_000_000
"""Shingles held at a time for each thread, unless the budget has room for fewer: 16 MB of sets."""
MOST_PAIRS = 1 << 20
"""Pairs that are checked together, at most: 200 MB."""
SHINGLE_BYTES = 20
"""Memory for each of them: the text, the set, the table in which it is built."""
FEW = 1 << 17
"""Shingles of documents whose pairs are checked in the calling thread: starting others would take longer."""
COMPARED_BYTES = 64
"""Memory for each byte of the two longest documents while shingles themselves are compared."""
TABLE_BYTES = 32
"""Memory for each shingle of the largest document while its set is built."""
TEXTS_PART = 0.1
"""The share of the memory for data of texts that are read together: a text takes an eighth of its set."""
MOST_TEXTS = 24 << 20
"""The most bytes of texts that are read together, whatever the limit is."""
MOST_SPOOLED = 128 << 20
"""And where columns of the collection are on disk: most of them are passed over each time."""
FEW_TEXTS = 1 << 12
"""Texts that the calling thread asks for by itself."""
PIECES = 4
"""Of a chunk, for each thread: they end at about the same time then."""
PAIR_BYTES = 200
"""Memory for each pair that is being checked, beside the texts."""


def pairs_at_once(space: Space) -> int:
    """Pairs that the memory has room for while they are checked."""
    return min(MOST_PAIRS, max(1_000, space.room(0.15) // PAIR_BYTES))


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


class _Loaded:
    """The texts of rising rows, all of them at hand."""

    def __init__(self, parts: Parts, rows: I64, *, threads: int) -> None:
        """Ask for them, a run of rows in each thread."""
        self._rows = rows
        self._blocks: list[tuple[Documents, I64, int, int]] = []
        step = max(1, -(-rows.size // threads))
        runs = [slice(first, first + step) for first in range(0, rows.size, step)]
        loaded = in_order(lambda run: list(parts(rows[run])), runs, threads=threads)
        for run, found in zip(runs, loaded, strict=True):
            self._blocks += [(block, local, run.start + at.start, run.start + at.stop) for block, local, at in found]

    def parts(self, rows: I64) -> Iterator[tuple[Documents, I64, slice]]:
        """Some of them, as ``Texts.parts`` gives them."""
        places = np.searchsorted(self._rows, rows)
        ends = np.searchsorted(places, [stop for *_, stop in self._blocks]).tolist()
        for (documents, local, start, _), begin, end in zip(self._blocks, [0, *ends[:-1]], ends, strict=True):
            if end > begin:
                yield documents, local[places[begin:end] - start], slice(begin, end)


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
        self.rejected: PairStore | None = None
        """Pairs that were held against a threshold and are below it, if someone will ask for them."""
        self._is_containment = collection.spec.measure == CONTAINMENT
        self._chunk = self._chunk_now()
        self._buffers = Buffers(np.uint64)
        self._large = threading.Lock()
        """Held while texts are compared that have more than the share of a thread."""

    def __call__(
        self, left: I64, right: I64, threshold: float, *, parts: Parts | None = None, observer: Observer | None = None
    ) -> F64:
        """Exact similarity of each pair by the measure of the spec, or -1 where it is below the threshold.

        ``parts`` gives the texts if they lie elsewhere in a better order. The result does not depend on it, nor on
        threads or chunks. ``checked`` counts the pairs that are held against a threshold, but not those of
        which only the similarity is asked for (a threshold of 0).
        """
        similarity = np.full(left.size, -1.0)
        step = pairs_at_once(self.collection.space)
        for i in range(0, left.size, step):
            self._chunk = self._chunk_now()
            some = slice(i, i + step)
            for chunk, found in self._checked(left[some], right[some], threshold, parts or self.collection.texts.parts):
                similarity[i + chunk.pairs] = found
                self.checked += chunk.pairs.size if threshold > 0 else 0
                if observer is not None:
                    observer.advance(chunk.pairs.size)
        if self.rejected is not None and threshold > 0:
            below = similarity < 0
            self.rejected.add(left[below], right[below], similarity[below])
        return similarity

    def _chunk_now(self) -> int:
        """Return the shingles of documents that are checked together."""
        return min(CHUNK_SHINGLES * self.threads, self.collection.space.room(0.25) // SHINGLE_BYTES)

    def flush(self) -> None:
        """Let nothing be in memory only, before a checkpoint."""
        if self.rejected is not None:
            self.rejected.flush()

    def drop_buffers(self) -> None:
        """Give up the memory that is kept for the next chunk."""
        self._buffers.clear()

    def _checked(self, left: I64, right: I64, threshold: float, parts: Parts) -> Iterator[tuple[Chunk, F64]]:
        counts, lengths = self.collection.counts.take, self.collection.texts.lengths
        for chunks in self._together(verify_stage.chunks(left, right, counts, lengths, budget=self._chunk)):
            rows = chunks[0].docs if len(chunks) == 1 else distinct(np.concatenate([chunk.docs for chunk in chunks]))
            loaded = _Loaded(parts, rows, threads=self.threads if rows.size >= FEW_TEXTS else 1)
            for chunk in chunks:
                yield chunk, self._check_chunk(chunk, loaded, threshold)
            del loaded  # before the next are read

    def _together(self, chunks: Iterator[Chunk]) -> Iterator[list[Chunk]]:
        """Chunks whose texts fit into memory together: they are read at once, in the order of the input."""
        most = MOST_SPOOLED if self.collection.is_spooled else MOST_TEXTS
        room = min(most, self.collection.space.room(TEXTS_PART))
        held: list[Chunk] = []
        size = 0
        for chunk in chunks:
            more = int(chunk.lengths.sum())
            if held and size + more > room:
                yield held
                held, size = [], 0
            held.append(chunk)
            size += more
        if held:
            yield held

    def _check_chunk(self, chunk: Chunk, texts: _Loaded, threshold: float) -> F64:
        """Build the sets of a chunk's documents, each once, then merge its pairs."""
        total = int(chunk.counts.sum())
        need = SHINGLE_BYTES * total + TABLE_BYTES * int(chunk.counts.max(initial=0))
        if need > max(self._chunk * SHINGLE_BYTES, self.collection.space.budget.work):
            raise TooLargeError(chunk.docs[np.argsort(chunk.counts)[-2:]], need)
        # of one pair that is larger than a chunk, a set after the other: each takes a table of its own
        threads = self.threads if FEW <= total <= self._chunk else 1
        starts, sizes = starts_of(chunk.counts), np.empty(chunk.docs.size, dtype=np.int64)
        hashes = self._buffers.take(total, fresh=min(self._chunk, 4 * total))

        def build(docs: slice) -> None:
            for documents, local, part in texts.parts(chunk.docs[docs]):
                at = slice(docs.start + part.start, docs.start + part.stop)
                places = starts[at.start : at.stop + 1]
                build_rows(documents, local, chunk.counts[at], self.hasher, places, sizes[at], hashes)

        def check(pairs: slice) -> F64:
            left, right = chunk.left[pairs], chunk.right[pairs]
            similarity = verify_stage.check_pairs(
                *(left, right, sets, sets), threshold=threshold, is_containment=self._is_containment
            )
            if self.collection.spec.verify == TEXT:
                self._compare_shingles(chunk, left, right, texts, similarity, threshold)
            return similarity

        most = total if threads == 1 else total // (PIECES * threads)
        for _ in in_order(build, cut(chunk.counts, most), threads=threads):
            pass
        sets = PaddedSets(starts[:-1], sizes, hashes)
        step = chunk.left.size if threads == 1 else -(-chunk.left.size // (PIECES * threads))
        pieces = (slice(i, i + step) for i in range(0, chunk.left.size, step))
        similarity = np.concatenate(list(in_order(check, pieces, threads=threads)))
        self._buffers.give_back(hashes)
        return similarity

    def _compare_shingles(
        self, chunk: Chunk, left: I64, right: I64, texts: _Loaded, similarity: F64, threshold: float
    ) -> None:
        """Hold pairs of a chunk that reach the threshold against their texts."""
        near = np.flatnonzero(similarity >= 0)
        used, place = np.unique(np.concatenate((left[near], right[near])), return_inverse=True)
        rows, lengths = chunk.docs[used], np.sort(chunk.lengths[used])
        need = int(lengths.sum()) + COMPARED_BYTES * int(lengths[-2:].sum())
        if need > self.collection.space.budget.work:
            raise TooLargeError(chunk.docs[np.argsort(chunk.counts)[-2:]], need)
        checked = similarity[near]
        with self._large if need > self._chunk * SHINGLE_BYTES // self.threads else nullcontext():
            found: list[bytes] = []
            for documents, local, _ in texts.parts(rows):
                found += [documents.blob(at) for at in local.tolist()]
            verify_stage.compare_shingles(
                Documents.from_bytes(found),
                *(place[: near.size], place[near.size :], self.hasher, checked),
                threshold=threshold,
                is_containment=self._is_containment,
            )
        similarity[near] = checked
