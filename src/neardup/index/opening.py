"""An index made, opened, or built of a whole collection: from a path to the parts of an open one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from neardup._version import __version__
from neardup.engine.observe import Observer
from neardup.index import folders
from neardup.index.build import bulk_load
from neardup.index.core import Core
from neardup.index.model import Added
from neardup.index.source import read_spec
from neardup.index.truth import Truth, log_size
from neardup.index.upkeep import clean_folder
from neardup.inputs.reader import Reader
from neardup.params import Spec

__all__ = ["build_folder", "create_folder", "in_memory", "open_folder"]


def in_memory(spec: Spec, *, threads: int) -> Core:
    """An empty index in memory."""
    return Core(None, spec, Truth.create(None, spec.as_dict(), __version__), threads=threads, created_by=__version__)


def create_folder(folder: Path, spec: Spec) -> None:
    """Make an empty index.

    Raises:
        OutputError: there is something of the name, or it cannot be made.
    """
    with folders.appearing(folder) as place:
        Truth.create(place, spec.as_dict(), __version__).close()


def build_folder(
    folder: Path, reader: Reader, spec: Spec, on_duplicate: str, *, threads: int, observer: Observer
) -> Added:
    """Make an index of all that a reader reads; see ``bulk_load``. It takes its name when it is whole."""
    with folders.appearing(folder) as place:
        truth = Truth.create(place, spec.as_dict(), __version__, fast=True)
        with closing(truth):
            core = Core(place, spec, truth, threads=threads, created_by=__version__)
            return bulk_load(core, reader, on_duplicate, threads=threads, observer=observer)


def open_folder(folder: Path, *, read_only: bool, threads: int) -> Core:
    """Open an index that is there.

    Raises:
        IndexNotFound, IndexLocked, FormatError: see ``Index.open``.
    """
    folders.check_there(folder)
    if read_only:
        return _opened(folder, None, threads)
    hold = folders.Hold(folder)
    try:
        core = _opened(folder, hold, threads)
        try:
            if log_size(folder) > 0:
                core.overwrite_log()
            clean_folder(core)
        except BaseException:
            core.close()
            raise
    except BaseException:
        hold.release()
        raise
    return core


def _opened(folder: Path, hold: folders.Hold | None, threads: int) -> Core:
    last = folders.acknowledged(folder) or 0
    truth = Truth.open(folder, read_only=True)
    try:
        with truth.reading() as reading:
            folders.check_log(folder, last, reading.generation())  # before anything is written over
            meta = reading.meta()
        if hold is not None:
            truth.close()
            truth = Truth.open(folder, read_only=False)
        spec = read_spec(meta, truth.path)
        created_by = meta.get("created_by", "")
        core = Core(folder, spec, truth, threads=threads, created_by=created_by, hold=hold)
        core.ask(lambda reading, view: None)
    except BaseException:
        truth.close()
        raise
    return core
