"""Which documents go: greedy stars over verified pairs, in an order of preference.

Every document that goes is itself verified against the one that is kept for it, and no found pair is left among the
kept, but for protected ones. The documents of a crowd have pairs with its leader only; where the order wants another
one kept, that one is checked against the others first. With the policy ``none`` all that have a pair go, and with a
rule of overlap all that overlap with a protected one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neardup.cutting import ROWS_AT_A_TIME, cut, distinct
from neardup.engine.results.pairs import Links, PairStore, link
from neardup.engine.state import SearchState
from neardup.stages.cluster import Components
from neardup.tasks.dedup.policy import Origins
from neardup.types import F64, I32, I64, Mask

if TYPE_CHECKING:
    from neardup.engine.joins.overlap import Overlaps

RULES = ("protect", "prefer", "keep", "first")
"""What decided between the kept document and one that goes: a number in ``Removals.rule`` is a place here."""
ROUNDS = 16
"""How many documents of one crowd may be checked against all others that would be kept."""
_GONE = np.dtype([("row", np.int32), ("keeper", np.int32), ("similarity", np.float64), ("rule", np.int8)])
"""A row that goes, in 17 bytes."""


@dataclass(frozen=True, slots=True)
class Removals:
    """The documents that go, by row."""

    rows: I64
    keeper: I64
    """The row that is kept for each; where none is kept, the one that each is most similar to, or a protected one."""
    similarity: F64
    """Exact similarity of the two; of overlap, the share of the protected one."""
    cluster: I64
    """Number of the cluster, from 0, in the order of the smallest row of each."""
    rule: NDArray[np.int8]
    """What decided; see RULES."""
    protected: int
    """Protected documents with a pair."""

    @property
    def clusters(self) -> int:
        """Clusters that lose something."""
        return int(distinct(self.cluster).size)

    def largest(self) -> tuple[int, int]:
        """Documents of the largest cluster, the kept one included, and its kept row; (0, -1) when nothing goes.

        Of several the one whose kept row comes first; the row is -1 where none of the cluster is kept.
        """
        if not self.rows.size:
            return 0, -1
        members = np.bincount(self.cluster)
        kept = distinct(self.keeper[~np.isin(self.keeper, self.rows)])
        cluster = self.cluster[np.argsort(self.keeper, kind="stable")]
        cluster = cluster[np.searchsorted(np.sort(self.keeper), kept)]  # that of each row that is kept
        members += np.bincount(cluster, minlength=members.size)
        if kept.size:
            at = int(np.argmax(members[cluster]))
            if members[cluster[at]] == members.max():
                return int(members.max()), int(kept[at])
        return int(members.max()), -1

    def clustered(self) -> tuple[I64, I64, I64, F64]:
        """(rows, cluster, keeper, similarity) of all documents in clusters, the kept ones too, by row."""
        keeper, first = np.unique(self.keeper, return_index=True)
        kept = ~np.isin(keeper, self.rows)
        keeper, first = keeper[kept], first[kept]
        rows = np.concatenate((self.rows, keeper))
        order = np.argsort(rows)
        cluster = np.concatenate((self.cluster, self.cluster[first]))[order]
        return (
            rows[order],
            cluster,
            np.concatenate((self.keeper, keeper))[order],
            np.concatenate((self.similarity, np.ones(keeper.size)))[order],
        )


def choose(found: SearchState, origins: Origins) -> Removals:
    """Decide which documents go; ``origins`` orders them by tier, then by value, then by row, the smaller first.

    Memory: about 100 bytes for each document that has a pair. O(pairs log pairs), and a check for each member of a
    crowd whose leader is not kept.
    """
    with found.stages.stage("choose"):
        involved = found.pairs.involved()
        found.need_memory(involved)
        reps = distinct(np.concatenate((involved, found.copies.several)))
        if origins.keeps_none:
            return _all_chosen(found, origins, reps)
        if origins.is_prepared:
            origins.prepare(np.sort(found.copies.spread(reps)[1]))
        best, tier, value = _best_rows(reps, found, origins)
        ranked = np.lexsort((best, value, tier))
        has_pairs = np.zeros(reps.size, dtype=np.bool_)
        has_pairs[np.searchsorted(reps, involved)] = True
        ranked = ranked[has_pairs[ranked]]
        fixed = tier[ranked] == 0
        by_rank = reps[ranked]
        del involved, tier, ranked, has_pairs
        found.space.release_memory()
        links = _linked(found, by_rank, fixed)
        del by_rank
        found.space.release_memory()
        chosen = _chosen(found, origins, links, reps, best, value)
        del links, reps, best, value
        found.space.release_memory()
        return chosen


def choose_overlapping(found: SearchState, origins: Origins, overlaps: Overlaps) -> Removals:
    """All documents that overlap with a protected one, each with that one; of its copies the first that is protected.

    Memory: 17 bytes for each document that goes.
    """
    with found.stages.stage("choose"):
        parts, protected = [np.empty(0, dtype=_GONE)], 0
        for part in cut(found.copies.weight[overlaps.rows], ROWS_AT_A_TIME):
            groups = np.arange(part.start, part.stop)
            starts, rows = found.copies.spread(overlaps.rows[groups])
            back = np.repeat(np.arange(groups.size), np.diff(starts))
            tier = origins.tier(rows)
            protected += int(np.count_nonzero(tier == 0))
            keeper = overlaps.keeper[groups][back]
            decides = origins.value(keeper) != origins.value(rows)
            parts.append(_gone(rows, keeper, overlaps.share[groups][back], tier, origins, decides))
        return _in_input_order(np.concatenate(parts), protected)


def _all_chosen(found: SearchState, origins: Origins, reps: I64) -> Removals:
    """All documents that have a pair or a copy, but protected ones: each with the one that it was verified against.

    That is a protected one if there is one, else the most similar, of equally similar ones the first. Each member of
    a crowd is verified against its leader.
    """
    n = reps.size
    starts, rows = found.copies.spread(reps)
    place = np.repeat(np.arange(n), np.diff(starts))
    tier = origins.tier(rows)
    order = np.lexsort((rows, tier > 0, place))
    first, second = rows[order[starts[:-1]]], rows[order[np.minimum(starts[:-1] + 1, rows.size - 1)]]
    shielded = np.zeros(n, dtype=np.bool_)
    shielded[place[tier == 0]] = True
    # of each representative the best partner: protected before others, then by similarity, then by place
    partner, similarity = np.full(n, -1, dtype=np.int64), np.zeros(n)
    parts = Components(n)
    for piece in found.pairs.pieces():
        left, right = np.searchsorted(reps, piece.left), np.searchsorted(reps, piece.right)
        parts.join(left, right)
        mine, other = np.concatenate((left, right)), np.concatenate((right, left))
        value = np.tile(piece.similarity, 2)
        known = distinct(mine)
        known = known[partner[known] >= 0]
        mine, other = np.append(mine, known), np.append(other, partner[known])
        value = np.append(value, similarity[known])
        by = np.lexsort((first[other], -value, ~shielded[other], mine))
        heads = by[np.unique(mine[by], return_index=True)[1]]
        partner[mine[heads]], similarity[mine[heads]] = other[heads], value[heads]
    # a copy is as similar as can be, and goes before other partners unless only these are protected
    has_copy = np.diff(starts) > 1
    by_copy = has_copy & (shielded | (partner < 0) | ~shielded[partner])
    keeper = np.where(
        by_copy[place], np.where(rows == first[place], second[place], first[place]), first[partner[place]]
    )
    near = np.where(by_copy[place], 1.0, similarity[place])
    goes = tier > 0
    gone = np.empty(int(goes.sum()), dtype=_GONE)
    gone["row"], gone["keeper"], gone["similarity"] = rows[goes], keeper[goes], near[goes]
    gone["rule"] = np.where(origins.tier(keeper[goes]) == 0, RULES.index("protect"), RULES.index("keep"))
    by_row = np.argsort(gone["row"])
    labels = parts.labels()[place[goes]][by_row]
    return _in_input_order(gone, int(np.count_nonzero(~goes)), labels)


def _best_rows(reps: I64, found: SearchState, origins: Origins) -> tuple[I64, NDArray[np.int16], I64]:
    """Of the copies of each representative the one that would be kept, with its tier and value."""
    best = reps.copy()
    many = np.flatnonzero(found.copies.weight[reps] > 1)
    for part in cut(found.copies.weight[reps[many]], ROWS_AT_A_TIME):
        some = many[part]
        starts, rows = found.copies.spread(reps[some])
        group = np.repeat(np.arange(some.size), np.diff(starts))
        value = np.zeros(rows.size, dtype=np.int64) if origins.values_are_of_texts else origins.value(rows)
        by_order = np.lexsort((rows, value, origins.tier(rows), group))
        best[some] = rows[by_order[starts[:-1]]]
    tier, value = np.empty(reps.size, dtype=np.int16), np.empty(reps.size, dtype=np.int64)
    for i in range(0, reps.size, ROWS_AT_A_TIME):
        tier[i : i + ROWS_AT_A_TIME] = origins.tier(best[i : i + ROWS_AT_A_TIME])
        value[i : i + ROWS_AT_A_TIME] = origins.value(best[i : i + ROWS_AT_A_TIME])
    return best, tier, value


def _linked(found: SearchState, order: I64, fixed: NDArray[np.bool_]) -> Links:
    """Stars of representatives; crowds are completed until none keeps two that were not held against each other."""
    n, space = len(found.collection), found.space
    links = link(found.pairs, order, n, space, rule="star", fixed=fixed)
    if not found.leads.size:
        return links
    # apart from the others, and gone before the next checkpoint: a resumed run completes the crowds again
    completed = PairStore("completed", n, space, part=0.1)
    rank = np.full(n, -1, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    tried = np.zeros(n, dtype=np.bool_)
    free = np.ones(n, dtype=np.bool_)
    free[order[fixed]] = False
    compared = np.empty(0, dtype=np.int64)
    for _ in range(ROUNDS):
        kept = links.rows[(links.keeper == links.rows) | ~free[links.rows]]
        kept = kept[found.crowd[kept] >= 0]
        kept = kept[np.lexsort((rank[kept], found.crowd[kept]))]
        hub, other = _hubs(kept, found.crowd[kept], tried, free)
        tried[distinct(hub)] = True
        if not hub.size:
            break
        pair = np.minimum(hub, other) * n + np.maximum(hub, other)
        fresh = ~np.isin(pair, compared)
        hub, other = hub[fresh], other[fresh]
        compared = np.concatenate((compared, pair[fresh]))
        similarity = found.check(np.minimum(hub, other), np.maximum(hub, other), found.collection.spec.threshold)
        near = similarity >= 0
        if near.any():
            completed.add(hub[near], other[near], similarity[near])
            links = link(found.pairs, order, n, space, rule="star", more=completed, fixed=fixed)
    completed.drop()
    return links


def _hubs(kept: I64, crowd: NDArray[np.int32], tried: NDArray[np.bool_], free: NDArray[np.bool_]) -> tuple[I64, I64]:
    """For each crowd of two kept and more, its first that was not tried yet, with each of the others that may go.

    ``kept`` is ordered by crowd, then by rank.
    """
    hubs, others = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for members in np.split(kept, np.flatnonzero(np.diff(crowd)) + 1):
        fresh = members[~tried[members]]
        if members.size < 2 or not fresh.size:
            continue
        rest = members[(members != fresh[0]) & free[members]]
        hubs.append(np.full(rest.size, fresh[0]))
        others.append(rest)
    return np.concatenate(hubs), np.concatenate(others)


def _chosen(found: SearchState, origins: Origins, links: Links, reps: I64, best: I64, value: I64) -> Removals:
    """From kept representatives to the rows that go, some groups of copies at a time; ``value`` is that of ``best``."""
    keeper = np.arange(reps.size)
    similarity = np.ones(reps.size)
    at = np.searchsorted(reps, links.rows)
    keeper[at] = np.searchsorted(reps, links.keeper)
    similarity[at] = links.similarity
    parts, protected = [np.empty(0, dtype=_GONE)], 0
    for part in cut(found.copies.weight[reps], ROWS_AT_A_TIME):
        group = np.arange(part.start, part.stop)
        starts, rows = found.copies.spread(reps[group])
        back = np.repeat(group, np.diff(starts))
        for i in range(0, rows.size, ROWS_AT_A_TIME):  # one group may be larger than all others
            some, of = rows[i : i + ROWS_AT_A_TIME], back[i : i + ROWS_AT_A_TIME]
            tier = origins.tier(some)
            protected += int(np.count_nonzero(tier == 0))
            mine = value[of] if origins.values_are_of_texts else origins.value(some)
            parts.append(_gone(some, best[keeper[of]], similarity[of], tier, origins, value[keeper[of]] != mine))
    return _in_input_order(np.concatenate(parts), protected)


def _in_input_order(gone: NDArray[Any], protected: int, labels: I32 | None = None) -> Removals:
    """Removals of what goes, as _GONE; clusters are of those with one keeper, or of one of ``labels``, by row."""
    gone = gone[np.argsort(gone["row"])]
    rows, keeper = gone["row"].astype(np.int64), gone["keeper"].astype(np.int64)
    cluster = _numbered(rows, keeper) if labels is None else _numbered(rows, keeper, labels)
    return Removals(rows, keeper, gone["similarity"].copy(), cluster, gone["rule"].copy(), protected)


def _gone(rows: I64, keeper: I64, similarity: F64, tier: I64, origins: Origins, decides: Mask) -> NDArray[Any]:
    """Those of ``rows`` that go, as _GONE; ``decides``: where a row and its keeper have other values."""
    goes = (rows != keeper) & (tier > 0)  # a protected row never goes, whoever would keep it
    rows, keeper, tier = rows[goes], keeper[goes], tier[goes]
    keeper_tier = origins.tier(keeper)
    gone = np.empty(rows.size, dtype=_GONE)
    gone["row"], gone["keeper"], gone["similarity"] = rows, keeper, similarity[goes]
    gone["rule"] = RULES.index("first")
    gone["rule"][decides[goes]] = RULES.index("keep")
    gone["rule"][keeper_tier != tier] = RULES.index("prefer")
    gone["rule"][keeper_tier == 0] = RULES.index("protect")
    return gone


def _numbered(rows: I64, keeper: I64, labels: I64 | I32 | None = None) -> I64:
    """Clusters, those of one keeper or of one label, numbered by their smallest row, the kept one included."""
    _, at, cluster = np.unique(keeper if labels is None else labels, return_index=True, return_inverse=True)
    smallest = np.minimum(rows[at], keeper[at])
    np.minimum.at(smallest, cluster, np.minimum(rows, keeper))
    number = np.empty(at.size, dtype=np.int64)
    number[np.argsort(smallest)] = np.arange(at.size)
    return number[cluster]
