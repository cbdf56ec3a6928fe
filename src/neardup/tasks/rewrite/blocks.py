"""A text file as blocks of whole lines, in the bytes as they are stored (decompressed, not decoded).

Readers number lines in decoded text; a clean copy is cut from the bytes themselves, so that nothing that is kept
changes. This works where the newline has one code unit that never is a part of anything else: in UTF-8, -16 and -32,
encodings of one byte a character, and those in ``_MULTIBYTE``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from neardup.errors import InputError
from neardup.inputs.formats import text_codec
from neardup.inputs.source import RecordLimit
from neardup.inputs.stream import ByteStream
from neardup.kernels.delimited import copy_fields, line_stops
from neardup.types import I64, SLACK, U8, Mask, frozen

BLOCK_BYTES = 1 << 22
"""Bytes of a block; more only where one line is longer. A multiple of every code unit."""
_MULTIBYTE = frozenset(
    {
        *("big5", "big5hkscs", "cp932", "cp949", "cp950", "euc_jis_2004", "euc_jisx0213", "euc_jp", "euc_kr"),
        *("gb18030", "gb2312", "gbk", "johab", "shift_jis", "shift_jis_2004", "shift_jisx0213", "utf_8"),
    }
)
"""Python's decoders were tried on random bytes: they find a newline at each 0x0A and nowhere else."""
_WIDE = {"utf_16": 2, "utf_32": 4}
_MARK = "\ufeff"
_ASCII = (10, 32, 9, 13)
"""Newline, space, tab and carriage return."""


