"""CSV and TSV, with or without a header row.

Where records begin, and what is wrong with them, is found by ``kernels.delimited``, whose docstring has the rules for
quotes. Where a file may be cut is found piece after piece (``runs_of``); what lies between is read by tasks. All ids
are strings, so that ``007`` stays what it is; an empty id is a fault, as one that is missing in JSONL.

Measured on 509 MB of abstracts and 744 MB of quoted sources, one core: 2 GB/s to read the file and cut it, 1 GB/s to
read the records. Python's csv module reads 190 MB/s and holds the interpreter's lock; pyarrow.csv joins the records
behind a stray quote without a word and knows no line numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.inputs.again import LineRecords
from neardup.inputs.batches import Columns, gather, joined_texts, make_batch
from neardup.inputs.blocks import WHOLE, Held, LineBlock, LineSource, Slabs, count_lines, first_newline, line_blocks
from neardup.inputs.columns import ReadColumns
from neardup.inputs.json_columns import columns_of
from neardup.inputs.source import Faults, ReadOptions, Task, oversized, sized
from neardup.inputs.stream import ByteStream
from neardup.inputs.text.endless import MAX_RECORD, Ahead, pass_line, pass_record
from neardup.inputs.text.layout import BLANK_LAYOUT, Layout, check_line_ends, find_layout
from neardup.kernels import delimited as kernel
from neardup.types import I64, SLACK, U8, Batch, Origin

_ROOM = 1 << 18
"""Bytes before each block for the beginning of a record that ends in it; a longer one is copied with the block."""
_ALL = 1 << 62
_QUOTE = 0x22
_UNREAD = np.empty((0, kernel.COLUMNS), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """Whole records of a file, one after the other, without the header row; ``read`` finds them."""

    data: U8
    """UTF-8, followed by SLACK bytes; the records and the blank lines among them are ``data[start:stop]``."""
    start: int
    stop: int
    size: int
    """Bytes of whole lines in ``data``: as far as the end of a quoted field is looked for."""
    first_line: int
    """1-based number of the line at ``start``: record i begins at line ``first_line + records[i, kernel.LINE]``."""
    lines: int
    """Lines in ``data[start:stop]``, blank ones included."""
    layout: Layout
    patience: int
    """As ``scan_records`` has it."""
    consumed: int
    """Bytes of the input as stored that the block stands for."""
    too_large: int = 0
    """Bytes of a record that cannot be held; then it is the only one of the block, whose data is empty."""
    at: int = 0
    """Where in the input, unpacked and as UTF-8, ``data`` begins."""
    held: Held | None = None
    """As that of a ``LineBlock``."""
    records: I64 = field(default_factory=lambda: _UNREAD)
    """int64[n, kernel.COLUMNS] as ``scan_records`` writes it; behind it begin, end and doubled quotes, as those of the
    text, of each of ``layout.more_text`` and ``layout.more``. Empty before they were found."""
    blank: int = 0
    """Blank lines; known with the records."""

    def read(self) -> RecordBlock:
        """The block with its records."""
        if self.too_large:
            bad = np.full((1, kernel.COLUMNS), -1, dtype=np.int64)
            bad[0, [kernel.LINE, kernel.STATUS, kernel.FIELDS]] = 0, kernel.NEVER_CLOSED, 0
            return replace(self, records=bad)
        records = np.empty((self.lines, kernel.COLUMNS), dtype=np.int64)
        count, _, _, blank = self._scan(self.layout.text_field, self.layout.id_field, records)
        records = records[:count]
        if further := (*self.layout.more_text, *self.layout.more):
            spans = [self._spans(count, field) for field in further]
            records = np.concatenate([records, *spans], axis=1)
        return replace(self, records=records, blank=blank)

    def _spans(self, count: int, field: int) -> I64:
        """Where another field of the records lies."""
        table = np.empty((count, kernel.COLUMNS), dtype=np.int64)
        self._scan(field, -1, table)
        return table[:, kernel.TEXT : kernel.TEXT + 3]

    def _scan(self, text_field: int, id_field: int, records: I64) -> tuple[int, int, int, int]:
        layout = self.layout
        found: tuple[int, int, int, int] = kernel.scan_records(
            *(self.data, self.start, self.stop, self.size, layout.delimiter, layout.relaxed, self.patience),
            *(text_field, id_field, records),
        )
        return found


class DelimitedSource(LineSource):
    """One CSV file, or standard input."""

    format = "csv"

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of records, at most ``block`` each."""
        origin: Origin | None = None
        for run in runs_of(self._stream or self.name, self.name, self.format, self._options):
            self.columns, self.names = self.columns or run.layout.columns(self.name), run.layout.names
            origin = origin or self._origin(run.layout)
            if run.too_large:
                row, size = run.first_line, run.too_large
                yield partial(oversized, self.name, row, "the record", size, self._options, consumed=run.consumed)
            else:
                yield sized(partial(self._read_run, run, origin), run.stop - run.start, self._options)
            del run  # the buffer may go back before the next is taken

    def look(self) -> ReadColumns | None:
        runs = runs_of(self._stream or self.name, self.name, self.format, self._options)
        return next((run.layout.columns(self.name) for run in runs if run.layout.width), None)

    def _read_run(self, run: RecordBlock, origin: Origin | None = None) -> Batch:
        block = run.read()
        rows = block.records[:, kernel.LINE] + block.first_line
        facts = block.blank, block.consumed
        if origin is not None and block.layout.relaxed and np.any(run.data[run.start : run.stop] == _QUOTE):
            origin = None  # whether a quote counts depends on what follows the record
        return self.parse(block.data, block.records, rows, block.layout, *facts, origin=origin, at=run.at)

    def _origin(self, layout: Layout) -> Origin | None:
        """Of records that are read again, ids are not asked for."""
        plain = replace(layout, id_field=-1, names=(), header=None, more=())
        facts = {"layout": {**asdict(plain), "more_text": list(plain.more_text), "names": []}}
        del facts["layout"]["more"]
        return LineRecords.of(self, partial(self._read_again, plain), **facts)

    def reopened(self, facts: dict[str, Any]) -> Origin | None:
        told = facts["layout"]
        return self._origin(Layout(**{**told, "names": (), "more_text": tuple(told["more_text"])}))

    def _read_again(self, layout: Layout, block: LineBlock) -> Batch:
        """Read whole records that followed each other in the file, but for others between them."""
        lines = count_lines(block.data, block.size)
        return self._read_run(RecordBlock(block.data, 0, block.size, block.size, 1, lines, layout, 0, 0))

    def parse(
        self,
        data: U8,
        records: I64,
        rows: I64,
        layout: Layout,
        blank: int,
        consumed: int,
        *,
        origin: Origin | None = None,
        at: int = 0,
    ) -> Batch:
        """Read records that ``record_blocks`` found in ``data``; ``rows`` are their lines.

        ``origin`` reads them again, by where they are in the input; ``data`` begins at ``at`` there.
        """
        faults = Faults(self.name, self._options.on_bad)
        good = (records[:, kernel.STATUS] == kernel.FINE) & (records[:, kernel.FIELDS] == layout.width)
        if layout.id_field >= 0:
            good &= records[:, kernel.ID] < records[:, kernel.ID + 1]
        for i in np.flatnonzero(~good):
            faults.add(int(rows[i]), *_wrong(records[i], layout))
        records, rows = records[good], rows[good]
        texts = gather(data, records[:, kernel.TEXT : kernel.TEXT + 3])
        further = [gather(data, records[:, place : place + 3]) for place in range(kernel.COLUMNS, records.shape[1], 3)]
        if layout.more_text and len(records):
            texts = joined_texts([texts, *further[: len(layout.more_text)]])
        columns = Columns(texts, rows, spans=None if origin is None else records[:, kernel.BEGIN : kernel.END + 1] + at)
        if layout.id_field >= 0:
            columns.ids = gather(data, records[:, kernel.ID : kernel.ID + 3])
        if layout.more:
            mask, names = np.ones(rows.size, dtype=np.bool_), [layout.names[place] for place in layout.more]
            stored = pa.RecordBatch.from_arrays(further[len(layout.more_text) :], names=names)
            columns.more = columns_of(stored.to_pylist(), mask, rows, faults)
            columns.keep(mask)
        return make_batch(
            columns,
            faults,
            encoding=self._options.encoding,
            split=self._options.item,
            blank=blank,
            consumed=consumed,
            origin=origin,
        )


