"""The documents of a run by row, in memory or in two files, with one face."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neardup.cutting import cut
from neardup.spool.columns import FileColumn, MemoryColumn
from neardup.types import I64, SLACK, Documents, Mask

PAIRS_AT_A_TIME = 1 << 18
"""Pairs compared at a time."""
_PAIR = 64
"""Bytes of memory that a document takes beside its text while it is compared."""


class Texts(Protocol):
    """Documents by row, in the order in which they came."""

    @property
    def nbytes(self) -> int:
        """Bytes held, in memory or on disk."""

    def __len__(self) -> int:
        """Documents."""

    def append(self, documents: Documents) -> None:
        """Add a block at the end."""

    def lengths(self, rows: I64) -> I64:
        """int64[m]: bytes of some documents, in any order, repeats allowed."""

    def parts(self, rows: I64, most: int | None = None) -> Iterator[tuple[Documents, I64, slice]]:
        """Some documents, strictly rising, block by block; of each its first ``most`` bytes at least.

        Yields a block; int64: the place in that block of each row found there; the slice of ``rows`` that these are.
        """

    def same(self, left: I64, right: I64, room: int) -> Mask:
        """Whether pairs of documents are equal, byte for byte; those of one left document best follow each other.

        ``room``: bytes of texts to hold beside those in memory.
        """
        equal = np.empty(left.size, dtype=np.bool_)
        for start in range(0, left.size, PAIRS_AT_A_TIME):
            part = slice(start, start + PAIRS_AT_A_TIME)
            lengths = self._lengths_of(left[part])
            alike = lengths == self._lengths_of(right[part])
            alike[alike] = self._same(left[part][alike], right[part][alike], lengths[alike], room)
            equal[part] = alike
        return equal

    def _lengths_of(self, rows: I64) -> I64:
        """As ``lengths``, where many rows are the same or out of order."""
        return self.lengths(rows)

    def _same(self, left: I64, right: I64, lengths: I64, room: int) -> Mask:
        """As ``same``, of pairs that have these lengths."""


class MemoryTexts(Texts):
    """Documents in memory: the blocks as they came, none copied."""

    def __init__(self) -> None:
        self.blocks: list[Documents] = []
        self._firsts = MemoryColumn(np.int64)
        self._lengths = MemoryColumn(np.int64)
        self._held = 0

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """Bytes that the blocks keep alive, whole buffers counted, and their offsets and lengths."""
        return self._held + self._lengths.nbytes

    def append(self, documents: Documents) -> None:
        """Add a block at the end; it is shared, not copied."""
        owner = _owner(documents.data)
        before = _owner(self.blocks[-1].data) if self.blocks else None
        self._held += documents.offsets.nbytes + (0 if owner is before else owner.nbytes)
        self._firsts.append(np.array([len(self)], dtype=np.int64))
        self._lengths.append(np.diff(documents.offsets))
        self.blocks.append(documents)

    def lengths(self, rows: I64) -> I64:
        return self._lengths.take(rows)

    def parts(self, rows: I64, most: int | None = None) -> Iterator[tuple[Documents, I64, slice]]:
        """As ``Texts.parts``: the blocks that hold them, whole."""
        if rows.size == 0:
            return
        firsts = self._firsts.array
        block_of = np.searchsorted(firsts, rows, side="right") - 1
        cuts = np.concatenate(([0], np.flatnonzero(np.diff(block_of)) + 1, [rows.size]))
        for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            block = int(block_of[begin])
            yield self.blocks[block], rows[begin:end] - firsts[block], slice(begin, end)

    def _same(self, left: I64, right: I64, lengths: I64, room: int) -> Mask:
        """Nothing is copied."""
        return same_bytes(self._addresses(left), self._addresses(right), lengths)

    def _addresses(self, rows: I64) -> I64:
        """int64[m]: where in memory the bytes of some documents begin."""
        firsts = self._firsts.array
        block_of = np.searchsorted(firsts, rows, side="right") - 1
        order = np.argsort(block_of, kind="stable")
        cuts = np.flatnonzero(np.diff(block_of[order])) + 1
        found = np.empty(rows.size, dtype=np.int64)
        for at in np.split(order, cuts) if rows.size else []:
            block = int(block_of[at[0]])
            documents = self.blocks[block]
            found[at] = documents.data.ctypes.data + documents.offsets[rows[at] - firsts[block]]
        return found


class FileTexts(Texts):
    """Documents in two spool files, made by ``Workdir.texts``: the bytes end to end, and where each document ends."""

    def __init__(self, data: FileColumn, ends: FileColumn) -> None:
        """Read and append ``data`` (uint8) and ``ends`` (int64)."""
        self._data = data
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def nbytes(self) -> int:
        """Bytes on disk."""
        return self._data.nbytes + self._ends.nbytes

    def append(self, documents: Documents) -> None:
        first, last = int(documents.offsets[0]), int(documents.offsets[-1])
        before = self._data.nbytes
        self._data.append(documents.data[first:last])
        self._ends.append(documents.offsets[1:] - first + before)

    def lengths(self, rows: I64) -> I64:
        starts, stops = self._bounds(rows)
        return stops - starts

    def parts(self, rows: I64, most: int | None = None) -> Iterator[tuple[Documents, I64, slice]]:
        """As ``Texts.parts``: one new block of just these, and of no more than their first ``most`` bytes."""
        if rows.size == 0:
            return
        starts, stops = self._bounds(rows)
        if most is not None:
            stops = np.minimum(stops, starts + most)
        offsets = np.zeros(rows.size + 1, dtype=np.int64)
        np.cumsum(stops - starts, out=offsets[1:])
        data = np.empty(int(offsets[-1]) + SLACK, dtype=np.uint8)
        data[-SLACK:] = 0
        self._data.file.gather(starts, stops - starts, data)
        yield Documents(data, offsets), np.arange(rows.size), slice(0, rows.size)

    def _lengths_of(self, rows: I64) -> I64:
        distinct, place = np.unique(rows, return_inverse=True)
        return self.lengths(distinct)[place]

    def _same(self, left: I64, right: I64, lengths: I64, room: int) -> Mask:
        """As many pairs at a time as ``room`` has space for are read in the order of the file, each document once."""
        held = np.full(left.size, 2, dtype=np.int64)
        held[1:] -= left[1:] == left[:-1]  # then the left document is there already
        runs = cut((lengths + _PAIR) * held, room)
        equal = [self._compared(left[run], right[run], lengths[run], room) for run in runs]
        return np.concatenate([np.empty(0, dtype=np.bool_), *equal])

    def _compared(self, left: I64, right: I64, lengths: I64, room: int) -> Mask:
        if left.size == 1 and 2 * int(lengths[0]) > room:  # two that do not fit are read piece by piece, side by side
            return np.array([self._same_pieces(int(left[0]), int(right[0]), room // 2)])
        rows, place = np.unique(np.concatenate((left, right)), return_inverse=True)
        ((documents, _, _),) = self.parts(rows)
        begins = documents.data.ctypes.data + documents.offsets[place]
        return same_bytes(begins[: left.size], begins[left.size :], lengths)

    def _same_pieces(self, left: int, right: int, room: int) -> bool:
        starts, stops = self._bounds(np.array([left, right]))
        step = max(room, 1 << 14)
        for at in range(0, int(stops[0] - starts[0]), step):
            size = min(step, int(stops[0] - starts[0]) - at)
            first, second = np.empty(size, dtype=np.uint8), np.empty(size, dtype=np.uint8)
            self._data.file.read(int(starts[0]) + at, first.data)
            self._data.file.read(int(starts[1]) + at, second.data)
            if not np.array_equal(first, second):
                return False
        return True

    def _bounds(self, rows: I64) -> tuple[I64, I64]:
        """First byte, and the one after the last, of some documents."""
        if rows.size and int(rows[0]) + rows.size - 1 == int(rows[-1]) and bool(np.all(np.diff(rows) == 1)):
            first = int(rows[0])
            if first < 0 or first + rows.size > len(self):
                raise IndexError(f"rows from {first} on were asked of {len(self)} documents")
            ends = self._ends.slice(max(0, first - 1), first + rows.size)
            ends = np.concatenate((np.zeros(1, np.int64), ends)) if first == 0 else ends
            return ends[:-1], ends[1:]
        ends = self._ends.take(np.concatenate((rows, np.maximum(rows - 1, 0))))
        starts, stops = ends[rows.size :], ends[: rows.size]
        starts[rows == 0] = 0
        return starts, stops


def same_bytes(first: I64, second: I64, lengths: I64) -> Mask:
    """Whether the bytes at pairs of addresses are the same; the caller keeps what lies there."""
    from neardup.kernels.equal import equal_bytes  # here: whoever checks names of outputs needs no numba

    equal = np.empty(lengths.size, dtype=np.bool_)
    equal_bytes(first, second, lengths, equal)
    return equal


def _owner(array: NDArray[Any]) -> NDArray[Any]:
    """The array whose memory a view keeps alive."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
