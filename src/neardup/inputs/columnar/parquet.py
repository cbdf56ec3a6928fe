"""Parquet files: row groups in batches that can be held, or as rows that cannot.

What a page unpacks to is read from its header before it is unpacked. A page of some bytes may unpack to 2 GB, and a
column of few bytes that are numbers of one long value of a dictionary to more than any machine has; the sizes in the
footer say nothing about that and are checked by nobody. pyarrow unpacks a page in one piece and does not tell its
header, which is a struct of Thrift's compact protocol (parquet.thrift, PageHeader).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pat

from neardup.inputs.columnar.arrow_columns import choose_columns
from neardup.inputs.columnar.source import Batches, ColumnarFile, explained
from neardup.inputs.columns import ReadColumns
from neardup.inputs.source import BATCH_BYTES, RecordLimit, Task, TooLargeRows

PAGE_BYTES = 1 << 20
"""Bytes of a column read at a time: without it the whole column of a row group would be held."""
BATCH_ROWS = 1 << 16
"""Rows of a Parquet batch at most: each takes some bytes even where the file tells a million of them in one."""
SLOWED = 16
"""Batches may be so many times smaller than they should be, or have FEW rows, before the values of a dictionary are
read as their numbers: that is slow where most values are in no dictionary."""
FEW = 256
_NUMBER = 8
"""Bytes of a value that is no string."""

_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_FRONT_CODED = 7  # DELTA_BYTE_ARRAY: each value is told as a beginning of the one before, and the rest
_BY_NUMBER = (2, 8)  # PLAIN_DICTIONARY, RLE_DICTIONARY
_HEADS = (1 << 9, 1 << 16, 16 << 20)
"""Bytes in which a header is looked for; pyarrow reads none beyond the last."""


class ParquetSource(ColumnarFile):
    """One Parquet file."""

    format = "parquet"

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text; only the needed columns are decoded."""
        unpacked = self.unpacked()
        source = pa.OSFile(self.name) if unpacked is None else unpacked
        with (
            explained(self.name, "Parquet"),
            source,
            pq.ParquetFile(source, pre_buffer=False, buffer_size=PAGE_BYTES) as file,
        ):
            chosen = choose_columns(file.schema_arrow, self._options, self.name)
            self.columns = chosen.columns(file.schema_arrow.names, self.name)
            columns = [file.schema_arrow.names[i] for i in chosen.places]
            yield from self.cut(self._batches(file, source, columns), chosen.alone())

    def look(self) -> ReadColumns | None:
        with explained(self.name, "Parquet"):
            schema = pq.read_schema(self.unpacked() or self.name)
            return choose_columns(schema, self._options, self.name).columns(schema.names, self.name)

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


class Groups:
    """Reads some columns of a file, group by group."""

    def __init__(self, file: Any, source: Any, columns: list[str], limit: RecordLimit) -> None:
        """``source`` is the pyarrow file that the ParquetFile reads; the columns are those of its Arrow schema."""
        self.file = file
        self._source = source
        self._columns = columns
        self.limit = limit
        self._by_number: Any = None

    def batches(self, i: int) -> Iterator[Any]:
        """Yield row group i in batches, or TooLargeRows when a part of it that is read in one piece cannot be held."""
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
            for chunk in (group.column(j) for j in range(group.num_columns)):
                if not _is_of(chunk.path_in_schema, column):
                    continue
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
            paths = [self.file.schema.column(j).path for j in range(metadata.num_columns)]
            wanted = [path for path in paths if any(_is_of(path, column) for column in self._columns)]
            self._by_number = pq.ParquetFile(
                self._source, metadata=metadata, read_dictionary=wanted, pre_buffer=False, buffer_size=PAGE_BYTES
            )
        return self._by_number


def _is_of(path: str, column: str) -> bool:
    return path == column or path.startswith(f"{column}.")


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


@dataclass(frozen=True, slots=True)
class Page:
    """One page."""

    unpacked: int
    """Bytes."""
    values: int
    """Values in it, nulls included; 0 for a dictionary."""
    is_dictionary: bool
    is_by_number: bool
    """Its values are numbers of values in the dictionary."""
    is_front_coded: bool
    """Each value may be as long as the page, which has room for one of them."""


def pages_of(file: Any, chunk: Any) -> Iterator[Page]:
    """Yield the pages of a column chunk of a pyarrow file; ArrowInvalid for a damaged header."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None and chunk.dictionary_page_offset > 0:
        at = min(at, chunk.dictionary_page_offset)
    stop = at + chunk.total_compressed_size
    seen = 0
    while at < stop and seen < chunk.num_values:
        header, size = _header(file, at)
        kind, unpacked, stored = (header.get(i, 0) for i in (1, 2, 3))
        if unpacked < 0 or stored < 0:
            raise pa.ArrowInvalid("a page has a size of less than 0 bytes")
        told = header.get({_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}.get(kind, 0), {})
        encoding = told.get(4 if kind == _DATA_2 else 2, 0)
        is_data = kind in (_DATA, _DATA_2)
        values = told.get(1, 0) if is_data else 0
        yield Page(unpacked, values, kind == _DICTIONARY, is_data and encoding in _BY_NUMBER, encoding == _FRONT_CODED)
        seen += values
        at += size + stored


def _header(file: Any, at: int) -> tuple[dict[int, Any], int]:
    """A page header by the numbers of its fields, and its bytes."""
    for size in _HEADS:
        data = file.read_at(size, at)
        try:
            return _struct(data, 0, 0)
        except IndexError:
            if len(data) < size:
                break
    raise pa.ArrowInvalid(f"there is no page at byte {at:,} of the file")


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    if depth > 8:
        raise pa.ArrowInvalid("a page header is nested too deeply")
    found: dict[int, Any] = {}
    number = 0
    while True:
        head = data[at]
        at += 1
        if head == 0:
            return found, at
        if head >> 4:
            number += head >> 4
        else:
            number, at = _zigzag(data, at)
        found[number], at = _value(data, at, head & 15, depth)


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):  # true, false
        return kind == 1, at
    if kind == 3:
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _zigzag(data, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:  # of the statistics: how long they are, and that they are there
        size, at = _varint(data, at)
        if at + size > len(data):
            raise IndexError
        return None, at + size
    if kind in (9, 10):
        head = data[at]
        count, at = (head >> 4, at + 1) if head >> 4 < 15 else _varint(data, at + 1)
        for _ in range(count):
            _, at = _value(data, at, 3 if head & 15 in (1, 2) else head & 15, depth + 1)
        return None, at
    if kind == 12:
        return _struct(data, at, depth + 1)
    raise pa.ArrowInvalid("a page header is damaged")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise pa.ArrowInvalid("a page header is damaged")


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
