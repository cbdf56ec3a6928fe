"""Record batches without some of their rows, or with three more columns; what Parquet and Arrow share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import flags, numbers, strings
from neardup.inputs.columnar.source import explained
from neardup.tasks.rewrite.model import Replaced, Rewrite, added_names, changed
from neardup.types import Mask


class Editor:
    """Edits the batches of one file, which come in order, and counts."""

    def __init__(self, job: Rewrite, schema: Any, *, one_dictionary: bool = False) -> None:
        """Edit batches of ``schema``. With ``one_dictionary`` all have the same, and so must those of the copy."""
        self.schema = schema
        """The Arrow schema of the copy."""
        self._one_dictionary = one_dictionary
        self._texts: Any = None
        """All texts of the dictionary that the batches of the copy have."""
        self._job = job
        self._row = 1 + job.rows_before
        self._found = 0
        note = job.annotation
        if note is not None:
            types = (pa.int64(), note.keeper.type, pa.float64())
            for name, type_ in zip(added_names(schema.names, job.path), types, strict=True):
                self.schema = self.schema.append(pa.field(name, type_))

    def edit(self, batch: Any) -> Any:
        """The next batch, edited."""
        first = self._row
        self._row += len(batch)
        if self._job.known is not None:
            self._job.known.check_rows(batch, first)
        if self._job.replaced is not None:
            if self._one_dictionary and self._texts is None:
                self._texts = _dictionary_texts(batch, self._job.replaced)
            batch = _replaced(batch, first, self._job.replaced, self._texts)
        removed = self._job.removed[slice(*np.searchsorted(self._job.removed, [first, self._row]))]
        self._found += removed.size
        if removed.size:
            kept = np.ones(len(batch), dtype=np.bool_)
            kept[removed - first] = False
            batch = filtered(batch, kept)
        note = self._job.annotation
        if note is None:
            return batch
        self._found += note.part(first, len(batch)).rows.size
        return pa.RecordBatch.from_arrays([*batch.columns, *note.spread(first, len(batch))], schema=self.schema)

    def end(self) -> int:
        """The number of rows that came; InputChanged unless every row that was to be edited has come."""
        note = self._job.annotation
        wanted = self._job.removed.size if note is None else note.rows.size
        if self._found != wanted:
            raise changed(self._job.path, wanted, self._found)
        if self._job.replaced is not None:
            self._job.replaced.check_end()
        return self._row - 1 - self._job.rows_before


def _dictionary_texts(batch: Any, replaced: Replaced) -> Any:
    """Return the texts of the dictionary of a column, then the new texts of all batches; None for another column.

    An Arrow file can have one dictionary for a column, and it comes before the first batch.
    """
    column = batch.column(batch.schema.get_field_index(replaced.field))
    if not pa.types.is_dictionary(column.type):
        return None
    pairs = list(replaced.texts)
    replaced.texts = iter(pairs)
    own = column.dictionary.cast(pa.large_string())
    new = strings(dict.fromkeys(after.decode("utf-8", "replace") for _, after in pairs if after is not None))
    return pa.concat_arrays([own, new.filter(pc.invert(pc.is_in(new, value_set=own)))])


def _replaced(batch: Any, first: int, replaced: Replaced, dictionary: Any = None) -> Any:
    """Return a batch that begins with row ``first`` with new texts in its column; removed ones stay as they are.

    ``dictionary`` has the texts of its dictionary, if that must be the same for all batches.
    """
    found = list(replaced.among(first, first + len(batch)))
    if not found and dictionary is None:
        return batch
    place = batch.schema.get_field_index(replaced.field)
    column = batch.column(place)
    texts = column.cast(pa.large_string())
    rows = np.array([row for row, _, _ in found], dtype=np.int64) - first
    for (row, before, _), text in zip(found, texts.take(numbers(rows)).to_pylist(), strict=True):
        replaced.check(row, before, text)
    mask = np.zeros(len(batch), dtype=np.bool_)
    mask[rows] = True
    new = strings((before if after is None else after).decode("utf-8", "replace") for _, before, after in found)
    texts, kind = pc.replace_with_mask(texts, flags(mask), new), column.type
    if dictionary is None:
        column = texts.cast(kind)
    else:
        codes = pc.index_in(texts, value_set=dictionary).cast(kind.index_type)
        column = pa.DictionaryArray.from_arrays(codes, dictionary.cast(kind.value_type), ordered=kind.ordered)
    return batch.set_column(place, batch.schema.field(place), column)


def filtered(value: Any, kept: Mask) -> Any:
    """An Arrow array, batch or table with the rows where ``kept`` is True."""
    if isinstance(value, pa.RecordBatch):
        if not value.num_columns:  # nothing but a number of rows
            return value.slice(0, int(np.count_nonzero(kept)))
        return pa.RecordBatch.from_arrays([filtered(each, kept) for each in value.columns], schema=value.schema)
    try:
        return value.filter(flags(kept))
    except pa.ArrowNotImplementedError:  # of views and run ends; they can be cut and joined
        bounds = [-1, *np.flatnonzero(~kept).tolist(), len(value)]
        runs = [value[low + 1 : high] for low, high in pairwise(bounds) if high > low + 1] or [value[:0]]
        if isinstance(value, pa.Table):
            return pa.concat_tables(runs)
        if isinstance(value, pa.ChunkedArray):
            return pa.chunked_array([chunk for run in runs for chunk in run.chunks], type=value.type)
        return pa.concat_arrays(runs)


def explained_each(batches: Iterator[Any], name: str, kind: str) -> Iterator[Any]:
    """The batches of a file; around the reading of each only, for what the writing raises is not about the input."""
    while True:
        with explained(name, kind):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def bytes_of(batch: Any) -> int:
    """Bytes of a batch; where pyarrow cannot tell them of a slice (views, in 21), those of its whole buffers."""
    try:
        return int(batch.nbytes)
    except pa.ArrowException:
        return int(batch.get_total_buffer_size())


def batch_slices(batch: Any, size: int) -> Any:
    """Yield the rows of a batch in slices of about ``size`` bytes, one row at least; an empty batch as it is."""
    rows = max(1, int(len(batch) * size / max(1, bytes_of(batch))))
    for start in range(0, max(1, len(batch)), rows):
        yield batch.slice(start, rows)
