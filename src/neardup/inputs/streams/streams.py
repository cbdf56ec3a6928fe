"""Opening a path or standard input as UTF-8 bytes: whole, or as blocks that end at a newline.

Compression (``.gz``, ``.zst``; by magic number on standard input) and the byte order mark are dealt with
here, once, for every text format; unpacking is in ``unpacked``, transcoding in ``encodings``. What lines mean is the
readers' business.

A line that is longer than may be held is passed over, or handed on in pieces: some bytes of a compressed file can
stand for as many lines, and as long ones, as they like.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import InputError, did_you_mean
from neardup.inputs.formats import stored_codec
from neardup.inputs.source import COUNT_TO, ReadOptions, RecordLimit, Task, TooLarge, oversized
from neardup.inputs.streams.encodings import Feed, Transcoder, text_codec
from neardup.inputs.streams.line_cuts import BOM, LAST, NEWLINE, WHOLE, Slabs, count_lines, cuts, line_ends
from neardup.inputs.streams.unpacked import Unpacked, unpacked
from neardup.types import I64, SLACK, U8

__all__ = [
    "BLOCK_BYTES",
    "ByteStream",
    "LineBlock",
    "LineSource",
    "line_blocks",
    "open_bytes",
    "read_all",
    "stored_codec",
    "text_codec",
]

BLOCK_BYTES = 4 << 20
"""Bytes of text in a block; more only where one line is longer."""

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PEEK = 1 << 16
_NOTHING: U8 = np.full(SLACK, NEWLINE, dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines of UTF-8 (not yet validated), writable and followed by SLACK readable bytes.

    ``data[size - 1]`` is a newline; or the input ended without one, and then ``data[size]`` is a newline. So
    a scan that stops at newlines never leaves the block.
    """

    data: U8
    size: int
    lines: int
    """Lines in the block, blank ones and an unfinished last one included."""
    first_line: int
    """1-based number of its first line in the file."""
    consumed: int
    """Bytes of the input as stored (compressed where compressed), read since the block before."""
    is_alone: bool = True
    """No other block shares the buffer, which may be given back after use."""
    too_large: int = 0
    """Bytes of a line that is longer than may be held; then it is the only line of the block, which has no data."""
    part: int = WHOLE
    """PART, LAST: a piece of such a line, and the last of them, where pieces were asked for."""


