"""Tables written as JSONL, CSV, Parquet or .xlsx, exact and whole.

A similarity is written so that it reads back as the same float64; a text is escaped as RFC 8259 (JSON) and RFC 4180
(CSV) say. A table may come as a stream, and need not fit into memory: rows are cut into pieces by their number and
size, so the bytes written do not depend on how they came. Cells are made column by column inside Arrow, and a kernel
writes them row by row; ids that need no change it writes from where they lie, by the rows of their documents.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import strings
from neardup.arrays import text as scalar
from neardup.errors import InputError, OutputError, did_you_mean
from neardup.inputs.formats import COMPRESSIONS
from neardup.inputs.walk import SPEC_SUFFIX
from neardup.outputs.atomic import AtomicFiles, is_special, output_place, remove_parts, writing
from neardup.outputs.rows import RowTable
from neardup.outputs.sink import Sink
from neardup.outputs.stdout import stdout_bytes
from neardup.types import I64, SLACK, U8, Documents

OUTPUT_FORMATS = ("jsonl", "csv", "parquet", "xlsx")
_WHOLE = ("parquet", "xlsx")
"""Formats that are compressed inside and hold the spec."""
STDOUT = "-"
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".xlsx": "xlsx"}
_TEXT_ROWS, _TEXT_BYTES = 1 << 17, 8 << 20
"""What is turned into text at a time: some tens of MB of memory, and Ctrl-C is heard between two pieces."""
_GROUP_ROWS, _GROUP_BYTES = 1 << 20, 16 << 20
"""A row group of Parquet."""

JSON_CELLS = {b"json": b"yes"}
"""The metadata of a field whose texts are JSON values. JSONL has them as values, other formats as text."""
_NOTHING = np.empty(0, dtype=np.uint8)
_NO_IDS = np.empty((0, 6), dtype=np.int64)
_LOOKED_AT = 1 << 12
"""Numbers of a column by which it is told whether most come again."""

_JSON_SPECIAL = r'["\\\x00-\x1f]'
# RFC 4180 needs the first part; an empty text differs from no value; some readers drop blanks at an end.
_CSV_SPECIAL = '[",\r\n]|^$|^[ \t]|[ \t]$'

Written: TypeAlias = pa.Table | pa.RecordBatchReader | RowTable
"""A stream is read once, to its end."""


class Output(NamedTuple):
    """A table, where it goes, and in which format (None: as the suffix of the target says)."""

    table: Written
    target: str | Path
    format: str | None = None


def output_format(target: str | Path, format: str | None) -> str:
    """Return ``jsonl``, ``csv``, ``parquet`` or ``xlsx``: ``format`` when given, else what ``target`` ends in.

    ``.gz``, ``.zst``, ``.bz2``, ``.xz`` or ``.lz4`` after a suffix of JSONL or CSV compress it. Stdout (``-``) is JSONL
    unless a format is given. Raises InputError for an unknown one, and for Parquet that is to be compressed once more.
    """
    output_place(target)  # an address may have a password in it, which no message shows
    suffix, compression = _suffix_of(target)
    if format is None:
        format = "jsonl" if str(target) == STDOUT else _SUFFIXES.get(suffix)
        if format is None:
            known = ", ".join(_SUFFIXES)
            raise InputError(f"{target} does not tell a format. End the name in one of {known}, or give a format.")
    if format not in OUTPUT_FORMATS:
        near = did_you_mean(format, OUTPUT_FORMATS)
        raise InputError(f"format is {format!r}; known are {', '.join(OUTPUT_FORMATS)}.{near}")
    if format in _WHOLE and compression:
        raise InputError(f"{target}: {format} is compressed inside. Give a name that ends in .{format}.")
    return format


def _suffix_of(target: str | Path) -> tuple[str, str | None]:
    """The suffix that tells the format, and the compression asked for by a further suffix."""
    stem, last = os.path.splitext(Path(target).name.lower())
    return (os.path.splitext(stem)[1], COMPRESSIONS[last]) if last in COMPRESSIONS else (last, None)


def write_table(table: Written, target: str | Path, *, format: str | None, spec: dict[str, Any]) -> None:
    """Write one table to a file or, for ``-``, to stdout; see ``write_tables``."""
    write_tables([Output(table, target, format)], spec=spec)


def write_tables(outputs: Sequence[Output], *, spec: dict[str, Any], files: AtomicFiles | None = None) -> None:
    """Write tables so that either all their files appear, each whole, or none.

    Rows keep their order, integers stay integers, texts are UTF-8. The spec goes into the schema metadata
    of Parquet under the key ``neardup``, of .xlsx into its last sheet; beside a JSONL or CSV file it goes into
    ``TARGET.spec.json``.
    Stdout and special files (devices, pipes) get the rows only. Files are complete before the first byte
    goes to stdout, and get their names behind the last.

    Args:
        outputs: the tables and where they go.
        spec: what made them.
        files: get their names at the end of the caller's block, with the other outputs of the run.

    Raises:
        InputError: the format of an output is unknown.
        OutputError: an output cannot be written; the message has the path and the cure.
        BrokenPipeError: whoever read stdout has closed it; the files are there.
        TypeError: a column is neither text, number nor boolean.
    """
    planned = [(output, output_format(output.target, output.format)) for output in outputs]
    with AtomicFiles() if files is None else contextlib.nullcontext(files) as held:
        for (table, target, _), format in planned:
            if str(target) == STDOUT:
                continue
            _write(table, held.open(target), format, spec, _suffix_of(target)[1])
            if format not in _WHOLE and not is_special(target):
                side = held.open(f"{os.fspath(target)}{SPEC_SUFFIX}")
                side.write(json.dumps(spec, indent=2, sort_keys=True).encode() + b"\n")
        closed = None
        try:
            for (table, target, _), format in planned:
                if str(target) == STDOUT:
                    _write_stdout(table, format, spec)
        except BrokenPipeError as exc:
            closed = exc
    if closed is not None:
        raise closed


def remove_leftovers(target: str | Path) -> None:
    """Remove what a process that was killed while it wrote ``target`` has left beside it, for a run that is resumed."""
    remove_parts(target)
    remove_parts(f"{os.fspath(target)}{SPEC_SUFFIX}")


def _write_stdout(table: Written, format: str, spec: dict[str, Any]) -> None:
    if getattr(sys.stdout, "buffer", None) is None:
        raise OutputError("stdout is closed. Give a file for the output.")
    with writing("stdout"):
        stream = stdout_bytes()
        _write(table, stream, format, spec, None)
        stream.flush()


def _write(table: Written, stream: BinaryIO, format: str, spec: dict[str, Any], compression: str | None) -> None:
    schema = table.schema
    batches = table.to_batches() if isinstance(table, pa.Table) else table
    if format == "parquet":
        _write_parquet(schema, batches, stream, spec)
        return
    if format == "xlsx":
        from neardup.outputs.xlsx import write_xlsx

        write_xlsx(schema, batches, stream, spec)
        return
    packed: Any = None
    if compression in ("gzip", "zstd"):  # what was written with these stays the same bytes
        packed = pa.CompressedOutputStream(Sink(stream).file(), compression)
    elif compression:
        packed = Sink(stream, compression)
    with packed or contextlib.nullcontext(stream) as taker:
        for piece in _lines(schema, batches, format):
            taker.write(piece)


def _write_parquet(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], stream: BinaryIO, spec: dict[str, Any]
) -> None:
    import pyarrow.parquet as pq  # imported here, because it imports file systems and sockets

    note = json.dumps(spec, sort_keys=True).encode()
    noted = schema.with_metadata({**(schema.metadata or {}), b"neardup": note})
    with pq.ParquetWriter(Sink(stream).file(), noted, compression="zstd") as writer:
        for group in _regrouped(schema, batches, _GROUP_ROWS, _GROUP_BYTES):
            writer.write_table(pa.Table.from_batches([group.replace_schema_metadata(noted.metadata)], noted))


def _lines(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch] | RowTable, format: str
) -> Iterator[bytes | memoryview]:
    """Yield a table as JSONL, or as CSV as RFC 4180 has it (CRLF, doubled quotes), in the pieces of ``_regrouped``.

    A piece is valid until the next one, because all are written in one place, which stays in the cache.
    """
    from neardup.inputs.batches import documents_from  # imported here, because checking a name needs no kernels
    from neardup.kernels.lines import write_rows

    names, escaped = schema.names, _csv_text if format == "csv" else _json_escaped
    if format == "csv":
        yield (",".join(_csv_text(strings(names)).to_pylist()) + "\r\n").encode()
    ids, longest, is_text = None, 0, False
    if isinstance(batches, RowTable) and (ids := batches.ids.batches(escaped)) is not None:
        pieces, longest, is_text = batches.pieces, batches.ids.longest, _is_text(batches.ids.type)
    else:
        pieces = (batch.columns for batch in _regrouped(schema, batches, _TEXT_ROWS, _TEXT_BYTES))
    is_json = [format == "jsonl" and field.metadata == JSON_CELLS for field in schema]
    out, to, rows, size = np.empty(_TEXT_BYTES, dtype=np.uint8), 0, 0, 0
    for columns in pieces:
        # quotes that every cell has are in the text between them: adding these to cells takes as long as all else
        plain = [
            is_text if isinstance(each, np.ndarray) else _is_text(each.type) and not (each.null_count or is_value)
            for each, is_value in zip(columns, is_json, strict=True)
        ]
        between = Documents.from_texts(_between(names, plain, format))
        widest = between.nbytes + SLACK
        held: list[Any] = []
        facts: list[tuple[int, ...]] = []
        for column, is_plain, is_value in zip(columns, plain, is_json, strict=True):
            if isinstance(column, np.ndarray):
                held.append(np.ascontiguousarray(column, dtype=np.int64))
                facts.append((held[-1].ctypes.data, int(is_text), 0, 0))
                widest += longest
            else:
                text, null = (escaped, "") if format == "csv" else (escaped if is_plain else _json_text, "null")
                text = _as_it_is if is_value else text
                cells, sizes = documents_from(_cells(column, text, null=null)), _text_bytes(column)
                held += [cells, sizes]
                facts.append((0, *(each.ctypes.data for each in (cells.data, cells.offsets, sizes))))
                widest += int(np.diff(cells.offsets).max(initial=0))
        marks, count, row = between.data.ctypes.data + between.offsets, len(columns[0]), 0
        while row < count:
            at = row, to, rows, size, _TEXT_ROWS, _TEXT_BYTES, widest
            row, to, rows, size = write_rows(_NO_IDS if ids is None else ids, np.array(facts), marks, count, *at, out)
            if rows == _TEXT_ROWS or size >= _TEXT_BYTES:
                yield out[:to].data
                to = rows = size = 0
            elif row < count:
                out = np.concatenate((out[:to], np.empty(out.size + widest, dtype=np.uint8)))
    if rows:
        yield out[:to].data


def _between(names: Sequence[str], plain: Sequence[bool], format: str) -> list[str]:
    """Return the text before each cell of a line and after the last; in JSON with the quotes of the ``plain`` cells."""
    if format == "csv":
        return ["", *[","] * (len(names) - 1), "\r\n"]
    found, before = [], "{"
    for name, is_plain in zip(names, plain, strict=True):
        quote = '"' if is_plain else ""
        found.append(f"{before}{json.dumps(name, ensure_ascii=False)}: {quote}")
        before = f"{quote}, "
    return [*found, f"{before.removesuffix(', ')}}}\n"]


def _regrouped(schema: pa.Schema, batches: Iterable[pa.RecordBatch], rows: int, size: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows again, cut where ``rows`` of them or ``size`` bytes are full: the same for any batches.

    Compressors and Parquet give other bytes for other pieces, even where they give the same content.
    """
    held: list[pa.RecordBatch] = []
    held_rows = held_bytes = 0
    for batch in batches:
        sums = np.cumsum(8 * batch.num_columns + sum(map(_text_bytes, batch.columns)))
        start = 0
        while start < batch.num_rows:
            done = int(sums[start - 1]) if start else 0
            # the row that fills the piece belongs to it, so there is always one
            full = int(np.searchsorted(sums, done + size - held_bytes)) + 1
            stop = min(full, start + rows - held_rows, batch.num_rows)
            held.append(batch.slice(start, stop - start))
            held_rows += stop - start
            held_bytes += int(sums[stop - 1]) - done
            start = stop
            if held_rows == rows or held_bytes >= size:
                yield _one(schema, held)
                held, held_rows, held_bytes = [], 0, 0
    if held:
        yield _one(schema, held)


