"""CSV and TSV, with or without a header row.

Where records begin, and what is wrong with them, is found by ``kernels.delimited``, whose docstring has the rules for
quotes. All ids are strings, so that ``007`` stays what it is; an empty id is a fault, as one that is missing in JSONL.

Measured on 100 MB of quoted real text, one core: 430 MB/s here, 190 MB/s through Python's csv module, which also holds
the interpreter's lock, and 410 MB/s through pyarrow.csv, which joins the records behind a stray quote without a word
and knows no line numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from neardup.errors import InputError
from neardup.inputs.batches import Columns, gather, joined_texts, make_batch
from neardup.inputs.blocks import WHOLE, LineBlock, LineSource, first_newline, line_blocks
from neardup.inputs.columns import ReadColumns
from neardup.inputs.source import Faults, ReadOptions, RecordLimit, Task, oversized, sized
from neardup.inputs.stream import ByteStream
from neardup.inputs.text.endless import MAX_RECORD, Ahead, pass_line, pass_record
from neardup.inputs.text.layout import BLANK_LAYOUT, Layout, find_layout
from neardup.kernels import delimited as kernel
from neardup.types import I64, SLACK, U8, Batch


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """Records of a file, one after the other, without the header row."""

    data: U8
    """UTF-8, followed by SLACK bytes; the records and the blank lines among them are ``data[start:stop]``."""
    records: I64
    """int64[n, kernel.COLUMNS] as ``scan_records`` writes it; behind it begin, end and doubled quotes, as those of the
    text, of each of ``layout.more_text``."""
    start: int
    stop: int
    first_line: int
    """1-based number of the line at ``start``: record i begins at line ``first_line + records[i, kernel.LINE]``."""
    lines: int
    """Lines in ``data[start:stop]``, blank ones included."""
    layout: Layout
    blank: int
    consumed: int
    """Bytes of the input as stored that the block stands for."""
    too_large: int = 0
    """Bytes of a record that cannot be held; then it is the only one of the block, whose data is empty."""


class DelimitedSource(LineSource):
    """One CSV file, or standard input."""

    format = "csv"

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of records, at most ``block`` each; finding them is done here, at about 1 GB/s."""
        for block in record_blocks(self._stream or self.name, self.name, self.format, self._options):
            self.columns = self.columns or block.layout.columns(self.name)
            if block.too_large:
                row, size = block.first_line, block.too_large
                yield partial(oversized, self.name, row, "the record", size, self._options, consumed=block.consumed)
            else:
                yield from self._cut(block)

    def look(self) -> ReadColumns | None:
        blocks = record_blocks(self._stream or self.name, self.name, self.format, self._options)
        return next((block.layout.columns(self.name) for block in blocks if block.layout.width), None)

    def _cut(self, block: RecordBlock) -> Iterator[Task]:
        records, blank, consumed = block.records, block.blank, block.consumed
        step = self._options.block or max(1, len(records))
        for start in range(0, max(1, len(records)), step):
            part = records[start : start + step]
            rows = part[:, kernel.LINE] + block.first_line
            task = partial(self.parse, block.data, part, rows, block.layout, blank, consumed)
            yield sized(task, block.stop - block.start, self._options)
            blank = consumed = 0

    def parse(self, data: U8, records: I64, rows: I64, layout: Layout, blank: int, consumed: int) -> Batch:
        """Read records that ``record_blocks`` found in ``data``; ``rows`` are their lines."""
        faults = Faults(self.name, self._options.on_bad)
        good = (records[:, kernel.STATUS] == kernel.FINE) & (records[:, kernel.FIELDS] == layout.width)
        if layout.id_field >= 0:
            good &= records[:, kernel.ID] < records[:, kernel.ID + 1]
        for i in np.flatnonzero(~good):
            faults.add(int(rows[i]), *_wrong(records[i], layout))
        records, rows = records[good], rows[good]
        texts = gather(data, records[:, kernel.TEXT : kernel.TEXT + 3])
        if layout.more_text and len(records):
            further = range(kernel.COLUMNS, records.shape[1], 3)
            texts = joined_texts([texts, *(gather(data, records[:, at : at + 3]) for at in further)])
        columns = Columns(texts, rows)
        if layout.id_field >= 0:
            columns.ids = gather(data, records[:, kernel.ID : kernel.ID + 3])
        return make_batch(
            columns, faults, encoding=self._options.encoding, split=self._options.item, blank=blank, consumed=consumed
        )


class TsvSource(DelimitedSource):
    """One file delimited by tabs."""

    format = "tsv"


def record_blocks(source: str | ByteStream, name: str, kind: str, options: ReadOptions) -> Iterator[RecordBlock]:
    """Yield the records of a file in order, and where they lie; ``kind``: "csv" or "tsv".

    Raises InputError when the file cannot be read, or its first row does not have the columns that were asked for.
    """
    layout: Layout | None = None
    parts: list[LineBlock] = []  # whole lines, the first of which begins a record
    wanted = 0  # a record that goes on is looked at again only when twice as much of it is there
    limit = options.limit
    lines = line_blocks(source, encoding=options.encoding, limit=limit, pieces=True, count_to=options.count_to)
    with closing(Ahead(lines)) as blocks:
        while (part := blocks.look(0)) is not None or parts:
            is_cut = part is not None and part.part != WHOLE  # a line follows that is too long to be held
            if part is not None and not is_cut:
                blocks.take()
                parts.append(part)
                if sum(held.size for held in parts) < wanted and blocks.look(0) is not None:
                    continue
            buffer = _joined(parts)
            patience = MAX_RECORD if blocks.look(0) is not None else 0
            header = 0, 0
            if layout is None:
                layout = find_layout(buffer.data, buffer.size, patience, name, kind, options)
                header = (layout and layout.header) or header
            if layout is None:
                if is_cut or buffer.size > limit.largest:
                    raise _endless_row(name, limit)
                parts, wanted = [buffer], 2 * buffer.size
                if not patience:  # all blank
                    yield _records_in(buffer, BLANK_LAYOUT, patience)
                    return
                continue
            rest = buffer
            if buffer.size:
                found = _records_in(buffer, layout, patience, header)
                yield found
                rest = _rest(buffer, found.stop, header[1] + found.lines)
            parts, wanted = ([rest], 2 * rest.size) if rest.size else ([], 0)
            if is_cut or rest.size > limit.largest:
                block, parts = _endless(rest, blocks, layout)
                yield block
                wanted = 0


