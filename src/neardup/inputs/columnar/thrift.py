"""Structs of Thrift's compact protocol, of which the headers of pages and the footers of Parquet files are made.

The protocol has one way to write each value, so that what was read can be written again to the same bytes.
"""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
NUMBERS = (4, 5, 6)
_LONGEST = 63
"""Bits of a number behind which no further ones may come."""

Fields = list[list[Any]]
"""Number, type and value of each field of a struct; of a list its type and values, of a truth value only the type."""


def read_struct(data: bytes, at: int, *, deepest: int) -> tuple[Fields, int]:
    """The fields of a struct that begins at a place, and where it ends.

    Raises:
        IndexError: the data end before it does.
        ValueError: it is no such struct, or more than ``deepest`` are within each other, lists among them.
    """
    if deepest < 0:
        raise ValueError("it is nested too deeply")
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
        value, at = _value(data, at, head & 15, deepest)
        fields.append([number, head & 15, value])


def _value(data: bytes, at: int, kind: int, deepest: int) -> tuple[Any, int]:
    if kind in (TRUE, FALSE):
        return None, at
    if kind == BYTE:
        return data[at], at + 1
    if kind in NUMBERS:
        return _zigzag(data, at)
    if kind == DOUBLE:
        if at + 8 > len(data):
            raise IndexError
        return data[at : at + 8], at + 8
    if kind == BINARY:
        size, at = _varint(data, at)
        if at + size > len(data):
            raise IndexError
        return data[at : at + size], at + size
    if kind in (LIST, SET):
        head = data[at]
        count, at = (head >> 4, at + 1) if head >> 4 < 15 else _varint(data, at + 1)
        values = []
        for _ in range(count):
            value, at = _value(data, at, _in_list(head & 15), deepest - 1)
            values.append(value)
        return (head & 15, values), at
    if kind == STRUCT:
        return read_struct(data, at, deepest=deepest - 1)
    raise ValueError(f"type {kind} is not expected")


def _in_list(kind: int) -> int:
    """How a value of a list is written: truth values as bytes there."""
    return BYTE if kind in (TRUE, FALSE) else kind


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > _LONGEST:
            raise ValueError("a number has no end")


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def put_struct(out: bytearray, fields: Fields) -> None:
    """Write a struct behind what is there."""
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
    if kind == BYTE:
        out.append(value)
    elif kind in NUMBERS:
        _put_zigzag(out, value)
    elif kind == DOUBLE:
        out += value
    elif kind == BINARY:
        _put_varint(out, len(value))
        out += value
    elif kind in (LIST, SET):
        of, values = value
        if len(values) < 15:
            out.append(len(values) << 4 | of)
        else:
            out.append(0xF0 | of)
            _put_varint(out, len(values))
        for each in values:
            _put(out, _in_list(of), each)
    elif kind == STRUCT:
        put_struct(out, value)


def _put_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _put_zigzag(out: bytearray, value: int) -> None:
    _put_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)
