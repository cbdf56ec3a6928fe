"""Bytes cut into buffers of whole lines, and a line that is longer than may be held into pieces."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np

from neardup.inputs.streams.encodings import Feed
from neardup.types import I64, SLACK, U8

__all__ = ["BOM", "LAST", "NEWLINE", "PART", "WHOLE", "Slabs", "count_lines", "cuts", "first_newline", "line_ends"]

NEWLINE = 10
BOM = b"\xef\xbb\xbf"
WHOLE, PART, LAST = 0, 1, 2
"""What a buffer has: whole lines, a piece of one that is too long, the last piece of it."""
SLAB_BYTES = 32 << 20
HUGE_PAGE = 2 << 20


def _fresh() -> U8:
    """A slab that begins at a huge page; what lies before it is never touched."""
    slab = np.empty(SLAB_BYTES + HUGE_PAGE, dtype=np.uint8)
    return slab[-slab.ctypes.data % HUGE_PAGE :][:SLAB_BYTES]


class Slabs:
    """Hands out uninitialised byte buffers, cut from large allocations; safe to use from several threads.

    A fresh buffer costs a page fault every 4 KB, which on a virtual machine is dearer than reading the page: a quarter
    of a run's time. NumPy asks the system for huge pages in large arrays, so one slab serves many buffers with few
    faults. A slab is freed when the last buffer cut from it is.
    """

    def __init__(self) -> None:
        self._slab: U8 = np.empty(0, dtype=np.uint8)
        self._returned: list[U8] = []
        self._lock = threading.Lock()

    def take(self, size: int) -> U8:
        """A buffer of ``size`` bytes that nobody else has; large ones are allocated by themselves."""
        with self._lock:
            if self._returned and self._returned[-1].size == size:
                return self._returned.pop()
            if size > SLAB_BYTES // 2:
                return np.empty(size, dtype=np.uint8)
            if size > self._slab.size:
                self._slab = _fresh()
            taken, self._slab = self._slab[:size], self._slab[size:]
        return taken

    def give_back(self, buffer: U8) -> None:
        """Offer a buffer that nobody looks at any more to the next who takes one of its size.

        A large one, made for one long line, is let go: it would be held until the end of the input.
        """
        if buffer.size <= SLAB_BYTES // 2:
            with self._lock:
                self._returned.append(buffer)


def cuts(feed: Feed, block_bytes: int, slabs: Slabs, most: int) -> Iterator[tuple[U8, int, int]]:
    """Buffers of whole lines and how many bytes of each are meant; of a line of more than ``most`` bytes its pieces."""
    block_bytes = max(block_bytes, SLACK)  # the byte order mark must fit into the first
    data = slabs.take(block_bytes + SLACK)
    held = 0  # bytes at the start of data that were read before
    seen = 0  # bytes of them that have no newline
    first = True
    is_long = False  # the unfinished line is longer than may be held
    while True:
        capacity = data.size - SLACK
        got = feed.fill(memoryview(data)[held:capacity])  # type: ignore[arg-type]
        size = held + got
        ended = size < capacity
        data[size : size + SLACK] = NEWLINE
        if first and data[: min(size, len(BOM))].tobytes() == BOM:
            data = data[len(BOM) :]
            size -= len(BOM)
        first = False
        if is_long:
            cut = first_newline(data, size) + 1
            is_long = not cut and not ended
            yield data, cut or size, PART if is_long else LAST
            if ended and cut in (0, size):
                return
            data, held = (data, 0) if is_long else _moved(data, cut, size, block_bytes, slabs, most)
            seen = 0
            continue
        cut = size if ended else _last_newline(data, seen, size) + 1
        if cut > 0:
            yield data, cut, WHOLE
        if ended:
            return
        is_long = cut == 0 and size > most
        if is_long:
            yield data, size, PART
            data, held = slabs.take(block_bytes + SLACK), 0
        else:
            data, held = _moved(data, cut, size, block_bytes, slabs, most)
        seen = held


def _moved(data: U8, cut: int, size: int, block_bytes: int, slabs: Slabs, most: int) -> tuple[U8, int]:
    """The unfinished line behind ``cut`` at the start of a buffer with room for more; a line of ``most`` bytes fits."""
    rest = size - cut
    room = max(block_bytes, min(2 * rest, most + 1))
    following = slabs.take(room + SLACK)
    following[:rest] = data[cut:size]  # may be data itself, given back; NumPy copies overlaps rightly
    return following, rest


def first_newline(data: U8, size: int) -> int:
    """Position of the first newline in ``data[:size]``, -1 without one."""
    step = 1 << 14
    for start in range(0, size, step):
        found = np.flatnonzero(data[start : min(start + step, size)] == NEWLINE)
        if found.size:
            return start + int(found[0])
    return -1


def _last_newline(data: U8, start: int, stop: int) -> int:
    """Position of the last newline in ``data[start:stop]``, -1 without one."""
    step = 1 << 14
    while stop > start:
        low = max(start, stop - step)
        found = np.flatnonzero(data[low:stop] == NEWLINE)
        if found.size:
            return low + int(found[-1])
        stop, step = low, min(2 * step, 1 << 20)
    return -1


def count_lines(data: U8, size: int) -> int:
    """Lines in ``data[:size]``, an unfinished last one included."""
    step = 1 << 17  # the comparison's result stays in the cache
    text = data[:size]
    count = sum(int(np.count_nonzero(text[i : i + step] == NEWLINE)) for i in range(0, size, step))
    return count + int(data[size - 1] != NEWLINE)


def line_ends(data: U8, size: int) -> I64:
    """int64[lines]: the place behind each line of ``data[:size]``."""
    ends = np.flatnonzero(data[:size] == NEWLINE) + 1
    return ends if data[size - 1] == NEWLINE else np.append(ends, size)
