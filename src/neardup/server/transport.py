"""One packet for an answer: its head waits for its body.

uvicorn writes the head of an answer and its body one after the other, and asyncio sends each write at once. The first
packet wakes the client for nothing, which costs about a tenth of what the service can do.
"""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["JoiningTransport"]

_HEAD, _CONTINUE = b"HTTP/1.1 ", b"HTTP/1.1 100"


class JoiningTransport(asyncio.Transport):
    """A transport that keeps the head of an answer until the next write, or the next turn of the event loop.

    Args:
        transport: that of the connection, to which all else is passed on.
        loop: whose turn it is.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._kept = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes, after the head that was kept; keep a head."""
        if not data:
            return
        if self._kept:
            data, self._kept = b"".join((self._kept, data)), b""
        elif data[: len(_HEAD)] == _HEAD and data[: len(_CONTINUE)] != _CONTINUE:
            self._kept = bytes(data)
            self._loop.call_soon(self._flush)
            return
        self._transport.write(data)

    def close(self) -> None:
        """Send what was kept, and close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._kept = b""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it is closing or closed."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What is known of the connection."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Leave what comes in to the system."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take in again what comes."""
        self._transport.resume_reading()

    def _flush(self) -> None:
        if self._kept:
            kept, self._kept = self._kept, b""
            self._transport.write(kept)
