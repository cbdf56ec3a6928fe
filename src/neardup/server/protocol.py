"""One connection: uvicorn's protocol with six more rules, so that the service may be exposed without a proxy.

A head must follow the grammar in ``heads``, which refuses a request that can be read in two ways. The head of a request
must arrive within its time, counted from its first byte. Requests are read one at a time, each after the answer to the
one before. A client must read its answers. Bytes that it still sends after an answer are thrown away for a while, and
then the connection is cut off. There is a limit of connections. The time and the size of a body are limited in
``exchange`` and ``stream``.

uvicorn has no settings for these rules, and its ``HttpToolsProtocol`` is not a documented interface. This module uses
``parser``, ``cycle``, ``flow``, ``transport``, ``connections`` and the callbacks that are overridden here;
pyproject.toml names the versions that have them, and tests/server/test_sockets.py and test_framing.py fail if a rule
no longer holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from httptools import HttpParserError
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from neardup.server import access
from neardup.server.heads import CHUNKED, END, Refused, is_hopeless, read_head
from neardup.server.problems import RETRY_SECONDS, Problem

if TYPE_CHECKING:
    from neardup.server.app import Service


HEAD_BYTES = 1 << 14
"""The most bytes of the head of a request, and of the trailers and extensions of chunks in a row."""
_THROWN_AWAY_SECONDS = 1.0


class GuardedProtocol(HttpToolsProtocol):
    """One connection to the ``Service`` that is the application of uvicorn's configuration."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        service = cast("Service", self.config.app)
        self.limits, self.metrics = service.limits, service.metrics
        self._data, self._at = b"", 0
        """The bytes that have arrived, and how many of them the parser has seen."""
        self._left = 0
        """The number of bytes of the body that are still to come, or ``CHUNKED``; 0 between two requests."""
        self._bare = 0
        """The number of bytes of a chunked message since its last byte of body."""
        self._clocks: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, or refuse it when there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self.metrics.refused["connections"] += 1
            problem = Problem.busy("there are too many connections. Try again later.", "connections")
            self._answer(problem, b"retry-after: %d\r\n" % RETRY_SECONDS)
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read the bytes that have arrived."""
        self._data += data
        self._read()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, without the white space after its value. A trailer is not a header."""
        if not self._left:
            super().on_header(name, value.rstrip(b"\t "))

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._bare = 0

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._left = 0

    def on_response_complete(self) -> None:
        """Note that an answer was sent, and read on. uvicorn's clock runs until something arrives."""
        super().on_response_complete()
        self.metrics.begun -= 1
        if self._left or self._at < len(self._data):
            self._read()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self._is_answered:
            self.metrics.begun -= 1
        for name in list(self._clocks):
            self._stop(name)

    def pause_writing(self) -> None:
        """Give a client that does not take what it was sent some time to do so."""
        super().pause_writing()
        self._start("take", self.limits.receive_seconds, self._cut_off)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop("take")

    @property
    def _is_answered(self) -> bool:
        """Whether no request waits for its answer."""
        return self.cycle is None or self.cycle.response_complete

    def _read(self) -> None:
        """Give the parser the bytes that it may see, and start or stop the clocks."""
        self._unset_keepalive_if_required()
        try:
            while self._at < len(self._data) and not self.transport.is_closing():
                if self._left:
                    self._read_body()
                elif not self._read_head():
                    break
        except HttpParserError as exc:
            self.metrics.refused["http"] += 1
            fault = f"the request is not HTTP that can be read, or its head is over {HEAD_BYTES} bytes."
            self._answer(Problem(400, str(exc) if isinstance(exc, Refused) else fault))
        if self._at > len(self._data) // 2:  # not each time: requests in one packet would be copied again and again
            kept = max(0, self._at - len(END))
            self._data, self._at = self._data[kept:], self._at - kept
        self._watch()

    def _read_head(self) -> bool:
        """Begin with the next request, if it is its turn and its head is there; return whether that is so."""
        if not self._is_answered:
            self.flow.pause_reading()
            return False
        end = self._data.find(END, self._at, self._at + HEAD_BYTES) + len(END)
        if end < len(END):
            begun = self._data[self._at :]
            if len(begun) >= HEAD_BYTES or is_hopeless(begun):
                raise HttpParserError
            return False
        head, length = read_head(self._data[self._at : end])
        self._at = end
        self.parser.feed_data(head)
        self._left = length
        self.metrics.begun += 1
        return True

    def _read_body(self) -> None:
        """Give the parser some of the body, and nothing of the next request.

        A chunked message ends with an empty line, so the parser sees the bytes up to the first one only.
        """
        begin, self._at = self._at, len(self._data)
        if self._left == CHUNKED:
            found = self._data.find(END, max(0, begin - len(END) + 1))
            if found >= 0:
                self._at = found + len(END)
            self._bare += self._at - begin
        else:
            self._at = min(self._at, begin + self._left)
            self._left -= self._at - begin
        self.parser.feed_data(self._data[begin : self._at])
        if self._left == CHUNKED and self._bare > HEAD_BYTES:
            raise HttpParserError

    def _watch(self) -> None:
        """Start the clock of the event that the connection waits for, and stop the others."""
        if self.transport.is_closing():
            return
        is_answered = self._is_answered
        if is_answered and not self._left:
            self._start("head", self.limits.head_seconds, self._head_is_late)
        else:
            self._stop("head")
        if is_answered and self._left:
            self._start("rest", _THROWN_AWAY_SECONDS, self._cut_off)
        else:
            self._stop("rest")

    def _start(self, clock: str, seconds: float, alarm: Callable[[], None]) -> None:
        """Start a clock, unless it runs or has rung."""
        if clock not in self._clocks:
            self._clocks[clock] = self.loop.call_later(seconds, alarm)

    def _stop(self, clock: str) -> None:
        if clock in self._clocks:
            self._clocks.pop(clock).cancel()

    def _head_is_late(self) -> None:
        self.metrics.refused["slow"] += 1
        self._answer(Problem(408, f"the head of the request did not arrive within {self.limits.head_seconds:g} s."))

    def _answer(self, problem: Problem, header: bytes = b"") -> None:
        """Send a problem past the application, which has heard of no request, and close."""
        if self.transport.is_closing():
            return
        if not self._left or not self.cycle.response_started:
            body = problem.body()
            reason = {400: b"Bad Request", 408: b"Request Timeout", 503: b"Service Unavailable"}[problem.status]
            head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\n" % (problem.status, reason)
            length = b"content-length: %d\r\nconnection: close\r\n" % len(body)
            named = access.request_id([])
            header += b"x-request-id: %s\r\n" % named.encode("ascii")
            self.transport.write(head + length + header + b"\r\n" + body)
            access.note(access.Access(named, "-", "-", problem.status, len(body), 0.0, None))
        self.transport.close()

    def _cut_off(self) -> None:
        self.metrics.refused["slow"] += 1
        self.transport.abort()
