"""Reads bytes as blocks of whole UTF-8 lines, or whole. The readers interpret the lines.

A line over the size limit is skipped, or passed on in pieces: a few bytes of a compressed file can expand to any number
of lines of any length.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from neardup.errors import InputError
from neardup.inputs.formats import text_codec
from neardup.inputs.source import COUNT_TO, RecordLimit, Source, Task, TooLarge, oversized
from neardup.inputs.stream import ByteStream, Feed, as_utf8
from neardup.types import I64, SLACK, U8

BLOCK_BYTES = 4 << 20
"""The bytes of text in a block; a block is larger only if one line is longer."""
NEWLINE = 10
_BOM = b"\xef\xbb\xbf"
_NOTHING: U8 = np.full(SLACK, NEWLINE, dtype=np.uint8)
WHOLE, PART, LAST = 0, 1, 2
"""The contents of a buffer: whole lines, a piece of a line that is too long, or its last piece."""
SLAB_BYTES = 32 << 20
HUGE_PAGE = 2 << 20


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines of UTF-8 (not yet validated), writable and followed by SLACK readable bytes.

    ``data[size - 1]`` is a newline or, if the input ended without one, ``data[size]`` is. So a scan that stops at
    newlines never leaves the block.
    """

    data: U8
    size: int
    lines: int
    """The number of lines, including blank ones and an unfinished last one."""
    first_line: int
    """The 1-based number of the first line in the file."""
    consumed: int
    """The bytes of the input as stored (compressed, if it is compressed) that were read since the previous block."""
    too_large: int = 0
    """The bytes of a line over the size limit, which is then the only line of the block, without data."""
    at: int = 0
    """The offset of the block in the input, decompressed and as UTF-8."""
    part: int = WHOLE
    """PART or LAST: a piece of such a line, or the last one, if pieces were requested."""
    whole: U8 | None = None
    """``data`` with unused, writable bytes before it."""
    held: Held | None = None
    """Keep this while ``data`` is in use: the buffer is reused once this is deleted. None: it is never reused."""


def read_all(
    source: str | Path | ByteStream,
    *,
    limit: RecordLimit,
    encoding: str = "utf-8",
    many: bool = False,
    on_large: Callable[[], None] | None = None,
) -> bytes:
    """Read the whole input as UTF-8 (not yet validated) without its byte order mark; TooLarge if it exceeds the limit.

    ``many``: the input holds many records and can only be read whole, so that ``limit.whole`` applies. ``on_large`` is
    called once more than ``limit.together`` bytes were read.
    """
    most = limit.whole if many else limit.largest
    with _opened(source) as stream:
        feed = as_utf8(stream, encoding)
        pieces: list[bytearray] = []
        size = 0
        room = 1 << 16  # most files are small, and a buffer is zeroed before it is filled
        while True:
            buffer = bytearray(room)
            got = feed.fill(memoryview(buffer))
            size += got
            if not pieces and buffer.startswith(_BOM):
                most += len(_BOM)
            if size > most:
                del pieces, buffer
                raise _too_large(stream, feed, size, limit, most)
            if on_large is not None and size > limit.together:
                on_large()
            pieces.append(buffer[:got])
            if got < room:
                break
            room = min(4 * room, BLOCK_BYTES)
    return bytes(b"".join(pieces).removeprefix(_BOM))


def _too_large(stream: ByteStream, feed: Feed, size: int, limit: RecordLimit, most: int) -> TooLarge:
    """Make the error for a file over the limit, after reading on, up to a bound, to state its size."""
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
    room: int = 0,
    at: int = 0,
    first_line: int = 1,
) -> Iterator[LineBlock]:
    """Yield the input as blocks of whole lines, in order; nothing for an empty input.

    A block holds about ``block_bytes`` (more only for a longer line, for which it grows in linear time) and at most
    ``max_lines`` lines. Lines end with a newline character only; a carriage return is kept. Buffers come from
    ``slabs``, and are returned when no block uses them. ``room`` bytes before the lines are free for the caller.

    A line of more than ``limit.largest`` bytes, without its newline, is a separate block, ``too_large`` and without
    data; with ``pieces`` it is several blocks with its bytes. Reading ends after ``count_to`` bytes of such a line.

    ``source`` begins at byte ``at`` of the input, with line number ``first_line``.
    """
    most = max(limit.largest, SLACK)
    with _opened(source) as stream:
        line = first_line
        stored = long = 0
        buffers = _Buffers(slabs, room)
        for data, size, begin, part in _cuts(as_utf8(stream, encoding), min(block_bytes, most), buffers, most, at):
            consumed = stream.stored - stored
            stored += consumed
            if part:
                long += size
                is_last = part == LAST
                gives_up = count_to is not None and long > count_to
                if pieces:
                    data = data[: size + SLACK].copy()  # the next piece is read into the same buffer
                    yield LineBlock(data, size, int(is_last), line, consumed, at=begin, part=part)
                elif is_last or gives_up:
                    is_ended = is_last and size > 0 and data[size - 1] == NEWLINE
                    yield LineBlock(_NOTHING, 0, 1, line, consumed, too_large=long - is_ended)
                else:
                    stored -= consumed  # told with the last
                if gives_up:
                    return
                if is_last:
                    line, long = line + 1, 0
                continue
            lines = count_lines(data, size)
            around, held = buffers.around(data), buffers.held()
            block = LineBlock(data, size, lines, line, consumed, at=begin, whole=around, held=held)
            if max_lines is None or block.lines <= max_lines:
                yield block
            else:
                yield from _split(block, max_lines)
            line += block.lines
            del block, held  # its buffer may be given back before the next is taken


