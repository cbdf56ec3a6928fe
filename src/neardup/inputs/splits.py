"""Inputs in pieces that different machines read independently of each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neardup.inputs.reader import Reader
from neardup.inputs.source import Source, Task


@dataclass(frozen=True, slots=True)
class Split:
    """A piece of a source."""

    part: int
    kind: str
    first: int
    stop: int
    nbytes: int


class SplitReading:
    """The tasks of a split."""

    is_relative = False

    def __init__(self, source: Source) -> None:
        self._source = source
        self.records = 0

    def tasks(self) -> Iterator[Task]:
        """As ``Source.tasks``."""
        yield from self._source.tasks()


def plan_splits(reader: Reader, most_bytes: int) -> list[Split]:
    """The splits of all sources, in input order."""
    return [Split(i, "whole", 0, 0, part.total_bytes or 0) for i, part in enumerate(reader.parts)]


def read_split(source: Source, split: Split) -> SplitReading:
    """Read one."""
    return SplitReading(source)
