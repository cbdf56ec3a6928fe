"""Deal with hot buckets, which have too many documents to check all of their pairs.

Crowds: the members of a bucket are sorted by content (longest first, then by text hash), never by row. Each is compared
by signature with the leaders met so far, and checked exactly against the nearest leader. A leader with more verified
documents than the limit stands for a *crowd*, whose members are listed with it only. No step is quadratic in a bucket.

Pairs outside crowds: a hot bucket is paired up whole if that is affordable. A sample of its pairs predicts the cost of
comparing and checking them, and all hot buckets together have a budget for each document. Members of other buckets
wait until every bucket has been priced. Then they are separated, all together, by the shingles that few of them hold
(``few``). Documents that common shingles alone could make similar are joined exactly (``overfull``). No pair is missed,
unless there are too many to list. In that case these documents are compared with leaders only and counted as overfull,
and no recall is promised for pairs among them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME, distinct
from neardup.engine.banding.pending import BUDGET_NS, Buckets, Pending, check_ns, pair_members
from neardup.engine.check import Checker
from neardup.engine.reading.collection import Collection, content_order
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.params import Spec
from neardup.spool import Column, MemoryColumn
from neardup.stages.bands import Leading
from neardup.types import F64, I32, I64, Mask

LEADERS = 256
"""The most leaders of one hot bucket: a member costs at most this many signature comparisons."""
KNOWN = LEADERS // 4
"""The most known leaders of each kind: leaders of crowds anywhere, and leaders of the bucket's own members."""
MANY = 4096
"""If at least this many members have a leader to check, a sample of them is checked first."""
TRIALS = 64
"""The number of members that the smallest crowd would have in that sample."""
MEMBERS_AT_A_TIME = 1 << 15
"""Members of a bucket whose signatures are loaded together."""
SAMPLE = 512
"""The number of pairs by which the cost of a bucket is predicted."""
COMPARE_NS = 10.0
"""Rough cost of comparing two signatures, in nanoseconds."""

Check = Callable[[I64, I64, float], F64]


@dataclass(frozen=True, slots=True)
class Crowds:
    """The crowds of a collection, in terms of representatives."""

    crowd: I32
    """int32[n]: the leader of each row's crowd, or -1."""
    stars: Column
    """int64[m, 2]: each verified pair of a member and its leader, whether in a crowd or not."""
    similarity: Column
    """float64[m]: the exact similarity of each of these pairs."""
    asked: int
    """The number of members that were checked against a leader."""
    apart: Mask
    """bool[n]: the rows separated by rare shingles. Every two of them that could be similar have met, so other buckets
    in a band with a hot bucket need not pair them up again."""

    @property
    def passed_over(self) -> I32:
        """int32[n]: ``crowd``, with n for the rows in ``apart``. Two rows with the same number need not be paired."""
        return np.where(self.apart & (self.crowd < 0), np.int32(self.crowd.size), self.crowd)

    def joined(self) -> Iterator[tuple[I64, I64, F64]]:
        """Yield the members of crowds, the leader of each, and their exact similarity, some at a time."""
        for first, stars in self.stars.scan(ROWS_AT_A_TIME):
            similarity = self.similarity.slice(first, first + len(stars))
            kept = self.crowd[stars[:, 0]] == stars[:, 1]
            yield stars[kept, 0], stars[kept, 1], np.array(similarity[kept])

    @classmethod
    def none(cls, n: int) -> Crowds:
        """Return a result without crowds, for n rows."""
        stars, similarity = MemoryColumn(np.int64, 2), MemoryColumn(np.float64)
        return cls(np.full(n, -1, dtype=np.int32), stars, similarity, 0, np.zeros(n, dtype=np.bool_))

    def keep(self, space: Space) -> None:
        """Save the columns that ``restored`` needs, if a later run can resume from the workdir."""
        if space.is_lasting and len(self.stars):
            space.column("crowds", np.int32).append(self.crowd)
        if space.is_lasting and self.apart.any():
            space.column("told-apart", np.uint8).append(self.apart.view(np.uint8))

    @classmethod
    def restored(cls, collection: Collection) -> Crowds:
        """Load the crowds that an interrupted run found."""
        space, n = collection.space, len(collection)
        found = cls.none(n)
        apart = space.column("told-apart", np.uint8)
        if len(apart):
            found.apart[:] = apart.slice(0, n)
        stars, similarity = _columns(space)
        if not len(stars):
            return found
        crowd = np.array(space.column("crowds", np.int32).slice(0, n))
        return cls(crowd, stars, similarity, int(space.state["asked"]), found.apart)


