"""What a run and the child that reads its documents say to each other: messages over two pipes.

A message is a mark, the number of the request, its kind and its length, then so many bytes. The child may be broken or
taken over by a document, so what comes from it is held against what it may be, and nothing of it is executed.
"""

from __future__ import annotations

import struct
from typing import IO

__all__ = [
    "PASSED_MEMORY",
    "PASSED_PROCESSOR",
    "READ",
    "READY",
    "TEXT",
    "UNREADABLE",
    "GarbledError",
    "receive",
    "send",
]

READY = b"+"
"""The child has started."""
READ = b"?"
"""Read a document: JSON of its path and how."""
TEXT = b"t"
"""Its text, in UTF-8."""
UNREADABLE = b"u"
"""Why there is none: JSON of reason and cure."""

PASSED_PROCESSOR = 81
"""Exit code of a child whose document takes too much processor time."""
PASSED_MEMORY = 82
"""Exit code of a child whose document takes too much memory."""

_HEAD = struct.Struct(">4sIcQ")
_MARK = b"nd\xf6\1"


class GarbledError(Exception):
    """What came is no message."""


def send(pipe: IO[bytes], number: int, kind: bytes, content: bytes) -> None:
    """Write a message."""
    pipe.write(_HEAD.pack(_MARK, number, kind, len(content)))
    pipe.write(content)
    pipe.flush()


def receive(pipe: IO[bytes], most: int) -> tuple[int, bytes, bytes]:
    """The next message: number, kind and content, of ``most`` bytes.

    Raises:
        EOFError: the other side has ended, between messages or inside one.
        GarbledError: what came is no message, or a larger one.
    """
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    mark, number, kind, size = _HEAD.unpack(head)
    if mark != _MARK:
        raise GarbledError(f"a message that begins with {head[:4]!r}")
    if size > most:
        raise GarbledError(f"a message of {size:,} bytes")
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return number, kind, content
