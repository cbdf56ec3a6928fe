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
from neardup.engine.banding.laid_out import LaidOut
from neardup.engine.banding.pending import Pending
from neardup.engine.fit import FEWEST, SAMPLE, Hint, fit
from neardup.engine.reading.copies import Copies
from neardup.engine.results.pairs import PairStore
from neardup.engine.run import follow_leaders
from neardup.engine.state import Gathered, SearchState
from neardup.spark import buckets, known, reading
from neardup.spark.buckets import large_buckets
from neardup.spark.checking import RemoteChecker, check_pairs
from neardup.spark.copies import find_copies
from neardup.spark.crowds import Crowded, deal_with_hot
from neardup.spark.texts import brought_texts, collected
from neardup.spark.waiting import pair_waiting
from neardup.spark.work import ClusterWork
from neardup.types import I32, I64

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
        small = [f"buckets/{part:06d}" for part in range(parts)]
        large = [*crowded.pairs, *pair_waiting(self, waiting, crowded)]
        self._learn(self._involved(small + large, groups.members, crowded.involved))
        rows = self.rows
        several, members = np.searchsorted(rows, groups.several), np.searchsorted(rows, groups.members)
        found = self._copies(several, groups.starts, members)
        weight = np.minimum(found.weight, 1) if spec.collapse_exact else found.weight
        pending = self._pending(small, large)
        pending.is_large[:] = np.isin(rows, np.concatenate((hot.members, waiting.members)))
        pending.is_apart[:] = np.isin(rows, crowded.rows[crowded.apart])
        crowd, check = self._crowd(crowded), RemoteChecker(self, self.collection, threads=self.threads)
        pairs = self._verified(pending, crowded, crowd, check)
        alone = np.flatnonzero((weight > spec.crowd) & (crowd < 0))
        crowd[alone] = alone
        told = replace(self.tally)  # of the search: what is checked later, while documents are chosen, does not count
        gathered = Gathered(self.collection, found, weight, check, told, self.stages, self.names)
        return SearchState.of(gathered, pairs, crowd)

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
        give, take = partial(buckets.give_keys, job, parts=parts), partial(buckets.take_keys, job)
        found = self.exchange("keys", self.filled, give, parts, take)
        self.tally.candidates += sum(each["pairs"] for each in found)
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

    def _crowd(self, crowded: Crowded) -> I32:
        """Give the leader of each known document's crowd, or -1, by the new numbers of both."""
        crowd = np.full(self.rows.size, -1, dtype=np.int32)
        inside = crowded.crowd >= 0
        at = np.searchsorted(self.rows, crowded.rows[inside])
        crowd[at] = np.searchsorted(self.rows, crowded.crowd[inside])
        return crowd

    def _pending(self, small: list[str], large: list[str]) -> Pending:
        """Collect the pairs in the files of small and of large buckets, by the new numbers of their documents."""
        rows, pending = self.rows, Pending(self.collection)
        for files, is_vouched in ((small, False), (large, True)):
            for pairs in self.job.storage.get_all(files, "left", "right"):
                left, right = np.searchsorted(rows, pairs["left"]), np.searchsorted(rows, pairs["right"])
                pending.add(left, right, is_vouched=is_vouched)
        return pending

    def _verified(self, pending: Pending, crowded: Crowded, crowd: I32, check: RemoteChecker) -> PairStore:
        """Verify the pairs of the known documents, by their new numbers."""
        n, laid = self.rows.size, LaidOut(pending, crowd, threads=self.threads)
        self.tally.candidates -= pending.repeats
        pairs = PairStore("verified", n, self.space, part=0.075)
        leaders = PairStore("leaders-met", n, self.space, part=0.02)
        pieces = ((left, right) for left, right, _ in laid.pieces(skip=0))
        for left, right, similarity in check_pairs(self, pieces, self.job.spec.threshold):
            pairs.add(left, right, similarity)
            leading = (crowd[left] == left) & (crowd[right] == right)
            leaders.add(left[leading], right[leading], similarity[leading])
        laid.drop()
        stars = np.searchsorted(self.rows, crowded.stars)
        pairs.add(stars[:, 0], stars[:, 1], crowded.similarity)
        follow_leaders(pairs, leaders, crowd, self.collection, check)
        leaders.drop()
        return pairs
