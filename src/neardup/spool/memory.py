"""What the machine has left of memory."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_memory"]


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
