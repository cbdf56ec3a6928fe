"""What all stages know of a job, and the splits of its inputs as the stages ask for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from neardup.cutting import cut, starts_of
from neardup.engine.reading.again import PIECE_BYTES
from neardup.engine.threads import in_order
from neardup.inputs.source import Source, Task
from neardup.inputs.splits import Split, SplitReading, read_split
from neardup.params import Spec
from neardup.spark.packing import Arrays
from neardup.spark.storage import Storage
from neardup.stages.text import chosen
from neardup.types import I64, Batch, Documents, Places

SCATTERED = 0.3
"""Share of the bytes of a split up to which records are read by themselves; of more the split is read through."""
PARTS_TEXT = 48 << 20
"""Bytes of text of one partition, about: its worker takes several times as much memory."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What every task of any run needs of its inputs; it goes to the workers with the task."""

    storage: Storage
    sources: tuple[Source, ...]
    splits: tuple[Split, ...]
    memory: int
    """Bytes that the process of a worker may take."""
    frames: tuple[int, ...] = ()
    """How many sources each frame was written as; none, where the inputs are no frames."""
    bases: I64 = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    """int64[splits + 1]: the row of the first document of each split, when the splits were read."""

    def source_of(self, split: int) -> Source:
        """The source that a split is a part of."""
        return self.sources[self.splits[split].place]

    def by_split(self, rows: I64) -> Iterator[tuple[int, slice, I64]]:
        """Rising rows by the split that has them: its number, the slice of rows, and their places in it, from 0."""
        ends = np.searchsorted(rows, self.bases)
        for split in np.flatnonzero(np.diff(ends)).tolist():
            some = slice(ends[split], ends[split + 1])
            yield split, some, rows[some] - self.bases[split]

    def texts_of(self, split: int, wanted: I64) -> Iterator[tuple[Documents, slice]]:
        """The texts of some documents of a split, by their places in it (rising), as they are written, batch by batch.

        Yields documents and the slice of ``wanted`` that they are. Few records of a plain file are read by themselves.
        """
        if not wanted.size:
            return
        known = self.storage.get(f"places/{split:06d}")
        if known:
            starts, sizes = known["starts"][wanted], known["sizes"][wanted].astype(np.int64)
            origin = self.source_of(split).reopened(json.loads(bytes(known["origin"])))
            if origin is not None and sizes.sum() <= SCATTERED * known["sizes"].sum(dtype=np.int64):
                for part in cut(sizes, PIECE_BYTES):
                    yield origin.read(starts[part], starts[part] + sizes[part]), part
                return
        reading = read_split(self.source_of(split), self.splits[split])
        first = 0
        for batch in batches_of(reading):
            n = len(batch.documents)
            begin, end = np.searchsorted(wanted, (first, first + n)).tolist()
            some = chosen(batch.documents, wanted[begin:end] - first)
            if end > begin:
                yield some, slice(begin, end)
            first += n
            if batch.give_back is not None and some is not batch.documents:  # who asked may still look at the block
                batch.give_back()


@dataclass(frozen=True, slots=True)
class Job(Inputs):
    """What every task of a search needs."""

    spec: Spec = field(kw_only=True)


def place_arrays(places: Sequence[Places | None]) -> Arrays:
    """Where the records of a split's batches are, for ``Job.texts_of``; none where one cannot be read by itself."""
    known = [each for each in places if each is not None]
    facts = known[0].origin.facts if known else {}
    if not known or len(known) < len(places) or any(each.origin.facts != facts for each in known):
        return {}
    starts = np.concatenate([each.starts for each in known])
    sizes = np.concatenate([each.stops for each in known]) - starts
    if sizes.max(initial=0) > np.iinfo(np.uint32).max:
        return {}
    told = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    return {"starts": starts, "sizes": sizes.astype(np.uint32), "origin": told}


def batches_of(reading: SplitReading) -> Iterator[Batch]:
    """The batches of a split, one after the other."""
    return in_order(_done, reading.tasks(), threads=1)


def _done(task: Task) -> Batch:
    return task()


def as_arrays(documents: Documents) -> Arrays:
    """A block of documents as arrays: ``text`` without slack, ``lengths``."""
    first, last = int(documents.offsets[0]), int(documents.offsets[-1])
    return {"text": documents.data[first:last], "lengths": np.diff(documents.offsets)}


def as_documents(arrays: Arrays) -> Documents:
    """The block of ``as_arrays``."""
    return Documents.with_slack(arrays["text"], starts_of(arrays["lengths"]))
