"""A process that has as little of Unix as Windows has, and runs neardup: for ``test_platforms``.

    python like_windows.py FOLDER

What Python's documentation says is not on Windows is taken away before neardup is imported: functions of ``os``,
signals, the modules ``resource`` and ``fcntl``, ``/proc``. A file that is open or mapped can be neither removed nor
renamed nor replaced, a rename does not replace, text is CP-1252 where nobody says otherwise, and lines of text end
in CR LF. What cannot be shown here: ``os.name``, drives, backslashes, and signals of a console. Prints a JSON object of
what was found.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import importlib.abc
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

GONE = {
    "preadv", "pread", "pwrite", "pwritev", "readv", "writev", "sendfile", "sync", "fork", "forkpty",
    "sched_getaffinity", "sched_setaffinity", "geteuid", "getuid", "getgid", "getegid", "getpgid", "getpgrp",
    "setsid", "killpg", "mkfifo", "sysconf", "fchown", "chown", "lchown", "getloadavg", "posix_fadvise",
    "posix_fallocate", "uname", "wait3", "wait4", "memfd_create", "splice", "copy_file_range", "O_NONBLOCK",
    "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "O_SYNC",
}  # fmt: skip
LOCKS = SimpleNamespace(LK_NBLCK=2, LK_UNLCK=0)
"""What stands in for the module of Windows that locks files."""
SIGNALS = {"SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGCHLD", "SIGQUIT", "SIGXCPU", "SIGXFSZ"}
MODULES = {"resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "syslog"}
TEXTS = [
    f"{word} crosses the river at noon and at {i % 7}, number {i // 2} of all that leave {word}'s bank, é."
    for i, word in ((i, f"{i // 2:032b}".translate({48: "no", 49: "ay"})) for i in range(200))
]
"""Pairs of texts that are alike."""

_kill, _rename, _unlink, _open, _io_open = os.kill, os.rename, os.unlink, os.open, io.open
_lockf, _TAKE, _LEAVE = fcntl.lockf, fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN
_listdir, _readlink = os.listdir, os.readlink
refused: list[str] = []
decoded: list[str] = []


class NoUnix(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def held(path: str) -> bool:
    """Whether this process has a file open or mapped."""
    real = os.path.realpath(path)
    for fd in _listdir("/proc/self/fd"):
        try:
            if _readlink(f"/proc/self/fd/{fd}") == real:
                return True
        except OSError:
            continue
    with _io_open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        return any(line.rstrip("\n").endswith(f" {real}") for line in maps)


def refuse(path: Any, number: int = errno.EACCES) -> None:
    refused.append(os.fspath(path))
    raise PermissionError(number, os.strerror(number), os.fspath(path))


def unlink(path: Any, *, dir_fd: int | None = None) -> None:
    whole = os.path.join(_readlink(f"/proc/self/fd/{dir_fd}"), path) if dir_fd is not None else path
    if held(os.fspath(whole)):
        refuse(whole)
    _unlink(path, dir_fd=dir_fd)


def rename(source: Any, target: Any) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(source), None, os.fspath(target))
    replace(source, target)


def replace(source: Any, target: Any) -> None:
    inside = [source, target]
    for folder in (source, target):
        if os.path.isdir(folder):
            inside += [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    for path in inside:
        if os.path.isfile(path) and held(os.fspath(path)):
            refuse(path)
    if os.path.isdir(target):
        refuse(target)
    _rename(source, target)


def opened(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
    if isinstance(path, (str, bytes, os.PathLike)):
        if os.path.isdir(path):  # a folder is no file there
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        if os.fspath(path).startswith("/proc/self/st"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return _open(path, flags, *args, **kwargs)


def io_opened(file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
              newline: Any = None, closefd: bool = True, opener: Any = None) -> Any:  # fmt: skip
    if isinstance(file, (str, Path)) and str(file).startswith(("/proc/", "/sys/")):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file))
    if "b" not in mode:
        if encoding in (None, "locale"):
            decoded.append(str(file))
            encoding = "cp1252"
        if newline is None and set(mode) & set("wax+"):
            newline = "\r\n"
    return _io_open(file, mode, buffering, encoding, errors, newline, closefd, opener)


def kill(pid: int, number: int) -> None:
    raise AssertionError(f"os.kill({pid}, {number}) sends Ctrl-C there, or ends the process")


def locking(fd: int, mode: int, size: int) -> None:
    """Lock bytes from where the descriptor stands, as ``msvcrt.locking`` does."""
    _lockf(fd, _TAKE if mode == LOCKS.LK_NBLCK else _LEAVE, size)


def become() -> None:
    for name in GONE & set(vars(os)):
        delattr(os, name)
    for name in SIGNALS & set(vars(signal)):
        delattr(signal, name)
    LOCKS.locking = locking
    sys.modules["msvcrt"] = LOCKS  # type: ignore[assignment]
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, NoUnix())
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    os.unlink = os.remove = unlink
    os.rename, os.replace, os.open, os.kill = rename, replace, opened, kill  # type: ignore[assignment]
    builtins.open = io.open = io_opened  # type: ignore[assignment]
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile  # as it is there: the system removes it when it is closed


def commands(folder: Path) -> dict[str, Any]:
    """What a user does, each as a command in this process: its exit code and how it ended."""
    from click.testing import CliRunner

    from neardup.cli import main
    from neardup.spool import machine

    machine._IS_WINDOWS = True
    lines = "".join(
        json.dumps({"id": f"d{i}", "text": text}, ensure_ascii=False) + "\n" for i, text in enumerate(TEXTS)
    )
    (folder / "docs.jsonl").write_bytes(lines.encode())
    (folder / "rows.csv").write_bytes(
        b"id,text\n" + "".join(f'r{i},"{text}"\n' for i, text in enumerate(TEXTS)).encode()
    )
    (folder / "run.toml").write_bytes(b'inputs = "docs.jsonl"\nthreshold = 0.8\n')
    (folder / "texts").mkdir()
    for i, text in enumerate(TEXTS[:20]):
        (folder / "texts" / f"{i}é.txt").write_bytes(f"{text}\n{text}\n".encode())
    told = {}
    for line in (
        "find docs.jsonl -t 0.8 -o pairs.jsonl --clusters clusters.csv --workdir spooled --quiet",
        "find docs.jsonl -t 0.8 -o memory.jsonl --quiet",
        "find texts --for articles -o texts.jsonl --with-text --quiet",
        "dedup docs.jsonl -t 0.8 -o clean.jsonl --removed removed.csv --quiet",
        "dedup rows.csv -t 0.8 -o clean.csv --workdir work --quiet",
        "dedup texts -t 0.8 -o cleaned --quiet",
        "dedup texts -t 0.9 -o cleaned --quiet",
        "passages docs.jsonl --min-bytes 20 -o spans.jsonl --workdir passed --quiet",
        "passages docs.jsonl --min-bytes 20 --cut first -o cut.jsonl --quiet",
        "index build seen.index docs.jsonl -t 0.8 --quiet",
        "index add seen.index rows.csv --quiet",
        "index query seen.index texts --top 1 -o hits.jsonl --quiet",
        "index remove seen.index d1 d2 --quiet",
        "index compact seen.index --quiet",
        "index verify seen.index --quiet",
        "index backup seen.index copy.index --quiet",
        "report docs.jsonl -t 0.8 -o report --quiet",
        "report rows.csv -t 0.8 -o report --quiet",
        "compare texts/0é.txt texts/1é.txt --html pair.html --quiet",
        "find --config run.toml -o again.jsonl --quiet",
    ):
        runner = CliRunner()
        done = runner.invoke(main, line.split())
        told[line] = [done.exit_code, done.stderr[-2000:]]
    return told


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    assert subprocess  # loaded while it finds what it needs of Unix
    import numba  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    become()
    found = commands(Path(sys.argv[1]))
    print(json.dumps({"commands": found, "refused": refused, "decoded": decoded}))
