"""Large buckets: the texts of their members come to the driver, where the code of one machine deals with them.

What it decides about crowds goes from band to band and from bucket to bucket, so it is not shared out. The members are
few beside the documents; how many they are is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from neardup.cutting import starts_of
from neardup.engine.banding.candidates import BandCandidates, BandWork, pair_large
from neardup.engine.check import Checker
from neardup.engine.observe import Silent
from neardup.engine.reading.collection import collect
from neardup.inputs.names import Provenance
from neardup.spark import buckets
from neardup.spark.pieces import Job, as_documents
from neardup.spark.texts import check_prints
from neardup.spark.work import ClusterWork
from neardup.types import I64, Batch, Mask

HOT = 2
"""The column of ``sizes`` that tells hot buckets."""


@dataclass(frozen=True, slots=True)
class Large:
    """What became of the buckets that are not small, by the places of their members in ``rows``."""

    rows: I64
    """All members, rising."""
    candidates: BandCandidates
    check: Checker

    @property
    def involved(self) -> I64:
        """Members that are in a crowd or may have a pair."""
        crowds = self.candidates.crowds
        is_near: Mask = crowds.crowd >= 0
        for left, right, _ in self.candidates.pending.pieces():
            is_near[left] = is_near[right] = True
        for members, leaders, _ in crowds.joined():
            is_near[members] = is_near[leaders] = True
        return self.rows[is_near]


def deal_with_large(search: ClusterWork, parts: int) -> Large | None:
    """Find crowds, and the pairs of hot buckets and of those that wait, of all ``parts`` of the keys."""
    job = search.job
    found = [job.storage.get(f"buckets/{part:06d}") for part in range(parts)]
    members = np.concatenate([each["members"] for each in found])
    sizes = np.concatenate([each["sizes"] for each in found])
    rows = np.unique(members)
    if not rows.size:
        return None
    splits = search.bring(rows, "crowd texts")
    weight = np.concatenate([buckets.weights_of(job, split)[places] for split, places in job.by_split(rows)])
    with search.stages.stage("crowds", None, ""):
        collection = collect(
            (partial(_batch, job, split) for split in splits),
            job.spec,
            total_bytes=None,
            threads=search.threads,
            names=Provenance(),
            observer=Silent(),
            space=search.crowd_space,
        )
        work = BandWork(collection, weight, threads=search.threads, observer=Silent())
        _keep(work, np.searchsorted(rows, members), sizes)
        check = Checker(collection, threads=search.threads)
        return Large(rows, pair_large(work, check), check)


def _keep(work: BandWork, members: I64, sizes: I64) -> None:
    """Hand buckets over, band by band, as ``BandWork.group`` keeps them."""
    starts = starts_of(sizes[:, 1])
    bands = [np.flatnonzero(sizes[:, 0] == band) for band in range(work.collection.spec.bands.bands)]
    for band, mine in enumerate(bands):
        is_hot = sizes[mine, HOT] == 1
        for bucket in mine[is_hot].tolist():
            work.hot.add(band, members[starts[bucket] : starts[bucket + 1]])
        waiting = mine[~is_hot]
        if waiting.size:
            some = [members[starts[bucket] : starts[bucket + 1]] for bucket in waiting.tolist()]
            work.waiting.add_all(band, np.concatenate(some), starts_of(sizes[waiting, 1]))


def _batch(job: Job, split: int) -> Batch:
    """The texts that were brought of a split."""
    arrays = job.storage.get(f"brought/{split:06d}")
    batch = Batch(as_documents(arrays), job.sources[job.splits[split].part].name, arrays["rows"])
    check_prints(job, batch, arrays["prints"])
    return replace(batch, rows=np.arange(1, batch.rows.size + 1))
