"""Workers that need the same compiled kernel at the same time: one compiles it, the others wait and load it.

Without this each worker of a first run compiles each kernel, about a minute of a processor for all of them.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any


def compile_once() -> None:
    """From now on a kernel that is kept in the cache is compiled, or loaded, under a lock of its own.

    And one that is called with other types than it is declared for fails. A kernel that calls another holds its lock meanwhile; as none calls itself by a detour, nobody waits for ever.
    """
    if sys.platform == "win32":
        return
    import fcntl

    from numba.core.dispatcher import Dispatcher

    from neardup.kernels import _jit

    plain = Dispatcher.compile

    @functools.wraps(plain)
    def compile(self: Any, signature: Any) -> Any:
        folder = self.stats.cache_path
        if folder is None:
            return plain(self, signature)
        with open(Path(folder) / f"{self.py_func.__module__}.{self.py_func.__name__}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return plain(self, signature)

    Dispatcher.compile = compile
    _jit.only_declared = True
