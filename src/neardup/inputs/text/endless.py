"""Records of CSV and TSV that are too large to be held, or whose quote is never closed: which, and where to go on.

A quote that is never closed costs one line, and what follows are records; a record that is too large is passed over
as a whole, or its inner lines would be taken for records. So the bytes that follow are looked at until the quote is
closed, or has been open for so long that it never is, however much or little memory there is.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO

import numpy as np

from neardup.errors import InputError
from neardup.inputs.blocks import LAST, NEWLINE, LineBlock
from neardup.inputs.text.layout import Layout
from neardup.kernels.delimited import ENDED, GOES_ON, QUOTED, START, follow_record, unclosed_field
from neardup.types import I64, SLACK, U8

MAX_RECORD = 512 << 20
"""Bytes after which a quote still open counts as never closed."""
_NOTHING = np.empty(0, dtype=np.uint8)
"""No view of a block, which would keep it in memory."""


class Ahead:
    """Blocks of lines that can be looked at before they are taken, to see whether a quote is closed at all.

    The next block is in memory, and further ones that were looked at wait in a temporary file.
    """

    def __init__(self, blocks: Iterator[LineBlock]) -> None:
        self._blocks = blocks
        self._first = next(blocks, None)
        self._later: deque[tuple[LineBlock, int]] = deque()
        """Blocks behind the first, without data, and where that begins in the file."""
        self._file: IO[bytes] | None = None
        self._end = 0

    def take(self) -> LineBlock | None:
        """The next block, which is forgotten here; None at the end."""
        taken = self._first
        if taken is not None:
            if self._later:
                self._first = self._stored(*self._later.popleft())
                if not self._later:
                    self._end = 0
            else:
                self._first = next(self._blocks, None)
        return taken

    def look(self, i: int) -> LineBlock | None:
        """The block behind ``i`` others, or None; all before it must have been looked at."""
        if i == 0 or self._first is None:
            return self._first
        if i > len(self._later):
            block = next(self._blocks, None)
            if block is None:
                return None
            self._store(block)
        return self._stored(*self._later[i - 1])

    def _store(self, block: LineBlock) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
            self._file.seek(self._end)
            self._file.write(block.data[: block.size].tobytes())
        except OSError as exc:
            raise InputError(
                f"a record that is larger than memory allows cannot be put aside in {tempfile.gettempdir()}: "
                f"{exc.strerror}. Make room there, or name another folder with the variable TMPDIR."
            ) from exc
        self._later.append((replace(block, data=_NOTHING, whole=None, held=None), self._end))
        self._end += block.size

    def _stored(self, block: LineBlock, place: int) -> LineBlock:
        assert self._file is not None
        data = np.full(block.size + SLACK, NEWLINE, dtype=np.uint8)
        self._file.seek(place)
        data[: block.size] = np.frombuffer(self._file.read(block.size), dtype=np.uint8)
        return replace(block, data=data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


@dataclass(slots=True)
class Passed:
    """What was passed over of a record beside what was held of it."""

    size: int = 0
    lines: int = 0
    consumed: int = 0
    left: LineBlock | None = None
    """What follows the record in its last block."""

    def note(self, block: LineBlock, at: int, *, is_end: bool) -> None:
        """Pass over the first ``at`` bytes of a block, with the end of the record behind them or not."""
        lines = block.lines
        if is_end and at < block.size:
            lines = int(np.count_nonzero(block.data[:at] == NEWLINE))
            behind = block.data[at:], block.size - at, block.lines - lines, block.first_line + lines
            self.left = LineBlock(*behind, consumed=0, at=block.at + at, held=block.held)
        self.size += at
        self.lines += lines
        self.consumed += block.consumed


def pass_record(data: U8, size: int, blocks: Ahead, layout: Layout) -> Passed | None:
    """Pass over a record that begins with ``data[:size]``, whole lines in which a quote is open, and goes on.

    None when the quote is never closed; then nothing was passed over behind ``data``.
    """
    state: I64 = np.zeros(3, dtype=np.int64)
    state[0] = QUOTED if layout.relaxed else START
    begin = unclosed_field(data, size, layout.delimiter) if layout.relaxed else 0
    _, outcome = follow_record(data, begin, size, layout.delimiter, layout.relaxed, state)
    return _followed(outcome, state, size, blocks, layout, Passed())


def pass_line(blocks: Ahead, layout: Layout) -> Passed:
    """Pass over a record that begins with the next block, a piece of a line that is too long by itself.

    It goes on behind that line where a quote is open at its end that is closed later. In TSV it does not: the lines
    behind lack fields then, and are bad records.
    """
    passed = Passed()
    state: I64 = np.zeros(3, dtype=np.int64)
    state[0] = START
    outcome = ENDED if layout.relaxed else GOES_ON
    while (block := blocks.look(0)) is not None and block.part:
        blocks.take()
        if outcome == GOES_ON and passed.size <= MAX_RECORD:
            _, outcome = follow_record(block.data, 0, block.size, layout.delimiter, False, state)
        passed.note(block, block.size, is_end=False)
        if block.part == LAST:
            break
    whole = _followed(outcome, state, 0, blocks, layout, replace(passed)) if outcome == GOES_ON else None
    return whole or replace(passed, lines=1)


def _followed(outcome: int, state: I64, size: int, blocks: Ahead, layout: Layout, passed: Passed) -> Passed | None:
    """Look for the end of a record in the blocks behind its ``size`` bytes and ``passed``; take them if it is there."""
    looked = 0
    while outcome == GOES_ON and size + passed.size <= MAX_RECORD:
        block = blocks.look(looked)
        if block is None:
            if state[0] != QUOTED:  # its last quote was closed, and the file has ended
                outcome = ENDED
            break
        at, outcome = follow_record(block.data, 0, block.size, layout.delimiter, layout.relaxed, state)
        passed.note(block, at, is_end=outcome == ENDED)
        looked += 1
    if outcome != ENDED:
        return None
    for _ in range(looked):
        blocks.take()
    return passed
