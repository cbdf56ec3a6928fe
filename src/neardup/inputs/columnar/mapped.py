"""Files mapped into memory, so that columns are read without a copy, whose pages are let go on the way.

A page of a mapped file counts as memory of the process as long as it stays mapped, which would break a memory limit.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

import pyarrow as pa

__all__ = ["map_file"]


def map_file(path: str) -> tuple[pa.BufferReader, Callable[[], None]]:
    """Map a file that is not empty.

    Returns:
        A pyarrow file over it, and a function that lets go of all pages; what is still looked at is read again.

    Raises:
        OSError: the file cannot be opened.
    """
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def rest() -> None:
        if hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)

    return pa.BufferReader(pa.py_buffer(mapped)), rest
