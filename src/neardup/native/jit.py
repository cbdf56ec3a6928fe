"""Has Numba compile kernels when they are first called, where there is no library, and keep what it compiled.

Numba's own cache asks only whether the file of the *called* kernel changed, and kernels have parts of other files in
them. So the cache lies in a folder that is named after the sources of all kernels: any change makes another folder. It
is in the folder that the variable NUMBA_CACHE_DIR names, else in the user's cache. Where neither can be written, each
run compiles again.
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
"""Whether the library is being built: then nothing is called here, and nothing kept."""


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Return what Numba compiles a function to when it is first called."""
    return numba.njit(function, nogil=True, no_cfunc_wrapper=True, **options)


def kept(function: Callable[..., Any]) -> Any:
    """Return the same of a kernel, which is found compiled the next time."""
    made = compiled(function, no_cpython_wrapper=IS_BUILD)
    if not IS_BUILD and (place := folder()) is not None:
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(place)
        made._cache = _Cache(function)
        numba.config.CACHE_DIR = before
    return made


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache, without loading all that compiling needs to find what is compiled already, for .15 s."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)


@cache
def folder() -> Path | None:
    """Return the folder that machine code is kept in; None where it cannot be."""
    if not Path(__file__).is_file() or not (now := library.sources()):
        return None  # in an archive, where Numba finds no sources
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    found = Path(numba.config.CACHE_DIR or os.path.join(user, "neardup"), f"kernels-{now[:20]}").absolute()
    try:
        found.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=found).close()
    except OSError:
        return None
    return found


def parsed(written: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return Numba's types of declared ones."""
    known: dict[str, Any] = {**vars(types), "read": lambda array: array.copy(readonly=True)}
    found: list[Any] = []
    for each in written:
        if isinstance(each, str):
            found += eval(f"({each},)", known)
        else:
            found.append(types.BaseTuple.from_types(parsed(each.fields), each.made))
    return tuple(found)


class _Announcement(event.Listener):  # type: ignore[misc]
    """Tells whoever sits at the terminal what there is to wait for, when the first kernel is compiled."""

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
