"""A server that speaks S3, in a process of its own on this machine, for tests that read and write at addresses."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

NEEDED = "needs the S3 server and client of moto: pip install 'moto[s3]' flask flask-cors boto3"
_START = "import sys; from moto.server import main; main(['-H', '127.0.0.1', '-p', sys.argv[1]])"


@contextmanager
def running_store() -> Iterator[dict[str, str]]:
    """The variables by which clients find the server; the test is skipped where there is none to start."""
    if any(find_spec(name) is None for name in ("moto", "flask", "flask_cors", "boto3")):
        pytest.skip(NEEDED)
    port = free_port()
    # what it prints is of no interest, and a pipe that nobody reads would stop it
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _START, str(port)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait(server, port)
        yield variables(port)
    finally:
        server.kill()
        server.wait()


def free_port() -> int:
    """The number of a port of this machine that nobody listened to a moment ago."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def variables(port: int) -> dict[str, str]:
    """The variables by which clients find a server on a port of this machine."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "s3cr3t",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "NO_PROXY": "127.0.0.1",
    }


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    while server.poll() is None:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail(f"the S3 server ended with {server.returncode} before it answered")
