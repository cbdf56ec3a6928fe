"""One clean copy of a file that holds many documents: ``rewrite_file`` for every format.

Text is cut here, from the stored bytes. Whatever is kept is kept byte for byte: quoting, blank lines, line ends,
malformed records, a last line without a newline. The byte order mark and the header row belong to the file, not to a
document, and stay when the first document goes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.inputs.formats import stored_codec
from neardup.inputs.stream import open_at
from neardup.outputs.sink import Sink
from neardup.shown import first_line
from neardup.tasks.rewrite.blocks import Block, Buffer, blocks, read_line_ends
from neardup.tasks.rewrite.feed import Feed, Part, records_of
from neardup.tasks.rewrite.model import Rewrite, changed, check_rereadable
from neardup.types import I64

_COLUMNAR = ("parquet", "arrow", "xlsx")
_STEP = 4 << 20


def rewrite_file(job: Rewrite, out: BinaryIO, *, plain: bool = False, head: bool = True) -> int:
    """Write a clean copy of a file; how many records the file has, bad ones among them.

    Nothing but the removed documents differs: text keeps every other byte of the decompressed file, Parquet and Arrow
    what ``parquet`` and ``ipc`` say. A file that loses nothing is copied as it is stored. With an annotation, each
    document gets three more fields.

    ``plain`` never compresses around the format. ``head`` False leaves out the byte order mark and the header row of
    text, so that ``out`` can hold several files.

    Raises:
        InputChanged: the file is not what it was.
        InputError: it cannot be read again, or cannot be annotated.
    """
    check_rereadable(job.path)
    stored = stored_codec(job.path)
    codec = None if plain else stored
    is_whole = head and job.piece is None and job.groups is None
    if job.annotation is None and job.replaced is None and job.removed.size == 0 and stored == codec and is_whole:
        records = _count(job)
        with open_at(job.path) as stream:
            shutil.copyfileobj(stream, out, _STEP)
        return records
    with Sink(out, codec) as sink:
        records = _rewrite(job, sink, head)
    if job.known is not None:
        job.known.check_end(records)
    return records


def _count(job: Rewrite) -> int:
    """The records of a file that loses nothing; what is known of it is checked."""
    records = _cut_text(job, Sink(None, None), head=True) if job.format not in _COLUMNAR else _count_rows(job)
    if job.known is not None:
        job.known.check_end(records)
    return records


def _count_rows(job: Rewrite) -> int:
    if job.format == "xlsx":
        from neardup.tasks.rewrite.xlsx import count_xlsx

        return count_xlsx(job)
    from neardup.inputs.columnar.ipc import IpcSource
    from neardup.inputs.columnar.parquet import ParquetSource
    from neardup.tasks.rewrite.ipc import count_ipc
    from neardup.tasks.rewrite.parquet import count_parquet

    if job.known is not None and job.known.rows.size:
        reader = IpcSource if job.format == "arrow" else ParquetSource
        job.known.check_source(reader(job.path, replace(job.options, on_bad="skip")))
    return (count_ipc if job.format == "arrow" else count_parquet)(job.path, job.options.limit)


def _rewrite(job: Rewrite, sink: Sink, head: bool) -> int:
    """Write the copy; the number of records in the file."""
    if job.annotation is not None:
        check_annotatable(job.path, job.format)
    if job.format not in _COLUMNAR:
        if job.replaced is not None:
            from neardup.tasks.rewrite.replace import replace_text

            return replace_text(job, sink, head=head)
        if job.annotation is None:
            return _cut_text(job, sink, head=head)
        from neardup.tasks.rewrite.annotate import annotate_text

        return annotate_text(job, sink, head=head)
    if job.format == "xlsx":
        from neardup.tasks.rewrite.xlsx import rewrite_xlsx

        return rewrite_xlsx(job, sink)
    from neardup.tasks.rewrite.ipc import rewrite_ipc
    from neardup.tasks.rewrite.parquet import rewrite_parquet

    try:
        return (rewrite_ipc if job.format == "arrow" else rewrite_parquet)(job, sink)
    except pa.ArrowException as exc:  # reading has its own; this is a type that can be read and not written
        raise InputError(
            f"{job.path} cannot be written again as {job.format}: {first_line(exc)}. Convert the column, or give the "
            "file as JSONL."
        ) from exc


def check_annotatable(path: str, format: str) -> None:
    """Raise InputError when documents of the format have no fields that could be added to."""
    if format in ("lines", "text"):
        raise InputError(
            f"{path}: a document of format {format!r} has no fields to add cluster, keeper and similarity to. "
            "Write the clusters to a file of their own, or give JSONL, CSV, Parquet or Arrow."
        )


@dataclass(slots=True)
class _Seen:
    """Records seen of a text file, bad ones too, and how many of them were left out."""

    records: int = 0
    removed: int = 0


def _cut_text(job: Rewrite, sink: Sink, *, head: bool) -> int:
    """Write a text file without the records that begin on the lines ``job.removed``; all records that it has."""
    seen, buffer = _Seen(), Buffer()
    is_delimited = job.format in ("csv", "tsv")
    lines = np.iinfo(np.int64).max, np.stack([job.removed, job.removed + 1], axis=1)
    feed = Feed(_doomed_records(job, head, seen) if is_delimited else iter([lines]))
    with job.opened() as stream:
        ends = read_line_ends(stream, job.options.encoding, first_line=job.first_line)
        if head:
            sink.write(ends.mark)
        for block in blocks(stream, ends, job.options.limit, first_line=job.first_line):
            spans = feed.before(block.next_line)
            if block.is_piece and not is_delimited:
                seen.records += not block.is_rest  # no document is so long
            elif not is_delimited:
                if job.known is not None:
                    job.known.check_lines(block, job.format)
                seen.removed += len(spans)
                seen.records += int(np.count_nonzero(block.filled(spaces=job.format == "jsonl")))
            _write_rest(block, spans, feed, sink, buffer)
    feed.rest()
    if seen.removed != job.removed.size:
        raise changed(job.path, job.removed.size, seen.removed)
    return seen.records


def _write_rest(block: Block, spans: I64, feed: Feed, sink: Sink, buffer: Buffer) -> None:
    """Write the block without the lines of ``spans``; what a span has behind the block goes back to the feed."""
    if not len(spans):
        sink.write(block.data)
        return
    if spans[-1, 1] > block.goes_on_at:
        feed.put_back(np.array([[block.goes_on_at, spans[-1, 1]]], dtype=np.int64))
    stop = np.minimum(spans[:, 1], block.next_line)
    sink.write(buffer.without(block, spans[:, 0] - block.first_line, stop - block.first_line))


def _doomed_records(job: Rewrite, head: bool, seen: _Seen) -> Iterator[Part]:
    """Yield entries (first line, line behind it) of the records to leave out, and count all records."""
    for records in records_of(job.path, job.format, job.options):
        if job.known is not None:
            job.known.check_records(records)
        near = slice(*np.searchsorted(job.removed, [records.first_line, records.next_line]))
        goes = np.isin(records.first, job.removed[near], assume_unique=True)
        seen.removed += int(np.count_nonzero(goes))
        seen.records += goes.size
        spans = np.stack([records.first[goes], records.last[goes] + 1], axis=1)
        if records.header_lines and not head:
            header = np.array([[1, records.header_lines + 1]], dtype=np.int64)
            spans = np.concatenate([header, spans])
        yield records.next_line, spans
