"""``progress=True`` of the functions of Python: which observer it makes, and the bar of a notebook."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from neardup.engine.observe import Observer
from neardup.kernels.announce import told
from neardup.progress import Lines, observer
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


def watched(function: Callable[P, T]) -> Callable[P, T]:
    """Give a function that takes ``observer`` its ``progress=True``: a bar while it works, and nothing otherwise.

    The bar is on stderr, or below the cell of a notebook, and wiped away at the end. An observer that is given too is
    told the same.
    """

    @wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        if not given.get("progress"):
            return function(*args, **given)
        with _python_observer() as bar, told(bar.note):
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