def _one(schema: pa.Schema, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches, schema).combine_chunks().to_batches()[0]


def _text_bytes(column: pa.Array) -> I64:
    """int64[rows]: the bytes of each text of a column, 0 for what is not a text."""
    width = {pa.string(): np.int32, pa.large_string(): np.int64}.get(column.type)
    if width is None or not len(column):
        return np.zeros(len(column), dtype=np.int64)
    # by hand: Arrow's own way to numpy loads pandas where it is installed
    ends = np.frombuffer(column.buffers()[1], dtype=width)[column.offset : column.offset + len(column) + 1]
    return np.diff(ends).astype(np.int64)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def _cells(column: pa.Array, text: Callable[[pa.Array], pa.Array], *, null: str) -> pa.Array:
    """Return a column as large_string cells ready to join; ``text`` quotes and escapes what is text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    large = pa.large_string()
    if _is_text(kind):
        cells = text(column.cast(large))
    elif pa.types.is_floating(kind):
        cells = _float_text(column, null)
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        cells = column.cast(large)
    else:
        raise TypeError(f"a column of type {kind} cannot be written as text")
    return pc.fill_null(cells, null) if cells.null_count else cells


def _float_text(column: pa.Array, null: str) -> pa.Array:
    """Shortest digits that read back as the same float64; a whole number gets ``.0`` and stays a float.

    Where they come again and again, as shares of small sets do, each distinct one is put into digits once.
    """
    numbers = column.cast(pa.float64())
    bits = numbers.view(pa.int64())  # 0.0 and -0.0 are two
    if 2 * len(bits[:_LOOKED_AT].unique()) > len(bits[:_LOOKED_AT]):  # of long texts most are distinct
        return _digits(numbers, null)
    packed = bits.dictionary_encode()
    return _digits(packed.dictionary.view(pa.float64()), null).take(packed.indices)


def _digits(numbers: pa.Array, null: str) -> pa.Array:
    cells = numbers.cast(pa.large_string())
    whole = pc.match_substring_regex(cells, r"^-?[0-9]+$")
    cells = pc.if_else(whole, pc.binary_join_element_wise(cells, scalar(".0"), scalar("")), cells)
    return pc.if_else(pc.is_finite(numbers), cells, scalar(null))


def _as_it_is(cells: pa.Array) -> pa.Array:
    return cells


def _json_text(cells: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(scalar('"'), _json_escaped(cells), scalar('"'), scalar(""))


def _json_escaped(cells: pa.Array) -> pa.Array:
    held = _held(cells)[1]
    if not any(found.any() for found in (held < 0x20, held == ord('"'), held == ord("\\"))):
        return cells
    return _rewritten(cells, _JSON_SPECIAL, lambda text: json.dumps(text, ensure_ascii=False)[1:-1])


def _csv_text(cells: pa.Array) -> pa.Array:
    starts, held = _held(cells)
    if np.all(starts[1:] > starts[:-1]) and not any((held == byte).any() for byte in b'",\r\n'):
        ends = held[starts[:-1]], held[starts[1:] - 1]
        if not any((byte == blank).any() for byte in ends for blank in b" \t"):
            return cells
    return _rewritten(cells, _CSV_SPECIAL, lambda text: '"' + text.replace('"', '""') + '"')


def _held(cells: pa.Array) -> tuple[I64, U8]:
    """Return where each cell begins, and the last one ends, in the bytes of all; and these bytes."""
    _, ends, texts = cells.buffers()
    if texts is None or not len(cells):
        return np.zeros(len(cells) + 1, dtype=np.int64), _NOTHING
    bounds = np.frombuffer(ends, dtype=np.int64)[cells.offset : cells.offset + len(cells) + 1]
    return bounds - bounds[0], np.frombuffer(texts, dtype=np.uint8)[bounds[0] : bounds[-1]]


def _rewritten(cells: pa.Array, special: str, rewrite: Callable[[str], str]) -> pa.Array:
    """Return the cells with those that match ``special`` rewritten, each distinct one once."""
    marked = pc.match_substring_regex(cells, special)
    if marked.null_count:
        marked = pc.fill_null(marked, False)
    if not pc.any(marked).as_py():
        return cells
    packed = pc.filter(cells, marked).dictionary_encode()
    distinct = strings(rewrite(text) for text in packed.dictionary.to_pylist())
    return pc.replace_with_mask(cells, marked, distinct.take(packed.indices))
