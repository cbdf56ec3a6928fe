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


class Slabs:
    """Hands out uninitialised buffers; safe to use from several threads."""

    def __init__(self) -> None:
        self._slab: U8 = np.empty(0, dtype=np.uint8)
        self._lock = threading.Lock()

    def take(self, size: int) -> U8:
        """A buffer of ``size`` bytes that nobody else has; large ones are allocated by themselves."""
        if size > SLAB_BYTES // 2:
            return np.empty(size, dtype=np.uint8)
        with self._lock:
            if size > self._slab.size:
                self._slab = np.empty(SLAB_BYTES, dtype=np.uint8)
            taken, self._slab = self._slab[:size], self._slab[size:]
        return taken
