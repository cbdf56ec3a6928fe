"""Getting to know a collection before a run: everything is read and counted, and a sample of the texts is kept."""

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
"""Documents after which what ids take is known well enough."""
LONGEST = 8 << 20
"""Bytes of a text that is too long to be in the sample."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Distinct texts of a collection, those of the smallest hashes: the same whatever the order of the input."""

    documents: Documents
    """Normalised, by rising hash, so that the first of them are a smaller sample of the same kind."""
    weight: I64
    """int64[m]: documents of the collection that have the text."""

    def __len__(self) -> int:
        return len(self.documents)

    def first(self, size: int) -> Documents:
        """The first texts that have about so many bytes together, one at least where there are any."""
        offsets = self.documents.offsets
        last = int(np.searchsorted(offsets, offsets[0] + size, side="right"))
        return self.documents.slice(0, min(len(self), max(1, last - 1)))


@dataclass(slots=True)
class Survey:
    """What one pass over the input showed."""

    documents: int = 0
    read_bytes: int = 0
    """Bytes of text as read."""
    bytes: int = 0
    """Bytes of normalised text."""
    kept_bytes: int = 0
    """Of them, those that a run keeps, since they cannot be read again in parts."""
    bad: int = 0
    blank: int = 0
    distinct: int = 0
    """Distinct texts that are not empty."""
    copies: int = 0
    """Documents that have the text of another one, which stands for them."""
    copy_pairs: int = 0
    """Pairs of documents of one text; of a text in more documents than the crowd limit those with the first only."""
    id_bytes: int = 0
    """Memory for ids and places."""
    read_seconds: float = 0.0
    """CPU seconds of reading, normalising and hashing, in threads."""
    enter_seconds: float = 0.0
    """CPU seconds of taking note of ids and places, which one thread does alone."""
    sizes: U32 = field(default_factory=lambda: np.empty(0, np.uint32))
    """uint32[documents]: bytes of normalised text of each, rising."""


@dataclass(slots=True)
class _Block:
    """What a thread made of one batch."""

    batch: Batch
    hashes: U64
    sizes: U32
    prints: U64
    """uint64[c, 2] of the texts that may be in the sample."""
    texts: list[bytes]
    seconds: float


class _Sampler:
    """Keeps the texts of the smallest hashes, as many as there is room for, whatever the order in which they come."""

    def __init__(self, most_bytes: int, most_texts: int) -> None:
        self._most_bytes, self._most_texts = most_bytes, most_texts
        self._bound = (1 << 64) - 1
        """Texts above it have no chance any more."""
        self._prints: list[U64] = []
        self._texts: list[bytes] = []
        self._bytes = 0

    def chosen(self, hashes: U64, sizes: U32) -> I64:
        """Which of a block's texts may be in the sample."""
        return np.flatnonzero((sizes > 0) & (sizes <= LONGEST) & (hashes <= np.uint64(self._bound)))

    def add(self, block: _Block) -> None:
        """Take the texts of a block; O(log m) a text, over all blocks."""
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
        """The sample; ``hashes`` are all distinct ones, rising, and ``number`` the documents of each."""
        self._thin()
        at = np.searchsorted(hashes, self._prints[0][:, 0])
        return Sample(Documents.from_bytes(self._texts), number[at])


def survey(
    tasks: Iterator[Task], spec: Spec, *, threads: int, observer: Observer, most_bytes: int, most_texts: int
) -> tuple[Survey, Sample]:
    """Read everything, count it, and keep a sample of at most so many bytes and texts.

    Of what is found only the seconds depend on the threads. The first batches show what ids take.
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
    # of the median batch: the first ones also load kernels, which a run pays for once, at its start
    found.read_seconds = float(np.median([seconds / size for seconds, size in speeds] or [0.0])) * found.bytes
    distinct, number = np.unique(np.concatenate(hashes), return_counts=True)
    several = number[number > 1].astype(np.float64)
    found.distinct = number.size
    found.copies = int((several - 1).sum())
    found.copy_pairs = int(np.where(several > spec.crowd, several - 1, several * (several - 1) / 2).sum())
    return found, sampler.sample(distinct, number)


def _look(task: Task, spec: Spec, sampler: _Sampler) -> _Block:
    """One block's work, in a worker thread."""
    begin = time.thread_time()
    batch = task()
    documents = text_stage.normalize_documents(batch.documents, spec.normalize, items=spec.shingle.kind == "item")
    prints = sketch_stage.fingerprints(documents)
    seconds = time.thread_time() - begin
    sizes = np.diff(documents.offsets).astype(np.uint32)
    at = sampler.chosen(prints[:, 0], sizes)
    texts = [documents.blob(i) for i in at.tolist()]
    return _Block(batch, prints[sizes > 0, 0], sizes, prints[at], texts, seconds)
