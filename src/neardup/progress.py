"""What is seen on stderr while a search runs, and what is logged: a bar on a terminal, else a plain line now and then.

Here: observers, which only draw or log. What a stage is and when it advances is the engine's business; the bar of a
notebook is in ``watching``.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from neardup import logs
from neardup.engine.observe import Observer, Silent
from neardup.shown import duration, megabytes, shown

if TYPE_CHECKING:
    from rich.progress import Progress

EVERY_SECONDS = 10.0
"""How often a line is written when stderr is no terminal."""
LOG_SECONDS = 60.0
"""How often a stage is logged that takes longer."""

_LABELS = {
    "read": "reading and sketching",
    "candidates": "grouping into bands",
    "rarity": "looking for rare shingles",
    "crowds": "looking for crowds",
    "join": "joining",
    "check": "checking candidate pairs",
    "cluster": "making clusters",
    "choose": "choosing what stays",
    "write": "writing clean copies",
    "count": "counting at each threshold",
    "again": "reading the texts again",
    "chain": "chaining passages",
    "pages": "marking passages",
    "report": "writing pages",
    "add": "adding",
    "verify": "checking documents",
    "copy": "copying",
    "build": "building the index",
    "query": "querying",
}


class Lines:
    """Writes a line about the running stage every ten seconds, and each note when it comes.

    A stage that ends sooner leaves no line. ``clock`` is for tests.
    """

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._lock = threading.Lock()
        self._label, self._unit, self._done = "", "", 0
        self._total: int | None = None
        self._began = self._told = clock()

    def stage(self, name: str, total: int | None, unit: str) -> None:
        with self._lock:
            self._label, self._unit, self._total, self._done = _LABELS.get(name, name), unit, total, 0
            self._began = self._clock()

    def advance(self, amount: int) -> None:
        with self._lock:
            self._done += amount
            now = self._clock()
            if now - self._told >= EVERY_SECONDS:
                self._told = now
                self.note(self._state(now - self._began))

    def note(self, message: str) -> None:
        self._stream.write(f"neardup: {shown(message)}\n")
        self._stream.flush()

    def _state(self, elapsed: float) -> str:
        amount = [_amount(self._done, self._total, self._unit)] if self._unit else []
        if not self._total or self._done > self._total:
            return f"{self._label}: {', '.join([*amount, duration(elapsed)])} so far"
        share = self._done / self._total
        left = [f"{duration(elapsed * (1 - share) / share)} left"] if share > 0 else []
        return f"{self._label}: {', '.join([f'{share:.0%}', *amount, *left])}"


class Bar:
    """Draws one bar for the running stage, with the share done and the time left."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None, amount="")
        self._unit = ""
        self._total: int | None = None

    def stage(self, name: str, total: int | None, unit: str) -> None:
        self._unit, self._total = unit, total
        self._progress.reset(self._task, description=_LABELS.get(name, name), total=total, completed=0, amount="")

    def advance(self, amount: int) -> None:
        self._progress.update(self._task, advance=amount)
        done = int(self._progress.tasks[0].completed)
        self._progress.update(self._task, amount=_amount(done, self._total, self._unit))

    def note(self, message: str) -> None:
        self._progress.console.print(f"neardup: {shown(message)}", markup=False, highlight=False)


def _amount(done: int, total: int | None, unit: str) -> str:
    """How much is done; nothing where there is no unit of work that means something to a person."""
    if not unit:
        return ""
    if unit == "bytes":
        return megabytes(done) + (f" of {megabytes(total)}" if total else "")
    return f"{done:,} of {total:,} {unit}" if total else f"{done:,} {unit}".strip()


class StageLog:
    """Logs each stage when it begins and when it ends, each note, and once a minute how far a stage is."""

    is_logged = True

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` is for tests."""
        self._clock = clock
        self._name: str | None = None
        self._unit, self._done = "", 0
        self._total: int | None = None
        self._began = self._told = clock()

    def stage(self, name: str, total: int | None, unit: str) -> None:
        self.end()
        self._name, self._unit, self._total, self._done = name, unit, total, 0
        self._began = self._told = self._clock()
        self._log("began", f"{_LABELS.get(name, name)}: begins", total=total)

    def advance(self, amount: int) -> None:
        self._done += amount
        if self._clock() - self._told >= LOG_SECONDS:
            self._told = self._clock()
            self._log("progress", "", done=self._done, total=self._total, seconds=self._seconds())

    def note(self, message: str) -> None:
        logs.RUN.warning("%s", message, extra=logs.fields(event="note"))

    def end(self, *, is_broken: bool = False) -> None:
        """The stage at work ends, because it is done or because the run fails."""
        if self._name is not None:
            event = "broken" if is_broken else "ended"
            self._log(event, "broken off after " if is_broken else "", done=self._done, seconds=self._seconds())
        self._name = None

    def _seconds(self) -> float:
        return round(self._clock() - self._began, 4)

    def _log(self, event: str, told: str, *, total: int | None = None, **facts: Any) -> None:
        name = str(self._name)
        if event != "began":
            amount = _amount(self._done, total, self._unit)
            told = f"{_LABELS.get(name, name)}: {told}{', '.join(filter(None, (amount, duration(self._seconds()))))}"
        known = {"unit": self._unit or None, "total": total}
        shown_facts = {key: value for key, value in {**known, **facts}.items() if value is not None}
        logs.RUN.info("%s", told, extra=logs.fields(event=f"stage_{event}", stage=name, **shown_facts))


class Both:
    """Passes everything on to two observers."""

    def __init__(self, first: Observer, second: Observer) -> None:
        self._each = (first, second)
        self.is_logged = is_logged(first) or is_logged(second)

    def stage(self, name: str, total: int | None, unit: str) -> None:
        for one in self._each:
            one.stage(name, total, unit)

    def advance(self, amount: int) -> None:
        for one in self._each:
            one.advance(amount)

    def note(self, message: str) -> None:
        for one in self._each:
            one.note(message)


def is_logged(observer: Any) -> bool:
    """Whether what an observer is told goes to the log already."""
    return bool(getattr(observer, "is_logged", False))


@contextmanager
def logging_too(observer: Observer) -> Iterator[Observer]:
    """An observer that logs too, where anybody listens to what ``neardup.run`` has to say."""
    if is_logged(observer) or not logs.RUN.isEnabledFor(logging.INFO):
        yield observer
        return
    log = StageLog()
    try:
        yield Both(observer, log)
    except BaseException:
        log.end(is_broken=True)
        raise
    log.end()


@contextmanager
def observer(*, quiet: bool) -> Iterator[Observer]:
    """Yield the observer that suits stderr, and logs too; a bar is wiped away when the block ends."""
    with _drawing(quiet=quiet) as drawn, logging_too(drawn) as watching:
        yield watching


@contextmanager
def _drawing(*, quiet: bool) -> Iterator[Observer]:
    if quiet or sys.stderr is None or logs.has_stderr():
        yield Silent()
    elif not sys.stderr.isatty():
        yield Lines(sys.stderr)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[amount]}", markup=False),
            TimeRemainingColumn(compact=True),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield Bar(progress)
