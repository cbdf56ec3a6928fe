"""Record batches without some of their rows, or with three more columns; what Parquet and Arrow share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import blobs, flags, numbers, strings
from neardup.inputs.columnar.source import explained
from neardup.tasks.rewrite.model import Replaced, Rewrite, added_names, changed
from neardup.types import Mask


class Editor:
    """Edits the batches of one file, which come in order, and counts."""

    def __init__(self, job: Rewrite, schema: Any, *, one_dictionary: bool = False) -> None:
        """Edit batches of ``schema``. With ``one_dictionary`` all have the same, and so must those of the copy."""
        self.schema = schema
        """The Arrow schema of the copy."""
        self._job = job
        self._one_dictionary = one_dictionary
        self._dictionary: Any = None
        """The dictionary of the edited texts, and the codes of the new ones in it, where all batches share it."""
        self._codes: dict[bytes, int] = {}
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
            batch = self._replaced(batch, first, self._job.replaced)
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

    def _replaced(self, batch: Any, first: int, replaced: Replaced) -> Any:
        """Return a batch that begins with row ``first`` with new texts in its column; removed ones stay as they are."""
        place = batch.schema.get_field_index(replaced.field)
        column = batch.column(place)
        is_coded = self._one_dictionary and pa.types.is_dictionary(column.type)
        if is_coded and self._dictionary is None:
            self._unify(column.dictionary, replaced)
        found = list(replaced.among(first, first + len(batch)))
        if not found and not is_coded:
            return batch
        texts = column.cast(pa.large_string())
        rows = np.array([row for row, _, _ in found], dtype=np.int64) - first
        for (row, before, _), text in zip(found, texts.take(numbers(rows)).to_pylist(), strict=True):
            replaced.check(row, before, text)
        mask = np.zeros(len(batch), dtype=np.bool_)
        mask[rows] = True
        new = [before if after is None else after for _, before, after in found]
        if is_coded:
            codes = numbers(np.array([self._codes[each] for each in new], dtype=np.int64))
            indices = pc.replace_with_mask(column.indices, flags(mask), codes.cast(column.type.index_type))
            column = pa.DictionaryArray.from_arrays(indices, self._dictionary, ordered=column.type.ordered)
        else:
            written = strings(each.decode("utf-8", "replace") for each in new)
            column = pc.replace_with_mask(texts, flags(mask), written).cast(column.type)
        return batch.set_column(place, batch.schema.field(place), column)

    def _unify(self, own: Any, replaced: Replaced) -> None:
        """Make the dictionary of the copy: that of the file, and behind it the new texts, which are all held here."""
        held: dict[bytes, bytes] = {}  # equal texts are held once
        pairs = [(held.setdefault(a, a), b if b is None else held.setdefault(b, b)) for a, b in replaced.texts]
        replaced.texts = iter(pairs)
        self._codes = {text: i for i, text in enumerate(own.cast(pa.large_binary()).to_pylist())}
        new = dict.fromkeys(b for _, b in pairs if b is not None and b not in self._codes)
        self._codes |= zip(new, range(len(own), len(own) + len(new)), strict=True)
        self._dictionary = pa.concat_arrays([own, blobs(new).cast(own.type)])

    def end(self) -> int:
        """The number of rows that came; InputChanged unless every row that was to be edited has come."""
        note = self._job.annotation
        wanted = self._job.removed.size if note is None else note.rows.size
        if self._found != wanted:
            raise changed(self._job.path, wanted, self._found)
        if self._job.replaced is not None:
            self._job.replaced.check_end()
        return self._row - 1 - self._job.rows_before


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
