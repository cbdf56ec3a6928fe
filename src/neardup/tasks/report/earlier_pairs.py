"""The pairs that an earlier run wrote by ``outputs.write``, read back some at a time, and the spec that they carry."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.arrays import numbers
from neardup.cutting import ROWS_AT_A_TIME
from neardup.errors import FormatError, InputError
from neardup.inputs.columnar.source import explained
from neardup.inputs.walk import SPEC_SUFFIX
from neardup.outputs.write import output_format
from neardup.params import SPEC_VERSION, Spec

COLUMNS = ("id_a", "id_b", "similarity")
CURE = "Give the file of pairs that neardup find -o FILE wrote."
BLOCK = 4 << 20
"""Bytes of lines read at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class EarlierPairs:
    """A file of pairs, which need not fit into memory."""

    name: str
    spec: Spec
    ids: pa.Array
    """Each id that the pairs name, once: int64 or large_string."""
    batches: Callable[[], Iterator[pa.RecordBatch]]
    """id_a, id_b, similarity of all pairs, some at a time; may be asked for again."""


def read_pairs(path: str | os.PathLike[str]) -> EarlierPairs:
    """Open the pairs that ``neardup find -o FILE`` wrote, with their spec; reads them once, for their ids.

    FormatError where the file is damaged, or its spec of another version.
    """
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise InputError(f"{name} is no file. {CURE}")
    format = output_format(name, None)
    if format == "xlsx":
        raise InputError(f"{name}: pairs are not read back from a spreadsheet. Write them as .parquet, .csv or .jsonl.")
    spec = _spec_of(name, format)

    def batches() -> Iterator[pa.RecordBatch]:
        with explained(name, "Parquet" if format == "parquet" else "neardup"):
            yield from {"parquet": _parquet, "csv": _csv, "jsonl": _jsonl}[format](name)

    return EarlierPairs(name, spec, _distinct(batches()), batches)


def _distinct(batches: Iterator[pa.RecordBatch]) -> pa.Array:
    """Each id once. Those of some batches wait until they are as many as are known, so the work is O(pairs)."""
    known, waiting = [numbers(np.empty(0, np.int64))], 0
    for batch in batches:
        columns = [batch.column(name) for name in COLUMNS[:2]]
        if not all(pa.types.is_integer(each.type) for each in (*columns, known[0])):
            columns, known = ([each.cast(pa.large_string()) for each in some] for some in (columns, known))
        known.append(pc.unique(pa.chunked_array(columns)))
        waiting += len(known[-1])
        if waiting > max(ROWS_AT_A_TIME, len(known[0])):
            known, waiting = [pc.unique(pa.chunked_array(known))], 0
    return pc.unique(pa.chunked_array(known))


def _spec_of(name: str, format: str) -> Spec:
    """The spec that was written with a file of pairs: in a Parquet file itself, else beside it."""
    cure = "Run neardup find -o FILE again, which writes both."
    place = name if format == "parquet" else f"{name}{SPEC_SUFFIX}"
    if format == "parquet":
        with explained(name, "Parquet"):
            text = (pq.read_schema(name).metadata or {}).get(b"neardup")
        if text is None:
            raise InputError(f"{name} carries no spec, so it is not a file of pairs that neardup wrote. {cure}")
    else:
        try:
            text = Path(place).read_bytes()
        except OSError as exc:
            raise InputError(
                f"{name}: the spec that neardup find writes beside it, {place}, is not there. {cure}"
            ) from exc
    try:
        stored = json.loads(text)
        version = stored["version"]
        if version == SPEC_VERSION:
            return Spec.from_dict(stored)
    except (KeyError, TypeError, ValueError) as exc:
        raise FormatError(f"{place}: the spec is damaged ({exc}). {cure}") from exc
    raise FormatError(f"{place}: the spec has version {version}, and this neardup knows {SPEC_VERSION}. {cure}")


def _parquet(name: str) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(name) as file:
        _check_columns(name, file.schema_arrow.names)
        yield from file.iter_batches(batch_size=ROWS_AT_A_TIME, columns=list(COLUMNS))


def _csv(name: str) -> Iterator[pa.RecordBatch]:
    from pyarrow import csv

    types = dict(zip(COLUMNS, (pa.large_string(), pa.large_string(), pa.float64()), strict=True))
    convert = csv.ConvertOptions(column_types=types, include_columns=list(COLUMNS), strings_can_be_null=False)
    with pa.input_stream(name, compression="detect") as stream:
        head = stream.read(1 << 12).split(b"\n")[0].decode("utf-8", "replace").strip().split(",")
    _check_columns(name, head)
    with pa.input_stream(name, compression="detect") as stream:
        parse = csv.ParseOptions(newlines_in_values=True)
        with csv.open_csv(stream, convert_options=convert, parse_options=parse) as reader:
            yield from reader


def _jsonl(name: str) -> Iterator[pa.RecordBatch]:
    from pyarrow import json as arrow_json

    options = None
    for lines in _whole_lines(name):
        if options is None:
            try:
                first = json.loads(lines.lstrip().split(b"\n")[0])
            except ValueError as exc:
                raise FormatError(f"{name}: the first line is no JSON ({exc}). {CURE}") from exc
            _check_columns(name, list(first) if isinstance(first, dict) else [])
            # a type is named, for otherwise ids that look like dates would become times
            kind = pa.int64() if isinstance(first["id_a"], int) else pa.large_string()
            schema = pa.schema(list(zip(COLUMNS, (kind, kind, pa.float64()), strict=True)))
            options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        table = arrow_json.read_json(pa.BufferReader(lines), parse_options=options)
        yield from table.select(list(COLUMNS)).to_batches()


def _whole_lines(name: str) -> Iterator[bytes]:
    """A file some lines at a time."""
    with pa.input_stream(name, compression="detect") as stream:
        held = b""
        while block := stream.read(BLOCK):
            lines, end, held = (held + block).rpartition(b"\n")
            if end:
                yield lines + end
        if held.strip():
            yield held


def _check_columns(name: str, columns: list[str]) -> None:
    missing = [each for each in COLUMNS if each not in columns]
    if missing:
        raise InputError(f"{name}: there is no column {missing[0]!r}; the columns are {', '.join(columns)}. {CURE}")
