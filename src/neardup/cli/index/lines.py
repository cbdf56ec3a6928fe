"""Lines of inputs that may pause, as they come: what ``dedup-stream`` reads.

Here: cutting what has come into whole lines, and turning them into documents that know their line. A thread reads, so
that waiting for input stops neither the clock nor Ctrl-C. What a line must be is the readers' business (``inputs``).
"""

from __future__ import annotations

import hashlib
import io
import os
import queue
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neardup.errors import InputError

if TYPE_CHECKING:
    from neardup.inputs.source import ReadOptions
    from neardup.types import Batch

__all__ = ["PAUSE", "STDIN", "Chunk", "Records", "chunks", "line_format", "names_of"]

STDIN = "-"
PAUSE = 0.2
"""Seconds after which lines that have come are worked on, though more may follow."""
CHUNK_BYTES = 4 << 20
"""Bytes of lines that are worked on together, about."""
CHUNK_LINES = 1 << 14
"""Lines that are worked on together, at most."""
PIECE = 1 << 16
AHEAD = 64
"""Pieces that may wait to be worked on."""

_BOM = b"\xef\xbb\xbf"
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
"""How gzip and Zstandard begin."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines of one input, byte for byte; only the last of the input may lack its newline."""

    source: str
    data: bytes
    first_line: int
    """Number of its first line, from 1."""
    too_large: int = 0
    """Bytes of a line that is longer than may be held; then it is the only one, and there is no data."""


def line_format(source: str, input_format: str | None, *, item: bool) -> str | None:
    """``jsonl`` or ``lines`` as the name or the option says; None for stdin, whose first line tells.

    Raises:
        InputError: it is of a format that has no lines.
    """
    from neardup.inputs.formats import suffix_format

    format = input_format or suffix_format(source)
    if format == "text" and item and input_format is None:
        format = "lines"
    if format is None and source == STDIN:
        return "lines" if item else None
    if format in ("jsonl", "lines"):
        return format
    name = "standard input" if source == STDIN else source
    told = f"{name} is of the format {format}" if format else f"the name of {name} does not tell its format"
    raise InputError(
        f"{told}, and dedup-stream passes lines on: JSON Lines, or with --input-format lines a text each. For other"
        " formats there is neardup index add --if-new."
    )


def chunks(sources: Sequence[str], options: ReadOptions) -> Iterator[Chunk]:
    """Yield the lines of all sources as they come: when 4 MB are there, or what has come after 0.2 seconds.

    A line that is longer than the record limit of ``options`` is passed over.

    Raises:
        InputError: a source cannot be read; the lines before that have been given out.
    """
    pieces: queue.Queue[Any] = queue.Queue(AHEAD)
    threading.Thread(target=_fetch, args=(list(sources), pieces), name="neardup-read", daemon=True).start()
    for source in sources:
        yield from _of_source(source, pieces, options)


def _fetch(sources: list[str], pieces: queue.Queue[Any]) -> None:
    """Put the bytes of each source, then None; or the error that ended it all."""
    try:
        for source in sources:
            for piece in _pieces(source):
                pieces.put(piece)
            pieces.put(None)
    except BaseException as exc:
        pieces.put(exc)


def _of_source(source: str, pieces: queue.Queue[Any], options: ReadOptions) -> Iterator[Chunk]:
    held: list[bytes] = []
    size, line = 0, 1
    passed = 0  # bytes of a line that is too long, which is being passed over
    due: float | None = None  # when the whole lines that are held have waited long enough
    while True:
        try:
            piece = pieces.get(timeout=None if due is None else max(0.0, due - time.monotonic()))
        except queue.Empty:
            piece = b""
        if isinstance(piece, BaseException):
            raise piece
        if passed:
            more, newline, rest = (piece or b"").partition(b"\n")
            passed += len(more)
            if newline or piece is None or passed > (options.count_to or passed):
                yield Chunk(source, b"", line, passed)
                line, passed = line + 1, 0
            piece = rest if piece is not None else None
        if piece:
            held.append(piece)
            size += len(piece)
            if due is None and b"\n" not in piece and size > options.limit.largest:
                held, size, passed = [], 0, size
            if due is None and b"\n" in piece:
                due = time.monotonic() + PAUSE
        if piece is None or (due is not None and (size >= CHUNK_BYTES or time.monotonic() >= due)):
            data = b"".join(held)
            cut = len(data) if piece is None else data.rfind(b"\n") + 1
            for part in _parts(data[:cut]):
                yield Chunk(source, part, line)
                line += part.count(b"\n")
            held, size, due = [data[cut:]], len(data) - cut, None
        if piece is None:
            return


