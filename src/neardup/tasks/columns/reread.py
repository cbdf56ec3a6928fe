"""A column of the inputs, by which documents are chosen: read in a second pass, for some documents only.

In Parquet, Arrow and objects in memory nothing else is decoded, in CSV the fields are found by the reader's own rules,
and of JSON Lines only the wanted lines are parsed. How the values come to be of one type is in ``values``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers
from neardup.errors import InputError
from neardup.inputs.batches import gather
from neardup.inputs.blocks import LineBlock, line_blocks
from neardup.inputs.columnar.arrow_columns import Chosen
from neardup.inputs.columnar.ipc import IpcSource, ipc_batches
from neardup.inputs.columnar.objects import ObjectSource
from neardup.inputs.columnar.parquet import Groups, ParquetSource
from neardup.inputs.columnar.source import explained
from neardup.inputs.columnar.xlsx import XlsxSource
from neardup.inputs.columns import column_place, unknown_column
from neardup.inputs.datasets import DatasetSource
from neardup.inputs.reader import Reader
from neardup.inputs.source import BadRecord, ReadOptions, RecordLimit, Source, TooLarge, TooLargeRows
from neardup.inputs.text.delimited import DelimitedSource, RecordBlock, record_blocks
from neardup.inputs.text.jsonl import JsonlSource, objects, parse_object
from neardup.kernels.delimited import COLUMNS, LINE, TEXT, scan_records
from neardup.tasks.columns.values import Part, joined, json_part, ordered, text_part
from neardup.tasks.rewrite.ipc import open_ipc
from neardup.tasks.rewrite.model import changed, check_rereadable
from neardup.tasks.rewrite.parquet import open_parquet
from neardup.types import I64

KEEP = "keep"
"""The option that names the column, for messages."""
_AGAIN = "choosing by a column"
_PARSED = 1 << 16
"""Values of JSON Lines that are Python objects at a time."""
_NEWLINE = 10

Read = Callable[[int], Iterator[Any]]
"""Yields what a source has of the column at a place: batches of it alone, TooLargeRows, or a number of rows that nobody
wants."""


def check_column(reader: Reader, column: str, *, without: Collection[str] = (), option: str = KEEP) -> None:
    """Look, before a long run, whether every source has the column and its values can be put in order.

    Of a Parquet, Arrow or CSV file or an object the columns are looked at, of JSON Lines the first 4 MB of records: one
    of them must have the field. Of a CSV file ``column`` may be a 1-based number too. Sources ``without`` need none.
    ``option`` is what asked for it, for messages.

    Raises:
        InputError: a source has no such column, or none at all, or can be read only once.
    """
    for source in reader.parts:
        if source.name in without:
            continue
        if isinstance(source, JsonlSource):
            check_rereadable(source.name, _AGAIN)
            _check_json(source.name, column, reader.options, option)
        elif isinstance(source, XlsxSource):
            check_rereadable(source.name, _AGAIN)
            source.values(column, (), option=option)
        elif isinstance(source, DelimitedSource):
            check_rereadable(source.name, _AGAIN)
            for block in record_blocks(source.name, source.name, source.format, reader.options):
                if block.layout.width:
                    _field_of(block, column, source.name, option)
                    break
        else:
            _arrays_of(source, column, np.empty(0, dtype=np.int64), reader.options.limit, option)


def read_values(reader: Reader, column: str, wanted: Mapping[str, I64]) -> Any:
    """Read the values that some documents have in a column.

    A field that a record of JSON Lines lacks, null, NaN and a blank CSV field are null. Fields of CSV are numbers if
    all that are read of a file are, else strings. Takes memory for about the values.

    Args:
        reader: the inputs.
        column: as for ``check_column``.
        wanted: int64[n], rising, for the name of each source: lines or rows as its reader numbers them.

    Returns:
        Arrow array of one type, as ``values.ordered`` makes it, the sources in the order of ``wanted``, and in it by
        row.

    Raises:
        InputError: as ``check_column``; values are of two types; a source was changed since it was read.
    """
    sources = {source.name: source for source in reader.parts}
    parts = (parts_of(sources[name], column, rows, reader.options) for name, rows in wanted.items() if rows.size)
    return joined([part for each in parts for part in each], column)


def parts_of(source: Source, column: str, rows: I64, options: ReadOptions) -> Iterable[Part]:
    """The values of the wanted rows of a source, in order; of JSON Lines also of a part of one (``Source.part``)."""
    if isinstance(source, JsonlSource):
        yield from _json_parts(source, column, rows, options)
        return
    if isinstance(source, DelimitedSource):
        yield _delimited_part(source, column, rows, options)
        return
    if isinstance(source, XlsxSource):
        values = source.values(column, rows.tolist())
        if len(values) != rows.size:
            raise changed(source.name, int(rows.size), len(values))
        yield json_part(values, column, source.name, rows)
        return
    done = 0
    for first, array in _arrays_of(source, column, rows, options.limit):
        low, high = np.searchsorted(rows, [first, first + len(array)])
        if high > low:
            places = numbers(rows[low:high] - first)
            try:
                taken = array.take(places)
            except pa.ArrowNotImplementedError:  # of views
                taken = ordered(array, column, source.name).take(places)
            yield Part(source.name, rows[low:high], ordered(taken, column, source.name))
            done += int(high - low)
    if done != rows.size:
        raise changed(source.name, int(rows.size), done)


def _arrays_of(
    source: Source, column: str, rows: I64, limit: RecordLimit, option: str = KEEP
) -> Iterator[tuple[int, Any]]:
    """The column of a source that is columnar, as arrays, each with the 1-based row of its first value.

    Its name and type are looked at before anything is yielded.
    """
    schema, read = _opened(source, rows, column, limit, option)
    if schema is None:  # no rows, whatever the columns
        return iter(())
    if column not in schema.names:
        raise unknown_column(column, schema.names, source.name, option=option)
    place = column_place(schema.names, column, source.name)
    ordered(pa.nulls(0, schema.field(place).type), column, source.name)
    return _numbered(read(place), source.name, column, limit)


def _numbered(batches: Iterator[Any], source: str, column: str, limit: RecordLimit) -> Iterator[tuple[int, Any]]:
    first = 1
    for batch in batches:
        if isinstance(batch, TooLargeRows):
            raise TooLarge(source, *limit.refusal(f"{batch.what} of {column!r}", batch.size, most=limit.whole))
        if not isinstance(batch, int):
            yield first, batch.column(0)
        first += batch if isinstance(batch, int) else len(batch)


def _opened(source: Source, rows: I64, column: str, limit: RecordLimit, option: str) -> tuple[Any, Read]:
    """The Arrow schema of a source, None where it has no rows, and what reads the column at a place of it."""
    if isinstance(source, ParquetSource):
        return _opened_parquet(source.name, rows, limit)
    if isinstance(source, IpcSource):
        return _opened_ipc(source.name, limit)
    if isinstance(source, DatasetSource):
        schema = source.schema()
        return schema, lambda place: (batch for batch, _ in source.batches(schema, Chosen((place,), None), []))
    if isinstance(source, ObjectSource):
        schema, batches = source.with_column(column)
        if schema.names:
            return schema, lambda place: (batch.select([place]) for batch in batches)
    other = "Choose with --keep first, last, longest or shortest, or give" if option == KEEP else "Give"
    raise InputError(
        f"{source.name}: its documents have no columns, so there is no {column!r} to choose by. {other} JSONL, CSV, "
        "Parquet, Arrow, a spreadsheet or a frame."
    )


def _opened_parquet(name: str, rows: I64, limit: RecordLimit) -> tuple[Any, Read]:
    """A Parquet file, of which only row groups that have wanted rows are read."""
    check_rereadable(name, _AGAIN)
    file, opened = open_parquet(name, limit)

    def read(place: int) -> Iterator[Any]:
        first = 1
        with explained(name, "Parquet"), opened, file:
            groups = Groups(file, opened, [file.schema_arrow.names[place]], limit)
            for group in range(file.metadata.num_row_groups):
                count = file.metadata.row_group(group).num_rows
                low, high = np.searchsorted(rows, [first, first + count])
                if high > low:
                    yield from groups.having(group).batches(group)
                else:
                    yield count
                first += count

    return file.schema_arrow, read


def _opened_ipc(name: str, limit: RecordLimit) -> tuple[Any, Read]:
    """An Arrow file or stream; of compressed buffers only those of the column are unpacked."""
    check_rereadable(name, _AGAIN)
    data, reader, is_file, release = open_ipc(name, limit)

    def read(place: int) -> Iterator[Any]:
        with explained(name, "Arrow"):
            for batch, _ in ipc_batches(data, name, reader.schema, Chosen((place,), None), limit, is_file=is_file):
                yield batch
                release()

    return reader.schema, read


def _check_json(name: str, column: str, options: ReadOptions, option: str = KEEP) -> None:
    """Raise InputError when no record in the first block that has any has the field."""
    for block in line_blocks(name, encoding=options.encoding, limit=options.limit):
        names: dict[str, None] = {}
        lines = _lines(block, np.arange(block.first_line, block.first_line + block.lines))
        for record in objects(lines, options.encoding):
            if column in record:
                return
            names.update(dict.fromkeys(record))
        if names:
            raise unknown_column(column, list(names), name, option=option)


def _json_parts(source: JsonlSource, column: str, rows: I64, options: ReadOptions) -> Iterator[Part]:
    name, is_there = source.name, False
    done = start = 0
    values: list[Any] = []
    is_whole = source.part is None
    plain: Any = line_blocks(name, encoding=options.encoding, limit=options.limit) if is_whole else source.blocks()
    with closing(plain):
        for block in plain:
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
                    yield json_part(values, column, name, rows[start:done])
                    values, start = [], done
            if done == rows.size:
                break
    yield json_part(values, column, name, rows[start:done])
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


def _delimited_part(source: DelimitedSource, column: str, rows: I64, options: ReadOptions) -> Part:
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
    return text_part(pa.concat_arrays(arrays), column, source.name, rows)


def _scanned(block: RecordBlock, field: int) -> I64:
    """The table of a block's records with another field in the place of the text.

    The block ends where its last record does, so a quote that is open then is the one that was never closed.
    """
    layout = block.layout
    table = np.empty((len(block.records), COLUMNS), dtype=np.int64)
    span = block.start, block.stop, block.stop
    count, *_ = scan_records(block.data, *span, layout.delimiter, layout.relaxed, 0, field, -1, table)
    assert count == len(table)
    return table


def _field_of(block: RecordBlock, column: str, source: str, option: str = KEEP) -> int:
    """The 0-based field that a name, or a 1-based number, stands for."""
    layout = block.layout
    if column in layout.names:
        return column_place(layout.names, column, source)
    is_number = column.isascii() and column.isdigit()
    if is_number and 1 <= int(column) <= layout.width:
        return int(column) - 1
    if layout.names and not is_number:
        raise unknown_column(column, layout.names, source, option=option)
    raise InputError(
        f"{source}: there is no column {column!r} for --{option.replace('_', '-')} ({option}=); the first row has "
        f"{layout.width} fields"
        f"{'' if layout.names else ' and names none'}. Give the number of one, from 1."
    )
