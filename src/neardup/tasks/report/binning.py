"""Similarities in bins: where the edges lie, and which bin a pair belongs to. For figures and for the report."""

from __future__ import annotations

import numpy as np

from neardup.types import F64

__all__ = ["fold", "similarity_edges"]

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
