"""The decorators of all kernels, and the types that kernels are compiled for.

Each kernel declares one type for each parameter, in Numba's notation. ``read(...)`` around an array means that the
kernel only reads it, and a ``record`` declares the fields of a NamedTuple. Callers must pass exactly these types: the
library raises TypeError for others, and Numba would compile the kernel again, which the tests forbid.

With ``NUMBA_DISABLE_JIT=1`` every kernel is its plain Python function, so a debugger can step through it, and an index
out of bounds raises IndexError. This mode is about a hundred times as slow. For it, kernels write ``np.int64(x)``
before they calculate with a small integer from an array: NumPy keeps the eight bits of a uint8, and Numba uses 64.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from neardup.native import library


class Record(NamedTuple):
    """A NamedTuple that kernels are called with, and the types of its fields."""

    made: type
    fields: Types


Types = tuple[str | Record, ...]
Function = Callable[..., Any]

IN_PYTHON = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
LIBRARY = None if IN_PYTHON or os.environ.get("NEARDUP_NATIVE") in ("0", "build") else library.load()
BY_NUMBA = not IN_PYTHON and LIBRARY is None
"""Whether Numba compiles the kernels in this process. Otherwise it is not imported."""
DECLARED: dict[str, tuple[Any, list[Types]]] = {}
"""The callable of each kernel and its declared types, by ``module.function``."""

if BY_NUMBA:
    from neardup.native import jit


def kernel(*parameters: str | Record) -> Callable[[Function], Any]:
    """Declare a function that Python calls. It is compiled for arguments of these types and runs without the GIL."""

    def declare(function: Function) -> Any:
        package, _, module = function.__module__.rpartition(".")
        name = f"{module}.{function.__name__}"
        if BY_NUMBA:
            made = jit.kept(function)
        elif LIBRARY is not None and package == "neardup.kernels":
            made = getattr(LIBRARY, name)
        else:
            made = _in_python(function)  # including kernels that tests define, which no library has
        DECLARED[name] = made, [parameters]
        return made

    return declare


def also(*parameters: str | Record) -> Callable[[Any], Any]:
    """Declare a second set of types for a kernel. Write this decorator above ``kernel``."""

    def declare(made: Any) -> Any:
        for known, ways in DECLARED.values():
            if known is made:
                ways.append(parameters)
        return made

    return declare


def record(made: type, *fields: str | Record) -> Record:
    """Declare the types of the fields of a NamedTuple."""
    return Record(made, fields)


def part(function: Function) -> Any:
    """Declare a function that only kernels call: it is compiled into them and has no wrapper for Python.

    A part does not count references to its array arguments. Counting takes two locked instructions for each array and
    call, which was half of the time to sketch a title. A part therefore cannot create an array (it would not compile)
    and must not return one (it would be freed while in use). Use ``maker`` for such functions.
    """
    return jit.compiled(function, no_cpython_wrapper=True, _nrt=False) if BY_NUMBA else function


def maker(function: Function) -> Any:
    """Declare a part that creates or returns arrays."""
    return jit.compiled(function, no_cpython_wrapper=True, _nrt=True) if BY_NUMBA else function


def inlined(function: Function) -> Any:
    """Declare a part of a few lines whose body is copied into its callers, for their inner loops."""
    return jit.compiled(function, inline="always") if BY_NUMBA else function


def is_ready() -> bool:
    """Return whether machine code is there already, so that a run needs no memory for compiling."""
    return not BY_NUMBA or ((place := jit.folder()) is not None and any(place.rglob("*.nbc")))


def _in_python(function: Function) -> Any:
    """Return the function, without the warnings of NumPy: hashes overflow modulo 2**64 on purpose."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args)

    return call
