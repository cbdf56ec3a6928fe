"""The one decorator of all kernels, and where their machine code is kept.

Numba's cache asks only whether the file of the *called* kernel changed. A kernel inlines others from other files, and
``pip`` leaves the cache files of an older release where they are, so machine code of two versions could mix. Here the
cache lives in a folder named after the sources of all kernels together: any change makes a new one.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

__all__ = ["cache_folder", "is_compiled", "kernel"]


def _digest() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _choose_folder() -> Path:
    """Beside the sources when that can be written, else in the user's cache; NUMBA_CACHE_DIR comes first."""
    digest = _digest()
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "neardup"
    wanted = [Path(__file__).parent / "__pycache__", user, Path(tempfile.gettempdir()) / "neardup"]
    if numba.config.CACHE_DIR:
        wanted.insert(0, Path(numba.config.CACHE_DIR))
    for folder in wanted:
        if _can_write(folder / digest):
            return folder / digest
    return wanted[0] / digest


cache_folder = _choose_folder()
"""Where this version's machine code is kept."""


def is_compiled() -> bool:
    """Whether the cache folder holds machine code already; if not, the next run compiles, about ten seconds."""
    return any(cache_folder.rglob("*.nbi"))


def kernel(function: Callable[..., Any] | None = None, *, inline: bool = False) -> Any:
    """Compile a flat module-level function on first call, without the GIL, cached in ``cache_folder``.

    ``inline`` copies the body into its callers; for the few-line functions of an inner loop.
    """
    if function is None:
        return lambda wrapped: kernel(wrapped, inline=inline)
    if inline:
        return numba.njit(function, nogil=True, inline="always")
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder)  # read when the decorator runs, then never again
    try:
        return numba.njit(function, nogil=True, cache=True)
    finally:
        numba.config.CACHE_DIR = before
