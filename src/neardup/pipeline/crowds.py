"""Hot buckets: many documents in one bucket, dealt with by leaders instead of by pairs.

Members come in an order of their content (longest first, then by text hash), never of their rows. Each is compared
by signature with the leaders met so far, and checked exactly against the nearest. Leaders with more verified documents
than the limit stand for a *crowd*, which is listed as a star. No step is quadratic in a bucket. What the crowds leave
of a hot bucket is dealt with in ``leftovers``.
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

__all__ = ["Check", "Crowds", "content_order", "find_crowds", "nearest_leaders"]

LEADERS = 256
"""Leaders that one hot bucket may have: a member costs at most as many signature comparisons in it."""
KNOWN = LEADERS // 4
"""Of them, at most so many that lead crowds elsewhere, and so many that lead some of its members already."""

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
    large: list[int] = []
    asked = 0
    prints = collection.fingerprints[:, 0]
    for buckets in hot:
        for bucket in sorted(buckets, key=lambda rows: int(prints[rows].min())):
            known = _known_leaders(bucket, size, leader, large, prints)
            rows, wanted = nearest_leaders(bucket[leader[bucket] < 0], collection, spec, leader, known)
            asked += rows.size
            found = check(np.minimum(rows, wanted), np.maximum(rows, wanted), spec.threshold)
            joined = found >= 0
            leader[rows[joined]] = wanted[joined]
            similarity[rows[joined]] = found[joined]
            np.add.at(size, wanted[joined], weight[rows[joined]])
            grown = {row for row in np.unique(wanted[joined]).tolist() if size[row] > spec.crowd}
            large = heapq.nsmallest(KNOWN, grown.union(large), key=lambda row: (-size[row], prints[row]))
    members = np.flatnonzero(leader >= 0)
    leads = np.flatnonzero(size > spec.crowd)
    leads = leads[leader[leads] < 0]
    crowd = np.full(n, -1, dtype=np.int64)
    crowd[leads] = leads
    members = members[crowd[leader[members]] >= 0]
    crowd[members] = leader[members]
    return Crowds(crowd, leader[members], members, similarity[members], asked)


def nearest_leaders(members: I64, collection: Collection, spec: Spec, leader: I64, known: I64) -> tuple[I64, I64]:
    """Members of a hot bucket that agree with a leader well enough to be checked, and the nearest leader of each.

    Args:
        members: rows, in any order.
        collection: signatures and texts.
        spec: estimate filter.
        leader: int64[n], the verified leader of each row or -1.
        known: rows that lead already, in this bucket or elsewhere.
    """
    ordered = content_order(collection, members)
    nearest = band_stage.nearest_leaders(
        ordered, collection.values, leader, known, most=LEADERS, min_matches=spec.min_matches
    )
    asking = nearest >= 0
    return ordered[asking], nearest[asking]


def _known_leaders(bucket: I64, size: I64, leader: I64, large: list[int], prints: U64) -> I64:
    """Rows that may lead in a bucket before any of its members: the ``large`` crowds anywhere, then its own leaders.

    Documents of one boilerplate meet in every band in other buckets; without the first each band would have a leader.
    """
    crowds = np.array(large, dtype=np.int64)
    own = np.unique(leader[bucket[leader[bucket] >= 0]])
    own = own[np.lexsort((prints[own], -size[own]))][:KNOWN]
    return np.concatenate((crowds, own[~np.isin(own, crowds)]))
