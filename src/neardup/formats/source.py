"""The shape that all readers share: options, a source of tasks, and the record of what was wrong.

A reader is a small class with ``name``, ``total_bytes`` and ``tasks()``. Each task is independent of the
others and returns one ``Batch``. Resolving what the user gave into sources is in ``inputs``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from neardup.errors import InputError
from neardup.types import Batch, Fault

__all__ = ["BATCH_BYTES", "BATCH_DOCUMENTS", "MAX_FAULTS", "Faults", "ReadOptions", "Source", "Task"]

BATCH_BYTES = 4 << 20
"""Input bytes that one batch holds, about: enough to keep a thread busy, little beside any memory limit."""

BATCH_DOCUMENTS = 1 << 14
"""Documents that one batch holds at most: their signatures take memory however short the texts are."""

MAX_FAULTS = 100
"""Faults that a batch lists; the rest are only counted."""

Task: TypeAlias = Callable[[], Batch]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How every source of one run is read; the fields are the arguments of ``open_inputs``."""

    text: str | None = None
    id: str | None = None
    encoding: str = "utf-8"
    on_bad: str = "fail"
    item: bool = False
    block: int | None = None
    boilerplate: str = "keep"


class Source(Protocol):
    """One input that gives batches."""

    @property
    def name(self) -> str:
        """The input as the user named it; the default id is ``name:row``."""

    @property
    def total_bytes(self) -> int | None:
        """Bytes of input as stored; None when unknown."""

    def tasks(self) -> Iterator[Task]:
        """Yield tasks in input order: cheap to make, independent to run."""


class Faults:
    """What was wrong in one task: raises at the first bad record under ``fail``, counts under ``skip``."""

    __slots__ = ("count", "first", "on_bad", "source")

    def __init__(self, source: str, on_bad: str) -> None:
        self.source = source
        self.on_bad = on_bad
        self.count = 0
        self.first: list[Fault] = []

    def add(self, row: int, reason: str, cure: str = "", *, source: str | None = None) -> None:
        """Note that the record at 1-based ``row`` cannot be used.

        Args:
            row: line or row in the source.
            reason: what is wrong, with the value, no full stop.
            cure: a sentence for the user's hand, said before "--on-bad skip".
            source: the file, where the batch's source has several.

        Raises:
            InputError: bad records are to fail the run.
        """
        if self.on_bad != "skip":
            fault = Fault(source if source is not None else self.source, int(row), reason)
            cure = f"{cure} Or" if cure else "Mend it, or"
            raise InputError(f"{fault}. {cure} leave out bad records with --on-bad skip (on_bad='skip').")
        self.note(row, reason, source=source)

    def note(self, row: int, reason: str, *, source: str | None = None) -> None:
        """Note a record that is left out whatever ``on_bad`` says; the arguments are those of ``add``."""
        self.count += 1
        if len(self.first) < MAX_FAULTS:
            self.first.append(Fault(source if source is not None else self.source, int(row), reason))
