"""Kernels in tests, where Numba compiles them: once for all workers, and only for the types that they are declared for.

Without the first each worker of a first run compiles each kernel, about a minute of a processor for all of them.
Without the second what passes here would be a TypeError of the library.
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
    from neardup.native import declare

    if not declare.BY_NUMBA:
        return
    from numba.core.dispatcher import Dispatcher

    from neardup.native import jit

    plain = Dispatcher.compile

    @functools.wraps(plain)
    def compile(self: Any, signature: Any) -> Any:
        function = self.py_func
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        made, ways = declare.DECLARED.get(name, (None, []))
        if self is made and _caller().startswith("neardup."):
            declared = [jit.parsed(types) for types in ways]
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
    """Return the name of the module that calls a kernel; nothing where Numba compiles it into another one."""
    frame = sys._getframe(2)
    if frame.f_code.co_name != "_compile_for_args":
        return ""
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numba."):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))
