"""Objects in memory with Arrow data inside: frames, tables, relations, readers, single columns.

pandas, polars, pyarrow and duckdb speak the Arrow PyCapsule interface. A ``datasets.Dataset`` (5.2) does not; it is
known by its methods. No library is imported for this.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.inputs.columnar.arrow_columns import Chosen, check_text_type, choose_columns
from neardup.inputs.columnar.source import Batches, ColumnarSource
from neardup.inputs.columns import ID_NAMES, TEXT_NAMES, unknown_column
from neardup.inputs.source import ReadOptions, Task

ARROW = (pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray)
_ROWS = 1000
"""Rows asked of a ``datasets.Dataset`` at a time."""


def is_arrow_object(value: Any) -> bool:
    """True when ``ObjectSource`` can read ``value``; InputError when it is a dictionary of datasets."""
    if isinstance(value, Mapping) and hasattr(value, "with_format"):
        raise InputError(
            f"the input is a {type(value).__name__} of the splits {', '.join(map(repr, value))}. "
            f"Give one of them, such as dataset[{next(iter(value), 'train')!r}]."
        )
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__") or is_dataset(value)


def records_of(value: Any, options: ReadOptions) -> list[Mapping[str, Any]] | None:
    """Return the records of a list of dicts, or of one dict, as lines of JSONL have them; None if it is neither.

    A dict is a record if it has the field that ``text`` names, or one that is named like a text and one like an id.
    Any other dict maps ids to texts.
    """
    if isinstance(value, Mapping):
        texts = {options.text} if isinstance(options.text, str) else {*(options.text or TEXT_NAMES)}
        ids = texts if options.text else {*ID_NAMES}
        return [value] if not texts.isdisjoint(value) and not ids.isdisjoint(value) else None
    is_list = isinstance(value, (list, tuple)) and len(value) > 0
    return list(value) if is_list and all(isinstance(each, Mapping) for each in value) else None


def record_table(records: list[Mapping[str, Any]]) -> pa.Table:
    """Return records as a table; values of several types in one field become text."""
    columns = {}
    for name in dict.fromkeys(key for record in records for key in record):
        values = [record.get(name) for record in records]
        try:
            columns[str(name)] = pa.array(values)
        except (pa.ArrowException, OverflowError):
            columns[str(name)] = pa.array([None if each is None else str(each) for each in values])
    return pa.table(columns)


def is_dataset(value: Any) -> bool:
    """True for a dataset of ``datasets``, of either kind."""
    return all(hasattr(value, name) for name in ("with_format", "iter", "column_names", "features"))


def is_streamed(value: Any) -> bool:
    """True for a dataset of ``datasets`` whose rows go by, perhaps over a network."""
    return is_dataset(value) and not hasattr(value, "select")


def is_a(value: Any, library: str, name: str) -> bool:
    """Whether ``value`` is an instance of ``library.name``, without importing the library."""
    kind = getattr(sys.modules.get(library), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def is_frame(value: Any) -> bool:
    return is_a(value, "pandas", "DataFrame") or is_a(value, "polars", "DataFrame")


def is_lasting(value: Any) -> bool:
    """Whether an object with columns is known to give the same rows each time."""
    is_series = is_a(value, "pandas", "Series") or is_a(value, "polars", "Series")
    return isinstance(value, (*ARROW, np.ndarray)) or is_frame(value) or is_series or is_dataset(value)


def rereadable(value: Any) -> Any:
    """Return ``value``, or its content where it might not be read twice with the same result.

    Generators and other iterators become lists. Readers become tables, and so does a duckdb relation: it is a query,
    which need not give its rows in the same order again.
    """
    if is_lasting(value):
        return value
    if not (hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")):
        return list(value) if isinstance(value, Iterator) else value
    with _explained(value):
        opened = _open(value)
        assert opened is not None  # of a dataset only
        table = pa.Table.from_batches(list(opened.batches), opened.schema)
    return table.column(0) if opened.is_column else table


class _Opened(NamedTuple):
    schema: Any
    batches: Iterator[Any]
    is_column: bool = False


class ObjectSource(ColumnarSource):
    """A table, a frame, a relation, a reader, or one column of texts, in memory.

    Without an id column the id of a row is its position, from 0, so that it can index the object.
    """

    paths = None

    def __init__(
        self, value: Any, options: ReadOptions, name: str = "input", records: list[Mapping[str, Any]] | None = None
    ) -> None:
        """``records``: what the table ``value`` was made of. A column of a table has one type, but a field need not."""
        super().__init__(name, options)
        self._value = value
        self._records = records

    def _stored(self, chosen: Chosen) -> list[dict[str, Any]] | None:
        """Return the further fields of each record, if it has them."""
        names = [self.names[place] for place in chosen.more]
        if self._records is None:
            return None
        return [{name: record[name] for name in names if name in record} for record in self._records]

    @property
    def is_rereadable(self) -> bool:
        return is_lasting(self._value)

    def with_column(self, name: str) -> tuple[Any, Iterator[Any]]:
        """The Arrow schema, and record batches that have the column ``name`` if there is one.

        Where the kind of object allows it, nothing but that column is converted, and the schema has no other. The
        schema of a single column, which has no name, is empty.
        """
        with _explained(self._value):
            opened = _open(_only(self._value, name))
        if opened is None:
            return pa.schema([(column, pa.null()) for column in self._value.column_names]), iter(())
        if opened.is_column:
            return pa.schema([]), iter(())
        return opened.schema, (batch for batch, _ in self._batches(opened))

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text, without a copy where the layout allows it."""
        with _explained(self._value):
            opened = _open(self._value)
        if opened is not None:
            chosen, given = self._choose(opened), self._options
            yield from self.cut(self._batches(opened), chosen, positions=given.positions, records=self._stored(chosen))

    def _batches(self, opened: _Opened) -> Batches:
        with _explained(self._value):
            for batch in opened.batches:
                yield batch, None

    def _choose(self, opened: _Opened) -> Chosen:
        if not opened.is_column:
            chosen = choose_columns(opened.schema, self._options, self.name)
            self.names = opened.schema.names
            self.columns = chosen.columns(self.names, self.name)
            return chosen
        given = self._options
        for option, asked in (("text", given.text), ("id", given.id), ("column", given.column or None)):
            if asked is not None:
                name = asked if isinstance(asked, str) else asked[0]
                raise unknown_column(name, [], f"{self.name} (a single column)", option=option)
        check_text_type(opened.schema.field(0), self._options.item, self.name)
        return Chosen((0,), None)


