"""A Spark job while it runs: how many of its tasks are done is told, and a run that is stopped ends it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from neardup.errors import NeardupError

if TYPE_CHECKING:
    from pyspark import SparkContext

POLL = 0.25
"""Seconds between two questions for the tasks that are done; one takes the driver a few milliseconds."""
GRACE = 40
"""How often, POLL apart, Spark is asked to end a job that is no longer wanted, before whoever waits for it goes on."""

Answer = TypeVar("Answer")


def followed(context: SparkContext, name: str, job: Callable[[], Answer], on_done: Callable[[int], None]) -> Answer:
    """Do a Spark job in a thread of its own, and return its answer.

    ``on_done`` is told the number of tasks that are done, in the calling thread, at least four times a second. What it
    raises ends the job, as Ctrl-C does.
    """
    from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
    from pyspark import InheritableThread

    group, tracker = f"neardup-{os.getpid()}-{os.urandom(6).hex()}", context.statusTracker()
    ended: dict[str, Any] = {}

    def do() -> None:
        try:
            context.setJobGroup(group, f"neardup: {name}")
            ended["answer"] = job()
        except BaseException as exc:
            ended["error"] = exc

    thread = InheritableThread(target=do, name=f"neardup-{name}", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(POLL)
            on_done(_tasks_done(tracker, group))
    except OSError as exc:
        raise _lost(exc) from exc
    except BaseException:
        with suppress(OSError):
            for _ in range(GRACE):  # a job that has not begun yet is not ended
                context.cancelJobGroup(group)
                thread.join(POLL)
                if not thread.is_alive():
                    break
        raise
    if isinstance(error := ended.get("error"), (OSError, Py4JNetworkError)):
        raise _lost(error) from error
    if error is not None:
        raise error
    answer: Answer = ended["answer"]
    return answer


def _lost(error: BaseException) -> NeardupError:
    """The error where the process of Spark beside this one has gone; ``OSError``: nobody answers at its port."""
    why = str(error).strip() or type(error).__name__
    return NeardupError(
        f"the process of Spark on this machine has ended ({why}): it was killed, or had too little memory. Raise "
        "spark.driver.memory if it was that."
    )


def _tasks_done(tracker: Any, group: str) -> int:
    """Tasks of all jobs of a group that have ended well; a shuffle that is planned as it goes is several jobs."""
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    found = [tracker.getStageInfo(stage) for stage in stages]
    return sum(stage.numCompletedTasks for stage in found if stage is not None)
