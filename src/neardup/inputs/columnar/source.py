"""What the readers of columns share: batches cut into tasks, a file unpacked in memory, errors in the user's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pyarrow as pa

from neardup.inputs.blocks import read_all
from neardup.inputs.columnar.arrow_columns import Chosen, column_cuts, read_rows
from neardup.inputs.source import Source, Task, TooLargeRows, oversized, sized
from neardup.inputs.stream import explained_as

REST_TASKS = 8
"""Tasks after which the pages of a mapped file are let go."""

Batches = Iterator[tuple[Any, int | None]]
"""Record batches or TooLargeRows, each with the stored bytes that it stands for; None: as large as its texts."""


class ColumnarSource(Source):
    """What the columnar sources share: batches to tasks."""

    def cut(
        self,
        batches: Batches,
        chosen: Chosen,
        *,
        positions: bool = False,
        rest: Callable[[], None] | None = None,
        first_row: int = 1,
        records: Sequence[Mapping[str, Any]] | None = None,
    ) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text; one row at least.

        ``positions`` stand in for ids that are not there. ``rest`` is called now and then, to let go of memory that was
        looked at. ``first_row``: of the first batch. ``records`` have the further columns of all rows, in their place.
        """
        tasks = 0
        for batch, consumed in batches:
            if isinstance(batch, TooLargeRows):
                last = first_row + batch.rows - 1
                what = f"{batch.what} of the rows {first_row:,} to {last:,}"
                yield self._passed(first_row, what, batch.size, consumed, rows=batch.rows)
                first_row += batch.rows
                continue
            texts, more = chosen.texts(batch), chosen.beside(batch)
            if more is not None and records is not None:
                more = records[first_row - 1 : first_row - 1 + len(batch)]
            ids = None if chosen.id is None else batch.column(chosen.id)
            for start, stop, size in column_cuts(texts, ids, self._options.block):
                if size > self._options.limit.largest:
                    yield self._passed(first_row + start, "the row", size, consumed)
                else:
                    own, its = (None if each is None else each[start:stop] for each in (ids, more))
                    rows = texts[start:stop], own, its, first_row + start, self.name, self._options
                    yield sized(partial(read_rows, *rows, consumed=consumed, positions=positions), size, self._options)
                consumed = consumed and 0
                tasks += 1
                if rest is not None and tasks % REST_TASKS == 0:
                    rest()
            first_row += len(batch)

    def _passed(self, row: int, what: str, size: int, consumed: int | None, *, rows: int = 1) -> Task:
        return partial(oversized, self.name, row, what, size, self._options, consumed=consumed or 0, rows=rows)


class ColumnarFile(ColumnarSource):
    """One columnar file, or standard input."""

    def unpacked(self) -> Any:
        """The bytes as a pyarrow file in memory where they are not those of a plain file; None: ``name`` has them."""
        if self.is_plain:
            return None
        return pa.BufferReader(read_all(self._stream or self.name, limit=self._options.limit, many=True))


def explained(name: str, kind: str) -> AbstractContextManager[None]:
    """Turn what pyarrow says about a file into InputError with the cure."""
    cure = "Fetch or write the file again, or name its true format with --input-format."
    return explained_as(kind, name, (pa.ArrowException, OSError), cure)
