"""Which documents go: greedy stars over verified pairs, in an order of preference.

Every document that goes is itself verified against the one that is kept for it, and no found pair is left among the
kept, but for protected ones. The documents of a crowd have pairs with its leader only; where the order wants another
one kept, that one is checked against the others first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.pipeline.collection import SCAN
from neardup.pipeline.link import Links, involved_rows, link
from neardup.pipeline.run import Search
from neardup.types import F64, I64

__all__ = ["RULES", "Chosen", "Order", "choose"]

RULES = ("protect", "prefer", "keep", "first")
"""What decided between the kept document and one that goes: a number in ``Chosen.rule`` is a place here."""
ROUNDS = 16
"""How many documents of one crowd may be checked against all others that would be kept."""


@dataclass(frozen=True, slots=True)
class Order:
    """In which order documents are kept: by tier, then by value, then by row; the smaller first."""

    tier: Callable[[I64], I64]
    """int64[m] for rows: 0 for a protected document, which never goes; then the preferred, then the others."""
    value: Callable[[I64], I64]
    """int64[m] for rows."""
    prepare: Callable[[I64], None]
    """Told, before the first question, all rows that may be asked for, rising."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The documents that go, by row."""

    rows: I64
    keeper: I64
    """The row that is kept for each."""
    similarity: F64
    """Exact similarity of the two."""
    cluster: I64
    """Number of the cluster, from 0, in the order of the smallest row of each."""
    rule: NDArray[np.int8]
    """What decided; see RULES."""
    protected: int
    """Protected documents with a pair."""

    def largest(self) -> tuple[int, int]:
        """Documents of the largest cluster, the kept one included, and its kept row; (0, -1) when nothing goes."""
        if not self.rows.size:
            return 0, -1
        keeper, sizes = np.unique(self.keeper, return_counts=True)
        at = int(np.argmax(sizes))
        return int(sizes[at]) + 1, int(keeper[at])

    def clustered(self) -> tuple[I64, I64, I64, F64]:
        """(rows, cluster, keeper, similarity) of all documents in clusters, the kept ones too, by row."""
        keeper, first = np.unique(self.keeper, return_index=True)
        rows = np.concatenate((self.rows, keeper))
        order = np.argsort(rows)
        cluster = np.concatenate((self.cluster, self.cluster[first]))[order]
        return (
            rows[order],
            cluster,
            np.concatenate((self.keeper, keeper))[order],
            np.concatenate((self.similarity, np.ones(keeper.size)))[order],
        )


def choose(found: Search, order: Order) -> Chosen:
    """Decide which documents go.

    Args:
        found: verified pairs, copies and crowds.
        order: who is kept rather than whom.

    Memory: about 100 bytes for each document that has a pair. O(pairs log pairs), and a check for each member of a
    crowd whose leader is not kept.
    """
    with found.watch.measure("choose"):
        involved = involved_rows(found.pairs, len(found.collection))
        reps = np.union1d(involved, found.copies.several)
        order.prepare(np.sort(found.copies.spread(reps)[1]))
        best, tier, value = _best_rows(reps, found, order)
        ranked = np.lexsort((best, value, tier))
        has_pairs = np.zeros(reps.size, dtype=np.bool_)
        has_pairs[np.searchsorted(reps, involved)] = True
        ranked_involved = ranked[has_pairs[ranked]]
        links = _linked(found, reps[ranked_involved], tier[ranked_involved] == 0)
        return _chosen(found, order, links, reps, best)


def _best_rows(reps: I64, found: Search, order: Order) -> tuple[I64, I64, I64]:
    """Of the copies of each representative the one that would be kept, with its tier and value."""
    best = reps.copy()
    many = np.flatnonzero(found.copies.weight[reps] > 1)
    for i in range(0, many.size, SCAN):
        some = many[i : i + SCAN]
        starts, rows = found.copies.spread(reps[some])
        group = np.repeat(np.arange(some.size), np.diff(starts))
        by_order = np.lexsort((rows, order.value(rows), order.tier(rows), group))
        best[some] = rows[by_order[starts[:-1]]]
    return best, order.tier(best), order.value(best)


