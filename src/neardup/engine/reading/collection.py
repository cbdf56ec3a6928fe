"""Read, normalise and sketch the documents of a run in threads, and collect them in order, in memory or in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Protocol

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME
from neardup.engine.observe import Observer
from neardup.engine.reading.again import SourceTexts, made_texts, moved_texts
from neardup.engine.reading.families import Hashers, check_room, needs_memory, permuted, sketch_batch, tell_sparse
from neardup.engine.reading.signatures import Signatures
from neardup.engine.reading.written import WrittenTexts, changed_texts
from neardup.engine.space import DOCUMENT_BYTES, Budget, Space
from neardup.engine.threads import in_order
from neardup.errors import InputError
from neardup.params import Spec
from neardup.spool import Column, MemoryColumn, Texts, Workdir
from neardup.stages import bands as band_stage
from neardup.stages import screen as screen_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages import text as text_stage
from neardup.types import I64, U8, U64, Batch, Documents, Origin, Places

CHECKPOINT_BYTES = 512 << 20
"""The bytes of new data in files after which the next checkpoint is made."""
PREDICT_BYTES = 32 << 20
"""The bytes of input after which the space for the whole input is predicted."""
NEAR_BYTES = 100_000_000
"""The most bytes of rereadable texts with which all texts stay in memory ..."""
NEAR_PART = 0.2
"""... and their largest share of the memory for data, half of the share of ``Budget.store``.

On 100 MB of paragraphs, of which a third are copies or candidates, this saves a fifth of the CPU time. Fresh memory is
not free: if a tenth are copies or candidates, nothing is gained.
"""
MOST_DOCUMENTS = (1 << 31) - 1
"""The most documents: some columns store rows in 31 bits."""
_LENGTH_BITS = 24
_LONGEST = (1 << _LENGTH_BITS) - 1


SKETCHED = 1 << 10
"""Documents whose signatures are made at a time, few enough to stay in the cache until their keys are made."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The documents of one batch, sketched."""

    documents: Documents
    """The normalised documents."""
    counts: I64
    """int64[n], shingles with repeats; 0 for an empty document."""
    prints: U64
    """uint64[n, 2], the hash of each normalised text."""
    keys: U8
    """uint8[bands, n, KEY_BYTES], the key of each band."""
    bits: U64
    """uint64[n, words], the bits of the signatures by which candidate pairs are screened."""
    key_counts: I64
    """int64[bands, PARTS], the number of rows with keys in each part that ``stages.bands.grouped`` can make."""
    short: int = 0
    """The number of documents with fewer tokens than a sketched shingle."""
    changed: Documents | None = None
    """The documents that normalisation changed, as they were written, or None if these are not kept."""


