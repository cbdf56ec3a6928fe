"""Blocks of lines that can be looked at before they are taken.

Whether a quoted field that goes on for longer than may be held is closed at all is known only at its end; if it is not,
what lies between are records. So what was looked at waits in a temporary file.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

import numpy as np

from neardup.errors import InputError
from neardup.inputs.streams.line_cuts import NEWLINE
from neardup.inputs.streams.streams import LineBlock
from neardup.types import SLACK

__all__ = ["Ahead"]

_NOTHING = np.empty(0, dtype=np.uint8)
"""No view of a block, which would keep it in memory."""


class Ahead:
    """A stream of blocks; the next one is in memory, and further ones that were looked at are in a file."""

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
        self._later.append((replace(block, data=_NOTHING, is_alone=False), self._end))
        self._end += block.size

    def _stored(self, block: LineBlock, place: int) -> LineBlock:
        assert self._file is not None
        data = np.full(block.size + SLACK, NEWLINE, dtype=np.uint8)
        self._file.seek(place)
        data[: block.size] = np.frombuffer(self._file.read(block.size), dtype=np.uint8)
        return replace(block, data=data)

    def close(self) -> None:
        """Delete the file."""
        if self._file is not None:
            self._file.close()
