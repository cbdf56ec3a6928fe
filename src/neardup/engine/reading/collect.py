"""Reading a collection: parse, normalise and sketch blocks in threads, gather them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np

from neardup.engine.observe import Observer
from neardup.engine.reading.collection import SCAN, Collection, Rows
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.errors import InputError
from neardup.params import Spec
from neardup.spool import MemoryColumn, Workdir
from neardup.stages import bands as band_stage
from neardup.stages import shingle as shingle_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages import text as text_stage
from neardup.stages.shingle import Hasher
from neardup.types import I64, Batch, ShingleSets

__all__ = ["Ledger", "collect"]

CHECKPOINT_BYTES = 512 << 20
"""Bytes of spool after which what was read is made to last."""
PREDICT_BYTES = 32 << 20
"""Bytes of input after which the room that the whole will need is predicted."""


class Ledger(Protocol):
    """Keeps the names of the rows, beside the collection."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it holds."""

    def enter(self, batch: Batch) -> None:
        """Take note of the next batch."""

    def first_of(self, rows: I64) -> int:
        """Pick one of rows by something other than its place."""

    def spill(self, workdir: Workdir) -> None:
        """Go on in files."""

    def state(self) -> dict[str, Any]:
        """JSON values from which ``restore`` makes it again, with its files."""

    def restore(self, workdir: Workdir, state: dict[str, Any]) -> None:
        """Become what an interrupted run's was."""


@dataclass(slots=True)
class _Sketched:
    batch: Batch
    rows: Rows
    short: int


def _sketch(task: Callable[[], Batch], spec: Spec, hasher: Hasher, space: Space) -> _Sketched:
    """One block's work, in a worker thread."""
    batch = task()
    documents = text_stage.normalize_documents(batch.documents, spec.normalize, items=spec.shingle.kind == "item")
    n = len(documents)
    # the other families need the counts only: one slot is the least that counting costs
    values = np.empty((n, spec.slots if spec.sketch == "hybrid" else 1), dtype=np.uint32)
    counts = np.zeros(n, dtype=np.int64)
    sketch_stage.count_and_sketch(documents, hasher, values=values, counts=counts)
    short = int(np.count_nonzero(counts < 0))
    np.abs(counts, out=counts)
    if spec.sketch in ("independent", "one-permutation", "universal"):
        sets = shingle_stage.build_sets(documents, hasher, counts)
        values = sketch_stage.sketch_sets(sets, family=spec.sketch, slots=spec.slots, seed=spec.seed).values
    prints = sketch_stage.fingerprints(documents)
    keys = None
    if space.workdir is not None and spec.sketch != "permutation":
        keys = band_stage.keys_of(values, spec.bands)
    return _Sketched(batch, Rows(documents, values, counts, prints, keys), short)


def collect(
    tasks: Iterator[Callable[[], Batch]],
    spec: Spec,
    *,
    total_bytes: int | None,
    threads: int,
    ledger: Ledger,
    observer: Observer,
    space: Space,
) -> Collection:
    """Read all batches and sketch them; ``ledger`` sees each batch in order, in the calling thread.

    Memory: the normalised texts, 4 bytes a slot and 40 bytes beside for each document, until that is more than the
    budget's store; from then on everything goes to files, and what was read lasts from checkpoint to checkpoint.
    """
    hasher = Hasher(spec.shingle, spec.seed)
    collection = Collection.new(spec, space)
    done = _restored(collection, ledger, space)
    if done is None:
        return collection
    consumed, predicted = 0, done > 0
    rest = islice(tasks, done, None)
    kept = collection.nbytes
    for block in in_order(lambda task: _sketch(task, spec, hasher, space), rest, threads=threads, ahead=threads + 2):
        ledger.enter(block.batch)
        done += 1
        consumed += block.batch.consumed
        observer.advance(block.batch.consumed)
        collection.read_bytes += block.batch.documents.nbytes
        if len(block.rows.documents) == 0:
            continue
        collection.short += block.short
        left = max(0, total_bytes - consumed) / max(consumed, 1) if total_bytes else 0.0
        collection.append(block.rows, min(left, 1e4))
        if total_bytes and not predicted and consumed >= min(PREDICT_BYTES, total_bytes):
            _predict(collection, space, left)
            predicted = True
        if space.workdir is None:
            if collection.nbytes + ledger.nbytes > space.budget.store:
                _spill(collection, ledger, space, observer, left)
        elif collection.nbytes - kept > CHECKPOINT_BYTES:
            kept = collection.nbytes
            _keep(collection, ledger, space, read=done)
    if spec.sketch == "permutation":
        _permute(collection, spec, hasher)
    if spec.sketch == "one-permutation":
        _tell_sparse(collection, spec, observer)
    if space.workdir is not None:
        _keep(collection, ledger, space, read=done, stage="read")
    return collection


