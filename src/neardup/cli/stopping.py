"""How a command is stopped: by Ctrl-C at once, with a moment to put its work in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from neardup.cli import interrupted, stop_now

if TYPE_CHECKING:
    from neardup.engine.observe import Observer

__all__ = ["Stoppable", "in_background", "stoppable"]

GRACE = 2.0
"""Seconds that a stopped search has to come to an end, so that its workdir is closed or removed in order."""

Outcome = TypeVar("Outcome")


class Stoppable:
    """An observer that passes everything on until it is stopped; then it ends the search at its next step."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End the search at its next step."""
        self._stopped.set()

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Pass on that a stage begins, or end the search."""
        self._go_on()
        self._observer.stage(name, total, unit)

    def advance(self, amount: int) -> None:
        """Pass on what is done, or end the search."""
        self._go_on()
        self._observer.advance(amount)

    def note(self, message: str) -> None:
        """Pass on a line for the user."""
        self._observer.note(message)

    def _go_on(self) -> None:
        if self._stopped.is_set():
            raise KeyboardInterrupt


@contextmanager
def stoppable(*, quiet: bool) -> Iterator[Stoppable]:
    """An observer that shows on stderr what is going on, unless ``quiet``; a bar is wiped away at the end."""
    from neardup.cli.progress import observer

    with observer(quiet=quiet) as shown:
        yield Stoppable(shown)


def in_background(ctx: click.Context, work: Callable[[], Outcome], stoppable: Stoppable) -> Outcome:
    """Do ``work`` in a thread and wait for it, so that this thread is free to hear Ctrl-C at once.

    A compiled kernel or a pool of threads would keep the main thread from seeing the signal until it returns. After
    Ctrl-C the work has a moment to end; then the process does, and the workdir is as of its last checkpoint.
    """
    from concurrent.futures import Future

    if interrupted.is_set():
        raise KeyboardInterrupt  # it came while a library was being imported, which did not pass it on
    future: Future[Outcome] = Future()

    def do() -> None:
        try:
            future.set_result(work())
        except BaseException as exc:
            future.set_exception(exc)

    threading.Thread(target=do, name="neardup-work", daemon=True).start()
    try:
        return future.result()
    except KeyboardInterrupt:
        stoppable.stop()
        try:
            future.exception(timeout=GRACE)
        except (TimeoutError, KeyboardInterrupt):
            stop_now(ctx)
        raise
