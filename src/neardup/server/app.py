"""The service as an ASGI application: the gate, the routes, and whatever was raised as a JSON problem.

For each path and method there is one function over an ``Exchange``. Statuses, bodies and limits are described for
clients in ``openapi``; the server around it all is in ``run``.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import UNSET

from neardup.pages.assets import SIDES_SCRIPTS, SIDES_STYLES, scripts, styles
from neardup.server import access, openapi, wire
from neardup.server.exchange import JSON, Exchange, Headers, Receive, Scope, Send
from neardup.server.jobs import REMOVAL, IndexReader, IndexWriter, QueryOptions, query_options
from neardup.server.limits import ServiceLimits
from neardup.server.metrics import Metrics
from neardup.server.parameters import add_options, page_options, removal
from neardup.server.problems import Disconnected, Problem, problem_of
from neardup.server.security import PAGE, PAGE_HEADERS, Gate, check_may_write
from neardup.server.stream import BYTES, NDJSON, Streams
from neardup.server.tokens import Tokens
from neardup.server.work import WorkerPool

if TYPE_CHECKING:
    from neardup.index.store import Index


Handler = Callable[[Exchange], Awaitable[None]]

DOCUMENTS = "/documents/"
DOCUMENT = "/documents/{id}"
_GONE = 499
"""Counted for a client that went before its answer, as other servers do; nobody is sent it."""
_LARGE = 1 << 16
"""Bytes of JSON that are read in a thread: on the event loop they would take a millisecond that others wait."""
_TEXT = b"text/plain; version=0.0.4; charset=utf-8"
FEW_REQUESTS = 64
"""With at most this many requests, the event loop answers short queries itself, each within a millisecond."""
_MANY_QUERIES, _MANY_QUERY_BYTES = 32, 1 << 16
_MANY_DOCUMENT_BYTES = 1 << 24


class Service:
    """The HTTP service of one index, an ASGI application, with the pools of threads that do its work.

    The index stays the caller's to close, after ``close`` here. For tokens and hosts see ``Gate``.
    """

    def __init__(
        self,
        index: Index,
        *,
        limits: ServiceLimits | None = None,
        tokens: Tokens | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        self.limits = limits = limits or ServiceLimits()
        self.metrics = Metrics()
        self._index = index
        self._gate = Gate(tokens, hosts)
        self._is_stopping = False
        self._reading = IndexReader(index, limits)
        self._streams = Streams(limits.streams)
        reading: dict[str, Any] = {"waiting": limits.waiting, "most": _MANY_QUERIES, "most_bytes": _MANY_QUERY_BYTES}
        self._readers = WorkerPool("read", self._reading, threads=limits.threads, **reading)
        # One after the other reads all the texts; queries by the bands are answered meanwhile.
        self._scanners = WorkerPool("scan", self._reading, threads=1, **reading)
        self._writers: WorkerPool | None = None
        if not index.read_only:
            self._writers = WorkerPool(
                "write",
                IndexWriter(index, limits),
                threads=1,  # the index has one writer, and documents are added in the order in which they came
                waiting=limits.waiting,
                most=limits.batch,
                most_bytes=_MANY_DOCUMENT_BYTES,
            )
        description = msgspec.json.encode(openapi.document(limits, index.spec.threshold))
        self.routes: dict[str, dict[str, Handler]] = {
            "/query": {"POST": self._query},
            "/documents": {"GET": self._list, "POST": self._add, "DELETE": self._remove_all},
            "/stream": {"POST": self._stream},
            "/compact": {"POST": self._compact},
            DOCUMENT: {"GET": self._get, "DELETE": self._remove},
            "/info": {"GET": self._info},
            "/statistics": {"GET": self._statistics},
            "/health": {"GET": _sender(msgspec.json.encode(wire.Health(status="ok")))},
            "/ready": {"GET": self._ready},
            "/metrics": {"GET": self._metrics},
            "/openapi.json": {"GET": _sender(description)},
            **{path: {"GET": _sender(page_file(path), kind, PAGE_HEADERS)} for path, kind in PAGE.items()},
        }
        """Path to method to function."""

    def stop(self) -> None:
        """Have streams end after the lines that have arrived, and connections after their answer; on the event loop."""
        self._is_stopping = True
        self._streams.stop()

    def close(self) -> None:
        """Do what waits and end the threads. Nothing that was acknowledged is lost, nor is what was taken on."""
        for pool in (self._writers, self._readers, self._scanners):
            if pool is not None:
                pool.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(f"no {scope['type']} here")
        exchange = Exchange(scope, receive, send, limits=self.limits, metrics=self.metrics)
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
            self._note(exchange)

    def _note(self, exchange: Exchange) -> None:
        """Count a request that is over, and tell of it in the access log."""
        # Clients may make up any method, and each would be a line of the metrics.
        method = exchange.method if exchange.method in ("GET", "HEAD", "POST", "DELETE") else "other"
        status = exchange.status or _GONE
        seconds = time.perf_counter() - exchange.started
        self.metrics.observe(exchange.route, method, status, seconds)
        sent = 0 if method == "HEAD" else exchange.sent
        told = access.Access(
            exchange.request_id, method, exchange.route, status, sent, round(1000 * seconds, 1), exchange.role
        )
        access.note(told)

    def _handler(self, exchange: Exchange) -> Handler:
        """The function for the path and the method of a request. The route is noted for the metrics."""
        route = DOCUMENT if exchange.path.startswith(DOCUMENTS) else exchange.path
        methods = self.routes.get(route)
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

    async def _query(self, exchange: Exchange) -> None:
        body = await self._json(exchange, self.limits.query_bytes)
        query = await self._parse(wire.Query, body)
        wire.check_query(query, self.limits, self._index.spec.threshold)
        options, text = query_options(query), query.text
        if isinstance(text, str) and not (query.with_text or query.passages):
            key: QueryOptions | None = options
            value: Any = text
            if self.metrics.begun <= FEW_REQUESTS and (answer := self._reading.quick(text, options)) is not None:
                # To hand the text to a thread and back would take longer; groups pay for many clients only.
                await exchange.reply(200, answer)
                return
        else:
            key, value = None, lambda: self._reading.query(query)
        pool = self._scanners if options.reads_all else self._readers
        seconds = self.limits.answer_seconds
        await exchange.reply(200, await pool.do(key, value, seconds=seconds, size=len(body)))

    async def _list(self, exchange: Exchange) -> None:
        options = page_options(exchange)
        await exchange.reply(200, await self._call(lambda: self._reading.page(options)))

    async def _add(self, exchange: Exchange) -> None:
        writers = self._writing(exchange)
        adding = add_options(exchange)
        if _kind(exchange) == NDJSON:
            await self._streams.run(exchange, writers, adding, check=self._gate.check_still)
            return
        body = await self._json(exchange, self.limits.document_bytes, also=NDJSON)
        document = await self._parse(wire.Document, body)
        wire.check_document(document, self.limits)
        status, match = await writers.do(adding, document, seconds=self.limits.answer_seconds, size=len(body))
        if status == "duplicate":
            fault = f"the id {document.id} is there already. Choose another, or what to do with on_duplicate."
            raise Problem(409, fault, field="id")
        told = wire.Status(id=document.id, status=status, match=UNSET if match is None else match)
        await exchange.reply(201 if status == "added" else 200, msgspec.json.encode(told))

    async def _stream(self, exchange: Exchange) -> None:
        """The stream of ``POST /documents``, at a path of its own: one operation has one kind of answer there.

        Programs that make clients know bytes, and not lines of JSON, so that is a name for them here.
        """
        writers = self._writing(exchange)
        adding = add_options(exchange)
        kind = _kind(exchange)
        if kind not in (NDJSON, BYTES):
            fault = f"Content-Type must be {NDJSON.decode()} or {BYTES.decode()}."
            raise Problem(415, fault, field="Content-Type")
        await self._streams.run(exchange, writers, adding, check=self._gate.check_still, kind=kind)

    async def _get(self, exchange: Exchange) -> None:
        id = _id(exchange)
        stored = await self._call(lambda: self._index.get(id))
        if stored is None:
            raise _unknown(id)
        await exchange.reply(200, msgspec.json.encode(wire.filled(wire.StoredDocument, stored)))

    async def _remove(self, exchange: Exchange) -> None:
        writers = self._writing(exchange)
        id = _id(exchange)
        if not await writers.do(REMOVAL, id, seconds=self.limits.answer_seconds):
            raise _unknown(id)
        await exchange.reply(204, b"")

    async def _remove_all(self, exchange: Exchange) -> None:
        writers = self._writing(exchange)
        chosen = removal(exchange)
        await exchange.reply(200, await writers.do(None, chosen, seconds=self.limits.answer_seconds))

    async def _compact(self, exchange: Exchange) -> None:
        self._writing(exchange)
        await self._parse(wire.Nothing, await self._json(exchange, self.limits.query_bytes))
        # Not by the writer: the index is compacted beside changes, which would wait for it there.
        compacting = self._scanners.do(None, self._reading.compact, seconds=self.limits.answer_seconds)
        await exchange.reply(200, await compacting)

    async def _info(self, exchange: Exchange) -> None:
        told = await self._call(lambda: self._index.info().as_dict())
        info = msgspec.convert({**told, "read_only": self._index.read_only}, wire.Info)
        await exchange.reply(200, msgspec.json.encode(info))

    async def _statistics(self, exchange: Exchange) -> None:
        counting = self._scanners.do(None, self._reading.statistics, seconds=self.limits.answer_seconds)
        await exchange.reply(200, await counting)

    async def _metrics(self, exchange: Exchange) -> None:
        documents = await self._call(lambda: len(self._index))
        gauges = {
            "neardup_documents": ("Documents of the index.", documents),
            "neardup_streams": ("Streams of documents that are open.", self._streams.open),
            "neardup_buffered_bytes": ("Bytes of bodies that are held.", self.metrics.held),
            "neardup_reads_waiting": ("Requests that wait for a thread.", len(self._readers)),
            "neardup_scans_waiting": ("Requests that wait for the thread that reads all texts.", len(self._scanners)),
            "neardup_writes_waiting": ("Changes that wait for the writer.", len(self._writers or ())),
        }
        written = 0 if self._writers is None else self._writers.groups
        counters = {
            "neardup_read_groups_total": ("Calls of the index that read.", self._readers.groups),
            "neardup_write_groups_total": ("Transactions, as they were asked for.", written),
        }
        await exchange.reply(200, self.metrics.text(gauges=gauges, counters=counters).encode(), _TEXT)

    async def _ready(self, exchange: Exchange) -> None:
        if self._is_stopping:
            raise Problem.busy("the service is stopping.", "stopping")
        await self._call(lambda: len(self._index))  # a thread is free, and the index can be wire.read
        await exchange.reply(200, msgspec.json.encode(wire.Health(status="ok")))

    def _writing(self, exchange: Exchange) -> WorkerPool:
        check_may_write(exchange)
        if self._writers is None:
            raise Problem(403, "the index is open for reading only.", refused="read-only")
        return self._writers

    async def _call(self, call: Callable[[], Any]) -> Any:
        return await self._readers.do(None, call, seconds=self.limits.answer_seconds)

    async def _json(self, exchange: Exchange, most: int, *, also: bytes = b"") -> bytes:
        """The body of a request that says it is JSON.

        A browser sends this type to another site's service only after asking it, and it is told no.
        """
        if _kind(exchange) != JSON:
            kinds = JSON + (b" or " + also if also else b"")
            raise Problem(415, f"Content-Type must be {kinds.decode()}.", field="Content-Type")
        return await exchange.body(most)

    async def _parse(self, kind: type[wire.T], body: bytes) -> wire.T:
        if len(body) < _LARGE:
            return wire.read(kind, body)
        value: wire.T = await self._call(lambda: wire.read(kind, body))
        return value


def _kind(exchange: Exchange) -> bytes:
    """The media type of the body, without its parameters."""
    return (exchange.header(b"content-type") or b"").partition(b";")[0].strip().lower()


def _id(exchange: Exchange) -> str:
    """The id in the path. It may hold anything, a slash as well, and is what the percent signs stand for."""
    raw = exchange.raw_path.partition(b"?")[0]
    if not raw:  # a server that does not give the path as it came
        return exchange.path.removeprefix(DOCUMENTS)
    try:
        return unquote_to_bytes(raw).decode("utf-8").removeprefix(DOCUMENTS)
    except UnicodeDecodeError as exc:
        raise Problem(404, "the id is no UTF-8.", field="id") from exc


def _unknown(id: str) -> Problem:
    return Problem(404, f"there is no document {id!r}.", field="id")


_PAGES = {"/": ("index.html",), "/docs": ("docs.html",), "/page.css": ("page.css",)} | {
    "/page.js": ("service.js", "query.js", "browse.js", "statistics.js", "page.js"),
    "/docs.js": ("service.js", "docs.js"),
}
"""Path of a page to the files that it is made of."""
_SHARED = {
    "/page.css": styles((*SIDES_STYLES, "views")),
    "/page.js": scripts((*SIDES_SCRIPTS, "parts", "charts")),
    "/docs.js": scripts(("dom", "text", "parts")),
}
"""What stands before it: scripts and styles of the pages of a report."""


def page_file(path: str) -> bytes:
    """What a path of the pages for people gives."""
    folder = importlib.resources.files(__package__).joinpath("page")
    own = "".join(folder.joinpath(name).read_text("utf-8") for name in _PAGES[path])
    return (_SHARED.get(path, "") + own).encode("utf-8")


def _sender(body: bytes, kind: bytes = JSON, headers: Headers = ()) -> Handler:
    """Send what does not change while the service runs."""

    async def handler(exchange: Exchange) -> None:
        await exchange.reply(200, body, kind, headers)

    return handler