@dataclass(slots=True)
class Collection:
    """All documents of a run. A row is the index of a document in the input, from 0."""

    spec: Spec
    space: Space
    hashers: Hashers
    texts: SourceTexts
    values: Signatures
    counts: Column
    prints: Column
    bits: Column
    """uint64[n, words], the bits by which candidate pairs are screened, empty if there are no bands."""
    keys: list[Column] = field(default_factory=list)
    """The keys of each band, uint8[n, KEY_BYTES]."""
    key_counts: I64 | None = None
    """The sum of ``Rows.key_counts`` over all batches, or None if not all rows were counted."""
    read_bytes: int = 0
    """The bytes of text that were read."""
    short: int = 0
    """The number of documents with fewer tokens than a sketched shingle."""
    changed: Texts | None = None
    """The texts that normalisation changed, as they were written, or None if these are not kept."""
    is_near: bool = False
    """Whether all texts are in memory, because the collection seems to be small."""

    @classmethod
    def new(cls, spec: Spec, space: Space, *, keep_written: bool = False) -> Collection:
        """Create an empty collection, or reopen the one that an interrupted run left in the workdir."""
        hashers = Hashers.of(spec)
        counts, prints, bits, *keys = _columns(spec, space)
        is_item = spec.shingle.kind == "item"
        normalize = partial(text_stage.normalize_documents, normalize=spec.normalize, items=is_item)
        # the joins, and sketches that need all sets in memory, read all texts more than once
        keep, near = spec.sketch == "none" or needs_memory(spec), space.workdir is None
        texts = SourceTexts(space, prints, normalize, keep=keep, near=near and not keep)
        changed = made_texts("written", space) if keep_written else None
        values = Signatures(spec, hashers, texts)
        return cls(spec, space, hashers, texts, values, counts, prints, bits, keys, changed=changed, is_near=near)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """The bytes held, in memory or on disk."""
        texts = self.texts.nbytes + (self.changed.nbytes if self.changed is not None else 0)
        columns = (self.counts, self.prints, self.bits, *self.keys)
        return texts + self.values.nbytes + sum(column.nbytes for column in columns)

    @property
    def spare_bytes(self) -> int:
        """The bytes of texts that are in memory although they could be reread. They are part of ``nbytes``."""
        return self.texts.near_bytes

    @property
    def written(self) -> WrittenTexts | None:
        """The texts as they were written, or None if they are not kept."""
        if self.changed is None:
            return None
        return WrittenTexts(self.texts, self.changed, is_items=self.spec.shingle.kind == "item")

    def append(self, rows: Rows, places: Places | None, more: float) -> bool:
        """Add a batch, and return whether the memory of its documents stays in use.

        ``more`` is the predicted rest of the input, as a multiple of the input so far.
        """
        self.short += rows.short
        if self.key_counts is None and not len(self):
            self.key_counts = rows.key_counts
        elif self.key_counts is not None:
            self.key_counts += rows.key_counts
        self.counts.append(rows.counts)
        self.prints.append(rows.prints)
        for column, values in zip((self.bits, *self.keys), (rows.bits, *rows.keys), strict=True):
            if isinstance(column, MemoryColumn):
                column.append(values, more)
            else:
                column.append(values)
        if self.changed is not None and rows.changed is not None:
            self.changed.append(rows.changed)
        return self.texts.add(rows.documents, places) or self.changed is not None

    def leave(self) -> None:
        """Release the texts that can be reread, because the collection turned out to be large."""
        self.is_near = False
        self.texts.leave()

    def spill(self) -> None:
        """Move everything into files of the workdir, which is open."""
        self.leave()
        columns = _columns(self.spec, self.space)
        for old, new in zip((self.counts, self.prints, self.bits, *self.keys), columns, strict=True):
            for _, block in old.scan(ROWS_AT_A_TIME):
                new.append(block)
        if self.changed is not None:
            self.changed = moved_texts(self.changed, made_texts("written", self.space))
        self.counts, self.prints, self.bits, *self.keys = columns
        self.texts.spill(self.space, self.prints)

    @property
    def is_spooled(self) -> bool:
        """Whether the collection is in files of the workdir."""
        return not isinstance(self.counts, MemoryColumn)

    def drop_keys(self) -> None:
        """Release the keys if they are in memory. Buckets cannot be grouped afterwards."""
        if not self.is_spooled:
            self.keys = []

    def drop_bits(self) -> None:
        """Free the bits if they are in memory, as soon as all candidate pairs were screened."""
        if not self.is_spooled:
            self.bits = MemoryColumn(np.uint64, self.spec.screening.words)

    def key_blocks(self, band: int) -> band_stage.KeyBlocks:
        """Return the keys of all rows in one band, in the form that ``stages.bands.grouped`` takes."""
        return lambda: self.keys[band].scan(KEYS_AT_A_TIME)


KEYS_AT_A_TIME = 1 << 20


def _columns(spec: Spec, space: Space) -> list[Column]:
    """Make the columns of counts, prints, bits and the keys of each band."""
    return [
        space.column("counts", np.int64),
        space.column("prints", np.uint64, 2),
        space.column("bits", np.uint64, spec.screening.words),
        *(space.column(f"keys-{band:03d}", np.uint8, band_stage.KEY_BYTES) for band in range(spec.bands.bands)),
    ]


