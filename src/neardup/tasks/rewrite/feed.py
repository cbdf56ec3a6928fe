"""Lines that something is to happen to, read beside the file that is rewritten.

Which lines a record has is known only from reading the file as its reader does, decoded and with its quotes; the bytes
are cut in another pass over it. Both passes run side by side, one block ahead of the other at most, so that what
is between them stays small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from neardup.inputs.source import ReadOptions
from neardup.inputs.text.delimited import RecordBlock, record_blocks
from neardup.kernels.delimited import FIELDS, FINE, LINE, STATUS
from neardup.types import I64, Mask

Part: TypeAlias = tuple[int, I64]
"""A line such that every entry that begins before it has come, and int64[n, 2]: entries, their first column rising."""


class Feed:
    """Entries in order, handed out as far as the other pass has come."""

    def __init__(self, parts: Iterator[Part]) -> None:
        self._parts = parts
        self._known = 0
        self._entries: I64 = np.empty((0, 2), dtype=np.int64)

    def before(self, line: int) -> I64:
        """The entries not yet handed out whose first column is less than ``line``."""
        while self._known < line:
            following = next(self._parts, None)
            if following is None:
                break
            self._known, entries = following
            self._entries = np.concatenate([self._entries, entries]) if self._entries.size else entries
        count = int(np.searchsorted(self._entries[:, 0], line))
        taken, self._entries = self._entries[:count], self._entries[count:]
        return taken

    def put_back(self, entries: I64) -> None:
        """Let ``entries``, which come before all others, be handed out again."""
        self._entries = np.concatenate([entries, self._entries])

    def rest(self) -> I64:
        """All entries that were not handed out."""
        return self.before(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Records:
    """Records of a delimited file that follow each other."""

    block: RecordBlock
    first: I64
    """int64[n]: the 1-based line on which each begins, which is its row."""
    last: I64
    """int64[n]: the line on which each ends."""
    is_good: Mask
    """bool[n]: it has the fields that it should have."""
    header_lines: int
    """Lines up to the end of the header row, in the first of these; else 0."""
    first_line: int
    next_line: int
    """The records begin on these lines, from the first to before the next."""


def records_of(path: str, kind: str, options: ReadOptions) -> Iterator[Records]:
    """Yield the records of a CSV or TSV file in order, bad ones too."""
    header_lines: int | None = None
    for block in record_blocks(path, path, kind, options):
        if header_lines is None:
            header_lines = block.first_line - 1
        records = block.records
        good = (records[:, STATUS] == FINE) & (records[:, FIELDS] == block.layout.width)
        first, last = records[:, LINE] + block.first_line, _last_lines(block)
        end = block.first_line + block.lines
        yield Records(block, first, last, good, header_lines, block.first_line, end)
        header_lines = 0


def _last_lines(block: RecordBlock) -> I64:
    """The line on which each record ends: the last before the next record that is not blank.

    The last line of a record never is blank: it has the quote that closes its field, or is its first.
    """
    if block.too_large:
        return np.array([block.first_line + block.lines - 1], dtype=np.int64)
    first = block.records[:, LINE]
    if first.size + block.blank == block.lines:  # no record has two lines
        return first + block.first_line
    data = block.data[block.start : block.stop]
    stops = np.flatnonzero(data == 10)
    if data[-1] != 10:
        stops = np.append(stops, data.size)
    starts = np.zeros(stops.size, dtype=np.int64)
    starts[1:] = stops[:-1] + 1
    blank = (starts == stops) | ((starts + 1 == stops) & (data[np.minimum(starts, data.size - 1)] == 13))
    last_filled = np.maximum.accumulate(np.where(blank, 0, np.arange(stops.size)))
    last: I64 = last_filled[np.append(first[1:], block.lines) - 1] + block.first_line
    return last
