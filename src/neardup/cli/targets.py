"""Outputs that would meet each other or overwrite an input, found before the run."""

from __future__ import annotations

import glob as globbing
import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path

from neardup.errors import InputError

__all__ = ["check_collisions"]

_FOLDER_PATTERNS = ("*.txt", "*.md")
_SIDE = ".spec.json"
"""Suffix of the file that keeps the spec beside JSONL and CSV."""


def check_collisions(inputs: Iterable[Path], outputs: Sequence[str], *, glob: str | None) -> None:
    """Raise InputError when two outputs are one file, or when an output is read as an input."""
    real = [_real(name) for name in outputs]
    taken = set(real)
    if len(taken) < len(outputs):
        raise InputError(f"{outputs[0]} is named for two outputs. Give each a file of its own.")
    for path, name in zip(real, outputs, strict=True):
        if path.endswith(_SIDE) and path[: -len(_SIDE)] in taken:
            raise InputError(f"{name} is where the spec beside another output goes. Give another name.")
        for source in inputs:
            if _reads(source, path, glob):
                raise InputError(f"{name} is an input too ({source}). Give another file for the output.")


def _real(name: str | Path) -> str:
    return os.path.realpath(name)


def _reads(source: Path, path: str, glob: str | None) -> bool:
    """Whether reading ``source`` would read the file ``path``, as far as one can tell before it is opened."""
    if str(source) == "-" or not os.path.isfile(path):
        return False
    if source.is_dir():
        patterns = (glob,) if glob else _FOLDER_PATTERNS
        inside = path.startswith(os.path.join(_real(source), ""))
        relative = os.path.relpath(path, _real(source))
        names = (relative, os.path.basename(path))
        return inside and any(fnmatch(name, pattern) for name in names for pattern in patterns)
    if source.exists():
        return os.path.samefile(source, path)
    return any(_real(found) == path for found in globbing.iglob(str(source), recursive=True))
