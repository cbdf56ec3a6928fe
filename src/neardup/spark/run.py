"""One run on a cluster: as ``session.Run``, but for who searches, and reads and writes again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType

import numpy as np

from neardup.engine.check import TooLargeError
from neardup.engine.space import Budget
from neardup.engine.state import Gathered, SearchState
from neardup.errors import InputChanged, InputError
from neardup.inputs.names import Provenance
from neardup.inputs.reader import Reader, Stamps
from neardup.inputs.splits import plan_splits, usual_bytes
from neardup.params import SPARK, Spec
from neardup.session import Run, compare_stamps, limit_records, token_of
from neardup.spark import buckets, copies, rewriting, search
from neardup.spark import parts as part_files
from neardup.spark.again import ClusterAgain
from neardup.spark.bad_records import by_frame
from neardup.spark.exchange import Cluster
from neardup.spark.known import KnownIds
from neardup.spark.lopsided import uncut_notes
from neardup.spark.pieces import PARTS_TEXT, Job
from neardup.spark.reading import tell_reader
from neardup.spark.search import ClusterSearch
from neardup.spark.storage import Storage
from neardup.spark.texts import worker_budget
from neardup.spark.work import WorkerTooLargeError
from neardup.spark.written import written_texts
from neardup.tasks.dedup.again import Again, again_of
from neardup.types import I64

WORKER_MEMORY = "spark.executor.pyspark.memory (for each core of an executor)"
"""What raises the memory of a task."""
_LIMITS, _STAMPS = "limits", "stamps"


@dataclass(slots=True)
class ClusterRun(Run):
    """A run whose search is done by a cluster, with its work in ``storage``, which driver and workers see.

    The work stays there when the run fails, and a later run may ``go_on`` with it.
    """

    cluster: Cluster = field(kw_only=True)
    storage: Storage = field(kw_only=True)
    folder: Storage = field(init=False)
    """Of the files of this run, in ``storage``."""
    worker_memory: int = field(kw_only=True)
    """Bytes that the process of a worker may take."""
    split_bytes: int = field(kw_only=True, default=0)
    """Input of one task, about; 0: as it is usual."""
    go_on: bool = field(kw_only=True, default=False)
    work: ClusterSearch = field(init=False)
    """What was done, when the search is done."""
    frames: tuple[int, ...] = field(kw_only=True, default=())
    """Sources that each frame was written as: documents without ids are called by their numbers in the frame, from 0,
    and not by the files."""

    def __enter__(self) -> ClusterRun:
        Run.__enter__(self)
        self.split_bytes = self.split_bytes or usual_bytes(sum(part.total_bytes or 0 for part in self.reader.parts))
        sizes = [self.split_bytes, search.PART_KEYS, copies.PART_PRINTS, PARTS_TEXT, buckets.RANGES]
        sizes += [rewriting.TASK_BYTES, part_files.JOIN_BYTES]
        # the memory of workers is not among it: whoever ran out of it gives more, and goes on
        self.folder = self.storage.begin(self.space.identity | {"sizes of tasks": sizes}, resume=self.go_on)
        limit_worker_records(self.reader, self.space.budget, self.worker_memory, self.folder)
        keep_stamps(self.stamps, self.folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Run.__exit__(self, kind, error, trace)
        if error is None or isinstance(error, InputChanged):
            self.storage.remove()

    @property
    def token(self) -> str:
        return token_of([self.storage.root, self.space.identity])

    @property
    def engine(self) -> str:
        return SPARK

    @property
    def master(self) -> str | None:
        return self.cluster.master

    def first_records(self) -> dict[str, tuple[int, int]]:
        """By source the number of its frame, and how many records of that come before."""
        return first_records_of(self.frames, self.reader, self.provenance)

    def gather(self, spec: Spec) -> Gathered:
        raise NotImplementedError("a cluster gives what was searched for")

    def search(self, *, keep_keys: bool = False) -> SearchState:
        """Verified pairs of representatives, of the documents that have copies or may have pairs."""
        splits = plan_splits(self.reader, self.split_bytes)
        for note in uncut_notes(self.reader.parts, splits, self.split_bytes):
            self.observer.note(note)
        inputs = self.folder, tuple(self.reader.parts), tuple(splits), self.worker_memory, self.frames
        job = Job(*inputs, spec=self.spec)
        self.work = found = ClusterSearch(self.cluster, job, self.space, observer=self.observer, threads=self.threads)
        found.on_hints = self._tell_hints
        with self._refusing_too_large():
            state = found.run()
        self._take_names(found.names)
        tell_reader(self.reader, splits, found.facts)
        if self.keep_written:

            def named() -> I64:
                return np.concatenate((state.pairs.involved(), state.copies.members, np.flatnonzero(state.crowd >= 0)))

            found.collection.shown = written_texts(found, named)
        return state

    def _take_names(self, names: Provenance) -> None:
        """Names of documents; of frames by these, and not by the files that they were written to."""
        self.provenance = named_by_frames(names, self.frames, self.reader)

    @contextmanager
    def _refusing_too_large(self) -> Iterator[None]:
        try:
            yield
        except TooLargeError as exc:
            self._take_names(self.work.names_of(np.unique(exc.rows)))
            names = " and ".join(map(str, self.provenance.ids.take(np.arange(np.unique(exc.rows).size)).to_pylist()))
            is_worker = isinstance(exc, WorkerTooLargeError)
            budget = worker_budget(self.worker_memory) if is_worker else self.space.budget
            more = (budget.limit - budget.work + 1.1 * exc.need) / 1e6
            whose = "for each task of a worker" if is_worker else "of the driver"
            raise InputError(
                f"the documents {names} are too long to be compared within a memory limit of {budget.limit / 1e6:.0f} "
                f"MB {whose}. Raise {WORKER_MEMORY if is_worker else '--memory (memory=)'} to about {more:.0f}MB, or "
                "leave them out."
            ) from exc


def limit_worker_records(reader: Reader, here: Budget, worker_memory: int, folder: Storage) -> None:
    """Tell the reader what a record may have where it is read: with a worker, which may have less than the driver.

    Where too large records are passed over, a run goes on by the limit that it began with, as on one machine; that is
    in ``folder``. ``here``: of the driver.
    """
    worker = worker_budget(worker_memory)
    setting = WORKER_MEMORY if worker.record < here.record else None
    limits = [min(worker.record, here.record), here.limit if setting is None else worker.limit]
    if reader.options.on_bad == "skip":
        if folder.has_facts(_LIMITS):
            limits = folder.get_facts(_LIMITS)["record"]
        else:
            folder.put_facts(_LIMITS, {"record": limits})
    limit_records(reader, worker, 1, limits, setting=setting)


def keep_stamps(stamps: Mapping[str, Stamps], folder: Storage) -> None:
    """Compare stamps with those that an interrupted run took, and leave them in ``folder`` for a later one."""
    known = folder.get_facts(_STAMPS) if folder.has_facts(_STAMPS) else {}
    if (digests := compare_stamps(stamps, known)) != known:
        folder.put_facts(_STAMPS, digests)


def first_records_of(frames: Sequence[int], reader: Reader, names: Provenance) -> dict[str, tuple[int, int]]:
    """By source the number of its frame, and how many records of that come before."""
    first, parts = {}, iter(reader.parts)
    for side, count in enumerate(frames):
        before = 0
        for part in islice(parts, count):
            first[part.name] = side, before
            before += names.records.get(part.name, 0)
    return first


def named_by_frames(names: Provenance, frames: Sequence[int], reader: Reader) -> Provenance:
    """The names, of frames by these, and not by the files that they were written to."""
    if frames:
        assert isinstance(names.ids, KnownIds)
        first = first_records_of(frames, reader, names)
        names.ids.first_records = {name: records for name, (_, records) in first.items()}
        names.faults = by_frame(names.faults, first)
    return names


@again_of.register
def _(run: ClusterRun, search: Gathered) -> Again:
    return ClusterAgain(run, run.work, search)
