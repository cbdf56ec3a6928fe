"""One connection: uvicorn's protocol with five more rules, so that the service may be exposed without a proxy.

A request that can be read in two ways is refused. The head of a request must arrive within its time, counted from its
first byte. A client must take what it was sent. What it goes on sending after its answer is thrown away for a while,
and then the connection is cut off. There is a limit of connections. The time and the size of a body are limited in
``exchange`` and ``stream``.

uvicorn has no settings for these, and its ``H11Protocol`` is no documented interface. Used of it are ``conn``,
``transport``, ``connections`` and the callbacks that are overridden here; pyproject.toml names the versions that
have them, and tests/server/test_sockets.py and test_framing.py fail where a rule no longer holds.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from neardup.server import access
from neardup.server.problems import RETRY_SECONDS, Problem

if TYPE_CHECKING:
    from neardup.server.app import Service


HEAD_BYTES = 1 << 14
"""Most bytes of the head of a request: its first line and all headers."""
_THROWN_AWAY_SECONDS = 1.0
_ABSOLUTE = re.compile(rb"https?://([^/?#]*)([^#]*)", re.IGNORECASE)
_ANY = (b"OPTIONS", b"*")


class StrictConnection(h11.Connection):
    """The reading side of a connection, which refuses a request whose end, or whose host, can be read in two ways.

    A service behind a proxy shares each connection between people. Where the two disagree about the end of a request,
    what one person sends becomes the beginning of the next one's request (request smuggling). h11 already refuses
    lengths that are no number or that differ, transfer codings other than ``chunked``, malformed chunks (since its
    version 0.16), white space before a colon, NUL and lone carriage returns in the head, and more than one Host. Here
    is the rest, by RFC 9112, sections 3.2, 6.1 and 6.3. What a Host may say is in ``security``. After an error nothing
    more is read.
    """

    fault: str | None = None
    """Why the request was refused, where it was refused here."""

    def next_event(self) -> Any:
        """What comes next; a request always in origin form, its Host the one that it is meant for."""
        event = super().next_event()
        if not isinstance(event, h11.Request):
            return event
        names = [name for name, _ in event.headers]
        if event.http_version not in (b"1.0", b"1.1"):
            raise self._refused("the version of HTTP is neither 1.0 nor 1.1.")
        if b"transfer-encoding" in names and b"content-length" in names:
            raise self._refused("the request has both Content-Length and Transfer-Encoding. Send one of them.")
        if b"transfer-encoding" in names and event.http_version == b"1.0":
            raise self._refused("HTTP/1.0 has no Transfer-Encoding. Send Content-Length, or HTTP/1.1.")
        if event.target.startswith(b"/") or event.method == b"CONNECT" or (event.method, event.target) == _ANY:
            return event
        return self._origin_form(event)

    def _origin_form(self, request: h11.Request) -> h11.Request:
        """A request with an absolute address as one with a path. What its Host said does not count (section 3.2.2)."""
        found = _ABSOLUTE.fullmatch(request.target)
        if not found or not found[1]:
            raise self._refused("the address that is asked for is neither a path nor a URL of http.")
        rest = found[2] if found[2].startswith(b"/") else b"/" + found[2]
        headers = [(name, value) for name, value in request.headers if name != b"host"]
        return h11.Request(
            method=request.method,
            headers=[(b"host", found[1]), *headers],
            target=rest,
            http_version=request.http_version,
        )

    def _refused(self, fault: str) -> h11.RemoteProtocolError:
        self.fault = fault
        return h11.RemoteProtocolError(fault)


class GuardedProtocol(H11Protocol):
    """One connection to the ``Service`` that is the application of uvicorn's configuration."""

    conn: StrictConnection

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        service = cast("Service", self.config.app)
        self.limits, self.metrics = service.limits, service.metrics
        self.conn = StrictConnection(h11.SERVER, HEAD_BYTES)
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
        """Read what has arrived. uvicorn stops its own clock whenever something does."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Note that an answer was sent. uvicorn's clock runs until the next request begins."""
        super().on_response_complete()
        if self.conn.their_state is not h11.IDLE:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for name in list(self._clocks):
            self._stop(name)

    def pause_writing(self) -> None:
        """Give a client that does not take what it was sent some time to do so."""
        super().pause_writing()
        self._start("take", self.limits.receive_seconds, self._cut_off)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop("take")

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, or can be read in two ways."""
        self.metrics.refused["http"] += 1
        fault = f"the request is no HTTP that can be read, or its head is over {HEAD_BYTES} bytes."
        self._answer(Problem(400, self.conn.fault or fault))

    def _watch(self) -> None:
        """Start or stop the clocks by what the connection waits for."""
        if self.transport.is_closing():
            return
        theirs, ours = self.conn.their_state, self.conn.our_state
        if theirs is h11.IDLE:
            self._start("head", self.limits.head_seconds, self._head_is_late)
        else:
            self._stop("head")
        if theirs is h11.SEND_BODY and ours in (h11.DONE, h11.MUST_CLOSE):
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
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
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
