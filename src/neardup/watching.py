"""``progress=True`` of the functions of Python: which observer it makes, and the bar of a notebook."""

from __future__ import annotations

import html
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from neardup import logs
from neardup.engine.observe import Observer, Silent
from neardup.progress import Both, Lines, is_logged, logging_too, observer
from neardup.shown import shown

NOTEBOOK_SECONDS = 0.2
"""How often, at most, the bar of a notebook is drawn: each time is a message to the browser."""
P = ParamSpec("P")
T = TypeVar("T")


class NotebookBar(Lines):
    """Draws one bar below the cell of a notebook, five times a second at most, by what every notebook shows: HTML.

    Not by rich, which draws nothing in a notebook without ipywidgets. ``handle`` is IPython's for what is displayed;
    ``clock`` is for tests.
    """

    def __init__(self, handle: Any, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(sys.stderr, clock=clock)
        self._handle = handle
        self._notes: list[str] = []

    def stage(self, name: str, total: int | None, unit: str) -> None:
        super().stage(name, total, unit)
        self._draw()

    def advance(self, amount: int) -> None:
        self._done += amount
        if self._clock() - self._told >= NOTEBOOK_SECONDS:
            self._draw()

    def note(self, message: str) -> None:
        self._notes.append(f"neardup: {shown(message)}")
        self._draw()

    def close(self) -> None:
        """Wipe the bar away; notes stay."""
        self._label = ""
        self._draw()

    def _draw(self) -> None:
        self._told = self._clock()
        plain, rich = list(self._notes), list(map(html.escape, self._notes))
        if self._label:
            line = self._state(self._told - self._began)
            value = f' value="{min(self._done, self._total)}" max="{self._total}"' if self._total else ""
            plain.append(line)
            rich.append(f"<progress{value}></progress> {html.escape(line)}")
        self._handle.update({"text/plain": "\n".join(plain), "text/html": "<br>".join(rich)}, raw=True)


def watched(function: Callable[P, T]) -> Callable[P, T]:
    """Give a function that takes ``observer`` its ``progress=True``: a bar while it works, and nothing otherwise.

    The bar is on stderr, or below the cell of a notebook, and wiped away at the end. An observer that is given too is
    told the same.
    """

    @wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        own: Any = given.get("observer")
        listens = not is_logged(own) and logs.RUN.isEnabledFor(logging.INFO)
        with ExitStack() as stack:
            if given.get("progress"):
                bar = stack.enter_context(_python_observer())
                own = bar if own is None else Both(bar, own)
                given.update(progress=False, observer=own)
            if listens:
                given["observer"] = stack.enter_context(logging_too(own or Silent()))
            made = function(*args, **given)
        if listens:
            _log_summary(made)
        return made

    return call


def _log_summary(made: Any) -> None:
    summary: Any = getattr(made, "summary", None)
    if hasattr(summary, "as_dict"):
        facts = logs.fields(event="summary", summary=logs.counts(summary.as_dict()))
        logs.RUN.info("%r", summary, extra=facts)


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