def _linked(found: Search, order: I64, fixed: NDArray[np.bool_]) -> Links:
    """Stars of representatives; crowds are completed until none keeps two that were not held against each other."""
    n = len(found.collection)
    links = link(found.pairs, order, n, found.space, rule="star", fixed=fixed)
    leads = found.leads
    if not leads.size:
        return links
    rank = np.full(n, -1, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    tried = np.zeros(n, dtype=np.bool_)
    free = np.ones(n, dtype=np.bool_)
    free[order[fixed]] = False
    for _ in range(ROUNDS):
        kept = links.rows[(links.keeper == links.rows) | ~free[links.rows]]
        kept = kept[found.crowd[kept] >= 0]
        kept = kept[np.lexsort((rank[kept], found.crowd[kept]))]
        hub, other = _hubs(kept, found.crowd[kept], tried, free)
        tried[np.unique(hub)] = True
        if not hub.size:
            return links
        similarity = found.check(np.minimum(hub, other), np.maximum(hub, other), found.collection.spec.threshold)
        near = similarity >= 0
        if near.any():
            found.pairs.add(hub[near], other[near], similarity[near])
            links = link(found.pairs, order, n, found.space, rule="star", fixed=fixed)
    return links


def _hubs(kept: I64, crowd: NDArray[np.int32], tried: NDArray[np.bool_], free: NDArray[np.bool_]) -> tuple[I64, I64]:
    """For each crowd of two kept and more, its first that was not tried yet, with each of the others that may go.

    ``kept`` is ordered by crowd, then by rank.
    """
    edges = np.concatenate(([0], np.flatnonzero(np.diff(crowd)) + 1, [kept.size]))
    hubs: list[I64] = [np.empty(0, dtype=np.int64)]
    others: list[I64] = [np.empty(0, dtype=np.int64)]
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        members = kept[begin:end]
        fresh = np.flatnonzero(~tried[members])
        if members.size < 2 or not fresh.size:
            continue
        hub = members[fresh[0]]
        rest = members[(members != hub) & free[members] & ~tried[members]]
        if rest.size:
            hubs.append(np.full(rest.size, hub))
            others.append(rest)
    return np.concatenate(hubs), np.concatenate(others)


def _chosen(found: Search, order: Order, links: Links, reps: I64, best: I64) -> Chosen:
    """From kept representatives to the rows that go."""
    keeper = reps.copy()
    similarity = np.ones(reps.size)
    at = np.searchsorted(reps, links.rows)
    keeper[at] = links.keeper
    similarity[at] = links.similarity
    keeper = best[np.searchsorted(reps, keeper)]
    starts, rows = found.copies.spread(reps)
    back = np.repeat(np.arange(reps.size), np.diff(starts))
    tier = order.tier(rows)
    goes = (rows != keeper[back]) & (tier > 0)  # a protected row never goes, whoever would keep it
    protected = int(np.count_nonzero(tier == 0))
    rows, back, tier = rows[goes], back[goes], tier[goes]
    by_row = np.argsort(rows)
    rows, back, tier = rows[by_row], back[by_row], tier[by_row]
    keeper, similarity = keeper[back], similarity[back]
    keeper_tier = order.tier(keeper)
    rule = np.full(rows.size, RULES.index("first"), dtype=np.int8)
    rule[order.value(keeper) != order.value(rows)] = RULES.index("keep")
    rule[keeper_tier != tier] = RULES.index("prefer")
    rule[keeper_tier == 0] = RULES.index("protect")
    return Chosen(rows, keeper, similarity, _numbered(rows, keeper), rule, protected)


def _numbered(rows: I64, keeper: I64) -> I64:
    """Clusters numbered by their smallest row, the kept one included."""
    kept, cluster = np.unique(keeper, return_inverse=True)
    smallest = kept.copy()
    np.minimum.at(smallest, cluster, rows)
    number = np.empty(kept.size, dtype=np.int64)
    number[np.argsort(smallest)] = np.arange(kept.size)
    return number[cluster]
