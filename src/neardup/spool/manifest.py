"""What a workdir holds as of its last checkpoint, and the lock that keeps a second run out of it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from neardup._version import __version__
from neardup.errors import SpoolError
from neardup.spool.files import at_work, damaged
from neardup.spool.machine import is_running, sync_folder, this_process

MANIFEST = "neardup.manifest"
PART = MANIFEST + ".part"
LOCK = "neardup.lock"
_FORMAT = 2
_FIRST = "neardup workdir "
"""With the format and the checksum, the first line of a manifest."""


@dataclass(slots=True)
class Manifest:
    """All that is true of a workdir at a checkpoint; values are those of JSON."""

    identity: dict[str, Any]
    """What the run was made from; a run with another must not go on with it."""
    state: dict[str, Any] = field(default_factory=dict)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name of the column: file, dtype, width, count, crc32."""
    peak: int = 0
    """Most bytes that the folder held at a time."""

    def write(self, folder: Path) -> None:
        """Put this in place of the manifest that is there, whole or not at all, and make it last."""
        body = json.dumps({each.name: getattr(self, each.name) for each in fields(self)}, indent=1).encode("ascii")
        part = folder / PART
        with at_work(folder / MANIFEST):
            try:
                with open(part, "wb") as stream:
                    stream.write(f"{_FIRST}{_FORMAT} {zlib.crc32(body):08x}\n".encode("ascii") + body)
                    stream.flush()
                    os.fsync(stream.fileno())
                part.replace(folder / MANIFEST)
                sync_folder(folder)
            except OSError:
                with contextlib.suppress(OSError):
                    part.unlink(missing_ok=True)
                raise

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a folder; SpoolError where there is none, or it is damaged or of another format."""
        path = folder / MANIFEST
        with at_work(path):
            try:
                first, _, body = path.read_bytes().partition(b"\n")
            except (FileNotFoundError, NotADirectoryError) as exc:
                raise SpoolError(
                    f"nothing to resume at {folder}: no interrupted run left its work there. "
                    "Run without --resume (resume=False)."
                ) from exc
        check = f" {zlib.crc32(body):08x}"
        if first != f"{_FIRST}{_FORMAT}{check}".encode("ascii"):
            format = first.decode("ascii", "replace").removeprefix(_FIRST).removesuffix(check)
            if not format.isdecimal():
                raise damaged(path, "its checksum is wrong")
            raise SpoolError(
                f"{path} has format {format}; neardup {__version__} reads {_FORMAT}. Resume with the version that "
                f"began the run, or delete {folder} and start again without --resume (resume=False)."
            )
        return cls(**json.loads(body))


def differences(then: Any, now: Any, key: str = "") -> Iterator[str]:
    """Say of each value that differs between two trees of JSON values where it is and what it was and is."""
    if isinstance(then, dict) and isinstance(now, dict):
        for name in [*then, *(name for name in now if name not in then)]:
            inner = f"{key}.{name}" if key else str(name)
            yield from differences(then.get(name, _ABSENT), now.get(name, _ABSENT), inner)
    elif isinstance(then, list) and isinstance(now, list):
        for i in range(max(len(then), len(now))):
            a, b = (tree[i] if i < len(tree) else _ABSENT for tree in (then, now))
            yield from differences(a, b, f"{key}[{i}]")
    elif then is _ABSENT or now is _ABSENT or type(then) is not type(now) or then != now:
        yield f"{key} is {_shown(now)} and was {_shown(then)}"


_ABSENT = object()


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else text[:117] + "..."


class Lock:
    """A file that names the process which works in the folder. One of a process that is gone is taken over."""

    _mine: set[str] = set()  # noqa: RUF012 shared on purpose: which of the locks that name this process are real
    """Paths of the locks that this process holds: a number of a process is used again, in a container at once."""

    def __init__(self, folder: Path) -> None:
        """Take the lock; SpoolError where another run has it, whose process the message names."""
        self._path = folder / LOCK
        text = " ".join(this_process()) + "\n"
        for _ in range(10):
            with at_work(folder):
                try:
                    fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                except FileExistsError:
                    self._put_aside(folder)
                    continue
            with at_work(self._path):
                try:
                    os.write(fd, text.encode("ascii"))
                except OSError:
                    self._path.unlink(missing_ok=True)
                    raise
                finally:
                    os.close(fd)
            self._mine.add(self._key())
            return
        raise SpoolError(f"{folder} is being taken by other runs. Name another folder with --workdir (workdir=).")

    def release(self) -> None:
        """Let other runs in."""
        self._mine.discard(self._key())
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _key(self) -> str:
        return os.path.realpath(self._path)

    def _put_aside(self, folder: Path) -> None:
        """Remove the lock that is there if nobody holds it."""
        with contextlib.suppress(FileNotFoundError):
            found = self._path.read_text(encoding="ascii", errors="replace")
            if not found:
                time.sleep(0.1)  # another run may be between making it and writing it
                found = self._path.read_text(encoding="ascii", errors="replace")
            pid, _, born = found.strip().partition(" ")
            if self._is_held(pid, born):
                raise SpoolError(
                    f"{folder} is in use by another run (process {pid}). Wait for it to end, or name another folder "
                    "with --workdir (workdir=)."
                )
            # two runs may find the same stale lock: the one that renames it away has it, and looks what it has got
            aside = self._path.with_name(f"{LOCK}.{secrets.token_hex(4)}")
            self._path.rename(aside)
            if aside.read_text(encoding="ascii", errors="replace") != found:
                with contextlib.suppress(OSError):
                    os.link(aside, self._path)
            aside.unlink(missing_ok=True)

    def _is_held(self, pid: str, born: str) -> bool:
        if not pid.isdigit() or int(pid) == 0:
            return False  # cut off while it was written: by a run that came no further
        if int(pid) == os.getpid():
            return self._key() in self._mine
        return is_running(pid, born)
