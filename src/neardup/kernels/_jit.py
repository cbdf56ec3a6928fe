"""The decorators of all kernels, and where their machine code is kept.

Numba's cache asks only whether the file of the *called* kernel changed. A kernel inlines others from other files, and
``pip`` leaves the cache files of an older release where they are, so machine code of two versions could mix. Here the
cache lives in a folder named after the sources of all kernels together: any change makes a new one. It is made when
this module is imported, which is when the first kernel is needed: numba itself makes its cache folder, and tries to
write there, as a decorator runs.

With ``NUMBA_DISABLE_JIT=1`` every kernel is the function of Python that it is written as, so that a debugger steps
through it and an index out of bounds is an IndexError. It takes some hundred times as long. Code for this says
``np.int64(x)`` where it counts on with a small integer from an array: NumPy keeps the eight bits of a uint8, where
numba goes on with 64.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np


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


def _choose_folder() -> Path | None:
    """Beside the sources when that can be written, else in the user's cache; NUMBA_CACHE_DIR comes first.

    Where none can be written the code is not kept: a shared folder for temporary files is no place for machine code
    that the next run would trust.
    """
    digest = _digest()
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    wanted = [Path(__file__).parent / "__pycache__", Path(user) / "neardup"]
    if numba.config.CACHE_DIR:
        wanted.insert(0, Path(numba.config.CACHE_DIR))
    for folder in wanted:
        if folder.is_absolute() and _can_write(folder / digest):
            return folder / digest
    return None


cache_folder = None if numba.config.DISABLE_JIT else _choose_folder()
"""Where this version's machine code is kept; None where no folder can be written, or nothing is compiled."""


def is_compiled() -> bool:
    """Whether the next run compiles nothing; if it does, it takes about ten seconds.

    It need not where the cache folder holds machine code already, and where numba is told not to compile.
    """
    if numba.config.DISABLE_JIT:
        return True
    return cache_folder is not None and any(cache_folder.rglob("*.nbi"))


def compiling_note() -> str:
    """What to say before a run that compiles."""
    if cache_folder is None:
        return (
            "compiling kernels for this processor, about ten seconds, in each run: no folder to keep them in can be "
            "written. NUMBA_CACHE_DIR names one"
        )
    return "first run on this machine: compiling kernels for its processor, about ten seconds, once"


def kernel(function: Callable[..., Any]) -> Any:
    """A function that Python calls: compiled on first call, without the GIL, cached in ``cache_folder``."""
    if numba.config.DISABLE_JIT:
        return _in_python(function)
    if cache_folder is None:
        return numba.njit(function, nogil=True)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder)  # read when the decorator runs, then never again
    try:
        return numba.njit(function, nogil=True, cache=True)
    finally:
        numba.config.CACHE_DIR = before


def _in_python(function: Callable[..., Any]) -> Any:
    """The function itself. Hashes count modulo 2**64 on purpose, of which NumPy would warn."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args)

    return call


def part(function: Callable[..., Any]) -> Any:
    """A function that only kernels call: compiled into them, without the wrappers that Python would need to call it."""
    return numba.njit(function, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined(function: Callable[..., Any]) -> Any:
    """A part of a few lines whose body is copied into its callers, for their inner loops."""
    return numba.njit(function, nogil=True, inline="always")
