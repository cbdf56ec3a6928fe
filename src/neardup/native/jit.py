"""Compiles kernels with Numba at their first call if there is no library, and caches the machine code.

Numba's own cache checks only the file of the *called* kernel, but kernels contain parts from other files. The cache is
therefore in a folder whose name is a digest of all kernel sources, so any change leads to a new folder. Its parent is
the folder that NUMBA_CACHE_DIR names, or the user's cache. If it is not writable, each run compiles again.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from neardup.errors import NeardupError
from neardup.native import library

try:
    import numba
    from numba import types
    from numba.core import event
    from numba.core.caching import FunctionCache
    from numba.core.runtime import rtsys
except ImportError as exc:
    raise NeardupError(
        f"neardup has no machine code for {platform.system()} on this {platform.machine()} processor "
        f"({library.why_not}), and Numba, which makes it, is not installed. Run: pip install 'neardup[compile]'"
    ) from exc

IS_BUILD = os.environ.get("NEARDUP_NATIVE") == "build"
"""Whether this process builds the library: it neither calls kernels nor caches them."""


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Return a dispatcher, which compiles the function at its first call."""
    return numba.njit(function, nogil=True, no_cfunc_wrapper=True, **options)


def kept(function: Callable[..., Any]) -> Any:
    """Return a dispatcher that caches the machine code of a kernel."""
    made = compiled(function, no_cpython_wrapper=IS_BUILD)
    if not IS_BUILD and (place := folder()) is not None:
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(place)
        made._cache = _Cache(function)
        numba.config.CACHE_DIR = before
    return made


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache, but reading it does not import the whole compiler, which takes 0.15 s."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)


@cache
def folder() -> Path | None:
    """Return the folder of cached machine code, or None if no folder is writable."""
    if not Path(__file__).is_file() or not (now := library.sources()):
        return None  # the package is in an archive, in which Numba finds no sources
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    found = Path(numba.config.CACHE_DIR or os.path.join(user, "neardup"), f"kernels-{now[:20]}").absolute()
    try:
        found.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=found).close()
    except OSError:
        return None
    return found


def parsed(written: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the Numba types of declared types."""
    known: dict[str, Any] = {**vars(types), "read": lambda array: array.copy(readonly=True)}
    found: list[Any] = []
    for each in written:
        if isinstance(each, str):
            found += eval(f"({each},)", known)
        else:
            found.append(types.BaseTuple.from_types(parsed(each.fields), each.made))
    return tuple(found)


class _Announcement(event.Listener):  # type: ignore[misc]
    """Prints one line to a terminal when the first kernel is compiled, because that takes seconds."""

    is_told = False

    def on_start(self, event: Any) -> None:
        ours = event.data["dispatcher"].py_func.__module__.startswith("neardup.kernels.")
        if ours and not self.is_told and sys.stderr is not None and sys.stderr.isatty():
            again = "once" if folder() else "in each run: no folder can be written. NUMBA_CACHE_DIR names one"
            print(f"neardup: compiling for this processor, up to a minute in all, {again}", file=sys.stderr, flush=True)
        self.is_told = self.is_told or ours

    def on_end(self, event: Any) -> None:
        return


event.register("numba:compile", _Announcement())
