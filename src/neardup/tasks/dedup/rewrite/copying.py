"""Text files, one document each, copied whole.

Permissions and times go with them, as ``shutil.copy2`` has it. Each copy is made under a temporary name beside its
target and renamed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from neardup.errors import InputChanged, InputError
from neardup.outputs.atomic import output_error

__all__ = ["copy_file", "copy_files"]


def copy_file(source: str, target: str | Path) -> int:
    """Copy one file, its permissions and its times; return its bytes.

    Raises:
        InputChanged: the file cannot be read, which it could be.
        OSError: the copy cannot be written.
    """
    try:
        readable = open(source, "rb")  # noqa: SIM115 - closed below; opened here for an error that names the input
    except OSError as exc:
        raise InputChanged(
            f"{source} cannot be read: {exc.strerror}. It was there when the run began; run again from the start."
        ) from exc
    with readable, open(target, "wb") as out:
        shutil.copyfileobj(readable, out, 1 << 20)
        size = out.tell()
    shutil.copystat(source, target)
    return size


def copy_files(files: Iterable[tuple[str, Path]]) -> int:
    """Copy files, making the folders that they need; return how many.

    Raises:
        InputError: a file cannot be read.
        OutputError: a copy cannot be written; those before it are there.
    """
    count = 0
    for source, target in files:
        part = target.with_name(f".{target.name[:100]}.{os.getpid():x}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                copy_file(source, part)
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)
        except InputError:
            raise
        except OSError as exc:
            raise output_error(target, exc) from exc
        count += 1
    return count
