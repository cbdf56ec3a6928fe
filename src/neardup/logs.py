"""What happens in a run, as records of the standard library's logging: the logger ``neardup`` and those below it.

``neardup.run`` has stages, notes and summaries, ``neardup.inputs`` records that were left out, ``neardup.server`` and
``neardup.access`` the service and its requests. No record has a text of a document in it: names of files, ids, counts.
The library writes no record anywhere by itself. A program sets up logging in its own way, or by ``writing``, which is
what the command line does for ``--log-level``, ``--log-format`` and ``--log-file``.

Further facts of a record are in its attribute ``fields``, which ``fields()`` makes: in JSON they stand beside the
message.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from neardup.errors import NeardupError
from neardup.shown import shown

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
RUN = logging.getLogger("neardup.run")
INPUTS = logging.getLogger("neardup.inputs")
_ALL = logging.getLogger("neardup")
_ALL.addHandler(logging.NullHandler())  # else Python prints warnings where a program has set nothing up


_written: list[logging.Handler] = []
"""What ``writing`` writes by now."""


def is_written() -> bool:
    """Whether ``writing`` writes a log now, wherever it goes."""
    return bool(_written)


def has_stderr() -> bool:
    """Whether ``writing`` writes to stderr now, which then nothing else is to be drawn on."""
    return any(isinstance(each, _Stderr) for each in _written)


def fields(**facts: Any) -> dict[str, Any]:
    """Facts of a record, for the argument ``extra`` of a logger; plain JSON values."""
    return {"fields": facts}


def skipped(faults: Any) -> None:
    """Log records that cannot be used and are left out (``Fault``)."""
    for fault in faults:
        INPUTS.warning("left out: %s", fault, extra=fields(event="skipped", source=fault.source, row=fault.row))


def counts(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Of a summary what cannot hold any text: numbers, tables of numbers, the names of its spec and of its method."""
    words = ("spec_id", "version", "method", "engine")
    return {
        name: value
        for name, value in summary.items()
        if _is_number(value)
        or (name in words and isinstance(value, str))
        or (isinstance(value, dict) and value and all(map(_is_number, value.values())) and name == "seconds")
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float))


def traced(exc: BaseException) -> str:
    """The traceback of an error and of its causes, without what foreign errors say, which may quote a document."""
    parts = []
    each: BaseException | None = exc
    seen: set[int] = set()
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        where = traceback.format_tb(each.__traceback__)
        parts.append("".join(["Traceback (most recent call last):\n", *where, kind_of(each)]))
        each = each.__cause__ or each.__context__
    return "\nwhich came of this error:\n".join(parts)


def kind_of(exc: BaseException) -> str:
    """The kind of an error; what it says too where it is neardup's own or the system's."""
    import sqlite3

    kind = type(exc)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    return f"{name}: {exc}" if isinstance(exc, (NeardupError, OSError, sqlite3.Error)) else name


def time_of(record: logging.LogRecord) -> str:
    """When a record was made: UTC, to the millisecond."""
    moment = datetime.fromtimestamp(record.created, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


class Text(logging.Formatter):
    """One line a record: time (UTC), level, logger, message. What would steer a terminal is escaped."""

    def format(self, record: logging.LogRecord) -> str:
        message = " ".join(map(shown, self._told(record).split("\n")))
        return f"{time_of(record)} {record.levelname} {record.name}: {message}"

    def _told(self, record: logging.LogRecord) -> str:
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        return "\n".join(filter(None, (record.getMessage(), trace)))


class Json(Text):
    """One JSON object a line: time, level, logger, message, and the fields of the record. In ASCII."""

    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, "fields", None)
        told = {"time": time_of(record), "level": record.levelname.lower(), "logger": record.name}
        return json.dumps({**told, "message": self._told(record), **(facts or {})}, default=str)


class _Plain(Text):
    """What is said, as it is, on as many lines as it has."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(shown, self._told(record).split("\n")))


class _Stderr(logging.Handler):
    """Writes to what is stderr at that time. A stderr that is closed or full ends nothing."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            return


def _file(path: str) -> logging.Handler:
    """A handler that writes behind what the file has, and begins a new one when it is moved away (logrotate)."""
    from logging.handlers import WatchedFileHandler

    class Lasting(WatchedFileHandler):
        is_told = False

        def emit(self, record: logging.LogRecord) -> None:
            try:
                super().emit(record)
            except OSError:  # the file was moved away, and another one cannot be made
                self.handleError(record)

        def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 the name is logging's
            """A run does not end because its log cannot be written: that is told once."""
            if not self.is_told and sys.stderr is not None:
                self.is_told = True
                print(f"neardup: the log cannot be written to {shown(path)}: {sys.exc_info()[1]}", file=sys.stderr)

        def close(self) -> None:
            with suppress(OSError):  # what could not be written before cannot be now
                super().close()

    return Lasting(path, encoding="utf-8", errors="backslashreplace")


@contextmanager
def writing(*, level: str = "info", format: str = "text", file: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """While this lasts, write the records of ``neardup`` and the loggers below it to stderr, or behind a file.

    ``level`` is one of LEVELS, ``format`` of FORMATS. OSError where the file cannot be opened. Handlers that a program
    has set up are left as they are.
    """
    handler = _Stderr() if file is None else _file(os.fspath(file))
    handler.setFormatter(Json() if format == "json" else Text())
    before = _ALL.level
    _ALL.addHandler(handler)
    _ALL.setLevel(level.upper())
    _written.append(handler)
    try:
        yield
    finally:
        _written.remove(handler)
        _ALL.removeHandler(handler)
        _ALL.setLevel(before)
        handler.close()


@contextmanager
def telling_faults(name: str) -> Iterator[None]:
    """While this lasts, tell warnings and errors of one logger on stderr, unless a log is written there anyway.

    For a service: with the handler of ``neardup`` above, Python by itself prints nothing of them.
    """
    if has_stderr():
        yield
        return
    logger, handler = logging.getLogger(name), _Stderr(logging.WARNING)
    handler.setFormatter(_Plain())
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
