"""``neardup serve`` in a process of its own, and raw sockets to it."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.warm import LIMIT

READY = re.compile(r"serving .* on http://127\.0\.0\.1:(\d+)\n")


@dataclass
class Running:
    """A service at work."""

    process: subprocess.Popen[str]
    port: int
    errors: IO[str]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        """A raw connection; reading from it gives up where it hangs."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT)

    def terminate(self, number: int = signal.SIGTERM) -> None:
        """Tell it to stop."""
        self.process.send_signal(number)

    def wait(self) -> tuple[int, str]:
        """Its exit code and what it said on stderr after the line that it is ready."""
        code = self.process.wait(timeout=LIMIT)
        return code, self.errors.read()

    def kill(self) -> None:
        """End it, if it has not ended."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=LIMIT)
        self.errors.close()


def run_service(path: Path, *options: str) -> Running:
    """Start a service and wait until it is ready."""
    command = [sys.executable, "-m", "neardup", "serve", str(path), "--port", "0", *options]
    # stderr into a file: nobody empties a pipe while the test does something else.
    with tempfile.NamedTemporaryFile("w", suffix=".stderr", delete=False) as sink:
        process = subprocess.Popen(command, stderr=sink, stdout=subprocess.DEVNULL, text=True)
    errors = Path(sink.name).open()  # noqa: SIM115 closed by kill
    Path(sink.name).unlink()
    said = ""
    while True:
        said += errors.readline()
        if found := READY.search(said):
            return Running(process, int(found[1]), errors)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.02)
            with errors:
                raise AssertionError(f"the service ended with {process.returncode}:\n{said}{errors.read()}")


def read_all(connection: socket.socket) -> bytes:
    """Everything until the other side closes; a reset counts as that."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)
