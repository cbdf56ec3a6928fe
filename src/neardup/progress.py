"""What is seen while a search runs: a bar on a terminal or in a notebook, else a plain line now and then on stderr.

Here: observers, which only draw, for the command line and for ``progress=True``. What a stage is and when it advances
is the engine's business.
"""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO, TypeVar

from neardup.engine.observe import Observer, Silent
from neardup.shown import duration, megabytes, shown

if TYPE_CHECKING:
    from rich.progress import Progress

P = ParamSpec("P")
T = TypeVar("T")

EVERY_SECONDS = 10.0
"""How often a line is written when stderr is no terminal."""
NOTEBOOK_SECONDS = 0.2
"""How often, at most, the bar of a notebook is drawn: each time is a message to the browser."""

_LABELS = {
    "read": "reading and sketching",
    "candidates": "grouping into bands",
    "rarity": "looking for rare shingles",
    "join": "joining",
    "check": "checking candidates",
    "cluster": "making clusters",
    "choose": "choosing what stays",
    "write": "writing clean copies",
    "count": "counting at each threshold",
    "again": "reading the texts again",
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
        return f"{self._label}: {_state(self._done, self._total, self._unit, elapsed)}"


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


class NotebookBar:
    """Draws one bar below the cell of a notebook, five times a second at most, by what every notebook shows: HTML.

    Not by rich, which draws nothing in a notebook without ipywidgets. ``handle`` is IPython's for what is displayed;
    ``clock`` is for tests.
    """

    def __init__(self, handle: Any, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._handle = handle
        self._clock = clock
        self._label, self._unit, self._done = "starting", "", 0
        self._total: int | None = None
        self._notes: list[str] = []
        self._began = self._drawn = clock()

    def stage(self, name: str, total: int | None, unit: str) -> None:
        self._label, self._unit, self._total, self._done = _LABELS.get(name, name), unit, total, 0
        self._began = self._clock()
        self._draw()

    def advance(self, amount: int) -> None:
        self._done += amount
        if self._clock() - self._drawn >= NOTEBOOK_SECONDS:
            self._draw()

    def note(self, message: str) -> None:
        self._notes.append(f"neardup: {shown(message)}")
        self._draw()

    def close(self) -> None:
        """Wipe the bar away; notes stay."""
        self._show("")

    def _draw(self) -> None:
        self._drawn = self._clock()
        self._show(f"{self._label}: {_state(self._done, self._total, self._unit, self._drawn - self._began)}")

    def _show(self, line: str) -> None:
        value = f' value="{min(self._done, self._total)}" max="{self._total}"' if self._total else ""
        bar = f"<progress{value}></progress> {html.escape(line)}" if line else ""
        notes = [html.escape(note) for note in self._notes]
        plain = "\n".join([*self._notes, *([line] if line else [])])
        self._handle.update(
            {"text/plain": plain, "text/html": "<br>".join([*notes, *([bar] if bar else [])])}, raw=True
        )


class Both:
    """Passes everything on to two observers."""

    def __init__(self, first: Observer, second: Observer) -> None:
        self._each = (first, second)

    def stage(self, name: str, total: int | None, unit: str) -> None:
        for one in self._each:
            one.stage(name, total, unit)

    def advance(self, amount: int) -> None:
        for one in self._each:
            one.advance(amount)

    def note(self, message: str) -> None:
        for one in self._each:
            one.note(message)


def _state(done: int, total: int | None, unit: str, elapsed: float) -> str:
    amount = _amount(done, total, unit)
    if not total or done > total:
        return f"{amount}, {duration(elapsed)} so far"
    share = done / total
    left = f", {duration(elapsed * (1 - share) / share)} left" if share > 0 else ""
    return f"{share:.0%}, {amount}{left}"


def _amount(done: int, total: int | None, unit: str) -> str:
    if unit == "bytes":
        return megabytes(done) + (f" of {megabytes(total)}" if total else "")
    return f"{done:,} of {total:,} {unit}" if total else f"{done:,} {unit}".strip()


@contextmanager
def observer(*, quiet: bool) -> Iterator[Observer]:
    """Yield the observer that suits stderr; a bar is wiped away when the block ends."""
    if quiet or sys.stderr is None:
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


def watched(function: Callable[P, T]) -> Callable[P, T]:
    """Give a function that takes ``observer`` its ``progress=True``: a bar while it works, and nothing otherwise.

    The bar is on stderr, or below the cell of a notebook, and wiped away at the end. An observer that is given too is
    told the same.
    """

    @wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        if not given.get("progress"):
            return function(*args, **given)
        with _python_observer() as bar:
            own: Any = given.get("observer")
            given.update(progress=False, observer=bar if own is None else Both(bar, own))
            return function(*args, **given)

    return call


@contextmanager
def _python_observer() -> Iterator[Observer]:
    """The observer that suits where Python runs: a notebook, or what stderr is."""
    if not _is_notebook():
        with observer(quiet=False) as bar:
            yield bar
        return
    from IPython.display import display

    notebook = NotebookBar(display({"text/plain": "", "text/html": ""}, raw=True, display_id=True))
    try:
        yield notebook
    finally:
        notebook.close()


def _is_notebook() -> bool:
    """Whether this is the kernel of a notebook, which has IPython loaded."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None
