"""Parquet files: row groups in batches that can be held, or as rows that cannot.

The batches of a row group can be had one after the other only, as each begins in the middle of a page. They are
unpacked by the tasks that read them (``Unpacking``); where the pages do not tell that each batch can be held, in the
thread that makes the tasks.

What a page unpacks to is read from its header before it is unpacked. A page of some bytes may unpack to 2 GB, and a
column of few bytes that are numbers of one long value of a dictionary to more than any machine has; the sizes in the
footer say nothing about that and are checked by nobody. pyarrow unpacks a page in one piece and does not tell its
header, which is a struct of Thrift's compact protocol (parquet.thrift, PageHeader).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pat

from neardup.inputs.addresses import is_remote
from neardup.inputs.columnar.arrow_columns import Chosen, choose_columns, offset_type, read_rows
from neardup.inputs.columnar.source import ColumnarFile, explained
from neardup.inputs.columnar.thrift import FALSE, STRUCT, TRUE, Fields, read_struct
from neardup.inputs.columns import ReadColumns
from neardup.inputs.source import BATCH_BYTES, RecordLimit, Task, TooLargeRows, sized
from neardup.types import Alone, Batch, NeedsRoom

PAGE_BYTES = 1 << 20
"""Bytes of a column read at a time: without it the whole column of a row group would be held."""
BATCH_ROWS = 1 << 16
"""Rows of a Parquet batch at most: each takes some bytes even where the file tells a million of them in one."""
NEAR_BYTES = 32 << 20
"""Stored bytes of row groups that are fetched together; more where one has more."""
_PADDING = 100
"""Bytes that pyarrow reads behind a column chunk of old files, whose sizes leave out the header of the dictionary."""
SLOWED = 16
"""Batches may be so many times smaller than they should be, or have FEW rows, before the values of a dictionary are
read as their numbers: that is slow where most values are in no dictionary."""
FEW = 256
_NUMBER = 8
"""Bytes of a value that is no string."""
_DIGITS = 21
"""Bytes of it as an item of a set, at most."""

_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_FRONT_CODED = 7  # DELTA_BYTE_ARRAY: each value is told as a beginning of the one before, and the rest
_DEEPEST = 8
"""Structs and lists within each other in a page header, at most."""
_BY_NUMBER = (2, 8)  # PLAIN_DICTIONARY, RLE_DICTIONARY
_HEADS = (1 << 9, 1 << 16, 16 << 20)
"""Bytes in which a header is looked for; pyarrow reads none beyond the last."""


class ParquetSource(ColumnarFile):
    """One Parquet file."""

    format = "parquet"

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text; only the needed columns are decoded."""
        with explained(self.name, "Parquet"):
            source = self.unpacked() or arrow_file(self.name)  # closed when the last task is done
            with pq.ParquetFile(source, pre_buffer=False, buffer_size=PAGE_BYTES) as file:
                schema = file.schema_arrow
                chosen = choose_columns(schema, self._options, self.name)
                self.columns, self.names = chosen.columns(schema.names, self.name), schema.names
                whole = Groups(file, source, [schema.names[i] for i in chosen.places], self._options.limit)
                first_row, told = self.first_row, _Told(self.total_bytes or 0, file.metadata.num_rows)
                told.more(first_row - 1)
                for i in range(file.metadata.num_row_groups) if self.part is None else self.part:
                    groups = whole.having(i)
                    plan = groups.plan(i)
                    rows = 0 if isinstance(plan, TooLargeRows) else plan.together(self._options.block)
                    if rows:
                        unpacking = Unpacking(groups, i, rows)
                        for place in unpacking.places():
                            consumed = told.more(place.rows)
                            row = first_row + place.number * rows
                            yield partial(self._read, unpacking, place, row, consumed, chosen.alone())
                    else:
                        batches = ((batch, told.more(len(batch))) for batch in groups.planned(i, plan))
                        yield from self.cut(batches, chosen.alone(), first_row=first_row)
                    first_row += file.metadata.row_group(i).num_rows

    def _read(self, unpacking: Unpacking, place: Place, first_row: int, consumed: int, chosen: Chosen) -> Batch:
        """Read a batch of a row group; NeedsRoom where it is too large to be worked on beside others."""
        with explained(self.name, "Parquet"):
            batch = unpacking.take(place)
        texts = chosen.texts(batch)
        ids = None if chosen.id is None else batch.column(chosen.id)
        rows = texts, ids, chosen.beside(batch), first_row, self.name, self._options
        task = partial(read_rows, *rows, consumed=consumed, positions=False)
        limit = self._options.limit
        if limit.is_set and isinstance(alone := sized(task, texts.nbytes, self._options), Alone):
            raise NeedsRoom(alone)
        return task()

    def pieces(self) -> list[tuple[int, int]]:
        """Bytes, unpacked, and rows of each row group; none of a file that is unpacked as a whole."""
        if not self.is_plain:
            return []
        with explained(self.name, "Parquet"), pq.ParquetFile(arrow_file(self.name), pre_buffer=False) as file:
            names, metadata = file.schema_arrow.names, file.metadata
            columns = [names[i] for i in choose_columns(file.schema_arrow, self._options, self.name).places]
            paths = [file.schema.column(j).path for j in range(metadata.num_columns)]
            chunks = [j for j, path in enumerate(paths) if any(_is_of(path, column) for column in columns)]
            groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
            return [(sum(group.column(j).total_uncompressed_size for j in chunks), group.num_rows) for group in groups]

    def look(self) -> ReadColumns | None:
        with explained(self.name, "Parquet"):
            schema = pq.read_schema(self.unpacked() or arrow_file(self.name))
            return choose_columns(schema, self._options, self.name).columns(schema.names, self.name)


