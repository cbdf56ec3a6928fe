"""The segments of a collection, walked once: a walk compares text where a segment changes its source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import fields

import numpy as np

from neardup.engine.repeats.find import Repeats
from neardup.engine.repeats.lasting import WALKED, stage_of
from neardup.engine.space import Space
from neardup.spool import Column, MemoryColumn
from neardup.stages.repeats.segments import IGNORED, Segments

MEMORY_SHARE = 0.1
"""Of the memory for data, what segments may have before they go to a file."""
BLOCK = 1 << 14
"""Segments that are handed on together."""
NAME = "segments"
_FIELDS = tuple(each.name for each in fields(Segments))


class SegmentsInOrder(ABC):
    """All segments of a collection, in the order of the text, as often as they are asked for."""

    @abstractmethod
    def __iter__(self) -> Iterator[Segments]:
        """Some thousands at a time; those that stand in templates too."""

    @abstractmethod
    def __len__(self) -> int:
        """Segments."""

    @abstractmethod
    def slice(self, first: int, stop: int) -> Segments:
        """Those from the ``first`` to before ``stop``."""

    def repeats(self) -> Iterator[Segments]:
        """Those that are repeats: all but what stands in templates."""
        for found in self:
            is_repeat = found.kind != IGNORED
            if is_repeat.all():
                yield found
            elif is_repeat.any():
                yield found.take(is_repeat)


class KeptSegments(SegmentsInOrder):
    """All segments in the order of the text: 72 bytes each, in memory, and past a share of the budget in a file."""

    def __init__(self, repeats: Repeats, space: Space) -> None:
        """Walk the pieces of ``repeats``, and forget them; or have what an interrupted run had walked."""
        if space.is_lasting:
            self._column: Column = space.scratch().column(NAME, np.int64, len(_FIELDS))
            if stage_of(space) == WALKED:
                return
        else:
            self._column = MemoryColumn(np.int64, len(_FIELDS))
        most = space.budget.share(MEMORY_SHARE)
        for part in repeats.segments():
            self._column.append(np.column_stack([getattr(part, name) for name in _FIELDS]))
            if isinstance(self._column, MemoryColumn) and self._column.nbytes > most and space.path is not None:
                self._column = space.scratch().filed(NAME, self._column)
        repeats.pieces.drop()
        space.checkpoint(repeats=WALKED)
        space.release_memory()

    def __iter__(self) -> Iterator[Segments]:
        for _, rows in self._column.scan(BLOCK):
            yield Segments(*np.ascontiguousarray(rows.T))

    def __len__(self) -> int:
        return len(self._column)

    def slice(self, first: int, stop: int) -> Segments:
        rows = self._column.slice(first, min(stop, len(self)))
        return Segments(*np.ascontiguousarray(rows.T))
