"""Byte buffers cut from large allocations.

A fresh buffer costs a page fault every 4 KB, which on a virtual machine is dearer than reading the page: a quarter of a
run's time. NumPy asks the system for huge pages in large arrays, so one slab serves many buffers with few faults.
A slab is freed when the last buffer cut from it is.
"""

from __future__ import annotations

import threading

import numpy as np

from neardup.types import U8

__all__ = ["Slabs"]

SLAB_BYTES = 32 << 20
HUGE_PAGE = 2 << 20


def _fresh() -> U8:
    """A slab that begins at a huge page; what lies before it is never touched."""
    slab = np.empty(SLAB_BYTES + HUGE_PAGE, dtype=np.uint8)
    return slab[-slab.ctypes.data % HUGE_PAGE :][:SLAB_BYTES]


class Slabs:
    """Hands out uninitialised buffers; safe to use from several threads."""

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
