"""Clean copies of Parquet files, row group by row group.

Kept: the columns, their order and types (the Parquet schema and the Arrow schema), the metadata of the file, the
order of the row groups, and for each column its compression, whether it uses a dictionary, and whether it has
statistics. A row group gives one row group; one that loses all its rows is left out, and one whose decoded rows
would not fit into the memory allowed becomes several, since the library writes a row group in one piece. Not kept:
pages, encodings beyond the dictionary, Bloom filters, and the level of compression, which files do not tell.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import FormatError
from neardup.inputs.blocks import read_all
from neardup.inputs.columnar.parquet import Groups, arrow_file
from neardup.inputs.columnar.source import explained
from neardup.inputs.formats import stored_codec
from neardup.inputs.source import RecordLimit, TooLarge, TooLargeRows
from neardup.outputs.sink import Sink
from neardup.tasks.rewrite.columnar import Editor, bytes_of, explained_each
from neardup.tasks.rewrite.footers import MAGIC, footer_size, joined_footers
from neardup.tasks.rewrite.model import Rewrite

_BATCH_ROWS = 8192
"""Rows of a batch at most: a column with a dictionary can be far larger than its stored size tells."""
_READ_BYTES = 1 << 20
"""Stored bytes of a column that are held while its row group is read."""
_ARROW_SCHEMA = b"ARROW:schema"
_CODECS = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4", "LZO": "SNAPPY"}
"""What the writer calls them, where it differs; LZO it cannot write."""


def open_parquet(path: str, limit: RecordLimit) -> tuple[Any, Any]:
    """A Parquet file as pyarrow reads it, and the pyarrow file below: in memory if it is compressed as a whole."""
    with explained(path, "Parquet"):
        is_plain = stored_codec(path) is None
        source = arrow_file(path) if is_plain else pa.BufferReader(read_all(path, limit=limit, many=True))
        return pq.ParquetFile(source, pre_buffer=False, buffer_size=_READ_BYTES), source


def rewrite_parquet(job: Rewrite, sink: Sink) -> int:
    """Write a Parquet file without some rows, or with three more columns; the rows that it had."""
    file, source = open_parquet(job.path, job.options.limit)
    with source, file:
        groups = Groups(file, source, file.schema_arrow.names, job.options.limit)
        editor = Editor(job, file.schema_arrow)
        options = _writer_options(file, editor.schema)
        with pq.ParquetWriter(sink.file(), editor.schema, **options) as writer:
            for i in range(file.metadata.num_row_groups) if job.groups is None else job.groups:
                _rewrite_group(groups, i, editor, writer, job)
            if not options["store_schema"] and file.metadata.metadata:  # byte for byte, the Arrow schema among it
                writer.add_key_value_metadata(file.metadata.metadata)
    return editor.end()


def can_be_joined(path: str, limit: RecordLimit) -> bool:
    """Whether files of some row groups each of a copy can be joined to the copy: an index of pages lies behind all."""
    file, source = open_parquet(path, limit)
    with source, file:
        metadata = file.metadata
        group = metadata.row_group(0) if metadata.num_row_groups else None
        has_index = group is None or any(group.column(j).has_offset_index for j in range(metadata.num_columns))
    return not has_index and _is_joined_well()


@cache
def _is_joined_well() -> bool:
    """Whether the library that is here writes row groups whose bytes do not depend on where they lie; old ones did."""
    tables = [pa.table({"number": [i, i + 1], "text": ["some", f"text {i}"]}) for i in range(3)]

    def written(*some: Any) -> bytes:
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, tables[0].schema) as writer:
            for table in some:
                writer.write_table(table)
        return bytes(sink.getvalue())

    parts = [written(table) for table in tables]
    ends = [len(part) - footer_size(part[-8:]) for part in parts]
    try:
        footer = joined_footers([part[end:] for part, end in zip(parts, ends, strict=True)], ends)
    except FormatError:
        return False
    groups = (part[len(MAGIC) : end] for part, end in zip(parts, ends, strict=True))
    return b"".join([MAGIC, *groups, footer]) == written(*tables)


def count_parquet(path: str, limit: RecordLimit) -> int:
    """The rows of a Parquet file."""
    file, source = open_parquet(path, limit)
    with source, file:
        return int(file.metadata.num_rows)


def _rewrite_group(groups: Groups, i: int, editor: Editor, writer: Any, job: Rewrite) -> None:
    batches: list[Any] = []
    size = 0
    for batch in _batches(groups, i, job.path):
        edited = editor.edit(batch)
        if len(edited):
            batches.append(edited)
            size += bytes_of(edited)
        if size >= job.group_bytes:
            _write_group(batches, editor, writer)
            batches, size = [], 0
    _write_group(batches, editor, writer)


def _write_group(batches: list[Any], editor: Editor, writer: Any) -> None:
    if batches:
        table = pa.Table.from_batches(batches).cast(editor.schema)
        writer.write_table(table, row_group_size=len(table))


def _batches(groups: Groups, i: int, name: str) -> Iterator[Any]:
    """The rows of a row group in batches that can be held, of all columns: bytes about as for reading, rows fewer."""
    with explained(name, "Parquet"):
        groups = groups.having(i)
        plan = groups.plan(i)
    if isinstance(plan, TooLargeRows):
        reason, cure = groups.limit.refusal(f"{plan.what} of row group {i}", plan.size, most=groups.limit.whole)
        raise TooLarge(name, reason, cure)
    batches = groups.file.iter_batches(
        max(1, min(plan.rows, plan.fewer, _BATCH_ROWS)), row_groups=[i], use_threads=False
    )
    yield from explained_each(batches, name, "Parquet")


def _writer_options(file: Any, schema: Any) -> dict[str, Any]:
    """The options under which a writer of ``schema`` writes as the file was written."""
    metadata = file.metadata
    groups = metadata.num_row_groups
    columns = [metadata.row_group(0).column(j) for j in range(metadata.num_columns)] if groups else []
    codecs = {column.path_in_schema: str(_CODECS.get(column.compression, column.compression)) for column in columns}
    common = Counter(codecs.values()).most_common(1)[0][0] if codecs else "snappy"
    added = list(schema.names[len(file.schema_arrow.names) :])
    options: dict[str, Any] = {
        "compression": {**codecs, **dict.fromkeys(added, common)} if codecs else common,
        "store_schema": bool(added) and _ARROW_SCHEMA in (metadata.metadata or {}),
    }
    if columns:
        options["use_dictionary"] = [column.path_in_schema for column in columns if column.has_dictionary_page] + added
        options["write_statistics"] = [column.path_in_schema for column in columns if column.is_stats_set] + added
        options["sorting_columns"] = metadata.row_group(0).sorting_columns or None
        options["write_page_index"] = any(column.has_offset_index for column in columns)
    return options | _schema_options(file)


def _schema_options(file: Any) -> dict[str, Any]:
    """The options under which an empty file gets the Parquet schema of ``file``, or most of its columns."""
    known = inspect.signature(pq.ParquetWriter.__init__).parameters
    has_int96 = any(file.schema.column(i).physical_type == "INT96" for i in range(len(file.schema)))
    version = file.metadata.format_version
    choices = {
        "version": dict.fromkeys([version if version in ("1.0", "2.4", "2.6") else "2.6", "2.6", "2.4", "1.0"]),
        "use_compliant_nested_type": (True, False),
        "store_decimal_as_integer": (False, True),
        "write_time_adjusted_to_utc": (False, True),
    }
    choices = {name: values for name, values in choices.items() if name in known}
    best: dict[str, Any] = {}
    most = -1
    for values in product(*choices.values()):
        candidate = dict(zip(choices, values, strict=True)) | {"use_deprecated_int96_timestamps": has_int96}
        try:
            count = _equal_columns(_probe(file.schema_arrow, candidate), file.schema)
        except pa.ArrowException:  # this version of the format lacks a type
            continue
        if count > most:
            best, most = candidate, count
        if count == len(file.schema):
            break
    return best


def _equal_columns(one: Any, other: Any) -> int:
    """How many leaves of two Parquet schemas are equal; ``equals`` does not look at the names above a leaf."""
    pairs = zip(map(one.column, range(len(one))), map(other.column, range(len(other))), strict=False)
    return sum(a.equals(b) and a.path == b.path for a, b in pairs)


def _probe(schema: Any, options: dict[str, Any]) -> Any:
    """The Parquet schema that a writer makes of an Arrow schema."""
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, schema, **options).close()
    return pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
