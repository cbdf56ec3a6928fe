"""The service as an ASGI application.

Here: the way of a request: the gate, its route, its handler, and whatever was raised as a JSON problem. The routes
themselves are in ``handlers``; the server around it all is in ``run``.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from neardup.server.exchange import Exchange
from neardup.server.handlers import Handler, Handlers
from neardup.server.limits import Buffered, Limits
from neardup.server.metrics import Metrics
from neardup.server.problems import Disconnected, Problem, problem_of
from neardup.server.security import Gate

if TYPE_CHECKING:
    from neardup.index import Index

__all__ = ["Service"]

_EXCHANGE = "neardup.exchange"
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
        limits: Limits | None = None,
        token: str | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self._buffered = Buffered(self.limits.buffered_bytes)
        self._gate = Gate(token, hosts)
        self._is_stopping = False
        self._handlers = Handlers(index, self.limits, self.metrics)
        routes = [Route(path, _Endpoint(path, methods)) for path, methods in self._handlers.routes().items()]
        self._router = Router(routes, redirect_slashes=False, default=_nowhere)

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
        scope[_EXCHANGE] = exchange
        self.metrics.in_flight += 1
        try:
            self._gate.check(exchange)
            await self._router(scope, receive, send)
        except Disconnected:
            exchange.status = exchange.status or _GONE
        except Exception as exc:
            await self._refuse(exchange, problem_of(exc))
        finally:
            exchange.release()
            self.metrics.in_flight -= 1
            seconds = time.perf_counter() - exchange.started
            self.metrics.observe(exchange.route, _method(exchange.method), exchange.status or _GONE, seconds)

    async def _refuse(self, exchange: Exchange, problem: Problem) -> None:
        if problem.refused is not None:
            self.metrics.refused[problem.refused] += 1
        if exchange.status is not None:
            return  # the answer has begun: all that is left is to break it off
        with contextlib.suppress(Disconnected):
            await exchange.reply(problem.status, problem.body(), headers=problem.headers)


class _Endpoint:
    """One path: the handler of the method, or 405 with those that there are."""

    def __init__(self, path: str, methods: dict[str, Handler]) -> None:
        self._path = path.replace(":path}", "}")
        self._methods = methods
        self._allowed = ", ".join(sorted({*methods, *(("HEAD",) if "GET" in methods else ())}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope[_EXCHANGE]
        exchange.route = self._path
        # The protocol sends no body in answer to HEAD.
        handler = self._methods.get("GET" if exchange.method == "HEAD" else exchange.method)
        if handler is None:
            fault = f"{exchange.method} is not for {self._path}, where there is {self._allowed}."
            raise Problem(405, fault, headers=((b"allow", self._allowed.encode()),))
        await handler(exchange)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    raise Problem(404, "there is nothing here. /openapi.json lists what there is.")


def _method(method: str) -> str:
    """The method, if it is one of ours: clients may make up any, and each would be a line of the metrics."""
    return method if method in ("GET", "HEAD", "POST", "DELETE") else "other"