class TsvSource(DelimitedSource):
    """One file delimited by tabs."""

    format = "tsv"


def record_blocks(source: str | ByteStream, name: str, kind: str, options: ReadOptions) -> Iterator[RecordBlock]:
    """Yield the records of a file in order, and where they lie; errors are those of ``runs_of``."""
    return (run.read() for run in runs_of(source, name, kind, options, reuse=False))


def runs_of(
    source: str | ByteStream, name: str, kind: str, options: ReadOptions, *, reuse: bool = True
) -> Iterator[RecordBlock]:
    """Yield the records of a file in order, at most ``options.block`` at a time; ``kind``: "csv" or "tsv".

    ``reuse``: what a run holds is written over when nobody has the run any more.
    Raises InputError when the file cannot be read, or its first row does not have the columns that were asked for.
    """
    layout: Layout | None = None
    parts: list[LineBlock] = []  # whole lines, the first of which begins a record
    wanted = 0  # a record that goes on is looked at again only when twice as much of it is there
    limit, slabs = options.limit, Slabs() if reuse else None
    how: dict[str, Any] = {"encoding": options.encoding, "limit": limit, "count_to": options.count_to}
    lines = line_blocks(source, **how, pieces=True, slabs=slabs, room=_ROOM)
    with closing(Ahead(lines)) as blocks:
        while (part := blocks.look(0)) is not None or parts:
            is_cut = part is not None and part.part != WHOLE  # a line follows that is too long to be held
            if part is not None and not is_cut:
                blocks.take()
                parts.append(part)
                if sum(each.size for each in parts) < wanted and blocks.look(0) is not None:
                    continue
            buffer = _joined(parts)
            patience = MAX_RECORD if blocks.look(0) is not None else 0
            header = 0, 0
            if layout is None:
                layout = find_layout(buffer.data, buffer.size, patience, name, kind, options)
                header = (layout and layout.header) or header
            if layout is None:
                if is_cut or buffer.size > limit.largest:
                    check_line_ends((part or buffer).data, name)
                    reason, cure = limit.refusal("the first row", limit.largest, is_more=True)
                    raise InputError(f"{name}: {reason}; or it has a quoted field that is not closed. {cure}")
                parts, wanted = [buffer], 2 * buffer.size
                if not patience:  # all blank
                    yield from _cut(buffer, BLANK_LAYOUT, patience, options.block)[0]
                    return
                continue
            rest = buffer
            if buffer.size:
                runs, rest = _cut(buffer, layout, patience, options.block, header)
                yield from runs
                del runs
            parts, wanted = ([rest], 2 * rest.size) if rest.size else ([], 0)
            if is_cut or rest.size > limit.largest:
                found, parts = _endless(rest, blocks, layout)
                yield found
                wanted = 0
            del part, buffer, rest


