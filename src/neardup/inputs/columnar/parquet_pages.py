"""What the pages of a Parquet column unpack to, read from their headers before any of them is unpacked.

A page of some bytes may unpack to 2 GB, and a column of few bytes that are numbers of one long value of a dictionary to
more than any machine has; the sizes in the footer say nothing about that and are checked by nobody. pyarrow unpacks a
page in one piece and does not tell its header, which is a struct of Thrift's compact protocol (parquet.thrift,
PageHeader).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = ["Page", "pages_of"]

_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_FRONT_CODED = 7  # DELTA_BYTE_ARRAY: each value is told as a beginning of the one before, and the rest
_BY_NUMBER = (2, 8)  # PLAIN_DICTIONARY, RLE_DICTIONARY
_HEADS = (1 << 9, 1 << 16, 16 << 20)
"""Bytes in which a header is looked for; pyarrow reads none beyond the last."""


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
    """Yield the pages of a column chunk.

    Args:
        file: a pyarrow file.
        chunk: the metadata of the chunk.

    Raises:
        ArrowInvalid: a header is damaged.
    """
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
        values = told.get(1, 0) if kind in (_DATA, _DATA_2) else 0
        is_data = kind in (_DATA, _DATA_2)
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
