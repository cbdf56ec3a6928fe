"""Reading a collection: parse, normalise and sketch blocks in threads, gather them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Protocol

import numpy as np

from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection, Rows
from neardup.engine.reading.families import check_room, finished_values, sketch_batch
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.params import Spec
from neardup.spool import Workdir
from neardup.stages import bands as band_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages import text as text_stage
from neardup.stages.shingle import Hasher
from neardup.types import I64, Batch

__all__ = ["RowNames", "collect"]

CHECKPOINT_BYTES = 512 << 20
"""Bytes of spool after which what was read is made to last."""
PREDICT_BYTES = 32 << 20
"""Bytes of input after which the room that the whole will need is predicted."""


class RowNames(Protocol):
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


def _sketch(task: Callable[[], Batch], spec: Spec, hasher: Hasher, space: Space) -> tuple[Batch, Rows]:
    """One block's work, in a worker thread."""
    batch = task()
    documents = text_stage.normalize_documents(batch.documents, spec.normalize, items=spec.shingle.kind == "item")
    values, counts = sketch_batch(documents, spec, hasher)
    short = int(np.count_nonzero(counts < 0))
    np.abs(counts, out=counts)
    prints = sketch_stage.fingerprints(documents)
    keys = band_stage.keys_of(values, spec.bands) if space.workdir is not None else None
    return batch, Rows(documents, values, counts, prints, keys, short)


def collect(
    tasks: Iterator[Callable[[], Batch]],
    spec: Spec,
    *,
    total_bytes: int | None,
    threads: int,
    names: RowNames,
    observer: Observer,
    space: Space,
) -> Collection:
    """Read all batches and sketch them; ``names`` sees each batch in order, in the calling thread.

    Memory: the normalised texts, 4 bytes a slot and 40 bytes beside for each document, until that is more than the
    budget's store; from then on everything goes to files, and what was read lasts from checkpoint to checkpoint.
    """
    hasher = Hasher(spec.shingle, spec.seed)
    collection = Collection.new(spec, space)
    done = _restored(collection, names, space)
    if done is None:
        return collection
    consumed, predicted = 0, done > 0
    rest = islice(tasks, done, None)
    kept = collection.nbytes
    sketched = in_order(lambda task: _sketch(task, spec, hasher, space), rest, threads=threads, ahead=threads + 2)
    for batch, rows in sketched:
        names.enter(batch)
        done += 1
        consumed += batch.consumed
        observer.advance(batch.consumed)
        collection.read_bytes += batch.documents.nbytes
        if len(rows.documents) == 0:
            continue
        left = max(0, total_bytes - consumed) / max(consumed, 1) if total_bytes else 0.0
        collection.append(rows, min(left, 1e4))
        if total_bytes and not predicted and consumed >= min(PREDICT_BYTES, total_bytes):
            _predict(collection, space, left)
            predicted = True
        if space.workdir is None:
            if collection.nbytes + names.nbytes > space.budget.store:
                _spill(collection, names, space, observer, left)
        elif collection.nbytes - kept > CHECKPOINT_BYTES:
            kept = collection.nbytes
            _keep(collection, names, space, read=done)
    collection.values = finished_values(spec, collection.values, collection.texts, collection.counts, hasher, observer)
    if space.workdir is not None:
        _keep(collection, names, space, read=done, stage="read")
    return collection


def _keep(collection: Collection, names: RowNames, space: Space, **facts: Any) -> None:
    space.checkpoint(**facts, read_bytes=collection.read_bytes, short=collection.short, names=names.state())


def _restored(collection: Collection, names: RowNames, space: Space) -> int | None:
    """Blocks that an interrupted run had read, or None when it had read all."""
    if space.workdir is None:
        return 0
    state = space.state
    if "names" not in state:
        names.spill(space.workdir)
        return 0
    names.restore(space.workdir, state["names"])
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


def _spill(collection: Collection, names: RowNames, space: Space, observer: Observer, left: float) -> None:
    check_room(collection.spec, space.budget.limit)
    space.need(_disk_need(collection, left), "working on disk")
    workdir = space.open()
    observer.note(f"the collection is too large for the memory limit: going on in {workdir.path}")
    collection.spill(workdir)
    names.spill(workdir)