def _endless_row(name: str, limit: RecordLimit) -> InputError:
    reason, cure = limit.refusal("the first row", limit.largest, is_more=True)
    return InputError(f"{name}: {reason}; or it has a quoted field that is not closed. {cure}")


def _endless(rest: LineBlock, blocks: Ahead, layout: Layout) -> tuple[RecordBlock, list[LineBlock]]:
    """The block of a record that is too large to be held, or whose quote is never closed, and the lines behind it.

    ``rest`` is what is held of it: nothing if it begins with the next block, a line that is too long by itself.
    """
    following = blocks.look(0)
    if rest.size == 0 and following is not None:
        first_line, passed = following.first_line, pass_line(blocks, layout)
    else:
        found = pass_record(rest.data, rest.size, blocks, layout)
        if found is None:
            return _first_line_of(rest, layout)
        first_line, passed = rest.first_line, found
    bad = np.full((1, kernel.COLUMNS), -1, dtype=np.int64)
    bad[0, [kernel.LINE, kernel.STATUS, kernel.FIELDS]] = 0, kernel.NEVER_CLOSED, 0
    block = RecordBlock(
        np.zeros(SLACK, dtype=np.uint8),
        *(bad, 0, 0, first_line, rest.lines + passed.lines, layout, 0, rest.consumed + passed.consumed),
        too_large=rest.size + passed.size,
    )
    return block, [] if passed.left is None else [passed.left]


def _first_line_of(rest: LineBlock, layout: Layout) -> tuple[RecordBlock, list[LineBlock]]:
    """The first line by itself, as a record whose quote is never closed, and the lines behind it."""
    end = first_newline(rest.data, rest.size) + 1 or rest.size
    behind = _rest(rest, end, 1)
    line = _records_in(replace(rest, size=end, lines=1, consumed=0), layout, 1)
    return line, [behind] if behind.size else []


def _joined(parts: list[LineBlock]) -> LineBlock:
    """Blocks that follow each other as one."""
    if len(parts) == 1:
        return parts[0]
    data = np.concatenate([*(part.data[: part.size] for part in parts), np.zeros(SLACK, dtype=np.uint8)])
    first_line = parts[0].first_line if parts else 1
    lines, consumed = sum(part.lines for part in parts), sum(part.consumed for part in parts)
    return LineBlock(data, data.size - SLACK, lines, first_line, consumed)


def _rest(buffer: LineBlock, read: int, lines: int) -> LineBlock:
    """What follows the records that were read; its bytes were accounted for with them."""
    size, first_line = buffer.size - read, buffer.first_line + lines
    return LineBlock(buffer.data[read:], size, buffer.lines - lines, first_line, consumed=0)


def _records_in(buffer: LineBlock, layout: Layout, patience: int, header: tuple[int, int] = (0, 0)) -> RecordBlock:
    """The records of a buffer; ``patience`` is as ``scan_records`` has it, ``header``: bytes and lines before them."""
    start, lines_before = header
    records = np.empty((buffer.lines, kernel.COLUMNS), dtype=np.int64)
    count, stop, lines, blank = kernel.scan_records(
        *(buffer.data, start, buffer.size, layout.delimiter, layout.relaxed, patience),
        *(layout.text_field, layout.id_field, records),
    )
    records = records[:count]
    if layout.more_text:
        spans = [_spans(buffer, layout, start, stop, count, field) for field in layout.more_text]
        records = np.concatenate([records, *spans], axis=1)
    first_line = buffer.first_line + lines_before
    return RecordBlock(buffer.data, records, start, stop, first_line, lines, layout, blank, buffer.consumed)


def _spans(buffer: LineBlock, layout: Layout, start: int, stop: int, count: int, field: int) -> I64:
    """Where another field of the records lies; the block ends where its last record does, so none is waited for."""
    table = np.empty((count, kernel.COLUMNS), dtype=np.int64)
    if count:
        kernel.scan_records(buffer.data, start, stop, layout.delimiter, layout.relaxed, 0, field, -1, table)
    return table[:, kernel.TEXT : kernel.TEXT + 3]


def _wrong(record: I64, layout: Layout) -> tuple[str, str]:
    """Why a record is bad, and the cure."""
    if record[kernel.STATUS] != kernel.FINE:
        more = ", or text follows its closing quote" if record[kernel.STATUS] == kernel.BAD_QUOTE else ""
        return f"a quoted field is never closed{more}", "Double every quote inside a quoted field."
    fields = int(record[kernel.FIELDS])
    if fields == layout.width:
        return "the id is empty", ""
    reason = f"{fields} field{'s' if fields != 1 else ''} where the first row has {layout.width}"
    return reason, "Quote a field that holds the delimiter."
