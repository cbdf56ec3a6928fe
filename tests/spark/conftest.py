"""Small partitions, so that small collections go to many tasks, and one machine's answer beside the cluster's."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.spark.inprocess import InProcess

from neardup import tuning
from neardup.params import InputOptions, RunOptions, SearchOptions
from neardup.result import Result
from neardup.session import Run
from neardup.spark import checking, copies, search, waiting
from neardup.spark.run import ClusterRun
from neardup.spark.storage import Storage
from neardup.tasks.find import open_across

MEMORY = 600 << 20
NOT_COMPARED = {"seconds", "total_seconds", "mb_per_second", "peak_memory", "memory_limit", "spooled", "threads"}
NOT_COMPARED |= {"engine", "master", "exchanged"}
"""Figures of a summary that say what was spent, not what was found."""

Find = Callable[..., tuple[Result, Result]]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions of some documents."""
    for module, name, size in (
        (search, "PART_KEYS", 5_000),
        (copies, "PART_PRINTS", 200),
        (copies, "PARTS_TEXT", 3_000),
        (waiting, "PARTS_TEXT", 9_000),
        (checking, "PARTS_TEXT", 30_000),
    ):
        monkeypatch.setattr(module, name, size)


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions of a few keys, prints and texts, and copies that are joined from many parts."""
    sizes = {
        "search.PART_KEYS": 500,
        "copies.PART_PRINTS": 20,
        "copies.PARTS_TEXT": 400,
        "checking.PARTS_TEXT": 900,
        "waiting.PARTS_TEXT": 900,
        "rewriting.TASK_BYTES": 20_000,
        "parts.JOIN_BYTES": 1024,
    }
    for name, size in sizes.items():
        monkeypatch.setattr(f"neardup.spark.{name}", size)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of two cores on this machine."""
    if shutil.which("java") is None:
        pytest.skip("no Java: what runs on Spark is not tested here")
    sql = pytest.importorskip("pyspark.sql", reason="no PySpark: what runs on Spark is not tested here")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    here = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
    builder = sql.SparkSession.builder.master("local[2]")
    for name, value in here.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def find_both(tmp_path: Path) -> Find:
    """Finds the near-duplicates of a path on one machine and on a cluster of one process."""

    numbers = count()

    def find(
        path: Path, *, cluster: Any = None, split_bytes: int = 20_000, worker_memory: int = MEMORY, **options: Any
    ) -> tuple[Result, Result]:
        given = SearchOptions(**{name: value for name, value in options.items() if name != "on_bad"})
        reading = InputOptions(on_bad=options.get("on_bad", "fail"))
        spec = tuning.make_spec(given)
        how: dict[str, Any] = {
            "cluster": cluster or InProcess(),
            "storage": Storage(str(tmp_path / f"work-{next(numbers)}")),
            "worker_memory": worker_memory,
            "split_bytes": split_bytes,
        }
        found = []
        for make, more in ((Run, {}), (ClusterRun, how)):
            reader = open_across(path, None, reading, item=spec.shingle.kind == "item")
            with make(reader, spec, RunOptions(threads=1), **more) as run:
                found.append(run.find(given.link).result())
        return found[0], found[1]

    return find


def assert_equal(one: Result, other: Result) -> None:
    """Tables and all that was counted are equal."""
    assert one.pairs.equals(other.pairs)
    assert one.clusters.equals(other.clusters)
    assert one.crowds.equals(other.crowds)
    ours, theirs = one.summary.as_dict(), other.summary.as_dict()
    assert {key: ours[key] for key in ours if key not in NOT_COMPARED} == {
        key: theirs[key] for key in theirs if key not in NOT_COMPARED
    }
    assert one.faults == other.faults
