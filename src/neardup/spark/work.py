"""The common part of the steps of a search: the stages on the cluster, and requests to splits for documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from neardup.cutting import starts_of
from neardup.engine.check import TooLargeError
from neardup.engine.observe import Observer, Silent, Stages
from neardup.engine.space import Space
from neardup.engine.state import RunTally
from neardup.errors import SpoolError
from neardup.inputs.names import Provenance
from neardup.inputs.unread import Watch
from neardup.spark import known, texts
from neardup.spark.exchange import Blob, Blobs, Cluster, Facts, Failed
from neardup.spark.packing import Arrays
from neardup.spark.pieces import Inputs, Job
from neardup.spark.storage import files_written
from neardup.types import I64, Fault

TOO_LARGE = "too large"
"""The key in an answer for the rows of two documents too large to compare in a worker; "need" has the memory needed."""


AnyInputs = TypeVar("AnyInputs", bound=Inputs, covariant=True)


class WorkerTooLargeError(TooLargeError):
    """Two documents, given by their rows, are too long to compare within the memory of a worker."""


class StagedWork(Generic[AnyInputs]):
    """The stages of one run, each done once. The driver keeps the data of its own decisions in ``space``."""

    def __init__(
        self, cluster: Cluster, job: AnyInputs, space: Space, *, observer: Observer | None, threads: int
    ) -> None:
        """Begin with no stage done; ``threads`` is the number of threads of the driver."""
        self.cluster, self.job, self.space, self.threads = cluster, job, space, threads
        self.observer = observer or Silent()
        self.stages = Stages(space, self.observer)
        self.tally = RunTally(threads=threads, seconds=self.stages.seconds)
        self.facts: list[Facts] = []
        """The counts of each split."""
        self.was_done = False
        """Whether the last stage was done by the run that this one resumes."""
        self._rounds = 0
        self._done = 0

    @contextmanager
    def apart(self, name: str) -> Iterator[Space]:
        """Make a separate space for temporary work of the driver; it is removed at the end."""
        path = None if self.space.path is None else self.space.path.with_name(f"{self.space.path.name}-{name}")
        space = Space(self.space.budget, path, {})
        try:
            yield space
        finally:
            space.close(finished=True)

    def map(self, name: str, tasks: Iterable[int], work: Callable[[int], Facts]) -> list[Facts]:
        """Run a stage on the cluster; see ``exchange.Cluster``. Raises the error of the first task that fails."""
        each = list(tasks)
        return self._once(name, lambda: self.cluster.map(name, each, partial(_noted, work)), len(each))

    def exchange(
        self,
        name: str,
        tasks: Iterable[int],
        give: Callable[[int], Iterator[Blob]],
        parts: int,
        take: Callable[[int, Blobs], Facts],
    ) -> list[Facts]:
        """Run an exchange on the cluster; see ``exchange.Cluster``. Raises the error of the first task that fails."""
        each = list(tasks)
        taken = partial(_noted, take)
        return self._once(name, lambda: self.cluster.exchange(name, each, give, parts, taken), len(each) + parts)

    def once(self, name: str, work: Callable[[], Facts]) -> Facts:
        """Run a stage on the driver, once per run like the stages of the cluster."""
        (found,) = self._once(name, lambda: [_noted(work)], None)
        return found

    def _once(self, name: str, work: Callable[[], list[Facts]], tasks: int | None) -> list[Facts]:
        """Return the answers of a stage, from the storage if the run that this one resumes has done the stage.

        The order of stages depends only on their results, so the number of a stage identifies it.
        """
        self._done += 1
        done, storage = f"done/{self._done:03d}-{name.replace(' ', '-')}", self.job.storage
        with self.stages.stage(name, tasks, "tasks"):
            record = self._recorded(name, done)
            self.was_done = record is not None
            if record is None:
                before = self.cluster.sent.get(name, 0)
                try:
                    answers = work()
                except Failed as failed:
                    raise failed.error from failed
                record = {"answers": [each["facts"] for each in answers], "files": {}}
                for each in answers:
                    if TOO_LARGE in each["facts"]:
                        raise WorkerTooLargeError(np.array(each["facts"][TOO_LARGE]), each["facts"]["need"])
                    record["files"] |= each["files"]
                record["sent"] = self.cluster.sent.get(name, 0) - before
                storage.put_facts(done, record)
        if record["sent"]:
            self.tally.exchanged[name] = self.tally.exchanged.get(name, 0) + record["sent"]
        found: list[Facts] = record["answers"]
        return found

    def _recorded(self, name: str, done: str) -> Facts | None:
        """Return the record of a finished stage, or None unless all of its files exist with their recorded sizes."""
        storage = self.job.storage
        if not storage.has_facts(done):
            return None
        try:
            record = storage.get_facts(done)
            if storage.are_there(record["files"]):
                return record
        except SpoolError:
            if storage.has_facts(done):
                raise  # the record cannot be read, and is not known to be damaged
        self.observer.note(f"what the stage {name!r} wrote is not there as it was written: it is done again")
        return None

    def next_name(self, name: str) -> str:
        """Return a name that no stage has used."""
        self._rounds += 1
        return f"{name}{self._rounds}"

    def count_read(self, facts: list[Facts]) -> I64:
        """Store the counts of each split, adding the number of records before the split in its source.

        Returns int64[splits + 1]: the row of the first document of each split.
        """
        before, last, watch = 0, -1, Watch()
        for number, (split, each) in enumerate(zip(self.job.splits, facts, strict=True)):
            before = before if split.place == last else 0
            each["before"] = before if each["relative"] else 0
            before, last = before + each["records"], split.place
            faults = [Fault(*fault) for fault in each["faults"]]
            watch.count(self.job.source_of(number).role, number, each["documents"], each["bad"], faults)
        watch.finish()
        self.facts = facts
        return starts_of(np.array([each["documents"] for each in facts], dtype=np.int64))

    @property
    def filled(self) -> list[int]:
        """The splits that have documents."""
        filled: list[int] = np.flatnonzero(np.diff(self.job.bases)).tolist()
        return filled


class ClusterWork(StagedWork[Job]):
    """The work of one search."""

    rows: I64
    """The rows of the known documents, ascending, once these are known: their indices here are their new numbers."""
    collection: known.KnownCollection
    """The known documents, by their new numbers."""
    repeated_ids: tuple[int, str | None] = (0, None)
    """The number of documents with the id of an earlier document, and one such id."""

    def put_wanted(self, name: str, rows: I64, part: I64) -> list[int]:
        """Record for each split the partitions that its documents go to; rows are ascending and may repeat."""
        return self._put(name, rows, lambda some: {"part": part[some]})

    def put_places(self, name: str, rows: I64) -> list[int]:
        """Record for each split the documents that are wanted; rows are ascending."""
        return self._put(name, rows, lambda some: {})

    def _put(self, name: str, rows: I64, more: Callable[[slice], Arrays]) -> list[int]:
        found = list(self.job.by_split(rows))
        self.job.storage.put_all((f"{name}/{split:06d}", {"places": at} | more(some)) for split, some, at in found)
        return [split for split, _, _ in found]

    def look_up(self, name: str, rows: I64) -> Arrays:
        """Look up ``known.COLUMNS`` of documents by their sorted rows, and write their names to the storage."""
        job = self.job
        splits = self.put_places(f"{name}-asked", rows)
        self.map("names", splits, partial(known.look_up, job, name=name))
        return known.looked_up(job, name, splits)

    def names_of(self, rows: I64) -> Provenance:
        """Look up the names of documents, by ascending rows, for an error message, outside the recorded stages."""
        job, name = self.job, self.next_name("named")
        splits = self.put_places(f"{name}-asked", rows)
        self.cluster.map("names", splits, partial(known.look_up, job, name=name))
        return known.provenance(job, self.facts, rows, name)

    def bring(self, rows: I64, name: str) -> tuple[str, list[int]]:
        """Copy texts, as in the input, to the storage; return their name there, and the splits that have any."""
        job, named = self.job, self.next_name("texts")
        splits = self.put_places(f"{named}-wanted", rows)
        self.map(name, splits, partial(texts.bring, job, name=named))
        return named, splits


def _noted(work: Callable[..., Facts], *given: Any) -> Facts:
    """Run a task, and return its answer and the files that it wrote."""
    with files_written() as files:
        facts = work(*given)
    return {"facts": facts, "files": files}
