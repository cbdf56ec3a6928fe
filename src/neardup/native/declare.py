"""The decorators of all kernels, and the types that they are compiled for.

Every kernel says for which types it is compiled: one for each parameter, in Numba's notation with ``read(...)`` around
an array that it may only read, or a ``record``, which says the same of the fields of a NamedTuple. Callers pass just
these types. The library refuses others with a TypeError. Numba would compile the kernel once more for them, in front
of whoever waits, which the tests forbid.

With ``NUMBA_DISABLE_JIT=1`` every kernel is the function of Python that it is written as, so that a debugger steps
through it and an index out of bounds is an IndexError. It takes some hundred times as long. Code for this says
``np.int64(x)`` where it counts on with a small integer from an array: NumPy keeps the eight bits of a uint8, where
Numba goes on with 64.
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
"""Whether Numba compiles kernels in this process; else it is not loaded."""
DECLARED: dict[str, tuple[Any, list[Types]]] = {}
"""By name, as ``module.function``: what callers call, and the types that it is compiled for."""

if BY_NUMBA:
    from neardup.native import jit


def kernel(*parameters: str | Record) -> Callable[[Function], Any]:
    """Declare a function that Python calls: compiled for arguments of these types, and run without the GIL."""

    def declare(function: Function) -> Any:
        package, _, module = function.__module__.rpartition(".")
        name = f"{module}.{function.__name__}"
        if BY_NUMBA:
            made = jit.kept(function)
        elif LIBRARY is not None and package == "neardup.kernels":
            made = getattr(LIBRARY, name)
        else:
            made = _in_python(function)  # as are kernels of tests, which no library has
        DECLARED[name] = made, [parameters]
        return made

    return declare


def also(*parameters: str | Record) -> Callable[[Any], Any]:
    """Declare that a kernel is compiled for arguments of these types too; stands before ``kernel``."""

    def declare(made: Any) -> Any:
        for known, ways in DECLARED.values():
            if known is made:
                ways.append(parameters)
        return made

    return declare


def record(made: type, *fields: str | Record) -> Record:
    """Say the types of the fields of a NamedTuple."""
    return Record(made, fields)


def part(function: Function) -> Any:
    """Declare a function that only kernels call: compiled into them, without a wrapper for Python.

    It does not count who holds the arrays that it is called with. To count takes two locked instructions an array and
    call, which was half of the sketch of a title. So it may not make an array, which does not compile, and may not
    return one, which would be freed while in use. ``maker`` is for those.
    """
    return jit.compiled(function, no_cpython_wrapper=True, _nrt=False) if BY_NUMBA else function


def maker(function: Function) -> Any:
    """Declare a part that makes arrays."""
    return jit.compiled(function, no_cpython_wrapper=True, _nrt=True) if BY_NUMBA else function


def inlined(function: Function) -> Any:
    """Declare a part of a few lines whose body is copied into its callers, for their inner loops."""
    return jit.compiled(function, inline="always") if BY_NUMBA else function


def is_ready() -> bool:
    """Return whether there is machine code to begin with, so that a run takes no memory for compiling."""
    return not BY_NUMBA or ((place := jit.folder()) is not None and any(place.rglob("*.nbc")))


def _in_python(function: Function) -> Any:
    """Return the function itself. Hashes count modulo 2**64 on purpose, of which NumPy would warn."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args)

    return call
