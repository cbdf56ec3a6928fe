"""The folder of a run's work on disk, from which a killed run goes on.

Between two checkpoints files only grow and none that the manifest lists goes away, so whatever happens to the process,
the last checkpoint is there: what lies past it is cut off, what the manifest does not list is deleted, and a file that
is not as it was is named.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from neardup.errors import SpoolError
from neardup.spool.columns import Column, FileColumn
from neardup.spool.files import HEADER, Label, SpoolFile, at_work
from neardup.spool.manifest import LOCK, MANIFEST, Lock, Manifest, differences
from neardup.spool.texts import FileTexts

SUFFIX = ".spool"
NAMED = 10
"""Differences of identity that a message names."""
_COPIED = 4 << 20
"""The number of bytes of a column that are copied to a file at a time."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
_OURS = re.compile(
    rb"[^/]*\.spool/NEARDUP\0|neardup\.manifest(\.part)?/(neardup workdir|$)"
    rb"|neardup\.lock(\.[0-9a-f]{8})?/(\d+( \d*)?\n?)?$"
)
"""Names of files in a workdir, and how they begin. A run that was killed may have left a lock or a manifest empty."""


def free_bytes(path: str | Path) -> int:
    """Bytes free for new files at ``path``, which need not exist: its nearest parent that does is asked."""
    nearest = Path(os.path.abspath(path))
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    with at_work(nearest):
        return shutil.disk_usage(nearest).free


