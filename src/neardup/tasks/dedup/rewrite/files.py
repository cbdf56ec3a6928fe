"""One clean copy: ``rewrite_file`` for every format that holds many documents in a file."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.inputs.columnar.ipc import IpcSource
from neardup.inputs.columnar.parquet import ParquetSource
from neardup.inputs.source import ReadOptions, Source
from neardup.inputs.streams.streams import read_all, stored_codec
from neardup.tasks.dedup.rewrite.annotate import annotate_text
from neardup.tasks.dedup.rewrite.ipc import count_ipc, rewrite_ipc
from neardup.tasks.dedup.rewrite.known import Known
from neardup.tasks.dedup.rewrite.model import I64, Annotation, Tally, Written
from neardup.tasks.dedup.rewrite.parquet import count_parquet, rewrite_parquet
from neardup.tasks.dedup.rewrite.sink import Sink, copy_stored
from neardup.tasks.dedup.rewrite.text import cut_text

__all__ = ["GROUP_BYTES", "TEXT_FORMATS", "check_annotatable", "check_lasting", "rewrite_file"]

GROUP_BYTES = 64 << 20
"""Decoded bytes of a row group or batch that is written in one piece; about three times as much memory is used."""

TEXT_FORMATS = ("jsonl", "lines", "csv", "tsv")
"""Formats that are cut as bytes, and that one stream can hold one after the other."""


def rewrite_file(
    path: str,
    format: str,
    out: BinaryIO,
    *,
    options: ReadOptions,
    removed: I64,
    annotation: Annotation | None = None,
    plain: bool = False,
    head: bool = True,
    group_bytes: int = GROUP_BYTES,
    known: Known | None = None,
) -> Written:
    """Write a clean copy of a file: nothing but the removed documents differs.

    JSON Lines, lines, CSV and TSV keep every other byte of the decompressed file. Parquet and Arrow keep schema,
    metadata, order and values (see ``parquet`` and ``ipc``). A file that loses nothing is copied as it is stored.
    With an annotation, each document gets three more fields, ``cluster``, ``keeper`` and ``similarity``
    (``neardup_cluster`` and so on where the file has such a field: by its schema, its header row, or the first
    document of JSON Lines).

    Args:
        path: a regular file; compressed where its name ends in ``.gz`` or ``.zst``, and then ``out`` is too.
        format: "jsonl", "lines", "csv", "tsv", "parquet" or "arrow".
        out: buffered binary stream, left open.
        options: how the file was read; bad records are kept whatever ``on_bad`` says.
        removed: int64[n], rising: the 1-based lines or rows, as its reader numbers them, that are left out.
        annotation: fields to add; then nothing is removed.
        plain: never compress around the format.
        head: False leaves out the byte order mark and the header row of text, so that ``out`` can hold several files.
        group_bytes: decoded bytes of a row group or batch to write at most, about.
        known: what some of its documents were when they were read first; each is held against it.

    Raises:
        InputChanged: the file is not what it was.
        InputError: it cannot be read again, or cannot be annotated.
        OSError: ``out`` cannot be written.
    """
    if annotation is not None and removed.size:
        raise ValueError("a file is either annotated or cut")
    check_lasting(path)
    codec = None if plain else stored_codec(path)
    removed = np.ascontiguousarray(removed, dtype=np.int64)
    if annotation is None and removed.size == 0 and head and stored_codec(path) == codec:
        tally = _count(path, format, options, known)
        return Written(tally.kept, 0, tally.bad, copy_stored(path, out))
    with Sink(out, codec) as sink:
        tally = _rewrite(path, format, sink, options, removed, annotation, head, group_bytes, known)
    if known is not None:
        known.check_end(tally)
    return Written(tally.kept, tally.removed, tally.bad, sink.written)


def _count(path: str, format: str, options: ReadOptions, known: Known | None) -> Tally:
    """The counts of a file that loses nothing; what is known of it is checked."""
    if format in TEXT_FORMATS:
        nothing = np.empty(0, dtype=np.int64)
        tally = cut_text(path, format, Sink(None, None), options=options, removed=nothing, head=True, known=known)
    else:
        tally = Tally((count_ipc if format == "arrow" else count_parquet)(_source(path, format, options), path))
        if known is not None and known.rows.size:
            known.check_source(_reader(path, format, options))
    if known is not None:
        known.check_end(tally)
    return tally


def _reader(path: str, format: str, options: ReadOptions) -> Source:
    """The reader of a columnar file."""
    return (IpcSource if format == "arrow" else ParquetSource)(path, replace(options, on_bad="skip"))


def _source(path: str, format: str, options: ReadOptions) -> Any:
    """What the columnar rewriters take: the path, or where the file is compressed as a whole, its bytes."""
    if stored_codec(path) is None:
        return path
    data = _unpacked(path, options)
    return data if format == "arrow" else pa.BufferReader(data)


def _unpacked(path: str, options: ReadOptions) -> Any:
    """The bytes of a file that is compressed as a whole."""
    return pa.py_buffer(read_all(path, limit=options.limit, many=True))


def _rewrite(
    path: str,
    format: str,
    sink: Sink,
    options: ReadOptions,
    removed: I64,
    annotation: Annotation | None,
    head: bool,
    group_bytes: int,
    known: Known | None,
) -> Tally:
    if format in TEXT_FORMATS:
        if annotation is None:
            return cut_text(path, format, sink, options=options, removed=removed, head=head, known=known)
        check_annotatable(path, format)
        return annotate_text(path, format, sink, options=options, annotation=annotation, head=head, known=known)
    source = _source(path, format, options)
    how: dict[str, Any] = {"removed": removed, "annotation": annotation, "known": known, "limit": options.limit}
    try:
        if format == "arrow":
            return rewrite_ipc(source, path, sink, **how, batch_bytes=group_bytes)
        return rewrite_parquet(source, path, sink, **how, group_bytes=group_bytes)
    except pa.ArrowException as exc:  # reading has its own; this is a type that can be read and not written
        reason = (str(exc).splitlines() or [type(exc).__name__])[0].rstrip(".")
        raise InputError(
            f"{path} cannot be written again as {format}: {reason}. Convert the column, or give the file as JSONL."
        ) from exc


def check_annotatable(path: str, format: str) -> None:
    """Raise InputError when documents of the format have no fields that could be added to."""
    if format in ("lines", "text"):
        raise InputError(
            f"{path}: a document of format {format!r} has no fields to add cluster, keeper and similarity to. "
            "Write the clusters to a file of their own, or give JSONL, CSV, Parquet or Arrow."
        )


def check_lasting(path: str) -> None:
    """Raise InputError when a file can be read only once: standard input, a pipe, a device."""
    try:
        is_regular = path != "-" and stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return  # opening it says best what is wrong
    if not is_regular:
        name = "standard input" if path == "-" else path
        raise InputError(f"{name} can be read only once, and a clean copy reads it again. Save it as a file first.")
