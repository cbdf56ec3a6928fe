"""One clean copy: ``rewrite_file`` for every format that holds many documents in a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, BinaryIO

import pyarrow as pa

from neardup.errors import InputError
from neardup.inputs.blocks import read_all
from neardup.inputs.columnar.ipc import IpcSource
from neardup.inputs.columnar.parquet import ParquetSource
from neardup.inputs.formats import stored_codec
from neardup.inputs.source import Source
from neardup.outputs.sink import Sink
from neardup.tasks.dedup.rewrite.annotate import annotate_text
from neardup.tasks.dedup.rewrite.ipc import count_ipc, rewrite_ipc
from neardup.tasks.dedup.rewrite.model import Rewrite, Tally, Written, check_rereadable
from neardup.tasks.dedup.rewrite.parquet import count_parquet, rewrite_parquet
from neardup.tasks.dedup.rewrite.text import cut_text

__all__ = ["TEXT_FORMATS", "check_annotatable", "rewrite_file"]

TEXT_FORMATS = ("jsonl", "lines", "csv", "tsv")
"""Formats that are cut as bytes, and that one stream can hold one after the other."""
_STEP = 4 << 20


def rewrite_file(job: Rewrite, out: BinaryIO, *, plain: bool = False, head: bool = True) -> Written:
    """Write a clean copy of a file: nothing but the removed documents differs.

    JSON Lines, lines, CSV and TSV keep every other byte of the decompressed file. Parquet and Arrow keep schema,
    metadata, order and values (see ``parquet`` and ``ipc``). A file that loses nothing is copied as it is stored.
    With an annotation, each document gets three more fields, ``cluster``, ``keeper`` and ``similarity``
    (``neardup_cluster`` and so on where the file has such a field: by its schema, its header row, or the first
    document of JSON Lines).

    Args:
        job: the file and what is to happen to it.
        out: buffered binary stream, left open.
        plain: never compress around the format.
        head: False leaves out the byte order mark and the header row of text, so that ``out`` can hold several files.

    Raises:
        InputChanged: the file is not what it was.
        InputError: it cannot be read again, or cannot be annotated.
        OSError: ``out`` cannot be written.
    """
    check_rereadable(job.path)
    codec = None if plain else stored_codec(job.path)
    if job.annotation is None and job.removed.size == 0 and head and stored_codec(job.path) == codec:
        tally = _count(job)
        return Written(tally.kept, 0, tally.bad, _copy_stored(job.path, out))
    with Sink(out, codec) as sink:
        tally = _rewrite(job, sink, head)
    if job.known is not None:
        job.known.check_end(tally.records)
    return Written(tally.kept, tally.removed, tally.bad, sink.written)


def _count(job: Rewrite) -> Tally:
    """The counts of a file that loses nothing; what is known of it is checked."""
    if job.format in TEXT_FORMATS:
        tally = cut_text(job, Sink(None, None))
    else:
        count = count_ipc if job.format == "arrow" else count_parquet
        tally = Tally(count(_source(job), job.path))
        if job.known is not None and job.known.rows.size:
            job.known.check_source(_reader(job))
    if job.known is not None:
        job.known.check_end(tally.records)
    return tally


def _reader(job: Rewrite) -> Source:
    """The reader of a columnar file."""
    return (IpcSource if job.format == "arrow" else ParquetSource)(job.path, replace(job.options, on_bad="skip"))


def _source(job: Rewrite) -> Any:
    """What the columnar rewriters take: the path, or where the file is compressed as a whole, its bytes."""
    if stored_codec(job.path) is None:
        return job.path
    data = _unpacked(job)
    return data if job.format == "arrow" else pa.BufferReader(data)


def _unpacked(job: Rewrite) -> Any:
    """The bytes of a file that is compressed as a whole."""
    return pa.py_buffer(read_all(job.path, limit=job.options.limit, many=True))


def _rewrite(job: Rewrite, sink: Sink, head: bool) -> Tally:
    if job.format in TEXT_FORMATS:
        if job.annotation is None:
            return cut_text(job, sink, head=head)
        check_annotatable(job.path, job.format)
        return annotate_text(job, sink, head=head)
    source = _source(job)
    try:
        return (rewrite_ipc if job.format == "arrow" else rewrite_parquet)(job, source, sink)
    except pa.ArrowException as exc:  # reading has its own; this is a type that can be read and not written
        reason = (str(exc).splitlines() or [type(exc).__name__])[0].rstrip(".")
        raise InputError(
            f"{job.path} cannot be written again as {job.format}: {reason}. Convert the column, or give the file as "
            "JSONL."
        ) from exc


def check_annotatable(path: str, format: str) -> None:
    """Raise InputError when documents of the format have no fields that could be added to."""
    if format in ("lines", "text"):
        raise InputError(
            f"{path}: a document of format {format!r} has no fields to add cluster, keeper and similarity to. "
            "Write the clusters to a file of their own, or give JSONL, CSV, Parquet or Arrow."
        )


def _copy_stored(path: str, out: BinaryIO) -> int:
    """Copy a file's bytes as they are; return how many."""
    size = 0
    with open(path, "rb", buffering=0) as stream:
        while piece := stream.read(_STEP):
            out.write(piece)
            size += len(piece)
    return size
