"""Three more fields in each record of JSON Lines, CSV and TSV; all other bytes stay.

JSON Lines: the fields stand behind the others of the object and are null outside clusters; the first document says
whether their names need the prefix ``neardup_``. CSV and TSV: they are the last three of each record and of the header
row, empty outside clusters. Records that no document can be read from stay as they are.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from neardup.errors import InputError
from neardup.inputs.text.jsonl import JsonlSource, parse_object
from neardup.inputs.text.layout import Layout
from neardup.outputs.sink import Sink
from neardup.tasks.rewrite.blocks import Block, LineEnds, blocks, inserted, read_line_ends
from neardup.tasks.rewrite.feed import Feed, Part, records_of
from neardup.tasks.rewrite.model import Rewrite, added_names, changed
from neardup.types import I64

_HEADER = 0
"""Row of a header among records."""


def annotate_text(job: Rewrite, sink: Sink, *, head: bool) -> int:
    """Write a file of format "jsonl", "csv" or "tsv" with three more fields in its records; all records that it has.

    ``head`` False leaves out the byte order mark and the header row.
    """
    with job.opened() as stream:
        ends = read_line_ends(stream, job.options.encoding, first_line=job.first_line)
        fields = (_Json if job.format == "jsonl" else _Delimited)(job, ends)
        if head:
            sink.write(ends.mark)
        for block in blocks(stream, ends, job.options.limit, first_line=job.first_line):
            places, texts = fields.of(block)
            start = 0 if head else block.begin(fields.header_lines + 1)
            skipped = int(np.searchsorted(places, start))
            sink.write(inserted(block, places[skipped:], texts[skipped:], start))
    fields.feed.rest()
    if fields.matched != fields.annotation.rows.size:
        raise changed(job.path, fields.annotation.rows.size, fields.matched)
    return fields.records


class _Fields(ABC):
    """What goes where, block by block."""

    def __init__(self, job: Rewrite, ends: LineEnds) -> None:
        assert job.annotation is not None
        self.job = job
        self.path, self.known = job.path, job.known
        self.ends = ends
        self.annotation = job.annotation
        self.records = 0
        """Documents and bad records that were seen."""
        self.matched = 0
        self.header_lines = 0
        """Known when the first block was looked at."""
        self.feed = Feed(self.entries())

    @abstractmethod
    def entries(self) -> Iterator[Part]:
        """Yield entries (line at whose end the fields go, row) of all documents."""

    def entries_of(self, block: Block) -> I64:
        """The entries of a block. No document has a line that comes in pieces."""
        entries = self.feed.before(block.next_line)
        if block.is_piece and len(entries):
            raise InputError(
                f"{self.path}:{block.first_line}: the line is too long to be annotated within the memory limit. Raise "
                "--memory (memory=), or write the file again as UTF-8."
            )
        return entries

    @abstractmethod
    def of(self, block: Block) -> tuple[I64, list[bytes]]:
        """The places in a block, rising, and what is inserted there."""

    @abstractmethod
    def text(self, cluster: int | None, keeper: int | str | None, similarity: float | None) -> str:
        """The fields of one record."""

    def texts(self, rows: I64) -> list[bytes]:
        """The fields of the records at ``rows``."""
        annotation = self.annotation
        texts = [self.ends.encode(self.text(None, None, None))] * rows.size
        found = np.searchsorted(annotation.rows, rows)
        found[found == annotation.rows.size] = 0
        hits = np.flatnonzero(annotation.rows[found] == rows) if annotation.rows.size else found[:0]
        if hits.size == 0:
            return texts
        self.matched += hits.size
        entries = slice(int(found[hits[0]]), int(found[hits[-1]]) + 1)
        if entries.stop - entries.start != hits.size:  # all rise, so a row between has no record
            raise changed(self.path, entries.stop - entries.start, hits.size)
        values = zip(
            hits.tolist(),
            annotation.cluster[entries].tolist(),
            annotation.keeper[entries].to_pylist(),
            annotation.similarity[entries].tolist(),
            strict=True,
        )
        for hit, cluster, keeper, similarity in values:
            text = self.text(cluster, keeper, None if math.isnan(similarity) else similarity)
            try:
                texts[hit] = self.ends.encode(text)
            except UnicodeEncodeError as exc:
                raise InputError(
                    f"{self.path}: the id {keeper!r} has characters that {self.ends.codec} lacks. "
                    "Write the file again as UTF-8 to annotate it."
                ) from exc
        return texts


class _Json(_Fields):
    _keys: tuple[str, ...] = ()
    """With the colon behind each."""

    def entries(self) -> Iterator[Part]:
        for task in (self.job.piece or _reader(self.job)).tasks():
            batch = task()
            if self.known is not None:
                self.known.check_batch(batch)
            rows = batch.rows
            if rows.size:
                yield int(rows[-1]) + 1, np.stack([rows, rows], axis=1)

    def of(self, block: Block) -> tuple[I64, list[bytes]]:
        entries = self.entries_of(block)
        if block.is_piece:
            self.records += not block.is_rest
            return entries[:, 0], []
        lines = entries[:, 0] - block.first_line
        self.records += int(np.count_nonzero(block.filled(spaces=True)))
        if lines.size and not self._keys:
            names = self.job.added or _names(self.job, block, int(lines[0]))
            self._keys = tuple(f'"{name}": ' for name in names)
        return block.braces(lines), self.texts(entries[:, 1]) if lines.size else []

    def text(self, cluster: int | None, keeper: int | str | None, similarity: float | None) -> str:
        first, second, third = self._keys
        name = json.dumps(keeper) if isinstance(keeper, str) else _json(keeper)
        return f", {first}{_json(cluster)}, {second}{name}, {third}{_json(similarity)}"


def _reader(job: Rewrite) -> JsonlSource:
    return JsonlSource(job.path, replace(job.options, on_bad="skip", block=None))


def _names(job: Rewrite, block: Block, line: int) -> tuple[str, ...]:
    """Names of the three fields, by a line of a block that is the first document of the file."""
    first = parse_object(block.line(line).decode(block.ends.codec).encode(), "utf-8")
    return added_names(first, job.path)


def json_names(job: Rewrite) -> tuple[str, ...] | None:
    """Names of the three fields in a file of JSON Lines, of which no more is read than tells; None: no document."""
    batches = (task() for task in _reader(job).tasks())
    row = next((int(batch.rows[0]) for batch in batches if batch.rows.size), 0)
    with job.opened() as stream:
        ends = read_line_ends(stream, job.options.encoding)
        found = (block for block in blocks(stream, ends, job.options.limit) if 0 < row < block.next_line)
        return next((_names(job, block, row - block.first_line) for block in found), None)


def _json(number: float | None) -> str:
    """A finite number or null as JSON: several times as fast as ``json.dumps``, and the same."""
    return "null" if number is None else repr(number)


class _Delimited(_Fields):
    _layout: Layout
    _delimiter: str
    _special: re.Pattern[str]

    def entries(self) -> Iterator[Part]:
        for records in records_of(self.path, self.job.format, self.job.options):
            if self.known is not None:
                self.known.check_records(records)
            good = records.is_good
            self.records += good.size
            entries = np.stack([records.last[good], records.first[good]], axis=1)
            if records.header_lines and records.block.layout.names:
                self.header_lines = records.header_lines
                header = np.array([[records.header_lines, _HEADER]], dtype=np.int64)
                entries = np.concatenate([header, entries])
            self._layout = records.block.layout
            self._delimiter = chr(self._layout.delimiter)
            # RFC 4180, and blanks at an end, which some readers drop
            self._special = re.compile(f'[{re.escape(self._delimiter)}",\r\n]|^$|^[ \t]|[ \t]$')
            yield records.next_line, entries

    def of(self, block: Block) -> tuple[I64, list[bytes]]:
        entries = self.entries_of(block)
        if not len(entries):
            return entries[:, 0], []
        texts = self.texts(entries[:, 1])
        if entries[0, 1] == _HEADER:
            texts[0] = self.ends.encode(self._row(added_names(self._layout.names, self.path)))
        return block.content_stops(entries[:, 0] - block.first_line), texts

    def text(self, cluster: int | None, keeper: int | str | None, similarity: float | None) -> str:
        name = None if keeper is None else str(keeper)
        if name is not None and self._special.search(name):
            name = '"' + name.replace('"', '""') + '"'
        return self._row((cluster, name, similarity))

    def _row(self, values: tuple[object, ...]) -> str:
        return "".join(self._delimiter + ("" if value is None else str(value)) for value in values)
