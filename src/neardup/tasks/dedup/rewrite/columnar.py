"""Record batches without some of their rows, or with three more columns; what Parquet and Arrow share."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import flags, nullable, numbers
from neardup.tasks.dedup.rewrite.model import Rewrite, Tally, added_names, changed
from neardup.types import I64

__all__ = ["Editor", "batch_slices", "bytes_of"]


class Editor:
    """Edits the batches of one file, which come in order, and counts."""

    def __init__(self, job: Rewrite, schema: Any) -> None:
        """Take what is to happen to the file, and its Arrow schema.

        Raises:
            InputError: the file has columns of the names that would be added, with the prefix too.
        """
        self.tally = Tally()
        self.schema = schema
        self._job = job
        self._columns: list[Any] = []
        self._row = 1
        self._matched = 0
        note = job.annotation
        if note is not None:
            similarity = nullable(numbers(note.similarity), ~np.isnan(note.similarity))
            self._columns = [numbers(note.cluster), note.keeper, similarity]
            for name, column in zip(added_names(schema.names, job.path), self._columns, strict=True):
                self.schema = self.schema.append(pa.field(name, column.type))

    def edit(self, batch: Any) -> Any:
        """The next batch, edited."""
        first = self._row
        self._row += len(batch)
        if self._job.known is not None:
            self._job.known.check_rows(batch, first)
        removed = self._job.removed[slice(*np.searchsorted(self._job.removed, [first, self._row]))]
        self.tally.kept += len(batch) - removed.size
        self.tally.removed += removed.size
        if removed.size:
            batch = _without(batch, removed - first)
        if self._job.annotation is None:
            return batch
        return self._with_columns(batch, self._job.annotation.rows, first)

    def check(self) -> None:
        """Raise InputError unless every row that was to be edited has come."""
        note = self._job.annotation
        wanted = self._job.removed.size + (0 if note is None else note.rows.size)
        found = self.tally.removed + self._matched
        if found != wanted:
            raise changed(self._job.path, wanted, found)

    def _with_columns(self, batch: Any, rows: I64, first: int) -> Any:
        low, high = np.searchsorted(rows, [first, first + len(batch)])
        self._matched += int(high - low)
        places = np.zeros(len(batch), dtype=np.int64)
        known = np.zeros(len(batch), dtype=np.bool_)
        places[rows[low:high] - first] = np.arange(low, high)
        known[rows[low:high] - first] = True
        indices = nullable(numbers(places), known)
        added = [column.take(indices) for column in self._columns]
        return pa.RecordBatch.from_arrays([*batch.columns, *added], schema=self.schema)


def _without(batch: Any, rows: I64) -> Any:
    """The batch without ``rows`` (rising, from 0)."""
    mask = np.ones(len(batch), dtype=np.bool_)
    mask[rows] = False
    chosen = flags(mask)
    columns = [_filtered(column, chosen, rows) for column in batch.columns]
    if not columns:  # nothing but a number of rows
        return batch.slice(0, len(batch) - rows.size)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _filtered(column: Any, chosen: Any, rows: I64) -> Any:
    try:
        return column.filter(chosen)
    except pa.ArrowNotImplementedError:  # of views and run ends; they can be cut and joined
        bounds = [-1, *rows.tolist(), len(column)]
        runs = [column[low + 1 : high] for low, high in pairwise(bounds) if high > low + 1]
        return pa.concat_arrays(runs) if runs else column[:0]


def bytes_of(batch: Any) -> int:
    """Bytes of a batch; where pyarrow cannot tell them of a slice (views, before 17), those of its whole buffers."""
    try:
        return int(batch.nbytes)
    except pa.ArrowException:
        return int(batch.get_total_buffer_size())


def batch_slices(batch: Any, size: int) -> Any:
    """Yield the rows of a batch in slices of about ``size`` bytes, one row at least; an empty batch as it is."""
    rows = max(1, int(len(batch) * size / max(1, bytes_of(batch))))
    for start in range(0, max(1, len(batch)), rows):
        yield batch.slice(start, rows)
