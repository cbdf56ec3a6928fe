"""Texts of known documents as people wrote them: they are read again, by those who ask, and then kept by the driver.

A table that shows texts asks for all of its documents at once, so the inputs are read once more for it; a few examples
ask for theirs only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from neardup.cutting import distinct
from neardup.engine.reading.again import SourceTexts
from neardup.engine.reading.collection import normalized
from neardup.engine.reading.written import WrittenTexts
from neardup.spark.exchange import Facts
from neardup.spark.pieces import Job, as_arrays, as_documents
from neardup.spark.texts import check_prints
from neardup.spark.work import ClusterWork
from neardup.spool import MemoryTexts, Texts
from neardup.stages.sketch import fingerprints
from neardup.types import I64, Batch, Documents, Mask

MOST_HELD = 0.2
"""Share of the driver's memory for data that texts may take; what is more is kept on its disk."""


class Brought:
    """Texts that were brought to the driver, by the numbers of the known documents."""

    def __init__(self, work: ClusterWork, usual: Callable[[], I64]) -> None:
        """None yet. ``usual``: the documents that tables may name, brought where one is asked for unprepared."""
        self._work = work
        self._usual = usual
        self._numbers = np.empty(0, dtype=np.int64)
        self._is_changed = np.empty(0, dtype=np.bool_)
        self.texts: Texts = MemoryTexts()

    def bring(self, numbers: I64) -> None:
        """Bring the texts of documents, but for those that are there if all are."""
        wanted = distinct(numbers)
        if np.isin(wanted, self._numbers, assume_unique=True).all():
            return
        work = self._work
        job, name = work.job, work.next_name("written")
        splits = work.put_places(f"{name}-asked", work.rows[wanted])
        found = work.map("texts", splits, partial(bring_written, job, name))
        is_large = sum(facts["bytes"] for facts in found) > work.space.budget.share(MOST_HELD)
        self.texts = work.space.scratch().texts(name) if is_large else MemoryTexts()
        changed = [np.empty(0, dtype=np.bool_)]
        for split, facts in zip(splits, found, strict=True):
            for piece in range(facts["pieces"]):
                arrays = job.storage.get(f"{name}/{split:06d}-{piece:06d}")
                self.texts.append(as_documents(arrays))
                changed.append(arrays["changed"])
        self._numbers, self._is_changed = wanted, np.concatenate(changed)

    def places(self, numbers: I64) -> I64:
        """Where in ``texts`` those of documents are."""
        if not np.isin(numbers, self._numbers).all():
            self.bring(np.concatenate((self._usual(), numbers)))
        return np.searchsorted(self._numbers, numbers)

    def is_changed(self, places: I64) -> Mask:
        """Which of them normalisation changes."""
        found: Mask = self._is_changed[places]
        return found


class Unchanged(SourceTexts):
    """Texts that normalisation leaves as they are; of the others only lengths are known."""

    def __init__(self, brought: Brought, lengths: Callable[[I64], I64]) -> None:
        """``lengths``: bytes of the normalised texts."""
        self._brought = brought
        self._normalized_lengths = lengths

    def lengths(self, rows: I64) -> I64:
        return self._normalized_lengths(rows)

    def parts(self, rows: I64, most: int | None = None) -> Iterator[tuple[Documents, I64, slice]]:
        return self._brought.texts.parts(self._brought.places(rows), most)


class Changed(Unchanged):
    """Those that normalisation changes, as they are written; of others nothing."""

    def lengths(self, rows: I64) -> I64:
        places = self._brought.places(rows)
        of, back = np.unique(places, return_inverse=True)
        lengths = np.where(self._brought.is_changed(of), self._brought.texts.lengths(of), 0)
        found: I64 = lengths[back]
        return found


@dataclass(frozen=True, slots=True)
class BroughtTexts(WrittenTexts):
    """The texts of known documents."""

    brought: Brought

    def prepare(self, rows: I64) -> None:
        self.brought.bring(rows)


def written_texts(work: ClusterWork, usual: Callable[[], I64]) -> BroughtTexts:
    """The texts of the documents that ``work`` knows; see ``Brought``."""
    brought, lengths = Brought(work, usual), work.collection.texts.lengths
    is_items = work.job.spec.shingle.kind == "item"
    return BroughtTexts(Unchanged(brought, lengths), Changed(brought, lengths), is_items, brought)


def bring_written(job: Job, name: str, split: int) -> Facts:
    """Bring some texts of a split to the storage, as they are written, batch by batch."""
    wanted = job.storage.get(f"{name}-asked/{split:06d}")["places"]
    prints, source = job.storage.get(f"read/{split:06d}", "prints")["prints"], job.source_of(split).name
    facts = {"pieces": 0, "bytes": 0}
    for documents, some in job.texts_of(split, wanted):
        mine = prints[wanted[some]]
        read = fingerprints(normalized(Batch(documents, source, wanted[some]), job.spec))
        check_prints(job, wanted[some] + job.bases[split], read, mine)
        changed = ~(fingerprints(documents) == mine).all(axis=1)
        job.storage.put(f"{name}/{split:06d}-{facts['pieces']:06d}", changed=changed, **as_arrays(documents))
        facts = {"pieces": facts["pieces"] + 1, "bytes": facts["bytes"] + documents.nbytes}
    return facts
