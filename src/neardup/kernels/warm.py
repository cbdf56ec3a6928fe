"""Making the machine code of all kernels ahead of their use, in several processes.

``neardup warm`` does it for the processor at hand; the build of a package does it for every processor of the
architecture: ``python -m neardup.kernels.warm FOLDER``.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from neardup.kernels import _jit, _kept
from neardup.kernels._jit import seconds


class Made(NamedTuple):
    """A kernel of which there is machine code now."""

    name: str
    folder: str | None
    """Where it was put; None where it was there already."""
    seconds: float
    """Of the processor, for making it."""


def load_all() -> list[str]:
    """Load the modules of all kernels; the names of these, those that take longest to compile first."""
    ours = sorted(source.stem for source in _kept.HERE.glob("[!_]*.py"))
    for module in ours:
        importlib.import_module(f"neardup.kernels.{module}")
    names = [name for name in _jit.KERNELS if name.partition(".")[0] in ours]  # others may have kernels of their own
    return sorted(names, key=lambda name: (-seconds(name), name))


def compile_all(names: list[str], *, jobs: int, portable: bool, folder: Path | None = None) -> Iterator[Made]:
    """Compile each of the kernels of which there is no machine code yet, ``jobs`` at a time, and yield what is done.

    ``portable``: for every processor of this architecture, not only for the one at hand. ``folder`` takes the code;
    None: the first that can be written of those where it is looked for. Raises RuntimeError where this architecture has
    no portable code, OSError where the code cannot be kept.
    """
    with _asking_for(_portable() if portable else {}):
        context = multiprocessing.get_context("spawn")
        of_each = [group for group in shares(names, jobs) if group]
        pools = [ProcessPoolExecutor(1, context, _begin, (folder,)) for _ in of_each]
        try:
            waiting = [
                pool.submit(compile_one, name) for pool, group in zip(pools, of_each, strict=True) for name in group
            ]
            for done in as_completed(waiting):
                yield done.result()
        finally:
            for pool in pools:
                pool.shutdown(cancel_futures=True)


def shares(names: list[str], jobs: int) -> list[list[str]]:
    """The kernels that each of so many processes compiles: runs of about equal time, kin beside each other.

    A part is compiled once in each process that has a kernel with it. Kernels that take the same records share parts,
    those of shingles most, then those of one module; dealt out singly they took a fifth more.
    """

    def kin(name: str) -> str:
        return " ".join(_jit.records_of(name)) or name.partition(".")[0]

    total: dict[str, float] = {}
    for name in names:
        total[kin(name)] = total.get(kin(name), 0.0) + seconds(name)
    groups: list[list[str]] = [[] for _ in range(jobs)]
    spent, whole = 0.0, sum(total.values())
    for name in sorted(names, key=lambda name: (-total[kin(name)], kin(name), -seconds(name), name)):
        groups[min(jobs - 1, int(spent / whole * jobs))].append(name)
        spent += seconds(name)
    return groups


def _begin(folder: Path | None) -> None:
    """What a process does first. Looking for garbage takes a tenth of compiling; at this distance it takes 2 %."""
    _kept.keep_in(folder)
    gc.set_threshold(100_000, 20, 100)


def _portable() -> dict[str, str]:
    """The variables that let numba compile for all processors of this architecture."""
    if (known := _kept.portable()) is None:
        raise RuntimeError(f"there is no portable machine code for the architecture {platform.machine()}")
    return {"NUMBA_CPU_NAME": known[0], "NUMBA_CPU_FEATURES": ""}


@contextmanager
def _asking_for(settings: dict[str, str]) -> Iterator[None]:
    """Give these variables to the processes that begin inside of this."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def compile_one(name: str) -> Made:
    """Compile a kernel, unless its machine code is there, and keep it."""
    importlib.import_module(f"neardup.kernels.{name.partition('.')[0]}")
    missing = [types for types in _jit.types_of(name) if not _kept.is_kept(name, types)]
    if not missing:
        return Made(name, None, 0.0)
    folder = _kept.folder_to_write()
    if folder is None:
        raise OSError("no folder to keep machine code in can be written. Name one with the variable NUMBA_CACHE_DIR")
    begin = time.process_time()
    for types in missing:
        _jit.KERNELS[name].compile(types)
    taken = time.process_time() - begin
    if not all(_kept.is_in(folder, name, types) for types in missing):
        raise OSError(f"machine code cannot be written to {folder}. Free some space, or name another folder")
    return Made(name, str(folder), taken)


if __name__ == "__main__":
    for made in compile_all(load_all(), jobs=os.cpu_count() or 1, portable=True, folder=Path(sys.argv[1])):
        print(f"{made.seconds:6.2f} {made.name}", flush=True)