def _keep(collection: Collection, ledger: Ledger, space: Space, **facts: Any) -> None:
    space.checkpoint(**facts, read_bytes=collection.read_bytes, short=collection.short, ledger=ledger.state())


def _restored(collection: Collection, ledger: Ledger, space: Space) -> int | None:
    """Blocks that an interrupted run had read, or None when it had read all."""
    if space.workdir is None:
        return 0
    state = space.state
    if "ledger" not in state:
        ledger.spill(space.workdir)
        return 0
    ledger.restore(space.workdir, state["ledger"])
    collection.read_bytes, collection.short = state["read_bytes"], state["short"]
    return None if "stage" in state else int(state["read"])


def _disk_need(collection: Collection, left: float) -> float:
    """Bytes of files for what was read and ``left`` times as much: columns, band keys, and a tenth for pairs."""
    keys = 0 if collection.keys else 8 * collection.spec.bands.bands * len(collection)
    return 1.1 * (collection.nbytes + keys) * (1 + left)


def _predict(collection: Collection, space: Space, left: float) -> None:
    """Raise at once when the whole will have to go to a disk that has no room for it."""
    if space.workdir is not None or collection.nbytes * (1 + left) > space.budget.store:
        space.need(_disk_need(collection, left), "the collection does not fit into the memory limit; working on disk")


def _spill(collection: Collection, ledger: Ledger, space: Space, observer: Observer, left: float) -> None:
    if collection.spec.sketch == "permutation":
        raise InputError(
            "sketch permutation needs the sets of the whole collection in memory at once, which a limit of "
            f"{space.budget.limit / 1e6:.0f} MB does not allow. Raise --memory (memory=), or take another sketch."
        )
    space.need(_disk_need(collection, left), "working on disk")
    workdir = space.open()
    observer.note(f"the collection is too large for the memory limit: going on in {workdir.path}")
    collection.spill(workdir)
    ledger.spill(workdir)


def _tell_sparse(collection: Collection, spec: Spec, observer: Observer) -> None:
    """Say how many documents leave so many slots empty that they meet strangers in the bands."""
    limit = sketch_stage.sparse_below(spec.slots, spec.bands)
    sparse = sum(int(np.count_nonzero((c > 0) & (c < limit))) for _, c in collection.counts.scan(SCAN))
    if sparse:
        observer.note(
            f"sketch one-permutation: {sparse} of {len(collection)} documents have fewer than {limit} shingles, which "
            f"leaves many of {spec.slots} slots empty; they meet many strangers, and checking those takes time. "
            "The sketch hybrid fills the slots."
        )


def _permute(collection: Collection, spec: Spec, hasher: Hasher) -> None:
    """True permutations need the whole universe first: all sets are built, then ranked slot by slot."""
    rows = np.arange(len(collection))
    sets = [
        shingle_stage.build_sets(documents, hasher, collection.counts.take(rows[part]))
        for documents, _, part in collection.texts.parts(rows)
    ]
    sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in sets)])
    hashes = np.concatenate([np.empty(0, np.uint64), *(part.hashes for part in sets)])
    whole = ShingleSets(np.cumsum(sizes, dtype=np.int64), hashes)
    values = MemoryColumn(np.uint32, spec.slots)
    values.append(sketch_stage.sketch_sets(whole, family=spec.sketch, slots=spec.slots, seed=spec.seed).values)
    collection.values = values