def _columns(space: Space) -> tuple[Column, Column]:
    return space.column("stars", np.int64, 2), space.column("star-similarity", np.float64)


def find_crowds(hot: Buckets, collection: Collection, weight: I32, check: Check) -> Crowds:
    """Find the leaders and the verified members of the hot buckets, band after band.

    ``weight`` is int32[n], the number of documents that each row stands for. Memory: 12 bytes a row, and 60 for each
    member of the largest bucket.
    """
    spec = collection.spec
    leader = np.full(len(collection), -1, dtype=np.int32)
    size = weight.copy()
    large: list[int] = []
    marks: dict[int, int] = {}
    asked = 0
    stars, similarity = _columns(collection.space)
    for bucket in sorted(hot.marked, key=lambda each: (each.band, each.mark)):
        members = hot.rows(bucket)
        known = _known_leaders(members, size, leader, large, collection)
        rows, wanted = nearest_leaders(members[leader[members] < 0], collection, known)
        rows, wanted, found = _checked(rows, wanted, check, spec)
        asked += rows.size
        joined = found >= 0
        rows, wanted = rows[joined], wanted[joined]
        leader[rows] = wanted
        stars.append(np.column_stack((rows, wanted)))
        similarity.append(found[joined])
        np.add.at(size, wanted, weight[rows])
        grown = {row for row in distinct(wanted).tolist() if size[row] > spec.crowd}.union(large)
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
    return Crowds(crowd, stars, similarity, asked, np.zeros(crowd.size, dtype=np.bool_))


