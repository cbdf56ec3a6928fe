"""The routes: what each does with a request.

Here: for each path and method one function over an ``Exchange``; ``Service`` in ``app`` finds it. Statuses, bodies
and limits are described for clients in ``openapi``.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec

from neardup.pages.assets import scripts, styles
from neardup.params import ON_DUPLICATE
from neardup.server import openapi
from neardup.server.exchange import JSON, Exchange
from neardup.server.jobs import AddOptions, IndexReader, IndexWriter, Removal, options_of
from neardup.server.limits import ServiceLimits
from neardup.server.metrics import Metrics
from neardup.server.problems import Problem
from neardup.server.security import PAGE, PAGE_HEADERS
from neardup.server.stream import NDJSON, Streams
from neardup.server.wire import (
    Document,
    Health,
    Info,
    Match,
    Query,
    Status,
    StoredDocument,
    check_query,
    check_text,
    read,
)
from neardup.server.work import WorkerPool

if TYPE_CHECKING:
    from neardup.index.store import Index

__all__ = ["DOCUMENT", "DOCUMENTS", "Handler", "Handlers", "page_file"]

Handler = Callable[[Exchange], Awaitable[None]]
T = TypeVar("T", Query, Document)

DOCUMENTS = "/documents/"
DOCUMENT = "/documents/{id}"
_LARGE = 1 << 16
"""Bytes of JSON that are read in a thread: on the event loop they would take a millisecond that others wait."""
_TEXT = b"text/plain; version=0.0.4; charset=utf-8"
_MANY_QUERIES, _MANY_QUERY_BYTES = 32, 1 << 16
_MANY_DOCUMENT_BYTES = 1 << 24


class Handlers:
    """The functions of the routes, with the pools of threads that do their work.

    Args:
        index: open; it stays the caller's to close, after ``close`` here.
        limits: of the service.
        metrics: what ``/metrics`` tells.
    """

    def __init__(self, index: Index, limits: ServiceLimits, metrics: Metrics) -> None:
        self._index, self._limits, self._metrics = index, limits, metrics
        self._reading = IndexReader(index, limits)
        self.streams = Streams(limits.streams)
        self._readers = WorkerPool(
            "read",
            self._reading,
            threads=limits.threads,
            waiting=limits.waiting,
            most=_MANY_QUERIES,
            most_bytes=_MANY_QUERY_BYTES,
        )
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
        self._openapi = msgspec.json.encode(openapi.document(limits, index.spec.threshold))

    def routes(self) -> dict[str, dict[str, Handler]]:
        """Path to method to function."""
        return {
            "/query": {"POST": self.query},
            "/documents": {"POST": self.add},
            DOCUMENT: {"GET": self.get, "DELETE": self.remove},
            "/info": {"GET": self.info},
            "/health": {"GET": self.health},
            "/metrics": {"GET": self.metrics},
            "/openapi.json": {"GET": self.openapi},
            **{path: {"GET": _sender(page_file(path), kind)} for path, kind in PAGE.items()},
        }

    def close(self) -> None:
        """Do what waits and end the threads."""
        for pool in (self._writers, self._readers):
            if pool is not None:
                pool.close()

    async def query(self, exchange: Exchange) -> None:
        """``POST /query``."""
        body = await self._json(exchange, self._limits.query_bytes)
        query = await self._parse(Query, body)
        check_query(query, self._limits, self._index.spec.threshold)
        key = options_of(query)
        value: Any = query.text if key is not None else lambda: self._reading.query(query)
        seconds = self._limits.answer_seconds
        await exchange.reply(200, await self._readers.do(key, value, seconds=seconds, size=len(body)))

    async def add(self, exchange: Exchange) -> None:
        """``POST /documents``: one, or a stream."""
        writers = self._writing()
        adding = _add_options(exchange)
        kind = _kind(exchange)
        if kind == NDJSON:
            await self.streams.run(exchange, writers, adding)
            return
        body = await self._json(exchange, self._limits.document_bytes, also=NDJSON)
        document = await self._parse(Document, body)
        check_text(document.text, self._limits)
        status, match = await writers.do(adding, document, seconds=self._limits.answer_seconds, size=len(body))
        if status == "duplicate":
            fault = f"the id {document.id} is there already. Choose another, or what to do with on_duplicate."
            raise Problem(409, fault, field="id")
        await exchange.reply(201 if status == "added" else 200, _status(document.id, status, match))

    async def get(self, exchange: Exchange) -> None:
        """``GET /documents/{id}``."""
        id = _id(exchange)
        stored = await self._call(lambda: self._index.get(id))
        if stored is None:
            raise _unknown(id)
        await exchange.reply(200, msgspec.json.encode(StoredDocument(id=stored.id, text=stored.text)))

    async def remove(self, exchange: Exchange) -> None:
        """``DELETE /documents/{id}``."""
        writers = self._writing()
        id = _id(exchange)
        if not await writers.do(Removal(), id, seconds=self._limits.answer_seconds):
            raise _unknown(id)
        await exchange.reply(204, b"")

    async def info(self, exchange: Exchange) -> None:
        """``GET /info``."""
        told = await self._call(lambda: self._index.info().as_dict())
        info = msgspec.convert({**told, "read_only": self._index.read_only}, Info)
        await exchange.reply(200, msgspec.json.encode(info))

    async def health(self, exchange: Exchange) -> None:
        """``GET /health``."""
        await exchange.reply(200, msgspec.json.encode(Health(status="ok")))

    async def metrics(self, exchange: Exchange) -> None:
        """``GET /metrics``."""
        documents = await self._call(lambda: len(self._index))
        gauges = {
            "neardup_documents": ("Documents of the index.", documents),
            "neardup_streams": ("Streams of documents that are open.", self.streams.open),
            "neardup_buffered_bytes": ("Bytes of bodies that are held.", exchange.buffered.held),
            "neardup_reads_waiting": ("Requests that wait for a thread.", len(self._readers)),
            "neardup_writes_waiting": ("Changes that wait for the writer.", len(self._writers or ())),
        }
        written = 0 if self._writers is None else self._writers.groups
        counters = {
            "neardup_read_groups_total": ("Calls of the index that read.", self._readers.groups),
            "neardup_write_groups_total": ("Transactions, as they were asked for.", written),
        }
        await exchange.reply(200, self._metrics.text(gauges=gauges, counters=counters).encode(), _TEXT)

    async def openapi(self, exchange: Exchange) -> None:
        """``GET /openapi.json``."""
        await exchange.reply(200, self._openapi)

    def _writing(self) -> WorkerPool:
        if self._writers is None:
            raise Problem(403, "the index is open for reading only.", refused="read-only")
        return self._writers

    async def _call(self, call: Callable[[], Any]) -> Any:
        return await self._readers.do(None, call, seconds=self._limits.answer_seconds)

    async def _json(self, exchange: Exchange, most: int, *, also: bytes = b"") -> bytes:
        """The body of a request that says it is JSON.

        A browser sends this type to another site's service only after asking it, and it is told no.
        """
        if _kind(exchange) != JSON:
            kinds = JSON + (b" or " + also if also else b"")
            raise Problem(415, f"Content-Type must be {kinds.decode()}.", field="Content-Type")
        return await exchange.body(most)

    async def _parse(self, kind: type[T], body: bytes) -> T:
        if len(body) < _LARGE:
            return read(kind, body)
        value: T = await self._call(lambda: read(kind, body))
        return value


def _kind(exchange: Exchange) -> bytes:
    """The media type of the body, without its parameters."""
    return (exchange.header(b"content-type") or b"").partition(b";")[0].strip().lower()


def _add_options(exchange: Exchange) -> AddOptions:
    """The parameters of ``POST /documents``."""
    known = {"on_duplicate": ON_DUPLICATE, "if_new": ("false", "true")}
    given: dict[str, str] = {}
    for name, value in parse_qsl(exchange.query_string.decode("latin-1"), keep_blank_values=True):
        if name not in known:
            raise Problem(422, f"{name} is no parameter. Known are {' and '.join(known)}.", field=name)
        if name in given:
            raise Problem(422, f"{name} is given twice.", field=name)
        if value not in known[name]:
            raise Problem(
                422, f"{name} is {value!r}. Give {', '.join(known[name][:-1])} or {known[name][-1]}.", field=name
            )
        given[name] = value
    return AddOptions(given.get("on_duplicate", "error"), given.get("if_new") == "true")


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


def _status(id: int | str, status: Any, match: Match | None) -> bytes:
    told = Status(id=id, status=status)
    if match is not None:
        told.match = match
    return msgspec.json.encode(told)


def page_file(path: str) -> bytes:
    """What a path of the page gives. Its script and style stand with those that the pages of a report have too."""
    name = path.removeprefix("/") or "index.html"
    own = importlib.resources.files(__package__).joinpath("page", name).read_text("utf-8")
    if name == "page.js":
        own = scripts(("dom", "text")) + own
    elif name == "page.css":
        own += styles(("common",))
    return own.encode("utf-8")


def _sender(body: bytes, kind: bytes) -> Handler:
    """Send a file of the page. It is read once: it does not change while the service runs."""

    async def handler(exchange: Exchange) -> None:
        await exchange.reply(200, body, kind, PAGE_HEADERS)

    return handler
