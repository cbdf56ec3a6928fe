"""Hot buckets: the texts of their members come to the driver, where the code of one machine deals with them.

What it decides about crowds goes from band to band and from bucket to bucket, so it is not shared out. How many members
there are is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from neardup.cutting import starts_of
from neardup.engine.banding.candidates import BandCandidates, BandWork, pair_large
from neardup.engine.check import Checker
from neardup.engine.observe import Silent
from neardup.engine.reading.collection import collect
from neardup.inputs.names import Provenance
from neardup.spark import buckets
from neardup.spark.buckets import Buckets
from neardup.spark.texts import brought
from neardup.spark.work import ClusterWork
from neardup.types import I32, I64, Mask


@dataclass(frozen=True, slots=True)
class Hot:
    """What became of hot buckets, by the places of their members in ``rows``."""

    rows: I64
    """All members, rising."""
    candidates: BandCandidates
    check: Checker

    @property
    def bands(self) -> set[int]:
        """Bands with a hot bucket."""
        return self.candidates.pending.hot

    @property
    def passed_over(self) -> I32:
        """See ``Crowds``."""
        return self.candidates.crowds.passed_over

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


def deal_with_hot(work: ClusterWork, hot: Buckets) -> Hot | None:
    """Find crowds, and the pairs of hot buckets outside of them."""
    job, rows = work.job, np.unique(hot.members)
    if not rows.size:
        return None
    splits = work.bring(rows, "crowd texts")
    weight = np.concatenate([buckets.weights_of(job, split)[places] for split, places in job.by_split(rows)])
    with work.stages.stage("crowds", None, ""):
        collection = collect(
            (partial(brought, job, split) for split in splits),
            job.spec,
            total_bytes=None,
            threads=work.threads,
            names=Provenance(),
            observer=Silent(),
            space=work.crowd_space,
        )
        bands = BandWork(collection, weight, threads=work.threads, observer=Silent())
        members, starts = np.searchsorted(rows, hot.members), starts_of(hot.sizes)
        for bucket in np.argsort(hot.bands, kind="stable").tolist():
            bands.hot.add(int(hot.bands[bucket]), members[starts[bucket] : starts[bucket + 1]])
        check = Checker(collection, threads=work.threads)
        return Hot(rows, pair_large(bands, check), check)