@dataclass(frozen=True, slots=True)
class LineEnds:
    """How newlines and white space look in the bytes of a file."""

    codec: str
    """Python's name of the encoding, with its byte order."""
    mark: bytes
    """The byte order mark at the beginning of the file, or nothing."""
    unit: str
    """NumPy dtype of a code unit."""
    newline: int
    space: int
    tab: int
    carriage_return: int

    @property
    def width(self) -> int:
        """Bytes of a code unit."""
        return np.dtype(self.unit).itemsize

    def encode(self, text: str) -> bytes:
        """The bytes of ``text``; UnicodeEncodeError where a character is not in the encoding."""
        return text.encode(self.codec)


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines; the last line of a file may lack its newline."""

    data: U8
    """Writable by nobody else, with SLACK readable bytes behind; valid until the next block is asked for."""
    starts: I64
    """int64[n]: where each line begins in ``data``."""
    stops: I64
    """int64[n]: where each ends, behind its newline."""
    first_line: int
    """1-based number of the first."""
    ends: LineEnds
    is_open: bool = False
    """It is a piece of one line, which goes on in the next block."""
    is_rest: bool = False
    """It is a piece of one line, which began in an earlier block."""

    def __len__(self) -> int:
        return self.starts.size

    @property
    def next_line(self) -> int:
        """Number of the line behind those of the block."""
        return self.first_line + self.starts.size

    @property
    def goes_on_at(self) -> int:
        """Number of the line that the next block begins with."""
        return self.next_line - self.is_open

    @property
    def is_piece(self) -> bool:
        """Whether it is a piece of a line that is longer than that of any document."""
        return self.is_open or self.is_rest

    def begin(self, line: int) -> int:
        """Where the line of a number begins in ``data``; 0 when it is before the block, the end when behind."""
        i = line - self.first_line
        return int(self.starts[i]) if 0 <= i < len(self) else 0 if i < 0 else self.data.size

    def line(self, i: int) -> bytes:
        """The bytes of line i of the block, with its newline."""
        return self.data[self.starts[i] : self.stops[i]].tobytes()

    def filled(self, *, spaces: bool) -> Mask:
        """bool[n]: which lines are not blank.

        Blank is a line that is empty, or holds nothing but one carriage return before its newline; with ``spaces``,
        as in JSON Lines, also one of nothing but spaces and tabs.
        """
        ends = self.ends
        mask = np.ones(len(self), dtype=np.bool_)
        whole = (self.stops - self.starts) >= ends.width  # less: bytes that are no code unit, at the end of the file
        first = self._units(self.starts[whole])
        blank = first == ends.newline
        doubtful = first == ends.carriage_return
        if spaces:
            doubtful |= (first == ends.space) | (first == ends.tab)
        mask[whole] = ~blank
        allowed = b" \t\r\n" if spaces else b"\r\n"
        for i in np.flatnonzero(whole)[doubtful].tolist():
            line = self.line(i).decode(ends.codec, "replace").encode("utf-8", "replace")
            mask[i] = line.strip(allowed) != b"" or (not spaces and line.count(b"\r") > 1)
        return mask

    def content_stops(self, lines: I64) -> I64:
        """Where the lines end without their newline and one carriage return before it."""
        at = self.stops[lines].copy()
        for unit in (self.ends.newline, self.ends.carriage_return):
            at -= self.ends.width * self._is_before(at, self.starts[lines], (unit,))
        return at

    def braces(self, lines: I64) -> I64:
        """Where the last character that is no white space begins in each line."""
        ends = self.ends
        at = self.stops[lines].copy()
        white = (ends.newline, ends.carriage_return, ends.space, ends.tab)
        while (blank := self._is_before(at, self.starts[lines], white)).any():
            at -= ends.width * blank
        return at - ends.width

    def _is_before(self, at: I64, starts: I64, units: Sequence[int]) -> Mask:
        """Whether the code unit before each place is one of ``units``."""
        before = np.maximum(at - self.ends.width, starts)
        return np.isin(self._units(before), units) & (at > starts)

    def _units(self, at: I64) -> Any:
        """The code units that begin at each place."""
        if self.ends.width == 1:
            return self.data[at]
        size = self.data.size // self.ends.width * self.ends.width
        return self.data[:size].view(self.ends.unit)[at // self.ends.width]


def read_line_ends(stream: ByteStream, encoding: str, *, first_line: int = 1) -> LineEnds:
    """How the lines of an open file end, of which nothing was read yet; InputError where its bytes do not tell.

    A byte order mark is looked for where it begins with the first line of the file.
    """
    head = stream.peek()[:4] if first_line == 1 else b""
    codec = text_codec(encoding).replace("-", "_")
    if codec in _WIDE:  # the byte order is what the mark says
        codec += "_be" if head[:2] in (b"\xfe\xff", b"\0\0") else "_le"
    if codec[:6] in _WIDE:
        order = ">" if codec.endswith("be") else "<"
        return LineEnds(codec, _mark(codec, head), f"{order}u{_WIDE[codec[:6]]}", *_ASCII)
    found = _single_bytes(codec)
    if found is None:
        raise InputError(
            f"{stream.name}: a clean copy cannot be cut from text in {encoding}, where a newline has no bytes of its "
            "own. Write the file again as UTF-8."
        )
    return LineEnds(codec, _mark(codec, head), "u1", *found)


def _mark(codec: str, head: bytes) -> bytes:
    try:
        mark = _MARK.encode(codec)
    except UnicodeEncodeError:
        return b""
    return mark if head.startswith(mark) else b""


def _single_bytes(codec: str) -> tuple[int, int, int, int] | None:
    """The bytes of newline, space, tab and carriage return; None where they are not single bytes."""
    if codec in _MULTIBYTE or codec in ("ascii", "iso8859_1"):
        return _ASCII
    try:
        table = importlib.import_module(f"encodings.{codec}").decoding_table
    except (ImportError, AttributeError):
        return None
    if any(table.count(character) != 1 for character in "\n \t\r"):
        return None
    return table.index("\n"), table.index(" "), table.index("\t"), table.index("\r")


def blocks(stream: ByteStream, ends: LineEnds, limit: RecordLimit, *, first_line: int = 1) -> Iterator[Block]:
    """Yield the lines of a file in order, without its byte order mark, numbered from ``first_line`` on.

    A line that is longer than that of any document comes in pieces, each a block.
    """
    # other encodings take up to four bytes where UTF-8, of which the limit is, has one
    most = limit.largest if ends.codec == "utf_8" else 4 * limit.largest
    mark = bytearray(len(ends.mark))
    stream.fill(memoryview(mark))
    data = _empty(BLOCK_BYTES)
    places = np.empty(0, dtype=np.int64)
    held = 0  # bytes at the start of data that are an unfinished line
    line = first_line
    is_rest = False  # of a line whose beginning was yielded
    while True:
        size = held + stream.fill(memoryview(data)[held:])  # type: ignore[arg-type]
        ended = size < data.size
        if places.size < data.size:
            places = np.empty(data.size, dtype=np.int64)  # only what is written takes memory
        stops = _line_stops(data[:size], ends, places)
        if ended and (stops[-1] if stops.size else 0) < size:
            stops = np.append(stops, size)
        if ended and not stops.size:
            return
        if is_rest and stops.size:
            yield Block(data[: stops[0]], np.zeros(1, dtype=np.int64), stops[:1], line, ends, is_rest=True)
            line += 1
            is_rest = False
            held = size - int(stops[0])
            data[:held] = data[stops[0] : size]
            continue
        if is_rest or (not stops.size and size > most):
            at = np.array([0, size], dtype=np.int64)
            yield Block(data[:size], at[:1], at[1:], line, ends, is_open=True, is_rest=is_rest)
            is_rest, held = True, 0
            if data.size > BLOCK_BYTES:
                data = np.empty(BLOCK_BYTES, dtype=np.uint8)
            continue
        if stops.size:
            yield Block(data[: stops[-1]], np.append(0, stops[:-1]), stops, line, ends)
            line += stops.size
        if ended:
            return
        rest = data[stops[-1] if stops.size else 0 :]
        if 2 * rest.size > data.size:  # so a long line is copied a few times only
            data = _empty(2 * data.size)
        elif data.size > BLOCK_BYTES and rest.size < BLOCK_BYTES:
            data = _empty(BLOCK_BYTES)
        held = rest.size
        data[:held] = rest  # may overlap; NumPy copies that rightly


def _empty(size: int) -> U8:
    """A buffer behind which SLACK bytes can be read, as kernels do."""
    return np.empty(size + SLACK, dtype=np.uint8)[:size]


def _line_stops(data: U8, ends: LineEnds, places: I64) -> I64:
    """Where lines end, behind each newline; found in ``places``, which has room for one a byte."""
    if ends.width == 1 and ends.newline == 10:
        return places[: line_stops(data, data.size, places)].copy()
    size = data.size // ends.width * ends.width
    return (np.flatnonzero(data[:size].view(ends.unit) == ends.newline) + 1) * ends.width


class Buffer:
    """A buffer that pieces of blocks are gathered in, again and again: fresh memory costs more than the copy."""

    def __init__(self) -> None:
        self._data = np.empty(0, dtype=np.uint8)

    def gather(self, block: Block, begin: I64, end: I64) -> tuple[U8, int]:
        """Copy pieces of a block's bytes end to end; the buffer, with SLACK bytes behind them, and how many they are.

        The buffer is valid until the next call.
        """
        spans = np.stack([begin, end, np.zeros_like(begin)], axis=1)
        offsets = np.append(0, np.cumsum(end - begin))
        size = int(offsets[-1])
        if self._data.size < size + SLACK:
            self._data = np.empty(size + size // 4 + SLACK, dtype=np.uint8)
        copy_fields(frozen(block.data), spans, self._data, offsets)
        return self._data, size

    def without(self, block: Block, first: I64, stop: I64) -> U8:
        """The bytes of a block without the runs of lines from ``first`` (rising, from 0) to before ``stop``.

        Valid until the next call.
        """
        begin, end = np.append(0, block.stops[stop - 1]), np.append(block.starts[first], block.data.size)
        data, size = self.gather(block, begin, end)
        return data[:size]


def inserted(block: Block, places: I64, texts: Sequence[bytes], start: int) -> bytes:
    """The bytes of a block from ``start`` with ``texts`` inserted at ``places`` (rising)."""
    view: memoryview = memoryview(block.data)  # type: ignore[arg-type]
    bounds = [start, *places.tolist(), block.data.size]
    pieces: list[memoryview | bytes] = [b""] * (2 * len(texts) + 1)
    pieces[::2] = [view[a:b] for a, b in pairwise(bounds)]
    pieces[1::2] = texts
    return b"".join(pieces)
