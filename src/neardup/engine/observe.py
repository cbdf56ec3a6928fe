"""Report the progress of a run, and run its stages: each stage is timed, and its memory is released at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from neardup.engine.space import Space


class Observer(Protocol):
    """Receives progress updates for the stages of a run, all from one thread."""

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Begin a stage of ``total`` units of work, if known. With an empty ``unit``, show only the share done."""

    def advance(self, amount: int) -> None:
        """Add ``amount`` finished units of work to the stage."""

    def note(self, message: str) -> None:
        """Show the user one line of text."""


class Silent:
    """An observer that ignores all updates."""

    def stage(self, name: str, total: int | None, unit: str) -> None: ...

    def advance(self, amount: int) -> None: ...

    def note(self, message: str) -> None: ...


class Stages:
    """The stages of a run, one after the other."""

    def __init__(self, space: Space, observer: Observer) -> None:
        """Prepare to run stages. After each, the unused memory of ``space`` is released."""
        self.seconds: dict[str, float] = {}
        """The wall time of each stage that has ended. A stage that ran twice has the sum."""
        self.observer = observer
        self._space = space

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str | None = None) -> Iterator[None]:
        """Time the ``with`` block as a stage. The observer sees the stage only if a ``unit`` is given."""
        if unit is not None:
            self.observer.stage(name, total, unit)
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
        self._space.release_memory()
