"""One request and its answer over plain ASGI: the body with its limits, the headers that every answer has.

Requests of a framework would not do: a body is counted against three limits while it arrives, and an answer that comes
before the end of the body takes in the rest. What a body says is read in ``wire``.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from neardup.server.access import REQUEST_ID, request_id
from neardup.server.limits import ServiceLimits
from neardup.server.metrics import Metrics
from neardup.server.problems import Disconnected, Problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]
JSON = b"application/json"

_ALWAYS: Headers = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
_CLOSE = (b"connection", b"close")
_NO_CONTENT, _TOO_SLOW = 204, 408
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 1 << 24
"""How long, and for how many bytes, an answer given before the body was read waits for the rest of it: to close a
connection with bytes unread resets it, and the client may then never see the answer."""


class Exchange:
    """A request of HTTP on the event loop; ``metrics`` counts what comes in and what all requests hold together."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, limits: ServiceLimits, metrics: Metrics) -> None:
        self._receive, self._send = receive, send
        self.limits, self.metrics = limits, metrics
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.raw_path: bytes = scope.get("raw_path") or b""
        self.query_string: bytes = scope["query_string"]
        self.headers: list[tuple[bytes, bytes]] = scope["headers"]
        self.route = "other"
        """Path of its route, for the metrics."""
        self.status: int | None = None
        """Of the answer, once it has begun."""
        self.started = time.perf_counter()
        self.request_id = request_id(self.headers)
        """By which the access log and the answer name it."""
        self.role: str | None = None
        """Of the token that it brought."""
        self.sent = 0
        """Bytes of the body of the answer, up to now."""
        length = self.header(b"content-length")
        self.declared = int(length) if length is not None and length.isdigit() else None
        """Bytes of the body, where the head tells."""
        self.is_read = not self.declared and self.header(b"transfer-encoding") is None
        """Whether the body has come to its end."""
        self.is_last = False
        """Whether the connection is to end with the answer: the service is stopping, and this one was made late."""
        self._held = 0

    def header(self, name: bytes) -> bytes | None:
        """The value of a header, its name in small letters; the first when there are several."""
        return next((value for key, value in self.headers if key == name), None)

    async def chunk(self) -> bytes:
        """The next bytes of the body; ``is_read`` says whether they were the last."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        body: bytes = message.get("body", b"")
        self.is_read = not message.get("more_body", False)
        self.metrics.bytes_in += len(body)
        return body

    async def body(self, most: int) -> bytes:
        """The whole body. The bytes are held until the request is over.

        Problem: 413 it is longer than ``most``, 408 it does not come, 503 all requests together hold too much.
        """
        if self.declared is not None and self.declared > most:
            raise self._too_large(most)
        chunks: list[bytes] = []
        length = 0
        try:
            async with asyncio.timeout(self.limits.receive_seconds):
                while not self.is_read:
                    chunk = await self.chunk()
                    length += len(chunk)
                    if length > most:
                        raise self._too_large(most)
                    self.hold(len(chunk))
                    chunks.append(chunk)
        except TimeoutError as exc:
            fault = f"the body did not arrive within {self.limits.receive_seconds:g} s."
            raise Problem(408, fault, refused="slow") from exc
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def hold(self, count: int) -> None:
        """Count bytes as held. Raises Problem: 503, all requests together would hold too much."""
        if self.metrics.held + count > self.limits.buffered_bytes:
            raise Problem.busy("the bodies of other requests fill the memory for them. Try again later.", "memory")
        self.metrics.held += count
        self._held += count

    def release(self) -> None:
        self.metrics.held -= self._held
        self._held = 0

    async def reply(
        self, status: int, body: bytes, kind: bytes = JSON, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        """Answer, and take in what is left of the body."""
        about = [] if status == _NO_CONTENT else [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
        await self.begin(status, [*about, *headers])
        if self.is_read:
            await self.write(body, more=False)
            return
        await self.write(body)
        if status == _TOO_SLOW:
            await self.write(b"", more=False)
        else:
            await self.end()

    async def begin(self, status: int, headers: Iterable[tuple[bytes, bytes]], *, keep: bool = False) -> None:
        """Send the head of the answer; ``keep`` the connection though the body has not come to its end."""
        closing = (_CLOSE,) if self.is_last or not (self.is_read or keep) else ()
        self.status = status
        named = (REQUEST_ID, self.request_id.encode("ascii"))
        told = [*headers, *_ALWAYS, named, *closing]
        await self._pass({"type": "http.response.start", "status": status, "headers": told})

    async def write(self, body: bytes, *, more: bool = True) -> None:
        await self._pass({"type": "http.response.body", "body": body, "more_body": more})
        self.sent += len(body)

    async def end(self) -> None:
        """End an answer that was sent in parts; before that, take in what is left of the body."""
        left = _LINGER_BYTES
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_SECONDS):
                while not self.is_read and left > 0:
                    left -= len(await self.chunk())
        await self.write(b"", more=False)

    async def _pass(self, message: dict[str, Any]) -> None:
        try:
            await self._send(message)
        except Exception as exc:  # the protocol gave the connection up between two of our messages
            raise Disconnected from exc

    def _too_large(self, most: int) -> Problem:
        return Problem(413, f"the body is larger than {most} bytes.", refused="size")
