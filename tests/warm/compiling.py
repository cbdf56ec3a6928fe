"""Kernels in tests: compiled once for all workers, and called by neardup only with the types they are declared for.

Without the first each worker of a first run compiles each kernel, about a minute of a processor for all of them.
Without the second a user might wait for a compiler, since only what is declared is compiled ahead.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any


def watch_compiling() -> None:
    """From now on a kernel is compiled, or loaded, under a lock of its own, and only for the types it is declared for.

    A kernel that calls another holds its lock meanwhile; as none calls itself by a detour, nobody waits for ever. Tests
    may call kernels with what they like.
    """
    from numba.core.dispatcher import Dispatcher

    from neardup.kernels import _jit

    plain = Dispatcher.compile

    @functools.wraps(plain)
    def compile(self: Any, signature: Any) -> Any:
        function = self.py_func
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        if self is _jit.KERNELS.get(name) and _caller().startswith("neardup."):
            declared = _jit.types_of(name)
            assert tuple(signature) in declared, f"{name} is called with {signature} and declared for {declared}"
        folder = self.stats.cache_path
        if folder is None or sys.platform == "win32":
            return plain(self, signature)
        import fcntl

        with open(Path(folder) / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return plain(self, signature)

    Dispatcher.compile = compile


def _caller() -> str:
    """The module that calls a kernel."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numba."):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))
