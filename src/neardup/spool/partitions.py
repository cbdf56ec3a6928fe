"""Rows of whole numbers in parts: written block by block, in memory or in a file, and taken part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from neardup.cutting import starts_of
from neardup.spool.columns import FileColumn
from neardup.spool.workdir import Workdir
from neardup.types import I64, U64

STRETCHES = 8
"""Stretches of parts whose rows are kept in arrays of their own, so that each can be forgotten by itself."""


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
        self._bounds = [parts * i // STRETCHES for i in range(STRETCHES + 1)]
        self._blocks: list[list[tuple[U64, I64]]] = [[] for _ in range(STRETCHES)]
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
        """Add uint64[n, width], ordered by part: part p is ``rows[starts[p] : starts[p + 1]]``. They are copied."""
        if not rows.shape[0]:
            return
        self.sizes += np.diff(starts)
        for i, blocks in enumerate(self._blocks):
            inside = starts[self._bounds[i] : self._bounds[i + 1] + 1]
            some = rows[inside[0] : inside[-1]].copy()
            if some.size:
                blocks.append((some, inside - inside[0]))
                self._held += some.nbytes + inside.nbytes
        if self._held > self._budget and self._spill is not None:
            self.file_all()

    def file_all(self) -> None:
        """Write what is in memory to the file."""
        if self._spill is None or not any(self._blocks):
            return
        if self._file is None:
            self._workdir = self._spill()
            self._file = self._workdir.column(self.name, np.uint64, self.width)
        at = len(self._file)
        sizes = np.zeros(self.parts, dtype=np.int64)
        for i, blocks in enumerate(self._blocks):
            first, stop = self._bounds[i], self._bounds[i + 1]
            for _, starts in blocks:
                sizes[first:stop] += np.diff(starts)
            for part in range(stop - first):
                for rows, starts in blocks:
                    piece = rows[starts[part] : starts[part + 1]]
                    if piece.size:
                        self._file.append(piece)
            blocks.clear()
        self._runs.append(starts_of(sizes) + at)
        self._file.file.rest()  # nothing in its buffer: several threads may read, but not while one of them writes it
        self._held = 0

    def take(self, first: int, stop: int) -> U64:
        """uint64[m, width]: the rows of parts ``first`` to below ``stop``, those of each part in their order."""
        found = list(self._pieces(first, stop, max(1, len(self))))
        return np.concatenate(found) if found else np.empty((0, self.width), dtype=np.uint64)

    def scan(self, part: int, most: int) -> Iterator[U64]:
        """The rows of a part in their order, ``most`` at a time."""
        held: list[U64] = []
        room = most
        for rows in self._pieces(part, part + 1, most):
            while room <= rows.shape[0]:
                yield np.concatenate([*held, rows[:room]])
                held, rows, room = [], rows[room:], most
            held.append(rows)
            room -= rows.shape[0]
        if room < most:
            yield np.concatenate(held)

    def _pieces(self, first: int, stop: int, most: int) -> Iterator[U64]:
        """The rows of some parts, from the file ``most`` at a time; not to be written to."""
        for run in self._runs:
            end = int(run[stop])
            for begin in range(int(run[first]), end, most):
                if self._file is not None:
                    yield self._file.slice(begin, min(begin + most, end)).reshape(-1, self.width)
        for i, blocks in enumerate(self._blocks):
            low, high = (
                min(max(part, self._bounds[i]), self._bounds[i + 1]) - self._bounds[i] for part in (first, stop)
            )
            if low < high:
                yield from (rows[starts[low] : starts[high]] for rows, starts in blocks if starts[low] < starts[high])

    def forget(self, stop: int) -> bool:
        """Forget the rows of parts before ``stop`` that are in memory, as far as they can be; whether there were any.

        ``sizes`` stays as it is.
        """
        found = False
        for i, blocks in enumerate(self._blocks):
            if self._bounds[i + 1] <= stop and blocks:
                self._held -= sum(rows.nbytes + starts.nbytes for rows, starts in blocks)
                blocks.clear()
                found = True
        return found

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
        self.forget(self.parts)
        self._held, self._runs = 0, []
        self.sizes = np.zeros(self.parts, dtype=np.int64)
        if self._file is not None and self._workdir is not None:
            for name in self._workdir.names(self.name):
                self._workdir.delete(name)
            self._file = None
