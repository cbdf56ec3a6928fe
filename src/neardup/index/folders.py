"""The folder of an index: made whole or not at all, held by one writer, its files and their sizes."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from neardup.errors import IndexLocked, IndexNotFound, OutputError
from neardup.index.database import DATABASE
from neardup.outputs.atomic import left_behind, remove_parts, temporary_name
from neardup.spool.machine import sync_folder

LOCK = "LOCK"
SEGMENTS = "segments"
_ACKNOWLEDGED = struct.Struct("<QI")
_FAR = 1 << 20
_FILES = {LOCK, SEGMENTS, DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"}
OLD = ".old"
"""Suffix of an index that is being replaced, in place of ".part"."""


@contextmanager
def appearing(folder: Path, *, replace: bool = False) -> Iterator[Path]:
    """A new folder under a temporary name, which takes its name when the block ends well and else is removed.

    With ``replace`` it takes the place of an index that is there, and the name is without an index for a moment only.
    Should the process be killed in that moment, the next call gives the index that was there its name back.
    """
    final = Path(os.path.realpath(folder))
    _give_back(final)
    is_there = folder.exists() or folder.is_symlink()
    if is_there and not replace:
        raise OutputError(f"{folder} is there already. Give another name, or open it, or remove it first.")
    if is_there:
        _check_replaceable(folder)
    remove_parts(folder)
    place = temporary_name(final)
    try:
        place.mkdir()
        (place / SEGMENTS).mkdir()
        (place / LOCK).touch()
        yield place
        sync_folder(place)
        if is_there:
            _exchange(place, final)
        else:
            os.rename(place, folder)
        sync_folder(final.parent)
    except BaseException as exc:
        shutil.rmtree(place, ignore_errors=True)
        if not isinstance(exc, OSError) or isinstance(exc, (OutputError, IndexNotFound)):
            raise
        raise OutputError(
            f"cannot make {folder}: {exc.strerror or exc}. Give a name in a folder that is there and that you may "
            "write to."
        ) from exc


def _check_replaceable(folder: Path) -> None:
    """Raise OutputError unless there is an index, nobody writes to it, and the folder has nothing else."""
    names = set(os.listdir(folder)) if folder.is_dir() else {""}
    if DATABASE not in names or not names <= _FILES:
        raise OutputError(f"{folder} is no index, or has other files too, and is not replaced. Give another name.")
    FolderLock(folder).release()


def _exchange(place: Path, final: Path) -> None:
    """Let ``place`` have the name of ``final``, which is removed."""
    _check_replaceable(final)
    old = place.with_suffix(OLD)
    os.rename(final, old)
    try:
        os.rename(place, final)
    except BaseException:
        os.rename(old, final)
        raise
    sync_folder(final.parent)
    shutil.rmtree(old, ignore_errors=True)


def _give_back(final: Path) -> None:
    """What a process that was killed has left of an exchange: the old index gets its name back, or is removed."""
    for old in left_behind(final, OLD):
        if final.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(old, final)


def check_there(folder: Path) -> None:
    """Raise IndexNotFound unless there is an index."""
    if not (folder / DATABASE).is_file():
        raise IndexNotFound(f"there is no index at {folder}. Make one with `neardup index create` (Index.create).")


class FolderLock:
    """The lock of the one process that writes; it is released when the process ends, however it does.

    The file also says which change was acknowledged last. SQLite drops what it cannot read at the end of its log, as if
    it had never been; that number, written after each commit, shows that it had. It costs no sync: after a loss of
    power it may be behind, never ahead.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._file = open(folder / LOCK, "r+b" if (folder / LOCK).exists() else "w+b", 0)  # noqa: SIM115 kept
        except OSError as exc:
            raise OutputError(
                f"cannot write to {folder}: {exc.strerror or exc}. Open it with read_only=True (--read-only)."
            ) from exc
        try:
            _lock(self._file.fileno(), held=True)
        except OSError as exc:
            self._file.close()
            raise IndexLocked(
                f"{folder} is open for writing already, in this process or in another, and can be only once. Close it "
                "there, or open with read_only=True (--read-only) to ask the index beside it."
            ) from exc

    def acknowledge(self, generation: int) -> None:
        """Note that a change is durable."""
        with contextlib.suppress(OSError):
            self._file.seek(0)
            self._file.write(_packed(generation))

    def release(self) -> None:
        """Let another process write; a child of this one, which shares the open file, must not hold it on."""
        with contextlib.suppress(OSError, ValueError):
            _lock(self._file.fileno(), held=False)
            self._file.close()


def _lock(fd: int, *, held: bool) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        os.lseek(fd, _FAR, os.SEEK_SET)  # Windows keeps others from the bytes that are locked
        mode = msvcrt.LK_NBLCK if held else msvcrt.LK_UNLCK  # type: ignore[attr-defined, unused-ignore]
        msvcrt.locking(fd, mode, 1)  # type: ignore[attr-defined, unused-ignore]
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB if held else fcntl.LOCK_UN)


def _packed(generation: int) -> bytes:
    return _ACKNOWLEDGED.pack(generation, zlib.crc32(generation.to_bytes(8, "little")))


def acknowledged(folder: Path) -> int | None:
    """The last change of which a writer has said that it is durable; 0 when it said nothing, None when damaged."""
    try:
        content = (folder / LOCK).read_bytes()
    except OSError:
        return 0
    generation = int.from_bytes(content[:8], "little")
    return generation if content in (b"", _packed(generation)) else None


def write_acknowledged(folder: Path, generation: int) -> None:
    """Note the last change of a copy. The caller syncs the file."""
    (folder / LOCK).write_bytes(_packed(generation))


def sizes(folder: Path) -> dict[str, int]:
    """Size of each file of an index, by its name inside the folder."""
    found = {}
    for path in sorted([*folder.iterdir(), *(folder / SEGMENTS).glob("*")]):
        with contextlib.suppress(OSError):
            if path.is_file():
                found[path.relative_to(folder).as_posix()] = path.stat().st_size
    return found
