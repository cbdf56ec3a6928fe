"""What a search found, as arrays to draw: its pairs by similarity, its clusters by size, its crowds in words.

From the streams of a ``Finding``, so that the pairs need not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.reports.histograms import ClusterSizes, SimilarityBins
from neardup.reports.style import counted
from neardup.types import F64, I64

if TYPE_CHECKING:
    from neardup.runs import Finding

__all__ = ["cluster_sizes", "crowd_note", "fold", "similarity_bins", "similarity_edges"]

WIDTHS = (0.01, 0.005, 0.002, 0.001)
"""Widths that the bins of similarity may have: round numbers."""
LEAST_BINS = 16


def similarity_edges(threshold: float, least: float | None = None) -> F64:
    """Edges of bins up to 1, the threshold one of them, so that no bin has pairs of both of its sides.

    Args:
        threshold: of the search.
        least: where the lowest bin may begin; at the threshold when None.
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
    weights = None if counts is None else counts[below]
    inside = place >= 0
    folded = np.bincount(place[inside], weights=None if weights is None else weights[inside], minlength=edges.size - 1)
    return folded.astype(np.float64)


def similarity_bins(batches: Iterable[Any], edges: F64, dropped: F64 | None = None) -> SimilarityBins:
    """Pairs of documents in bins, from Arrow batches with a column ``similarity``."""
    found = np.zeros(edges.size - 1)
    identical = 0
    for batch in batches:
        similarity = batch.column("similarity").to_numpy(zero_copy_only=False)
        found += fold(similarity, edges)
        identical += int(np.count_nonzero(similarity == 1.0))
    return SimilarityBins(edges, found.astype(np.int64), identical, dropped)


def cluster_sizes(batches: Iterable[Any]) -> ClusterSizes:
    """Clusters by size, from Arrow batches with a column ``cluster`` (0, 1, …). Memory: 8 bytes a cluster."""
    members: I64 = np.zeros(0, dtype=np.int64)
    for batch in batches:
        more = np.bincount(batch.column("cluster").to_numpy(zero_copy_only=False), minlength=members.size)
        more[: members.size] += members
        members = more
    sizes, clusters = np.unique(members, return_counts=True)
    return ClusterSizes(sizes, clusters)


def crowd_note(finding: Finding) -> str:
    """A line for the foot where crowds make the histogram lower than it would be; empty without crowds."""
    crowds = finding.crowds()
    if crowds.num_rows == 0:
        return ""
    documents = sum(crowds.column("documents").to_pylist())
    return (
        f"{counted(crowds.num_rows, 'crowd')} of {counted(documents, 'document')} in all: of these only the pairs with "
        "the leader of the crowd are listed and drawn."
    )
