"""Rows of whole numbers in parts: written block by block, in memory or in a file, and taken part by part."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neardup.cutting import starts_of
from neardup.spool.columns import FileColumn
from neardup.spool.workdir import Workdir
from neardup.types import I64, U64


class Partitions:
    """Rows of ``width`` uint64 in parts. The rows of a part come back in the order in which they were added.

    Example:
        >>> parts = Partitions("rows", width=1, parts=2, budget=1 << 20, spill=None)
        >>> parts.add(np.array([[7], [8], [9]], dtype=np.uint64), np.array([0, 1, 3]))
        >>> parts.take(1, 2).ravel().tolist()
        [8, 9]
    """

    def __init__(self, name: str, *, width: int, parts: int, budget: int, spill: Callable[[], Workdir] | None) -> None:
        """An empty one. What is more than ``budget`` bytes goes to a file of the workdir that ``spill`` gives."""
        self.name, self.width, self.parts = name, width, parts
        self.sizes: I64 = np.zeros(parts, dtype=np.int64)
        """int64[parts]: rows of each."""
        self._budget = budget
        self._spill = spill
        self._blocks: list[tuple[U64, I64]] = []
        self._held = 0
        self._file: FileColumn | None = None
        self._workdir: Workdir | None = None
        self._runs: list[I64] = []

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @property
    def is_filed(self) -> bool:
        """Whether some of it is in a file."""
        return self._file is not None

    def add(self, rows: U64, starts: I64) -> None:
        """Add uint64[n, width], ordered by part: part p is ``rows[starts[p] : starts[p + 1]]``."""
        if not rows.shape[0]:
            return
        self.sizes += np.diff(starts)
        self._blocks.append((rows, starts))
        self._held += rows.nbytes + starts.nbytes
        if self._held > self._budget and self._spill is not None:
            self.file_all()

    def file_all(self) -> None:
        """Write what is in memory to the file."""
        if self._spill is None or not self._blocks:
            return
        if self._file is None:
            self._workdir = self._spill()
            self._file = self._workdir.column(self.name, np.uint64, self.width)
        at = len(self._file)
        sizes: I64 = np.stack([np.diff(starts) for _, starts in self._blocks]).sum(axis=0)
        self._runs.append(starts_of(sizes) + at)
        for part in np.flatnonzero(sizes).tolist():
            for rows, starts in self._blocks:
                piece = rows[starts[part] : starts[part + 1]]
                if piece.size:
                    self._file.append(piece)
        self._file.file.rest()  # nothing in its buffer: several threads may read, but not while one of them writes it
        self._blocks, self._held = [], 0

    def take(self, first: int, stop: int, *, mask: int = 0, wanted: int = 0) -> U64:
        """uint64[m, width]: the rows of parts ``first`` to below ``stop``, one part behind the other.

        With a ``mask`` only rows of which the first number is ``wanted`` under it.
        """
        found = []
        for part in range(first, stop):
            for run in self._runs:
                if run[part] < run[part + 1] and self._file is not None:
                    rows = self._file.slice(int(run[part]), int(run[part + 1])).reshape(-1, self.width)
                    found.append(_kept(rows, mask, wanted))
            found += [_kept(rows[starts[part] : starts[part + 1]], mask, wanted) for rows, starts in self._blocks]
        if not found:
            return np.empty((0, self.width), dtype=np.uint64)
        return np.concatenate(found)

    def keep(self) -> None:
        """Have all rows in the file, and beside it where the parts of each run begin: a checkpoint makes them last."""
        assert self._spill is not None, "rows that last need a workdir"
        self.file_all()
        starts = self._spill().column(f"{self.name}-runs", np.int64, self.parts + 1)
        for run in self._runs:
            starts.append(run.reshape(1, -1))

    def restore(self) -> None:
        """Become what was kept by an interrupted run."""
        assert self._spill is not None, "rows that last need a workdir"
        self._workdir = self._spill()
        self._file = self._workdir.column(self.name, np.uint64, self.width)
        starts = self._workdir.column(f"{self.name}-runs", np.int64, self.parts + 1)
        self._runs = list(starts.slice(0, len(starts)))
        for run in self._runs:
            self.sizes += np.diff(run)

    def drop(self) -> None:
        """Forget all rows, and delete the files."""
        self._blocks, self._held, self._runs = [], 0, []
        self.sizes = np.zeros(self.parts, dtype=np.int64)
        if self._file is not None and self._workdir is not None:
            for name in self._workdir.names(self.name):
                self._workdir.delete(name)
            self._file = None


def _kept(rows: U64, mask: int, wanted: int) -> U64:
    return rows[rows[:, 0] & np.uint64(mask) == np.uint64(wanted)] if mask else rows
