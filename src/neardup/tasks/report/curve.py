"""What every threshold from that of the search upward gives, and pairs in bins of similarity, for figures too.

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
from neardup.tasks.report.origins import Origins
from neardup.tasks.report.report_input import ReportInput
from neardup.types import F64, I32, I64

STEPS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
LEAST_STEPS = 50
"""Thresholds that are looked at, at least, unless the pairs are too many."""
FEWEST_STEPS = 10
LINKED = 400_000_000
"""Pairs that are linked for all thresholds together, about: some seconds."""
ROW_BYTES = 13
"""Memory of a row while the pairs of one threshold are linked."""
WIDTHS = (0.01, 0.005, 0.002, 0.001)
"""Widths that the bins of similarity may have: round numbers."""
LEAST_BINS = 16


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


def similarity_edges(threshold: float, least: float | None = None) -> F64:
    """Edges of bins up to 1. The threshold is one of them, so that no bin mixes pairs below it with pairs above.

    The lowest bin may begin at ``least``; it begins at the threshold when None.
    """
    width = next((width for width in WIDTHS if (1.0 - threshold) / width >= LEAST_BINS), WIDTHS[-1])
    above = max(1, round((1.0 - threshold) / width))
    edges = np.linspace(threshold, 1.0, above + 1) if threshold < 1.0 else np.array([1.0 - width, 1.0])
    if least is None or least >= edges[0]:
        return edges
    step = edges[1] - edges[0]
    below = np.arange(1, round((edges[0] - least) / step) + 1)
    return np.concatenate((np.maximum(edges[0] - step * below[::-1], 0.0), edges))


def fold(similarity: F64, edges: F64, counts: F64 | None = None) -> F64:
    """float64[bins]: pairs (or their counts) from each edge up to the next; similarities of 1 are in no bin.

    np.histogram would put what lies on an edge of rounded numbers to either side; here an edge is compared as it is.
    """
    below = similarity < 1.0
    place = np.searchsorted(edges, similarity[below], side="right") - 1
    weights = np.ones(place.size) if counts is None else counts[below]
    inside = place >= 0
    return np.bincount(place[inside], weights=weights[inside], minlength=edges.size - 1).astype(np.float64)


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
    between: I64 | None = None
    """int64[sources, sources], symmetric: pairs of documents of two sources; on the diagonal of one."""

    @property
    def total(self) -> int:
        return int(self.pairs[0])

    @property
    def identical(self) -> int:
        return int(self.pairs[-1])


def count_pairs(basis: ReportInput, origins: Origins | None, thresholds: F64) -> Count:
    """Count the pairs of all documents by similarity and by source. One pass; memory: 4 bytes a document."""
    edges = similarity_edges(float(thresholds[0]))
    reached = np.zeros(thresholds.size, dtype=np.int64)
    bins = np.zeros(edges.size - 1)
    m = len(origins.names) if origins is not None else 0
    between = np.zeros(m * m, dtype=np.int64)
    cluster = np.full(len(basis.search.collection), -1, dtype=np.int32)
    cluster[basis.found.members.rows] = basis.found.members.label
    apart = 0
    for piece in basis.found.pairs.pieces():
        apart += int(np.count_nonzero(cluster[piece.left] != cluster[piece.right]))
        place = np.searchsorted(thresholds, piece.similarity, side="right") - 1
        reached += np.bincount(place, minlength=thresholds.size)
        bins += fold(piece.similarity, edges)
        if origins is not None:
            a, b = origins.of[piece.left].astype(np.int64), origins.of[piece.right]
            between += np.bincount(a * m + b, minlength=m * m)
    matrix = None
    if origins is not None:
        matrix = between.reshape(m, m)
        matrix = matrix + matrix.T - np.diag(np.diag(matrix))
    return Count(thresholds, np.cumsum(reached[::-1])[::-1], edges, bins.astype(np.int64), apart, matrix)


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
