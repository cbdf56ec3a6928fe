"""From representatives back to all rows: pairs and clusters with the exact copies in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import cut
from neardup.engine.reading.copies import Copies
from neardup.engine.results.pairs import Links, PairStore
from neardup.engine.space import Space
from neardup.kernels import copies as copy_kernels
from neardup.params import Spec
from neardup.types import F64, I32, I64, Pairs

PAIRS_AT_A_TIME = 1 << 18
"""Pairs written out at a time, about."""


class ListedLeaders:
    """The row by which the leader of a crowd is listed: one of its copies, chosen by name and not by place."""

    def __init__(self, leads: I64, copies: Copies, first_of: Callable[[I64], int]) -> None:
        """Choose them for the leaders of crowds; ``first_of`` chooses one of some rows."""
        several = leads[copies.weight[leads] > 1]
        self._rows = np.sort(several)
        self._listed = np.array([first_of(copies.of(row)) for row in self._rows.tolist()], dtype=np.int64)

    def of(self, rows: I64) -> I64:
        """The rows by which representatives are listed; one that leads no crowd, or has no copies, by itself."""
        if not self._rows.size:
            return rows
        at = np.minimum(np.searchsorted(self._rows, rows), self._rows.size - 1)
        return np.where(self._rows[at] == rows, self._listed[at], rows)


@dataclass(frozen=True, slots=True)
class Members:
    """Clusters of two rows and more, by row."""

    rows: I32
    label: I32
    """Smallest row of the cluster."""
    keeper: I32
    similarity: F64
    """Exact similarity to the keeper."""

    @classmethod
    def none(cls) -> Members:
        """No clusters."""
        rows = np.empty(0, dtype=np.int32)
        return cls(rows, rows, rows, np.empty(0))


def expand_clusters(links: Links, copies: Copies, listed: ListedLeaders) -> Members:
    """Clusters of all rows, from those of representatives and from copies. O(rows).

    Memory: 8 bytes a row of the run, and 40 for each that is in a cluster.
    """
    more = copies.several[~np.isin(copies.several, links.rows, assume_unique=True)]
    reps = np.concatenate((links.rows, more))
    keeper = np.concatenate((links.keeper, more))
    load = np.zeros(copies.weight.size, dtype=np.int32)
    np.add.at(load, keeper, copies.weight[reps])
    label = np.full(copies.weight.size, np.iinfo(np.int32).max, dtype=np.int32)
    np.minimum.at(label, keeper, reps.astype(np.int32))
    inside = np.flatnonzero(load[keeper] > 1)
    del load
    size = np.cumsum(copies.weight[reps[inside]], dtype=np.int64)
    total = int(size[-1]) if size.size else 0
    rows_, label_, keeper_ = (np.empty(total, dtype=np.int32) for _ in range(3))
    found = Members(rows_, label_, keeper_, np.empty(total))
    similarity = np.concatenate((links.similarity, np.ones(more.size)))
    filled = 0
    for part in cut(copies.weight[reps[inside]], PAIRS_AT_A_TIME):
        some = inside[part]
        starts, rows = copies.spread(reps[some])
        back = np.repeat(some, np.diff(starts))
        out = slice(filled, filled + rows.size)
        found.rows[out] = rows
        found.label[out] = label[keeper[back]]
        found.keeper[out] = listed.of(keeper[back])
        found.similarity[out] = similarity[back]
        filled += rows.size
    order = np.argsort(found.rows, kind="stable")
    return Members(found.rows[order], found.label[order], found.keeper[order], found.similarity[order])


def expand_pairs(
    pairs: PairStore, copies: Copies, crowd: I32, leads: I64, listed: ListedLeaders, spec: Spec, space: Space
) -> PairStore:
    """Pairs of all rows. O(pairs written).

    Outside crowds a pair of representatives stands for all pairs of their copies, and copies are pairs among
    themselves. In a crowd each row is listed with its leader's row only. With ``collapse_exact`` only representatives
    are listed.
    """
    if spec.collapse_exact or not copies.several.size:
        return pairs
    expanded = PairStore("expanded", copies.weight.size, space, part=0.15)
    for piece in pairs.pieces():
        _expand(piece, expanded, copies, crowd, listed, spec)
    plain = copies.several[crowd[copies.several] < 0]
    sizes = copies.weight[plain].astype(np.int64)
    cost = sizes * (sizes - 1) // 2
    is_few = cost <= PAIRS_AT_A_TIME
    few = plain[is_few]
    for part in cut(cost[is_few], PAIRS_AT_A_TIME):
        some = few[part]
        starts, members = copies.spread(some)
        left, right = copy_kernels.pair_copies(np.arange(some.size), starts, members)
        expanded.add(left, right, np.ones(left.size))
    for row in plain[~is_few].tolist():
        for left, right in _paired(copies.of(row)):
            expanded.add(left, right, np.ones(left.size))
    for row in leads[copies.weight[leads] > 1].tolist():
        group = copies.of(row)
        named = int(listed.of(np.array([row]))[0])
        _list_star(expanded, named, group[group != named], 1.0)
    return expanded


def expand_across(pairs: PairStore, copies: Copies, split_row: int, spec: Spec, space: Space) -> PairStore:
    """Pairs of rows before ``split_row`` with rows behind it. O(pairs written).

    Groups of copies that would make more than the square of the crowd limit are listed as two stars: the first row of
    each side with all of the other.
    """
    if not copies.several.size:
        return pairs
    expanded = PairStore("expanded", copies.weight.size, space, part=0.15)
    for piece in pairs.pieces():
        single = (copies.weight[piece.left] == 1) & (copies.weight[piece.right] == 1)
        expanded.add(piece.left[single], piece.right[single], piece.similarity[single])
        for p in np.flatnonzero(~single).tolist():
            one, other = copies.of(int(piece.left[p])), copies.of(int(piece.right[p]))
            similarity = float(piece.similarity[p])
            _list_across(expanded, one[one < split_row], other[other >= split_row], similarity, spec)
            _list_across(expanded, other[other < split_row], one[one >= split_row], similarity, spec)
    for row in copies.several.tolist():
        group = copies.of(row)
        _list_across(expanded, group[group < split_row], group[group >= split_row], 1.0, spec)
    return expanded


def _list_across(expanded: PairStore, before: I64, behind: I64, similarity: float, spec: Spec) -> None:
    if before.size * behind.size > spec.crowd**2:
        _list_star(expanded, int(before[0]), behind, similarity)
        _list_star(expanded, int(behind[0]), before, similarity)
    elif before.size and behind.size:
        _list_crossed(expanded, before, behind, similarity)


def _list_crossed(expanded: PairStore, ours: I64, theirs: I64, similarity: float) -> None:
    for left, right in _crossed(ours, theirs):
        expanded.add(left, right, np.full(left.size, similarity))


def _crossed(ours: I64, theirs: I64) -> Iterator[tuple[I64, I64]]:
    """Every row of one group with every row of another, about PAIRS_AT_A_TIME together."""
    step = max(1, PAIRS_AT_A_TIME // theirs.size)
    for i in range(0, ours.size, step):
        some = ours[i : i + step]
        yield np.repeat(some, theirs.size), np.tile(theirs, some.size)


def _paired(group: I64) -> Iterator[tuple[I64, I64]]:
    """Every pair of a group of rising rows, about PAIRS_AT_A_TIME together."""
    step = max(1, PAIRS_AT_A_TIME // group.size)
    for i in range(0, group.size, step):
        for left, right in _crossed(group[i : i + step], group[i:]):
            rising = left < right
            yield left[rising], right[rising]


def _expand(pairs: Pairs, expanded: PairStore, copies: Copies, crowd: I32, listed: ListedLeaders, spec: Spec) -> None:
    weight = copies.weight
    products = weight[pairs.left].astype(np.int64) * weight[pairs.right]
    inside = (crowd[pairs.left] >= 0) & (crowd[pairs.left] == crowd[pairs.right])
    starred = inside | (products > spec.crowd**2)
    # a star of two rows that have no copies is a plain pair
    plain = np.flatnonzero(~starred | (products == 1))
    is_few = products[plain] <= PAIRS_AT_A_TIME
    few = plain[is_few]
    for part in cut(products[few], PAIRS_AT_A_TIME):
        some = few[part]
        left, right = pairs.left[some], pairs.right[some]
        docs, place = np.unique(np.concatenate((left, right)), return_inverse=True)
        starts, members = copies.spread(docs)
        a, b, similarity = copy_kernels.cross_copies(
            place[: some.size], place[some.size :], pairs.similarity[some], starts, members
        )
        expanded.add(a, b, similarity)
    for p in plain[~is_few].tolist():
        both = copies.of(int(pairs.left[p])), copies.of(int(pairs.right[p]))
        _list_crossed(expanded, *both, float(pairs.similarity[p]))
    for p in np.flatnonzero(starred & (products > 1)).tolist():
        one, other = int(pairs.left[p]), int(pairs.right[p])
        ours, theirs = copies.of(one), copies.of(other)
        # of one side a single row is listed, with all copies of the other: of the leader's side, else of the larger
        is_ours = crowd[one] == one if inside[p] else ours.size >= theirs.size
        named = int(listed.of(np.array([one if is_ours else other]))[0])
        _list_star(expanded, named, theirs if is_ours else ours, float(pairs.similarity[p]))


def _list_star(expanded: PairStore, named: int, others: I64, similarity: float) -> None:
    expanded.add(np.full(others.size, named), others, np.full(others.size, similarity))
