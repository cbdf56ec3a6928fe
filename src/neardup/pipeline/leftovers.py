"""What the crowds leave of the hot buckets: pairs of members that do not stand in one crowd.

A hot bucket is paired up whole where that is affordable: what its pairs cost to compare and to check is predicted from
a sample of them, and all hot buckets together may cost so much for each document and no more. Where it is not, the
members outside crowds are paired up alone; where even that is too much, they are split by every other band, and what
is still too large is compared with leaders only and reported. So the work is linear in the documents, and nothing is
given up silently.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from neardup.params import Spec
from neardup.pipeline.collect import Collection
from neardup.pipeline.crowds import Crowds, content_order, nearest_leaders
from neardup.stages import bands as band_stage
from neardup.stages.bands import BandBuckets
from neardup.types import I64

__all__ = ["Leftovers", "pair_leftovers", "unique_pairs"]

SAMPLE = 512
"""Pairs of a bucket that are looked at to predict its cost."""
COMPARE_NS, CHECK_NS, SHINGLE_NS = 10.0, 100.0, 4.0
"""Rough cost of comparing two signatures, of checking a pair, and of each shingle of both in that check."""
BUDGET_NS = 500_000.0
"""What the pairs of hot buckets may cost for each document, all bands together."""


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
    left, right = np.empty(0, np.int64), np.empty(0, np.int64)
    overfull = np.zeros(n, dtype=np.bool_)
    met = 0
    waiting: list[tuple[I64, I64]] = []
    held = 0
    with ThreadPoolExecutor(threads, thread_name_prefix="neardup") as pool:
        for a, b, more, crowded in pool.map(lambda job: work.pair(*job), list(_jobs(hot, work))):
            waiting.append((a, b))
            met += more
            overfull[crowded] = True
            held += a.size
            if held > 4 * left.size + 1_000_000:
                left, right = unique_pairs([(left, right), *waiting], n)
                waiting, held = [], 0
    left, right = unique_pairs([(left, right), *waiting], n)
    return Leftovers(left, right, met, overfull)


def _jobs(hot: list[list[I64]], work: _Work) -> Iterator[tuple[int, I64, bool]]:
    """(band, members, whether they are paired up whole) of each hot bucket, the smallest first, within the budget."""
    buckets = [(band, bucket) for band, members in enumerate(hot) for bucket in members]
    prints = work.collection.fingerprints[:, 0]
    buckets.sort(key=lambda job: (job[1].size, job[0], int(prints[job[1]].min())))
    spent = np.zeros(len(work.collection))
    for band, bucket in buckets:
        rest = bucket[work.crowd[bucket] < 0]
        options = [bucket, rest] if rest.size < bucket.size else [rest]
        for members in options:
            if members.size < 2:
                break
            price = work.price(band, members)
            if int(work.weight[members].sum()) <= work.spec.crowd or price + spent[members].mean() <= BUDGET_NS:
                spent[members] += price
                yield band, members, True
                break
        else:
            yield band, rest, False


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

    def pair(self, band: int, members: I64, whole: bool) -> tuple[I64, I64, int, I64]:
        """Pairs of one hot bucket, candidates met, and the rows of it that stayed too many."""
        if whole:
            by_crowd = members[np.lexsort((members, self.crowd[members]))]
            part = BandBuckets(by_crowd, np.array([0, members.size]), [])
            return *self._pair_up(part, band), np.empty(0, np.int64)
        found: list[tuple[I64, I64, int]] = []
        crowded: list[I64] = [np.empty(0, np.int64)]
        for other in range(self.spec.bands.bands):
            if other == band:
                continue
            part = band_stage.band_buckets(
                self.collection.values, members, self.weight, other, self.spec.bands, limit=self.spec.crowd
            )
            found.append(self._pair_up(part, band))
            found += [self._led(rows) for rows in part.hot]
            crowded += part.hot
        left, right = unique_pairs([pair[:2] for pair in found], len(self.collection))
        return left, right, sum(met for _, _, met in found), np.concatenate(crowded)

    def price(self, band: int, members: I64) -> float:
        """Nanoseconds for each member that pairing them up would cost, by a sample of pairs that content chooses."""
        m = members.size
        _, sizes = np.unique(self.crowd[members[self.crowd[members] >= 0]], return_counts=True)
        pairs = (m * m - float(np.square(sizes).sum())) / 2
        if pairs * COMPARE_NS > BUDGET_NS * m:
            return 2 * BUDGET_NS
        ordered = content_order(self.collection, members)
        place = np.arange(SAMPLE)
        a = ordered[place * m // SAMPLE]
        b = ordered[(place * m // SAMPLE + 1 + place * 7919 % (m - 1)) % m]
        same = self.collection.values[a] == self.collection.values[b]
        bands = same[:, : self.spec.bands.slots].reshape(SAMPLE, self.spec.bands.bands, self.spec.bands.rows)
        passes = np.count_nonzero(same, axis=1) >= self.spec.min_matches
        passes &= ~bands.all(axis=2)[:, :band].any(axis=1)  # those that an earlier band has met
        passes &= (self.crowd[a] < 0) | (self.crowd[a] != self.crowd[b])
        check = CHECK_NS + SHINGLE_NS * 2 * float(self.collection.counts[members].mean())
        return pairs * (COMPARE_NS + float(passes.mean()) * check) / m

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
        none, nobody = np.full(len(self.collection), -1, dtype=np.int64), np.empty(0, dtype=np.int64)
        rows, wanted = nearest_leaders(members, self.collection, self.spec, none, nobody)
        return np.minimum(rows, wanted), np.maximum(rows, wanted), rows.size
