"""A search on a cluster: the stages in their order, and what the driver decides between them.

    read ─► prints ─► copies ─► keys ─► (crowds) ─► names ─► check ─► SearchState of the known documents

Each stage leaves its answers in the storage. What comes out is what ``engine.run.search`` gives, but of those documents
only that have a copy or were in a candidate pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from neardup.cutting import distinct
from neardup.engine.banding.pending import Pending
from neardup.engine.fit import FEWEST, SAMPLE, Hint, fit
from neardup.engine.reading.copies import Copies
from neardup.engine.results.pairs import PairStore
from neardup.engine.run import follow_leaders
from neardup.engine.state import Gathered, SearchState
from neardup.spark import buckets, known, reading
from neardup.spark.buckets import large_buckets
from neardup.spark.checking import Known, RemoteChecker, check_pairs
from neardup.spark.copies import find_copies
from neardup.spark.crowds import Crowded, deal_with_hot
from neardup.spark.texts import brought_texts, collected
from neardup.spark.waiting import pair_waiting
from neardup.spark.work import ClusterWork
from neardup.types import I64

PART_KEYS = 8_000_000
"""Keys of one partition, about."""


class ClusterSearch(ClusterWork):
    """One search."""

    on_hints: Callable[[Sequence[Hint]], None]
    """Told what does not fit the setting, as soon as it is known."""

    def run(self) -> SearchState:
        """Find the verified pairs."""
        spec = self.job.spec
        self.read()
        groups = find_copies(self)
        self.look(self.tally.documents - self.tally.empty - self.tally.exact_copies)
        parts = self.find_buckets()
        hot, waiting = large_buckets(self.job, parts)
        crowded = deal_with_hot(self, hot)
        waited = pair_waiting(self, waiting, crowded)
        files = [*(f"buckets/{part:06d}" for part in range(parts)), *crowded.pairs, *waited]
        self._learn(self._involved(files, groups.members, crowded.involved))
        rows = self.rows
        several, members = np.searchsorted(rows, groups.several), np.searchsorted(rows, groups.members)
        found = self._copies(several, groups.starts, members)
        weight = np.minimum(found.weight, 1) if spec.collapse_exact else found.weight
        crowds = self._known(crowded)
        pairs = self._verified(self._pending(files), crowded, crowds)
        alone = np.flatnonzero((weight > spec.crowd) & (crowds.crowd < 0))
        crowds.crowd[alone] = alone
        check = RemoteChecker(self, self.collection, threads=self.threads)
        told = replace(self.tally)  # of the search: what is checked later, while documents are chosen, does not count
        gathered = Gathered(self.collection, found, weight, check, told, self.stages, self.names)
        return SearchState.of(gathered, pairs, crowds.crowd)

    def read(self) -> None:
        """Read all splits; rows have their numbers then."""
        job, tally = self.job, self.tally
        bases = self.count_read(self.map("read", range(len(job.splits)), partial(reading.read, job)))
        self.job = replace(job, bases=bases)
        tally.documents = int(bases[-1])
        tally.read_bytes = sum(each["bytes"] for each in self.facts)
        tally.short = sum(each["short"] for each in self.facts)
        tally.empty = sum(each["empty"] for each in self.facts)

    def look(self, distinct: int) -> None:
        """Look at a sample of the texts: hints are known before the work begins. ``distinct``: texts that there are."""
        job, found = self.job, [np.empty((0, 2), dtype=np.uint64)]
        samples = job.storage.get_all(f"sample/{split:06d}" for split in self.filled)
        for split, sample in zip(self.filled, samples, strict=True):
            rows = (sample["places"] + job.bases[split]).astype(np.uint64)
            found.append(np.column_stack((sample["hashes"], rows)))
        hashes, rows = np.concatenate(found).T
        first = np.unique(hashes, return_index=True)[1][:SAMPLE]
        if first.size < FEWEST or not job.spec.slots:
            return
        name, splits = self.bring(np.sort(rows[first].astype(np.int64)), "sample")
        with collected(job, brought_texts(job, name, splits)) as collection:
            self.on_hints(fit(collection, np.ones(len(collection), dtype=np.int32), distinct=distinct))

    def find_buckets(self) -> int:
        """Bring keys together; the number of partitions."""
        job = self.job
        parts = 1 + self.tally.documents * job.spec.bands.bands // PART_KEYS
        parts = min(parts, buckets.RANGES)
        self.exchange(
            "keys",
            self.filled,
            partial(buckets.give_keys, job, parts=parts),
            parts,
            partial(buckets.take_keys, job),
        )
        return parts

    def _involved(self, files: list[str], *more: I64) -> I64:
        """Rows, rising, that are in a candidate pair of some files, and ``more``."""
        pairs = self.job.storage.get_all(files, "left", "right")
        both = (np.concatenate((each["left"], each["right"])) for each in pairs)
        return distinct(np.concatenate([distinct(rows) for rows in chain(more, both)]))

    def _learn(self, rows: I64) -> None:
        """Get to know these documents: from now on they are numbered by their places in ``rows``."""
        self.rows = rows
        self.collection = known.collection(self.job, self.space, self.look_up("known", rows))
        self.names = known.provenance(self.job, self.facts, rows, "known", repeated=self.repeated_ids)

    def _copies(self, several: I64, starts: I64, members: I64) -> Copies:
        weight = np.ones(len(self.collection), dtype=np.int32)
        weight[members] = 0
        weight[several] = np.diff(starts)
        return Copies(weight, several, starts, members, self.tally.empty)

    def _known(self, crowded: Crowded) -> Known:
        """The crowds, by the new numbers of the documents."""
        n = self.rows.size
        found = Known(np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.bool_), crowded.bands)
        inside = crowded.crowd >= 0
        at = np.searchsorted(self.rows, crowded.rows[inside])
        found.crowd[at] = np.searchsorted(self.rows, crowded.crowd[inside])
        found.apart[:] = np.isin(self.rows, crowded.rows[crowded.apart], assume_unique=True)
        return found

    def _pending(self, files: list[str]) -> Pending:
        """The candidate pairs, by the new numbers of their documents."""
        rows, pending = self.rows, Pending(self.collection)
        for pairs in self.job.storage.get_all(files, "left", "right", "tag"):
            left, right = np.searchsorted(rows, pairs["left"]), np.searchsorted(rows, pairs["right"])
            pending.add(left, right, tag=pairs["tag"].astype(np.int64))
        return pending

    def _verified(self, pending: Pending, crowded: Crowded, crowds: Known) -> PairStore:
        """Verified pairs of the known documents, by their new numbers."""
        n, crowd = self.rows.size, crowds.crowd
        pairs = PairStore("verified", n, self.space, part=0.075)
        leaders = PairStore("leaders-met", n, self.space, part=0.02)
        slabs = ((left, right, tag) for left, right, tag, _ in pending.slabs(skip=0, threads=self.threads))
        for left, right, similarity in check_pairs(self, slabs, self.job.spec.threshold, crowds):
            pairs.add(left, right, similarity)
            leading = (crowd[left] == left) & (crowd[right] == right)
            leaders.add(left[leading], right[leading], similarity[leading])
        pending.drop()
        stars = np.searchsorted(self.rows, crowded.stars)
        pairs.add(stars[:, 0], stars[:, 1], crowded.similarity)
        check = RemoteChecker(self, self.collection, threads=self.threads)
        follow_leaders(pairs, leaders, crowd, self.collection, check)
        leaders.drop()
        return pairs
