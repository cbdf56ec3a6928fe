"""A cluster of one process: tasks one after the other, blobs in a list; what is sent is pickled on the way."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from neardup.errors import NeardupError
from neardup.spark.exchange import Blob, Blobs, Facts, Failed


class InProcess:
    """Does the tasks in any ``order`` that it is given, as a cluster might."""

    def __init__(self, *, backwards: bool = False, twice: bool = False) -> None:
        """``twice``: each task is done once more, as speculation and lost machines make a cluster do."""
        self.backwards = backwards
        self.twice = twice
        self.master = "one process"
        self.stages: list[str] = []
        self.sent: dict[str, int] = {}

    def _each(self, tasks: Sequence[int]) -> list[int]:
        found = list(reversed(tasks)) if self.backwards else list(tasks)
        return [*found, *found[::2]] if self.twice else found

    def _do(self, work: Callable[..., Facts], *given: Any) -> Facts:
        """Do a task."""
        return work(*given)

    def map(self, name: str, tasks: Sequence[int], work: Callable[[int], Facts]) -> list[Facts]:
        self.stages.append(name)
        found, failed = {}, {}
        for task in self._each(tasks):
            try:
                found[task] = self._do(pickle.loads(pickle.dumps(work)), task)
            except NeardupError as exc:
                failed[task] = exc
        for task in tasks:
            if task in failed:
                raise Failed(task, failed[task])
        return [found[task] for task in tasks]

    def exchange(
        self,
        name: str,
        tasks: Sequence[int],
        give: Callable[[int], Iterator[Blob]],
        parts: int,
        take: Callable[[int, Blobs], Facts],
    ) -> list[Facts]:
        self.stages.append(name)
        given: list[list[tuple[int, int, bytes]]] = [[] for _ in range(parts)]
        for task in self._each(tasks):
            for blobs_of_part in given:
                blobs_of_part[:] = [blob for blob in blobs_of_part if blob[0] != task]  # of the time before
            try:
                for number, (part, blob) in enumerate(pickle.loads(pickle.dumps(give))(task)):
                    given[part].append((task, number, blob))
                    self.sent[name] = self.sent.get(name, 0) + len(blob)
            except NeardupError as exc:
                raise Failed(task, exc) from exc
        found = {}
        for part in self._each(range(parts)):
            blobs = [(task, blob) for task, _, blob in sorted(given[part], key=lambda each: each[:2])]
            try:
                found[part] = self._do(take, part, blobs)
            except NeardupError as exc:
                raise Failed(part, exc) from exc
        return [found[part] for part in range(parts)]
