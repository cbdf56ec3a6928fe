"""Fixtures of the service: one in this process over an index in memory, and real ones in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.running import Running, run_service

import neardup
from neardup.server.app import Service
from neardup.server.limits import ServiceLimits

ROSES = {
    "rose": "A rose is a rose is a rose, said the poet, and went home in the rain.",
    "rose-2": "A rose is a rose is a rose, said the poet, and went home in the rain!",
    17: "The quick brown fox jumps over the lazy dog near the bank of the river.",
    "empty": "",
}
"""Documents of the small index."""


def make_roses(path: Path | None = None) -> neardup.Index:
    """The small index, in memory or in a folder."""
    made = neardup.Index.create(path, threshold=0.6, shingle="char:5")
    made.add(list(ROSES), list(ROSES.values()))
    return made


@pytest.fixture
def index() -> Iterator[neardup.Index]:
    """The small index in memory."""
    with make_roses() as made:
        yield made


Serving = Callable[..., TestClient]


@pytest.fixture
def serving() -> Iterator[Serving]:
    """A function that serves an index in this process: index, limits, and options of ``Service``."""
    services = []

    def serve(index: neardup.Index, limits: ServiceLimits | None = None, **options: object) -> TestClient:
        service = Service(index, limits=limits, **options)
        services.append(service)
        return TestClient(service)

    yield serve
    for service in services:
        service.close()


@pytest.fixture
def client(index: neardup.Index, serving: Serving) -> TestClient:
    """A client of the small index."""
    return serving(index)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The small index on the disk, closed."""
    path = tmp_path / "roses.index"
    make_roses(path).close()
    return path


@pytest.fixture
def running() -> Iterator[Callable[..., Running]]:
    """A function that runs ``neardup serve`` on a free port: the folder of the index and options."""
    processes: list[Running] = []

    def start(path: Path, *options: str) -> Running:
        processes.append(run_service(path, *options))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
