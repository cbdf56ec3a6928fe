"""The row groups of a Parquet file in batches that can be held, or as rows that cannot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pat

from neardup.inputs.columnar.parquet_pages import pages_of
from neardup.inputs.source import BATCH_BYTES, RecordLimit, TooLargeRows

__all__ = ["Groups"]

BATCH_ROWS = 1 << 16
"""Rows of a Parquet batch at most: each takes some bytes even where the file tells a million of them in one."""
SLOWED = 16
"""Batches may be so many times smaller than they should be, or have FEW rows, before the values of a dictionary are
read as their numbers: that is slow where most values are in no dictionary."""
FEW = 256
_NUMBER = 8
"""Bytes of a value that is no string."""


class Groups:
    """Reads some columns of a file, group by group."""

    def __init__(self, file: Any, source: Any, columns: list[str], limit: RecordLimit) -> None:
        """Name the columns.

        Args:
            file: the ParquetFile.
            source: the pyarrow file that it reads.
            columns: names of columns of the Arrow schema.
            limit: what may be held.
        """
        self.file = file
        self._source = source
        self._columns = columns
        self.limit = limit
        self._by_number: Any = None

    def batches(self, i: int) -> Iterator[Any]:
        """Yield row group i in batches, or TooLargeRows when a part of it that is read in one piece cannot be held.

        Raises:
            ArrowException: it is damaged.
        """
        plan = self.plan(i)
        if isinstance(plan, TooLargeRows):
            yield plan
            return
        rows, fewer = plan
        file = self.file
        if fewer < rows and fewer < FEW and SLOWED * fewer < rows:
            file = self._numbered()
        else:
            rows = min(rows, fewer)
        for batch in file.iter_batches(rows, row_groups=[i], columns=self._columns, use_threads=False):
            yield batch.select(self._columns)

    def plan(self, i: int) -> tuple[int, int] | TooLargeRows:
        """Rows of row group i that are about BATCH_BYTES, and how many can be held whatever their values are."""
        group = self.file.metadata.row_group(i)
        size = worst = largest = 0
        for column in self._columns:
            for chunk in _chunks(group, column):
                pages = list(pages_of(self._source, chunk))
                is_nested = chunk.path_in_schema != column
                value = self._longest(i, column, chunk, pages)
                size += sum(page.unpacked for page in pages)
                largest = max(largest, *(page.unpacked for page in pages), 0)
                if is_nested:  # a page may tell many values of one row
                    told = max((page.values for page in pages), default=0) * (_NUMBER + value)
                    largest = max(largest, told // 2)
                    value = -(-value * chunk.num_values // max(1, group.num_rows))
                worst += value
        if largest > self.limit.whole:
            return TooLargeRows(group.num_rows, "a page", largest)
        rows = max(1, min(int(group.num_rows * BATCH_BYTES / max(1, size)), BATCH_ROWS))
        return rows, max(1, max(2 * BATCH_BYTES, self.limit.largest) // max(1, worst))

    def _longest(self, i: int, column: str, chunk: Any, pages: list[Any]) -> int:
        """Bytes of the longest value that can stand for more than its own bytes in a page; 0 when none does."""
        if chunk.physical_type != "BYTE_ARRAY":
            return 0
        found = max((page.unpacked for page in pages if page.is_front_coded), default=0)
        most = max((page.unpacked for page in pages), default=0)
        if any(page.is_by_number for page in pages) and most <= self.limit.whole:
            batches = self._numbered().iter_batches(1, row_groups=[i], columns=[column], use_threads=False)
            for batch in batches:
                return max(found, _longest_of(batch.column(0), most))
        return found

    def _numbered(self) -> Any:
        """The file once more, its strings read as numbers of the values of their dictionaries."""
        if self._by_number is None:
            metadata = self.file.metadata
            schema = self.file.schema
            paths = [schema.column(j).path for j in range(metadata.num_columns)]
            wanted = [path for path in paths if any(_is_of(path, column) for column in self._columns)]
            self._by_number = pq.ParquetFile(
                self._source, metadata=metadata, read_dictionary=wanted, pre_buffer=False, buffer_size=1 << 20
            )
        return self._by_number


def _is_of(path: str, column: str) -> bool:
    return path == column or path.startswith(f"{column}.")


def _chunks(group: Any, column: str) -> list[Any]:
    chunks = [group.column(j) for j in range(group.num_columns)]
    return [chunk for chunk in chunks if _is_of(chunk.path_in_schema, column)]


def _longest_of(array: Any, most: int) -> int:
    """Bytes of the longest value in the dictionaries of an array; ``most`` when it has strings without one."""
    type_ = array.type
    if pat.is_dictionary(type_):
        if len(array.dictionary) == 0 or not _is_string(array.dictionary.type):
            return 0
        return pc.max(pc.binary_length(array.dictionary)).as_py() or 0
    if pat.is_struct(type_):
        return max((_longest_of(array.field(i), most) for i in range(type_.num_fields)), default=0)
    if pat.is_map(type_):
        return max(_longest_of(array.keys, most), _longest_of(array.items, most))
    if pat.is_list(type_) or pat.is_large_list(type_) or pat.is_fixed_size_list(type_):
        return _longest_of(array.values, most)
    return most if _is_string(type_) else 0


def _is_string(type_: Any) -> bool:
    return any(kind(type_) for kind in (pat.is_string, pat.is_binary, pat.is_large_string, pat.is_large_binary))
