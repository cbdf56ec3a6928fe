"""The service as an ASGI application.

Here: the way of a request: the gate, its route, its handler, and whatever was raised as a JSON problem. The routes
themselves are in ``handlers``; the server around it all is in ``run``.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from neardup.server.exchange import Exchange, Receive, Scope, Send
from neardup.server.handlers import DOCUMENT, DOCUMENTS, Handler, Handlers
from neardup.server.limits import Buffered, ServiceLimits
from neardup.server.metrics import Metrics
from neardup.server.problems import Disconnected, Problem, problem_of
from neardup.server.security import Gate

if TYPE_CHECKING:
    from neardup.index.store import Index

__all__ = ["Service"]

_GONE = 499
"""Counted for a client that went before its answer, as other servers do; nobody is sent it."""


class Service:
    """The HTTP service of one index, an ASGI application.

    Args:
        index: open. It stays the caller's to close, after ``close`` here.
        limits: what a request may take.
        token: that every request must bring; None for none.
        hosts: names by which the service may be called; None for any.
    """

    def __init__(
        self,
        index: Index,
        *,
        limits: ServiceLimits | None = None,
        token: str | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        self.limits = limits or ServiceLimits()
        self.metrics = Metrics()
        self._buffered = Buffered(self.limits.buffered_bytes)
        self._gate = Gate(token, hosts)
        self._is_stopping = False
        self._handlers = Handlers(index, self.limits, self.metrics)
        self._routes = self._handlers.routes()

    def stop(self) -> None:
        """Have streams end after the lines that have arrived, and connections after their answer; on the event loop."""
        self._is_stopping = True
        self._handlers.streams.stop()

    def close(self) -> None:
        """Do what waits and end the threads. Nothing that was acknowledged is lost, nor is what was taken on."""
        self._handlers.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request of HTTP; there is nothing else here."""
        if scope["type"] != "http":
            raise NotImplementedError(f"no {scope['type']} here")
        exchange = Exchange(scope, receive, send, limits=self.limits, metrics=self.metrics, buffered=self._buffered)
        exchange.is_last = self._is_stopping
        self.metrics.in_flight += 1
        try:
            self._gate.check(exchange)
            await self._handler(exchange)(exchange)
        except Disconnected:
            exchange.status = exchange.status or _GONE
        except Exception as exc:
            await self._refuse(exchange, problem_of(exc))
        finally:
            exchange.release()
            self.metrics.in_flight -= 1
            seconds = time.perf_counter() - exchange.started
            self.metrics.observe(exchange.route, _method(exchange.method), exchange.status or _GONE, seconds)

    def _handler(self, exchange: Exchange) -> Handler:
        """The function for the path and the method of a request. The route is noted for the metrics.

        Raises:
            Problem: 404 when there is no such path, 405 when it has not this method.
        """
        route = DOCUMENT if exchange.path.startswith(DOCUMENTS) else exchange.path
        methods = self._routes.get(route)
        if methods is None:
            raise Problem(404, "there is nothing here. /openapi.json lists what there is.")
        exchange.route = route
        # The protocol sends no body in answer to HEAD.
        handler = methods.get("GET" if exchange.method == "HEAD" else exchange.method)
        if handler is None:
            allowed = ", ".join(sorted({*methods, *(("HEAD",) if "GET" in methods else ())}))
            fault = f"{exchange.method} is not for {route}, where there is {allowed}."
            raise Problem(405, fault, headers=((b"allow", allowed.encode()),))
        return handler

    async def _refuse(self, exchange: Exchange, problem: Problem) -> None:
        if problem.refused is not None:
            self.metrics.refused[problem.refused] += 1
        if exchange.status is not None:
            return  # the answer has begun: all that is left is to break it off
        with contextlib.suppress(Disconnected):
            await exchange.reply(problem.status, problem.body(), headers=problem.headers)


def _method(method: str) -> str:
    """The method, if it is one of ours: clients may make up any, and each would be a line of the metrics."""
    return method if method in ("GET", "HEAD", "POST", "DELETE") else "other"
