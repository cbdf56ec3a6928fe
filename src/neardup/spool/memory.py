"""What the machine has left of memory, and what this process takes of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["available_memory", "peak_memory", "resident_memory"]


def available_memory() -> int:
    """Bytes that could be used without swapping, as far as the system and a control group tell; else 4 GB.

    Where the address space is limited (``ulimit -v``), no more than is left of it.
    """
    found = _address_space()
    try:
        with open("/proc/meminfo", encoding="ascii") as info:
            found += [int(line.split()[1]) * 1024 for line in info if line.startswith("MemAvailable:")]
    except OSError:
        pass
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
        if limit.isdigit():
            found.append(max(0, int(limit) - used))
    except (OSError, ValueError):
        pass
    if found:
        return min(found)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return 4 << 30


def _address_space() -> list[int]:
    """Bytes left of the address space that this process may take, where that is limited."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        with open("/proc/self/statm", "rb") as stat:
            taken = int(stat.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError):
        return []
    return [] if limit == resource.RLIM_INFINITY else [max(0, limit - taken)]


def resident_memory() -> int:
    """Bytes of memory that this process holds now, or its peak where the system tells no more; 0 without either."""
    try:
        with open("/proc/self/statm", "rb") as stat:
            return int(stat.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return _peak_by_usage()


def peak_memory() -> int:
    """Largest resident memory of this process so far, in bytes; 0 where the system does not tell."""
    try:
        # what getrusage tells on Linux begins with the memory of the process that started this one
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return _peak_by_usage()


def _peak_by_usage() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
