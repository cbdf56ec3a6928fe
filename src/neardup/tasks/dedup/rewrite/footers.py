"""A Parquet file from files that have some of its row groups each: the bytes that one writer would have written.

The bytes of a row group do not depend on where it lies. What does are the places in the footer (parquet.thrift,
FileMetaData), a struct of Thrift's compact protocol, which has one way to write each value: it is read, the places are
changed, and it is written again. A footer that does not come out as it was read is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from neardup.errors import FormatError

MAGIC = b"PAR1"
_TAIL = 8
"""Bytes behind the footer: its size, and the magic."""
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_NUMBERS = (4, 5, 6)
_ROWS, _GROUPS = 3, 4
"""Fields of FileMetaData."""
_COLUMNS, _GROUP_AT, _ORDINAL = 1, 5, 7
"""Fields of RowGroup."""
_CHUNK_AT, _FACTS = 2, 3
"""Fields of ColumnChunk; its facts are a ColumnMetaData, of which these are places."""
_FACTS_AT = (9, 10, 11, 14)

Fields = list[list[Any]]
"""Number, type and value of each field of a struct."""


def footer_size(tail: bytes) -> int:
    """Bytes of a footer with what is behind it, by the last eight bytes of a file."""
    return int.from_bytes(tail[-_TAIL : -len(MAGIC)], "little") + _TAIL


def joined_footers(footers: Sequence[bytes], ends: Sequence[int]) -> bytes:
    """The footer, with what is behind it, of a file that has the row groups of several files one after the other.

    ``footers`` are theirs, each with what is behind it, and ``ends`` where these begin. The row groups of the first lie
    as they are, those of the others behind them, without the magic before them. Raises FormatError where one cannot be
    read and written.
    """
    whole: Fields | None = None
    shift = rows = 0
    groups: list[Fields] = []
    for footer, end in zip(footers, ends, strict=True):
        read = _read(footer)
        whole = whole or read
        rows += _value(read, _ROWS)
        for group in _value(read, _GROUPS)[1]:
            _move(group, shift, len(groups))
            groups.append(group)
        shift += end - len(MAGIC)
    assert whole is not None
    for field in whole:
        if field[0] == _ROWS:
            field[2] = rows
        elif field[0] == _GROUPS:
            field[2] = (_STRUCT, groups)
    out = bytearray()
    _put_struct(out, whole)
    return bytes(out) + len(out).to_bytes(4, "little") + MAGIC


def _read(footer: bytes) -> Fields:
    data = footer[:-_TAIL]
    try:
        fields, end = _struct(data, 0)
        again = bytearray()
        _put_struct(again, fields)
    except (IndexError, struct.error, ValueError) as exc:
        raise FormatError(f"a Parquet footer that was written here cannot be read: {exc}") from exc
    if end != len(data) or again != data:
        raise FormatError("a Parquet footer that was written here cannot be written again as it is")
    return fields


def _value(fields: Fields, number: int) -> Any:
    return next(value for of, _, value in fields if of == number)


def _move(group: Fields, shift: int, ordinal: int) -> None:
    """Let a row group lie ``shift`` bytes further behind, as number ``ordinal``."""
    for field in group:
        if field[0] == _GROUP_AT:
            _shift(field, shift)
        elif field[0] == _ORDINAL:
            field[2] = ordinal
        elif field[0] == _COLUMNS:
            for chunk in field[2][1]:
                for part in chunk:
                    if part[0] == _CHUNK_AT:
                        _shift(part, shift)
                    elif part[0] == _FACTS:
                        for fact in part[2]:
                            if fact[0] in _FACTS_AT:
                                _shift(fact, shift)


def _shift(field: list[Any], shift: int) -> None:
    if field[2] > 0:  # else there is no such place
        field[2] += shift


def _struct(data: bytes, at: int) -> tuple[Fields, int]:
    fields: Fields = []
    number = 0
    while True:
        head = data[at]
        at += 1
        if head == 0:
            return fields, at
        if head >> 4:
            number += head >> 4
        else:
            number, at = _zigzag(data, at)
        value, at = _get(data, at, head & 15)
        fields.append([number, head & 15, value])


def _get(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):
        return None, at
    if kind == _BYTE:
        return data[at], at + 1
    if kind in _NUMBERS:
        return _zigzag(data, at)
    if kind == _DOUBLE:
        return data[at : at + 8], at + 8
    if kind == _BINARY:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind in (_LIST, _SET):
        head = data[at]
        count, at = (head >> 4, at + 1) if head >> 4 < 15 else _varint(data, at + 1)
        values = []
        for _ in range(count):
            value, at = _get(data, at, _BYTE if head & 15 in (_TRUE, _FALSE) else head & 15)
            values.append(value)
        return (head & 15, values), at
    if kind == _STRUCT:
        return _struct(data, at)
    raise ValueError(f"type {kind} of Thrift is not expected")


def _put_struct(out: bytearray, fields: Fields) -> None:
    before = 0
    for number, kind, value in fields:
        if 0 < number - before <= 15:
            out.append((number - before) << 4 | kind)
        else:
            out.append(kind)
            _put_zigzag(out, number)
        _put(out, kind, value)
        before = number
    out.append(0)


def _put(out: bytearray, kind: int, value: Any) -> None:
    if kind == _BYTE:
        out.append(value)
    elif kind in _NUMBERS:
        _put_zigzag(out, value)
    elif kind == _DOUBLE:
        out += value
    elif kind == _BINARY:
        _put_varint(out, len(value))
        out += value
    elif kind in (_LIST, _SET):
        of, values = value
        if len(values) < 15:
            out.append(len(values) << 4 | of)
        else:
            out.append(0xF0 | of)
            _put_varint(out, len(values))
        for each in values:
            _put(out, _BYTE if of in (_TRUE, _FALSE) else of, each)
    elif kind == _STRUCT:
        _put_struct(out, value)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _put_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _put_zigzag(out: bytearray, value: int) -> None:
    _put_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)
