"""The pairs that an earlier run wrote, read back: the table and the spec that it carries.

How they are written is in ``write``. Whose documents the ids are is for the reader of the pairs to find out.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import FormatError, InputError
from neardup.formats.arrow import explained
from neardup.formats.write import SPEC_SUFFIX, output_format
from neardup.params import SPEC_VERSION, Spec

__all__ = ["FiledPairs", "read_pairs"]

COLUMNS = ("id_a", "id_b", "similarity")


@dataclass(frozen=True, slots=True, eq=False)
class FiledPairs:
    """A table of pairs as a file has it."""

    name: str
    table: pa.Table
    """id_a, id_b (int64 or large_string), similarity (float64)."""
    spec: Spec


def read_pairs(path: str | os.PathLike[str]) -> FiledPairs:
    """Read the pairs that ``neardup find -o FILE`` wrote, with their spec.

    Raises:
        InputError: there is no such file, it has other columns, or no spec lies beside it.
        FormatError: it is damaged, or its spec is of another version.
    """
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise InputError(f"{name} is no file. Give the file of pairs that neardup find -o FILE wrote.")
    format = output_format(name, None)
    spec = _spec_of(name, format)
    with explained(name, "Parquet" if format == "parquet" else "neardup"):
        table = {"parquet": _parquet, "csv": _csv, "jsonl": _jsonl}[format](name)
    return FiledPairs(name, table, spec)


def _spec_of(name: str, format: str) -> Spec:
    """The spec that was written with a file of pairs."""
    cure = "Run neardup find -o FILE again, which writes both."
    side = f"{name}{SPEC_SUFFIX}"
    if format == "parquet":
        with explained(name, "Parquet"):
            text = (pq.read_schema(name).metadata or {}).get(b"neardup")
        if text is None:
            raise InputError(f"{name} carries no spec, so it is not a file of pairs that neardup wrote. {cure}")
    else:
        try:
            text = Path(side).read_bytes()
        except OSError as exc:
            raise InputError(
                f"{name}: the spec that neardup find writes beside it, {side}, is not there. {cure}"
            ) from exc
    place = name if format == "parquet" else side
    try:
        stored = json.loads(text)
        version = stored["version"]
        if version == SPEC_VERSION:
            return Spec.from_dict(stored)
    except (KeyError, TypeError, ValueError) as exc:
        raise FormatError(f"{place}: the spec is damaged ({exc}). {cure}") from exc
    raise FormatError(f"{place}: the spec has version {version}, and this neardup knows {SPEC_VERSION}. {cure}")


def _parquet(name: str) -> pa.Table:
    with pq.ParquetFile(name) as file:
        _check_columns(name, file.schema_arrow.names)
        return file.read(columns=list(COLUMNS))


def _csv(name: str) -> pa.Table:
    from pyarrow import csv

    types = {"id_a": pa.large_string(), "id_b": pa.large_string(), "similarity": pa.float64()}
    convert = csv.ConvertOptions(column_types=types, include_columns=list(COLUMNS), strings_can_be_null=False)
    with pa.input_stream(name, compression="detect") as stream:
        head = stream.read(1 << 12).split(b"\n")[0].decode("utf-8", "replace").strip().split(",")
    _check_columns(name, head)
    with pa.input_stream(name, compression="detect") as stream:
        parse = csv.ParseOptions(newlines_in_values=True)
        return csv.read_csv(stream, convert_options=convert, parse_options=parse)


def _jsonl(name: str) -> pa.Table:
    from pyarrow import json as arrow_json

    with pa.input_stream(name, compression="detect") as stream:
        line = stream.read(1 << 20).split(b"\n")[0]
    if not line.strip():
        return pa.table({each: pa.nulls(0, type_) for each, type_ in _types("").items()})
    first = json.loads(line)
    _check_columns(name, list(first))
    # a type is named, for otherwise ids that look like dates would become times
    schema = pa.schema(list(_types(first["id_a"]).items()))
    options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    with pa.input_stream(name, compression="detect") as stream:
        return arrow_json.read_json(stream, parse_options=options).select(list(COLUMNS))


def _types(id: object) -> dict[str, Any]:
    kind = pa.int64() if isinstance(id, int) else pa.large_string()
    return {"id_a": kind, "id_b": kind, "similarity": pa.float64()}


def _check_columns(name: str, columns: list[str]) -> None:
    missing = [each for each in COLUMNS if each not in columns]
    if missing:
        raise InputError(
            f"{name}: there is no column {missing[0]!r}; the columns are {', '.join(columns)}. Give the file of pairs "
            "that neardup find -o FILE wrote."
        )
