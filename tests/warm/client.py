"""Running Python for a test: in a fork of the server where it can be, else in a process of its own."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import IO, Any

LIMIT = 600
"""Seconds after which a run counts as hung; no run takes a tenth of it, on a busy machine either."""
REPOSITORY = Path(__file__).resolve().parents[2]
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""For this process, which loads NumPy below, and all that it starts: the threads of OpenBLAS turn on the spot between
small products of matrices, and took five sixths of the processor time of the tests of ``tune``."""
PACKAGE = Path(str(import_module("neardup").__file__)).resolve().parent
"""The folder of the neardup under test."""


def environment() -> dict[str, str]:
    """Ours, with the neardup that the tests import found first, whatever the folder; a terminal of known width."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONUTF8": "1", "COLUMNS": "100"}


AT_FIRST = environment()
"""What the server is started with: as it is before the first test changes it."""


class Forked:
    """A run of the server at work, with those members of ``subprocess.Popen`` that tests use."""

    def __init__(
        self, arguments: Sequence[str], connection: socket.socket, pid: int, ends: Sequence[int], encoding: str | None
    ) -> None:
        self.args, self.pid = [sys.executable, *arguments], pid
        self.returncode: int | None = None
        self._connection = connection
        kind = "" if encoding is not None else "b"
        modes = (f"w{kind}", f"r{kind}", f"r{kind}")
        streams = [open(end, mode, encoding=encoding) for end, mode in zip(ends, modes, strict=True)]  # noqa: SIM115
        self.stdin: IO[Any]
        self.stdout: IO[Any]
        self.stderr: IO[Any]
        self.stdin, self.stdout, self.stderr = streams

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, when it has ended."""
        if self.returncode is None:
            from tests.warm.shim import receive

            self._connection.settimeout(timeout)
            try:
                code, _ = receive(self._connection)
            except TimeoutError:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0) from None
            assert isinstance(code, int), "the server has gone"
            self.returncode = code
            self._connection.close()
        return self.returncode

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Write the input, close it, and read both outputs to their ends."""
        with ThreadPoolExecutor(3, thread_name_prefix="warm") as pool:
            pool.submit(self._write, input)
            out, err = pool.submit(_rest, self.stdout), pool.submit(_rest, self.stderr)
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()  # or the threads would read for ever
                raise
            return out.result(), err.result()

    def _write(self, data: Any) -> None:
        with contextlib.suppress(BrokenPipeError, ValueError), self.stdin:  # the run may not want to know
            if data:
                self.stdin.write(data)

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, and the server is about to say so
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *problem: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        self.wait()


def _rest(stream: IO[Any]) -> Any:
    if stream.closed:
        return ""
    with stream:
        return stream.read()


def start(
    arguments: Sequence[str], *, cwd: str | os.PathLike[str] | None = None, env: dict[str, str] | None = None
) -> subprocess.Popen[str] | Forked:
    """What ``subprocess.Popen([sys.executable, *arguments], …)`` returns, with pipes to all ends, as text."""
    variables = environment() if env is None else env
    forked = _fork(arguments, cwd, variables, "utf-8")
    if forked is not None:
        return forked
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([sys.executable, *arguments], cwd=cwd, env=variables, encoding="utf-8", **pipes)


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
    forked = None if special else _fork(arguments, cwd, variables, encoding)
    if forked is not None:
        out, err = forked.communicate(input, LIMIT)
        return subprocess.CompletedProcess(forked.args, forked.wait(), out, err)
    if "stdin" not in special and input is None:
        special["stdin"] = subprocess.DEVNULL
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    options: dict[str, Any] = {"timeout": LIMIT, "check": False, **streams, **special}
    line = [sys.executable, *arguments]
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


def _fork(
    arguments: Sequence[str], cwd: str | os.PathLike[str] | None, variables: dict[str, str], encoding: str | None
) -> Forked | None:
    """A run by the server; None where there is none, or where it refuses."""
    path = _server()
    if path is None:
        return None
    from tests.warm.shim import ask, receive

    (stdin, give), (take_out, stdout), (take_err, stderr) = os.pipe(), os.pipe(), os.pipe()
    connection = ask(path, list(arguments), os.fspath(cwd or os.getcwd()), variables, [stdin, stdout, stderr])
    for end in (stdin, stdout, stderr):
        os.close(end)
    pid, _ = receive(connection)
    if isinstance(pid, int):
        return Forked(arguments, connection, pid, [give, take_out, take_err], encoding)
    connection.close()
    for end in (give, take_out, take_err):
        os.close(end)
    return None
