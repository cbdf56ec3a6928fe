"""Threads behind the event loop: a bounded queue, from which jobs that are alike are taken as one group.

A group makes one transaction of documents that arrive together (a durable commit costs milliseconds, whatever it
holds), and one call of queries that wait together. What a group does is in ``jobs``.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from neardup.errors import NeardupError
from neardup.server.problems import Problem

Group = Callable[[Hashable, list[Any]], Sequence[Any]]
"""What a pool does to a group: it takes the key that the jobs share and their values, and returns their results in the
same order. A result that is an exception is raised to whoever waits for it."""


@dataclass(slots=True, eq=False)
class _Job:
    key: Hashable
    value: Any
    size: int
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]
    is_taken: bool = False


class WorkerPool:
    """Threads that work off one queue in its order; with one thread, jobs are done strictly in order.

    As many jobs as ``waiting`` may wait; one more is refused with 503. A group has ``most`` jobs at most, of together
    ``most_bytes`` bytes; a larger job is alone.
    """

    def __init__(self, name: str, work: Group, *, threads: int, waiting: int, most: int, most_bytes: int) -> None:
        self._work = work
        self._waiting, self._most, self._most_bytes = waiting, most, most_bytes
        self._jobs: deque[_Job] = deque()
        self._ready = threading.Condition()
        self._closing = False
        self.groups = 0
        """Groups that were done; a gauge of how well jobs come together, and no more than that."""
        self._threads = [
            threading.Thread(target=self._serve, name=f"neardup-{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def __len__(self) -> int:
        """Jobs that wait."""
        return len(self._jobs)

    async def do(self, key: Hashable, value: Any, *, seconds: float | None, size: int = 0, must: bool = False) -> Any:
        """Have a job done and return its result; after so many ``seconds``, if any, the answer is 504.

        Args:
            key: jobs with equal keys may be done as one group; None is alike to nothing.
            value: what ``work`` is given.
            size: number of bytes that it works on.
            must: never refuse it, however many wait: streams are limited by their number.
        """
        loop = asyncio.get_running_loop()
        job = _Job(key, value, size, loop, loop.create_future())
        with self._ready:
            if self._closing:
                raise Problem.busy("the service is stopping.", "stopping")
            if len(self._jobs) >= self._waiting and not must:
                raise Problem.busy(f"{len(self._jobs)} requests are waiting already. Try again later.", "queue")
            self._jobs.append(job)
            self._ready.notify()
        if seconds is None:
            return await job.answer
        # Not asyncio.timeout: it costs a task's cancellation, and this line is passed by every request.
        alarm = loop.call_later(seconds, self._give_up, job, seconds)
        try:
            return await job.answer
        finally:
            alarm.cancel()

    def close(self) -> None:
        """Refuse what is new, do what waits, and return when the threads have ended."""
        with self._ready:
            self._closing = True
            self._ready.notify_all()
        for thread in self._threads:
            thread.join()

    def _give_up(self, job: _Job, seconds: float) -> None:
        with self._ready, contextlib.suppress(ValueError):
            self._jobs.remove(job)
        if not job.answer.done():
            outcome = "it may be done yet" if job.is_taken else "it was not begun"
            job.answer.set_exception(
                Problem(504, f"the request was not done within {seconds:g} s; {outcome}.", refused="deadline")
            )

    def _serve(self) -> None:
        while group := self._take():
            self.groups += 1
            outcomes = self._outcomes(group)
            with contextlib.suppress(RuntimeError):  # the loop has gone: so have those who waited
                group[0].loop.call_soon_threadsafe(_deliver, group, outcomes)

    def _take(self) -> list[_Job]:
        """The first job that waits and those right behind it that are alike; none when the pool has closed."""
        with self._ready:
            self._ready.wait_for(lambda: self._jobs or self._closing)
            if not self._jobs:
                return []
            group = [self._jobs.popleft()]
            size = group[0].size
            while self._jobs and group[0].key is not None and len(group) < self._most:
                job = self._jobs[0]
                size += job.size
                if job.key != group[0].key or job.loop is not group[0].loop or size > self._most_bytes:
                    break
                group.append(self._jobs.popleft())
            if self._jobs:
                self._ready.notify()
            for job in group:
                job.is_taken = True
        return group

    def _outcomes(self, group: list[_Job]) -> Sequence[Any]:
        try:
            return self._work(group[0].key, [job.value for job in group])
        except NeardupError as exc:
            # One job that cannot be done fails a group, of which nothing is done: find out which it was.
            return [exc] if len(group) == 1 else [outcome for job in group for outcome in self._outcomes([job])]
        except Exception as exc:
            return [exc] * len(group)


def _deliver(group: list[_Job], outcomes: Sequence[Any]) -> None:
    for job, outcome in zip(group, outcomes, strict=True):
        if job.answer.done():
            continue
        if isinstance(outcome, BaseException):
            job.answer.set_exception(outcome)
        else:
            job.answer.set_result(outcome)