def _checked(rows: I64, wanted: I64, check: Check, spec: Spec) -> tuple[I64, I64, F64]:
    """Check members against leaders, and return the checked members, their leaders, and the exact similarity or -1.

    If there are many, a sample is checked first. If no member of it is near its leader, the rest is not checked: the
    bucket then holds no large part of a crowd, except in one case in millions. ``rows`` are sorted by content.
    """

    def similarity(some: slice | Mask) -> F64:
        left, right = np.minimum(rows[some], wanted[some]), np.maximum(rows[some], wanted[some])
        return check(left, right, spec.threshold)

    if rows.size < MANY:
        return rows, wanted, similarity(slice(None))
    first = slice(None, None, max(1, spec.crowd // TRIALS))
    tried = similarity(first)
    if not np.any(tried >= 0):
        return rows[first], wanted[first], tried
    found = np.empty(rows.size)
    found[first] = tried
    others = np.ones(rows.size, dtype=np.bool_)
    others[first] = False
    found[others] = similarity(others)
    return rows, wanted, found


def nearest_leaders(members: I64, collection: Collection, known: I64) -> tuple[I64, I64]:
    """Return the members that agree with a leader well enough to be checked, and the nearest leader of each.

    ``members`` of a hot bucket have no leader, and may be in any order. ``known`` rows lead already, here or elsewhere.
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
    """Return the rows that lead in a bucket from the start: leaders of ``large`` crowds anywhere, then its own leaders.

    Documents with the same boilerplate share another bucket in each band: without ``large``, each would add a leader.
    """
    crowds = np.array(large, dtype=np.int64)
    own = distinct(leader[members[leader[members] >= 0]]).astype(np.int64)
    own = own[np.lexsort((collection.prints.take(own)[:, 0], -size[own].astype(np.int64)))][:KNOWN]
    return np.concatenate((crowds, own[~np.isin(own, crowds)]))


def pair_hot_buckets(
    hot: Buckets, pending: Pending, collection: Collection, weight: I32, crowds: Crowds, check: Checker, *, threads: int
) -> tuple[int, int]:
    """Add the candidate pairs of hot buckets that are not inside a crowd to ``pending``, with buckets in threads.

    Returns the number of candidate pairs met and the number of overfull documents. Updates ``crowds`` with the
    documents separated by rare shingles, and with crowds of documents that share boilerplate.
    """
    work = _Work(collection, weight, crowds.crowd, pending)
    waiting: list[tuple[int, I64]] = []
    met = sum(in_order(lambda job: work.whole(*job), _jobs(hot, work, waiting), threads=threads, ahead=threads))
    if not waiting:
        return met, 0
    more, overfull = _tell_apart(waiting, work, crowds, check, threads=threads)
    return met + more, int(weight[overfull].sum(dtype=np.int64))


def _tell_apart(
    waiting: list[tuple[int, I64]], work: _Work, crowds: Crowds, check: Checker, *, threads: int
) -> tuple[int, I64]:
    """Find the pairs of buckets too costly to pair up whole. Returns the number of pairs met and the overfull rows."""
    # imported here, because hardly any collection has such buckets
    from neardup.engine.banding import few
    from neardup.engine.banding.overfull import OverfullJoin

    collection, pending = work.collection, work.pending
    together = distinct(np.concatenate([members for _, members in waiting]))
    found = few.pair_up(collection, together, pending, threads=threads)
    rows = together if found.is_cut else found.hidden
    join = OverfullJoin(collection, rows, weight=work.weight, crowd=crowds.crowd, check=check, threads=threads)
    is_done = join.find()
    for left, right, similarity, is_star in join.pieces():
        leader = join.found.crowd[left[is_star]]
        crowds.stars.append(np.column_stack((left[is_star] + right[is_star] - leader, leader)))
        crowds.similarity.append(similarity[is_star])
        if is_done:
            pending.add(left[~is_star], right[~is_star])
    join.found.pairs.drop()
    crowds.crowd[:] = join.found.crowd
    if is_done:
        crowds.apart[together] = True
        return found.met + join.found.candidates_met, rows[:0]
    if not found.is_cut:
        crowds.apart[np.setdiff1d(together, rows)] = True
    is_overfull = np.zeros(len(collection), dtype=np.bool_)
    is_overfull[rows] = True
    parts = (members[is_overfull[members]] for _, members in waiting)
    return found.met + sum(in_order(work.led, parts, threads=threads)), rows


def _jobs(hot: Buckets, work: _Work, waiting: list[tuple[int, I64]]) -> Iterator[tuple[int, I64]]:
    """Yield (band, members) of each hot bucket to pair up whole, the smallest first, within the budget.

    The other buckets are added to ``waiting``.
    """
    spent = np.zeros(len(work.collection), dtype=np.float32)
    for bucket in sorted(hot.marked, key=lambda each: (each.size, each.band, each.mark)):
        members = hot.rows(bucket)
        if members.size < 2:
            continue
        price = work.price(bucket.band, members)
        if price + spent[members].mean(dtype=np.float64) <= BUDGET_NS:
            spent[members] += np.float32(price)
            yield bucket.band, members
        else:
            waiting.append((bucket.band, members))


@dataclass(frozen=True, slots=True)
class _Work:
    collection: Collection
    weight: I32
    crowd: I32
    pending: Pending

    def whole(self, band: int, members: I64) -> int:
        """Pair up one hot bucket, and return the number of candidate pairs met."""
        by_crowd = members[np.lexsort((members, self.crowd[members]))]
        return self._pair_up(by_crowd, np.array([0, members.size]), band)

    def price(self, band: int, members: I64) -> float:
        """Predict the cost of pairing up a bucket, in nanoseconds a member, by a sample of pairs chosen by content."""
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
        passes &= ~bands.all(axis=2)[:, :band].any(axis=1)  # pairs that an earlier band has met
        passes &= (self.crowd[a] < 0) | (self.crowd[a] != self.crowd[b])
        count = self.collection.counts.take
        shingles = sum(count(members[i : i + ROWS_AT_A_TIME]).sum() for i in range(0, m, ROWS_AT_A_TIME))
        return pairs * (COMPARE_NS + float(passes.mean()) * check_ns(float(shingles) / m)) / m

    def _pair_up(self, members: I64, starts: I64, band: int) -> int:
        pairs = pair_members(self.collection, members, starts, self.crowd, band=band, by_crowd=True)
        return self.pending.add_all(pairs)

    def led(self, members: I64) -> int:
        """Pair each member with the nearest leader of its bucket, and return the number of candidate pairs met."""
        rows, wanted = nearest_leaders(members, self.collection, np.empty(0, dtype=np.int64))
        self.pending.add(np.minimum(rows, wanted), np.maximum(rows, wanted))
        return rows.size
