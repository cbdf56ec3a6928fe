"""Machine code of kernels on disk: what a package brings along, and what was compiled here before.

Numba's own cache asks only whether the file of the *called* kernel changed, and only takes code that was made for the
very processor at hand. A kernel inlines others from other files, and ``pip`` leaves the files of an older release where
they are, so machine code of two versions could mix; and what a package is to bring along is made on another machine.
Here the code lies in a folder that is named after all it depends on: the sources of all kernels together, the versions
of numba, LLVM and Python, and the processor. Any change makes another folder.

A file holds the machine code of one kernel for one tuple of argument types. It is looked for in four places: a folder
that the variable NUMBA_CACHE_DIR names, ``compiled`` beside the sources (written when the package is built, and never
later), ``__pycache__`` beside the sources, the user's cache. New code goes to the first of them that can be written,
``compiled`` left out. Where none can be written it is not kept: a shared folder for temporary files is no place for
machine code that the next run would trust.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.core import config
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys
from numba.core.serialize import dumps

HERE = Path(__file__).parent
SHIPPED = HERE / "compiled"
_X86 = "x86-64-v3", "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3".split()
_ARM = "generic", ["neon"]
PORTABLE = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
"""By architecture the processor that a package brings machine code for, and what another must have to run it.

x86-64-v3 are the processors with AVX2, of 2013 and later (psABI of x86-64, section 3.1.1).
"""

_only: Path | None = None


def portable() -> tuple[str, list[str]] | None:
    """What ``PORTABLE`` says of the architecture at hand."""
    return PORTABLE.get(platform.machine().lower())


@cache
def _sources() -> str:
    """Digest of the sources of all kernels."""
    found: list[Any] = sorted(HERE.glob("*.py"))
    if not found:  # the package is imported from an archive, as Spark sends it to workers
        from importlib.resources import files

        inside = (each for each in files(__package__).iterdir() if each.name.endswith(".py"))
        found = sorted(inside, key=lambda each: each.name)
    return hashlib.sha256(b"".join(source.read_bytes() for source in found)).hexdigest()


def _name(processor: str, features: str) -> str:
    """Name of the folder of machine code for a processor with these features."""
    parts = (
        _sources(),
        numba.__version__,
        llvmlite.__version__,
        ".".join(map(str, llvm.llvm_version_info)),
        f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
        llvm.get_process_triple(),
        processor,
        features,
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]


@cache
def own_name() -> str:
    """Name of the folder of machine code for the processor that numba compiles for in this process."""
    _, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return _name(processor, features)


@cache
def _portable_name() -> str | None:
    """Name of the folder of machine code for any processor of this architecture, if it runs on this one."""
    if (known := portable()) is None:
        return None
    processor, needed = known
    if config.CPU_NAME not in (None, processor) or config.CPU_FEATURES:
        return None  # with NUMBA_CPU_NAME or NUMBA_CPU_FEATURES somebody has asked for code of another kind
    try:
        has = llvm.get_host_cpu_features()
    except RuntimeError:
        return None
    return _name(processor, "") if all(has.get(feature) for feature in needed) else None


@cache
def places() -> tuple[Path, ...]:
    """Folders that may hold folders of machine code; the first one that can be written takes what is compiled."""
    if _only is not None:
        return (_only,)
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    found = [HERE / "__pycache__", Path(user) / "neardup"]
    if config.CACHE_DIR:
        found.insert(0, Path(config.CACHE_DIR))
    return tuple(each for each in found if each.is_absolute())


def keep_in(folder: Path | None) -> None:
    """Keep what is compiled from now on in this folder and no other, unless it is None."""
    global _only
    _only = folder
    places.cache_clear()


@cache
def folder_to_write() -> Path | None:
    """Where machine code that is made now is kept; None where no folder can be written."""
    return next((place / own_name() for place in places() if _can_write(place / own_name())), None)


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@cache
def folders() -> tuple[Path, ...]:
    """The folders that hold machine code for this process, in the order in which they are asked."""
    names = dict.fromkeys(name for name in (own_name(), _portable_name()) if name is not None)
    return tuple(place / name for name in names for place in (*places(), SHIPPED) if (place / name).is_dir())


def _file(name: str, types: tuple[Any, ...]) -> str:
    return f"{name}-{hashlib.sha256(str(types).encode()).hexdigest()[:12]}.bin"


def is_kept(name: str, types: tuple[Any, ...]) -> bool:
    """Whether there is machine code of a kernel for arguments of these types."""
    return any(is_in(folder, name, types) for folder in folders())


def is_in(folder: Path, name: str, types: tuple[Any, ...]) -> bool:
    """Whether this folder has it."""
    return (folder / _file(name, types)).exists()


class Kept:
    """What a dispatcher asks for machine code before it compiles, and gives it to afterwards.

    In place of numba's ``FunctionCache``. ``before`` is called with the name of a kernel that must be compiled.
    """

    def __init__(self, name: str, before: Callable[[str], None]) -> None:
        self._name = name
        self._before = before

    @property
    def cache_path(self) -> str | None:
        return None if (folder := folder_to_write()) is None else str(folder)

    def load_overload(self, types: Any, context: Any) -> Any:
        """The kernel for arguments of these types, ready to run, or None.

        What compiling needs besides, the registries of all that numba can compile, is not loaded: that takes longer
        than a dozen kernels do.
        """
        for folder in folders():
            found = _read(folder / _file(self._name, types))
            if found is not None and tuple(found[1][3].args) == tuple(types):
                return _rebuilt(context, *found)
        self._before(self._name)
        return None

    def save_overload(self, types: Any, compiled: Any) -> None:
        folder = folder_to_write()
        if folder is not None:
            write(folder / _file(self._name, types), compiled)

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...


def _read(path: Path) -> Any:
    """What ``write`` wrote; None where there is nothing, or where it was damaged since: that must not be run."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    digest, data = raw[:32], raw[32:]
    return pickle.loads(data) if hashlib.sha256(data).digest() == digest else None


