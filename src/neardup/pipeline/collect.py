"""Reading a collection: parse, normalise and sketch blocks in threads, gather them in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from neardup.params import Spec
from neardup.pipeline.observe import Observer
from neardup.stages import shingle as shingle_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages import text as text_stage
from neardup.stages.shingle import Hasher
from neardup.types import I64, U32, U64, Batch, Documents, ShingleSets

__all__ = ["Collection", "collect"]


@dataclass(frozen=True, slots=True)
class Collection:
    """All documents of a run, normalised, with their signatures."""

    blocks: list[Documents]
    first_rows: I64
    """int64[blocks + 1]: the row of each block's first document, and the number of rows."""
    values: U32
    """uint32[n, slots], signatures."""
    counts: I64
    """int64[n], shingles with repeats; 0 for an empty document."""
    fingerprints: U64
    """uint64[n, 2] of the normalised text."""
    lengths: I64
    """int64[n], bytes of the normalised text."""
    read_bytes: int
    """Bytes of text as read."""
    short: int
    """Documents of fewer than k tokens."""

    def __len__(self) -> int:
        return self.counts.size


@dataclass(slots=True)
class _Sketched:
    batch: Batch
    documents: Documents
    values: U32
    counts: I64
    fingerprints: U64
    short: int


def _sketch(task: Callable[[], Batch], spec: Spec, hasher: Hasher) -> _Sketched:
    """One block's work, in a worker thread."""
    batch = task()
    documents = text_stage.normalize_documents(batch.documents, spec.normalize, items=spec.shingle.kind == "item")
    n = len(documents)
    # the other families need the counts only: one slot is the least that counting costs
    values = np.empty((n, spec.slots if spec.sketch == "hybrid" else 1), dtype=np.uint32)
    counts = np.zeros(n, dtype=np.int64)
    sketch_stage.count_and_sketch(
        documents,
        kind=hasher.kind,
        k=hasher.k,
        key=hasher.key,
        letters=hasher.letters,
        values=values,
        counts=counts,
    )
    short = int(np.count_nonzero(counts < 0))
    np.abs(counts, out=counts)
    if spec.sketch in ("independent", "universal"):
        sets = shingle_stage.build_sets(documents, hasher, counts)
        values = sketch_stage.sketch_sets(sets, family=spec.sketch, slots=spec.slots, seed=spec.seed).values
    fingerprints = sketch_stage.fingerprints(documents)
    return _Sketched(batch, documents, values, counts, fingerprints, short)


def _in_order(
    tasks: Iterator[Callable[[], Batch]], work: Callable[[Callable[[], Batch]], _Sketched], threads: int
) -> Iterator[_Sketched]:
    """Run tasks in threads with a bounded look-ahead; results in the order of the tasks."""
    if threads == 1:
        yield from map(work, tasks)
        return
    waiting: deque[Future[_Sketched]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="neardup")
    try:
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class _Rows:
    """Signatures gathered block by block. Room is guessed from the input's size; untouched room costs no memory."""

    def __init__(self, slots: int) -> None:
        self.values = np.empty((0, slots), dtype=np.uint32)
        self.used = 0

    def append(self, values: U32, more: float) -> None:
        """Add a block; ``more`` says how many times its share of the input is still to come."""
        need = self.used + values.shape[0]
        if need > self.values.shape[0]:
            room = max(need + int(1.2 * more * need), need + need // 2)
            grown = np.empty((room, self.values.shape[1]), dtype=np.uint32)
            grown[: self.used] = self.values[: self.used]
            self.values = grown
        self.values[self.used : need] = values
        self.used = need


def collect(
    tasks: Iterator[Callable[[], Batch]],
    spec: Spec,
    *,
    total_bytes: int | None,
    threads: int,
    on_batch: Callable[[Batch], None],
    observer: Observer,
) -> Collection:
    """Read all batches and sketch them; ``on_batch`` sees each batch in order, in the calling thread.

    Memory: the normalised texts, 4 bytes a slot and 40 bytes beside for each document.
    """
    hasher = Hasher(spec.shingle, spec.seed)
    blocks: list[Documents] = []
    counts: list[I64] = [np.empty(0, np.int64)]
    prints: list[U64] = [np.empty((0, 2), np.uint64)]
    rows = _Rows(1 if spec.sketch == "permutation" else spec.slots)
    read_bytes = short = consumed = 0
    for done in _in_order(tasks, lambda task: _sketch(task, spec, hasher), threads):
        on_batch(done.batch)
        consumed += done.batch.consumed
        observer.advance(done.batch.consumed)
        read_bytes += done.batch.documents.nbytes
        if len(done.documents) == 0:
            continue
        short += done.short
        left = max(0, total_bytes - consumed) / max(consumed, 1) if total_bytes else 0.0
        rows.append(done.values, min(left, 1e4))
        blocks.append(done.documents)
        counts.append(done.counts)
        prints.append(done.fingerprints)
    sizes = [len(block) for block in blocks]
    first_rows = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64)
    lengths = [np.diff(block.offsets) for block in blocks]
    collection = Collection(
        blocks=blocks,
        first_rows=first_rows,
        values=rows.values[: rows.used],
        counts=np.concatenate(counts),
        fingerprints=np.concatenate(prints),
        lengths=np.concatenate([np.empty(0, np.int64), *lengths]),
        read_bytes=read_bytes,
        short=short,
    )
    if spec.sketch == "permutation":
        return _permuted(collection, spec, hasher)
    return collection


def _permuted(collection: Collection, spec: Spec, hasher: Hasher) -> Collection:
    """True permutations need the whole universe first: all sets are built, then ranked slot by slot."""
    sets = [
        shingle_stage.build_sets(block, hasher, collection.counts[first : first + len(block)])
        for block, first in zip(collection.blocks, collection.first_rows, strict=False)
    ]
    sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in sets)])
    hashes = np.concatenate([np.empty(0, np.uint64), *(part.hashes for part in sets)])
    whole = ShingleSets(np.cumsum(sizes, dtype=np.int64), hashes)
    signatures = sketch_stage.sketch_sets(whole, family=spec.sketch, slots=spec.slots, seed=spec.seed)
    return replace(collection, values=signatures.values)
