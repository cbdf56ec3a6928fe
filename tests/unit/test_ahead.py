"""Tasks made in a thread of their own: order, errors, tasks to be worked on alone, and the end of the thread."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import neardup
from neardup.engine.threads import in_order
from neardup.errors import InputError
from neardup.inputs.ahead import AHEAD, made_ahead
from neardup.inputs.reader import open_inputs
from neardup.types import Alone


def readers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "neardup-read"]


def settled(value: Any, wanted: int) -> bool:
    """Whether a counter reaches a value and stays there for a while."""
    for _ in range(2000):
        if value() >= wanted:
            break
        time.sleep(0.005)
    time.sleep(0.05)
    return bool(value() == wanted)


def test_tasks_come_in_order_and_few_are_made_ahead() -> None:
    made: list[int] = []

    def tasks() -> Iterator[Any]:
        for i in range(50):
            made.append(i)
            yield lambda i=i: i

    with closing(made_ahead(tasks())) as ahead:
        assert next(ahead)() == 0
        assert settled(lambda: len(made), 1 + AHEAD)
        assert [task() for task in ahead] == list(range(1, 50))
    assert readers() == []


def test_an_error_comes_behind_the_tasks_before_it() -> None:
    def tasks() -> Iterator[Any]:
        yield lambda: 1
        yield lambda: 2
        raise InputError("the third is damaged")

    ahead = made_ahead(tasks())
    found = [next(ahead)(), next(ahead)()]
    with pytest.raises(InputError, match="the third is damaged"):
        next(ahead)
    assert found == [1, 2]
    assert readers() == []


def test_the_thread_ends_when_nobody_wants_more_and_closes_what_it_reads() -> None:
    closed = threading.Event()

    def tasks() -> Iterator[Any]:
        try:
            while True:
                yield lambda: 0
        finally:
            closed.set()

    with closing(made_ahead(tasks())) as ahead:
        next(ahead)
        assert readers() == ["neardup-read"]
    assert closed.is_set()
    assert readers() == []


def test_nothing_is_made_beside_a_task_that_is_worked_on_alone() -> None:
    made: list[int] = []

    def tasks() -> Iterator[Any]:
        for i in range(6):
            made.append(i)
            yield Alone(lambda i=i: i) if i == 2 else lambda i=i: i  # type: ignore[misc, return-value, arg-type]

    def work(task: Any) -> int:
        if isinstance(task, Alone):
            assert settled(lambda: len(made), 3)
        return int(task())

    assert list(in_order(work, made_ahead(tasks()), threads=2)) == list(range(6))


def written(path: Path, n: int, bad: int | None = None) -> Path:
    lines = [json.dumps({"id": i, "text": f"words of document {i % 977} " * 40}) for i in range(n)]
    if bad is not None:
        lines[bad] = "{"
    text = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_a_run_with_threads_finds_what_one_without_finds(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, 9000)
    one, two = (neardup.find(path, threads=threads) for threads in (1, 2))
    assert one.pairs.equals(two.pairs)
    assert one.clusters.equals(two.clusters)
    assert readers() == []


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [8_000, 20_000])
def test_the_first_thing_wrong_is_told_and_the_thread_is_gone(tmp_path: Path, threads: int, n: int) -> None:
    path = written(tmp_path / "x.jsonl.gz", n, bad=9)
    path.write_bytes(path.read_bytes()[:-9])  # cut short behind the bad line
    with pytest.raises(InputError, match=r"x\.jsonl\.gz:10: no valid JSON"):
        neardup.find(path, threads=threads)
    with pytest.raises(InputError, match="damaged or cut short"):
        neardup.find(path, threads=threads, on_bad="skip")
    assert readers() == []


def test_values_in_memory_are_asked_for_in_the_thread_of_the_caller() -> None:
    threads = set()

    def texts() -> Iterator[tuple[str, str]]:
        for i in range(100):
            threads.add(threading.current_thread())
            yield str(i), f"text {i}"

    with closing(open_inputs(texts()).tasks(2)) as tasks:
        assert sum(len(task().documents) for task in tasks) == 100
    assert threads == {threading.current_thread()}
