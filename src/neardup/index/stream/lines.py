"""Lines of inputs that may pause, as they come, and the documents in them.

A thread reads, so that waiting for input stops neither the clock nor Ctrl-C. What a line must be is the readers'
business (``inputs``).
"""

from __future__ import annotations

import contextlib
import io
import os
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.errors import InputError
from neardup.inputs.blocks import LineBlock
from neardup.inputs.formats import stored_codec, suffix_format
from neardup.inputs.source import ReadOptions, oversized
from neardup.inputs.stream import MAGIC, ByteStream, open_stdin
from neardup.inputs.text.jsonl import JsonlSource
from neardup.inputs.text.lines import LinesSource
from neardup.types import SLACK, Batch

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


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines of one input, byte for byte; only the last of the input may lack its newline."""

    reader: LineReader
    """Of the input that they are from."""
    data: bytes
    first_line: int
    """Number of its first line, from 1."""
    too_large: int = 0
    """Bytes of a line that is longer than may be held; then it is the only one, and there is no data."""


class LineReader:
    """One input of lines: its bytes as they come, and the documents in them."""

    def __init__(self, source: str | Iterable[bytes], options: ReadOptions, input_format: str | None = None) -> None:
        """Take a file, ``-`` for stdin, or the bytes themselves, in pieces that need not be lines. Nothing is read yet.

        ``input_format`` is ``jsonl`` or ``lines``; as the name of the file says when None, or as the first line does.
        """
        self.name = source if isinstance(source, str) else "the stream"
        self._given = None if isinstance(source, str) else source
        self._options = options
        self._format = _line_format(None if self.is_nameless else self.name, self.shown, input_format, options)
        self._source: JsonlSource | LinesSource | None = None

    @property
    def shown(self) -> str:
        """For messages."""
        return "standard input" if self.name == STDIN else self.name

    @property
    def is_nameless(self) -> bool:
        """Whether no file name tells the format."""
        return self._given is not None or self.name == STDIN

    def check(self) -> None:
        """Raise InputError for a file that cannot be read, before anything is done."""
        if not self.is_nameless:
            ByteStream(self.name).close()

    def pieces(self) -> Iterator[bytes]:
        """The bytes, unpacked, as they come."""
        if self._given is not None:
            yield from self._given
        elif self.name == STDIN:
            yield from _of_stdin()
        elif stored_codec(self.name) is not None:
            yield from _unpacked(self.name)
        else:
            self.check()  # says best what is wrong with it
            with open(self.name, "rb", buffering=0) as stream:
                while piece := stream.read(PIECE):
                    yield piece

    def read(self, chunk: Chunk) -> tuple[Batch, list[bytes]]:
        """The documents of a chunk, and the line of each as it came."""
        if chunk.too_large:
            size, options = chunk.too_large, self._options
            return oversized(self.name, chunk.first_line, "the line", size, options, consumed=size), []
        body = chunk.data.removeprefix(_BOM) if chunk.first_line == 1 else chunk.data
        if self._source is None:
            self._source = self._open(body)
        data = np.full(len(body) + SLACK, ord("\n"), dtype=np.uint8)
        data[: len(body)] = np.frombuffer(body, dtype=np.uint8)
        lines = io.BytesIO(chunk.data).readlines()
        batch = self._source.read_block(LineBlock(data, len(body), len(lines), chunk.first_line, len(chunk.data)))
        return batch, [lines[row - chunk.first_line] for row in batch.rows.tolist()]

    def _open(self, head: bytes) -> JsonlSource | LinesSource:
        if self._format == "lines":
            return LinesSource(self.name, self._options)
        if self._format is None and head.lstrip()[:1] not in (b"{", b""):
            raise InputError(
                f"{self.shown} does not begin with '{{', so its lines are no JSON Lines. If each line is a text, say so"
                " with --input-format lines."
            )
        return JsonlSource(self.name, self._options)


def _line_format(name: str | None, shown: str, input_format: str | None, options: ReadOptions) -> str | None:
    """``jsonl`` or ``lines`` as the option or the name says; None without a name, where the first line tells."""
    format = input_format or (suffix_format(name) if name is not None else "lines" if options.item else None)
    if format == "text" and options.item and input_format is None:
        format = "lines"
    if format in ("jsonl", "lines") or (format is None and name is None):
        return format
    told = f"{shown} is of the format {format}" if format else f"the name of {shown} does not tell its format"
    raise InputError(
        f"{told}, and dedup-stream passes lines on: JSON Lines, or with --input-format lines a text each. For other"
        " formats there is neardup index add --if-new."
    )


def chunks(readers: Sequence[LineReader], options: ReadOptions) -> Iterator[Chunk]:
    """Yield the lines of all inputs as they come: when 4 MB are there, or what has come after 0.2 seconds.

    A line that is longer than the record limit of ``options`` is passed over. InputError: an input cannot be read; the
    lines before that have been given out.
    """
    pieces: queue.Queue[Any] = queue.Queue(AHEAD)
    is_over = threading.Event()
    threading.Thread(target=_fetch, args=(readers, pieces, is_over), name="neardup-read", daemon=True).start()
    try:
        for reader in readers:
            yield from _of_input(reader, pieces, options)
    finally:
        is_over.set()
        with contextlib.suppress(queue.Empty):  # the thread may wait for room
            while True:
                pieces.get_nowait()


def _fetch(readers: Sequence[LineReader], pieces: queue.Queue[Any], is_over: threading.Event) -> None:
    """Put the bytes of each input, then None; or the error that ended it all."""
    try:
        for reader in readers:
            for piece in reader.pieces():
                pieces.put(piece)
                if is_over.is_set():
                    return
            pieces.put(None)
    except BaseException as exc:
        pieces.put(exc)


def _of_input(reader: LineReader, pieces: queue.Queue[Any], options: ReadOptions) -> Iterator[Chunk]:
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
                yield Chunk(reader, b"", line, passed)
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
                yield Chunk(reader, part, line)
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


def _of_stdin() -> Iterator[bytes]:
    buffer = open_stdin()
    if not hasattr(buffer, "peek"):
        while piece := buffer.read1(PIECE):
            yield piece
        return
    head = buffer.peek(1)
    if head.startswith(tuple(MAGIC)):
        yield from _unpacked(STDIN)
        return
    if head:
        yield buffer.read1(len(head))
    # past the buffer of Python: its lock, held while waiting, would not let the process end
    while piece := os.read(buffer.fileno(), PIECE):
        yield piece


def _unpacked(source: str) -> Iterator[bytes]:
    with ByteStream(source) as stream:
        while piece := stream.read(PIECE):
            yield piece
