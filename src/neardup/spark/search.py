"""A search on a cluster: the stages in their order, and what the driver decides between them.

    read ─► prints ─► copies ─► keys ─► (crowds) ─► names ─► check ─► SearchState of the known documents

Each stage leaves its answers in the storage. What comes out is what ``engine.run.search`` gives, but of those documents
only that have a copy or were in a candidate pair.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from neardup.cutting import cut, starts_of
from neardup.engine.banding.pending import Pending
from neardup.engine.reading.collection import Collection
from neardup.engine.reading.copies import Copies
from neardup.engine.results.pairs import PairStore
from neardup.engine.run import follow_leaders
from neardup.engine.state import Gathered, SearchState
from neardup.spark import buckets, copies, known, reading
from neardup.spark.checking import Crowded, RemoteChecker, check_pairs
from neardup.spark.crowds import Large, deal_with_large
from neardup.spark.pieces import PARTS_TEXT
from neardup.spark.work import ClusterWork
from neardup.types import F64, I64

PART_KEYS = 8_000_000
"""Keys of one partition, about."""
PART_PRINTS = 4_000_000
"""Prints of one partition, about."""


class ClusterSearch(ClusterWork):
    """One search."""

    def run(self) -> SearchState:
        """Find the verified pairs."""
        spec = self.job.spec
        self.read()
        several, starts, members = self.find_copies()
        parts = self.find_buckets()
        large = deal_with_large(self, parts)
        self._learn(self._involved(parts, members, large))
        rows = self.rows
        found = self._copies(np.searchsorted(rows, several), starts, np.searchsorted(rows, members))
        weight = np.minimum(found.weight, 1) if spec.collapse_exact else found.weight
        crowded = self._crowded(large)
        pairs = self._verified(parts, large, crowded)
        alone = np.flatnonzero((weight > spec.crowd) & (crowded.crowd < 0))
        crowded.crowd[alone] = alone
        check = RemoteChecker(self, self.collection, threads=self.threads)
        gathered = Gathered(self.collection, found, weight, check, self.tally, self.stages, self.names)
        return SearchState.of(gathered, pairs, crowded.crowd)

    def read(self) -> None:
        """Read all splits; rows have their numbers then."""
        job, tally = self.job, self.tally
        self.facts = self.map("read", range(len(job.splits)), partial(reading.read, job))
        bases = starts_of(np.array([each["documents"] for each in self.facts], dtype=np.int64))
        self.job = replace(job, bases=bases)
        before, last = 0, -1
        for split, each in zip(job.splits, self.facts, strict=True):
            before = before if split.part == last else 0
            each["before"] = before if each["relative"] else 0
            before, last = before + each["records"], split.part
        tally.documents = int(bases[-1])
        tally.read_bytes = sum(each["bytes"] for each in self.facts)
        tally.short = sum(each["short"] for each in self.facts)
        tally.empty = sum(each["empty"] for each in self.facts)

    def find_copies(self) -> tuple[I64, I64, I64]:
        """Representatives, rising; where the group of each begins; rows of the groups."""
        job = self.job
        parts = 1 + self.tally.documents // PART_PRINTS
        found = self.exchange(
            "prints",
            self.filled,
            partial(copies.give_prints, job, parts=parts),
            parts,
            partial(copies.take_repeated, job, name="prints"),
        )
        none = np.empty(0, np.int64)
        several, starts, members = none, np.zeros(1, np.int64), none
        if sum(each["rows"] for each in found):
            of, rows = copies.repeated(job, "prints", parts)
            several, starts, members = self._compare(of, rows, self.look_up("suspects", rows)["lengths"])
        self._put_weights(several, starts, members)
        self.tally.exact_copies = members.size - several.size
        return several, starts, members

    def _compare(self, of: I64, rows: I64, lengths: I64) -> tuple[I64, I64, I64]:
        """Hold the texts of rows that share a print against each other, some groups in each partition."""
        groups, group = np.unique(of, return_inverse=True)
        size = np.zeros(groups.size, dtype=np.int64)
        np.add.at(size, group, lengths)
        part_of = np.empty(groups.size, dtype=np.int64)
        parts = 0
        for some in cut(size, PARTS_TEXT):
            part_of[some] = parts
            parts += 1
        splits = self.put_wanted("compared", rows, part_of[group])
        job = self.job
        self.exchange("copies", splits, partial(copies.give_copies, job), parts, partial(copies.take_copies, job))
        return copies.found_copies(job, parts)

    def _put_weights(self, several: I64, starts: I64, members: I64) -> None:
        """Tell each split which of its documents are copies, and which stand for several."""
        sizes = np.diff(starts)
        weight = np.zeros(members.size, dtype=np.int32)
        weight[starts[:-1]] = np.minimum(sizes, 1) if self.job.spec.collapse_exact else sizes
        order = np.argsort(members)
        rows, weight = members[order], weight[order]
        ends = np.searchsorted(rows, self.job.bases)
        for split in self.filled:
            some = slice(ends[split], ends[split + 1])
            self.job.storage.put(f"weights/{split:06d}", places=rows[some] - self.job.bases[split], weight=weight[some])

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

    def _involved(self, parts: int, members: I64, large: Large | None) -> I64:
        """Rows, rising, that have a copy or may have a pair."""
        found = [np.unique(members)] + ([] if large is None else [large.involved])
        for part in range(parts):
            arrays = self.job.storage.get(f"buckets/{part:06d}")
            found.append(np.unique(np.concatenate((arrays["left"], arrays["right"]))))
        involved: I64 = np.unique(np.concatenate(found))
        return involved

    def _learn(self, rows: I64) -> None:
        """Get to know these documents: from now on they are numbered by their places in ``rows``."""
        self.rows = rows
        self.collection: Collection = known.collection(self.job, self.space, self.look_up("known", rows))
        self.names = known.provenance(self.job, self.facts, rows, "known")

    def _copies(self, several: I64, starts: I64, members: I64) -> Copies:
        weight = np.ones(len(self.collection), dtype=np.int32)
        weight[members] = 0
        weight[several] = np.diff(starts)
        return Copies(weight, several, starts, members, self.tally.empty)

    def _numbers(self, large: Large) -> I64:
        """The new number of each member of large buckets; of one that is not known the number of none."""
        n = self.rows.size
        at = np.searchsorted(self.rows, large.rows)
        is_known = self.rows[np.minimum(at, n - 1)] == large.rows if n else np.zeros(at.size, dtype=np.bool_)
        return np.where(is_known, at, n)

    def _crowded(self, large: Large | None) -> Crowded:
        n = self.rows.size
        crowd, apart = np.full(n + 1, -1, dtype=np.int32), np.zeros(n + 1, dtype=np.bool_)
        if large is None:
            return Crowded(crowd[:n], apart[:n], ())
        number, crowds = self._numbers(large), large.candidates.crowds
        inside = np.flatnonzero(crowds.crowd >= 0)
        crowd[number[inside]] = number[crowds.crowd[inside]]
        apart[number[crowds.apart]] = True
        return Crowded(crowd[:n], apart[:n], tuple(sorted(large.candidates.pending.hot)))

    def _verified(self, parts: int, large: Large | None, crowded: Crowded) -> PairStore:
        """Verified pairs of the known documents, by their new numbers."""
        rows, n, crowd, tally = self.rows, self.rows.size, crowded.crowd, self.tally
        pending = Pending(self.collection)
        for part in range(parts):
            arrays = self.job.storage.get(f"buckets/{part:06d}")
            left, right = np.searchsorted(rows, arrays["left"]), np.searchsorted(rows, arrays["right"])
            pending.add(left, right, tag=arrays["tag"].astype(np.int64))
        if large is not None:
            number = self._numbers(large)
            for left, right, tag in large.candidates.pending.pieces():
                pending.add(number[left], number[right], tag=tag)
            tally.candidates += large.candidates.met
            tally.overfull = large.candidates.overfull
        pairs = PairStore("verified", n, self.space, part=0.075)
        leaders = PairStore("leaders-met", n, self.space, part=0.02)
        slabs = ((left, right, tag) for left, right, tag, _ in pending.slabs(skip=0, threads=self.threads))
        for left, right, similarity in check_pairs(self, slabs, self.job.spec.threshold, crowded):
            pairs.add(left, right, similarity)
            leading = (crowd[left] == left) & (crowd[right] == right)
            leaders.add(left[leading], right[leading], similarity[leading])
        pending.drop()
        if large is not None:
            for members, leader, near in large.candidates.crowds.joined():
                pairs.add(number[members], number[leader], near)
            back, check = np.searchsorted(large.rows, rows), large.check

            def check_here(left: I64, right: I64, threshold: float) -> F64:
                return check(back[left], back[right], threshold)

            follow_leaders(pairs, leaders, crowd, self.collection, check_here)
            tally.checked += check.checked
        leaders.drop()
        return pairs
