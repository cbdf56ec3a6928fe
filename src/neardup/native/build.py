"""Builds the library of all kernels: ``python -m neardup.native.build FOLDER``, which ``hatch_build.py`` runs.

Two processes each compile half of the kernels into one object file. ``wrappers`` generates the C source of the
extension module, and a C compiler (the system's or that of the package ziglang) compiles it and links it with the
object files. ``trial`` then tries the library in a process without Numba.
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
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from neardup.native import library, wrappers

PROCESSORS = {"x86_64": "x86-64-v3", "aarch64": "generic"}
"""The minimum processor of each Linux architecture, in LLVM's words.

x86-64-v3 means a processor with AVX2, of 2013 or later (psABI of x86-64, section 3.1.1).
"""
GLIBC = "2.17"
"""The oldest glibc that a library linked by ziglang runs on."""


def build(target: Path) -> Path:
    """Build the library into a folder, and return its path.

    Raises RuntimeError if the platform is not supported, or with the output of the compiler or the trial if it fails.
    """
    if sys.platform != "linux" or platform.machine() not in PROCESSORS:
        raise RuntimeError(f"there is no library for {sys.platform} on {platform.machine()}")
    for name in [name for name in os.environ if name.startswith("NUMBA_")]:
        del os.environ[name]  # settings of whoever builds, such as NUMBA_DISABLE_JIT
    os.environ["NEARDUP_NATIVE"] = "build"
    sources = library.sources()
    with tempfile.TemporaryDirectory(dir=target) as place:
        source, made = Path(place, f"{library.NAME}.c"), Path(place, library.FILE)
        objects = [Path(place, f"{i}.o") for i in range(2)]
        with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            kernels = sorted(each for half in pool.map(compile_half, range(2), objects) for each in half)
        source.write_text(wrappers.module(kernels, library.NAME, sources), "utf-8")
        _run(*link_command(made, source, objects))
        _run(sys.executable, "-m", "neardup.native.trial", made)
        if library.sources() != sources:
            raise RuntimeError("the sources changed during the build")
        return made.replace(target / library.FILE)


def link_command(target: Path, source: Path, objects: list[Path]) -> list[str | Path]:
    """Return the command that compiles the source of the module and links it with the object files."""
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
    """Compile one half of all kernels into an object file, and return the facts that ``wrappers`` needs."""
    gc.set_threshold(100_000, 20, 100)  # garbage collection takes 2 % of the time in place of 10
    from neardup.native.compile import compile_into

    for path in sorted(library.folder("kernels").glob("[!_]*.py")):
        importlib.import_module(f"neardup.kernels.{path.stem}")
    return compile_into(target, halves()[number], PROCESSORS[platform.machine()])


def halves() -> tuple[list[str], list[str]]:
    """Return the names of the kernels that each of two processes compiles.

    Both processes must compile a part if each has a kernel that uses it. So the kernels are sorted by their most used
    parts, and split where both halves have the same size of byte code, including their parts.
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
    """Return the code objects of a function and of all compiled functions that it calls."""
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
