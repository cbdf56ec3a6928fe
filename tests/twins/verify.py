"""Sets by ``set``, overlap by trying every number, similarity by intersection and union."""

from __future__ import annotations

import numpy as np
from tests.twins.hashing import ALL, Params, shingle_hashes

from neardup.types import PaddedSets


def build_sets(
    params: Params,
    data: np.ndarray,
    offsets: np.ndarray,
    docs: np.ndarray,
    starts: np.ndarray,
    sizes: np.ndarray,
    out: np.ndarray,
) -> None:
    """Sorted unique shingle hashes of each of ``docs`` into its room; the largest hash is kept as the one below."""
    for i, doc in enumerate(docs.tolist()):
        blob = data[offsets[doc] : offsets[doc + 1]].tobytes()
        hashes = sorted({min(h, ALL - 1) for h in shingle_hashes(params, blob)})
        sizes[i] = len(hashes)
        out[starts[i] : starts[i] + len(hashes)] = hashes


def overlap_needed(size_a: int, size_b: int, threshold: float) -> int:
    """Smallest intersection whose share of the union, divided in float64, is at least ``threshold``."""
    total = size_a + size_b
    return next((c for c in range(total) if c / (total - c) >= threshold), total)


def _set(sets: PaddedSets, i: int) -> set[int]:
    return set(sets.hashes[sets.starts[i] : sets.starts[i] + sets.sizes[i]].tolist())


def check_pairs(
    left: np.ndarray,
    right: np.ndarray,
    first: PaddedSets,
    second: PaddedSets,
    threshold: float,
    similarity: np.ndarray,
) -> None:
    """|a & b| / |a | b| of each pair, or -1 below the threshold and for two empty sets."""
    for p, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        one, other = _set(first, a), _set(second, b)
        union = len(one | other)
        share = len(one & other) / union if union else -1.0
        similarity[p] = share if share >= threshold else -1.0
