"""Other texts in records of text files: JSON Lines, plain lines, CSV and TSV, and files that are one text; records that
go whole go here too.

All other bytes stay: of a JSON object only the value of the text field is written anew, of a record of CSV only its
text field, which is quoted as it was, and wherever it must be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from neardup.errors import InputError
from neardup.inputs.blocks import read_all
from neardup.inputs.text.delimited import RecordBlock
from neardup.kernels.delimited import BEGIN, END, TEXT
from neardup.outputs.sink import Sink
from neardup.tasks.rewrite.blocks import Block, LineEnds, blocks, read_line_ends
from neardup.tasks.rewrite.feed import records_of
from neardup.tasks.rewrite.model import Replaced, Rewrite, changed
from neardup.types import I64

_WHITE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
"""Only strings and places are taken from it, and Python makes no number of more than 4,300 digits."""
Edit = tuple[int, int, bytes]
"""Begin and end of bytes, and what stands there instead."""


def replace_text(job: Rewrite, sink: Sink, *, head: bool) -> int:
    """Write a file of format "jsonl", "lines", "csv", "tsv" or "text" with ``job.replaced``; the records that it has.

    ``head`` False leaves out the byte order mark and the header row.
    """
    assert job.replaced is not None
    if job.format == "text":
        return _replace_whole(job, job.replaced, sink)
    replace = _replace_records if job.format in ("csv", "tsv") else _replace_lines
    gone = _Gone(np.setdiff1d(job.removed, job.replaced.rows, assume_unique=True))
    records = replace(job, job.replaced, gone, sink, head)
    job.replaced.check_end()
    if gone.seen != gone.rows.size:
        raise changed(job.path, gone.rows.size, gone.seen)
    return records


@dataclass(slots=True)
class _Gone:
    """Records that go, beside those whose text is replaced by none."""

    rows: I64
    """int64[n], rising: the lines on which they begin."""
    seen: int = 0

    def among(self, first: int, end: int) -> list[int]:
        """Those from line ``first`` to before line ``end``; each is asked for once."""
        found: list[int] = self.rows[slice(*np.searchsorted(self.rows, (first, end)))].tolist()
        self.seen += len(found)
        return found


def _replace_whole(job: Rewrite, replaced: Replaced, sink: Sink) -> int:
    with job.opened() as stream:
        ends = read_line_ends(stream, job.options.encoding)
    text = read_all(job.path, limit=job.options.limit, encoding=job.options.encoding)
    ((row, before, after),) = replaced.among(1, int(replaced.rows[-1]) + 1)
    replaced.check(row, before, text.decode("utf-8", "replace"))
    sink.write(ends.mark + _encoded(after or b"", ends, job.path))
    return 1


def _replace_lines(job: Rewrite, replaced: Replaced, gone: _Gone, sink: Sink, head: bool) -> int:
    records = 0
    with job.opened() as stream:
        ends = read_line_ends(stream, job.options.encoding)
        if head:
            sink.write(ends.mark)
        for block in blocks(stream, ends, job.options.limit):
            if block.is_piece:
                records += not block.is_rest
                sink.write(block.data)
                continue
            if job.known is not None:
                job.known.check_lines(block, job.format)
            edits = list(_line_edits(job, replaced, block))
            for row in gone.among(block.first_line, block.next_line):
                i = row - block.first_line
                edits.append((int(block.starts[i]), int(block.stops[i]), b""))
            edits.sort()
            records += int(np.count_nonzero(block.filled(spaces=job.format == "jsonl")))
            sink.write(_edited(memoryview(block.data), edits))  # type: ignore[arg-type]
    return records


def _line_edits(job: Rewrite, replaced: Replaced, block: Block) -> Iterator[Edit]:
    for row, before, after in replaced.among(block.first_line, block.next_line):
        i = row - block.first_line
        start, stop = int(block.starts[i]), int(block.stops[i])
        line = block.line(i).decode(block.ends.codec)
        text = line.rstrip("\n").removesuffix("\r")
        if job.format == "jsonl":
            begin, end, found = _value_of(line, replaced.field)
        else:
            begin, end, found = 0, len(text), text
        replaced.check(row, before, found)
        if after is None:
            yield start, stop, b""
            continue
        new = after.decode("utf-8", "replace")
        if job.format == "jsonl":
            new = json.dumps(new, ensure_ascii=line.isascii())
        yield start, stop, _encoded((line[:begin] + new + line[end:]).encode(), block.ends, job.path)


def _value_of(line: str, name: str) -> tuple[int, int, str | None]:
    """Begin, end and value of the last field of a name in a JSON object; value None where it has no such text."""
    place: tuple[int, int, str | None] = (0, 0, None)
    at = _skip(line, 0) + 1  # behind the brace
    try:
        while line[at := _skip(line, at)] == '"':
            key, at = _DECODER.raw_decode(line, at)
            begin = _skip(line, _skip(line, at) + 1)  # behind the colon
            value, at = _DECODER.raw_decode(line, begin)
            if key == name:
                place = (begin, at, value if isinstance(value, str) else None)
            at = _skip(line, at) + 1  # behind the comma or the brace
    except (ValueError, IndexError):
        pass  # the brace was the last, or the line is another than it was
    return place


def _skip(line: str, at: int) -> int:
    found = _WHITE.match(line, at)
    return at if found is None else found.end()


def _replace_records(job: Rewrite, replaced: Replaced, gone: _Gone, sink: Sink, head: bool) -> int:
    count = 0
    with job.opened() as stream:
        ends = read_line_ends(stream, job.options.encoding)
        if head:
            sink.write(ends.mark)
        for records in records_of(job.path, job.format, job.options):
            block = records.block
            if job.known is not None:
                job.known.check_records(records)
            if block.too_large:
                raise InputError(
                    f"{job.path}:{block.first_line}: the record is too long for the memory limit. Raise "
                    "--memory (memory=)."
                )
            if records.header_lines and head:
                sink.write(_head(job, records.header_lines))
            count += records.first.size
            rows = {int(line): i for i, line in enumerate(records.first.tolist())}
            edits = list(_record_edits(job, replaced, block, rows, records.next_line, ends))
            for row in gone.among(records.first_line, records.next_line):
                at = rows.get(row, -1)
                if at < 0:
                    raise changed(job.path, 1, 0)
                edits.append((int(block.records[at, BEGIN]), int(block.records[at, END]), b""))
            edits.sort()
            data = memoryview(block.data)  # type: ignore[arg-type]
            whole = _edited(data[: block.stop], edits, block.start)
            sink.write(whole if ends.codec == "utf_8" else _encoded(bytes(whole), ends, job.path))
    return count


def _record_edits(
    job: Rewrite, replaced: Replaced, block: RecordBlock, rows: dict[int, int], next_line: int, ends: LineEnds
) -> Iterator[Edit]:
    delimiter = chr(block.layout.delimiter)
    special = re.compile(f'[{re.escape(delimiter)}",\r\n]|^$|^[ \t]|[ \t]$')
    for row, before, after in replaced.among(block.first_line, next_line):
        i = rows.get(row, -1)
        begin, end, doubled = (int(value) for value in block.records[i, TEXT : TEXT + 3])
        found = block.data[begin:end].tobytes().decode("utf-8", "replace")
        replaced.check(row, before, found.replace('""', '"') if doubled else found if i >= 0 else None)
        if after is None:
            yield int(block.records[i, BEGIN]), int(block.records[i, END]), b""
            continue
        new = after.decode("utf-8", "replace")
        is_quoted = begin > block.start and block.data[begin - 1] == ord('"')
        if is_quoted:
            new = new.replace('"', '""')
        elif special.search(new):
            new = '"' + new.replace('"', '""') + '"'
        yield begin, end, new.encode()


def _head(job: Rewrite, lines: int) -> bytes:
    """The bytes of the header row."""
    with job.opened() as stream:
        ends = read_line_ends(stream, job.options.encoding)
        found = b""
        for block in blocks(stream, ends, job.options.limit):
            found += block.data[: block.begin(lines + 1)].tobytes()
            if block.next_line > lines:
                break
    return found


def _edited(data: memoryview, edits: Iterable[Edit], start: int = 0) -> bytes:
    pieces: list[memoryview | bytes] = []
    for begin, end, new in edits:
        pieces += [data[start:begin], new]
        start = end
    return b"".join([*pieces, data[start:]])


def _encoded(text: bytes, ends: LineEnds, path: str) -> bytes:
    try:
        return text if ends.codec == "utf_8" else ends.encode(text.decode())
    except UnicodeEncodeError as exc:
        raise InputError(
            f"{path}: a new text has characters that {ends.codec} lacks. Write the file again as UTF-8."
        ) from exc
