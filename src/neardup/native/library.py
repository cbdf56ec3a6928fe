"""Finds and loads the library of all kernels, if it matches the sources and the processor."""

from __future__ import annotations

import hashlib
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

NAME = "_kernels"
FILE = f"{NAME}.abi3.so"

why_not = "no library is in use"
"""The reason for which ``load`` returned None."""


def folder(name: str) -> Any:
    """Return a folder of the package as a path, even if the package is in an archive, as on Spark workers."""
    found = Path(__file__).parent.parent / name
    if found.is_dir():
        return found
    from importlib.resources import files  # which takes longer to import than all of this

    return files("neardup") / name


def sources() -> str:
    """Return the SHA-256 of all sources that determine the machine code, or "" if there are no source files."""
    every = (path for name in ("kernels", "native") for path in folder(name).iterdir())
    found = sorted((path.name, path.read_bytes()) for path in every if path.name.endswith((".py", ".c")))
    return hashlib.sha256(b"".join(data for _, data in found)).hexdigest() if found else ""


def load() -> ModuleType | None:
    """Return the library, or None if there is none for this processor and these sources."""
    global why_not
    path = folder("native") / FILE
    if not path.is_file() or ".abi3.so" not in EXTENSION_SUFFIXES:  # as in free-threaded Python
        return None
    try:
        found = open_library(path) if isinstance(path, Path) else _unpacked(path.read_bytes())
    except ImportError as exc:
        why_not = str(exc)
        return None
    if (now := sources()) and now != found.SOURCES:
        why_not = f"{path} was built from other sources"
        return None
    return found


def open_library(path: Path) -> ModuleType:
    """Load a library from a file. Raises ImportError if this computer cannot run it."""
    name = f"neardup.native.{NAME}"
    loader = ExtensionFileLoader(name, str(path))
    spec = spec_from_loader(name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def _unpacked(data: bytes) -> ModuleType:
    """Load the library of an archive by way of a temporary file, which is no longer needed once it is loaded."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, FILE)
        path.write_bytes(data)
        return open_library(path)
