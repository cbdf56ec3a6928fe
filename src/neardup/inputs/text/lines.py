"""Plain lines: each line that is not blank is one document, or, with ``item``, one set of words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from neardup.inputs.batches import Columns, gather, make_batch
from neardup.inputs.source import Faults, ReadOptions, Task, sized
from neardup.inputs.streams.streams import ByteStream, LineBlock, line_blocks, too_large_line
from neardup.types import Batch

__all__ = ["LinesSource"]

_NEWLINE, _RETURN = 10, 13


class LinesSource:
    """A file of lines, or standard input. Neither the newline nor a carriage return before it is text."""

    format = "lines"

    def __init__(
        self, name: str, options: ReadOptions, *, total_bytes: int | None, stream: ByteStream | None = None
    ) -> None:
        self.name = name
        self.total_bytes = total_bytes
        self._options = options
        self._stream = stream

    def tasks(self) -> Iterator[Task]:
        """Yield a task a block of lines."""
        options = self._options
        blocks = line_blocks(
            self._stream or self.name,
            encoding=options.encoding,
            max_lines=options.block,
            limit=options.limit,
            count_to=options.count_to,
        )
        for block in blocks:
            if block.too_large:
                yield too_large_line(block, self.name, options)
            else:
                yield sized(partial(self.read_block, block), block.size, options)

    def read_block(self, block: LineBlock) -> Batch:
        """Read one block of lines, of whatever input."""
        data = block.data
        ends = np.flatnonzero(data[: block.size] == _NEWLINE)
        if data[block.size - 1] != _NEWLINE:
            ends = np.append(ends, block.size)
        spans = np.zeros((ends.size, 3), dtype=np.int64)
        spans[1:, 0] = ends[:-1] + 1
        spans[:, 1] = ends
        spans[:, 1] -= (ends > spans[:, 0]) & (data[ends - 1] == _RETURN)
        filled = spans[:, 1] > spans[:, 0]
        rows = np.arange(block.first_line, block.first_line + ends.size, dtype=np.int64)[filled]
        return make_batch(
            Columns(gather(data, spans[filled]), rows),
            self.name,
            Faults(self.name, self._options.on_bad),
            encoding=self._options.encoding,
            split=self._options.item,
            blank=int(ends.size - rows.size),
            consumed=block.consumed,
        )