def content_order(collection: Collection, rows: I64) -> I64:
    """Return ``rows`` in the order to lead and to keep: the longest text first, then by text hash, then by row.

    The sort key is one number, made of the length and the leading bits of the hash. The few rows with equal numbers are
    sorted again in full. Memory: 24 bytes a row.
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
    """Keeps the names of the rows of a collection."""

    @property
    def nbytes(self) -> int:
        """The bytes of memory held."""

    def enter(self, batch: Batch) -> None:
        """Add the names of the next batch."""

    def first_of(self, rows: I64) -> int:
        """Choose one of ``rows`` by something other than its position."""

    def spill(self, workdir: Workdir) -> None:
        """Move the names to files, and continue there."""

    def state(self) -> dict[str, Any]:
        """Return JSON values from which, together with the files, ``restore`` rebuilds the names."""

    def restore(self, workdir: Workdir, state: dict[str, Any]) -> None:
        """Restore the names of an interrupted run."""


def sketch_rows(
    batch: Batch, documents: Documents, spec: Spec, hashers: Hashers, *, keep_written: bool = False
) -> Rows:
    """Compute the values that a collection keeps of a batch. ``documents`` are its normalised documents."""
    n = len(documents)
    keys = np.zeros((spec.bands.bands, n, band_stage.KEY_BYTES), dtype=np.uint8)
    has_values = spec.bands.bands > 0 and not needs_memory(spec)  # otherwise none are needed, or they are made later
    bits = np.zeros((n if has_values else 0, spec.screening.words), dtype=np.uint64)
    counts = np.empty(n, dtype=np.int64)
    short = 0
    for first in range(0, n, SKETCHED):
        some = slice(first, min(first + SKETCHED, n))
        values, counts[some], more = sketch_batch(documents.slice(some.start, some.stop), spec, hashers)
        if has_values:
            band_stage.put_short_keys(values, spec.bands, first, keys)
            screen_stage.put_bits(values, spec.screening, first, bits)
        short += more
    key_counts = band_stage.counts_of(keys)
    prints = sketch_stage.fingerprints(documents)
    changed = changed_texts(batch.documents, documents) if keep_written else None
    return Rows(documents, counts, prints, keys, bits, key_counts, short, changed)


def normalized(batch: Batch, spec: Spec) -> Documents:
    """Return the documents of a batch, normalised as they are compared."""
    return text_stage.normalize_documents(batch.documents, spec.normalize, items=spec.shingle.kind == "item")


def _sketch(task: Callable[[], Batch], collection: Collection, *, keep_written: bool) -> tuple[Batch, Rows]:
    """Read, normalise and sketch one batch, in a worker thread."""
    batch = task()
    documents = normalized(batch, collection.spec)
    rows = sketch_rows(batch, documents, collection.spec, collection.hashers, keep_written=keep_written)
    return batch, rows


def collect(
    tasks: Iterator[Callable[[], Batch]],
    spec: Spec,
    *,
    total_bytes: int | None,
    threads: int,
    names: RowNames,
    observer: Observer,
    space: Space,
    reopened: Callable[[Sequence[dict[str, Any]]], list[Origin]] | None = None,
    keep_written: bool = False,
) -> Collection:
    """Read all batches and sketch them. ``names`` receives each batch in order, in the calling thread.

    With ``keep_written``, texts that normalisation changes are also kept as they were written. ``reopened`` makes the
    record files of a resumed run from their saved facts.

    Memory: for each document 5 bytes a band, 8 for each word of its bits, and 40 more, with the texts that cannot be
    reread, until this exceeds the budget's store. From then on everything goes to files, and each checkpoint makes the
    documents read so far durable.
    """
    collection = Collection.new(spec, space, keep_written=keep_written)
    done = _restored(collection, names, space, reopened)
    if done is None:
        check_count(collection, space, 0.0)
        return collection
    consumed, predicted = 0, done > 0
    rest = islice(tasks, done, None)
    kept = collection.nbytes

    def sketch(task: Callable[[], Batch]) -> tuple[Batch, Rows]:
        return _sketch(task, collection, keep_written=keep_written)

    sketched = in_order(sketch, rest, threads=threads, ahead=threads + 2)
    for batch, rows in sketched:
        names.enter(batch)
        done += 1
        consumed += batch.consumed
        observer.advance(batch.consumed)
        collection.read_bytes += batch.documents.nbytes if batch.text_bytes is None else batch.text_bytes
        if len(rows.documents) == 0:
            continue
        left = max(0, total_bytes - consumed) / max(consumed, 1) if total_bytes else 0.0
        is_held = collection.append(rows, batch.places, min(left, 1e4))
        check_count(collection, space, left)
        if batch.give_back is not None and not is_held:
            batch.give_back()
        if collection.is_near and collection.spare_bytes * (1 + left) > most_near(space.budget):
            collection.leave()
        if total_bytes and not predicted and consumed >= min(PREDICT_BYTES, total_bytes):
            _predict(collection, space, observer, left)
            predicted = True
        if space.workdir is None:
            if collection.is_near and collection.nbytes + names.nbytes > space.budget.store:
                collection.leave()
            if collection.nbytes + names.nbytes > space.budget.store:
                _spill(collection, names, space, observer, left)
        elif collection.nbytes - kept > CHECKPOINT_BYTES:
            kept = collection.nbytes
            _keep(collection, names, space, read=done)
    _finish(collection, observer)
    if space.workdir is not None:
        _keep(collection, names, space, read=done, stage="read")
    return collection


def most_near(budget: Budget) -> int:
    """Return the most bytes of rereadable texts with which all texts stay in memory."""
    return min(NEAR_BYTES, budget.share(NEAR_PART))


def _finish(collection: Collection, observer: Observer) -> None:
    """Do the work that needs all documents, and warn the user if many slots stay empty."""
    spec, counts = collection.spec, collection.counts
    if spec.sketch == "one-permutation":
        tell_sparse(spec, counts, observer)
    if needs_memory(spec):
        values = permuted(spec, collection.texts, counts, collection.hashers.checked)
        collection.values.replace(values)
        collection.key_counts = None
        collection.keys = [MemoryColumn(np.uint8, band_stage.KEY_BYTES) for _ in range(spec.bands.bands)]
        for column, band in zip(collection.keys, band_stage.short_keys(values, spec.bands), strict=True):
            column.append(band)
        collection.bits.append(screen_stage.bits_of(values, spec.screening))


def _keep(collection: Collection, names: RowNames, space: Space, **facts: Any) -> None:
    read = {"read_bytes": collection.read_bytes, "short": collection.short, "origins": collection.texts.state()}
    space.checkpoint(**facts, **read, names=names.state())


def _restored(
    collection: Collection,
    names: RowNames,
    space: Space,
    reopened: Callable[[Sequence[dict[str, Any]]], list[Origin]] | None,
) -> int | None:
    """Return the number of batches that an interrupted run has read, or None if it has read all."""
    if space.workdir is None:
        return 0
    state = space.state
    if "names" not in state:
        names.spill(space.workdir)
        return 0
    names.restore(space.workdir, state["names"])
    collection.read_bytes, collection.short = state["read_bytes"], state["short"]
    if reopened is not None:
        collection.texts.restore(reopened(state["origins"]))
    return None if "stage" in state else int(state["read"])


def _disk_need(collection: Collection, left: float) -> float:
    """Return the bytes of files for the documents read and ``left`` times as many, with a tenth more for pairs."""
    return 1.1 * (collection.nbytes - collection.spare_bytes) * (1 + left)


def check_count(collection: Collection, space: Space, left: float) -> None:
    """Raise InputError if more documents are read than can be searched. ``left`` times as many may follow."""
    count = len(collection)
    space.need_documents(count, int(count * (1 + left)))
    if count > MOST_DOCUMENTS:
        raise InputError(
            f"there are more than {MOST_DOCUMENTS} documents, which is as many as pairs can be numbered for. Split the "
            "collection into parts."
        )


def _predict(collection: Collection, space: Space, observer: Observer, left: float) -> None:
    """Raise InputError at once if the work will need more disk than is free, and warn of too many documents."""
    expected = int(len(collection) * (1 + left))
    if DOCUMENT_BYTES * expected > 0.9 * space.budget.work:
        observer.note(
            f"by the size of the input there are about {expected} documents, for which the memory limit does not do: "
            f"give at least {space.limit_for(DOCUMENT_BYTES * expected)}. The run ends when it has met too many."
        )
    if expected > MOST_DOCUMENTS:
        observer.note(
            f"by the size of the input there are about {expected} documents, and pairs can be numbered for "
            f"{MOST_DOCUMENTS}. The run ends when it has met more. Split the collection into parts."
        )
    held = collection.nbytes - (collection.spare_bytes if collection.is_near else 0)
    if space.workdir is not None or held * (1 + left) > space.budget.store:
        space.need(_disk_need(collection, left), "the collection does not fit into the memory limit; working on disk")


def _spill(collection: Collection, names: RowNames, space: Space, observer: Observer, left: float) -> None:
    check_room(collection.spec, space.budget.limit)
    space.need(_disk_need(collection, left), "working on disk")
    workdir = space.open()
    observer.note(f"the collection is too large for the memory limit: going on in {workdir.path}")
    collection.spill()
    names.spill(workdir)
