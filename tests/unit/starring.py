"""Greedy stars of a small graph in any order of keeping, as the pipeline makes them: by rank, edges sorted."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from neardup.stages.cluster import Stars


def starred(
    left: np.ndarray,
    right: np.ndarray,
    order: np.ndarray,
    *,
    fixed: Collection[int] = (),
    similarity: Sequence[float] | None = None,
    pieces: int = 1,
) -> tuple[list[int], list[float]]:
    """Who keeps each row, and the similarity to it; edges are handed over in so many pieces."""
    n = order.size
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    first, second = np.minimum(rank[left], rank[right]), np.maximum(rank[left], rank[right])
    by_rank = np.lexsort((second, first))
    near = np.ones(left.size) if similarity is None else np.array(similarity)
    stars = Stars(n, np.array([row in fixed for row in order.tolist()], dtype=np.bool_))
    for part in np.array_split(by_rank, pieces):
        stars.add(first[part], second[part], near[part])
    keeper, to_keeper = stars.keepers()
    return order[keeper[rank]].tolist(), to_keeper[rank].tolist()