class LineSource(Source):
    """The common part of the readers of lines: one file, or standard input, whose blocks become tasks."""

    def blocks(self, **more: Any) -> Iterator[LineBlock]:
        """Yield the lines of the file; ``more`` has further arguments of ``line_blocks``.

        Raises InputError if the first block has carriage returns between its lines and not one newline.
        """
        options = self._options
        source: str | ByteStream = self._stream or self.name
        if self.part is not None:
            from neardup.inputs.ranges import LinesInRange

            source = LinesInRange(self.name, self.part)
            more |= {"at": source.begin, "first_line": self.first_row}
        blocks = line_blocks(
            source,
            encoding=options.encoding,
            limit=options.limit,
            max_lines=options.block,
            count_to=options.count_to,
            **more,
        )
        block = next(blocks, None)
        if block is None:
            return
        is_first = self.part is None or self.part.start == 0
        is_all = is_first and block.lines == 1 and block.data[block.size - 1] != NEWLINE
        if is_all and b"\r" in block.data[: block.size].tobytes().strip(b"\r"):
            raise only_returns(self.name)
        yield block
        del block  # its buffer may be given back before the next is taken
        yield from blocks

    @property
    def is_plain_utf8(self) -> bool:
        """Whether the file holds its lines exactly as they are read."""
        return self.is_plain and text_codec(self._options.encoding) == "utf-8"

    def too_large(self, block: LineBlock) -> Task:
        row, size = block.first_line, block.too_large
        return partial(oversized, self.name, row, "the line", size, self._options, consumed=block.consumed)


def only_returns(name: str) -> InputError:
    """Return the error for a file that readers of lines would take for one line."""
    return InputError(
        f"{name}: its lines end in carriage returns alone, as those of old Macs. Convert it to newlines, such as by: "
        "tr '\\r' '\\n' < FILE > NEW"
    )


def _opened(source: str | Path | ByteStream) -> ByteStream:
    return source if isinstance(source, ByteStream) else ByteStream(source)


def _split(block: LineBlock, max_lines: int) -> Iterator[LineBlock]:
    """Split a block into blocks of at most ``max_lines`` lines; the first one counts the consumed bytes."""
    start, consumed = 0, block.consumed
    stops = line_ends(block.data, block.size)[max_lines - 1 : -1 : max_lines].tolist()
    for first, stop in zip(range(0, block.lines, max_lines), [*stops, block.size], strict=True):
        lines, line, at = min(max_lines, block.lines - first), block.first_line + first, block.at + start
        yield LineBlock(block.data[start:], stop - start, lines, line, consumed, at=at, held=block.held)
        start, consumed = stop, 0


class Slabs:
    """Provides uninitialised byte buffers, cut from large allocations; thread-safe.

    A fresh buffer costs a page fault every 4 KB, which on a virtual machine takes longer than reading the page: a
    quarter of a run's time. NumPy asks the system for huge pages in large arrays, so one slab serves many buffers with
    few faults. A slab is freed when the last buffer cut from it is.
    """

    def __init__(self) -> None:
        self._slab: U8 = np.empty(0, dtype=np.uint8)
        self._returned: dict[int, list[U8]] = {}
        self._lock = threading.RLock()  # Python may collect a ``Held`` while this thread has the lock

    def take(self, size: int) -> U8:
        """Return an unused buffer of ``size`` bytes; large ones are allocated separately."""
        with self._lock:
            if returned := self._returned.get(size):
                return returned.pop()
            if size > SLAB_BYTES // 2:
                return np.empty(size, dtype=np.uint8)
            if size > self._slab.size:
                slab = np.empty(SLAB_BYTES + HUGE_PAGE, dtype=np.uint8)
                self._slab = slab[-slab.ctypes.data % HUGE_PAGE :][:SLAB_BYTES]  # begins at a huge page
            taken, self._slab = self._slab[:size], self._slab[size:]
        return taken

    def give_back(self, buffer: U8) -> None:
        """Offer a buffer that is no longer used to the next caller who takes one of its size.

        A large one, made for one long line, is freed: it would otherwise be held until the end of the input.
        """
        if buffer.size <= SLAB_BYTES // 2:
            with self._lock:
                self._returned.setdefault(buffer.size, []).append(buffer)


_SHARED: WeakValueDictionary[int, Slabs] = WeakValueDictionary()


