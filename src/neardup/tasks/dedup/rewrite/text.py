"""Clean copies of JSON Lines, plain lines, CSV and TSV, cut from the stored bytes. More fields: ``annotate``.

Whatever is kept is kept byte for byte: quoting, blank lines, line ends, malformed records, a last line without a
newline. The byte order mark and the header row belong to the file, not to a document, and stay when the first
document goes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.inputs.stream import ByteStream
from neardup.outputs.sink import Sink
from neardup.tasks.dedup.rewrite.blocks import Block, Buffer, blocks, read_line_ends
from neardup.tasks.dedup.rewrite.feed import Feed, Part, records_of, those_rows
from neardup.tasks.dedup.rewrite.model import Rewrite, Tally, changed
from neardup.types import I64

__all__ = ["cut_text"]


def cut_text(job: Rewrite, sink: Sink, *, head: bool = True) -> Tally:
    """Write a text file without the records that begin on the lines ``job.removed``.

    ``head`` False leaves out the byte order mark and the header row, so that the bytes can follow others.

    Raises:
        InputError: the file cannot be read, or has no such records: it was changed.
    """
    tally = Tally()
    is_delimited = job.format in ("csv", "tsv")
    feed, buffer = Feed(_doomed_records(job, head, tally) if is_delimited else those_rows(job.removed)), Buffer()
    with ByteStream(job.path) as stream:
        ends = read_line_ends(stream, job.options.encoding)
        if head:
            sink.write(ends.mark)
        for block in blocks(stream, ends, job.options.limit):
            spans = feed.before(block.next_line)
            if block.is_piece and not is_delimited:
                tally.bad += not block.is_rest  # no document is so long
            elif not is_delimited:
                if job.known is not None:
                    job.known.check_lines(block, job.format)
                tally.removed += len(spans)
                tally.kept += int(np.count_nonzero(block.filled(spaces=job.format == "jsonl"))) - len(spans)
            _write_rest(block, spans, feed, sink, buffer)
    feed.rest()
    if tally.removed != job.removed.size:
        raise changed(job.path, job.removed.size, tally.removed)
    return tally


def _write_rest(block: Block, spans: I64, feed: Feed, sink: Sink, buffer: Buffer) -> None:
    """Write the block without the lines of ``spans``; what a span has behind the block goes back to the feed."""
    if not len(spans):
        sink.write(block.data)
        return
    if spans[-1, 1] > block.goes_on_at:
        feed.put_back(np.array([[block.goes_on_at, spans[-1, 1]]], dtype=np.int64))
    stop = np.minimum(spans[:, 1], block.next_line)
    sink.write(buffer.without(block, spans[:, 0] - block.first_line, stop - block.first_line))


def _doomed_records(job: Rewrite, head: bool, tally: Tally) -> Iterator[Part]:
    """Yield entries (first line, line behind it) of the records to leave out, and count all records."""
    for records in records_of(job.path, job.format, job.options):
        if job.known is not None:
            job.known.check_records(records)
        near = slice(*np.searchsorted(job.removed, [records.first_line, records.next_line]))
        goes = np.isin(records.first, job.removed[near], assume_unique=True)
        tally.removed += int(np.count_nonzero(goes))
        tally.kept += int(np.count_nonzero(records.is_good & ~goes))
        tally.bad += int(np.count_nonzero(~records.is_good & ~goes))
        spans = np.stack([records.first[goes], records.last[goes] + 1], axis=1)
        if records.header_lines and not head:
            header = np.array([[1, records.header_lines + 1]], dtype=np.int64)
            spans = np.concatenate([header, spans])
        yield records.next_line, spans
