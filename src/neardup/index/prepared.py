"""Documents on their way into an index or a query: named, normalised, sketched; band keys, hashes and checksums made.

Nothing here reads or writes an index, so all of it can be done in threads before a lock is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neardup.engine.threads import in_order
from neardup.errors import InputError
from neardup.index.outcomes import Added
from neardup.index.statements import Row, TailRow
from neardup.inputs.items import COLLECTIONS, ItemError, join_items, split_items
from neardup.inputs.json_columns import columns_json
from neardup.inputs.names import ids_of
from neardup.inputs.source import INT64, BadRecord
from neardup.kernels import asking, stored
from neardup.params import Spec
from neardup.stages import bands as band_stage
from neardup.stages import shingle as shingle_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages import text as text_stage
from neardup.stages.characters import table_of
from neardup.stages.shingle import Hasher
from neardup.types import I64, SLACK, U32, U64, Batch, Documents, PaddedSets

if TYPE_CHECKING:
    from neardup.inputs.reader import Reader

NUMBER, EMPTY, SHORT, COLUMNS = 1, 2, 4, 8
"""Kinds of a document: its id was given as a number; it has no shingle; it has fewer tokens than a shingle; it has
columns, and half of their hash is in the upper half of the kind."""
COLUMN_BITS = COLUMNS | ((1 << 31) - 1) << 32
"""The bits of a kind that tell of columns."""
_SLACK = bytes(SLACK)
_S32 = np.uint64(32)


@dataclass(frozen=True, slots=True)
class PreparedDocuments:
    """Documents ready to be looked up or stored."""

    documents: Documents
    """As they were given."""
    normal: Documents
    """The normalised documents."""
    keys: U32
    """uint32[bands + 1, n]: the upper halves of the band keys and, if there are ids, of the hashes of the ids."""
    prints: U64
    """uint64[n]: hashes of the normalised texts; 0 for queries."""
    ids: list[str]
    """The ids as text; empty for queries."""
    kinds: I64
    """int64[n]: flags NUMBER, EMPTY, SHORT, and COLUMNS with the hash of the columns."""
    text_prints: U64
    """uint64[n]: hashes of the texts as they were given; 0 for queries."""
    id_prints: U64
    """uint64[n]: hashes of the ids; 0 for queries."""
    columns: list[str | None] | None = None
    """The columns of each document as JSON; None if no document has any."""

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def has_shingles(self) -> NDArray[np.bool_]:
        """bool[n]: False for empty documents."""
        has: NDArray[np.bool_] = (self.kinds & EMPTY) == 0
        return has

    def at(self, rows: I64 | slice) -> PreparedDocuments:
        """Return some of the documents, in ascending order; a slice shares the buffers."""
        picked = np.arange(len(self))[rows].tolist()
        if len(picked) == len(self):
            return self

        def some(block: Documents) -> Documents:
            if isinstance(rows, slice):
                return block.slice(rows.start, rows.stop)
            return Documents.from_bytes([block.blob(row) for row in picked])

        documents, normal, ids = some(self.documents), some(self.normal), [self.ids[row] for row in picked]
        columns = self.columns and [self.columns[row] for row in picked]
        keys, prints, kinds = self.keys[:, rows], self.prints[rows], self.kinds[rows]
        hashes = self.text_prints[rows], self.id_prints[rows]
        return PreparedDocuments(documents, normal, keys, prints, ids, kinds, *hashes, columns)

    def counted(self, status: list[str]) -> Added:
        """Count the documents by outcome; ``status`` has a word for each."""
        kinds, added = self.kinds, status.count("added")
        if added < len(status):
            kinds = kinds[np.array([word in ("added", "replaced") for word in status], dtype=np.bool_)]
        return Added(
            added=added,
            replaced=status.count("replaced"),
            skipped=status.count("skipped"),
            empty=int(np.count_nonzero(kinds & EMPTY)),
            short=int(np.count_nonzero(kinds & SHORT)),
        )

    def rows(self, first: int) -> Iterator[tuple[Any, ...]]:
        """Return the documents as they are stored, numbered from ``first``."""
        numbers = first + np.arange(len(self))
        sums = checksums(self.text_prints, self.id_prints, numbers, self.kinds)
        whole = memoryview(self.documents.data)  # type: ignore[arg-type]
        texts = [whole[begin:end] for begin, end in pairwise(self.documents.offsets.tolist())]  # without a copy
        columns = self.columns or [None] * len(self)
        return zip(numbers.tolist(), self.ids, self.kinds.tolist(), sums.tolist(), columns, texts, strict=True)


class Sketcher:
    """Turns documents into ``PreparedDocuments`` as a spec says; thread-safe."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._stored = Hasher(spec.shingle, spec.seed)
        self._private = Hasher.private(spec.shingle)
        self.is_item = spec.shingle.kind == "item"
        self._table, self._is_quick = table_of(spec.normalize), spec.normalize.is_form_only
        self._shape = (spec.slots, sketch_stage.rounds_of(spec.slots), spec.bands.bands, spec.bands.rows)

    def normalized(self, documents: Documents) -> Documents:
        return text_stage.normalize_documents(documents, self.spec.normalize, items=self.is_item)

    def prepare_query(self, documents: Documents) -> PreparedDocuments:
        """Prepare documents for a lookup only: they have no ids and are not stored."""
        normal, keys, kinds = self._sketched(documents)
        none = np.zeros(kinds.size, dtype=np.uint64)
        return PreparedDocuments(documents, normal, keys, none, [""] * kinds.size, kinds, none, none)

    def prepare(
        self, documents: Documents, ids: Sequence[int | str], columns: Sequence[str | None] | None = None
    ) -> PreparedDocuments:
        """Prepare documents for storing; each id is a text or a number, ``columns`` are JSON."""
        names = [name if isinstance(name, str) else str(name) for name in ids]
        id_prints = _prints(Documents.from_texts(names))
        normal, keys, kinds = self._sketched(documents)
        kinds |= np.fromiter((0 if isinstance(name, str) else NUMBER for name in ids), np.int64, len(names))
        kept = None if columns is None or not any(columns) else list(columns)
        if kept is not None:
            kinds |= column_marks(kept)
        keys[-1] = id_prints >> _S32
        text_prints = _prints(documents)
        prints = text_prints if normal is documents else _prints(normal)
        return PreparedDocuments(documents, normal, keys, prints, names, kinds, text_prints, id_prints, kept)

    def from_given(self, ids: Any, texts: Any, columns: Any = None) -> PreparedDocuments:
        """Prepare documents as a user gives them: as many ids and columns as texts, or one of each; else InputError."""
        if isinstance(ids, (str, int, np.integer)):
            ids, texts, columns = [ids], [texts], None if columns is None else [columns]
        elif isinstance(texts, str):
            raise InputError("several ids and one text were given. Give as many texts as ids.")
        names = [checked_id(value) for value in as_iterable(ids, "ids")]
        documents = Documents.from_bytes(self.blobs(texts))
        if len(names) != len(documents):
            raise InputError(f"{len(names)} ids and {len(documents)} texts were given. Give as many of both.")
        if columns is None:
            return self.prepare(documents, names)
        objects = list(as_iterable(columns, "columns"))
        if len(objects) != len(names):
            raise InputError(f"{len(names)} ids and {len(objects)} columns were given. Give a dict, or None, for each.")
        return self.prepare(documents, names, list(map(checked_columns, names, objects)))

    def asked(self, texts: Any) -> tuple[bool, list[bytes]]:
        """Return whether a single text or set is asked about, and the bytes of each one asked about."""
        if isinstance(texts, Iterator):
            texts = list(texts)
        is_one = isinstance(texts, str)
        if not is_one and self.is_item:
            is_one = not any(isinstance(value, COLLECTIONS) for value in as_iterable(texts, "texts"))
        return is_one, self.blobs([texts] if is_one else texts)

    def _sketched(self, documents: Documents) -> tuple[Documents, U32, I64]:
        """Return normalised documents, their band keys with a spare row, and marks for EMPTY and SHORT documents."""
        normal = self.normalized(documents)
        values = np.empty((len(documents), self.spec.slots), dtype=np.uint32)
        counts = np.empty(len(documents), dtype=np.int64)
        sketch_stage.count_and_sketch(normal, self._stored, values=values, counts=counts)
        kinds = np.zeros_like(counts)
        if counts.min(initial=1) <= 0:
            kinds[counts == 0], kinds[counts < 0] = EMPTY, SHORT  # -1: fewer tokens than a shingle has
        keys = np.zeros((self.spec.bands.bands + 1, counts.size), dtype=np.uint32)
        keys[:-1] = band_stage.keys_of(values, self.spec.bands) >> _S32
        return normal, keys, kinds

    def sets(self, normal: Documents) -> PaddedSets:
        """Return the shingle sets of normalised documents, to compare and discard: their hash key is private."""
        return shingle_stage.build_padded(normal, self._private)

    def candidates(self, blob: bytes, table: I64) -> tuple[bytes, dict[int, int] | None]:
        """Return a text normalised, and bands of each candidate by its number, in the runs of a view's ``table``.

        None if there are more than FEW candidates, or a run is damaged: then look it up as one of many texts.
        """
        is_normal, out = not self._is_quick, np.empty((asking.FEW, 2), dtype=np.int64)
        while True:
            if is_normal:
                blob = self.normalized(Documents.from_bytes([blob])).blob(0)
            text = np.frombuffer(blob + _SLACK, dtype=np.uint8), len(blob)
            count = asking.candidates(*self._how(self._stored, is_normal), *text, self._shape, table, out)
            if count != asking.NOT_NORMAL:
                return blob, dict(out[:count].tolist()) if count >= 0 else None
            is_normal = True

    def similarities(self, normal: bytes, rows: list[Row], threshold: float) -> list[float] | None:
        """Return the exact similarity of a normalised text to each stored document, -1 below the threshold.

        None if a document must be normalised first, or is not what was stored: then check it as one of many.
        """
        if not self._is_quick:
            return None
        numbers, ids, kinds, sums, texts = zip(*rows, strict=True)
        out = np.empty(len(rows), dtype=np.float64)
        try:
            blobs = [normal, *texts, *(id.encode() for id in ids)]
            data = np.frombuffer(b"".join([*blobs, _SLACK]), dtype=np.uint8)
            facts = np.array([*map(len, blobs), *numbers, *kinds, *sums], dtype=np.int64)
        except (AttributeError, TypeError, ValueError, OverflowError):  # not even of the type that was stored
            return None
        count = asking.similarities(*self._how(self._private, False), data, facts, threshold, out)
        return out.tolist() if count >= 0 else None

    def _how(self, hasher: Hasher, is_normal: bool) -> tuple[Any, ...]:
        """Return the first arguments of the kernels for a single text."""
        is_same = is_normal or self.spec.normalize.form == "none"
        return tuple(hasher.params), tuple(self._table.now), is_same, self.is_item

    def text(self, blob: bytes) -> str:
        """Return a stored document as text; the items of a set are separated by spaces."""
        return blob.replace(text_stage.SEPARATOR, b" ").decode("utf-8", "replace")

    def blobs(self, texts: Any) -> list[bytes]:
        """Return the bytes of texts, or of sets if the index holds sets. Raises InputError, which names a bad one."""
        values = enumerate(as_iterable(texts, "texts"))
        return [self.blob(value, f"text {position} (counted from 0)") for position, value in values]

    def blob(self, value: Any, what: str) -> bytes:
        """Return the bytes of one text, or set. Raises InputError, which calls it ``what``, if it cannot be used."""
        try:
            if self.is_item and isinstance(value, COLLECTIONS):
                return join_items(value)
            if isinstance(value, str):
                return split_items(value) if self.is_item else value.encode("utf-8")
        except ItemError as exc:
            raise InputError(f"{what}: {exc}.") from exc
        except UnicodeEncodeError as exc:
            fault = f"it has a lone surrogate at character {exc.start + 1}"
            raise InputError(f"{what}: {fault}. Decode it with errors='replace'.") from exc
        wanted = "a list or set of strings or whole numbers" if self.is_item else "a string"
        raise InputError(f"{what}: it is of type {type(value).__name__}. Give {wanted}.")