def _parts(data: bytes) -> Iterator[bytes]:
    """Lines in parts of no more than can be worked on together."""
    if data.count(b"\n") <= CHUNK_LINES:
        if data:
            yield data
        return
    lines = io.BytesIO(data).readlines()
    for start in range(0, len(lines), CHUNK_LINES):
        yield b"".join(lines[start : start + CHUNK_LINES])


def _pieces(source: str) -> Iterator[bytes]:
    """The bytes of a source, unpacked, as they come."""
    from neardup.inputs.streams.streams import open_bytes, stored_codec

    if source == STDIN:
        yield from _of_stdin()
    elif stored_codec(source) is not None:
        yield from _unpacked(source)
    else:
        open_bytes(source).close()  # says best what is wrong with it
        with open(source, "rb", buffering=0) as stream:
            while piece := stream.read(PIECE):
                yield piece


def _of_stdin() -> Iterator[bytes]:
    buffer: Any = getattr(sys.stdin, "buffer", None)
    if buffer is None:
        raise InputError("standard input is not open. Pipe data into the command or name a file instead of '-'.")
    if not hasattr(buffer, "peek"):
        while piece := buffer.read1(PIECE):
            yield piece
        return
    head = buffer.peek(1)
    if head.startswith(_PACKED):
        yield from _unpacked(STDIN)
        return
    if head:
        yield buffer.read1(len(head))
    # past the buffer of Python: its lock, held while waiting, would not let the process end
    while piece := os.read(buffer.fileno(), PIECE):
        yield piece


def _unpacked(source: str) -> Iterator[bytes]:
    from neardup.inputs.streams.streams import open_bytes

    with open_bytes(source) as stream:
        while True:
            room = bytearray(PIECE)
            got = stream.fill(memoryview(room))
            if not got:
                return
            yield bytes(room[:got])


class Records:
    """The documents in the lines of one source."""

    def __init__(self, source: str, format: str | None, options: ReadOptions) -> None:
        self._name = source
        self._format = format
        self._options = options
        self._source: Any = None

    def read(self, chunk: Chunk) -> tuple[Batch, list[bytes]]:
        """The documents of a chunk, and the line of each as it came.

        Raises:
            InputError: the format is not known, or a record cannot be used and is to end the run.
        """
        import numpy as np

        from neardup.inputs.source import oversized
        from neardup.inputs.streams.streams import LineBlock
        from neardup.types import SLACK

        if chunk.too_large:
            size, options = chunk.too_large, self._options
            return oversized(self._name, chunk.first_line, "the line", size, options, consumed=size), []
        body = chunk.data.removeprefix(_BOM) if chunk.first_line == 1 else chunk.data
        if self._source is None:
            self._source = self._open(body)
        data = np.full(len(body) + SLACK, ord("\n"), dtype=np.uint8)
        data[: len(body)] = np.frombuffer(body, dtype=np.uint8)
        lines = io.BytesIO(chunk.data).readlines()
        block = LineBlock(data, len(body), len(lines), chunk.first_line, len(chunk.data))
        batch: Batch = self._source.read_block(block)
        return batch, [lines[row - chunk.first_line] for row in batch.rows.tolist()]

    def _open(self, head: bytes) -> Any:
        from neardup.inputs.text.jsonl import JsonlSource
        from neardup.inputs.text.lines import LinesSource

        format = self._format
        if format is None:
            if head.lstrip()[:1] not in (b"{", b""):
                raise InputError(
                    "standard input does not begin with '{', so its lines are no JSON Lines. If each line is a text,"
                    " say so with --input-format lines."
                )
            format = "jsonl"
        if format == "jsonl":
            return JsonlSource(self._name, self._options)
        return LinesSource(self._name, self._options)


def names_of(batch: Batch) -> list[Any]:
    """The ids of documents; without them, names made of the texts: a line number would mean another text next time."""
    if batch.ids is not None:
        ids: list[Any] = batch.ids.to_pylist()
        return ids
    documents = batch.documents
    return [hashlib.blake2b(documents.blob(i), digest_size=12).hexdigest() for i in range(len(documents))]
