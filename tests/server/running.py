"""``neardup serve`` at work, and raw sockets to it."""

from __future__ import annotations

import contextlib
import fcntl
import re
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests import warm
from tests.warm import LIMIT

READY = re.compile(r"serving .* on http://127\.0\.0\.1:(\d+)\n")


@dataclass
class Running:
    """A service at work."""

    process: subprocess.Popen[str] | warm.Forked
    port: int

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
        assert self.process.stderr is not None
        return code, self.process.stderr.read()

    def kill(self) -> None:
        """End it, if it has not ended."""
        with self.process:
            self.process.kill()


def run_service(path: Path, *options: str) -> Running:
    """Start a service and wait until it is ready."""
    process = warm.start(["-m", "neardup", "serve", str(path), "--port", "0", *options])
    assert process.stderr is not None
    if sys.platform == "linux":  # room for all that it says, as nobody empties the pipe meanwhile
        fcntl.fcntl(process.stderr.fileno(), fcntl.F_SETPIPE_SZ, 1 << 20)
    said = ""
    while line := process.stderr.readline():
        said += line
        if found := READY.search(said):
            return Running(process, int(found[1]))
    with process:
        raise AssertionError(f"the service ended with {process.wait(LIMIT)}:\n{said}")


def read_all(connection: socket.socket) -> bytes:
    """Everything until the other side closes; a reset counts as that."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)
