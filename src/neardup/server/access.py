"""The access log: a line for each request, as text or JSON, to the logger ``neardup.access``.

Nothing that a user wrote stands in it: no text, no id, no parameter, no header. The path is that of the route, such as
``/documents/{id}``, and a method or path that the service does not know is told as ``other``. The one thing that comes
from outside is an ``X-Request-Id`` of letters, digits and a few signs, by which a proxy's log and this one are brought
together.

Where the command writes a log (``--log-format`` and the like), requests are records of that, in its form and its place.
"""

from __future__ import annotations

import contextlib
import logging
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TextIO

import msgspec

from neardup import logs

FORMATS = ("text", "json", "off")
REQUEST_ID = b"x-request-id"
_SANE = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_log = logging.getLogger("neardup.access")
_ids = random.Random()


@dataclass(frozen=True, slots=True)
class Access:
    """One request, as the log tells of it."""

    request_id: str
    method: str
    path: str
    """Of the route; ``other`` where there is none, ``-`` where the request could not be read."""
    status: int
    """499: the client went before the answer."""
    bytes: int
    """Of the body of the answer."""
    milliseconds: float
    """From the head of the request to the end of the answer."""
    role: str | None
    """Of the token; None where there was none, or a wrong one."""


def request_id(headers: list[tuple[bytes, bytes]]) -> str:
    """The id that a request brings, if it is a short plain word; else a new one."""
    given = next((value for name, value in headers if name == REQUEST_ID), b"")
    # Random, but not secret: the system's random bytes would take 7 % of the time of a request.
    return given.decode("ascii") if _SANE.fullmatch(given) else f"{_ids.getrandbits(64):016x}"


def note(access: Access) -> None:
    """Log a request, where anything listens."""
    if not _log.isEnabledFor(logging.INFO):
        return
    size, took = f"{access.bytes} B", f"{access.milliseconds:.1f} ms"
    words = access.request_id, access.method, access.path, access.status, size, took, access.role or "-"
    _log.info("%s", " ".join(map(str, words)), extra=logs.fields(event="request", **asdict(access)))


@contextlib.contextmanager
def logging_to(stream: TextIO | None, form: str) -> Iterator[None]:
    """Have the access log written to a stream, stderr when None, while the block runs; ``off``: to none.

    In the place of stderr it goes to the log of the run, in the form of that, where one is written.
    """
    before = _log.level, _log.propagate
    handler: logging.Handler = logging.NullHandler()
    if form == "off":
        _log.setLevel(logging.CRITICAL + 1)  # a log of the run has no requests either
    else:
        _log.setLevel(logging.INFO)
        if stream is not None or not logs.is_written():
            handler = logging.StreamHandler(stream or sys.stderr)
            handler.setFormatter(_Json() if form == "json" else _Text())
            _log.propagate = False  # its lines have a form of their own
    _log.addHandler(handler)
    try:
        yield
    finally:
        _log.removeHandler(handler)
        _log.setLevel(before[0])
        _log.propagate = before[1]


class _Text(logging.Formatter):
    """Time, request id, method, path, status, bytes, milliseconds, role."""

    def format(self, record: logging.LogRecord) -> str:
        return f"{logs.time_of(record)} {record.getMessage()}"


class _Json(logging.Formatter):
    """The same as a JSON object, with ``time`` first."""

    def format(self, record: logging.LogRecord) -> str:
        told = {name: value for name, value in record.__dict__["fields"].items() if name != "event"}
        return msgspec.json.encode({"time": logs.time_of(record), **told}).decode("utf-8")
