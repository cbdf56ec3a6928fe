"""Survey a collection before a run: read and count everything, and keep a sample of the texts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from neardup.engine.observe import Observer
from neardup.engine.threads import in_order
from neardup.inputs.names import Provenance
from neardup.inputs.source import Task
from neardup.params import Spec
from neardup.stages import sketch as sketch_stage
from neardup.stages import text as text_stage
from neardup.types import I64, U32, U64, Batch, Documents

NAMED_ROWS = 200_000
"""The number of documents after which the memory for ids is known well enough."""
LONGEST = 8 << 20
"""The most bytes of a text in the sample."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The distinct texts of a collection with the smallest hashes, which are the same for any order of the input."""

    documents: Documents
    """The normalised texts, sorted by hash, so that the first texts are a smaller sample of the same kind."""
    weight: I64
    """int64[m]: the number of documents in the collection that have each text."""

    def __len__(self) -> int:
        return len(self.documents)

    def first(self, size: int) -> Documents:
        """Return the first texts, about ``size`` bytes in all, but at least one text if there is any."""
        offsets = self.documents.offsets
        last = int(np.searchsorted(offsets, offsets[0] + size, side="right"))
        return self.documents.slice(0, min(len(self), max(1, last - 1)))


@dataclass(slots=True)
class Survey:
    """The counts and times of one pass over the input."""

    documents: int = 0
    read_bytes: int = 0
    """The bytes of text as read."""
    bytes: int = 0
    """The bytes of normalised text."""
    kept_bytes: int = 0
    """The bytes of normalised text that a run keeps, because they cannot be reread in parts."""
    bad: int = 0
    blank: int = 0
    distinct: int = 0
    """The number of distinct texts that are not empty."""
    copies: int = 0
    """The number of documents that are exact copies of another one, their representative."""
    copy_pairs: int = 0
    """The number of exact-copy pairs; for a text in more documents than the crowd limit, pairs with the first only."""
    id_bytes: int = 0
    """The bytes of memory for ids and record offsets."""
    read_seconds: float = 0.0
    """The CPU seconds of reading, normalising and hashing, in threads."""
    enter_seconds: float = 0.0
    """The CPU seconds of recording ids and record offsets, which one thread does alone."""
    sizes: U32 = field(default_factory=lambda: np.empty(0, np.uint32))
    """uint32[documents]: the bytes of normalised text of each document, ascending."""


@dataclass(slots=True)
class _Block:
    """The result of a thread's work on one batch."""

    batch: Batch
    hashes: U64
    sizes: U32
    prints: U64
    """uint64[c, 2]: the prints of the texts that may be in the sample."""
    texts: list[bytes]
    seconds: float


class _Sampler:
    """The texts with the smallest hashes, as many as there is room for, independent of their order in the input."""

    def __init__(self, most_bytes: int, most_texts: int) -> None:
        self._most_bytes, self._most_texts = most_bytes, most_texts
        self._bound = (1 << 64) - 1
        """The largest hash of a text that may still be in the sample."""
        self._prints: list[U64] = []
        self._texts: list[bytes] = []
        self._bytes = 0

    def chosen(self, hashes: U64, sizes: U32) -> I64:
        """Return the indices of the texts of a block that may be in the sample."""
        return np.flatnonzero((sizes > 0) & (sizes <= LONGEST) & (hashes <= np.uint64(self._bound)))

    def add(self, block: _Block) -> None:
        """Add the texts of a block, in O(log m) a text over all blocks."""
        self._prints.append(block.prints)
        self._texts += block.texts
        self._bytes += sum(map(len, block.texts))
        if self._bytes > 2 * self._most_bytes or len(self._texts) > 2 * self._most_texts:
            self._thin()

    def _thin(self) -> None:
        """Drop copies and the texts of the largest hashes until there is room."""
        prints, at = np.unique(np.concatenate([np.empty((0, 2), np.uint64), *self._prints]), axis=0, return_index=True)
        ends = np.cumsum([len(self._texts[i]) for i in at.tolist()], dtype=np.int64)
        fit = min(int(np.searchsorted(ends, self._most_bytes, side="right")), self._most_texts)
        if fit < at.size:
            self._bound = min(self._bound, int(prints[fit, 0]))
        self._prints, self._texts = [prints[:fit]], [self._texts[i] for i in at[:fit].tolist()]
        self._bytes = int(ends[fit - 1]) if fit else 0

    def sample(self, hashes: U64, number: I64) -> Sample:
        """Make the sample; ``hashes`` are all distinct hashes, ascending, and ``number`` has the documents of each."""
        self._thin()
        at = np.searchsorted(hashes, self._prints[0][:, 0])
        return Sample(Documents.from_bytes(self._texts), number[at])


def survey(
    tasks: Iterator[Task], spec: Spec, *, threads: int, observer: Observer, most_bytes: int, most_texts: int
) -> tuple[Survey, Sample]:
    """Read and count everything, and keep a sample of at most ``most_bytes`` bytes and ``most_texts`` texts.

    Only the seconds depend on the threads. The memory for ids is estimated from the first batches.
    Memory: 12 bytes a document, and two to three times ``most_bytes``.
    """
    found, provenance = Survey(), Provenance()
    sampler = _Sampler(most_bytes, most_texts)
    hashes, sizes, speeds = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)], []
    seen = 0
    for block in in_order(lambda task: _look(task, spec, sampler), tasks, threads=threads, ahead=threads + 2):
        batch = block.batch
        if seen < NAMED_ROWS:
            begin = time.thread_time()
            provenance.enter(batch)
            found.enter_seconds += time.thread_time() - begin
            seen += len(batch.documents)
        observer.advance(batch.consumed)
        hashes.append(block.hashes)
        sizes.append(block.sizes)
        sampler.add(block)
        found.read_bytes += batch.documents.nbytes
        found.bad += batch.bad
        found.blank += batch.blank
        size = int(block.sizes.sum(dtype=np.int64))
        found.kept_bytes += size if batch.places is None else 0
        speeds.append((block.seconds, size + 1))
        if batch.give_back is not None:
            batch.give_back()
    found.sizes = np.sort(np.concatenate(sizes))
    found.documents = found.sizes.size
    found.bytes = int(found.sizes.sum(dtype=np.int64))
    found.id_bytes = int(provenance.nbytes / max(seen, 1) * found.documents)
    found.enter_seconds *= found.documents / max(seen, 1)
    # the median batch counts, because the first batches also load kernels, which a run does once, at its start
    found.read_seconds = float(np.median([seconds / size for seconds, size in speeds] or [0.0])) * found.bytes
    distinct, number = np.unique(np.concatenate(hashes), return_counts=True)
    several = number[number > 1].astype(np.float64)
    found.distinct = number.size
    found.copies = int((several - 1).sum())
    found.copy_pairs = int(np.where(several > spec.crowd, several - 1, several * (several - 1) / 2).sum())
    return found, sampler.sample(distinct, number)


def _look(task: Task, spec: Spec, sampler: _Sampler) -> _Block:
    """Read, normalise and hash one batch in a worker thread."""
    begin = time.thread_time()
    batch = task()
    documents = text_stage.normalize_documents(batch.documents, spec.normalize, items=spec.shingle.kind == "item")
    prints = sketch_stage.fingerprints(documents)
    seconds = time.thread_time() - begin
    sizes = np.diff(documents.offsets).astype(np.uint32)
    at = sampler.chosen(prints[:, 0], sizes)
    texts = [documents.blob(i) for i in at.tolist()]
    return _Block(batch, prints[sizes > 0, 0], sizes, prints[at], texts, seconds)
