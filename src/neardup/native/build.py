"""Builds the library of all kernels: ``python -m neardup.native.build FOLDER``; ``hatch_build.py`` does it for a wheel.

Numba compiles each kernel, one half of them in each of two processes, and LLVM writes the machine code of a half as one
object file. ``wrappers`` writes the source of the extension module, and the C compiler of the system, or that of the
package ziglang, compiles and links it with the objects. The library is then tried in a process that has no Numba.

All that is here of Numba's and is not documented by it is for the version that ``hatch_build.py`` pins.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from neardup.native import library, wrappers

PROCESSORS = {"x86_64": "x86-64-v3", "aarch64": "generic"}
"""By architecture of Linux, the least processor that the library is for, as LLVM calls it.

x86-64-v3 are the processors with AVX2, of 2013 and later (psABI of x86-64, section 3.1.1).
"""
GLIBC = "2.17"
"""The oldest C library that ziglang links for."""


def build(target: Path) -> Path:
    """Build the library into a folder, and return its path.

    Raises RuntimeError where this platform has none, or where a program that is called fails; then with what it said.
    """
    if sys.platform != "linux" or platform.machine() not in PROCESSORS:
        raise RuntimeError(f"there is no library for {sys.platform} on {platform.machine()}")
    made = target / library.FILE
    with tempfile.TemporaryDirectory() as place:
        source, objects = Path(place, f"{library.NAME}.c"), [Path(place, f"{i}.o") for i in range(2)]
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            kernels = sorted(each for half in pool.starmap(compile_half, enumerate(objects)) for each in half)
        source.write_text(wrappers.module(kernels, library.NAME, library.sources()), "utf-8")
        _run(*link_command(made, source, objects))
    _run(sys.executable, "-m", "neardup.native.trial", made)
    return made


def link_command(target: Path, source: Path, objects: list[Path]) -> list[str | Path]:
    """Return the words that compile the source of the module and link it with the objects."""
    if found := shutil.which("cc"):
        compiler = [found]
    else:
        import ziglang

        zig = Path(ziglang.__file__).with_name("zig")
        compiler = [str(zig), "cc", "-target", f"{platform.machine()}-linux-gnu.{GLIBC}"]
    how = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-nostdlib", "-Wl,--gc-sections", "-Wl,-s"]
    return [*compiler, *how, "-o", target, source, *objects, "-lm", "-lc"]


def _run(*words: str | Path) -> None:
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}
    )
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} failed ({done.returncode}): {(done.stdout + done.stderr).strip()[-2000:]}")


def compile_half(number: int, target: Path) -> list[wrappers.Compiled]:
    """Compile one half of all kernels into an object file, and return what wrappers must know of them."""
    os.environ["NEARDUP_NATIVE"] = "build"
    gc.set_threshold(100_000, 20, 100)  # looking for garbage takes a tenth of compiling; at this distance 2 %
    from neardup.native.compile import compile_into

    for path in library.folder("kernels").glob("[!_]*.py"):
        importlib.import_module(f"neardup.kernels.{path.stem}")
    return compile_into(target, halves()[number], PROCESSORS[platform.machine()])


def halves() -> tuple[list[str], list[str]]:
    """Return the names of the kernels that each of two processes compiles: as much for each, and kin beside each other.

    A part is compiled in each process that has a kernel with it. So kernels stand in the order of the parts that matter
    most to them, and are divided where both halves have as much to compile, in bytes of byte code.
    """
    from neardup.native.declare import DECLARED

    parts = {name: _with_parts(made.py_func) for name, (made, _) in DECLARED.items()}
    times = Counter(code for codes in parts.values() for code in codes)
    order = sorted(parts, key=lambda name: sorted((-times[c] * len(c.co_code), c.co_name) for c in parts[name]))

    def work(names: list[str]) -> int:
        return sum(len(code.co_code) for code in set().union(*(parts[name] for name in names)))

    middle = min(range(len(order)), key=lambda i: max(work(order[:i]), work(order[i:])))
    return order[:middle], order[middle:]


def _with_parts(function: Any) -> set[Any]:
    """Return the byte codes of a function and of all that it calls and is compiled."""
    found, waiting = set(), [function]
    while waiting:
        each = waiting.pop()
        if each.__code__ not in found:
            found.add(each.__code__)
            called = (each.__globals__.get(name) for name in each.__code__.co_names)
            waiting += [made.py_func for made in called if hasattr(made, "py_func")]
    return found


if __name__ == "__main__":
    try:
        print(build(Path(sys.argv[1])))
    except RuntimeError as exc:
        sys.exit(str(exc))
