"""How tasks are worked on, whoever does: Spark, or one process after the other in tests.

A *stage* is one of two things. ``map``: a task gives a small answer, and what is large it writes to the storage.
``exchange``: a task gives blobs (bytes), each for one of a number of partitions; when all are done, each partition is
worked on with all blobs that came for it, in the order of the tasks that gave them.

Work must be a pure function of its task: a task may be done twice, and at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from neardup.errors import NeardupError

Facts = dict[str, Any]
"""JSON values: what a task answers."""
Blob = tuple[int, bytes]
"""Number of the partition that it is for, and the bytes."""
Blobs = list[tuple[int, Any]]
"""(number of the task that gave it, bytes), in the order of the tasks."""


class Failed(Exception):
    """A task ended in an error that doing it again cannot mend."""

    def __init__(self, task: int, error: NeardupError) -> None:
        super().__init__(task, error)
        self.task = task
        self.error = error


class Cluster(Protocol):
    """Who works on tasks."""

    master: str
    """What the cluster is called."""
    sent: dict[str, int]
    """Bytes of blobs that went to partitions so far, by the name of the exchange."""

    def map(self, name: str, tasks: Sequence[int], work: Callable[[int], Facts]) -> list[Facts]:
        """Do each task; the answers are in the order of the tasks.

        Raises Failed for the first task, in their order, that raised a NeardupError.
        """

    def exchange(
        self,
        name: str,
        tasks: Sequence[int],
        give: Callable[[int], Iterator[Blob]],
        parts: int,
        take: Callable[[int, Blobs], Facts],
    ) -> list[Facts]:
        """Do each task, bring the blobs to their partitions, and do these; the answers are in their order.

        ``give`` gives at most some blobs a partition, each of any size. Raises Failed as ``map``, of the task, or else
        of the partition.
        """
