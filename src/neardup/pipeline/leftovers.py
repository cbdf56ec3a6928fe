"""What the crowds leave of the hot buckets: pairs of members that do not stand in one crowd.

A hot bucket is paired up whole where that is affordable: what its pairs cost to compare and to check is predicted from
a sample of them, and may be so much for each member and no more. Where it is not, the members outside crowds are paired
up alone; where even that is too much, they are split by every other band, and what is still too large is compared
with leaders only and reported. So the cost for each member is bounded, and nothing is given up silently.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from neardup.params import Spec
from neardup.pipeline.collect import Collection
from neardup.pipeline.crowds import LEADERS, Crowds, content_order
from neardup.stages import bands as band_stage
from neardup.stages.bands import BandBuckets
from neardup.types import I64

__all__ = ["Leftovers", "pair_leftovers", "unique_pairs"]

SAMPLE = 512
"""Pairs of a bucket that are looked at to predict its cost."""
COMPARE_NS, CHECK_NS, SHINGLE_NS = 10.0, 100.0, 4.0
"""Rough cost of comparing two signatures, of checking a pair, and of each shingle of both in that check."""
BUDGET_NS = 250_000.0
"""What the pairs of a hot bucket may cost for each of its members."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Pairs from hot buckets."""

    left: I64
    right: I64
    """Sorted, unique, left < right."""
    met: int
    overfull: np.typing.NDArray[np.bool_]
    """bool[n]: rows of buckets that stayed too large; they were compared with leaders only."""


def pair_leftovers(
    hot: list[list[I64]], collection: Collection, weight: I64, crowds: Crowds, spec: Spec, *, threads: int
) -> Leftovers:
    """Candidate pairs of hot buckets that are not inside a crowd.

    Args:
        hot: members of the hot buckets of each band.
        collection: signatures and texts.
        weight: int64[n], documents that each row stands for.
        crowds: who stands in which crowd.
        spec: bands, estimate filter and crowd limit.
        threads: buckets dealt with at a time.
    """
    n = len(collection)
    work = _Work(collection, weight, crowds.crowd, spec)
    jobs = [(band, bucket) for band, buckets in enumerate(hot) for bucket in buckets]
    left, right = np.empty(0, np.int64), np.empty(0, np.int64)
    overfull = np.zeros(n, dtype=np.bool_)
    met = 0
    with ThreadPoolExecutor(threads, thread_name_prefix="neardup") as pool:
        waiting: list[tuple[I64, I64]] = []
        for a, b, more, crowded in pool.map(lambda job: work.pair(*job), jobs):
            waiting.append((a, b))
            met += more
            overfull[crowded] = True
            if sum(part[0].size for part in waiting) > 4 * left.size + 1_000_000:
                left, right = unique_pairs([(left, right), *waiting], n)
                waiting = []
    left, right = unique_pairs([(left, right), *waiting], n)
    return Leftovers(left, right, met, overfull)


def unique_pairs(pairs: list[tuple[I64, I64]], n: int) -> tuple[I64, I64]:
    """Pairs of rows below n, sorted, each once."""
    keys = np.concatenate([np.empty(0, np.int64), *(left * n + right for left, right in pairs)])
    left, right = np.divmod(np.unique(keys), n)
    return left, right


@dataclass(frozen=True, slots=True)
class _Work:
    collection: Collection
    weight: I64
    crowd: I64
    spec: Spec

    def pair(self, band: int, bucket: I64) -> tuple[I64, I64, int, I64]:
        """Pairs of one hot bucket, candidates met, and the rows of it that stayed too many."""
        found: list[tuple[I64, I64, int]] = []
        crowded: list[I64] = [np.empty(0, np.int64)]
        for part in self._parts(band, bucket):
            found.append(self._pair_up(part, band))
            for members in part.hot:
                if self._is_affordable(members):
                    found.append(self._pair_up(_whole(members), band))
                else:
                    found.append(self._led(members))
                    crowded.append(members)
        left, right = unique_pairs([pair[:2] for pair in found], len(self.collection))
        return left, right, sum(met for _, _, met in found), np.concatenate(crowded)

    def _parts(self, band: int, bucket: I64) -> Iterator[BandBuckets]:
        """The bucket whole, or its members outside crowds, or those split by each other band."""
        by_crowd = bucket[np.lexsort((bucket, self.crowd[bucket]))]
        rest = bucket[self.crowd[bucket] < 0]
        if rest.size < bucket.size and self._is_affordable(by_crowd):
            yield _whole(by_crowd)
        elif int(self.weight[rest].sum()) <= self.spec.crowd or self._is_affordable(rest):
            yield _whole(rest)
        else:
            for other in range(self.spec.bands.bands):
                if other != band:
                    yield band_stage.band_buckets(
                        self.collection.values, rest, self.weight, other, self.spec.bands, limit=self.spec.crowd
                    )

    def _is_affordable(self, members: I64) -> bool:
        """Whether pairing up costs at most BUDGET_NS a member, by a sample of pairs that content chooses."""
        m = members.size
        if m < 2:
            return True
        _, sizes = np.unique(self.crowd[members[self.crowd[members] >= 0]], return_counts=True)
        pairs = (m * m - float(np.square(sizes).sum())) / 2
        if pairs * COMPARE_NS > BUDGET_NS * m:
            return False
        ordered = content_order(self.collection, members)
        a = ordered[np.arange(SAMPLE) * m // SAMPLE]
        b = ordered[(np.arange(SAMPLE) * m // SAMPLE + 1 + np.arange(SAMPLE) * 7919 % (m - 1)) % m]
        values = self.collection.values
        same = np.count_nonzero(values[a] == values[b], axis=1) >= self.spec.min_matches
        same &= (self.crowd[a] < 0) | (self.crowd[a] != self.crowd[b])
        check = CHECK_NS + SHINGLE_NS * 2 * float(self.collection.counts[members].mean())
        return pairs * (COMPARE_NS + float(same.mean()) * check) <= BUDGET_NS * m

    def _pair_up(self, part: BandBuckets, band: int) -> tuple[I64, I64, int]:
        return band_stage.pair_up(
            part,
            self.collection.values,
            self.crowd,
            band=band,
            rows=self.spec.bands.rows,
            min_matches=self.spec.min_matches,
            by_crowd=True,
        )

    def _led(self, members: I64) -> tuple[I64, I64, int]:
        """Pairs of each member with the nearest leader of its bucket."""
        ordered = content_order(self.collection, members)
        nearest = band_stage.nearest_leaders(
            ordered,
            self.collection.values,
            np.full(len(self.collection), -1, dtype=np.int64),
            np.empty(0, dtype=np.int64),
            most=LEADERS,
            min_matches=self.spec.min_matches,
        )
        asking = nearest >= 0
        rows, wanted = ordered[asking], nearest[asking]
        return np.minimum(rows, wanted), np.maximum(rows, wanted), rows.size


def _whole(members: I64) -> BandBuckets:
    return BandBuckets(members, np.array([0, members.size]), [])