def _open(value: Any) -> _Opened | None:
    """The schema and the batches of an object; None for a dataset without rows."""
    if is_dataset(value):
        return _open_dataset(value)
    if hasattr(value, "__arrow_c_stream__"):
        try:
            reader = pa.RecordBatchReader.from_stream(value)
        except pa.ArrowInvalid:  # a stream of one column, not of records
            return _column(pa.chunked_array(value))
        return _Opened(reader.schema, iter(reader))
    array = pa.array(value)
    if pa.types.is_struct(array.type):
        batch = pa.RecordBatch.from_struct_array(array)
        return _Opened(batch.schema, iter([batch]))
    return _column(pa.chunked_array([array]))


def _only(value: Any, name: str) -> Any:
    """The object with one column, where it has it and is of a kind that we know; else as it is."""
    if is_dataset(value):
        return value.select_columns([name]) if name in (value.column_names or ()) else value
    if isinstance(value, (pa.Table, pa.RecordBatch)):
        return value.select([name]) if value.schema.names.count(name) == 1 else value
    if type(value).__module__.split(".")[0] in ("pandas", "polars") and name in getattr(value, "columns", ()):
        return value[[name]]
    return value


def _column(column: Any) -> _Opened:
    schema = pa.schema([("", column.type)])
    chunks = (pa.RecordBatch.from_arrays([chunk], schema=schema) for chunk in column.chunks)
    return _Opened(schema, chunks, is_column=True)


def _open_dataset(dataset: Any) -> _Opened | None:
    tables = dataset.with_format("arrow").iter(batch_size=_ROWS)
    first = next(tables, None)
    if first is None:
        return None
    return _Opened(first.schema, (batch for table in chain([first], tables) for batch in table.to_batches()))


@contextmanager
def _explained(value: Any) -> Iterator[None]:
    """Turn what goes wrong inside an object's own conversion into InputError with the cure."""
    try:
        yield
    except (pa.ArrowException, NotImplementedError) as exc:
        raise InputError(
            f"the {type(value).__name__} cannot be read as Arrow columns: {exc}. Give only the columns that "
            "are needed, each of one type, such as frame[['id', 'text']]."
        ) from exc
