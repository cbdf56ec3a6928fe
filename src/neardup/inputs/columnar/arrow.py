"""Columnar files: Parquet, Arrow IPC, Feather.

Here: getting record batches with the needed columns, and cutting them into tasks. What types a text, a set
and an id may have, and how they become bytes, is in ``arrow_columns``; objects in memory are in
``arrow_objects``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import InputError
from neardup.inputs.columnar.arrow_columns import Chosen, choose_columns, column_cuts, read_rows
from neardup.inputs.columnar.ipc_messages import check_messages, messages_of, without
from neardup.inputs.columnar.mapped import map_file
from neardup.inputs.columnar.parquet_groups import Groups
from neardup.inputs.source import ReadOptions, RecordLimit, Task, TooLargeRows, oversized, sized

__all__ = ["Batches", "ColumnarSource", "IpcSource", "ParquetSource", "explained", "ipc_batches"]

_FILE_MAGIC = b"ARROW1"
_FEATHER_V1_MAGIC = b"FEA1"
PAGE_BYTES = 1 << 20
"""Bytes of a Parquet column read at a time: without it the whole column of a row group would be held."""
REST_TASKS = 8
"""Tasks after which the pages of a mapped file are let go."""
OpenFile = Callable[[], Any]
"""Gives a pyarrow file."""

Batches = Iterator[tuple[Any, int | None]]
"""Record batches or TooLargeRows, each with the stored bytes that it stands for; None: as large as its texts."""


class ColumnarSource:
    """What the columnar sources share: batches to tasks."""

    def __init__(self, name: str, options: ReadOptions, total_bytes: int | None) -> None:
        self.name = name
        self.total_bytes = total_bytes
        self._options = options

    def cut(
        self, batches: Batches, chosen: Chosen, *, positions: bool = False, rest: Callable[[], None] | None = None
    ) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text; one row at least.

        Args:
            batches: of the file or object.
            chosen: its columns.
            positions: they stand in for ids that are not there.
            rest: called now and then, to let go of memory that was looked at.
        """
        first_row = 1
        tasks = 0
        for batch, consumed in batches:
            if isinstance(batch, TooLargeRows):
                last = first_row + batch.rows - 1
                what = f"{batch.what} of the rows {first_row:,} to {last:,}"
                yield self._passed(first_row, what, batch.size, consumed, rows=batch.rows)
                first_row += batch.rows
                continue
            texts = batch.column(chosen.text)
            ids = None if chosen.id is None else batch.column(chosen.id)
            for start, stop, size in column_cuts(texts, ids, self._options.block):
                if size > self._options.limit.largest:
                    yield self._passed(first_row + start, "the row", size, consumed)
                else:
                    task = partial(
                        read_rows,
                        texts[start:stop],
                        None if ids is None else ids[start:stop],
                        first_row + start,
                        self.name,
                        self._options,
                        consumed=consumed,
                        positions=positions,
                    )
                    yield sized(task, size, self._options)
                consumed = consumed and 0
                tasks += 1
                if rest is not None and tasks % REST_TASKS == 0:
                    rest()
            first_row += len(batch)

    def _passed(self, row: int, what: str, size: int, consumed: int | None, *, rows: int = 1) -> Task:
        return partial(oversized, self.name, row, what, size, self._options, consumed=consumed or 0, rows=rows)


