"""A Parquet file from files that have some of its row groups each: the bytes that one writer would have written.

The bytes of a row group do not depend on where it lies. What does are the places in the footer (parquet.thrift,
FileMetaData), a struct of Thrift's compact protocol, which has one way to write each value: it is read, the places are
changed, and it is written again. A footer that does not come out as it was read is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neardup.errors import FormatError
from neardup.inputs.columnar.thrift import STRUCT, Fields, put_struct, read_struct

MAGIC = b"PAR1"
_TAIL = 8
"""Bytes behind the footer: its size, and the magic."""
_ROWS, _GROUPS = 3, 4
"""Fields of FileMetaData."""
_COLUMNS, _GROUP_AT, _ORDINAL = 1, 5, 7
"""Fields of RowGroup."""
_CHUNK_AT, _FACTS = 2, 3
"""Fields of ColumnChunk; its facts are a ColumnMetaData, of which these are places."""
_FACTS_AT = (9, 10, 11, 14)

_DEEPEST = 64
"""Structs and lists within each other, at most: those of a footer are some eight."""


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
            field[2] = (STRUCT, groups)
    out = bytearray()
    put_struct(out, whole)
    return bytes(out) + len(out).to_bytes(4, "little") + MAGIC


def _read(footer: bytes) -> Fields:
    data = footer[:-_TAIL]
    try:
        fields, end = read_struct(data, 0, deepest=_DEEPEST)
        again = bytearray()
        put_struct(again, fields)
    except (IndexError, ValueError) as exc:
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
