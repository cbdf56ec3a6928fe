"""The little of flatbuffers that the messages of Arrow files need (format/Message.fbs, format/File.fbs)."""

from __future__ import annotations

import struct
from typing import Any


def root(data: bytes) -> int:
    """Where the outermost table lies."""
    return int(struct.unpack_from("<I", data)[0])


def field(data: bytes, at: int, number: int) -> int:
    """Where a field of the table at ``at`` lies, 0 when it is left out."""
    vtable = at - struct.unpack_from("<i", data, at)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", data, vtable)[0]:
        return 0
    offset = struct.unpack_from("<H", data, vtable + 4 + 2 * number)[0]
    return at + int(offset) if offset else 0


def scalar(data: bytes, at: int, number: int, kind: str) -> int:
    """A number in a field, of a kind that ``struct`` knows; 0 when it is left out."""
    place = field(data, at, number)
    return int(struct.unpack_from(f"<{kind}", data, place)[0]) if place else 0


def table(data: bytes, at: int, number: int) -> int:
    """Where the table, or vector, lies that a field refers to; 0 when it is left out."""
    place = field(data, at, number)
    return place + int(struct.unpack_from("<I", data, place)[0]) if place else 0


def structs(data: bytes, at: int, number: int, kind: str) -> list[tuple[Any, ...]]:
    """The structs in the vector of a field, each as ``struct`` unpacks it."""
    place = table(data, at, number)
    if not place:
        return []
    count = struct.unpack_from("<I", data, place)[0]
    size = struct.calcsize(f"<{kind}")
    return list(struct.iter_unpack(f"<{kind}", data[place + 4 : place + 4 + count * size]))
