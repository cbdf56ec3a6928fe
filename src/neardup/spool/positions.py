"""Bytes of an open file by their place in it, from several threads at a time, on every system.

Windows has neither ``pread`` nor ``pwrite``: there the descriptor is moved and then used, by one thread at a time.
"""

from __future__ import annotations

import os
import threading

_moving = threading.Lock()
"""Held while a descriptor is moved and used, for a descriptor has one place only."""


def read_at(fd: int, into: memoryview, at: int) -> int:
    """Read bytes from byte ``at`` on into ``into`` (uint8); how many there were, 0 at the end of the file."""
    if hasattr(os, "preadv"):
        return os.preadv(fd, [into], at)
    if hasattr(os, "pread"):
        found = os.pread(fd, into.nbytes, at)
    else:
        with _moving:
            os.lseek(fd, at, os.SEEK_SET)
            found = os.read(fd, into.nbytes)
    into[: len(found)] = found
    return len(found)


def write_at(fd: int, data: memoryview, at: int) -> int:
    """Write bytes from byte ``at`` on; how many were written."""
    if hasattr(os, "pwrite"):
        return os.pwrite(fd, data, at)
    with _moving:
        os.lseek(fd, at, os.SEEK_SET)
        return os.write(fd, data)
