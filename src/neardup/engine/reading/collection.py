"""The documents of a run: read, normalised and sketched in threads, gathered in order, in memory or in a workdir."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME
from neardup.engine.observe import Observer
from neardup.engine.reading.families import Hashers, check_room, finished_values, read_slots, sketch_batch
from neardup.engine.reading.written import WrittenTexts, changed_texts
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.params import Spec
from neardup.spool import Column, MemoryColumn, MemoryTexts, Texts, Workdir
from neardup.stages import bands as band_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages import text as text_stage
from neardup.types import I32, I64, U32, U64, Batch, Documents

CHECKPOINT_BYTES = 512 << 20
"""Bytes of spool after which what was read is made to last."""
PREDICT_BYTES = 32 << 20
"""Bytes of input after which the room that the whole will need is predicted."""
_LENGTH_BITS = 24
_LONGEST = (1 << _LENGTH_BITS) - 1


@dataclass(frozen=True, slots=True)
class Rows:
    """What sketching made of one batch."""

    documents: Documents
    """Normalised."""
    values: U32
    """uint32[n, slots], signatures."""
    counts: I64
    """int64[n], shingles with repeats; 0 for an empty document."""
    prints: U64
    """uint64[n, 2], hash of the normalised text."""
    keys: U64 | None
    """uint64[bands, n], the key of each band; None when nobody wanted them yet."""
    short: int = 0
    """Of them, documents of fewer tokens than a shingle that is sketched has."""
    changed: Documents | None = None
    """Those that normalisation changed, as they were written, where that is kept."""


@dataclass(slots=True)
class Collection:
    """All documents of a run. A row is the place of a document in the input, from 0."""

    spec: Spec
    space: Space
    texts: Texts
    values: Column
    counts: Column
    prints: Column
    keys: list[Column] = field(default_factory=list)
    """Of each band, when in a workdir: in memory they are made from the signatures."""
    read_bytes: int = 0
    """Bytes of text as read."""
    short: int = 0
    """Documents of fewer tokens than a shingle that is sketched has."""
    changed: Texts | None = None
    """Texts that normalisation changed, as they were written, where that is kept."""

    @classmethod
    def new(cls, spec: Spec, space: Space, *, keep_written: bool = False) -> Collection:
        """An empty one, or the one that an interrupted run left in the workdir."""
        changed = _texts("written", space) if keep_written else None
        return cls(spec, space, *_columns(spec, space, read_slots(spec)), changed=changed)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """Bytes held, in memory or on disk."""
        columns = (self.values, self.counts, self.prints, *self.keys)
        texts = self.texts.nbytes + (self.changed.nbytes if self.changed is not None else 0)
        return texts + sum(column.nbytes for column in columns)

    @property
    def written(self) -> WrittenTexts | None:
        """The texts as they were written, where that is kept."""
        if self.changed is None:
            return None
        return WrittenTexts(self.texts, self.changed, is_items=self.spec.shingle.kind == "item")

    def append(self, rows: Rows, more: float) -> None:
        """Add a batch; ``more`` says how many times what there is so far is still to come."""
        self.short += rows.short
        self.texts.append(rows.documents)
        self.counts.append(rows.counts)
        self.prints.append(rows.prints)
        if self.changed is not None and rows.changed is not None:
            self.changed.append(rows.changed)
        if isinstance(self.values, MemoryColumn):
            self.values.append(rows.values, more)
            return
        self.values.append(rows.values)
        keys = rows.keys if rows.keys is not None else band_stage.keys_of(rows.values, self.spec.bands)
        for column, band in zip(self.keys, keys, strict=True):
            column.append(band)

    def spill(self) -> None:
        """Move everything into files of the workdir, which is open now."""
        texts, values, counts, prints, keys = _columns(self.spec, self.space, self.values.width)
        for first in range(0, len(self), ROWS_AT_A_TIME):
            last = min(first + ROWS_AT_A_TIME, len(self))
            block = self.values.slice(first, last)
            values.append(block)
            for column, band in zip(keys, band_stage.keys_of(block, self.spec.bands), strict=True):
                column.append(band)
            counts.append(self.counts.slice(first, last))
            prints.append(self.prints.slice(first, last))
        if self.changed is not None:
            self.changed = _moved(self.changed, _texts("written", self.space))
        texts = _moved(self.texts, texts)
        self.texts, self.values, self.counts, self.prints, self.keys = texts, values, counts, prints, keys

    @property
    def resident(self) -> U32 | None:
        """All signatures, when they are in memory."""
        return self.values.array if isinstance(self.values, MemoryColumn) else None

    def keys_at(self, band: int, rows: I64) -> U64:
        """uint64[m], keys of some rows in one band."""
        resident = self.resident
        if resident is None:
            keys: U64 = self.keys[band].take(rows)
            return keys
        return band_stage.keys_at(resident, rows, band, self.spec.bands)

    def scan_keys(self, band: int, weight: I32, part: int, parts: int) -> tuple[U64, I64]:
        """Keys and rows of the documents with weight whose key lies in one of ``parts`` equal ranges."""
        if self.resident is not None:
            rows = np.flatnonzero(weight)
            return band_stage.in_part(self.keys_at(band, rows), rows, part, parts)
        found = [(np.empty(0, np.uint64), np.empty(0, np.int64))]
        for first, keys in self.keys[band].scan(4 * ROWS_AT_A_TIME):
            inside = np.flatnonzero(weight[first : first + keys.size])
            found.append(band_stage.in_part(keys[inside], inside + first, part, parts))
        keys, rows = (np.concatenate(column) for column in zip(*found, strict=True))
        return keys, rows


def _texts(name: str, space: Space) -> Texts:
    return MemoryTexts() if space.workdir is None else space.workdir.texts(name)


def _moved(texts: Texts, to: Texts) -> Texts:
    """Texts in another place; their memory is given up block by block."""
    if isinstance(texts, MemoryTexts):
        while texts.blocks:
            to.append(texts.blocks.pop(0))
    return to


def _columns(spec: Spec, space: Space, slots: int) -> tuple[Texts, Column, Column, Column, list[Column]]:
    keyed = range(spec.bands.bands) if space.workdir is not None else ()
    return (
        _texts("texts", space),
        space.column("signatures", np.uint32, slots),
        space.column("counts", np.int64),
        space.column("prints", np.uint64, 2),
        [space.column(f"keys-{band:03d}", np.uint64) for band in keyed],
    )


def content_order(collection: Collection, rows: I64) -> I64:
    """``rows`` with the longest text first, then by text hash, then by row: the order to lead and to keep.

    Sorted by one number each, of length and leading bits of the hash; the few that share it are looked at again.
    Memory: 24 bytes a row.
    """
    key = np.empty(rows.size, dtype=np.uint64)
    for i in range(0, rows.size, ROWS_AT_A_TIME):
        part = rows[i : i + ROWS_AT_A_TIME]
        length = np.minimum(collection.texts.lengths(part), _LONGEST).astype(np.uint64)
        hashed = collection.prints.take(part)[:, 0] >> np.uint64(_LENGTH_BITS)
        key[i : i + ROWS_AT_A_TIME] = (np.uint64(_LONGEST) - length) << np.uint64(64 - _LENGTH_BITS) | hashed
    order = np.argsort(key, kind="stable")
    key = key[order]
    same = np.zeros(rows.size, dtype=np.bool_)
    same[1:] = key[1:] == key[:-1]
    again = same.copy()
    again[:-1] |= same[1:]
    at = np.flatnonzero(again)
    if at.size:
        close = rows[order[at]]
        prints = collection.prints.take(close)
        by_content = (close, prints[:, 1], prints[:, 0], -collection.texts.lengths(close))
        order[at] = order[at[np.lexsort((*by_content, np.cumsum(~same[at])))]]
    ordered: I64 = rows[order]
    return ordered


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


def _sketch(
    task: Callable[[], Batch], spec: Spec, hashers: Hashers, space: Space, *, keep_written: bool
) -> tuple[Batch, Rows]:
    """One block's work, in a worker thread."""
    batch = task()
    documents = text_stage.normalize_documents(batch.documents, spec.normalize, items=spec.shingle.kind == "item")
    values, counts, short = sketch_batch(documents, spec, hashers)
    prints = sketch_stage.fingerprints(documents)
    keys = band_stage.keys_of(values, spec.bands) if space.workdir is not None else None
    changed = changed_texts(batch.documents, documents) if keep_written else None
    return batch, Rows(documents, values, counts, prints, keys, short, changed)


