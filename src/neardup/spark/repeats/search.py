"""A search for repeated passages on a cluster: the stages in their order, and what the driver makes of them.

    reading ─► anchors ─► segments ─► what ``tasks.repeats`` asks of the repeats of a collection

Each stage leaves its answers in the storage. The driver holds what grows with the documents: their lengths and names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from neardup.cutting import cut, starts_of
from neardup.engine.repeats.around import PLACE
from neardup.engine.repeats.choice import Choice
from neardup.engine.repeats.find import Repeats
from neardup.errors import InputError
from neardup.spark import known
from neardup.spark.exchange import Facts
from neardup.spark.repeats import anchors, reading, segments
from neardup.spark.repeats.job import PassageJob
from neardup.spark.repeats.segments import StoredSegments
from neardup.spark.repeats.stored import StoredOriginals, StoredText
from neardup.spark.work import StagedWork
from neardup.types import I64


class PassageSearch(StagedWork[PassageJob]):
    """One search."""

    segments: StoredSegments

    def run(self) -> Repeats:
        """Find all repeats. Names of the documents are in ``names`` then, and segments in ``segments``."""
        job = self.job
        facts = self.map("reading", range(len(job.splits)), partial(reading.read, job))
        bases = self.count_read(facts)
        starts = {name: starts_of(np.array(_column(facts, name))) for name in ("units", "bytes", "characters")}
        self.job = job = replace(
            job, bases=bases, units=starts["units"], texts=starts["bytes"], characters=starts["characters"]
        )
        if job.units[-1] > int(PLACE):
            raise InputError(f"the collection is larger than {int(PLACE) / 1e9:.0f} GB. Give it in parts.")
        offsets, sizes = self._offsets()
        self.names = known.provenance(job, facts, np.arange(bases[-1]), "read")
        chunks = [offsets[some.start] for some in cut(np.diff(offsets), segments.CHUNK)]
        self.job = job = replace(job, chunks=np.array([*chunks, offsets[-1]], dtype=np.int64))
        parts = anchors.parts_for(job, int(job.units[-1]))
        give, take = partial(anchors.give_anchors, job, parts=parts), partial(anchors.take_anchors, job)
        counts: list[int] = []
        if chunks:
            self.exchange("anchors", self.filled, give, parts, take)
            give, take = partial(segments.give_pieces, job), partial(segments.take_pieces, job)
            counts = _column(self.exchange("segments", range(parts), give, len(chunks), take), "segments")
        self.segments = StoredSegments(job, offsets, counts)
        text = StoredText(job, self.space, offsets)
        originals = StoredOriginals(job, self.space, text, sizes)
        loops, none = np.empty((0, 3), dtype=np.int64), segments.no_pieces(self.space)
        return Repeats(text, originals, job.window, loops, none, Choice.all_of(int(bases[-1])))

    def _offsets(self) -> tuple[I64, I64]:
        """int64[documents + 1]: the first unit of each document, and its first byte as it was read."""
        job = self.job
        found: list[list[Any]] = [[np.empty(0, np.int64)], [np.empty(0, np.int64)]]
        for each in job.storage.get_all((f"read/{split:06d}" for split in self.filled), "lengths", "sizes"):
            found[0].append(each["lengths"])
            found[1].append(each["sizes"])
        offsets, sizes = (starts_of(np.concatenate(each)) for each in found)
        return offsets, offsets if job.are_bytes else sizes


def _column(facts: Sequence[Facts], name: str) -> list[int]:
    return [each[name] for each in facts] or [0]
