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


class Scaled(Silent):
    """Passes on what is done of ``steps`` as so much of an ``amount`` that it stands for."""

    def __init__(self, observer: Observer, steps: int, amount: int) -> None:
        """Without steps all is done at once."""
        self._observer, self._steps, self._amount, self._done = observer, steps, amount, 0
        if not steps:
            observer.advance(amount)

    def advance(self, amount: int) -> None:
        before = self._done * self._amount // self._steps
        self._done += amount
        self._observer.advance(self._done * self._amount // self._steps - before)


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
