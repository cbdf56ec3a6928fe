"""Plain lines: each line that is not blank is one document, or, with ``item``, one set of words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from neardup.inputs.batches import Columns, gather, make_batch
from neardup.inputs.blocks import NEWLINE, LineBlock, LineSource, line_ends
from neardup.inputs.source import Faults, Task, sized
from neardup.types import Batch

_RETURN = 13


class LinesSource(LineSource):
    """A file of lines, or standard input. Neither the newline nor a carriage return before it is text."""

    format = "lines"

    def tasks(self) -> Iterator[Task]:
        for block in self.blocks():
            if block.too_large:
                yield self.too_large(block)
            else:
                yield sized(partial(self.read_block, block), block.size, self._options)

    def read_block(self, block: LineBlock) -> Batch:
        """Read one block of lines, of whatever input."""
        data = block.data
        behind = line_ends(data, block.size)
        ends = behind - (data[behind - 1] == NEWLINE)
        spans = np.zeros((ends.size, 3), dtype=np.int64)
        spans[1:, 0] = behind[:-1]
        spans[:, 1] = ends
        spans[:, 1] -= (ends > spans[:, 0]) & (data[ends - 1] == _RETURN)
        filled = spans[:, 1] > spans[:, 0]
        rows = np.arange(block.first_line, block.first_line + ends.size, dtype=np.int64)[filled]
        return make_batch(
            Columns(gather(data, spans[filled]), rows),
            Faults(self.name, self._options.on_bad),
            encoding=self._options.encoding,
            split=self._options.item,
            blank=int(ends.size - rows.size),
            consumed=block.consumed,
        )
