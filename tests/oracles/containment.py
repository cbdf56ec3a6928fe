"""All pairs of which one set has at least t of the other: naively, and by counting in an inverted index."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence, Set

import numpy as np
from tests.oracles.jaccard import reaches
from tests.oracles.join import Found, Sets

Contained = dict[tuple[int, int], tuple[float, str]]
"""(i, j) with i < j -> containment as a float64, and which is part of the other: "a" (i), "b" (j) or "both"."""


def side(size: int, other: int) -> str:
    """Which of two sets of these sizes is the part."""
    return "both" if size == other else "a" if size < other else "b"


def naive_contained(sets: Sequence[Set[Hashable]], threshold: float) -> Contained:
    """Compare every two sets."""
    found: Contained = {}
    for j, b in enumerate(sets):
        for i, a in enumerate(sets[:j]):
            shared, smaller = len(a & b), min(len(a), len(b))
            if reaches(shared, smaller, threshold):
                found[i, j] = shared / smaller, side(len(a), len(b))
    return found


def counted_contained(sets: Sequence[Set[Hashable]], threshold: float) -> Contained:
    """The same, counting for each set how often every earlier set shares one of its shingles."""
    postings: defaultdict[Hashable, list[int]] = defaultdict(list)
    found: Contained = {}
    for j, row in enumerate(sets):
        counts: Counter[int] = Counter()
        for shingle in row:
            counts.update(postings[shingle])
        for i, shared in counts.items():
            smaller = min(len(sets[i]), len(row))
            if reaches(shared, smaller, threshold):
                found[i, j] = shared / smaller, side(len(sets[i]), len(row))
        for shingle in row:
            postings[shingle].append(j)
    return found


def all_contained(sets: Sets, threshold: float) -> Found:
    """The same for many large sets of integers, in numpy: of each set, how often each other one has its items."""
    sizes = sets.sizes
    by = np.argsort(sets.items, kind="stable")
    posted = np.repeat(np.arange(len(sets)), sizes)[by]
    starts = np.concatenate(([0], np.cumsum(np.bincount(sets.items, minlength=1))))
    parts, wholes, values = [], [], []
    for x, size in enumerate(sizes.tolist()):
        items = sets.items[sets.offsets[x] : sets.offsets[x + 1]]
        lengths = starts[items + 1] - starts[items]
        at = np.arange(lengths.sum()) + np.repeat(starts[items] - (np.cumsum(lengths) - lengths), lengths)
        shared = np.bincount(posted[at], minlength=len(sets))
        is_larger = (sizes > size) | ((sizes == size) & (np.arange(len(sets)) > x))
        whole = np.flatnonzero(is_larger & (shared > 0))
        value = shared[whole] / max(1, size)
        good = value >= threshold
        parts.append(np.full(int(good.sum()), x))
        wholes.append(whole[good])
        values.append(value[good])
    part, whole, value = np.concatenate(parts), np.concatenate(wholes), np.concatenate(values)
    low, high = np.minimum(part, whole), np.maximum(part, whole)
    order = np.lexsort((high, low))
    return Found(low[order], high[order], value[order])
