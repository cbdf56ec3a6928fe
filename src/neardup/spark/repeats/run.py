"""One run on a cluster: as ``tasks.repeats.run.PassageRun``, but for who reads the inputs and finds what repeats."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np

from neardup.engine.repeats.find import Repeats
from neardup.engine.repeats.kept import SegmentsInOrder
from neardup.engine.repeats.units import Key, private_key
from neardup.errors import InputChanged
from neardup.inputs.names import Provenance
from neardup.inputs.splits import plan_splits, usual_bytes
from neardup.params import SPARK
from neardup.session import token_of
from neardup.spark.exchange import Cluster, Facts
from neardup.spark.lopsided import uncut_notes
from neardup.spark.pieces import PARTS_TEXT
from neardup.spark.reading import tell_reader
from neardup.spark.repeats import anchors, segments
from neardup.spark.repeats.job import PassageJob
from neardup.spark.repeats.search import PassageSearch
from neardup.spark.run import keep_stamps, limit_worker_records, named_by_frames
from neardup.spark.storage import Storage
from neardup.tasks.repeats.run import PassageRun


@dataclass(slots=True)
class ClusterPassageRun(PassageRun):
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
    frames: tuple[int, ...] = field(kw_only=True, default=())
    """Sources that each frame was written as; as for ``spark.run.ClusterRun``."""
    work: PassageSearch = field(init=False)
    """What was done, when the search is done."""

    def __enter__(self) -> ClusterPassageRun:
        PassageRun.__enter__(self)
        self.split_bytes = self.split_bytes or usual_bytes(sum(part.total_bytes or 0 for part in self.reader.parts))
        sizes = [self.split_bytes, PARTS_TEXT, anchors.GIVEN, anchors.SELECTED, segments.CHUNK]
        self.folder = self.storage.begin(self.space.identity | {"sizes of tasks": sizes}, resume=self.go_on)
        limit_worker_records(self.reader, self.space.budget, self.worker_memory, self.folder)
        keep_stamps(self.stamps, self.folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        PassageRun.__exit__(self, kind, error, trace)
        if error is None or isinstance(error, InputChanged):
            self.storage.remove()

    @property
    def token(self) -> str:
        """A name for the run that is the same when it is resumed."""
        return token_of([self.storage.root, self.space.identity])

    def engine_facts(self) -> dict[str, Any]:
        """Who does the work, and the bytes that its tasks sent to each other, by stage: JSON values."""
        return {"engine": SPARK, "master": self.cluster.master, "exchanged": dict(self.work.tally.exchanged)}

    def find(self) -> Repeats:
        """Have the inputs read, and what repeats found; done once."""
        if self._repeats is None:
            splits = plan_splits(self.reader, self.split_bytes)
            for note in uncut_notes(self.reader.parts, splits, self.split_bytes):
                self.observer.note(note)
            inputs = self.folder, tuple(self.reader.parts), tuple(splits), self.worker_memory, self.frames
            how: dict[str, Any] = {"kind": self.length.kind, "span": self.length.units, "normalize": self.normalize}
            job = PassageJob(*inputs, **how, key=self._key())
            self.work = PassageSearch(
                self.cluster, job, self.space, observer=self.observer, threads=self.options.workers
            )
            self._repeats = self.work.run()
            self._take_names(self.work.names)
            tell_reader(self.reader, splits, self.work.facts)
        return self._repeats

    def segments(self) -> SegmentsInOrder:
        """All segments."""
        self.find()
        return self.work.segments

    def _take_names(self, names: Provenance) -> None:
        known = named_by_frames(names, self.frames, self.reader)
        self.provenance.ids, self.provenance.places, self.provenance.faults = known.ids, known.places, known.faults
        self.provenance.bad, self.provenance.blank, self.provenance.records = known.bad, known.blank, known.records

    def _key(self) -> Key:
        """The key of the hashes: that of the run which this one goes on with, or a new one."""
        if not self.folder.has_facts("key"):
            facts: Facts = {"key": [int(number) for number in private_key()]}
            self.folder.put_facts("key", facts)
        first, *odd = (np.uint64(number) for number in self.folder.get_facts("key")["key"])
        return first, odd[0], odd[1], odd[2]
