"""What the machine tells: memory that is left and taken, processes that are there; and names of files made to last.

Linux says it in files. Elsewhere psutil asks the system, which comes with neardup there. Without it less is known, and
each function says what it does then.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

_IS_WINDOWS = os.name == "nt"


def _psutil() -> Any:
    """The library that asks the system where there is no /proc; None on Linux, and where it is not installed."""
    if sys.platform == "linux":
        return None
    try:
        import psutil
    except ImportError:
        return None
    return psutil


def _told(path: str) -> str:
    """What a file of the system says; empty where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _kilobytes(path: str, label: str) -> list[int]:
    """Bytes that the line of that label says, where there is one."""
    return [int(line.split()[1]) * 1024 for line in _told(path).splitlines() if line.startswith(label)]


def _pages() -> list[int]:
    """Bytes of this process: of address space and in memory; none where the system does not tell."""
    if (asked := _psutil()) is not None:
        taken = asked.Process().memory_info()
        return [int(taken.vms), int(taken.rss)]
    return [int(pages) * os.sysconf("SC_PAGE_SIZE") for pages in _told("/proc/self/statm").split()[:2]]


def available_memory() -> int:
    """Bytes that could be used without swapping, as far as the system and a control group tell; else 4 GB.

    Where the address space is limited (``ulimit -v``), no more than is left of it.
    """
    found = _address_space() + _kilobytes("/proc/meminfo", "MemAvailable:")
    limit, used = (_told(f"/sys/fs/cgroup/memory.{name}").strip() for name in ("max", "current"))
    if limit.isdigit() and used.isdigit():
        found.append(max(0, int(limit) - int(used)))
    if (asked := _psutil()) is not None:
        found.append(int(asked.virtual_memory().available))
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
    except (ImportError, OSError, ValueError):
        return []
    return [] if limit == resource.RLIM_INFINITY else [max(0, limit - taken) for taken in _pages()[:1]]


def resident_memory() -> int:
    """Bytes of memory that this process holds now, or its peak where the system tells no more; 0 without either."""
    return (_pages()[1:] or [_peak_by_usage()])[0]


def peak_memory() -> int:
    """Largest resident memory of this process so far, in bytes; 0 where the system does not tell."""
    # what getrusage tells on Linux begins with the memory of the process that started this one
    return (_kilobytes("/proc/self/status", "VmHWM:") or [_peak_by_usage()])[0]


def _peak_by_usage() -> int:
    try:
        import resource
    except ImportError:  # Windows, where psutil tells the peak
        asked = _psutil()
        return 0 if asked is None else int(getattr(asked.Process().memory_info(), "peak_wset", 0))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def this_process() -> tuple[str, str]:
    """What tells this process from all others on the machine: its number, and when it began, where that is told."""
    return str(os.getpid()), _born(os.getpid())


def is_running(pid: int | str, born: str = "") -> bool:
    """Whether a process, as ``this_process`` told it, is still there; without ``born``, one of its number."""
    number = int(pid)
    if _IS_WINDOWS:
        # there os.kill with 0 is Ctrl-C for that process. Without psutil it counts as there: work is never taken away
        asked = _psutil()
        return asked is None or (bool(asked.pid_exists(number)) and born in ("", _born(number)))
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # it is another user's
    else:
        if _stat(number)[:1] in (["Z"], ["X"]):
            return False  # killed, and nobody has asked for its exit status
    return born in ("", _born(number))


def _born(pid: int) -> str:
    """When a process began, in ticks since the machine did or in ms since 1970, where the system tells; else empty."""
    if (asked := _psutil()) is not None:
        try:
            return str(round(asked.Process(pid).create_time() * 1000))
        except asked.Error:
            return ""
    return (_stat(pid)[19:20] or [""])[0]


def _stat(pid: int) -> list[str]:
    """What Linux says of a process, from its state on; empty elsewhere."""
    return _told(f"/proc/{pid}/stat").rpartition(")")[2].split()


_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF}
"""What file systems say that cannot sync a folder."""


def sync_all() -> None:
    """Let all that was written to files last, so far as the system does that at once; Windows does it file by file."""
    if hasattr(os, "sync"):
        os.sync()


def sync_folder(folder: str | Path) -> None:
    """Make the names of a folder's files last, so that a loss of power does not undo a rename.

    Where a folder cannot be opened (Windows) or synced (some file systems over a network) the system sees to it by
    itself. A disk that fails raises OSError: who cannot do anything about it, since the files themselves are whole and
    synced, passes over it.
    """
    try:
        fd = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(fd)
    except OSError as exc:
        if exc.errno not in _NO_SYNC:
            raise
    finally:
        os.close(fd)
