"""What the steps of a search have in common: the cluster's stages, and how splits are asked for documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

from neardup.engine.check import TooLargeError
from neardup.engine.observe import Observer, Silent, Stages
from neardup.engine.space import Space
from neardup.engine.state import RunTally
from neardup.inputs.names import Provenance
from neardup.spark import known, texts
from neardup.spark.exchange import Blob, Blobs, Cluster, Facts, Failed
from neardup.spark.pieces import Job
from neardup.spark.storage import Arrays
from neardup.types import I64

TOO_LARGE = "too large"
"""In an answer: the rows of two documents that the memory of a worker does not allow to compare; and its "need"."""


class WorkerTooLargeError(TooLargeError):
    """Two documents, by their rows, are too long to be compared within the memory of a worker."""


class ClusterWork:
    """The work of one run. The driver keeps what it decides itself within its ``space``."""

    rows: I64
    """Of the known documents, rising, as soon as these are known: their places here are their new numbers."""
    collection: known.KnownCollection
    """The known documents, by their new numbers."""

    def __init__(self, cluster: Cluster, job: Job, space: Space, *, observer: Observer | None, threads: int) -> None:
        """Nothing is done yet; ``threads`` are those of the driver."""
        self.cluster, self.job, self.space, self.threads = cluster, job, space, threads
        self.observer = observer or Silent()
        self.stages = Stages(space, self.observer)
        self.tally = RunTally(threads=threads, seconds=self.stages.seconds)
        self.facts: list[Facts] = []
        """What each split counted."""
        self.repeated_ids: tuple[int, str | None] = (0, None)
        """How many documents carry the id of an earlier one, and an id that comes back."""
        self.was_done = False
        """Whether the last stage was done by the run that this one goes on with."""
        self._rounds = 0
        self._done = 0

    @contextmanager
    def apart(self, name: str) -> Iterator[Space]:
        """A space beside that of the run, for what the driver does and then forgets."""
        path = None if self.space.path is None else self.space.path.with_name(f"{self.space.path.name}-{name}")
        space = Space(self.space.budget, path, {})
        try:
            yield space
        finally:
            space.close(finished=True)

    def map(self, name: str, tasks: Iterable[int], work: Callable[[int], Facts]) -> list[Facts]:
        """A stage of the cluster; see ``exchange.Cluster``. Raises the error of the first task that has one."""
        each = list(tasks)
        return self.once(name, lambda: self.cluster.map(name, each, work), tasks=len(each))

    def exchange(
        self,
        name: str,
        tasks: Iterable[int],
        give: Callable[[int], Iterator[Blob]],
        parts: int,
        take: Callable[[int, Blobs], Facts],
    ) -> list[Facts]:
        """A stage of the cluster; see ``exchange.Cluster``. Raises the error of the first task that has one."""
        each = list(tasks)
        return self.once(name, lambda: self.cluster.exchange(name, each, give, parts, take), tasks=len(each) + parts)

    def once(self, name: str, work: Callable[[], list[Facts] | Facts], *, tasks: int | None = None) -> list[Facts]:
        """Do a stage, unless the run that this one goes on with did; its answers, which are in the storage then.

        Stages come in one order, which what they found decides: so the number of a stage names it.
        """
        self._done += 1
        done, storage = f"done/{self._done:03d}-{name.replace(' ', '-')}", self.job.storage
        with self.stages.stage(name, tasks, "tasks"):
            self.was_done = storage.has_facts(done)
            if self.was_done:
                facts = storage.get_facts(done)
            else:
                before = self.cluster.sent.get(name, 0)
                try:
                    answers = work()
                except Failed as failed:
                    raise failed.error from failed
                for each in answers if isinstance(answers, list) else ():
                    if TOO_LARGE in each:
                        raise WorkerTooLargeError(np.array(each[TOO_LARGE], dtype=np.int64), each["need"])
                sent = self.cluster.sent.get(name, 0) - before
                facts = {"answers": answers if isinstance(answers, list) else [answers], "sent": sent}
                storage.put_facts(done, facts)
        if facts["sent"]:
            self.tally.exchanged[name] = self.tally.exchanged.get(name, 0) + facts["sent"]
        found: list[Facts] = facts["answers"]
        return found

    def next_name(self, name: str) -> str:
        """A name that no stage had."""
        self._rounds += 1
        return f"{name}{self._rounds}"

    @property
    def filled(self) -> list[int]:
        """Splits that have documents."""
        filled: list[int] = np.flatnonzero(np.diff(self.job.bases)).tolist()
        return filled

    def put_wanted(self, name: str, rows: I64, part: I64) -> list[int]:
        """Tell splits which of their documents go to which partitions; rows are rising, repeats allowed."""
        return self._put(name, rows, lambda some: {"part": part[some]})

    def put_places(self, name: str, rows: I64) -> list[int]:
        """Tell splits which of their documents are asked for; rows are rising."""
        return self._put(name, rows, lambda some: {})

    def _put(self, name: str, rows: I64, more: Callable[[slice], Arrays]) -> list[int]:
        found = list(self.job.by_split(rows))
        self.job.storage.put_all((f"{name}/{split:06d}", {"places": at} | more(some)) for split, some, at in found)
        return [split for split, _, _ in found]

    def look_up(self, name: str, rows: I64) -> known.Known:
        """Counts, lengths and prints of documents by their rows, rising; their names go to the storage."""
        job = self.job
        splits = self.put_places(f"{name}-asked", rows)
        self.map("names", splits, partial(known.look_up, job, name=name))
        return known.looked_up(job, name, splits)

    def names_of(self, rows: I64) -> Provenance:
        """Names of some documents, rising: what an error says of them, so that it is no stage of the run."""
        job, name = self.job, self.next_name("named")
        splits = self.put_places(f"{name}-asked", rows)
        self.cluster.map("names", splits, partial(known.look_up, job, name=name))
        return known.provenance(job, self.facts, rows, name)

    def bring(self, rows: I64, name: str) -> tuple[str, list[int]]:
        """Bring texts, as they are written, to the storage; gives their name there, and the splits that have some."""
        job, named = self.job, self.next_name("texts")
        splits = self.put_places(f"{named}-wanted", rows)
        self.map(name, splits, partial(texts.bring, job, name=named))
        return named, splits
