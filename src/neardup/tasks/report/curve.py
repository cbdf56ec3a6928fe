"""What every threshold from that of the search upward gives, and pairs in bins of similarity.

The pairs at a higher threshold are those of the search that reach it, so nothing is searched again: clusters are made
anew of fewer pairs, in the same order of keeping.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from neardup.engine.results.pairs import PairStore
from neardup.engine.run import keeping_order
from neardup.stages.cluster import Components, Stars
from neardup.stages.similarities import fold
from neardup.tasks.report.clusters import Groups
from neardup.tasks.report.origins import Origins
from neardup.tasks.report.report_input import ReportInput
from neardup.types import F64, I32, I64, Pairs

STEPS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
LEAST_STEPS = 50
"""Thresholds that are looked at, at least, unless the pairs are too many."""
FEWEST_STEPS = 10
LINKED = 400_000_000
"""Pairs that are linked for all thresholds together, about: some seconds."""
ROW_BYTES = 13
"""Memory of a row while the pairs of one threshold are linked."""


def steps(threshold: float, pairs: int) -> F64:
    """Thresholds from ``threshold`` to 1, both among them, those between round numbers; 50 to 126 of them.

    Fewer where ``pairs`` times their number would be too many.
    """
    most = max(FEWEST_STEPS, LINKED // max(pairs, 1))
    sizes = [width for width in STEPS if (1.0 - threshold) / width <= most] or [STEPS[0]]
    width = next((width for width in sizes if (1.0 - threshold) / width >= LEAST_STEPS), sizes[-1])
    parts = round(1.0 / width)
    between = np.arange(1, parts) / parts
    return np.unique(np.concatenate(([threshold], between[between > threshold], [1.0])))


@dataclass(frozen=True, slots=True)
class Count:
    """Pairs of documents counted."""

    thresholds: F64
    pairs: I64
    """int64[thresholds]: pairs that reach each."""
    edges: F64
    bins: I64
    """int64[edges - 1]: pairs below 1."""
    apart: int
    """Pairs of documents that are not in one cluster, which no page shows."""
    highest: F64
    """float64[clusters]: similarity of the most similar pair of each, in the order of the report."""
    between: I64 | None = None
    """int64[sources, sources], symmetric: pairs of documents of two sources; on the diagonal of one."""
    sharing: I64 | None = None
    """int64[sources, sources]: documents of one source (row) that form a pair with one of the other (column)."""

    @property
    def total(self) -> int:
        return int(self.pairs[0])

    @property
    def identical(self) -> int:
        return int(self.pairs[-1])


def count_pairs(basis: ReportInput, groups: Groups, origins: Origins | None, thresholds: F64, edges: F64) -> Count:
    """Count the pairs of all documents by similarity, by cluster and by source.

    One pass; memory: 4 bytes a document, and 8 where there are sources.
    """
    reached = np.zeros(thresholds.size, dtype=np.int64)
    bins = np.zeros(edges.size - 1)
    sources = _BetweenSources(origins) if origins is not None else None
    cluster = np.full(len(basis.search.collection), -1, dtype=np.int32)
    cluster[groups.rows] = np.repeat(np.arange(len(groups), dtype=np.int32), groups.size)
    highest = groups.highest()
    apart = 0
    for piece in basis.found.pairs.pieces():
        own = cluster[piece.left]
        together = own == cluster[piece.right]
        apart += int(np.count_nonzero(~together))
        np.maximum.at(highest, own[together], piece.similarity[together])
        place = np.searchsorted(thresholds, piece.similarity, side="right") - 1
        reached += np.bincount(place, minlength=thresholds.size)
        bins += fold(piece.similarity, edges)
        if sources is not None:
            sources.add(piece)
    pairs = np.cumsum(reached[::-1])[::-1]
    matrices = sources.matrices() if sources is not None else (None, None)
    return Count(thresholds, pairs, edges, bins.astype(np.int64), apart, highest, *matrices)


class _BetweenSources:
    """Pairs and documents counted by the sources of both ends; there are at most 64 sources."""

    def __init__(self, origins: Origins) -> None:
        self._of = origins.of
        self._m = len(origins.names)
        self._pairs = np.zeros(self._m * self._m, dtype=np.int64)
        self._met = np.zeros(origins.of.size, dtype=np.uint64)
        """A bit for each source that a document forms a pair with."""

    def add(self, piece: Pairs) -> None:
        a, b = self._of[piece.left].astype(np.int64), self._of[piece.right].astype(np.int64)
        self._pairs += np.bincount(a * self._m + b, minlength=self._pairs.size)
        np.bitwise_or.at(self._met, piece.left, np.uint64(1) << b.astype(np.uint64))
        np.bitwise_or.at(self._met, piece.right, np.uint64(1) << a.astype(np.uint64))

    def matrices(self) -> tuple[I64, I64]:
        """``between`` and ``sharing`` of a Count."""
        m = self._m
        matrix = self._pairs.reshape(m, m)
        met = [(self._met >> np.uint64(j)) & np.uint64(1) for j in range(m)]
        sharing = [np.bincount(self._of, weights=each, minlength=m) for each in met]
        return matrix + matrix.T - np.diag(np.diag(matrix)), np.stack(sharing, axis=1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Linked:
    """Clusters at each threshold."""

    clusters: I64
    """int64[thresholds]: clusters of two documents and more."""
    removed: I64
    """int64[thresholds]: documents in them beyond one each."""


def link_at(basis: ReportInput, thresholds: F64) -> Linked:
    """Clusters that the pairs of each threshold make, by the rule of the run.

    O(pairs) for each threshold. Memory: 13 bytes for each document with pairs and threshold, in as many passes over the
    pairs as the budget asks for.
    """
    search = basis.search
    order = keeping_order(search)
    weight = search.copies.weight[order]
    alone = np.setdiff1d(search.copies.several, order, assume_unique=True)
    copied = search.copies.weight[alone].astype(np.int64)
    rank = np.full(len(search.collection), -1, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    edges = PairStore("curve-edges", order.size, search.space, part=0.15)
    for piece in search.pairs.pieces():
        edges.add(rank[piece.left].astype(np.int64), rank[piece.right].astype(np.int64), piece.similarity)
    together = max(1, search.space.budget.share(0.2) // max(1, ROW_BYTES * order.size))
    bounds = [*range(0, thresholds.size, together), thresholds.size]
    sizes: list[tuple[int, int]] = []
    for first, last in pairwise(bounds):
        sizes += _linked(edges, weight, thresholds[first:last], basis.rule)
    edges.drop()
    found = np.array(sizes, dtype=np.int64)
    return Linked(found[:, 0] + alone.size, found[:, 1] + int((copied - 1).sum()))


def _linked(edges: PairStore, weight: I32, thresholds: F64, rule: str) -> list[tuple[int, int]]:
    """Clusters, and documents beyond one each, at each of some thresholds. One pass over the pairs."""
    linkers = [Stars(weight.size) if rule == "star" else Components(weight.size) for _ in thresholds]
    for piece in edges.pieces():
        left, right, similarity = piece.left, piece.right, piece.similarity
        for threshold, linker in zip(thresholds.tolist(), linkers, strict=True):
            # rising: what falls out now is in none that follow
            reach = similarity >= threshold
            if not reach.all():
                left, right, similarity = left[reach], right[reach], similarity[reach]
            if isinstance(linker, Stars):
                linker.add(left, right, similarity)
            else:
                linker.join(left, right)
    found = []
    for linker in linkers:
        keeper = linker.keepers()[0] if isinstance(linker, Stars) else linker.labels()
        load = np.bincount(keeper, weights=weight, minlength=1).astype(np.int64)
        several = load[load > 1]
        found.append((several.size, int(several.sum()) - several.size))
    return found
