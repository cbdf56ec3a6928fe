"""The decorators of all kernels, and the types that they are compiled for.

Every kernel says for which types it is compiled: one for each parameter, in numba's notation with ``read(...)`` around
an array that it may only read, or a ``record``, which says the same of the fields of a NamedTuple. So machine code can
be made before anybody calls it (``warm``), and it is made once: callers pass just these types. A call with others still
works, but compiles in front of whoever waits for it, and fails the tests.

With ``NUMBA_DISABLE_JIT=1`` every kernel is the function of Python that it is written as, so that a debugger steps
through it and an index out of bounds is an IndexError. It takes some hundred times as long. Code for this says
``np.int64(x)`` where it counts on with a small integer from an array: NumPy keeps the eight bits of a uint8, where
numba goes on with 64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from neardup.kernels import _kept
from neardup.kernels.announce import announce


class Record(NamedTuple):
    """A NamedTuple that kernels are called with, and the types of its fields."""

    made: type
    fields: Types


Types = tuple[str | Record, ...]

KERNELS: dict[str, Any] = {}
"""The kernels of the modules that are loaded, as ``module.name``."""
_TYPES: dict[str, list[Types]] = {}
"""What each of them is compiled for, as written."""
_compiled: list[str] = []
"""The kernels that this process had to compile."""

SECONDS = {
    "equal.colliding": 7.5,
    "joining.cells_of": 7.0,
    "repeats.find_pieces": 6.0,
    "postings.lookup": 4.0,
    "sketching.sketch_block": 3.2,
    "datasketch.sha1": 3.0,
    "verify.build_sets": 2.8,
    "jsonl.read_records": 2.9,
    "scanning.scan": 2.0,
    "containing.probe": 1.7,
    "scanning.screen": 1.5,
    "joining.probe": 1.4,
    "anchors.select_anchors": 1.4,
    "normal.look": 1.3,
    "scanning.choose": 1.2,
    "occurring.match": 1.2,
    "delimited.scan_records": 1.1,
    "joining.prefixes_of": 1.1,
    "normal.write": 1.0,
    "tracing.trace": 1.0,
    "segments.walk_pieces": 0.8,
    "delimited.find_stop": 1.0,
    "banding.group_parts": 0.9,
    "sharing.few_of": 0.9,
    "scanning.count": 0.8,
    "joining.survivors": 0.7,
    "joining.postings_of": 0.7,
}
"""CPU seconds that compiling takes on a fast processor; OTHER where it says nothing. They are what
``python -m neardup.kernels.warm FOLDER`` prints."""
OTHER = 0.3
FIRST = 2.0
"""What numba loads before it compiles the first one."""
NEEDED = 0.5
"""Of what the modules of a command would take, what it needs in a run."""
SLOW = 3
"""How many times as long a slow processor takes."""


def kernel(*parameters: str | Record) -> Callable[[Callable[..., Any]], Any]:
    """A function that Python calls: compiled for arguments of these types, without the GIL, and kept on disk."""

    def decorate(function: Callable[..., Any]) -> Any:
        if numba.config.DISABLE_JIT:
            return _in_python(function)
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        made = numba.njit(function, nogil=True, no_cfunc_wrapper=True)
        made._cache = _kept.Kept(name, _before_compiling)
        KERNELS[name], _TYPES[name] = made, [parameters]
        return made

    return decorate


def also(*parameters: str | Record) -> Callable[[Any], Any]:
    """Compile a kernel for arguments of these types too; stands before ``kernel``."""

    def decorate(made: Any) -> Any:
        for name in KERNELS:
            if KERNELS[name] is made:
                _TYPES[name].append(parameters)
        return made

    return decorate


def record(made: type, *fields: str | Record) -> Record:
    """Say the types of the fields of a NamedTuple."""
    return Record(made, fields)


def records_of(name: str) -> list[str]:
    """The names of the records that a kernel is called with."""
    return sorted({each.made.__name__ for types in _TYPES[name] for each in types if isinstance(each, Record)})


def types_of(name: str) -> list[tuple[Any, ...]]:
    """The types of the arguments that a kernel is compiled for, one tuple for each way to call it."""
    return [_parse(written) for written in _TYPES[name]]


def _parse(written: Types) -> tuple[Any, ...]:
    known: dict[str, Any] = {**vars(types), "read": lambda array: array.copy(readonly=True)}
    found: list[Any] = []
    for each in written:
        if isinstance(each, str):
            found += eval(f"({each},)", known)
        else:
            found.append(types.BaseTuple.from_types(_parse(each.fields), each.made))
    return tuple(found)


def seconds(name: str) -> float:
    """CPU seconds that it takes to compile a kernel on a fast processor."""
    return SECONDS.get(name, OTHER)


def missing() -> list[str]:
    """The kernels of the modules that are loaded of which there is no machine code yet."""
    return [name for name in KERNELS if not all(_kept.is_kept(name, each) for each in types_of(name))]


def is_compiled() -> bool:
    """Whether there is machine code to begin with, so that a run takes no memory for compiling."""
    return bool(numba.config.DISABLE_JIT) or any(any(folder.iterdir()) for folder in _kept.folders())


def _before_compiling(name: str) -> None:
    """Say at the first kernel that must be compiled how long it will take for all that may be needed."""
    _compiled.append(name)
    if len(_compiled) > 1:
        return
    least = FIRST + NEEDED * sum(seconds(each) for each in missing())
    if _kept.folder_to_write() is None:
        how = "in each run: no folder to keep it in can be written. NUMBA_CACHE_DIR names one"
    else:
        how = "once; `neardup warm` does it ahead"
    announce(f"compiling for this processor, {least:.0f} to {least * SLOW:.0f} seconds in all, {how}")


def _in_python(function: Callable[..., Any]) -> Any:
    """The function itself. Hashes count modulo 2**64 on purpose, of which NumPy would warn."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args)

    return call


def part(function: Callable[..., Any]) -> Any:
    """A function that only kernels call: compiled into them, without the wrappers that Python would need to call it.

    It does not count who holds the arrays that it is called with. To count takes two locked instructions an array and
    call, which was half of the sketch of a title. So it may not make an array, which does not compile, and may not
    return one, which would be freed while in use. ``maker`` is for those.
    """
    return numba.njit(function, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)


def maker(function: Callable[..., Any]) -> Any:
    """A part that makes arrays."""
    return numba.njit(function, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=True)


def within(made: Any) -> Any:
    """Return a kernel as a maker, for a kernel that does the work of several in one call."""
    return made if numba.config.DISABLE_JIT else maker(made.py_func)


def inlined(function: Callable[..., Any]) -> Any:
    """A part of a few lines whose body is copied into its callers, for their inner loops."""
    return numba.njit(function, nogil=True, inline="always")
