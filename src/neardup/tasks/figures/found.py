"""What a search found, as arrays to draw: its pairs by similarity, its clusters by size, its crowds in words.

From the streams of a ``Finding``, so that the pairs need not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.tasks.figures.histograms import ClusterSizes, SimilarityBins
from neardup.tasks.figures.style import counted
from neardup.tasks.report.binning import fold, similarity_edges
from neardup.types import F64, I64

if TYPE_CHECKING:
    from neardup.session import Finding

__all__ = ["cluster_sizes", "crowd_note", "fold", "similarity_bins", "similarity_edges"]


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