def _endless(rest: LineBlock, blocks: Ahead, layout: Layout) -> tuple[RecordBlock, list[LineBlock]]:
    """The run of a record that is too large to be held, or whose quote is never closed, and the lines behind it.

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
    run = RecordBlock(
        *(np.zeros(SLACK, dtype=np.uint8), 0, 0, 0, first_line, rest.lines + passed.lines, layout, 0),
        consumed=rest.consumed + passed.consumed,
        too_large=rest.size + passed.size,
    )
    return run, [] if passed.left is None else [passed.left]


def _first_line_of(rest: LineBlock, layout: Layout) -> tuple[RecordBlock, list[LineBlock]]:
    """The first line by itself, as a record whose quote is never closed, and the lines behind it."""
    end = first_newline(rest.data, rest.size) + 1 or rest.size
    behind = _rest(rest, end, rest.lines - 1)
    (run,), _ = _cut(replace(rest, size=end, lines=1, consumed=0), layout, 1, None)
    return run, [behind] if behind.size else []


def _joined(parts: list[LineBlock]) -> LineBlock:
    """Blocks that follow each other as one."""
    if len(parts) == 1:
        return parts[0]
    first_line = parts[0].first_line if parts else 1
    lines, consumed = sum(part.lines for part in parts), sum(part.consumed for part in parts)
    if len(parts) == 2 and (whole := parts[1].whole) is not None:
        before, last = parts
        room = whole.size - last.data.size
        if before.size <= room:
            data = whole[room - before.size :]
            data[: before.size] = before.data[: before.size]
            return LineBlock(data, before.size + last.size, lines, first_line, consumed, at=before.at, held=last.held)
    data = np.concatenate([*(part.data[: part.size] for part in parts), np.zeros(SLACK, dtype=np.uint8)])
    at = parts[0].at if parts else 0
    return LineBlock(data, data.size - SLACK, lines, first_line, consumed, at=at)


def _rest(buffer: LineBlock, read: int, lines: int) -> LineBlock:
    """What follows the records that were read, ``lines`` lines; its bytes were accounted for with them."""
    first_line = buffer.first_line + buffer.lines - lines
    behind = buffer.data[read:], buffer.size - read, lines, first_line
    return LineBlock(*behind, consumed=0, at=buffer.at + read, held=buffer.held)


def _cut(
    buffer: LineBlock, layout: Layout, patience: int, most: int | None, header: tuple[int, int] = (0, 0)
) -> tuple[list[RecordBlock], LineBlock]:
    """The records of a buffer, ``most`` at a time, and what begins with one that is not whole.

    ``patience`` is as ``scan_records`` has it, ``header``: bytes and lines before the records. The first run carries
    the consumed bytes.
    """
    runs: list[RecordBlock] = []
    data, size, consumed = buffer.data, buffer.size, buffer.consumed
    at, left = header[0], buffer.lines - header[1]
    while at < size or not runs:
        stop = kernel.find_stop(data, at, size, layout.delimiter, layout.relaxed, patience, most or _ALL)
        if stop == at and runs:
            break
        is_most = stop - at > size - stop
        behind = count_lines(data[stop:], size - stop) if is_most else left - count_lines(data[at:], stop - at)
        line = buffer.first_line + buffer.lines - left
        span = at, stop, size, line, left - behind
        runs.append(RecordBlock(data, *span, layout, patience, consumed, at=buffer.at, held=buffer.held))
        at, left, consumed = stop, behind, 0
    return runs, _rest(buffer, at, left)


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