def collect(
    tasks: Iterator[Callable[[], Batch]],
    spec: Spec,
    *,
    total_bytes: int | None,
    threads: int,
    names: RowNames,
    observer: Observer,
    space: Space,
    keep_written: bool = False,
) -> Collection:
    """Read all batches and sketch them; ``names`` sees each batch in order, in the calling thread.

    ``keep_written``: texts that normalisation changes are kept as they were written, too.

    Memory: the normalised texts, 4 bytes a slot and 40 bytes beside for each document, until that is more than the
    budget's store; from then on everything goes to files, and what was read lasts from checkpoint to checkpoint.
    """
    hashers = Hashers.of(spec)
    collection = Collection.new(spec, space, keep_written=keep_written)
    done = _restored(collection, names, space)
    if done is None:
        return collection
    consumed, predicted = 0, done > 0
    rest = islice(tasks, done, None)
    kept = collection.nbytes

    def sketch(task: Callable[[], Batch]) -> tuple[Batch, Rows]:
        return _sketch(task, spec, hashers, space, keep_written=keep_written)

    sketched = in_order(sketch, rest, threads=threads, ahead=threads + 2)
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
    collection.values = finished_values(
        spec, collection.values, collection.texts, collection.counts, hashers.checked, observer
    )
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
    collection.spill()
    names.spill(workdir)
