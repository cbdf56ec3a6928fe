"""Plain lines: each line that is not blank is one document, or, with ``item``, one set of words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from neardup.inputs.again import LineRecords
from neardup.inputs.batches import Columns, gather, make_batch
from neardup.inputs.blocks import NEWLINE, LineBlock, LineSource, line_ends
from neardup.inputs.source import Faults, Task, sized
from neardup.types import Batch, Origin

_RETURN = 13


class LinesSource(LineSource):
    """A file of lines, or standard input. Neither the newline nor a carriage return before it is text."""

    format = "lines"

    def is_cut_at_lines(self) -> bool:
        return self.is_plain_utf8

    def tasks(self) -> Iterator[Task]:
        origin = self.reopened({})
        for block in self.blocks():
            if block.too_large:
                yield self.too_large(block)
            else:
                yield sized(partial(self.read_block, block, origin), block.size, self._options)

    def reopened(self, facts: dict[str, Any]) -> Origin | None:
        return LineRecords.of(self, self.read_block)

    def read_block(self, block: LineBlock, origin: Origin | None = None) -> Batch:
        """Read one block of lines, of whatever input; ``origin`` reads its records again."""
        data = block.data
        behind = line_ends(data, block.size)
        ends = behind - (data[behind - 1] == NEWLINE)
        spans = np.zeros((ends.size, 3), dtype=np.int64)
        spans[1:, 0] = behind[:-1]
        spans[:, 1] = ends
        spans[:, 1] -= (ends > spans[:, 0]) & (data[ends - 1] == _RETURN)
        records = np.column_stack((spans[:, 0], behind))
        filled = spans[:, 1] > spans[:, 0]
        rows = np.arange(block.first_line, block.first_line + ends.size, dtype=np.int64)[filled]
        return make_batch(
            Columns(gather(data, spans[filled]), rows, spans=records[filled] + block.at),
            Faults(self.name, self._options.on_bad),
            encoding=self._options.encoding,
            split=self._options.item,
            blank=int(ends.size - rows.size),
            consumed=block.consumed,
            origin=origin,
        )
