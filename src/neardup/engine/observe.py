"""Who is told how far a run is, and the stages of a run: each is timed, and gives back its memory at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from neardup.engine.space import Space


class Observer(Protocol):
    """Told about stages as they pass. Called from one thread."""

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """A stage begins; ``total`` units of work when known. Without a ``unit`` only their share is to be shown."""

    def advance(self, amount: int) -> None:
        """So many more units of the stage are done."""

    def note(self, message: str) -> None:
        """One line for the user."""


class Silent:
    """An observer that says nothing."""

    def stage(self, name: str, total: int | None, unit: str) -> None: ...

    def advance(self, amount: int) -> None: ...

    def note(self, message: str) -> None: ...


class Stages:
    """The stages of a run, one after the other."""

    def __init__(self, space: Space, observer: Observer) -> None:
        """None has begun yet; after each the memory of ``space`` is released."""
        self.seconds: dict[str, float] = {}
        """Wall time of each stage that has ended; a stage that came twice has the sum."""
        self.observer = observer
        self._space = space

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str | None = None) -> Iterator[None]:
        """Work on a stage inside of this; without a ``unit`` of work the observer is not told of it."""
        if unit is not None:
            self.observer.stage(name, total, unit)
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
        self._space.release_memory()
