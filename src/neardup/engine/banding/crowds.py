"""Hot buckets: many documents in one bucket, dealt with by leaders instead of by pairs.

Members come in an order of their content (longest first, then by text hash), never of their rows. Each is compared
by signature with the leaders met so far, and checked exactly against the nearest. Leaders with more verified documents
than the limit stand for a *crowd*, which is listed as a star. No step is quadratic in a bucket. Pairs of members that
do not stand in one crowd are found in ``hot``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neardup.engine.banding.buckets import Buckets
from neardup.engine.reading.collection import Collection, content_order
from neardup.engine.space import Space
from neardup.spool import Column, MemoryColumn
from neardup.stages.bands import Leading
from neardup.types import F64, I32, I64

__all__ = ["Check", "Crowds", "find_crowds", "nearest_leaders"]

LEADERS = 256
"""Leaders that one hot bucket may have: a member costs at most as many signature comparisons in it."""
KNOWN = LEADERS // 4
"""Of them, at most so many that lead crowds elsewhere, and so many that lead some of its members already."""
MEMBERS_AT_A_TIME = 1 << 15
"""Members of a bucket whose signatures are looked at together."""

Check = Callable[[I64, I64, float], F64]


@dataclass(frozen=True, slots=True)
class Crowds:
    """Which representatives stand in which crowd."""

    crowd: I32
    """int32[n]: the row that leads the row's crowd, or -1."""
    stars: Column
    """int64[m, 2]: member and leader of each verified star, in crowds or not."""
    similarity: Column
    """float64[m]: exact similarity of each star."""
    asked: int
    """Members that were checked against a leader."""

    @classmethod
    def none(cls, n: int) -> Crowds:
        """No crowd among n rows."""
        return cls(np.full(n, -1, dtype=np.int32), MemoryColumn(np.int64, 2), MemoryColumn(np.float64), 0)

    def __len__(self) -> int:
        """Verified stars, those of leaders that lead no crowd included."""
        return len(self.stars)

    def keep(self, space: Space) -> None:
        """Write down what ``restored`` needs, in a workdir."""
        if space.is_lasting and space.workdir is not None and len(self):
            space.workdir.column("crowds", np.int32).append(self.crowd)

    @classmethod
    def restored(cls, collection: Collection, space: Space) -> Crowds:
        """The crowds that an interrupted run had found."""
        workdir = space.workdir
        assert workdir is not None
        stars, similarity = _columns(space)
        if not len(stars):
            return cls.none(len(collection))
        crowd = workdir.column("crowds", np.int32).slice(0, len(collection))
        return cls(np.array(crowd), stars, similarity, int(space.state["asked"]))


def _columns(space: Space) -> tuple[Column, Column]:
    if space.workdir is None:
        return MemoryColumn(np.int64, 2), MemoryColumn(np.float64)
    return space.workdir.column("stars", np.int64, 2), space.workdir.column("star-similarity", np.float64)


def find_crowds(hot: Buckets, collection: Collection, weight: I32, check: Check) -> Crowds:
    """Leaders and verified members of the hot buckets, band after band.

    Args:
        hot: the hot buckets.
        collection: signatures and texts.
        weight: int32[n], documents that each row stands for.
        check: exact similarity of pairs of rows.

    Memory: 12 bytes a row, and 60 for each member of the largest bucket.
    """
    spec = collection.spec
    leader = np.full(len(collection), -1, dtype=np.int32)
    size = weight.copy()
    large: list[int] = []
    marks: dict[int, int] = {}
    asked = 0
    stars, similarity = _columns(collection.space)
    for bucket in sorted(hot.marked(), key=lambda each: (each.band, each.mark)):
        members = hot.rows(bucket)
        known = _known_leaders(members, size, leader, large, collection)
        rows, wanted = nearest_leaders(members[leader[members] < 0], collection, known)
        asked += rows.size
        found = check(np.minimum(rows, wanted), np.maximum(rows, wanted), spec.threshold)
        joined = found >= 0
        rows, wanted = rows[joined], wanted[joined]
        leader[rows] = wanted
        stars.append(np.column_stack((rows, wanted)))
        similarity.append(found[joined])
        np.add.at(size, wanted, weight[rows])
        grown = {row for row in np.unique(wanted).tolist() if size[row] > spec.crowd}.union(large)
        fresh = np.array(sorted(grown - marks.keys()), dtype=np.int64)
        marks.update(zip(fresh.tolist(), collection.prints.take(fresh)[:, 0].tolist(), strict=True))
        large = heapq.nsmallest(KNOWN, grown, key=lambda row: (-int(size[row]), marks[row]))
    leads = np.flatnonzero(size > spec.crowd)
    leads = leads[leader[leads] < 0]
    crowd = np.full(len(collection), -1, dtype=np.int32)
    crowd[leads] = leads
    members = np.flatnonzero(leader >= 0)
    members = members[crowd[leader[members]] >= 0]
    crowd[members] = leader[members]
    return Crowds(crowd, stars, similarity, asked)


def nearest_leaders(members: I64, collection: Collection, known: I64) -> tuple[I64, I64]:
    """Members of a hot bucket that agree with a leader well enough to be checked, and the nearest leader of each.

    Args:
        members: rows without a leader, in any order.
        collection: signatures and texts.
        known: rows that lead already, in this bucket or elsewhere.
    """
    ordered = content_order(collection, members)
    leading = Leading(known, collection.values.take(known), most=LEADERS, min_matches=collection.spec.min_matches)
    nearest = [np.empty(0, dtype=np.int64)]
    for i in range(0, ordered.size, MEMBERS_AT_A_TIME):
        part = ordered[i : i + MEMBERS_AT_A_TIME]
        nearest.append(leading.nearest(part, collection.values.take(part)))
    best = np.concatenate(nearest)
    asking = best >= 0
    return ordered[asking], best[asking]


def _known_leaders(members: I64, size: I32, leader: I32, large: list[int], collection: Collection) -> I64:
    """Rows that may lead in a bucket before any of its members: the ``large`` crowds anywhere, then its own leaders.

    Documents of one boilerplate meet in every band in other buckets; without the first each band would have a leader.
    """
    crowds = np.array(large, dtype=np.int64)
    own = np.unique(leader[members[leader[members] >= 0]]).astype(np.int64)
    own = own[np.lexsort((collection.prints.take(own)[:, 0], -size[own].astype(np.int64)))][:KNOWN]
    return np.concatenate((crowds, own[~np.isin(own, crowds)]))
