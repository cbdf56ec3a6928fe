"""A stream of documents: JSON lines in, one status line out for each, in their order.

A batch of lines is one transaction, written by the pool, and its status lines are sent only when it is durable. It ends
when it is full, or when no more has arrived: a client that sends a line and waits gets its status at once, one that
sends many gets few transactions.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from neardup.server.exchange import Exchange
from neardup.server.jobs import AddOptions, LineBatch
from neardup.server.problems import Problem, problem_of
from neardup.server.wire import LineStatus
from neardup.server.work import WorkerPool

NDJSON, BYTES = b"application/x-ndjson", b"application/octet-stream"
_PAUSE = 0.005
"""Seconds without a byte after which the lines that are there become a batch."""
_LATEST = 0.1
"""Seconds that a line waits for its batch at most, however the next ones trickle in."""
_BATCH_BYTES = 1 << 24
"""Of the lines of a batch: it ends when they reach this."""
_BOM = b"\xef\xbb\xbf"


class Streams:
    """All streams of a service: how many there may be, and that they end when it stops."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.open = 0
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Have every stream end after the lines that have arrived. Called on the event loop."""
        self._stopping.set()

    async def run(
        self,
        exchange: Exchange,
        writers: WorkerPool,
        adding: AddOptions,
        *,
        check: Callable[[Exchange], None],
        kind: bytes = NDJSON,
    ) -> None:
        """Work off the stream that is the body of a request; ``kind`` is the media type of the answer.

        ``check`` raises Problem when who sends it may write no more: it is asked before each batch.
        """
        if self.open >= self._most:
            raise Problem.busy(f"{self.open} streams are open already. Try again later.", "streams")
        self.open += 1
        try:
            await _Stream(exchange, writers, adding, self._stopping, check, kind).run()
        finally:
            self.open -= 1


@dataclass(slots=True)
class _Lines:
    """Bytes cut into lines; one that grows beyond ``most`` bytes is dropped up to its end, and stands as None."""

    most: int
    whole: list[bytes | None] = field(default_factory=list)
    size: int = 0
    """Bytes of the whole lines."""
    rest: bytearray = field(default_factory=bytearray)
    """Of the line that has no end yet."""
    is_dropping: bool = False

    def feed(self, data: bytes) -> None:
        first, *others = data.split(b"\n")
        self._grow(first)
        for piece in others:
            self._end()
            self._grow(piece)

    def finish(self) -> None:
        """The last line needs no line feed."""
        if self.rest or self.is_dropping:
            self._end()

    def take(self, most: int) -> list[bytes | None]:
        taken, self.whole = self.whole[:most], self.whole[most:]
        self.size = sum(len(line) for line in self.whole if line)
        return taken

    def _grow(self, piece: bytes) -> None:
        self.rest += piece
        if len(self.rest) > self.most:
            self.rest.clear()
            self.is_dropping = True

    def _end(self) -> None:
        self.whole.append(None if self.is_dropping else bytes(self.rest))
        self.size += len(self.rest)
        self.rest.clear()
        self.is_dropping = False


@dataclass(eq=False)
class _Stream:
    """One stream, from its first byte to its last status."""

    _exchange: Exchange
    _writers: WorkerPool
    _adding: AddOptions
    _stopping: asyncio.Event
    _check: Callable[[Exchange], None]
    _kind: bytes
    _next: int = 1
    """Number of the first line that no batch has had."""
    _fed: bool = False
    _chunk: asyncio.Task[bytes] | None = None

    def __post_init__(self) -> None:
        self._limits = self._exchange.limits
        self._lines = _Lines(self._limits.document_bytes)

    async def run(self) -> None:
        """Until the body ends, the service stops, or a line does not come."""
        stop = asyncio.create_task(self._stopping.wait())
        try:
            why = await self._read(stop)
            while self._lines.whole:
                await self._commit()
            if why is not None:
                await self._stopped(why)
        except _Failed as failed:
            await self._stopped(str(failed))
        finally:
            stop.cancel()
            if self._chunk is not None and not self._chunk.cancel():
                self._chunk.exception()  # taken note of, or asyncio would tell of it
        await self._write(b"")  # the head of the answer, where there was no line
        await self._exchange.end()

    async def _read(self, stop: asyncio.Task[bool]) -> str | None:
        """Feed and commit until there is no more; return why the stream ended before its end."""
        now = asyncio.get_running_loop().time
        line_due, commit_due = now() + self._limits.receive_seconds, math.inf
        while self._chunk is not None or not self._exchange.is_read:  # the last may come while a batch is written
            if stop.done():
                return "the service is stopping; this line and those after it were not added."
            if now() >= line_due:
                self._exchange.metrics.refused["slow"] += 1
                return f"no whole line arrived within {self._limits.receive_seconds:g} s."
            if self._chunk is None:
                self._chunk = asyncio.create_task(self._exchange.chunk())
            pause = _PAUSE if self._lines.whole else line_due - now()
            await asyncio.wait({self._chunk, stop}, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            is_quiet = not self._chunk.done()
            if not is_quiet:
                chunk, self._chunk = self._chunk.result(), None
                if self._feed(chunk):
                    line_due = now() + self._limits.receive_seconds
                    commit_due = min(commit_due, now() + _LATEST)
            if self._lines.whole and (is_quiet or self._is_full() or now() >= commit_due):
                await self._commit()
                while self._is_full():  # a chunk may hold many batches of short lines
                    await self._commit()
                line_due, commit_due = now() + self._limits.receive_seconds, math.inf
        self._lines.finish()
        return None

    def _feed(self, chunk: bytes) -> bool:
        """Cut a chunk into lines; whether one came to its end. Too much held is a Problem, or ends what has begun."""
        if not self._fed and chunk:
            chunk, self._fed = chunk.removeprefix(_BOM), True
        had = len(self._lines.whole)
        self._lines.feed(chunk)
        self._exchange.release()
        try:
            self._exchange.hold(self._lines.size + len(self._lines.rest))
        except Problem as problem:
            if self._exchange.status is None:
                raise
            raise _Failed(problem.error) from problem
        return len(self._lines.whole) > had

    def _is_full(self) -> bool:
        return len(self._lines.whole) >= self._limits.batch or self._lines.size >= _BATCH_BYTES

    async def _commit(self) -> None:
        """Make a batch durable and send its status lines."""
        first = self._next
        try:
            self._check(self._exchange)
        except Problem as problem:
            raise _Failed(problem.error) from problem
        lines = self._lines.take(self._limits.batch)
        try:
            told = await self._writers.do(None, LineBatch(self._adding, first, lines), seconds=None, must=True)
        except Exception as exc:
            raise _Failed(problem_of(exc).error) from exc
        self._next += len(lines)
        await self._write(told)

    async def _stopped(self, why: str) -> None:
        """Say that neither the next line nor what follows was added."""
        status = LineStatus(line=self._next, status="stopped", error=why)
        await self._write(msgspec.json.encode(status) + b"\n")

    async def _write(self, told: bytes) -> None:
        if self._exchange.status is None:
            await self._exchange.begin(200, [(b"content-type", self._kind)], keep=True)
        await self._exchange.write(told)


class _Failed(Exception):
    """A batch could not be written, or may not be: the stream ends before it."""
