"""CSV and TSV, with or without a header row.

Here: reading lines into buffers that begin at a record, and the tasks. Which byte delimits and what the
fields mean is in ``layout``; where records begin, and what is wrong with them, is found by
``kernels.delimited``, whose docstring has the rules for quotes; lines, compression and encodings come from
``streams``.

All ids are strings, so that ``007`` stays what it is; an empty id is a fault, as one that is missing in
JSONL.

Measured on 100 MB of quoted real text, one core: 430 MB/s here, 190 MB/s through Python's csv module, which
also holds the interpreter's lock, and 410 MB/s through pyarrow.csv, which joins the records behind a stray
quote without a word and knows no line numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from neardup.formats.batches import Columns, gather, make_batch
from neardup.formats.layout import BLANK_LAYOUT, Layout, find_layout
from neardup.formats.source import Faults, ReadOptions, Task
from neardup.formats.streams import ByteStream, LineBlock, line_blocks
from neardup.kernels.delimited import (
    BAD_QUOTE,
    COLUMNS,
    FIELDS,
    FINE,
    ID,
    LINE,
    STATUS,
    TEXT,
    scan_records,
)
from neardup.types import SLACK, Batch

__all__ = ["DelimitedSource", "RecordBlock", "record_blocks"]

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

MAX_RECORD = 512 << 20
"""Bytes after which a quote still open counts as never closed: what a stray one can make us hold."""


@dataclass(frozen=True, slots=True)
class _Buffer:
    """Whole lines, the first of which begins a record, followed by SLACK bytes."""

    data: U8
    size: int
    lines: int
    first_line: int
    consumed: int
    patience: int
    """As ``scan_records`` wants it."""


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """Records of a file, one after the other, without the header row."""

    data: U8
    """UTF-8, followed by SLACK bytes; the records and the blank lines among them are ``data[start:stop]``."""
    records: I64
    """int64[n, COLUMNS] as ``scan_records`` writes it."""
    start: int
    stop: int
    first_line: int
    """1-based number of the line at ``start``: record i begins at line ``first_line + records[i, LINE]``."""
    lines: int
    """Lines in ``data[start:stop]``, blank ones included."""
    layout: Layout
    blank: int
    consumed: int
    """Bytes of the input as stored that the block stands for."""


class DelimitedSource:
    """One CSV or TSV file, or standard input."""

    def __init__(
        self,
        name: str,
        options: ReadOptions,
        *,
        kind: str,
        total_bytes: int | None,
        stream: ByteStream | None = None,
    ) -> None:
        """Name the file; nothing is read yet.

        Args:
            name: the file, as the user named it; "-" is standard input.
            options: how to read.
            kind: "csv" or "tsv".
            total_bytes: its size as stored.
            stream: the open stream, where it was looked into already.
        """
        self.name = name
        self.format = kind
        self.total_bytes = total_bytes
        self._options = options
        self._stream = stream

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of records, at most ``block`` of them each.

        Finding the records is done here, one byte after the other, at about 1 GB/s; the rest is the tasks'
        work.
        """
        for block in record_blocks(self._stream or self.name, self.name, self.format, self._options):
            yield from self._cut(block)

    def _cut(self, block: RecordBlock) -> Iterator[Task]:
        records, blank, consumed = block.records, block.blank, block.consumed
        step = self._options.block or max(1, len(records))
        for start in range(0, max(1, len(records)), step):
            part = records[start : start + step]
            rows = part[:, LINE] + block.first_line
            yield partial(self.parse, block.data, part, rows, block.layout, blank, consumed)
            blank = consumed = 0

    def parse(self, data: U8, records: I64, rows: I64, layout: Layout, blank: int, consumed: int) -> Batch:
        """Read records that ``record_blocks`` found in ``data``; ``rows`` are their lines.

        Raises:
            InputError: one of them is bad, and that is to fail the run.
        """
        faults = Faults(self.name, self._options.on_bad)
        good = (records[:, STATUS] == FINE) & (records[:, FIELDS] == layout.width)
        if layout.id_field >= 0:
            good &= records[:, ID] < records[:, ID + 1]
        for i in np.flatnonzero(~good):
            faults.add(int(rows[i]), *_wrong(records[i], layout))
        records, rows = records[good], rows[good]
        columns = Columns(gather(data, records[:, TEXT : TEXT + 3]), rows)
        if layout.id_field >= 0:
            columns.ids = gather(data, records[:, ID : ID + 3])
        return make_batch(
            columns,
            self.name,
            faults,
            encoding=self._options.encoding,
            split=self._options.item,
            blank=blank,
            consumed=consumed,
        )


