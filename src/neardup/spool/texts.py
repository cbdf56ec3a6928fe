"""The documents of a run by row, in memory or in two files, with one interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neardup.spool.columns import FileColumn, MemoryColumn
from neardup.types import I64, SLACK, Documents, Mask

Parts = Callable[[I64], Iterator[tuple[Documents, I64, slice]]]
"""A function that yields some documents of ``Texts``, as ``Texts.parts`` does."""


class Texts(Protocol):
    """Documents by row, in the order in which they were appended."""

    @property
    def nbytes(self) -> int:
        """The number of bytes in use, in memory or on disk."""

    def __len__(self) -> int:
        """Return the number of documents."""

    def append(self, documents: Documents) -> None:
        """Append a block of documents."""

    def lengths(self, rows: I64) -> I64:
        """Return the number of bytes of each document, int64[m]; ``rows`` may be in any order and repeat."""

    def parts(self, rows: I64, most: int | None = None) -> Iterator[tuple[Documents, I64, slice]]:
        """Yield the documents of strictly ascending rows, block by block, or at least the first ``most`` bytes of each.

        Each item is a block, the index in this block of each row found there (int64), and the slice of these ``rows``.
        """


class MemoryTexts(Texts):
    """Documents in memory: the blocks as they were appended, without copies."""

    def __init__(self) -> None:
        self.blocks: list[Documents] = []
        self._firsts = MemoryColumn(np.int64)
        self._lengths = MemoryColumn(np.int64)
        self._held = 0

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """The number of bytes that the blocks keep alive: whole buffers, offsets and lengths."""
        return self._held + self._lengths.nbytes

    def append(self, documents: Documents) -> None:
        """Append a block, which is shared, not copied."""
        owner = _owner(documents.data)
        before = _owner(self.blocks[-1].data) if self.blocks else None
        self._held += documents.offsets.nbytes + (0 if owner is before else owner.nbytes)
        self._firsts.append(np.array([len(self)], dtype=np.int64))
        self._lengths.append(np.diff(documents.offsets))
        self.blocks.append(documents)

    def lengths(self, rows: I64) -> I64:
        return self._lengths.take(rows)

    def parts(self, rows: I64, most: int | None = None) -> Iterator[tuple[Documents, I64, slice]]:
        """Yield what ``Texts.parts`` promises, in whole blocks as they were appended."""
        if rows.size == 0:
            return
        firsts = self._firsts.array
        block_of = np.searchsorted(firsts, rows, side="right") - 1
        cuts = np.concatenate(([0], np.flatnonzero(np.diff(block_of)) + 1, [rows.size]))
        for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            block = int(block_of[begin])
            yield self.blocks[block], rows[begin:end] - firsts[block], slice(begin, end)

    def same(self, left: I64, right: I64) -> Mask:
        """Return whether the documents of each pair, in any order, are equal byte for byte, without copying them."""
        lengths = self.lengths(left)
        equal: Mask = lengths == self.lengths(right)
        alike = np.flatnonzero(equal)
        equal[alike] = same_bytes(self._addresses(left[alike]), self._addresses(right[alike]), lengths[alike])
        return equal

    def _addresses(self, rows: I64) -> I64:
        """Return the memory address of the first byte of each document, int64[m]."""
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
    """Documents in two spool files, made by ``Workdir.texts``: their bytes end to end, and the offset of each end."""

    def __init__(self, data: FileColumn, ends: FileColumn) -> None:
        """Use ``data`` (uint8) and ``ends`` (int64) for reading and appending."""
        self._data = data
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def nbytes(self) -> int:
        """The number of bytes on disk."""
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
        """Yield the documents as one new block; with ``most``, no more than the first ``most`` bytes of each."""
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

    def _bounds(self, rows: I64) -> tuple[I64, I64]:
        """Return the offsets of the first byte of each document and of the byte after its last."""
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
    """Return whether the bytes at each pair of addresses are equal; the caller keeps that memory alive."""
    from neardup.kernels.equal import equal_bytes  # imported here, because checking output names needs no kernels

    equal = np.empty(lengths.size, dtype=np.bool_)
    equal_bytes(first, second, lengths, equal)
    return equal


def _owner(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array whose memory a view keeps alive."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