def shared_slabs() -> Slabs:
    """Return the slabs for small parts of files that this process reads in turn, shared while they are in use."""
    return _SHARED.setdefault(os.getpid(), Slabs())


class Held:
    """A buffer that is returned to its slabs when this object is deleted."""

    def __init__(self, buffer: U8, slabs: Slabs) -> None:
        self._buffer = buffer
        self._slabs = slabs

    def __del__(self) -> None:
        self._slabs.give_back(self._buffer)


class _Buffers:
    """Takes buffers with free room before the data, from slabs that get them back, or from its own."""

    def __init__(self, slabs: Slabs | None, room: int) -> None:
        self._slabs = slabs or Slabs()
        self._room = room
        self._goes_back = slabs is not None
        self._last = _NOTHING

    def take(self, size: int) -> U8:
        self._last = self._slabs.take(self._room + size)
        return self._last[self._room :]

    def around(self, data: U8) -> U8 | None:
        """Return the buffer that was taken last, if ``data`` is all of it after the room, else None."""
        return self._last if self._last.size == self._room + data.size else None

    def held(self) -> Held | None:
        """Return a holder of the buffer that was taken last, if it must be returned to its slabs, else None."""
        return Held(self._last, self._slabs) if self._goes_back else None


def _cuts(feed: Feed, block_bytes: int, slabs: _Buffers, most: int, at: int) -> Iterator[tuple[U8, int, int, int]]:
    """Yield (buffer of whole lines, bytes used, offset in the input, kind of contents).

    A line of more than ``most`` bytes comes in pieces. The data of ``feed`` begins at byte ``at`` of the input.
    """
    block_bytes = max(block_bytes, SLACK)  # the byte order mark must fit into the first
    data = slabs.take(block_bytes + SLACK)
    held = 0  # bytes at the start of data that were read before
    seen = 0  # bytes of them that have no newline
    first = at == 0
    is_long = False  # the unfinished line is longer than may be held
    while True:
        capacity = data.size - SLACK
        got = feed.fill(memoryview(data)[held:capacity])  # type: ignore[arg-type]
        size = held + got
        ended = size < capacity
        data[size : size + SLACK] = NEWLINE
        if first and data[: min(size, len(_BOM))].tobytes() == _BOM:
            data = data[len(_BOM) :]
            size -= len(_BOM)
            at = len(_BOM)
        first = False
        if is_long:
            cut = first_newline(data, size) + 1
            is_long = not cut and not ended
            yield data, cut or size, at, PART if is_long else LAST
            if ended and cut in (0, size):
                return
            at += cut or size
            data, held = (data, 0) if is_long else _moved(data, cut, size, block_bytes, slabs, most)
            seen = 0
            continue
        cut = size if ended else _last_newline(data, seen, size) + 1
        if cut > 0:
            yield data, cut, at, WHOLE
        if ended:
            return
        at += cut
        is_long = cut == 0 and size > most
        if is_long:
            yield data, size, at, PART
            at += size
            data, held = slabs.take(block_bytes + SLACK), 0
        else:
            data, held = _moved(data, cut, size, block_bytes, slabs, most)
        seen = held


def _moved(data: U8, cut: int, size: int, block_bytes: int, slabs: _Buffers, most: int) -> tuple[U8, int]:
    """Move the unfinished line after ``cut`` to the start of a buffer with room for more, up to ``most`` bytes."""
    rest = size - cut
    room = max(block_bytes, min(2 * rest, most + 1))
    following = slabs.take(room + SLACK)
    following[:rest] = data[cut:size]  # may be data itself, given back; NumPy copies overlaps rightly
    return following, rest


def first_newline(data: U8, size: int) -> int:
    """Return the position of the first newline in ``data[:size]``, or -1."""
    step = 1 << 14
    for start in range(0, size, step):
        found = np.flatnonzero(data[start : min(start + step, size)] == NEWLINE)
        if found.size:
            return start + int(found[0])
    return -1


def _last_newline(data: U8, start: int, stop: int) -> int:
    """Return the position of the last newline in ``data[start:stop]``, or -1."""
    step = 1 << 14
    while stop > start:
        low = max(start, stop - step)
        found = np.flatnonzero(data[low:stop] == NEWLINE)
        if found.size:
            return low + int(found[-1])
        stop, step = low, min(2 * step, 1 << 20)
    return -1


def count_lines(data: U8, size: int) -> int:
    """Count the lines in ``data[:size]``, including an unfinished last one."""
    step = 1 << 17  # the comparison's result stays in the cache
    text = data[:size]
    count = sum(int(np.count_nonzero(text[i : i + step] == NEWLINE)) for i in range(0, size, step))
    return count + int(size > 0 and data[size - 1] != NEWLINE)


def line_ends(data: U8, size: int) -> I64:
    """Return the position after each line of ``data[:size]``; int64[lines]."""
    ends = np.flatnonzero(data[:size] == NEWLINE) + 1
    return ends if data[size - 1] == NEWLINE else np.append(ends, size)