class ParquetSource(ColumnarSource):
    """One Parquet file; ``open_file`` where its bytes are not those of the file ``name``."""

    format = "parquet"

    def __init__(
        self, name: str, options: ReadOptions, *, total_bytes: int | None, open_file: OpenFile | None = None
    ) -> None:
        super().__init__(name, options, total_bytes)
        self._open_file = open_file

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text; only the needed columns are decoded."""
        source = pa.OSFile(self.name) if self._open_file is None else self._open_file()
        with (
            explained(self.name, "Parquet"),
            source,
            pq.ParquetFile(source, pre_buffer=False, buffer_size=PAGE_BYTES) as file,
        ):
            chosen = choose_columns(file.schema_arrow, self._options, self.name)
            columns = [file.schema_arrow.names[i] for i in (chosen.text, chosen.id) if i is not None]
            yield from self.cut(self._batches(file, source, columns), Chosen(0, None if chosen.id is None else 1))

    def _batches(self, file: Any, source: Any, columns: list[str]) -> Batches:
        metadata = file.metadata
        stored = (self.total_bytes or 0) / max(1, metadata.num_rows)
        told = 0.0
        groups = Groups(file, source, columns, self._options.limit)
        for i in range(metadata.num_row_groups):
            for batch in groups.batches(i):
                rows = batch.rows if isinstance(batch, TooLargeRows) else len(batch)
                before, told = int(told), told + stored * rows
                yield batch, int(told) - before


class IpcSource(ColumnarSource):
    """One Arrow IPC file (Feather too) or stream, mapped into memory; ``open_file`` as for Parquet."""

    format = "arrow"

    def __init__(
        self, name: str, options: ReadOptions, *, total_bytes: int | None, open_file: OpenFile | None = None
    ) -> None:
        super().__init__(name, options, total_bytes)
        self._open_file = open_file

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text, without a copy where the file is not compressed."""
        with explained(self.name, "Arrow"):
            if self.total_bytes == 0 and self._open_file is None:
                raise InputError(f"{self.name} is empty (0 bytes), so it is no Arrow file. Write it again.")
            file, rest = map_file(self.name) if self._open_file is None else (self._open_file(), None)
            with file:
                data = file.read_buffer()
                schema, is_file = self._schema(data)
                chosen = choose_columns(schema, self._options, self.name)
                batches = ipc_batches(data, self.name, schema, chosen, self._options.limit, is_file=is_file)
                yield from self.cut(batches, chosen.alone(), rest=rest)

    def _schema(self, data: Any) -> tuple[Any, bool]:
        magic = data[: len(_FILE_MAGIC)].to_pybytes()
        if magic == _FILE_MAGIC:
            return pa.ipc.open_file(data).schema, True
        if magic.startswith(_FEATHER_V1_MAGIC):
            raise InputError(
                f"{self.name} is a Feather file of version 1, which current libraries no longer write. "
                "Write it again as Feather version 2 or Parquet."
            )
        return pa.ipc.open_stream(data).schema, False


def ipc_batches(data: Any, name: str, schema: Any, chosen: Chosen, limit: RecordLimit, *, is_file: bool) -> Batches:
    """Yield the chosen columns of an Arrow file or stream, batch by batch, in the order of the schema.

    Args:
        data: pyarrow buffer of all of it.
        name: what it is called in messages.
        schema: its schema.
        chosen: the columns.
        limit: what may be held.
        is_file: it is a file and no stream.

    Raises:
        ArrowException: it is damaged.
        TooLarge: a dictionary cannot be held.
    """
    columns = sorted({chosen.text, *([] if chosen.id is None else [chosen.id])})
    messages = messages_of(data, is_file=is_file, schema=schema, columns=columns)
    check_messages([message for message in messages if not message.is_records], name, limit, limit.whole)
    records = [message for message in messages if message.is_records]
    doomed = [message for message in records if message.unpacked > limit.whole]
    options = pa.ipc.IpcReadOptions(included_fields=columns)
    file = pa.BufferReader(data) if is_file or not doomed else without(data, doomed)
    reader = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file, options=options)
    told = 0
    for i, message in enumerate(records):
        if is_file:  # of one that is no stream the order is the footer's
            size, n = len(data), len(records)
            consumed = size * (i + 1) // n - size * i // n
        else:
            told, consumed = message.end, message.end - told
        if message.unpacked > limit.whole:
            yield TooLargeRows(message.rows, "the batch", message.unpacked), consumed
        else:
            yield reader.get_batch(i) if is_file else reader.read_next_batch(), consumed


@contextmanager
def explained(name: str, kind: str) -> Iterator[None]:
    """Turn what pyarrow says about a file into InputError with the cure."""
    try:
        yield
    except FileNotFoundError as exc:
        raise InputError(f"{name} does not exist. Check the path.") from exc
    except PermissionError as exc:
        raise InputError(f"{name} may not be read by this user. Change its rights, or copy it.") from exc
    except (pa.ArrowException, OSError) as exc:
        raise InputError(
            f"{name} cannot be read as {kind}: {_first_line(exc)}. Fetch or write the file again, or name "
            "its true format with --input-format."
        ) from exc


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
