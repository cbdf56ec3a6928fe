"""Pairs in bins of similarity: the edges of the bins, and what lies in each."""

from __future__ import annotations

import math

import numpy as np

from neardup.types import F64

WIDTHS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""Widths that the bins of similarity may have: round numbers."""
LEAST_BINS, MOST_BINS = 16, 100


def similarity_edges(threshold: float, least: float | None = None, *, pairs: int | None = None) -> F64:
    """Edges of bins up to 1. The threshold is one of them, so that no bin mixes pairs below it with pairs above.

    The lowest bin may begin at ``least``; it begins at the threshold when None. There are about twice the cube root of
    ``pairs`` bins, from 5 to 100 (the rule of Rice: D. Lane, "Online Statistics Education", histograms), for a bar of
    one pair or two tells nothing; 16 and more when None.
    """
    wanted = LEAST_BINS if pairs is None else min(MOST_BINS, max(5, math.ceil(2.0 * pairs ** (1.0 / 3.0))))
    width = next((width for width in WIDTHS if (1.0 - threshold) / width >= wanted - 0.5), WIDTHS[-1])
    above = max(1, round((1.0 - threshold) / width))
    edges = np.linspace(threshold, 1.0, above + 1) if threshold < 1.0 else np.array([1.0 - width, 1.0])
    if pairs is not None:
        edges[1:-1] = np.round(edges[1:-1], 10)  # they stand in addresses and fields, where 0.3 reads better
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
