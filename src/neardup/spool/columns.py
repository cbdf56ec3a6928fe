"""Values of each row, of a fixed width, in memory or in a file, with one face.

Files are not mapped into memory: mapped pages would count against the memory limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from neardup.spool.files import SpoolFile
from neardup.types import I64


class Column(Protocol):
    """Values of each row: ``width`` 1: one value a row, arrays are [m]; else arrays are [m, width]."""

    dtype: np.dtype[Any]
    width: int
    """Values in a row."""

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return len(self) * self.width * self.dtype.itemsize

    def __len__(self) -> int:
        """Rows."""

    def append(self, values: NDArray[Any]) -> None:
        """Add rows at the end. A dtype that does not fit without loss, or another width, raises ValueError."""

    def take(self, rows: I64) -> NDArray[Any]:
        """A new array of some rows, in any order, repeats allowed. A row that is not there raises IndexError."""

    def slice(self, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start`` to ``stop``, cut at the end; not to be written to, for it may be the column itself."""

    def scan(self, rows: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """All rows, that many at a time, each block with the number of its first row; as ``slice`` gives them."""
        for start in range(0, len(self), rows):
            yield start, self.slice(start, start + rows)


class MemoryColumn(Column):
    """A column in memory."""

    def __init__(self, dtype: DTypeLike, width: int = 1, *, room: int = 0) -> None:
        """An empty one; ``room`` rows come without growing. Room that is not touched costs no memory."""
        self.dtype = np.dtype(dtype)
        self.width = width
        self._values: NDArray[Any] = np.empty(room if width == 1 else (room, width), dtype=self.dtype)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def array(self) -> NDArray[Any]:
        """All rows: a contiguous view, true until the next append."""
        return self._values[: self._used]

    def append(self, values: NDArray[Any], more: float = 0.0) -> None:
        """Add rows; ``more`` says how many times what there is then is still to come, as far as can be guessed."""
        values = _checked(values, self.dtype, self.width)
        need = self._used + values.shape[0]
        if need > self._values.shape[0]:
            room = max(need + int(1.2 * more * need), need + need // 2)
            grown = np.empty((room, *self._values.shape[1:]), dtype=self.dtype)
            grown[: self._used] = self.array
            self._values = grown
        self._values[self._used : need] = values
        self._used = need

    def clear(self) -> None:
        """Forget all rows and keep the room."""
        self._used = 0

    def take(self, rows: I64) -> NDArray[Any]:
        _check_rows(rows, self._used)
        return self.array[rows]

    def slice(self, start: int, stop: int) -> NDArray[Any]:
        return self.array[start:stop]


class FileColumn(Column):
    """A column in a spool file, made by ``Workdir.column``. Appends and reads as ``SpoolFile`` allows them."""

    def __init__(self, file: SpoolFile) -> None:
        """Read and append the records of ``file``."""
        self.file = file
        self.dtype = np.dtype(file.label.dtype)
        self.width = file.label.width

    def __len__(self) -> int:
        return self.file.count

    def append(self, values: NDArray[Any]) -> None:
        """Add rows at the end; they are in memory until about a quarter of a megabyte is together."""
        values = np.ascontiguousarray(_checked(values, self.dtype, self.width), dtype=self.dtype)
        if values.size:
            self.file.append(_raw(values))

    def take(self, rows: I64) -> NDArray[Any]:
        """As ``Column.take``. Memory: the answer, 24 bytes a row, and the order of the rows."""
        _check_rows(rows, len(self))
        steps = np.diff(rows)
        if rows.size and bool(np.all(steps == 1)):
            return self.slice(int(rows[0]), int(rows[-1]) + 1)
        if not bool(np.all(steps > 0)):
            distinct, place = np.unique(rows, return_inverse=True)
            return self.take(distinct)[place]
        out, record = self._room(rows.size), self.file.label.record
        self.file.gather(rows * record, np.full(rows.size, record, dtype=np.int64), out.reshape(-1).view(np.uint8))
        return out

    def slice(self, start: int, stop: int) -> NDArray[Any]:
        start, stop, _ = slice(start, stop).indices(len(self))
        out = self._room(max(0, stop - start))
        if out.size:
            self.file.read(start * self.file.label.record, _raw(out))
        return out

    def _room(self, rows: int) -> NDArray[Any]:
        return np.empty(rows if self.width == 1 else (rows, self.width), dtype=self.dtype)


def _raw(values: NDArray[Any]) -> memoryview:
    return values.reshape(-1).view(np.uint8).data


def _checked(values: NDArray[Any], dtype: np.dtype[Any], width: int) -> NDArray[Any]:
    if width == 1 and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape[1:] != (() if width == 1 else (width,)) or values.ndim == 0:
        raise ValueError(f"rows are of shape {values.shape[1:]} and the column's width is {width}")
    if not np.can_cast(values.dtype, dtype, "safe"):
        raise ValueError(f"values of {values.dtype} do not fit into a column of {dtype}")
    return values


def _check_rows(rows: I64, count: int) -> None:
    if rows.size and (int(rows.min()) < 0 or int(rows.max()) >= count):
        raise IndexError(f"rows from {rows.min()} to {rows.max()} were asked of a column of {count}")
