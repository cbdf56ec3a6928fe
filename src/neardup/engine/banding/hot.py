"""Pairs of members of hot buckets that do not stand in one crowd.

A hot bucket is paired up whole where that is affordable: what its pairs cost to compare and to check is predicted from
a sample of them, and all hot buckets together may cost so much for each document and no more. Where it is not, the
members outside crowds are paired up alone; where even that is too much, they are split by every other band, and what
is still too large is compared with leaders only and reported. So the work is linear in the documents, and nothing is
given up silently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME, cut
from neardup.engine.banding.buckets import Buckets, pair_members
from neardup.engine.banding.crowds import Crowds, nearest_leaders
from neardup.engine.banding.pending import Pending
from neardup.engine.reading.collection import Collection, content_order
from neardup.engine.threads import in_order
from neardup.stages import bands as band_stage
from neardup.types import I32, I64

__all__ = ["HotPairs", "pair_hot_buckets"]

SAMPLE = 512
"""Pairs of a bucket that are looked at to predict its cost."""
COMPARE_NS, CHECK_NS, SHINGLE_NS = 10.0, 100.0, 4.0
"""Rough cost of comparing two signatures, of checking a pair, and of each shingle of both in that check."""
BUDGET_NS = 500_000.0
"""What the pairs of hot buckets may cost for each document, all bands together."""


@dataclass(frozen=True, slots=True)
class HotPairs:
    """What pairing up the hot buckets came to."""

    met: int
    """Candidates met."""
    overfull: int
    """Documents of buckets that stayed too large; they were compared with leaders only."""


def pair_hot_buckets(
    hot: Buckets, pending: Pending, collection: Collection, weight: I32, crowds: Crowds, *, threads: int
) -> HotPairs:
    """Candidate pairs of hot buckets that are not inside a crowd, into ``pending``.

    Args:
        hot: the hot buckets.
        pending: takes the pairs.
        collection: signatures and texts.
        weight: int32[n], documents that each row stands for.
        crowds: who stands in which crowd.
        threads: buckets dealt with at a time.
    """
    work = _Work(collection, weight, crowds.crowd, pending)
    overfull = np.zeros(len(collection), dtype=np.bool_)
    met = 0
    for more, crowded in in_order(lambda job: work.pair(*job), _jobs(hot, work), threads=threads, ahead=threads):
        met += more
        overfull[crowded] = True
    return HotPairs(met, int(weight[overfull].sum(dtype=np.int64)))


def _jobs(hot: Buckets, work: _Work) -> Iterator[tuple[int, I64, bool]]:
    """(band, members, whether they are paired up whole) of each hot bucket, the smallest first, within the budget."""
    crowd, weight = work.crowd, work.weight
    spent = np.zeros(len(work.collection), dtype=np.float32)
    for bucket in sorted(hot.marked(), key=lambda each: (each.size, each.band, each.mark)):
        members = hot.rows(bucket)
        rest = members[crowd[members] < 0]
        options = [members, rest] if rest.size < members.size else [rest]
        for some in options:
            if some.size < 2:
                break
            price = work.price(bucket.band, some)
            few = int(weight[some].sum(dtype=np.int64)) <= work.collection.spec.crowd
            if few or price + spent[some].mean(dtype=np.float64) <= BUDGET_NS:
                spent[some] += np.float32(price)
                yield bucket.band, some, True
                break
        else:
            yield bucket.band, rest, False


@dataclass(frozen=True, slots=True)
class _Work:
    collection: Collection
    weight: I32
    crowd: I32
    pending: Pending

    def pair(self, band: int, members: I64, whole: bool) -> tuple[int, I64]:
        """Pair up one hot bucket; returns candidates met, and the rows of it that stayed too many."""
        if whole:
            by_crowd = members[np.lexsort((members, self.crowd[members]))]
            return self._pair_up(by_crowd, np.array([0, members.size]), band), np.empty(0, np.int64)
        spec = self.collection.spec
        met = 0
        crowded: list[I64] = [np.empty(0, np.int64)]
        for other in range(spec.bands.bands):
            if other == band:
                continue
            keys = self.collection.keys_at(other, members)
            part = band_stage.group(keys, members, self.weight, limit=spec.crowd)
            met += self._in_pieces(part.members, part.starts, band)
            met += sum(self._led(rows) for rows in part.hot)
            crowded += part.hot
        return met, np.concatenate(crowded)

    def _in_pieces(self, members: I64, starts: I64, band: int) -> int:
        """Pair up buckets, so many at a time that their signatures fit the budget."""
        room = max(1024, self.collection.space.budget.share(0.05) // (4 * self.collection.spec.slots))
        met = 0
        for part in cut(np.diff(starts), room):
            mine = starts[part.start : part.stop + 1]
            met += self._pair_up(members[mine[0] : mine[-1]], mine - mine[0], band)
        return met

    def price(self, band: int, members: I64) -> float:
        """Nanoseconds for each member that pairing them up would cost, by a sample of pairs that content chooses."""
        m = members.size
        spec = self.collection.spec
        _, sizes = np.unique(self.crowd[members[self.crowd[members] >= 0]], return_counts=True)
        pairs = (m * m - float(np.square(sizes).sum())) / 2
        if pairs * COMPARE_NS > BUDGET_NS * m:
            return 2 * BUDGET_NS
        ordered = content_order(self.collection, members)
        place = np.arange(SAMPLE)
        a = ordered[place * m // SAMPLE]
        b = ordered[(place * m // SAMPLE + 1 + place * 7919 % (m - 1)) % m]
        same = self.collection.values.take(a) == self.collection.values.take(b)
        bands = same[:, : spec.bands.slots].reshape(SAMPLE, spec.bands.bands, spec.bands.rows)
        passes = np.count_nonzero(same, axis=1) >= spec.min_matches
        passes &= ~bands.all(axis=2)[:, :band].any(axis=1)  # those that an earlier band has met
        passes &= (self.crowd[a] < 0) | (self.crowd[a] != self.crowd[b])
        counts = [
            self.collection.counts.take(members[i : i + ROWS_AT_A_TIME]).sum() for i in range(0, m, ROWS_AT_A_TIME)
        ]
        check = CHECK_NS + SHINGLE_NS * 2 * float(sum(counts)) / m
        return pairs * (COMPARE_NS + float(passes.mean()) * check) / m

    def _pair_up(self, members: I64, starts: I64, band: int) -> int:
        return self.pending.add_all(
            pair_members(self.collection, members, starts, self.crowd, band=band, by_crowd=True)
        )

    def _led(self, members: I64) -> int:
        """Pair up each member with the nearest leader of its bucket."""
        rows, wanted = nearest_leaders(members, self.collection, np.empty(0, dtype=np.int64))
        self.pending.add(np.minimum(rows, wanted), np.maximum(rows, wanted))
        return rows.size
