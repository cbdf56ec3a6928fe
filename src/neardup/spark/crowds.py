"""Hot buckets: the texts of their members come to the driver, where the code for one machine finds crowds and pairs.

Each decision about crowds depends on earlier bands and buckets, so the work is not distributed. A note reports the
number of members.

    crowds.arrays            members, the crowd of each, the stars of crowds
    crowd-pairs/NNNNNN.arrays   candidate pairs outside crowds
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.cutting import starts_of
from neardup.engine.banding.candidates import BandWork, pair_large
from neardup.engine.check import Checker, TooLargeError, pairs_at_once
from neardup.engine.observe import Silent
from neardup.engine.reading.collection import Collection
from neardup.spark import buckets
from neardup.spark.buckets import Buckets
from neardup.spark.exchange import Facts
from neardup.spark.packing import Arrays
from neardup.spark.texts import brought_texts, collected
from neardup.spark.work import ClusterWork
from neardup.types import F64, I64, Mask


@dataclass(frozen=True, slots=True)
class Crowded:
    """The decisions about the members of hot buckets, by rows."""

    rows: I64
    """The members, ascending."""
    crowd: I64
    """The row of the leader of each member's crowd, or -1."""
    passed_over: I64
    """A number for each member, or -1. Two members with one number need not be paired in a band with a hot bucket."""
    apart: Mask
    """bool[m]: whether rare shingles separated the member; all similar pairs of two such members have been met."""
    stars: I64
    """int64[m, 2]: the members of crowds, each with its leader."""
    similarity: F64
    """float64[m]: the similarity of each member and its leader."""
    bands: tuple[int, ...]
    """The bands with a hot bucket."""
    pairs: tuple[str, ...]
    """The names of the files of candidate pairs, which were compared by whole signatures and need no screen."""

    @classmethod
    def none(cls) -> Crowded:
        """Return the result for a search without hot buckets."""
        whole, none = np.empty(0, np.int64), np.empty(0, np.bool_)
        return cls(whole, whole, whole, none, np.empty((0, 2), np.int64), np.empty(0), (), ())

    @property
    def involved(self) -> I64:
        """The rows that are in a crowd, leaders included."""
        found: I64 = np.concatenate((self.rows[self.crowd >= 0], self.stars.ravel()))
        return found


def deal_with_hot(work: ClusterWork, hot: Buckets) -> Crowded:
    """Find crowds, and the pairs of hot buckets outside crowds."""
    job, rows = work.job, np.unique(hot.members)
    if not rows.size:
        return Crowded.none()
    name, splits = work.bring(rows, "crowd texts")

    def find() -> Facts:
        work.observer.note(
            f"{rows.size:,} documents are in buckets of more than {job.spec.crowd:,}: the driver has them"
        )
        texts = brought_texts(job, name, splits)
        with work.apart("crowds") as space, collected(job, texts, space=space, threads=work.threads) as collection:
            return _found(work, hot, rows, collection)

    facts = work.once("crowds", find)
    work.tally.candidates += facts["met"]
    work.tally.checked += facts["checked"]
    work.tally.overfull = facts["overfull"]
    arrays = job.storage.get("crowds")
    files = tuple(f"crowd-pairs/{number:06d}" for number in range(facts["files"]))
    return Crowded(rows, **_columns(arrays), bands=tuple(np.unique(hot.bands).tolist()), pairs=files)


def _columns(arrays: Arrays) -> dict[str, Any]:
    return {name: arrays[name] for name in ("crowd", "passed_over", "apart", "stars", "similarity")}


def _found(work: ClusterWork, hot: Buckets, rows: I64, collection: Collection) -> Facts:
    """Find crowds and pairs with the code for one machine, and write them to the storage."""
    job = work.job
    weight = np.concatenate([buckets.weights_of(job, split)[places] for split, _, places in job.by_split(rows)])
    bands = BandWork(collection, weight, threads=work.threads, observer=Silent())
    members, starts = np.searchsorted(rows, hot.members), starts_of(hot.sizes)
    for bucket in np.argsort(hot.bands, kind="stable").tolist():
        bands.hot.add(int(hot.bands[bucket]), members[starts[bucket] : starts[bucket + 1]])
    check = Checker(collection, threads=work.threads)
    try:
        found = pair_large(bands, check)
    except TooLargeError as exc:
        raise TooLargeError(rows[exc.rows], exc.need) from None
    crowds, storage = found.crowds, job.storage
    stars = [(member, leader, near) for member, leader, near in crowds.joined()]
    none = np.empty(0, np.int64)
    member, leader = (np.concatenate([none, *(each[i] for each in stars)]) for i in (0, 1))
    storage.put(
        "crowds",
        crowd=np.where(crowds.crowd >= 0, rows[crowds.crowd], -1),
        passed_over=crowds.passed_over.astype(np.int64),
        apart=crowds.apart,
        stars=np.column_stack((rows[member], rows[leader])),
        similarity=np.concatenate([np.empty(0), *(each[2] for each in stars)]),
    )
    files = 0
    for left, right in found.pending.passing(pairs_at_once(collection.space)):
        storage.put(f"crowd-pairs/{files:06d}", left=rows[left], right=rows[right])
        files += 1
    return {"met": found.met, "overfull": found.overfull, "checked": check.checked, "files": files}