class Workdir:
    """A folder that one run owns; made by ``create`` or ``reopen``."""

    def __init__(self, path: Path, lock: Lock, identity: dict[str, Any]) -> None:
        """For ``create`` and ``reopen`` only."""
        self.path = path
        self.state: dict[str, Any] = {}
        """JSON values, as of the last checkpoint."""
        self.used_bytes = 0
        """Of all files now."""
        self.peak_bytes = 0
        """The most that the files held at a time, in all runs that worked here."""
        self._lock: Lock | None = lock
        self._identity = identity
        self._spec_id = str(identity.get("spec_id", ""))
        self._columns: dict[str, FileColumn] = {}
        self._listed: set[str] = set()
        self._doomed: list[SpoolFile] = []
        self._counting = threading.Lock()

    @classmethod
    def create(cls, path: str | Path, identity: dict[str, Any]) -> Workdir:
        """Make the folder, whose parent must exist, or take an empty one.

        ``identity``: JSON values; a later run goes on with this one's work only if its own are equal. ``spec_id`` is
        written into each file.

        Raises SpoolError: the folder holds other files, or the work of an interrupted run, or another run is in it.
        """
        path = Path(path)
        with at_work(path):
            try:
                path.mkdir(exist_ok=True)
            except FileExistsError as exc:
                raise SpoolError(f"{path} is a file. Name a folder with --workdir (workdir=).") from exc
            if not all(_is_ours(path / name) for name in os.listdir(path)):
                raise SpoolError(f"{path} holds other files. Name an empty or a new folder with --workdir (workdir=).")
        with _locked(path) as lock:
            if (path / MANIFEST).exists():
                raise SpoolError(
                    f"{path} holds the work of an interrupted run. Go on with --resume (resume=True), or delete it."
                )
            workdir = cls(path, lock, _plain(identity))
            workdir._clean()  # of a run that was killed before its first manifest, or while it removed its folder
            workdir.checkpoint()
            return workdir

    @classmethod
    def reopen(cls, path: str | Path, identity: dict[str, Any]) -> Workdir:
        """Go on with the work of an interrupted run, as of its last checkpoint.

        Every byte that counts is read once and checked.

        Raises:
            SpoolError: there is nothing to go on with; ``identity`` differs (each difference is named); a file is
                damaged (it is named); another run is in the folder.
        """
        path = Path(path)
        if not (path / MANIFEST).exists():
            Manifest.read(path)  # says so, and leaves no lock in a folder that is not ours
        with _locked(path) as lock:
            manifest = Manifest.read(path)
            workdir = cls(path, lock, _plain(identity))
            found = list(differences(manifest.identity, workdir._identity))
            if found:
                more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
                raise SpoolError(
                    f"the work in {path} was made from something else: {'; '.join(found[:NAMED])}{more}. "
                    f"Run with what it was made from, or delete {path} and start again without --resume (resume=False)."
                )
            workdir.state, workdir.peak_bytes = manifest.state, manifest.peak
            workdir._resume(manifest)
            workdir._clean(torn=True)
            return workdir

    def column(self, name: str, dtype: DTypeLike, width: int = 1) -> FileColumn:
        """The column of that name, new and empty if there is none yet; always the same object while it is there."""
        label = self._label(name, np.dtype(dtype).newbyteorder("<").str, width)
        if name not in self._columns:
            file = SpoolFile(self._fresh(name), label, self._grew)
            file.create()
            self._columns[name] = FileColumn(file)
        known = self._columns[name].file.label
        if known != label:
            raise ValueError(f"column {name} is {known.width} of {known.dtype}, not {width} of {label.dtype}")
        return self._columns[name]

    def filed(self, name: str, column: Column) -> FileColumn:
        """Copy a column that outgrew the memory into the column of that name."""
        file = self.column(name, column.dtype, column.width)
        for _, rows in column.scan(max(1, _COPIED // (column.width * column.dtype.itemsize))):
            file.append(rows)
        return file

    def texts(self, name: str) -> FileTexts:
        """The texts of that name, new and empty if there are none yet."""
        return FileTexts(self.column(f"{name}.bytes", np.uint8), self.column(f"{name}.ends", np.int64))

    def names(self, prefix: str = "") -> list[str]:
        """Columns that are here, in the order of their names; texts are two: ``NAME.bytes`` and ``NAME.ends``."""
        return sorted(name for name in self._columns if name.startswith(prefix))

    def delete(self, name: str) -> None:
        """Delete a column, or texts. A file that the last checkpoint lists stays on disk until the next one."""
        for each in (name,) if name in self._columns else (f"{name}.bytes", f"{name}.ends"):
            file = self._columns.pop(each).file
            file.close()
            if each in self._listed:
                self._listed.discard(each)
                self._doomed.append(file)
            else:
                self._unlink(file)

    def checkpoint(self, **changes: Any) -> None:
        """Make all that was written so far last, with ``changes`` of the state (JSON values), whole or not at all.

        Raises SpoolError where it cannot be written; the last checkpoint is as it was.
        """
        state = _plain({**self.state, **changes})
        files = {}
        for name, column in self._columns.items():
            column.file.settle()
            files[name] = {"file": column.file.path.name, **column.file.facts}
        Manifest(self._identity, state, files, self.peak_bytes).write(self.path)
        self.state, self._listed = state, set(files)
        doomed, self._doomed = self._doomed, []
        for file in doomed:
            self._unlink(file)

    def close(self) -> None:
        """Leave the folder for a later run: what came after the last checkpoint is lost. Twice does no harm."""
        for file in (*self._open(), *self._doomed):
            file.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def remove(self) -> None:
        """Delete the folder with all that this run put there; files of others, and then the folder, stay."""
        for file in self._open():
            file.close()
        self._columns, self._doomed = {}, []
        try:
            with at_work(self.path):
                # first, so that a run killed here leaves no manifest of files that are gone
                (self.path / MANIFEST).unlink(missing_ok=True)
            self._clean()
        finally:
            self.close()
        with suppress(OSError):
            self.path.rmdir()

    def _open(self) -> list[SpoolFile]:
        return [column.file for column in self._columns.values()]

    def _label(self, name: str, dtype: str, width: int) -> Label:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of a column")
        return Label(name, self._spec_id, dtype, width)

    def _fresh(self, name: str) -> Path:
        """A path for a new file: one that is deleted at the next checkpoint may still have the plain name."""
        taken = {file.path.name for file in self._doomed}
        names = (f"{name}{tail}{SUFFIX}" for tail in ("", *(f"~{i}" for i in range(1, len(taken) + 1))))
        return self.path / next(each for each in names if each not in taken)

    def _resume(self, manifest: Manifest) -> None:
        for name, facts in manifest.files.items():
            file = SpoolFile(self.path / facts["file"], self._label(name, facts["dtype"], facts["width"]), self._grew)
            file.resume(facts["count"], facts["crc32"])
            self._columns[name] = FileColumn(file)
        self._listed = set(manifest.files)

    def _clean(self, *, torn: bool = False) -> None:
        """Delete files of an interrupted run that the manifest does not list; ``torn`` is as for ``_is_ours``."""
        keep = {file.path.name for file in self._open()} | {MANIFEST, LOCK}
        with at_work(self.path):
            for name in os.listdir(self.path) if self.path.exists() else ():  # a user may delete the folder
                if name not in keep and _is_ours(self.path / name, torn=torn):
                    (self.path / name).unlink()

    def _unlink(self, file: SpoolFile) -> None:
        with at_work(file.path):
            file.path.unlink()
        self._grew(-file.disk_bytes)

    def _grew(self, size: int) -> None:
        with self._counting:
            self.used_bytes += size
            self.peak_bytes = max(self.peak_bytes, self.used_bytes)


@contextmanager
def _locked(path: Path) -> Iterator[Lock]:
    """The lock of a folder, which is given back only when what is done inside of this fails."""
    lock = Lock(path)
    try:
        yield lock
    except BaseException:
        lock.release()
        raise


def _is_ours(path: Path, *, torn: bool = False) -> bool:
    """Return whether a file is known to be of a run of neardup: by its name, and by the bytes that it begins with.

    With ``torn``, a spool file counts too whose header was never written, because its run was killed that moment.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):  # opening a pipe would block until a writer appears
            return False
        with open(path, "rb") as file:
            head = file.read(HEADER)
    except OSError:
        return False
    is_torn = torn and path.suffix == SUFFIX and not head.strip(b"\0")
    return is_torn or _OURS.match(os.fsencode(path.name) + b"/" + head) is not None


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """As they come back from JSON, so that a run sees the same before and after it was killed."""
    plain: dict[str, Any] = json.loads(json.dumps(values))
    return plain