def record_blocks(source: str | ByteStream, name: str, kind: str, options: ReadOptions) -> Iterator[RecordBlock]:
    """Yield the records of a file in order, and where they lie.

    Args:
        source: the file, or the open stream.
        name: what the file is called in messages.
        kind: "csv" or "tsv".
        options: the encoding, and the columns that were asked for.

    Raises:
        InputError: the file cannot be read, or its first row does not have the columns that were asked for.
    """
    layout: Layout | None = None
    parts: list[_Buffer] = []
    wanted = 0  # a record that goes on is looked at again only when twice as much of it is there
    for part in _with_last_marked(line_blocks(source, encoding=options.encoding)):
        parts.append(part)
        if part.patience and sum(held.size for held in parts) < wanted:
            continue
        buffer = _joined(parts)
        start, header_lines = 0, 0
        if layout is None:
            layout = find_layout(buffer.data, buffer.size, buffer.patience, name, kind, options)
            if layout is not None and layout.header is not None:
                start, header_lines = layout.header
        if layout is None:
            parts, wanted = [buffer], 2 * buffer.size
            if not part.patience:  # all blank
                nothing = np.empty((0, COLUMNS), dtype=np.int64)
                yield _record_block(buffer, nothing, (0, buffer.size), (0, buffer.lines, buffer.lines), BLANK_LAYOUT)
            continue
        records, read, lines, blank = _scan(buffer, start, layout)
        yield _record_block(buffer, records, (start, read), (header_lines, lines, blank), layout)
        rest = _rest(buffer, read, header_lines + lines)
        parts, wanted = ([rest], 2 * rest.size) if rest.size else ([], 0)


def _record_block(
    buffer: _Buffer, records: I64, span: tuple[int, int], lines: tuple[int, int, int], layout: Layout
) -> RecordBlock:
    """Records in ``span`` of a buffer; ``lines``: those before the span, in it, and the blank ones in it."""
    before, read, blank = lines
    return RecordBlock(buffer.data, records, *span, buffer.first_line + before, read, layout, blank, buffer.consumed)


def _with_last_marked(blocks: Iterator[LineBlock]) -> Iterator[_Buffer]:
    """The blocks as buffers; one is read ahead, so that the last has no patience."""
    held: LineBlock | None = None
    for block in blocks:
        if held is not None:
            yield _buffer(held, MAX_RECORD)
        held = block
    if held is not None:
        yield _buffer(held, 0)


def _buffer(block: LineBlock, patience: int) -> _Buffer:
    return _Buffer(block.data, block.size, block.lines, block.first_line, block.consumed, patience)


def _joined(parts: list[_Buffer]) -> _Buffer:
    if len(parts) == 1:
        return parts[0]
    data = np.concatenate([*(part.data[: part.size] for part in parts), np.zeros(SLACK, dtype=np.uint8)])
    return _Buffer(
        data,
        data.size - SLACK,
        sum(part.lines for part in parts),
        parts[0].first_line,
        sum(part.consumed for part in parts),
        parts[-1].patience,
    )


def _rest(buffer: _Buffer, read: int, lines: int) -> _Buffer:
    """What follows the records that were read; its bytes were accounted for with them."""
    return _Buffer(
        buffer.data[read:],
        buffer.size - read,
        buffer.lines - lines,
        buffer.first_line + lines,
        0,
        buffer.patience,
    )


def _scan(buffer: _Buffer, start: int, layout: Layout) -> tuple[I64, int, int, int]:
    """The table of records from ``start``, the place behind them, and the lines and blank lines read."""
    records = np.empty((buffer.lines, COLUMNS), dtype=np.int64)
    count, read, lines, blank = scan_records(
        buffer.data,
        start,
        buffer.size,
        layout.delimiter,
        layout.relaxed,
        buffer.patience,
        layout.text_field,
        layout.id_field,
        records,
    )
    return records[:count], read, lines, blank


def _wrong(record: I64, layout: Layout) -> tuple[str, str]:
    """Why a record is bad, and the cure."""
    if record[STATUS] == BAD_QUOTE:
        reason = "a quoted field is never closed, or text follows its closing quote"
    elif record[STATUS] != FINE:
        reason = "a quoted field is never closed"
    elif record[FIELDS] == layout.width:
        return "the id is empty", ""
    else:
        fields = int(record[FIELDS])
        return (
            f"{fields} field{'s' if fields != 1 else ''} where the first row has {layout.width}",
            "Quote a field that holds the delimiter.",
        )
    return reason, "Double every quote inside a quoted field."
