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
from neardup.formats.arrow_columns import Chosen, choose_columns, column_cuts, read_rows
from neardup.formats.mapped import map_file
from neardup.formats.source import BATCH_BYTES, ReadOptions, Task

__all__ = ["Batches", "ColumnarSource", "IpcSource", "ParquetSource", "explained"]

_FILE_MAGIC = b"ARROW1"
_FEATHER_V1_MAGIC = b"FEA1"
PAGE_BYTES = 1 << 20
"""Bytes of a Parquet column read at a time: without it the whole column of a row group would be held."""
REST_TASKS = 8
"""Tasks after which the pages of a mapped file are let go."""
OpenFile = Callable[[], Any]
"""Gives a pyarrow file."""

Batches = Iterator[tuple[Any, int | None]]
"""Record batches, each with the stored bytes that it stands for; None: as large as its texts."""


class ColumnarSource:
    """What the columnar sources share: batches to tasks."""

    def __init__(self, name: str, options: ReadOptions, total_bytes: int | None) -> None:
        self.name = name
        self.total_bytes = total_bytes
        self._options = options

    def cut(
        self, batches: Batches, chosen: Chosen, *, positions: bool = False, rest: Callable[[], None] | None = None
    ) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text.

        Args:
            batches: of the file or object.
            chosen: its columns.
            positions: they stand in for ids that are not there.
            rest: called now and then, to let go of memory that was looked at.
        """
        first_row = 1
        tasks = 0
        for batch, consumed in batches:
            texts = batch.column(chosen.text)
            ids = None if chosen.id is None else batch.column(chosen.id)
            for start, stop in column_cuts(texts, self._options.block):
                yield partial(
                    read_rows,
                    texts[start:stop],
                    None if ids is None else ids[start:stop],
                    first_row + start,
                    self.name,
                    self._options,
                    consumed=consumed,
                    positions=positions,
                )
                consumed = consumed and 0
                tasks += 1
                if rest is not None and tasks % REST_TASKS == 0:
                    rest()
            first_row += len(batch)


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
        source = self.name if self._open_file is None else self._open_file()
        with explained(self.name, "Parquet"), pq.ParquetFile(source, pre_buffer=False, buffer_size=PAGE_BYTES) as file:
            chosen = choose_columns(file.schema_arrow, self._options, self.name)
            columns = [file.schema_arrow.names[i] for i in (chosen.text, chosen.id) if i is not None]
            yield from self.cut(self._batches(file, columns), Chosen(0, None if chosen.id is None else 1))

    def _batches(self, file: Any, columns: list[str]) -> Batches:
        metadata = file.metadata
        stored = (self.total_bytes or 0) / max(1, metadata.num_rows)
        told = 0.0
        for i in range(metadata.num_row_groups):
            rows = _rows_a_batch(metadata.row_group(i), columns[0])
            for batch in file.iter_batches(rows, row_groups=[i], columns=columns, use_threads=False):
                before, told = int(told), told + stored * len(batch)
                yield batch.select(columns), int(told) - before


def _rows_a_batch(group: Any, column: str) -> int:
    """Rows of a row group that hold about BATCH_BYTES of the column."""
    chunks = (group.column(i) for i in range(group.num_columns))
    size = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema.split(".")[0] == column)
    return max(1, int(group.num_rows * BATCH_BYTES / max(1, size)))


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
                schema, batches = self._open(file)
                chosen = choose_columns(schema, self._options, self.name)
                yield from self.cut(batches, chosen, rest=rest)

    def _open(self, file: Any) -> tuple[Any, Batches]:
        magic = file.read(len(_FILE_MAGIC))
        file.seek(0)
        if magic == _FILE_MAGIC:
            reader = pa.ipc.open_file(file)
            return reader.schema, self._of_file(reader)
        if magic.startswith(_FEATHER_V1_MAGIC):
            raise InputError(
                f"{self.name} is a Feather file of version 1, which current libraries no longer write. "
                "Write it again as Feather version 2 or Parquet."
            )
        stream = pa.ipc.open_stream(file)
        return stream.schema, self._of_stream(stream, file)

    def _of_file(self, reader: Any) -> Batches:
        n, size = reader.num_record_batches, self.total_bytes or 0
        for i in range(n):
            yield reader.get_batch(i), size * (i + 1) // n - size * i // n

    def _of_stream(self, stream: Any, file: Any) -> Batches:
        told = 0
        for batch in stream:
            before, told = told, file.tell()
            yield batch, told - before


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