class _Told:
    """How many stored bytes some rows stand for, so that all rows stand for all bytes."""

    def __init__(self, stored: int, rows: int) -> None:
        self._stored = stored
        self._rows = max(1, rows)
        self._seen = 0

    def more(self, rows: int) -> int:
        """Those of the next rows."""
        before, self._seen = self._seen, self._seen + rows
        return self._stored * self._seen // self._rows - self._stored * before // self._rows


@dataclass(frozen=True, slots=True)
class Plan:
    """How a row group can be read."""

    rows: int
    """Rows that are about BATCH_BYTES."""
    fewer: int
    """Rows that can be held whatever their values are, as far as those are numbers of values in a dictionary."""
    columns: tuple[tuple[Page, ...], ...]
    """The pages of each flat column."""
    nested: int
    """Bytes of the other columns."""
    largest: int
    """Bytes of texts that may be held."""
    size: int
    """Rows of the group."""

    def together(self, block: int | None) -> int:
        """Rows of a batch, ``block`` at most, of which it is known that each can be held in one piece; 0: it is not."""
        rows = min(self.rows, self.fewer // 2)
        if rows < min(FEW, self.rows) or self.nested > self.largest // 4:
            return 0
        rows = min(rows, block or rows)
        held = np.zeros(-(-self.size // rows) + 1, dtype=np.int64)
        for pages in self.columns:
            at = 0
            for page in pages:
                if page.values and not page.is_by_number:
                    held[at // rows : (at + page.values - 1) // rows + 1] += page.unpacked
                at += page.values
        return rows if held.max() + self.nested <= self.largest // 2 else 0


class Groups:
    """Reads some columns of a file, group by group."""

    def __init__(self, file: Any, source: Any, columns: list[str], limit: RecordLimit) -> None:
        """``source`` is the pyarrow file that the ParquetFile reads; the columns are those of its Arrow schema."""
        self.file = file
        self._source = source
        self._columns = columns
        self.limit = limit
        self._by_number: Any = None
        self._near: tuple[range, Groups] = range(0), self
        self._coming: tuple[range, Future[Any]] | None = None

    def having(self, i: int) -> Groups:
        """What row group i is read by: this, or, of an object, what has the bytes of its columns on this machine.

        They are fetched with those of the next groups, up to NEAR_BYTES: one that is small is not worth a request. As
        many more are fetched while these are read.
        """
        if not hasattr(self._source, "part"):
            return self
        if i not in self._near[0]:
            is_coming = self._coming is not None and i in self._coming[0]
            run, fetched = self._coming if is_coming and self._coming is not None else self._fetched(i)
            self._near = range(0), self  # what was there is not wanted any more, and its disk is
            source = fetched.result()
            self._near = run, Groups(self._opened(source), source, self._columns, self.limit)
            self._coming = self._fetched(run.stop) if run.stop < self.file.metadata.num_row_groups else None
        return self._near[1]

    def _fetched(self, i: int) -> tuple[range, Future[Any]]:
        """Row groups from ``i`` on, and the file in which their bytes will be."""
        stop, size, ranges = i, 0, list[tuple[int, int]]()
        while stop == i or (stop < self.file.metadata.num_row_groups and size < NEAR_BYTES):
            ranges += self._ranges(stop)
            size = sum(end - start for start, end in ranges)
            stop += 1
        return range(i, stop), self._source.part(_merged(ranges))

    def _ranges(self, i: int) -> Iterator[tuple[int, int]]:
        """Where the chosen columns of a row group lie in the file."""
        group = self.file.metadata.row_group(i)
        for chunk in (group.column(j) for j in range(group.num_columns)):
            if any(_is_of(chunk.path_in_schema, column) for column in self._columns):
                start = _start(chunk)
                yield start, min(start + chunk.total_compressed_size + _PADDING, self._source.size())

    def _opened(self, source: Any, **more: Any) -> Any:
        return pq.ParquetFile(source, metadata=self.file.metadata, pre_buffer=False, buffer_size=PAGE_BYTES, **more)

    def batches(self, i: int) -> Iterator[Any]:
        """Yield row group i in batches, or TooLargeRows when a part of it that is read in one piece cannot be held."""
        return self.planned(i, self.plan(i))

    def planned(self, i: int, plan: Plan | TooLargeRows) -> Iterator[Any]:
        """Yield what ``batches`` does, by the plan that was made for it."""
        if isinstance(plan, TooLargeRows):
            yield plan
            return
        rows, fewer = plan.rows, plan.fewer
        file = self.file
        if fewer < rows and fewer < FEW and SLOWED * fewer < rows:
            file = self._numbered()
        else:
            rows = min(rows, fewer)
        yield from self.of_rows(i, rows, file)

    def of_rows(self, i: int, rows: int, file: Any = None) -> Iterator[Any]:
        """Yield row group i in batches of so many rows, or of fewer; ``file``: in place of the own one."""
        for batch in (file or self.file).iter_batches(rows, row_groups=[i], columns=self._columns, use_threads=False):
            yield batch.select(self._columns)

    def again(self) -> Groups:
        """The same, read by nobody else."""
        return Groups(self._opened(self._source), self._source, self._columns, self.limit)

    def plan(self, i: int) -> Plan | TooLargeRows:
        """How row group i can be read, by the headers of its pages."""
        group = self.file.metadata.row_group(i)
        size = worst = largest = nested = 0
        flat: list[tuple[Page, ...]] = []
        for column in self._columns:
            for chunk in (group.column(j) for j in range(group.num_columns)):
                if not _is_of(chunk.path_in_schema, column):
                    continue
                pages = list(pages_of(self._source, chunk))
                is_nested = chunk.path_in_schema != column
                value = self._longest(i, column, chunk, pages)
                size += sum(page.unpacked for page in pages)
                largest = max(largest, *(page.unpacked for page in pages), 0)
                if not is_nested:
                    flat.append(tuple(pages))
                else:  # a page may tell many values of one row
                    told = max((page.values for page in pages), default=0) * (_NUMBER + value)
                    largest = max(largest, told // 2)
                    nested += sum(page.unpacked for page in pages) + (value + _DIGITS) * chunk.num_values
                    value = -(-value * chunk.num_values // max(1, group.num_rows))
                worst += value
        if largest > self.limit.whole:
            return TooLargeRows(group.num_rows, "a page", largest)
        rows = max(1, min(int(group.num_rows * BATCH_BYTES / max(1, size)), BATCH_ROWS))
        fewer = max(1, max(2 * BATCH_BYTES, self.limit.largest) // max(1, worst))
        return Plan(rows, fewer, tuple(flat), nested, self.limit.largest, group.num_rows)

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
            self._by_number = self._opened(self._source, read_dictionary=wanted)
        return self._by_number


class Place:
    """One of the batches of a row group; as long as it lives, somebody may want the batch."""

    __slots__ = ("__weakref__", "number", "rows")

    def __init__(self, number: int, rows: int) -> None:
        self.number = number
        self.rows = rows


class Unpacking:
    """The batches of a row group, in order, for tasks that want one each; whoever comes first unpacks up to its own.

    Safe to use from several threads. Batches before the one that is wanted wait for those who have their places. What
    was taken before can be had again, by unpacking the group once more.
    """

    def __init__(self, groups: Groups, i: int, rows: int) -> None:
        self._groups = groups
        self._i = i
        self._rows = rows
        self._wanted: WeakValueDictionary[int, Place] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._batches: Iterator[Any] = iter(())
        self._next = 0
        self._size = groups.file.metadata.row_group(i).num_rows
        self._waiting: dict[int, Any] = {}
        self._rest: list[Any] = []

    def places(self) -> Iterator[Place]:
        """Yield the place of each batch."""
        for number in range(-(-self._size // self._rows)):
            place = Place(number, min(self._rows, self._size - number * self._rows))
            self._wanted[number] = place
            yield place

    def take(self, place: Place) -> Any:
        """The record batch of a place."""
        with self._lock:
            try:
                return self._taken(place)
            except BaseException:
                self._next = 0
                raise

    def _taken(self, place: Place) -> Any:
        if place.number in self._waiting:
            return self._waiting.pop(place.number)
        if self._next == 0 or self._next > place.number:
            self._begin()
        while True:
            number, self._next = self._next, self._next + 1
            batch = self._read(min(self._rows, self._size - number * self._rows))
            if number == place.number:
                break
            if number in self._wanted:
                self._waiting[number] = batch
        self._wanted.pop(number, None)
        if self._next * self._rows >= self._size:
            self._batches = iter(())
        return batch

    def _begin(self) -> None:
        self._batches = self._groups.again().of_rows(self._i, self._rows)
        self._next = 0
        self._rest = []
        self._waiting = {}

    def _read(self, rows: int) -> Any:
        """The next rows as one record batch; pyarrow may give them in several."""
        pieces: list[Any] = []
        while rows > 0:
            batch = self._rest.pop() if self._rest else next(self._batches)
            if len(batch) > rows:
                self._rest.append(batch[rows:])
                batch = batch[:rows]
            pieces.append(batch)
            rows -= len(batch)
        return pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces)


def _is_of(path: str, column: str) -> bool:
    return path == column or path.startswith(f"{column}.")


def _longest_of(array: Any, most: int) -> int:
    """Bytes of the longest value in the dictionaries of an array; ``most`` when it has strings without one."""
    type_ = array.type
    if pat.is_dictionary(type_):
        if len(array.dictionary) == 0 or offset_type(array.dictionary.type) is None:
            return 0
        return pc.max(pc.binary_length(array.dictionary)).as_py() or 0
    if pat.is_struct(type_):
        return max((_longest_of(array.field(i), most) for i in range(type_.num_fields)), default=0)
    if pat.is_map(type_):
        return max(_longest_of(array.keys, most), _longest_of(array.items, most))
    if pat.is_list(type_) or pat.is_large_list(type_) or pat.is_fixed_size_list(type_):
        return _longest_of(array.values, most)
    return 0 if offset_type(type_) is None else most


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


def arrow_file(name: str) -> Any:
    """A file or an object as pyarrow reads it."""
    if not is_remote(name):
        return pa.OSFile(name)
    from neardup.inputs.remote import ArrowFile

    return ArrowFile(name)


def _start(chunk: Any) -> int:
    """Where a column chunk begins in the file."""
    at = int(chunk.data_page_offset)
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None and chunk.dictionary_page_offset > 0:
        at = min(at, chunk.dictionary_page_offset)
    return at


def _merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges in order, those that lie near to each other as one."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if found and start <= found[-1][1] + PAGE_BYTES:
            start, stop = found[-1][0], max(stop, found.pop()[1])
        found.append((start, stop))
    return found


def pages_of(file: Any, chunk: Any) -> Iterator[Page]:
    """Yield the pages of a column chunk of a pyarrow file; ArrowInvalid for a damaged header."""
    at = _start(chunk)
    stop = at + chunk.total_compressed_size
    seen = 0
    while at < stop and seen < chunk.num_values:
        header, size = _header(file, at)
        kind, unpacked, stored = (_told(header, i, 0) for i in (1, 2, 3))
        if unpacked < 0 or stored < 0:
            raise pa.ArrowInvalid("a page has a size of less than 0 bytes")
        told: dict[int, Any] = _told(header, {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}.get(kind, 0), {})
        encoding = _told(told, 4 if kind == _DATA_2 else 2, 0)
        is_data = kind in (_DATA, _DATA_2)
        values = _told(told, 1, 0) if is_data else 0
        yield Page(unpacked, values, kind == _DICTIONARY, is_data and encoding in _BY_NUMBER, encoding == _FRONT_CODED)
        seen += values
        at += size + stored


def _told(fields: dict[int, Any], number: int, default: Any) -> Any:
    """A field of a header, which is of the type of the default; that where it is not there."""
    value = fields.get(number, default)
    if type(value) is not type(default):
        raise pa.ArrowInvalid(f"field {number} of a page header is damaged")
    return value


def _header(file: Any, at: int) -> tuple[dict[int, Any], int]:
    """A page header by the numbers of its fields, and its bytes."""
    for size in _HEADS:
        data = file.read_at(size, at)
        try:
            fields, end = read_struct(data, 0, deepest=_DEEPEST)
            return _by_number(fields), end
        except IndexError:
            if len(data) < size:
                break
        except ValueError as exc:
            raise pa.ArrowInvalid(f"a page header is damaged: {exc}") from exc
    raise pa.ArrowInvalid(f"there is no page at byte {at:,} of the file")


def _by_number(fields: Fields) -> dict[int, Any]:
    """Numbers and truth values of a struct, and of those in it, by the numbers of their fields; None for all else."""
    return {number: _plain(kind, value) for number, kind, value in fields}


def _plain(kind: int, value: Any) -> Any:
    if kind == STRUCT:
        return _by_number(value)
    if kind in (TRUE, FALSE):
        return kind == TRUE
    return value if isinstance(value, int) else None
