"""What the pipeline tells about its progress, and its stopwatch."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Observer", "Silent", "Stopwatch", "peak_memory"]


class Observer(Protocol):
    """Told about stages as they pass. Called from one thread."""

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """A stage begins; ``total`` units of work when known."""

    def advance(self, amount: int) -> None:
        """So many more units of the stage are done."""

    def note(self, message: str) -> None:
        """One line for the user."""


class Silent:
    """An observer that says nothing."""

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Say nothing."""

    def advance(self, amount: int) -> None:
        """Say nothing."""

    def note(self, message: str) -> None:
        """Say nothing."""


class Stopwatch:
    """Seconds of wall time by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Add the time spent inside to stage ``name``."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin


def peak_memory() -> int:
    """Largest resident memory of this process so far, in bytes; 0 where the system does not tell."""
    try:
        # what getrusage tells on Linux begins with the memory of the process that started this one
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