def write(path: Path, compiled: Any) -> None:
    """Keep a compiled kernel; a reader sees all of it or nothing. Where there is no room it is not kept.

    Parts come with environments, the constants that compiled code takes from Python. To make an empty one again numba
    imports the module of the part, of its NumPy functions half of itself, so only those that hold something are kept.
    Left out are the table of inferred types and the LLVM code from which other kernels could inline this one: they were
    two thirds of a file and half of the time to load it. In place of that code stands the one name that is asked for.
    """
    (name, kind, (code, _)), *reduced, _, reload, environments = compiled._reduce()
    entry = llvm.parse_assembly(f'define void @"{compiled.fndesc.llvm_cpython_wrapper_name}"() {{ ret void }}')
    environments = tuple(each for each in environments if each.consts)
    kept = (name, kind, (code, entry.as_bitcode())), *reduced, "", reload, environments
    data = dumps((_asks_for_runtime(compiled.library), kept))
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(hashlib.sha256(data).digest())
            file.write(data)
        os.chmod(file.name, 0o644)  # an image is warmed by root and used by others
        os.replace(file.name, path)
    except OSError:
        return


def _asks_for_runtime(library: Any) -> bool:
    """Whether machine code calls functions that numba's runtime compiles; as a rule it has copies of its own."""
    outside = {function.name for function in library._final_module.functions if function.is_declaration}
    return not outside.isdisjoint(function.name for function in rtsys.library.get_defined_functions())


def _rebuilt(context: Any, asks_for_runtime: bool, kept: tuple[Any, ...]) -> Any:
    """The kernel that ``write`` kept. Another one that would inline it is refused by numba ("unfit for linking")."""
    if asks_for_runtime:
        rtsys.initialize(context)  # compiles for 20 ms
    else:
        _tell_runtime()
    made = CompileResult._rebuild(context, *kept)
    made.library._shared_module = None
    return made


@cache
def _tell_runtime() -> None:
    """Tell LLVM where the functions in C of numba's runtime are, as ``rtsys.initialize`` does too."""
    for name, address in _nrt_python.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
