"""Tables that name documents by their rows until they are written (``outputs.write``) or taken as Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from neardup.engine.reading.written import WrittenTexts
    from neardup.inputs.names import Ids


@dataclass(frozen=True, slots=True)
class RowTable:
    """A stream that is read once. Iterating over it gives Arrow batches, as a ``pyarrow.RecordBatchReader`` does."""

    schema: pa.Schema
    """The columns, with ids in place of rows."""
    ids: Ids
    pieces: Iterator[Sequence[Any]]
    """The columns of some rows at a time: int64 arrays of NumPy are rows of documents, all others are Arrow arrays."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return (batch for batch, _ in self._named())

    def read_all(self) -> pa.Table:
        """Return the rest as a table in memory."""
        return pa.Table.from_batches(self, self.schema)

    def with_texts(
        self, texts: WrittenTexts | None, names: Sequence[str], with_text: bool | int, text_rows: int | None = None
    ) -> RowTable | pa.RecordBatchReader:
        """Return the table; unless ``with_text`` is False, with the texts of its documents in columns ``names``.

        If ``with_text`` is a number, each text is cut to so many characters. With ``text_rows``, only so many first
        rows get their texts. Rows are cut into smaller batches if their texts are long.
        """
        if with_text is False:
            return self
        assert texts is not None, "the run was not told to keep its texts"
        most = None if with_text is True else with_text
        schema = pa.schema([*self.schema, *(pa.field(name, pa.large_string()) for name in names)])

        def filled() -> Iterator[pa.RecordBatch]:
            done = 0
            for batch, columns in self._named():
                known = batch.num_rows if text_rows is None else min(max(0, text_rows - done), batch.num_rows)
                done += batch.num_rows
                for part in texts.pieces(*(rows[:known] for rows in columns), most=most):
                    beside = [texts.take(rows[part], most) for rows in columns]
                    yield pa.RecordBatch.from_arrays([*batch[part].columns, *beside], schema=schema)
                if known < batch.num_rows:
                    nothing = [pa.nulls(batch.num_rows - known, pa.large_string())] * len(columns)
                    yield pa.RecordBatch.from_arrays([*batch[known:].columns, *nothing], schema=schema)

        return pa.RecordBatchReader.from_batches(schema, filled())

    def _named(self) -> Iterator[tuple[pa.RecordBatch, list[Any]]]:
        """Yield the rows with ids, and the documents that they name, in pieces whose ids fit into memory."""
        for columns in self.pieces:
            rows = [each for each in columns if isinstance(each, np.ndarray)]
            for part in self.ids.pieces(*rows):
                taken = [self.ids.take(each[part]) if isinstance(each, np.ndarray) else each[part] for each in columns]
                yield pa.RecordBatch.from_arrays(taken, schema=self.schema), [each[part] for each in rows]
