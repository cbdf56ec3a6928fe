"""Values of a column, to choose by: read in a second pass, for some documents only, and ranked.

Every format that has columns or fields is read here for one of them: in Parquet, Arrow and objects in memory nothing
else is decoded, in CSV the fields are found by the reader's own rules, and of JSON Lines only the wanted lines are
parsed. How values of several kinds and types come together is in ``comparable``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from neardup.arrays import numbers
from neardup.errors import InputError
from neardup.inputs.batches import gather
from neardup.inputs.columnar.arrow_objects import ObjectSource
from neardup.inputs.columnar.ipc import IpcSource, check_messages, messages_of
from neardup.inputs.columnar.parquet import Groups, ParquetSource
from neardup.inputs.columnar.source import explained
from neardup.inputs.columns import unknown_column
from neardup.inputs.datasets import DatasetSource, shard_batches, shard_schema
from neardup.inputs.source import ReadOptions, RecordLimit, Source, TooLarge, TooLargeRows
from neardup.inputs.streams.streams import LineBlock, line_blocks, read_all, stored_codec
from neardup.inputs.text.delimited import DelimitedSource, RecordBlock, record_blocks
from neardup.inputs.text.jsonl import JsonlSource
from neardup.inputs.text.jsonl_judge import BadRecord, parse_object
from neardup.kernels.delimited import COLUMNS, LINE, TEXT, scan_records
from neardup.tasks.dedup.comparable import Part, from_python, from_text, in_one, plain, truths
from neardup.tasks.dedup.rewrite.model import changed

__all__ = ["check_column", "ranks", "read_values"]

I64 = NDArray[np.int64]

_OPTION = "keep"
_PARSED = 1 << 16
"""Values of JSON Lines that are Python objects at a time."""
_FILE_MAGIC = b"ARROW1"
_NEWLINE = 10

Numbered = Iterator[tuple[int, Any]]
"""Arrow arrays that follow each other, each with the 1-based row of its first value."""


class Inputs(Protocol):
    """What is needed of a reader."""

    parts: list[Source]
    options: ReadOptions


def check_column(inputs: Inputs, column: str, *, without: Collection[str] = ()) -> None:
    """Look, before a long run, whether every source has the column and it has an order.

    Of a Parquet, Arrow or CSV file or an object the columns are looked at, of JSON Lines the first 4 MB of records: one
    of them must have the field.

    Args:
        inputs: the reader.
        column: name of a column or field; of a CSV file a 1-based number too.
        without: names of sources that need none.

    Raises:
        InputError: a source has no such column, or none at all, or can be read only once.
    """
    for source in inputs.parts:
        if source.name in without:
            continue
        if isinstance(source, JsonlSource):
            _check_regular(source.name)
            _check_json(source.name, column, inputs.options)
        elif isinstance(source, DelimitedSource):
            _check_regular(source.name)
            for block in record_blocks(source.name, source.name, source.format, inputs.options):
                if block.layout.width:
                    _field_of(block, column, source.name)
                    break
        else:
            _arrays_of(source, column, np.empty(0, dtype=np.int64), inputs.options.limit)


def read_values(inputs: Inputs, column: str, wanted: Mapping[str, I64]) -> Any:
    """Read the values that some documents have in a column.

    A field that a record of JSON Lines lacks, null, NaN and a blank CSV field are null. Fields of CSV are numbers if
    all that are read of a file are, else strings. Takes memory for about the values.

    Args:
        inputs: the reader.
        column: as for ``check_column``.
        wanted: int64[n], rising, for the name of each source: lines or rows as its reader numbers them.

    Returns:
        Arrow array of one type, the sources in the order of ``wanted``, and in it by row: whole numbers exact to 76
        digits, float64, decimals, times, large_string (large_binary where a string is not UTF-8), or null.

    Raises:
        InputError: as ``check_column``; values cannot be compared with each other; a source was changed since it was
            read.
    """
    sources = {source.name: source for source in inputs.parts}
    parts: list[Part] = []
    size = 0
    for name, rows in wanted.items():
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        at = np.arange(size, size + rows.size, dtype=np.int64)
        size += rows.size
        if rows.size:
            parts += _parts_of(sources[name], column, rows, at, inputs.options)
    return in_one(parts, size, column)


def ranks(values: Any) -> I64:
    """Rank values: int64[n], from 0, equal for equal values, larger for larger ones; -1 for null and NaN.

    Numbers are ranked exactly, strings by their code points, false before true, times by the clock.
    """
    values = plain(values, "values", "values")
    known = truths(values.is_valid())
    found = np.full(len(values), -1, dtype=np.int64)
    if known.any():
        dense = pc.rank(values.drop_null(), tiebreaker="dense")
        # not by to_numpy, which imports pandas where that is installed
        found[known] = np.frombuffer(dense.buffers()[1], np.uint64, len(dense), 8 * dense.offset).astype(np.int64) - 1
    return found


def _parts_of(source: Source, column: str, rows: I64, at: I64, options: ReadOptions) -> Sequence[Part]:
    if isinstance(source, JsonlSource):
        _check_regular(source.name)
        return list(_json_parts(source.name, column, rows, at, options))
    if isinstance(source, DelimitedSource):
        _check_regular(source.name)
        return _delimited_parts(source, column, rows, at, options)
    parts: list[Part] = []
    done = 0
    for first, array in _arrays_of(source, column, rows, options.limit):
        low, high = np.searchsorted(rows, [first, first + len(array)])
        if high > low:
            values = plain(_taken(array, rows[low:high] - first, column, source.name), column, source.name)
            parts.append(Part(source.name, rows[low:high], at[low:high], values))
            done += int(high - low)
    if done != rows.size:
        raise changed(source.name, int(rows.size), done)
    return parts


def _taken(array: Any, rows: I64, column: str, source: str) -> Any:
    try:
        return array.take(numbers(rows))
    except pa.ArrowNotImplementedError:  # of views
        return plain(array, column, source).take(numbers(rows))


def _arrays_of(source: Source, column: str, rows: I64, limit: RecordLimit) -> Numbered:
    """The column of a source that is columnar; its name and type are looked at before anything is yielded."""
    if isinstance(source, ParquetSource):
        _check_regular(source.name)
        return _parquet_arrays(source.name, column, rows, limit)
    if isinstance(source, IpcSource):
        _check_regular(source.name)
        return _ipc_arrays(source.name, column, limit)
    if isinstance(source, DatasetSource):
        return _dataset_arrays(source, column)
    if isinstance(source, ObjectSource):
        schema, batches = source.with_column(column)
        if schema.names:
            place = _place(schema.names, column, source.name)
            arrays = _numbered(batch.column(place) for batch in batches)
            return _checked(column, source.name, schema.field(place).type, arrays)
    raise InputError(
        f"{source.name}: its documents have no columns, so there is no {column!r} to choose by. Choose with --keep "
        "first, last, longest or shortest, or give JSONL, CSV, Parquet, Arrow or a frame."
    )


def _place(names: Sequence[str], column: str, source: str) -> int:
    if column not in names:
        raise unknown_column(column, names, source, option=_OPTION)
    if names.count(column) > 1:
        raise InputError(f"{source}: {names.count(column)} columns are named {column!r}. Give each its own name.")
    return names.index(column)


def _numbered(arrays: Iterator[Any]) -> Numbered:
    first = 1
    for array in arrays:
        yield first, array
        first += len(array)


def _checked(column: str, source: str, type_: Any, arrays: Numbered) -> Numbered:
    """The arrays, once it is known that their type has an order."""
    plain(pa.nulls(0, type_), column, source)
    return arrays


def _parquet_arrays(name: str, column: str, rows: I64, limit: RecordLimit) -> Numbered:
    """The column in the row groups that have wanted rows."""
    with explained(name, "Parquet"):
        is_plain = stored_codec(name) is None
        opened: Any = pa.OSFile(name) if is_plain else pa.BufferReader(read_all(name, limit=limit, many=True))
        file = pq.ParquetFile(opened, pre_buffer=False, buffer_size=1 << 20)
        place = _place(file.schema_arrow.names, column, name)

    def arrays() -> Numbered:
        first = 1
        with explained(name, "Parquet"), opened, file:
            groups = Groups(file, opened, [column], limit)
            for group in range(file.metadata.num_row_groups):
                last = first + file.metadata.row_group(group).num_rows
                low, high = np.searchsorted(rows, [first, last])
                if high > low:
                    for batch in groups.batches(group):
                        if isinstance(batch, TooLargeRows):
                            raise TooLarge(name, *limit.refusal(f"a page of {column!r}", batch.size, most=limit.whole))
                        yield first, batch.column(0)
                        first += len(batch)
                first = last

    return _checked(column, name, file.schema_arrow.field(place).type, arrays())


def _ipc_arrays(name: str, column: str, limit: RecordLimit) -> Numbered:
    """The column of an Arrow file or stream; of compressed buffers only those of the column are unpacked."""
    with explained(name, "Arrow"):
        is_plain = stored_codec(name) is None
        file = pa.memory_map(name, "r") if is_plain else pa.BufferReader(read_all(name, limit=limit, many=True))
        is_file = file.read(len(_FILE_MAGIC)) == _FILE_MAGIC
        opened = pa.ipc.open_file if is_file else pa.ipc.open_stream
        file.seek(0)
        schema = opened(file).schema
        place = _place(schema.names, column, name)

    def arrays() -> Iterator[Any]:
        with explained(name, "Arrow"), file:
            file.seek(0)
            messages = messages_of(file.read_buffer(), is_file=is_file, schema=schema, columns=[place])
            check_messages(messages, name, limit, limit.whole)
            file.seek(0)
            reader = opened(file, options=pa.ipc.IpcReadOptions(included_fields=[place]))
            batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
            for batch in batches:
                yield batch.column(0)

    return _checked(column, name, schema.field(place).type, _numbered(arrays()))


def _dataset_arrays(source: DatasetSource, column: str) -> Numbered:
    schema = shard_schema(source.dataset)
    if schema is None:  # no rows, whatever the columns
        return iter(())
    place = _place(schema.names, column, source.name)
    arrays = (batch.column(place) for batch, _ in shard_batches(source.dataset))
    return _checked(column, source.name, schema.field(place).type, _numbered(arrays))


def _check_json(name: str, column: str, options: ReadOptions) -> None:
    """Raise InputError when no record in the first block that has any has the field."""
    for block in line_blocks(name, encoding=options.encoding, limit=options.limit):
        names: dict[str, None] = {}
        for line in _lines(block, np.arange(block.first_line, block.first_line + block.lines)):
            if line.isspace():
                continue
            try:
                record = parse_object(line, options.encoding)
            except BadRecord:
                continue
            if column in record:
                return
            names.update(dict.fromkeys(record))
        if names:
            raise unknown_column(column, list(names), name, option=_OPTION)


def _json_parts(name: str, column: str, rows: I64, at: I64, options: ReadOptions) -> Iterator[Part]:
    is_there = False
    done = start = 0
    values: list[Any] = []
    for block in line_blocks(name, encoding=options.encoding, limit=options.limit):
        high = int(np.searchsorted(rows, block.first_line + block.lines))
        for line in _lines(block, rows[done:high]):
            try:
                record = parse_object(line, options.encoding)
            except BadRecord as exc:
                raise changed(name, int(rows.size), done) from exc
            is_there = is_there or column in record
            values.append(record.get(column))
            done += 1
            if len(values) == _PARSED:
                yield from from_python(values, column, name, rows[start:done], at[start:done])
                values, start = [], done
        if done == rows.size:
            break
    yield from from_python(values, column, name, rows[start:done], at[start:done])
    if done != rows.size:
        raise changed(name, int(rows.size), done)
    if not is_there:
        _check_json(name, column, options)


def _lines(block: LineBlock, rows: I64) -> Iterator[bytes]:
    """The lines of a block with the 1-based numbers ``rows``, without their newlines."""
    if rows.size == 0:
        return
    ends = np.flatnonzero(block.data[: block.size] == _NEWLINE)
    if ends.size < block.lines:
        ends = np.append(ends, block.size)
    for i in (rows - block.first_line).tolist():
        start = int(ends[i - 1]) + 1 if i else 0
        yield block.data[start : ends[i]].tobytes()


def _delimited_parts(source: DelimitedSource, column: str, rows: I64, at: I64, options: ReadOptions) -> Sequence[Part]:
    arrays: list[Any] = []
    done = 0
    for block in record_blocks(source.name, source.name, source.format, options):
        high = int(np.searchsorted(rows, block.first_line + block.lines))
        if high == done:
            continue
        table = _scanned(block, _field_of(block, column, source.name))
        first = table[:, LINE] + block.first_line
        places = np.minimum(np.searchsorted(first, rows[done:high]), max(0, len(table) - 1))
        spans = table[places, TEXT : TEXT + 3] if len(table) else np.full((high - done, 3), -1, dtype=np.int64)
        found = int(np.count_nonzero((first[places] == rows[done:high]) & (spans[:, 0] >= 0))) if len(table) else 0
        if found != high - done:
            raise changed(source.name, int(rows.size), done + found)
        arrays.append(gather(block.data, spans))
        done = high
        if done == rows.size:
            break
    if done != rows.size:
        raise changed(source.name, int(rows.size), done)
    return list(from_text(pa.concat_arrays(arrays), column, source.name, rows, at))


def _scanned(block: RecordBlock, field: int) -> I64:
    """The table of a block's records with another field in the place of the text.

    The block ends where its last record does, so a quote that is open then is the one that was never closed.
    """
    layout = block.layout
    table = np.empty((len(block.records), COLUMNS), dtype=np.int64)
    count, *_ = scan_records(block.data, block.start, block.stop, layout.delimiter, layout.relaxed, 0, field, -1, table)
    assert count == len(table)
    return table


def _field_of(block: RecordBlock, column: str, source: str) -> int:
    """The 0-based field that a name, or a 1-based number, stands for."""
    layout = block.layout
    if column in layout.names:
        return _place(layout.names, column, source)
    is_number = column.isascii() and column.isdigit()
    if is_number and 1 <= int(column) <= layout.width:
        return int(column) - 1
    if layout.names and not is_number:
        raise unknown_column(column, layout.names, source, option=_OPTION)
    raise InputError(
        f"{source}: there is no column {column!r} for --{_OPTION} ({_OPTION}=); the first row has {layout.width} fields"
        f"{'' if layout.names else ' and names none'}. Give the number of one, from 1."
    )


def _check_regular(path: str) -> None:
    try:
        is_regular = path != "-" and stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return  # opening it says best what is wrong
    if not is_regular:
        name = "standard input" if path == "-" else path
        raise InputError(
            f"{name} can be read only once, and choosing by a column reads it again. Save it as a file first."
        )
