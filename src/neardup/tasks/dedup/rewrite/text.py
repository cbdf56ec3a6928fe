"""Clean copies of JSON Lines, plain lines, CSV and TSV, cut from the stored bytes. More fields: ``annotate``.

Whatever is kept is kept byte for byte: quoting, blank lines, line ends, malformed records, a last line without a
newline. The byte order mark and the header row belong to the file, not to a document, and stay when the first
document goes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.inputs.source import ReadOptions
from neardup.inputs.streams.streams import open_bytes
from neardup.tasks.dedup.rewrite.blocks import Block, Room, blocks, read_code
from neardup.tasks.dedup.rewrite.feed import Feed, Part, records_of, those_rows
from neardup.tasks.dedup.rewrite.known import Known
from neardup.tasks.dedup.rewrite.model import I64, Tally, changed
from neardup.tasks.dedup.rewrite.sink import Sink

__all__ = ["cut_text"]


def cut_text(
    path: str, format: str, sink: Sink, *, options: ReadOptions, removed: I64, head: bool, known: Known | None
) -> Tally:
    """Write a text file without the records that begin on the lines ``removed``.

    Args:
        path: the file.
        format: "jsonl", "lines", "csv" or "tsv".
        sink: where the bytes go.
        options: how the file is read.
        removed: int64[n], rising: 1-based lines.
        head: False leaves out the byte order mark and the header row, so that the bytes can follow others.
        known: what some of its documents were, and must be.

    Raises:
        InputError: the file cannot be read, or has no such records: it was changed.
    """
    tally = Tally()
    is_delimited = format in ("csv", "tsv")
    doomed = those_rows(removed)
    if is_delimited:
        doomed = _doomed_records(path, format, options, removed, head, tally, known)
    feed, room = Feed(doomed), Room()
    with open_bytes(path) as stream:
        code = read_code(stream, options.encoding)
        if head:
            sink.write(code.mark)
        for block in blocks(stream, code, options.limit):
            spans = feed.before(block.next_line)
            if block.is_piece and not is_delimited:
                tally.bad += not block.is_rest  # no document is so long
            elif not is_delimited:
                if known is not None:
                    known.check_lines(block, format)
                tally.removed += len(spans)
                tally.kept += int(np.count_nonzero(block.filled(spaces=format == "jsonl"))) - len(spans)
            _write_rest(block, spans, feed, sink, room)
    feed.rest()
    if tally.removed != removed.size:
        raise changed(path, removed.size, tally.removed)
    return tally


def _write_rest(block: Block, spans: I64, feed: Feed, sink: Sink, room: Room) -> None:
    """Write the block without the lines of ``spans``; what a span has behind the block goes back to the feed."""
    if not len(spans):
        sink.write(block.data)
        return
    if spans[-1, 1] > block.goes_on_at:
        feed.put_back(np.array([[block.goes_on_at, spans[-1, 1]]], dtype=np.int64))
    stop = np.minimum(spans[:, 1], block.next_line)
    sink.write(room.without(block, spans[:, 0] - block.first_line, stop - block.first_line))


def _doomed_records(
    path: str, kind: str, options: ReadOptions, removed: I64, head: bool, tally: Tally, known: Known | None
) -> Iterator[Part]:
    """Yield entries (first line, line behind it) of the records to leave out, and count all records."""
    for records in records_of(path, kind, options):
        if known is not None:
            known.check_records(records)
        near = slice(*np.searchsorted(removed, [records.first_line, records.next_line]))
        goes = np.isin(records.first, removed[near], assume_unique=True)
        tally.removed += int(np.count_nonzero(goes))
        tally.kept += int(np.count_nonzero(records.is_good & ~goes))
        tally.bad += int(np.count_nonzero(~records.is_good & ~goes))
        spans = np.stack([records.first[goes], records.last[goes] + 1], axis=1)
        if records.header_lines and not head:
            header = np.array([[1, records.header_lines + 1]], dtype=np.int64)
            spans = np.concatenate([header, spans])
        yield records.next_line, spans
