"""What a rewrite is told: ``Rewrite`` with its ``Annotation`` and ``Known``; and what every kind of rewrite says.

Rows are decided on in the first reading and cut out in the second. Between the two the file may have become another:
so of each document that goes, and of each that is kept for one that goes, the text is parsed once more by the file's
own reader and its print compared. It is done on the very bytes that are cut, a block at a time.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neardup.arrays import nullable, numbers
from neardup.engine.threads import in_order
from neardup.errors import InputChanged, InputError
from neardup.inputs.addresses import is_remote
from neardup.inputs.batches import documents_from, gather
from neardup.inputs.blocks import NEWLINE, LineBlock
from neardup.inputs.columnar.arrow_columns import Chosen, choose_columns, read_rows
from neardup.inputs.ranges import LinesInRange
from neardup.inputs.source import ReadOptions, Source
from neardup.inputs.stream import ByteStream
from neardup.inputs.text.delimited import DelimitedSource
from neardup.inputs.text.jsonl import JsonlSource
from neardup.inputs.text.lines import LinesSource
from neardup.params import Normalize
from neardup.stages.sketch import fingerprints
from neardup.stages.text import normalize_documents
from neardup.tasks.rewrite.blocks import Block, Buffer
from neardup.tasks.rewrite.feed import Records
from neardup.types import F64, I64, SLACK, U64, Batch, Documents

GROUP_BYTES = 64 << 20
"""Decoded bytes of a row group or batch that is written in one piece; about three times as much memory is used."""
Lines = JsonlSource | LinesSource
"""A reader of lines, of which only some may be read."""
_FIRST = 16
"""Lines that are looked at for the names of fields before all of a block are."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """What is known of the documents of one file that lie in clusters; the entries belong together."""

    rows: I64
    """int64[n], rising: 1-based lines or rows of the file, as its reader numbers them."""
    cluster: I64
    """int64[n], the cluster of each."""
    keeper: Any
    """Arrow array[n] of int64 or large_string: the id of the document that stands for each."""
    similarity: F64
    """float64[n], the exact similarity to that document; NaN: not known, written as null."""

    def part(self, first: int, count: int) -> Annotation:
        """What is known of a file that holds ``count`` rows of the input, beginning with row ``first``."""
        some = slice(*np.searchsorted(self.rows, (first, first + count)).tolist())
        return Annotation(self.rows[some] - (first - 1), self.cluster[some], self.keeper[some], self.similarity[some])

    def spread(self, first: int, count: int) -> tuple[Any, Any, Any]:
        """Cluster, keeper and similarity of ``count`` rows beginning with row ``first``, as Arrow arrays; null outside
        clusters."""
        some = self.part(first, count)
        places = np.zeros(count, dtype=np.int64)
        known = np.zeros(count, dtype=np.bool_)
        places[some.rows - 1] = np.arange(some.rows.size)
        known[some.rows - 1] = True
        at = nullable(numbers(places), known)
        similarity = nullable(numbers(some.similarity), ~np.isnan(some.similarity))
        return numbers(some.cluster).take(at), some.keeper.take(at), similarity.take(at)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file that gets a clean copy: what is left out of it, or added to it."""

    path: str
    """A regular file; compressed where its name says so (``.gz``, ``.zst`` …), and then the copy is too."""
    format: str
    """"jsonl", "lines", "csv", "tsv", "parquet", "arrow" or "xlsx"."""
    options: ReadOptions
    """How the file was read; bad records are kept whatever ``on_bad`` says."""
    removed: I64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[n], rising: the 1-based lines or rows, as its reader numbers them, that are left out."""
    annotation: Annotation | None = None
    """Fields to add; then nothing is removed."""
    replaced: Replaced | None = None
    """New texts of documents; then those of ``removed`` are among its rows."""
    known: Known | None = None
    """What some of its documents were when they were read first; each is held against it."""
    group_bytes: int = GROUP_BYTES
    """Decoded bytes of a row group or batch to write at most, about."""
    piece: Lines | None = None
    """The lines that are rewritten, of plain UTF-8, where these are not all that the file has; they have the numbers
    that they have in the file."""
    groups: range | None = None
    """The row groups of a Parquet file that are rewritten, where these are not all."""
    rows_before: int = 0
    """Rows of the file before them."""
    added: tuple[str, ...] | None = None
    """Names of the fields that an annotation adds, where the first document of the file is not at hand to tell."""

    @property
    def first_line(self) -> int:
        """Number of the first line of text that is rewritten."""
        return 1 if self.piece is None else self.piece.first_row

    def opened(self) -> ByteStream:
        """The bytes of text, decompressed."""
        if self.piece is None or self.piece.part is None:
            return ByteStream(self.path)
        return LinesInRange(self.path, self.piece.part)


@dataclass(slots=True)
class Replaced:
    """New texts of some documents of one file, taken once, in the order of their rows."""

    source: str
    rows: I64
    """int64[n], rising: 1-based lines or rows, as the reader numbers them."""
    texts: Iterator[tuple[bytes, bytes | None]]
    """What each was when it was read, and what it becomes, in UTF-8; None: it is left out."""
    field: str = ""
    """The column or field that holds the text; nothing where a document has none."""
    _seen: int = 0

    def among(self, first: int, end: int) -> Iterator[tuple[int, bytes, bytes | None]]:
        """Row, old and new text of those from row ``first`` to before ``end``, which come behind those before."""
        while self._seen < self.rows.size and self.rows[self._seen] < end:
            row = int(self.rows[self._seen])
            if row < first:
                break
            self._seen += 1
            yield row, *next(self.texts)

    def check(self, row: int, before: bytes, found: str | None) -> None:
        """Raise InputChanged unless a document is what it was."""
        if found is None or found.encode("utf-8", "surrogatepass") != before:
            raise _changed_in(self.source, f"the document at {row} is another")

    def check_end(self) -> None:
        """Raise InputChanged unless all rows have come."""
        if self._seen != self.rows.size:
            raise changed(self.source, self.rows.size, self._seen)


_ADDED = ("cluster", "keeper", "similarity")
_PREFIXED = tuple(f"neardup_{name}" for name in _ADDED)


def added_names(names: Iterable[str], source: str) -> tuple[str, ...]:
    """Names for the three fields that an annotation adds to those in ``names``; InputError if none are left."""
    taken = set(names)
    for choice in (_ADDED, _PREFIXED):
        if taken.isdisjoint(choice):
            return choice
    both = sorted(taken.intersection(_ADDED + _PREFIXED))
    raise InputError(
        f"{source} has the columns {', '.join(map(repr, both))} already, so there are no names left for those of the "
        "annotation. Annotate a file without them, or rename them."
    )


def changed(source: str, wanted: int, found: int) -> InputChanged:
    """The error for a file whose documents are not where they were when it was read."""
    return _changed_in(source, f"of {wanted} documents to find again, {found} are in their places")


def _changed_in(source: str, what: str) -> InputChanged:
    return InputChanged(f"{source} was changed since it was read: {what}. Run again from the start.")


def check_rereadable(path: str, use: str = "a clean copy") -> None:
    """Raise InputError when a file can be read only once: standard input, a pipe, a device."""
    try:
        is_regular = is_remote(path) or (path != "-" and stat.S_ISREG(os.stat(path).st_mode))
    except OSError:
        return  # opening it says best what is wrong
    if not is_regular:
        name = "standard input" if path == "-" else path
        raise InputError(f"{name} can be read only once, and {use} reads it again. Save it as a file first.")


@dataclass(slots=True)
class Known:
    """Prints of some rows of one input. Rows are seen in their order, each once."""

    source: str
    rows: I64
    """int64[n], rising: 1-based lines or rows, as the reader numbers them."""
    prints: Callable[[slice], U64]
    """Gives uint64[m, 2], the prints of the normalised texts of a slice of ``rows``."""
    options: ReadOptions
    normalize: Normalize
    records: int | None = None
    """Documents and bad records that the input had; None: not known."""
    piece: Lines | None = None
    """As of ``Rewrite``: it knows the fields of the file."""
    _seen: int = field(init=False, default=0)
    _reader: Lines | None = field(init=False, default=None)
    _chosen: Chosen | None = field(init=False, default=None)
    _buffer: Buffer = field(init=False, default_factory=Buffer)

    def __post_init__(self) -> None:
        self.options = replace(self.options, on_bad="skip", block=None)
        self._reader = self.piece

    def check_lines(self, block: Block, format: str) -> None:
        """Check those rows that are lines of a block of JSON Lines ("jsonl") or of plain lines ("lines")."""
        if self._reader is None:
            kind = JsonlSource if format == "jsonl" else LinesSource
            self._reader = kind(self.source, self.options, total_bytes=None)
        for some in (_FIRST, len(block)):  # nearly always the first line tells
            if isinstance(self._reader, JsonlSource) and not self._reader.has_fields:
                self._reader.look_at(self._lines(block, np.arange(min(some, len(block)))))
        part = self._among(block.first_line, block.next_line)
        if part.start < part.stop:
            lines = self._lines(block, self.rows[part] - block.first_line)
            batch = self._reader.read_block(lines)
            self._check(batch.documents, part)
            if batch.give_back is not None:
                batch.give_back()

    def check_records(self, records: Records) -> None:
        """Check those rows that are records of a block of CSV or TSV."""
        part = self._among(records.first_line, records.next_line)
        wanted = self.rows[part]
        at = np.searchsorted(records.first, wanted)
        if np.any(at == records.first.size) or np.any(records.first[at] != wanted):
            raise self._changed()
        if wanted.size:
            reader = DelimitedSource(self.source, self.options)
            block = records.block
            batch = reader.parse(block.data, block.records[at], wanted, block.layout, 0, 0)
            self._check(batch.documents, part)

    def check_rows(self, batch: Any, first: int) -> None:
        """Check those rows that are in an Arrow record batch, which begins with row ``first``."""
        part = self._among(first, first + len(batch))
        if part.start == part.stop:
            return
        if self._chosen is None:
            self._chosen = choose_columns(batch.schema, self.options, self.source)
        column = self._chosen.texts(batch)
        at = self.rows[part] - first
        try:
            texts = column.take(numbers(at))
        except NotImplementedError:  # views cannot be picked, so all of the batch is read
            self.check_batch(self._read(column, first))
        else:
            self._check(self._read(texts).documents, part)

    def check_batch(self, batch: Batch) -> None:
        """Check those rows that are in a batch as the reader gives it."""
        if not batch.rows.size:
            return
        part = self._among(int(batch.rows[0]), int(batch.rows[-1]) + 1)
        wanted = self.rows[part]
        at = np.searchsorted(batch.rows, wanted)
        if np.any(batch.rows[at] != wanted):
            raise self._changed()
        if wanted.size:
            self._check(_picked(batch.documents, at, batch.rows.size), part)

    def check_source(self, source: Source) -> None:
        """Read an input once more for nothing but this."""
        for batch in in_order(lambda task: task(), source.tasks(), threads=1):
            self.check_batch(batch)
        self.check_end(None)

    def part(self, first: int, count: int) -> Known:
        """What is known of a file that holds ``count`` rows of the input, beginning with row ``first``."""
        part, prints = self._among(first, first + count), self.prints
        return Known(
            self.source,
            self.rows[part] - (first - 1),
            lambda some: prints(slice(some.start + part.start, some.stop + part.start)),
            options=self.options,
            normalize=self.normalize,
        )

    def check_end(self, records: int | None) -> None:
        """Raise InputChanged unless all rows were seen, among as many records as there were; None: not counted."""
        if self._seen != self.rows.size:
            raise self._changed()
        self.check_count(records)

    def check_count(self, records: int | None) -> None:
        """Raise InputChanged unless there are as many documents and bad records as there were; None: not counted."""
        if records is not None and self.records not in (None, records):
            raise _changed_in(self.source, f"it had {self.records} records, and has {records}")

    def _lines(self, block: Block, lines: I64) -> LineBlock:
        """Some lines of a block (from 0, rising, at least one) as UTF-8, as readers take them; valid till the next."""
        data, size = self._buffer.gather(block, block.starts[lines], block.stops[lines])
        if block.ends.codec != "utf_8":
            text = data[:size].tobytes().decode(block.ends.codec, "neardup.mark")
            raw = text.encode("utf-8", "surrogatepass")
            size = len(raw)
            data = np.frombuffer(bytearray(raw + bytes(SLACK)), dtype=np.uint8)
        data[size : size + SLACK] = NEWLINE
        return LineBlock(data, size, lines.size, 1, 0)

    def _among(self, first: int, end: int) -> slice:
        return slice(*np.searchsorted(self.rows, (first, end)).tolist())

    def _read(self, texts: Any, first: int = 1) -> Batch:
        return read_rows(texts, None, None, first, self.source, self.options, consumed=0, positions=False)

    def _check(self, documents: Documents, part: slice) -> None:
        """Raise InputChanged unless the documents are those of ``rows[part]``."""
        if len(documents) != part.stop - part.start:  # one of them can no longer be read
            raise self._changed()
        wanted = self.prints(part)
        equal = np.all(fingerprints(documents) == wanted, axis=1)
        if not equal.all():  # most texts are in their normal form already, and making it costs more than all else here
            at = np.flatnonzero(~equal)
            others = normalize_documents(
                _picked(documents, at, len(documents)), self.normalize, items=self.options.item
            )
            equal[at] = np.all(fingerprints(others) == wanted[at], axis=1)
        if not equal.all():
            raise self._changed(int(self.rows[part][np.argmin(equal)]))
        self._seen += len(documents)

    def _changed(self, row: int | None = None) -> InputChanged:
        what = "not all documents are in their places" if row is None else f"the document at {row} is another"
        return _changed_in(self.source, what)


def _picked(documents: Documents, at: I64, expected: int) -> Documents:
    """The documents at some places; none, where there are not as many as expected."""
    if len(documents) != expected:
        return Documents.from_bytes([])
    if at.size == expected:
        return documents
    spans = np.stack([documents.offsets[at], documents.offsets[at + 1], np.zeros_like(at)], axis=1)
    return documents_from(gather(documents.data, spans))
