"""Reader of JSON Lines: one object a line, with a text field and perhaps an id field.

The kernel (``kernels.jsonl``) reads the lines that are plainly well-formed; a line about which it has any doubt is
judged by Python's ``json``, which gives the value or the reason. Both write into one output, in order. The judge goes
by RFC 8259 where Python is generous: NaN and Infinity are refused. Of equal keys the last counts.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import flags, numbers, strings
from neardup.errors import InputChanged
from neardup.inputs.again import LineRecords
from neardup.inputs.batches import places_in
from neardup.inputs.blocks import WHOLE, LineBlock, LineSource, Slabs, shared_slabs
from neardup.inputs.columns import ReadColumns, asked_columns, choose_id, choose_more, choose_text
from neardup.inputs.items import ItemError, join_items, split_items
from neardup.inputs.json_columns import columns_json
from neardup.inputs.source import BATCH_BYTES, INT64, BadRecord, Faults, ReadOptions, Task, sized
from neardup.kernels import jsonl as kernel
from neardup.types import SLACK, Batch, Documents, Origin

_LOOKED = 1 << 16
"""Bytes in which the first record is looked for."""
_FAR = 64 << 20
"""Bytes of a file without a record after which it is read in one piece."""
_GRAIN = 1 << 20
"""Bytes by which the buffers for texts differ."""
_LONGEST_INTEGER = 640
"""Characters that every Python turns into an int; a longer number is read as a float."""


class _Columns(NamedTuple):
    text: tuple[str, ...]
    id: str | None = None
    names: tuple[str, ...] = ()
    """The names of all fields of the first record."""
    more: tuple[str, ...] = ()
    """Further fields that are read."""


_WHITE = b" \t\r\n"
_NO_COLUMNS = _Columns(("",), None)
"""For blocks before the first line that is an object: their lines are bad or blank, whatever the names."""


class JsonlSource(LineSource):
    """A JSON Lines file, or standard input, as a source of batches."""

    format = "jsonl"

    block_bytes = BATCH_BYTES
    """Of text in a task."""
    _columns: _Columns | None = None
    _slabs: Slabs | None = None
    """Of ``read_block``."""

    def tasks(self) -> Iterator[Task]:
        """Yield one task a block of lines; InputError when the first record lacks a field that was asked for."""
        columns = None if self.part is None else self._of_file()
        origin = columns and self._origin(columns)
        slabs, lines = Slabs(), Slabs()
        if self.part is not None:
            slabs = lines = shared_slabs()  # 8 MB in new buffers take 7 % longer
        for block in self.blocks(block_bytes=self.block_bytes, slabs=lines):
            if block.too_large:
                yield self.too_large(block)
                continue
            if columns is None and (columns := _find_columns(block, self.name, self._options)):
                self.columns, self.names = ReadColumns(*columns[:2], example=self.name), columns.names
                origin = self._origin(columns)
            task = partial(_read_block, block, self.name, columns or _NO_COLUMNS, self._options, slabs, origin)
            yield sized(task, block.size, self._options)
            del task, block  # the buffer may go back before the next is taken

    def look(self) -> ReadColumns | None:
        for block in self.blocks(block_bytes=_LOOKED):
            if not block.too_large and (columns := _find_columns(block, self.name, self._options)):
                return ReadColumns(*columns[:2], example=self.name)
        return None

    def is_cut_at_lines(self) -> bool:
        """As of every source; ``columns`` are known then, which the first lines of the file decide on."""
        return self.is_plain_utf8 and self._look_at_file()

    def _look_at_file(self) -> bool:
        """Let the first task of the whole file decide on the fields; False when its beginning has no object."""
        seen = 0
        whole = copy(self)
        whole.part = None
        for block in whole.blocks(block_bytes=self.block_bytes, pieces=True):
            if block.part == WHOLE and (columns := _find_columns(block, self.name, self._options)):
                self.columns = ReadColumns(*columns[:2], example=self.name)
                return True
            seen += block.consumed
            if seen > _FAR:
                break
        return False

    def _of_file(self) -> _Columns:
        """The fields that the file has, for a part of it."""
        if self.columns is None and not self._look_at_file():
            raise InputChanged(f"{self.name} was changed since it was looked at. Run again from the start.")
        assert self.columns is not None
        return _Columns(self.columns.text, self.columns.id)

    @property
    def has_fields(self) -> bool:
        """Whether ``read_block`` or ``look_at`` has met a line that decides on the fields."""
        return self._columns is not None

    def look_at(self, block: LineBlock) -> None:
        """Let the first line of a block that has an object decide on the fields, if none has yet.

        Of a part of a file the first of the file decides.
        """
        if self._columns is None:
            is_part = self.part is not None
            self._columns = self._of_file() if is_part else _find_columns(block, self.name, self._options)

    def read_block(self, block: LineBlock) -> Batch:
        """Read one block of lines that the caller has; the first of them that has an object decides on the fields."""
        self.look_at(block)
        self._slabs = self._slabs or Slabs()
        return _read_block(block, self.name, self._columns or _NO_COLUMNS, self._options, self._slabs)

    def _origin(self, columns: _Columns) -> Origin | None:
        """Of records that are read again, ids are not asked for."""
        parse = partial(_read_block, name=self.name, columns=_Columns(columns.text), options=self._options)
        return LineRecords.of(self, parse, text=list(columns.text))

    def reopened(self, facts: dict[str, Any]) -> Origin | None:
        return self._origin(_Columns(tuple(facts["text"])))


def _find_columns(block: LineBlock, name: str, options: ReadOptions) -> _Columns | None:
    """The fields to read, by the first line of the block that is an object; None without one."""
    for record in objects(io.BytesIO(block.data[: block.size].tobytes()), options.encoding):
        id = choose_id(list(record), options.id, name)
        for asked in (options.text, options.column):
            if asked and not set(asked_columns(asked, list(record))) <= record.keys():
                record.update(dict.fromkeys(_further_names(block, asked, one=asked is options.column)))
        kinds = (str, list) if options.item else str
        texts = [key for key, value in record.items() if isinstance(value, kinds) and key != id]
        names = tuple(record)
        text, more = choose_text(names, options.text, name, texts=texts), choose_more(names, options.column, name)
        return _Columns(text, id, names, more)
    return None


def _further_names(block: LineBlock, named: str | tuple[str, ...], *, one: bool) -> set[str]:
    """Return the fields asked for that some record of the block has: its first record may lack one of several.

    Of one field alone the first record decides, unless ``one`` is set.
    """
    asked = asked_columns(named, ())
    found: set[str] = set()
    for line in io.BytesIO(block.data[: block.size].tobytes()) if one or len(asked) > 1 else ():
        with suppress(BadRecord):
            found |= parse_object(line, "utf-8").keys() & set(asked)
        if len(found) == len(asked):
            break
    return found


def _read_block(
    block: LineBlock,
    name: str,
    columns: _Columns,
    options: ReadOptions,
    slabs: Slabs | None = None,
    origin: Origin | None = None,
) -> Batch:
    """Read one block: the kernel as far as it goes, the judge for the line it stopped at, and on."""
    faults = Faults(name, options.on_bad)
    if len(columns.text) > 1 or columns.more:
        return _parse_block(block, columns, options, faults, origin)
    slabs = slabs or Slabs()
    buffers = _Buffers(block, columns, slabs)
    state = buffers.state
    while True:
        buffers.read(options.item)
        stop = int(state[kernel.DOUBT])
        if stop < 0:
            break
        line = block.data[state[kernel.AT] : stop].tobytes()
        try:
            buffers.add(*_judge(parse_object(line, options.encoding), columns, options))
        except BadRecord as exc:
            faults.add(int(state[kernel.LINE]), str(exc), exc.cure)
        state[kernel.AT] = stop + 1
        state[kernel.LINE] += 1
    n = int(state[kernel.DOCUMENTS])
    ids = None if columns.id is None else buffers.id_array()
    rows, blank = buffers.rows[:n].copy(), int(state[kernel.BLANK])
    places = places_in(origin, np.minimum(buffers.spans[:n], block.size) + block.at)
    more = {"places": places, "give_back": partial(slabs.give_back, buffers.out)}
    return faults.batch(buffers.documents(), rows, ids, blank=blank, consumed=block.consumed, **more)


def _parse_block(
    block: LineBlock, columns: _Columns, options: ReadOptions, faults: Faults, origin: Origin | None
) -> Batch:
    """Read one block by the judge alone, which joins fields and reads further ones: 115 MB/s, not the kernel's 225."""
    texts: list[bytes] = []
    stored: list[str | None] = []
    ids: list[str | int] = []
    rows: list[int] = []
    spans: list[tuple[int, int]] = []
    blank, stop = 0, block.at
    for row, line in enumerate(io.BytesIO(block.data[: block.size].tobytes()), start=block.first_line):
        start, stop = stop, stop + len(line)
        if not line.strip(_WHITE):
            blank += 1
            continue
        try:
            record = parse_object(line.rstrip(b"\n"), options.encoding)
            text, id = _judge(record, columns, options)
            stored.append(columns_json({name: record[name] for name in columns.more if name in record}))
        except BadRecord as exc:
            faults.add(row, str(exc), exc.cure)
            continue
        texts.append(text)
        rows.append(row)
        spans.append((start, stop))
        ids.append("" if id is None else id)
    is_number = all(isinstance(id, int) for id in ids)
    found = numbers(np.array(ids, dtype=np.int64)) if is_number and ids else strings(map(str, ids))
    documents, places = Documents.from_bytes(texts), np.array(rows, dtype=np.int64)
    named = None if columns.id is None else found
    where = places_in(origin, np.array(spans, dtype=np.int64).reshape(-1, 2))
    more = {"columns": stored if columns.more else None, "places": where}
    return faults.batch(documents, places, named, blank=blank, consumed=block.consumed, **more)


