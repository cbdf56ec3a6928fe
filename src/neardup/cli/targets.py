"""What stands in the way of outputs, found before the run: each other, an input, the disk, a run that was killed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from neardup.cli.voice import say
from neardup.errors import InputError
from neardup.inputs.walk import glob_files, walk_folder
from neardup.outputs.atomic import check_target
from neardup.outputs.naming import finish_names
from neardup.outputs.write import SPEC_SUFFIX

__all__ = ["check_collisions", "check_files", "mend_and_tell"]


def check_collisions(inputs: Iterable[Path], outputs: Sequence[str], *, glob: str | None) -> None:
    """Raise InputError when two outputs are one file, or when an output is read as an input."""
    real = [os.path.realpath(name) for name in outputs]
    if len(set(real)) < len(outputs):
        raise InputError(f"{outputs[0]} is named for two outputs. Give each a file of its own.")
    for path, name in zip(real, outputs, strict=True):
        if path.endswith(SPEC_SUFFIX) and path.removesuffix(SPEC_SUFFIX) in real:
            raise InputError(f"{name} is where the spec beside another output goes. Give another name.")
        for source in inputs:
            if _reads(source, path, glob):
                raise InputError(f"{name} is an input too ({source}). Give another file for the output.")


def _reads(source: Path, path: str, glob: str | None) -> bool:
    """Whether reading ``source`` would read the existing file ``path`` (its real path)."""
    if str(source) == "-" or not os.path.isfile(path):
        return False
    if source.is_dir():
        if not path.startswith(os.path.join(os.path.realpath(source), "")):
            return False  # saves a walk; a link that leads out of the folder is not followed here
        found = walk_folder(str(source), (glob,) if glob else None)
        return any(file.real == path for file in found)
    if source.exists():
        return os.path.samefile(source, path)
    return any(file.real == path for file in glob_files(str(source)))


def check_files(outputs: Sequence[str]) -> None:
    """Raise OutputError when a file could not be written; first, what a killed run has left of them is finished."""
    mend_and_tell(outputs)
    for name in outputs:
        check_target(name)


def mend_and_tell(outputs: Sequence[str]) -> None:
    """Finish the outputs of earlier runs that were killed while they got their names, and say so on stderr.

    Raises:
        OutputError: that cannot be done.
    """
    for line in finish_names(outputs):
        say(f"note: {line}")
