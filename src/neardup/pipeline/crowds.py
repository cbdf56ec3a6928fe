"""Hot buckets: many documents in one bucket, dealt with by leaders instead of by pairs.

Members come in an order of their content (longest first, then by text hash), never of their rows. Each is compared
by signature with the leaders met so far, and checked exactly against the nearest. Leaders with more verified documents
than the limit stand for a *crowd*, which is listed as a star; the rest of a hot bucket is paired up as usual, or,
when it is still too many, split once more by every other band. No step is quadratic in a bucket.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neardup.params import Spec
from neardup.pipeline.collect import Collection
from neardup.stages import bands as band_stage
from neardup.types import F64, I64, U64

__all__ = ["LEADERS", "Check", "Crowds", "content_order", "find_crowds"]

LEADERS = 256
"""Leaders that one hot bucket may have: a member costs at most as many signature comparisons in it."""

Check = Callable[[I64, I64, float], F64]


@dataclass(frozen=True, slots=True)
class Crowds:
    """Which representatives stand in which crowd."""

    crowd: I64
    """int64[n]: the row that leads the row's crowd, or -1."""
    left: I64
    """Leader of each verified star pair."""
    right: I64
    """Member of each verified star pair."""
    similarity: F64
    """Exact similarity of each star pair."""
    asked: int
    """Members that were checked against a leader."""


def content_order(collection: Collection, rows: I64) -> I64:
    """``rows`` with the longest text first, then by text hash, then by row: the order to lead and to keep."""
    prints = collection.fingerprints[rows]
    return rows[np.lexsort((rows, prints[:, 1], prints[:, 0], -collection.lengths[rows]))]


def find_crowds(hot: list[list[I64]], collection: Collection, weight: I64, spec: Spec, check: Check) -> Crowds:
    """Leaders and verified members of the hot buckets, band after band.

    Args:
        hot: members of the hot buckets of each band.
        collection: signatures and texts.
        weight: int64[n], documents that each row stands for.
        spec: threshold, estimate filter and crowd limit.
        check: exact similarity of pairs of rows.
    """
    n = len(collection)
    leader = np.full(n, -1, dtype=np.int64)
    similarity = np.zeros(n)
    size = weight.copy()
    large: set[int] = set()
    asked = 0
    prints = collection.fingerprints[:, 0]
    for buckets in hot:
        for bucket in sorted(buckets, key=lambda rows: int(prints[rows].min())):
            members = content_order(collection, bucket[leader[bucket] < 0])
            nearest = band_stage.nearest_leaders(
                members,
                collection.values,
                leader,
                _known_leaders(bucket, size, leader, large, prints),
                most=LEADERS,
                min_matches=spec.min_matches,
            )
            asking = nearest >= 0
            rows, wanted = members[asking], nearest[asking]
            asked += rows.size
            found = check(np.minimum(rows, wanted), np.maximum(rows, wanted), spec.threshold)
            joined = found >= 0
            leader[rows[joined]] = wanted[joined]
            similarity[rows[joined]] = found[joined]
            np.add.at(size, wanted[joined], weight[rows[joined]])
            large.update(row for row in np.unique(wanted[joined]).tolist() if size[row] > spec.crowd)
    members = np.flatnonzero(leader >= 0)
    leads = np.flatnonzero(size > spec.crowd)
    leads = leads[leader[leads] < 0]
    crowd = np.full(n, -1, dtype=np.int64)
    crowd[leads] = leads
    members = members[crowd[leader[members]] >= 0]
    crowd[members] = leader[members]
    return Crowds(crowd, leader[members], members, similarity[members], asked)


def _known_leaders(bucket: I64, size: I64, leader: I64, large: set[int], prints: U64) -> I64:
    """Rows that may lead in a bucket before any of its members: ``large`` crowds anywhere, largest first, then its own.

    Documents of one boilerplate meet in every band in other buckets; without the first each band would have a leader.
    """
    most = LEADERS // 4
    crowds = np.array(heapq.nsmallest(most, large, key=lambda row: (-size[row], prints[row])), dtype=np.int64)
    own = np.unique(leader[bucket[leader[bucket] >= 0]])
    own = own[np.lexsort((prints[own], -size[own]))][:most]
    return np.concatenate((crowds, own[~np.isin(own, crowds)]))
