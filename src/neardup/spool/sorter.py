"""Sorting of more keys than fit into memory: sorted runs in files, merged block by block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from neardup.spool.columns import FileColumn, MemoryColumn
from neardup.spool.workdir import Workdir
from neardup.types import U64

FAN_IN = 128
"""Runs merged at a time: with more, their blocks get too short to be read well."""
BLOCK = 64
"""Fewest records of a run that are read at a time."""
MOST = 1 << 30
"""Bytes that are gathered before a run is written, whatever the budget: they are asked for at once."""
WRITE = 1 << 17
"""Records that are put in order at a time when a run is written."""

Data = NDArray[Any] | None
Block = tuple[NDArray[Any], ...]
"""Keys and, in a sorter that has one, their payload."""


class Sorter:
    """Sorts uint64 keys, with eight bytes of payload each or none, within a budget of memory.

    The order is that of the keys; equal keys keep the order in which they were added, however many runs there were.
    Made again on a reopened workdir, it has the records that were there at the last checkpoint.

    Example:
        >>> sorter = Sorter("pairs", payload=None, budget=1 << 20, workdir=None)
        >>> sorter.add(np.array([3, 1, 3], dtype=np.uint64))
        >>> [keys.tolist() for keys, _ in sorter.merged(10, unique=True)]
        [[1, 3]]
    """

    def __init__(
        self,
        name: str,
        *,
        payload: DTypeLike | None,
        budget: int,
        workdir: Workdir | None,
        spill: Callable[[], Workdir] | None = None,
    ) -> None:
        """An empty one, or the one that an interrupted run left in the workdir; a ``payload`` is of eight bytes.

        ``budget``: bytes of memory that it may hold, in adding and in merging; at least about a megabyte is taken.
        Runs go to ``workdir``. Where there is none, ``spill`` gives one when the records outgrow the budget; without
        either they stay in memory, whatever the budget.
        """
        self.name = name
        self._dtypes: dict[str, np.dtype[Any]] = {"keys": np.dtype(np.uint64)}
        if payload is not None:
            self._dtypes["data"] = np.dtype(payload)
            if self._dtypes["data"].itemsize != 8:
                raise ValueError(f"a payload of {self._dtypes['data']} is not eight bytes wide")
        self._workdir = workdir
        self._spill = spill
        self._budget = budget
        self._capacity = self._run_size() if workdir is not None else None
        self._runs: list[str] = []
        self._serial = 0
        self._written = 0
        if workdir is not None:
            self._adopt(workdir)
        self._clear()

    def __len__(self) -> int:
        """Records added."""
        return self._written + len(self._held[0])

    @property
    def nbytes(self) -> int:
        """Bytes of records held in memory now."""
        return sum(column.nbytes for column in self._held)

    def add(self, keys: U64, payload: Data = None) -> None:
        """Add records: uint64[m], and as many values of payload if this sorter has one."""
        block: Block = (keys,) if payload is None else (keys, payload)
        if [values.size for values in block] != [keys.size] * len(self._dtypes):
            raise ValueError(f"sorter {self.name}: each key needs its payload, and none where there is none")
        if len(self._held[0]) == 0 and self._capacity is not None:
            self._clear(self._capacity)
        start = 0
        while start < keys.size:
            stop = keys.size
            if self._capacity is not None:
                stop = min(stop, start + self._capacity - len(self._held[0]))
            for column, values in zip(self._held, block, strict=True):
                column.append(values[start:stop])
            self._in_order = False
            start = stop
            if len(self._held[0]) == self._capacity:
                self._write_run()
        # growing, and sorting with a payload, takes as much again as there is
        if self._workdir is None and self._spill is not None and 2 * self.nbytes > self._budget:
            self._workdir, self._capacity = self._spill(), self._run_size()
            self._write_run()
            self._clear()

    def flush(self) -> None:
        """Write what is in memory as a run, so that a checkpoint keeps it; nothing to do without a workdir."""
        if self._workdir is not None:
            if len(self._held[0]):
                self._write_run()
            self._clear()

    def merged(self, rows: int, unique: bool) -> Iterator[tuple[U64, Data]]:
        """All records in order; may be asked for again, but not while records are added.

        Yields keys, uint64[m], and their payload or None, not to be written to; at most ``rows`` at a time. If
        ``unique``, of equal keys only the record that was added first.
        """
        if self._runs:
            self.flush()
            self._narrow()
            blocks = self._merge(self._runs)
        else:
            self._sort()
            blocks = self._pieces(max(rows, 1))
        last: np.uint64 | None = None
        for keys, *data in blocks:
            if unique:
                keep = np.empty(keys.size, dtype=np.bool_)
                keep[0] = last is None or keys[0] != last
                np.not_equal(keys[1:], keys[:-1], out=keep[1:])
                last = keys[-1]
                keys, data = keys[keep], [values[keep] for values in data]
            for start in range(0, keys.size, rows):
                part = slice(start, start + rows)
                yield keys[part], data[0][part] if data else None

    def drop(self) -> None:
        """Delete the runs and forget all records."""
        for run in self._runs:
            self._delete(run)
        self._runs, self._written = [], 0
        self._clear()

    # Records in memory

    def _clear(self, room: int = 0) -> None:
        self._held = [MemoryColumn(dtype, room=room) for dtype in self._dtypes.values()]
        self._in_order = True

    def _sort(self) -> None:
        """Put what is in memory in order, there."""
        if self._in_order:
            return
        keys = self._held[0].array
        if len(self._held) == 1:
            keys.sort()
        else:
            order = np.argsort(keys, kind="stable")
            for column in self._held:
                column.array[:] = column.array[order]
        self._in_order = True

    def _pieces(self, rows: int) -> Iterator[Block]:
        for start in range(0, len(self._held[0]), rows):
            yield tuple(column.slice(start, start + rows) for column in self._held)

    # Runs

    def _run_size(self) -> int:
        """Records of a run: a key is sorted in place; with a payload the order and a sorted column lie beside both."""
        return max(1024, min(self._budget, MOST) // (8 if len(self._dtypes) == 1 else 32))

    def _adopt(self, workdir: Workdir) -> None:
        """Take over the runs that the workdir has under this name."""
        pattern = re.compile(re.escape(self.name) + r"\.(\d+)\.keys")
        found = [match for match in map(pattern.fullmatch, workdir.names(self.name + ".")) if match]
        for match in sorted(found, key=lambda match: int(match[1])):
            self._runs.append(f"{self.name}.{match[1]}")
            self._serial = int(match[1]) + 1
            self._written += len(self._columns(self._runs[-1])[0])

    def _columns(self, run: str) -> list[FileColumn]:
        assert self._workdir is not None
        return [self._workdir.column(f"{run}.{kind}", dtype) for kind, dtype in self._dtypes.items()]

    def _delete(self, run: str) -> None:
        assert self._workdir is not None
        for kind in self._dtypes:
            self._workdir.delete(f"{run}.{kind}")

    def _write_run(self) -> None:
        """Sort what is in memory, write it as a run, and keep the room for the next."""
        self._sort()
        self._runs.append(self._write(self._pieces(WRITE)))
        self._written += len(self._held[0])
        for column in self._held:
            column.clear()

    def _write(self, blocks: Iterator[Block]) -> str:
        run = f"{self.name}.{self._serial:03d}"
        self._serial += 1
        columns = self._columns(run)
        for block in blocks:
            for column, values in zip(columns, block, strict=True):
                column.append(values)
        _rest(columns)
        return run

    def _narrow(self) -> None:
        """Merge neighbouring runs until there are few enough to merge at once.

        All runs of a pass are replaced, in order, so that their numbers still tell the order of arrival.
        """
        while len(self._runs) > FAN_IN:
            groups = np.array_split(np.arange(len(self._runs)), -(-len(self._runs) // FAN_IN))
            before, after = self._runs, []
            for group in groups:
                members = [before[i] for i in group]
                after.append(self._write(self._merge(members)))
                for run in members:
                    self._delete(run)
            self._runs = after

    def _merge(self, runs: list[str]) -> Iterator[Block]:
        """Records of sorted runs in order, block by block; equal keys in the order of the runs.

        Each round gives what lies before the smallest last key that a run has in memory while more of it is on disk:
        nothing smaller can come any more. Of the keys equal to it, the runs after the first that ends with it must
        wait for the rest of that one. Memory: a block of each run, the records of a round, their order and their copy.
        """
        cursors = [_Cursor(self._columns(run)) for run in runs]
        block = max(BLOCK, self._budget // (4 * len(runs) * 8 * len(self._dtypes)))
        while True:
            for cursor in cursors:
                cursor.fill(block)
            cursors = [cursor for cursor in cursors if cursor.keys.size]
            if not cursors:
                return
            more = [i for i, cursor in enumerate(cursors) if cursor.more]
            if more:
                ending = min(more, key=lambda i: (cursors[i].keys[-1], i))
                cut = cursors[ending].keys[-1]
                parts = [
                    cursor.shift(int(np.searchsorted(cursor.keys, cut, "right" if i <= ending else "left")))
                    for i, cursor in enumerate(cursors)
                ]
            else:
                parts = [cursor.shift(cursor.keys.size) for cursor in cursors]
            yield _in_order([part for part in parts if part[0].size])


def _in_order(parts: list[Block]) -> Block:
    """Sorted parts as one; equal keys in the order of the parts."""
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if len(columns) == 1:
        columns[0].sort()
        return tuple(columns)
    order = np.argsort(columns[0], kind="stable")
    return tuple(column[order] for column in columns)


def _rest(columns: list[FileColumn]) -> None:
    """Hundreds of runs would else hold a file descriptor and a buffer each."""
    for column in columns:
        column.file.rest()


class _Cursor:
    """A place in a sorted run, and the block that follows it in memory."""

    def __init__(self, columns: list[FileColumn]) -> None:
        self._columns = columns
        self._next = 0
        self._block: Block = tuple(np.empty(0, dtype=column.dtype) for column in columns)

    @property
    def keys(self) -> U64:
        """Those in memory."""
        return self._block[0]

    @property
    def more(self) -> bool:
        """Whether there is more of the run on disk."""
        return self._next < len(self._columns[0])

    def fill(self, block: int) -> None:
        """Read on when less than half a block is left: a run that is nearly used up would make rounds short."""
        if self.keys.size >= (block + 1) // 2 or not self.more:
            return
        stop = self._next + block - self.keys.size
        more = [column.slice(self._next, stop) for column in self._columns]
        self._block = tuple(map(np.concatenate, zip(self._block, more, strict=True)))
        self._next = min(stop, len(self._columns[0]))
        _rest(self._columns)

    def shift(self, count: int) -> Block:
        """Give the next records and go past them."""
        given = tuple(values[:count] for values in self._block)
        self._block = tuple(values[count:] for values in self._block)
        return given