class _Buffers:
    """The arrays of one call of the kernel, and the judge's way of adding a record to them."""

    def __init__(self, block: LineBlock, columns: _Columns, slabs: Slabs) -> None:
        text = columns.text[0].encode("utf-8", "surrogatepass")
        id = b"" if columns.id is None else columns.id.encode("utf-8", "surrogatepass")
        self.block = block
        self.keys = np.frombuffer(bytearray(text + id), dtype=np.uint8)
        self.sizes = np.array([len(text), -1 if columns.id is None else len(id)], dtype=np.int64)
        # As large as the block, but only pages that are written to take memory; of few sizes, to be used again.
        self.out = slabs.take(-(-(block.size + SLACK) // _GRAIN) * _GRAIN)
        self.ids = np.empty(block.size + SLACK, dtype=np.uint8)
        self.offsets = np.empty(block.lines + 1, dtype=np.int64)
        self.id_offsets = np.empty(block.lines + 1, dtype=np.int64)
        self.offsets[0] = self.id_offsets[0] = 0
        self.spans = np.empty((block.lines, 2), dtype=np.int64)
        self.rows = np.empty(block.lines, dtype=np.int64)
        self.numbers = np.empty(block.lines, dtype=np.int64)
        self.is_number = np.empty(block.lines, dtype=np.bool_)
        self.state = np.zeros(kernel.STATE, dtype=np.int64)
        self.state[kernel.LINE] = block.first_line

    def read(self, item: bool) -> None:
        """Let the kernel go on."""
        kernel.read_records(
            *(self.block.data, self.block.size, self.keys, self.sizes, item, self.out, self.offsets),
            *(self.spans, self.rows, self.ids, self.id_offsets, self.numbers, self.is_number, self.state),
        )

    def add(self, text: bytes, id: str | int | None) -> None:
        """Append the record of the line at which the kernel stopped."""
        state = self.state
        n = int(state[kernel.DOCUMENTS])
        start, end = int(state[kernel.OUT_AT]), int(state[kernel.OUT_AT]) + len(text)
        self.out[start:end] = np.frombuffer(text, dtype=np.uint8)
        name = id.encode("utf-8") if isinstance(id, str) else b""
        id_start, id_end = int(state[kernel.IDS_AT]), int(state[kernel.IDS_AT]) + len(name)
        self.ids[id_start:id_end] = np.frombuffer(name, dtype=np.uint8)
        self.is_number[n] = isinstance(id, int)
        self.numbers[n] = id if isinstance(id, int) else 0
        self.offsets[n + 1], self.id_offsets[n + 1] = end, id_end
        self.spans[n] = state[kernel.AT], state[kernel.DOUBT] + 1
        self.rows[n] = state[kernel.LINE]
        state[kernel.OUT_AT], state[kernel.IDS_AT], state[kernel.DOCUMENTS] = end, id_end, n + 1

    def documents(self) -> Documents:
        """The texts, in the buffer that they were written to."""
        return Documents(self.out, self.offsets[: int(self.state[kernel.DOCUMENTS]) + 1].copy())

    def id_array(self) -> Any:
        """The ids: int64 when all are integers, else large_string."""
        n, used = int(self.state[kernel.DOCUMENTS]), int(self.state[kernel.IDS_AT])
        is_number = self.is_number[:n]
        if n and is_number.all():
            return numbers(self.numbers[:n])
        parts: tuple[Any, Any] = self.id_offsets[: n + 1].copy(), self.ids[:used].copy()
        names = pa.Array.from_buffers(pa.large_string(), n, [None, *map(pa.py_buffer, parts)])
        if not is_number.any():
            return names
        digits = numbers(self.numbers[:n]).cast(pa.large_string())
        return pc.if_else(flags(is_number), digits, names)


def _judge(record: dict[str, Any], columns: _Columns, options: ReadOptions) -> tuple[bytes, str | int | None]:
    """Return the text and the id of a record; of a set, a list or a string split at white space, its items as bytes."""
    if len(columns.text) == 1:
        name = columns.text[0]
        value = _field(record, name)
        content = _items(value, name) if options.item else _checked(value, name).encode("utf-8")
    else:
        joined = _joined(record, columns.text)
        content = split_items(joined) if options.item else joined.encode("utf-8")
    return content, None if columns.id is None else _identifier(_field(record, columns.id), columns.id)


def _joined(record: dict[str, Any], names: tuple[str, ...]) -> str:
    """The texts of several fields, a newline between; one that is missing, null or empty adds none."""
    values = {name: record[name] for name in names if record.get(name) is not None}
    if not values:
        raise BadRecord(f"the fields {', '.join(map(repr, names))} are all missing or null")
    return "\n".join(text for name, value in values.items() if (text := _checked(value, name)))


def parse_object(line: bytes, encoding: str) -> dict[str, Any]:
    """The object in a line; BadRecord when it is not one object in valid JSON and valid UTF-8."""
    try:
        value = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as exc:
        reason = "the line has bytes that are"
        if encoding == "utf-8":
            reason = f"byte 0x{line[exc.start]:02x} at byte {exc.start + 1} of the line is"
        cure = "Name the encoding of the file with --encoding (encoding=)."
        raise BadRecord(f"{reason} no valid {encoding}", cure) from exc
    except json.JSONDecodeError as exc:
        if line.startswith(b"\xef\xbb\xbf"):
            raise BadRecord("a byte order mark comes before the record") from exc
        raise BadRecord(f"no valid JSON: {exc.msg} at character {exc.pos + 1}") from exc
    except RecursionError as exc:
        raise BadRecord("no usable JSON: nested too deeply") from exc
    if not isinstance(value, dict):
        raise BadRecord(f"{_kind(value)}, not an object")
    return value


def objects(lines: Iterable[bytes], encoding: str) -> Iterator[dict[str, Any]]:
    """The objects in those of the lines that have one."""
    for line in lines:
        if line.isspace():  # a million blank lines should take no time
            continue
        try:
            record = parse_object(line, encoding)
        except BadRecord:
            continue
        yield record


def _constant(name: str) -> None:
    raise BadRecord(f"no valid JSON: {name} is not a JSON number")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


_DECODER = json.JSONDecoder(parse_constant=_constant, parse_int=_integer)


def _field(record: dict[str, Any], name: str) -> Any:
    if name not in record:
        raise BadRecord(f"there is no field {name!r}")
    if record[name] is None:
        raise BadRecord(f"the field {name!r} is null")
    return record[name]


def _items(value: Any, name: str) -> bytes:
    if isinstance(value, str):
        return split_items(_checked(value, name))
    if not isinstance(value, list):
        raise BadRecord(f"the field {name!r} is {_kind(value)}, not a list or a string")
    try:
        return join_items(value)
    except ItemError as exc:
        raise BadRecord(f"the field {name!r}: {exc}") from exc


def _identifier(value: Any, name: str) -> str | int:
    """The id; a whole number beyond 64 bits as its decimal text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value in INT64 else str(value)
    return _checked(value, name, "a string or a whole number")


def _checked(value: Any, name: str, wanted: str = "a string") -> str:
    if not isinstance(value, str):
        raise BadRecord(f"the field {name!r} is {_kind(value)}, not {wanted}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as exc:
        code = ord(value[exc.start])
        what = f"the lone surrogate \\u{code:04x} at character {exc.start + 1}"
        raise BadRecord(f"the field {name!r} has {what}") from exc
    return value


def _kind(value: Any) -> str:
    kinds = {type(None): "null", bool: "true or false", str: "a string", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")