def as_iterable(values: Any, what: str) -> Iterable[Any]:
    """Return the values of a list, a column of a frame, an Arrow array or any other iterable; else InputError."""
    if hasattr(values, "columns") and hasattr(values, "__getitem__"):  # a frame or a table, whose names it would give
        kind = type(values).__name__
        raise InputError(f"{what} is a whole {kind}. Give one column of it, such as frame['text'].")
    if hasattr(values, "to_pylist"):
        return values.to_pylist()  # type: ignore[no-any-return]
    if isinstance(values, (bytes, bytearray, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"{what} is of type {type(values).__name__}. Give a list of them, or one.")
    return values


def id_text(value: Any) -> str:
    """Return an id as text, so that 17 and "17" are equal; InputError unless it is a string or a whole number."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as exc:
            raise InputError(f"the id {value!r} has a lone surrogate. Decode it with errors='replace'.") from exc
        return str(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return str(int(value))
    raise InputError(f"the id {value!r} is of type {type(value).__name__}. Give a string or a whole number.")


def id_texts(ids: Any) -> list[str]:
    """Return one id, or several, as texts. Raises InputError as ``id_text``."""
    is_one = isinstance(ids, (str, int, np.integer))
    return [id_text(id) for id in ([ids] if is_one else as_iterable(ids, "ids"))]


def checked_id(value: Any) -> int | str:
    """Return an id in the form in which the index returns it; InputError if it cannot be an id."""
    name = id_text(value)
    return name if isinstance(value, str) or int(value) not in INT64 else int(value)


def checked_columns(id: int | str, columns: Any) -> str | None:
    """Return the columns of a document as JSON, None if it has none. Raises InputError, which names the document."""
    try:
        return None if columns is None else columns_json(columns)
    except BadRecord as exc:
        raise InputError(f"document {id!r}: {exc}. {exc.cure}") from exc


def column_marks(columns: Sequence[str | None]) -> I64:
    """Return the bits of the kind for the columns of each document, 0 for one without columns; int64[n]."""
    marks: I64 = (_prints(Documents.from_texts([text or "" for text in columns])) >> np.uint64(33)).astype(np.int64)
    has_columns = np.array([text is not None for text in columns], dtype=np.bool_)
    return np.where(has_columns, marks << 32 | COLUMNS, 0)


def original_id(id: str, kind: int) -> int | str:
    """Return an id as it was given."""
    return int(id) if kind & NUMBER else id


def _prints(documents: Documents) -> U64:
    """Hash the bytes of each document, in a way fixed by the format; uint64[n]. Two documents may have one print."""
    out = np.empty(len(documents), dtype=np.uint64)
    stored.prints(documents.data, documents.offsets, out)
    return out


def id_keys(ids: Sequence[str]) -> U32:
    """Return the lookup keys of ids; uint32[1, n]."""
    return (_prints(Documents.from_texts(ids)) >> _S32).astype(np.uint32).reshape(1, -1)


def checksums(text_prints: U64, id_prints: U64, numbers: I64, kinds: I64) -> I64:
    """Return the checksum of each stored document, int64[n]."""
    out = np.empty(numbers.size, dtype=np.int64)
    stored.checksums(text_prints, id_prints, numbers, kinds, out)
    return out


def are_names_whole(numbers: I64, ids: Sequence[str], kinds: I64, sums: I64) -> bool:
    """Return whether the names of documents match their checksums."""
    prints = _prints(Documents.from_texts(ids))
    return bool(((checksums(prints, prints, numbers, kinds) ^ sums) >> 32 == 0).all())


def whole_documents(
    numbers: I64, ids: Sequence[str], kinds: I64, sums: I64, texts: Sequence[bytes]
) -> Documents | None:
    """Return the texts as one block, or None if a document does not match its checksum."""
    both = Documents.from_bytes([*texts, *(id.encode("utf-8") for id in ids)])
    prints, n = _prints(both), len(ids)
    return both.slice(0, n) if (checksums(prints[:n], prints[n:], numbers, kinds) == sums).all() else None


def tail_row(first: int, keys: U32, prints: U64, is_empty: NDArray[np.bool_]) -> TailRow:
    """Return the row to store for the keys (uint32[bands + 1, n]) of a batch that starts at document ``first``."""
    blobs = keys.tobytes(), prints.tobytes(), np.flatnonzero(is_empty).astype(np.uint32).tobytes()
    return TailRow(first, keys.shape[1], *blobs, _tail_sum(first, *blobs))


def is_tail_whole(row: TailRow) -> bool:
    """Return whether the keys of a batch match their checksum and the number of documents in their row."""
    return len(row.prints) == 8 * row.documents and row.sum == _tail_sum(row.first, row.keys, row.prints, row.empty)


def _tail_sum(first: int, keys: bytes, prints: bytes, empty: bytes) -> int:
    parts = _prints(Documents.from_bytes([keys, prints, empty]))
    total = (int(parts[0]) + 3 * int(parts[1]) + 5 * int(parts[2]) + 7 * first) & 0xFFFFFFFFFFFFFFFF
    return total - (1 << 64) if total >= 1 << 63 else total


def of_batches(
    sketcher: Sketcher, reader: Reader, threads: int, *, hashed: bool = False
) -> Generator[tuple[Batch, PreparedDocuments]]:
    """Yield the batches of a reader with their prepared documents, in order; made in threads.

    With ``hashed``, documents without ids get those of ``ids_of``. InputError if columns were asked for and a source
    has none.
    """

    def work(task: Callable[[], Batch]) -> tuple[Batch, PreparedDocuments]:
        batch = task()
        check_columns_read(batch, reader)
        return batch, sketcher.prepare(batch.documents, ids_of(batch, hashed=hashed), batch.columns)

    with closing(reader.tasks(threads)) as tasks:
        yield from in_order(work, tasks, threads=threads, ahead=threads + 2)


def check_columns_read(batch: Batch, reader: Reader) -> None:
    """Raise InputError if columns are requested and a source has texts but no columns to store."""
    if reader.options.column and batch.columns is None and len(batch.documents):
        raise InputError(
            f"{batch.source}: columns are read from JSON Lines, CSV, TSV, Parquet, Arrow and frames. Leave --column "
            "(column=) out, or convert the file."
        )
