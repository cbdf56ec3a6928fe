"""The pool: groups, order, refusals, deadlines, the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.documents.living import until
from tests.warm import LIMIT

from neardup.errors import InputError
from neardup.server.problems import Problem
from neardup.server.work import WorkerPool


class Worker:
    """Notes the groups that it is given; waits at each until it is let go."""

    def __init__(self, *, held: bool = False) -> None:
        self.groups: list[tuple[Hashable, list[Any]]] = []
        self.begun = threading.Event()
        self.go = threading.Event()
        if not held:
            self.go.set()

    def __call__(self, key: Hashable, values: list[Any]) -> list[Any]:
        self.groups.append((key, values))
        self.begun.set()
        assert self.go.wait(LIMIT)
        if "bad" in values:
            raise InputError("bad")
        if "broken" in values:
            raise ZeroDivisionError("broken")
        return [f"done {value}" for value in values]


def _pool(worker: Worker, *, waiting: int = 100, most: int = 100, most_bytes: int = 1000) -> WorkerPool:
    return WorkerPool("test", worker, threads=1, waiting=waiting, most=most, most_bytes=most_bytes)


async def _behind(worker: Worker, pool: WorkerPool, jobs: list[tuple[Hashable, Any, int]]) -> list[Any]:
    """Let one job hold the thread while the others gather behind it; their outcomes."""
    first = asyncio.create_task(pool.do("first", "first", seconds=LIMIT))
    await asyncio.to_thread(worker.begun.wait, LIMIT)
    rest = [asyncio.create_task(pool.do(key, value, seconds=LIMIT, size=size)) for key, value, size in jobs]
    await asyncio.sleep(0.01)
    worker.go.set()
    await first
    return await asyncio.gather(*rest, return_exceptions=True)


def _run(make: Callable[[], Any]) -> Any:
    return asyncio.run(make())


def test_alike_jobs_that_wait_are_one_group_in_order() -> None:
    worker = Worker(held=True)
    pool = _pool(worker, most=3)
    jobs = [
        ("a", 1, 0),
        ("a", 2, 0),
        ("b", 3, 0),
        ("a", 4, 0),
        (None, 5, 0),
        (None, 6, 0),
        *[("c", n, 0) for n in range(5)],
    ]
    outcomes = _run(lambda: _behind(worker, pool, jobs))
    pool.close()
    assert outcomes == [f"done {value}" for _, value, _ in jobs]
    assert worker.groups[1:] == [
        ("a", [1, 2]), ("b", [3]), ("a", [4]), (None, [5]), (None, [6]), ("c", [0, 1, 2]), ("c", [3, 4]),
    ]  # fmt: skip
    assert pool.groups == len(worker.groups)


def test_large_jobs_are_alone() -> None:
    worker = Worker(held=True)
    pool = _pool(worker, most_bytes=10)
    _run(lambda: _behind(worker, pool, [("a", 1, 6), ("a", 2, 4), ("a", 3, 1), ("a", 4, 99), ("a", 5, 1)]))
    pool.close()
    assert [values for _, values in worker.groups[1:]] == [[1, 2], [3], [4], [5]]


def test_one_bad_job_does_not_fail_its_group() -> None:
    worker = Worker(held=True)
    pool = _pool(worker)
    good, bad, other = _run(lambda: _behind(worker, pool, [("a", "x", 0), ("a", "bad", 0), ("a", "y", 0)]))
    pool.close()
    assert (good, other) == ("done x", "done y")
    assert isinstance(bad, InputError)


def test_unexpected_error_reaches_everyone_who_waits() -> None:
    worker = Worker(held=True)
    pool = _pool(worker)
    outcomes = _run(lambda: _behind(worker, pool, [("a", "x", 0), ("a", "broken", 0)]))
    pool.close()
    assert [type(outcome) for outcome in outcomes] == [ZeroDivisionError, ZeroDivisionError]


def test_full_queue_refuses_and_must_does_not() -> None:
    worker = Worker(held=True)
    pool = _pool(worker, waiting=2)

    async def go() -> None:
        tasks = [asyncio.create_task(pool.do(None, 0, seconds=LIMIT))]
        await asyncio.to_thread(worker.begun.wait, LIMIT)
        tasks += [asyncio.create_task(pool.do(None, n, seconds=LIMIT)) for n in (1, 2)]
        await asyncio.sleep(0.01)
        assert len(pool) == 2
        with pytest.raises(Problem) as refused:
            await pool.do(None, 3, seconds=LIMIT)
        assert refused.value.status == 503
        assert dict(refused.value.headers)[b"retry-after"] == b"1"
        tasks.append(asyncio.create_task(pool.do(None, 4, seconds=None, must=True)))
        await asyncio.sleep(0.01)
        worker.go.set()
        assert await asyncio.gather(*tasks) == ["done 0", "done 1", "done 2", "done 4"]

    _run(go)
    pool.close()


def test_job_that_waited_too_long_is_never_begun() -> None:
    worker = Worker(held=True)
    pool = _pool(worker)

    async def go() -> None:
        begun = asyncio.create_task(pool.do(None, "begun", seconds=0.05))
        await asyncio.to_thread(worker.begun.wait, LIMIT)
        with pytest.raises(Problem, match="not begun") as late:
            await pool.do(None, "waits", seconds=0.05)
        assert late.value.status == 504
        with pytest.raises(Problem, match="may be done yet"):
            await begun
        worker.go.set()

    _run(go)
    pool.close()
    assert [values for _, values in worker.groups] == [["begun"]]


def test_close_does_what_waits_and_refuses_what_comes() -> None:
    worker = Worker(held=True)
    pool = _pool(worker)

    async def go() -> None:
        tasks = [asyncio.create_task(pool.do("a", n, seconds=LIMIT)) for n in range(5)]
        await asyncio.to_thread(worker.begun.wait, LIMIT)
        closing = asyncio.create_task(asyncio.to_thread(pool.close))
        await asyncio.to_thread(until, lambda: pool._closing)
        with pytest.raises(Problem, match="stopping"):
            await pool.do("a", 9, seconds=LIMIT)
        worker.go.set()
        await closing
        assert await asyncio.gather(*tasks) == [f"done {n}" for n in range(5)]

    _run(go)


def test_threads_work_beside_each_other() -> None:
    together = threading.Barrier(4)

    def meet(key: Hashable, values: list[Any]) -> list[Any]:
        together.wait(LIMIT)  # which goes on when all four are here
        return values

    pool = WorkerPool("test", meet, threads=4, waiting=10, most=10, most_bytes=10)

    async def go() -> list[Any]:
        return await asyncio.gather(*(pool.do(None, n, seconds=LIMIT) for n in range(4)))

    assert _run(go) == [0, 1, 2, 3]
    pool.close()


def test_jobs_of_two_event_loops_are_answered_at_once() -> None:
    worker = Worker(held=True)
    pool = _pool(worker)

    async def ask(value: str) -> Any:
        return await pool.do("a", value, seconds=LIMIT)

    with ThreadPoolExecutor(4) as threads:
        answers = [threads.submit(asyncio.run, ask(str(number))) for number in range(4)]
        until(worker.begun.is_set)
        worker.go.set()
        assert [answer.result(LIMIT) for answer in answers] == [f"done {number}" for number in range(4)]
    pool.close()
    assert sorted(value for _, values in worker.groups for value in values) == ["0", "1", "2", "3"]
