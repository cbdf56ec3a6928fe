"""Running Python for a test: in a fork of the server where it can be, else in a process of its own."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

LIMIT = 600
"""Seconds after which a run counts as hung; no run takes a tenth of it, on a busy machine either."""
REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = Path(str(import_module("neardup").__file__)).resolve().parent
"""The folder of the neardup under test."""


def environment() -> dict[str, str]:
    """Ours, with the neardup that the tests import found first, whatever the folder; a terminal of known width."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONUTF8": "1", "COLUMNS": "100"}


AT_FIRST = environment()
"""What the server is started with: as it is before the first test changes it."""


def run(
    arguments: Sequence[str],
    *,
    input: str | bytes | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: dict[str, str] | None = None,
    encoding: str | None = None,
    **special: Any,
) -> subprocess.CompletedProcess[Any]:
    """What ``subprocess.run([sys.executable, *arguments], capture_output=True, …)`` returns.

    Args:
        arguments: of Python: ``-m MODULE …`` or ``-c CODE …``.
        input: what comes on stdin; nothing when None.
        cwd: the folder to run in; the current one when None.
        env: the environment; ``environment()`` when None.
        encoding: of input and outputs, which are bytes when None.
        special: any other option of ``subprocess.run``; such a run always has a process of its own.
    """
    variables = environment() if env is None else env
    line = [sys.executable, *arguments]
    path = None if special or arguments[0] not in ("-m", "-c") else _server()
    if path is not None:
        data = input.encode(encoding or "utf-8") if isinstance(input, str) else input or b""
        done = _forked(path, list(arguments), os.fspath(cwd or os.getcwd()), variables, data)
        if done is not None:
            code, out, err = done
            if encoding is None:
                return subprocess.CompletedProcess(line, code, out, err)
            texts = [part.decode(encoding).replace("\r\n", "\n").replace("\r", "\n") for part in (out, err)]
            return subprocess.CompletedProcess(line, code, *texts)
    if "stdin" not in special and input is None:
        special["stdin"] = subprocess.DEVNULL
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    options: dict[str, Any] = {"timeout": LIMIT, "check": False, **streams, **special}
    return subprocess.run(line, input=input, cwd=cwd, env=variables, encoding=encoding, **options)


def shell_commands(folder: Path) -> None:
    """Put ``neardup`` and ``python`` into a folder for the PATH of a shell."""
    (folder / "python").symlink_to(sys.executable)
    path = _server()
    start = f'"{sys.executable}" -m neardup'
    if path is not None:
        shim = Path(__file__).with_name("shim.py")
        start = f'"{sys.executable}" -IS "{shim}" "{path}" "{sys.executable}"'
    (folder / "neardup").write_text(f'#!/bin/sh\nexec {start} "$@"\n', encoding="utf-8")
    (folder / "neardup").chmod(0o755)


@functools.cache
def _server() -> str | None:
    """The socket of the server, which is started for the first run and ends with this process; None without one."""
    if sys.platform != "linux" or os.environ.get("NEARDUP_TESTS_COLD"):
        return None
    folder = tempfile.mkdtemp(prefix="neardup-warm-")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.warm.server", folder],
        cwd=REPOSITORY,
        env=AT_FIRST,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C ends it through its stdin, after the tests
    )

    def stop() -> None:
        process.communicate()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n", "the server did not begin"
    return os.path.join(folder, "socket")


def _forked(
    path: str, arguments: list[str], folder: str, variables: dict[str, str], data: bytes
) -> tuple[int, bytes, bytes] | None:
    """Exit code, stdout and stderr of a run by the server; None where it refuses."""
    from tests.warm.shim import ask, receive

    (stdin, give), (take_out, stdout), (take_err, stderr) = os.pipe(), os.pipe(), os.pipe()
    try:
        connection = ask(path, arguments, folder, variables, [stdin, stdout, stderr])
    finally:
        for end in (stdin, stdout, stderr):
            os.close(end)
    with connection, ThreadPoolExecutor(3, thread_name_prefix="warm") as pool:
        pool.submit(_write, give, data)
        out, err = pool.submit(_read, take_out), pool.submit(_read, take_err)
        connection.settimeout(LIMIT)
        try:
            code, _ = receive(connection)
        except TimeoutError:
            connection.shutdown(socket.SHUT_RDWR)  # the server then ends the run
            raise subprocess.TimeoutExpired(arguments, LIMIT, out.result(), err.result()) from None
        if code is None:
            return None
        assert isinstance(code, int)
        return code, out.result(), err.result()


def _write(descriptor: int, data: bytes) -> None:
    try:
        with open(descriptor, "wb", buffering=0) as sink:
            view = memoryview(data)
            while view:
                view = view[sink.write(view) :]
    except BrokenPipeError:
        pass  # the run did not want to know


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as source:
        return source.read()