class ByteStream:
    """Decompressed bytes of a file or of standard input. A context manager; errors come as InputError."""

    def __init__(self, path: str | Path) -> None:
        self.name = str(path)
        self._stored = 0
        self._ahead = b""
        self._packed: Unpacked | None = None
        with self._explained():
            if self.name == "-":
                self._open_stdin()
            else:
                self._open_file(self.name)

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def stored(self) -> int:
        """Bytes read so far as they are stored, for the progress bar."""
        return self._stored if self._packed is None else self._packed.stored

    def peek(self) -> bytes:
        """Up to 64 kB that the next reads will return again, to look at the kind of data."""
        if not self._ahead:
            buffer = bytearray(_PEEK)
            self._ahead = bytes(buffer[: self._fill(memoryview(buffer))])
        return self._ahead

    def fill(self, view: memoryview) -> int:
        """Read until ``view`` is full or the data ends; return the bytes read."""
        ahead = min(len(view), len(self._ahead))
        view[:ahead] = self._ahead[:ahead]
        self._ahead = self._ahead[ahead:]
        return ahead + self._fill(view[ahead:])

    def close(self) -> None:
        """Close the file; standard input is left open."""
        if self.name != "-":
            self._source.close()

    def _fill(self, view: memoryview) -> int:
        done = 0
        with self._explained():
            while done < len(view):
                got = self._source.readinto(view[done:])
                if not got:
                    break
                done += got
        if self._packed is None:
            self._stored += done
        return done

    def _open_file(self, name: str) -> None:
        if os.path.isdir(name):  # before the open: pyarrow's message would not say so
            raise InputError(f"{name} is a folder, not a file. Name the folder itself as the input, or a file in it.")
        codec = stored_codec(name)
        self._source: Any
        if codec is None:
            self._source = open(name, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        else:
            self._source = self._packed = unpacked(name, codec, name)

    def _open_stdin(self) -> None:
        source: Any = getattr(sys.stdin, "buffer", None)
        if source is None:
            raise InputError("standard input is not open. Pipe data into the command or name a file instead of '-'.")
        self._source = source
        head = self.peek()
        for magic, codec in _MAGIC.items():
            if head.startswith(magic):
                self._source = self._packed = unpacked(_Rest(head, source), codec, "standard input")
                self._ahead = b""

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what the system and the decompressors say into InputError with the cure."""
        try:
            yield
        except FileNotFoundError as exc:
            raise InputError(f"{self.name} does not exist.{_near_files(self.name)}") from exc
        except PermissionError as exc:
            raise InputError(f"{self.name} may not be read by this user. Change its rights, or copy it.") from exc
        except OSError as exc:
            if exc.errno is None:  # the decompressors carry no errno
                message = (
                    f"{self.name} is damaged or cut short: {exc} (after {self.stored} stored bytes). "
                    "Fetch the file again, or unpack by hand what can be saved."
                )
            else:
                message = f"{self.name} cannot be read: {exc.strerror}. Name a regular, readable file."
            raise InputError(message) from exc


class _Rest:
    """Standard input as a file for pyarrow, beginning with the bytes that were looked at."""

    closed = False

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest, self._told = head, rest, 0

    def read(self, size: int) -> bytes:
        piece, self._head = self._head[:size], self._head[size:]
        piece = piece or self._rest.read(size)
        self._told += len(piece)
        return piece

    def tell(self) -> int:
        return self._told

    def close(self) -> None:
        """Standard input is not ours to close."""

    def flush(self) -> None:
        """Nothing is ever written."""


def _near_files(name: str) -> str:
    parent = Path(name).parent
    try:
        return did_you_mean(Path(name).name, os.listdir(parent)) or " Check the path."
    except OSError:
        return f" There is no folder {parent} either. Check the path."


def open_bytes(path: str | Path) -> ByteStream:
    """Open a file, or standard input for ``-``, as decompressed bytes.

    Raises:
        InputError: missing, a folder, or not readable.
    """
    return ByteStream(path)


def read_all(
    source: str | Path | ByteStream,
    *,
    limit: RecordLimit,
    encoding: str = "utf-8",
    many: bool = False,
    on_large: Callable[[], None] | None = None,
) -> bytes:
    """The whole input as UTF-8 (not yet validated) without its byte order mark.

    Args:
        source: the input.
        limit: what may be held.
        encoding: what it is decoded from.
        many: it holds many records and can be read in one piece only, so that ``limit.whole`` is what counts.
        on_large: called when it turns out to have more than ``limit.together`` bytes.

    Raises:
        InputError: the input cannot be read, or is a damaged compressed file. TooLarge: it cannot be held.
    """
    most = limit.whole if many else limit.largest
    with _opened(source) as stream:
        feed = _feed(stream, encoding)
        pieces: list[bytearray] = []
        size = 0
        room = 1 << 16  # most files are small, and a buffer is zeroed before it is filled
        while True:
            buffer = bytearray(room)
            got = feed.fill(memoryview(buffer))
            size += got
            if not pieces and buffer.startswith(BOM):
                most += len(BOM)
            if size > most:
                del pieces, buffer
                raise _too_large(stream, feed, size, limit, most)
            if on_large is not None and size > limit.together:
                on_large()
            pieces.append(buffer[:got])
            if got < room:
                break
            room = min(4 * room, BLOCK_BYTES)
    return bytes(b"".join(pieces).removeprefix(BOM))


def _too_large(stream: ByteStream, feed: Feed, size: int, limit: RecordLimit, most: int) -> TooLarge:
    """What is wrong with a file that cannot be held. It is read on so that its size can be named, but not for ever."""
    spare = memoryview(bytearray(1 << 20))
    got = len(spare)
    while got == len(spare) and size <= COUNT_TO:
        got = feed.fill(spare)
        size += got
    name = "standard input" if stream.name == "-" else stream.name
    return TooLarge(name, *limit.refusal("the file", size, is_more=got == len(spare), most=most))


def line_blocks(
    source: str | Path | ByteStream,
    *,
    encoding: str = "utf-8",
    limit: RecordLimit,
    block_bytes: int = BLOCK_BYTES,
    max_lines: int | None = None,
    slabs: Slabs | None = None,
    pieces: bool = False,
    count_to: int | None = None,
) -> Iterator[LineBlock]:
    """The input as blocks of whole lines, in order; nothing for an empty input.

    A block holds about ``block_bytes`` (more only for a line longer than that: it grows, in linear time) and
    at most ``max_lines`` lines. Lines end with a newline character only; a carriage return stays where it is.
    Buffers come from ``slabs``; ``data`` of a block that is alone in it may be given back to it after use.

    A line of more than ``limit.largest`` bytes, its newline not counted, is a block of its own, ``too_large`` and
    without data; or with ``pieces`` several.

    Args:
        source, encoding: the input.
        limit: the longest line that may be held.
        block_bytes, max_lines, slabs: see above.
        pieces: hand on the bytes of a line that is too long.
        count_to: bytes of such a line after which the reading ends; None: never.

    Raises:
        InputError: the input cannot be read, or is a damaged compressed file.
    """
    most = max(limit.largest, SLACK)
    with _opened(source) as stream:
        line = 1
        stored = long = 0
        for data, size, part in cuts(_feed(stream, encoding), min(block_bytes, most), slabs or Slabs(), most):
            consumed = stream.stored - stored
            stored += consumed
            if part:
                long += size
                is_last = part == LAST
                gives_up = count_to is not None and long > count_to
                if pieces:
                    data = data[: size + SLACK].copy()  # the next piece is read into the same buffer
                    yield LineBlock(data, size, int(is_last), line, consumed, is_alone=False, part=part)
                elif is_last or gives_up:
                    is_ended = is_last and size > 0 and data[size - 1] == NEWLINE
                    yield LineBlock(_NOTHING, 0, 1, line, consumed, is_alone=False, too_large=long - is_ended)
                else:
                    stored -= consumed  # told with the last
                if gives_up:
                    return
                if is_last:
                    line, long = line + 1, 0
                continue
            lines = count_lines(data, size)
            if max_lines is None or lines <= max_lines:
                yield LineBlock(data, size, lines, line, consumed)
            else:
                yield from _split(data, line_ends(data, size), max_lines, line, consumed)
            line += lines


class LineSource:
    """What the readers of lines share: one file, or standard input, whose blocks become tasks."""

    def __init__(
        self,
        name: str | Path,
        options: ReadOptions,
        *,
        total_bytes: int | None = None,
        stream: ByteStream | None = None,
    ) -> None:
        """Name the file; nothing is read yet.

        Args:
            name: the file, as the user named it; "-" is standard input.
            options: how to read.
            total_bytes: its size as stored.
            stream: the open stream, where it was looked into already.
        """
        self.name = str(name)
        self.total_bytes = total_bytes
        self._options = options
        self._stream = stream

    def blocks(self, **more: Any) -> Iterator[LineBlock]:
        """The lines of the file; ``more``: further arguments of ``line_blocks``."""
        options = self._options
        return line_blocks(
            self._stream or self.name,
            encoding=options.encoding,
            limit=options.limit,
            max_lines=options.block,
            count_to=options.count_to,
            **more,
        )

    def too_large(self, block: LineBlock) -> Task:
        """The task of a line that was passed over."""
        row, size = block.first_line, block.too_large
        return partial(oversized, self.name, row, "the line", size, self._options, consumed=block.consumed)


@contextmanager
def _opened(source: str | Path | ByteStream) -> Iterator[ByteStream]:
    stream = source if isinstance(source, ByteStream) else open_bytes(source)
    with stream:
        yield stream


def _feed(stream: ByteStream, encoding: str) -> Feed:
    codec = text_codec(encoding)
    return stream if codec == "utf-8" else Transcoder(stream, codec, stream.name)


def _split(data: U8, ends: I64, max_lines: int, line: int, consumed: int) -> Iterator[LineBlock]:
    """One buffer as blocks of at most ``max_lines`` lines; the first carries the consumed bytes."""
    start = 0
    for i in range(0, ends.size, max_lines):
        stop = int(ends[min(i + max_lines, ends.size) - 1])
        lines = min(max_lines, ends.size - i)
        yield LineBlock(data[start:], stop - start, lines, line + i, consumed, is_alone=False)
        start, consumed = stop, 0
