"""All pairs of sets at least t, none missed: naively, and by counting in an inverted index."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence, Set

from tests.oracles.jaccard import jaccard, reaches

PairMap = dict[tuple[int, int], float]
"""(i, j) with i < j -> similarity as a float64."""


def naive_pairs(sets: Sequence[Set[Hashable]], threshold: float) -> PairMap:
    """Compare every two sets."""
    found: PairMap = {}
    for j, b in enumerate(sets):
        for i in range(j):
            shared, union = len(sets[i] & b), len(sets[i] | b)
            if reaches(shared, union, threshold):
                found[i, j] = float(jaccard(sets[i], b))
    return found


def counted_pairs(sets: Sequence[Set[Hashable]], threshold: float) -> PairMap:
    """The same, counting for each set how often every earlier set shares one of its shingles."""
    postings: defaultdict[Hashable, list[int]] = defaultdict(list)
    found: PairMap = {}
    for j, row in enumerate(sets):
        shared: Counter[int] = Counter()
        for shingle in row:
            shared.update(postings[shingle])
        for i, count in shared.items():
            union = len(sets[i]) + len(row) - count
            if reaches(count, union, threshold):
                found[i, j] = count / union
        for shingle in row:
            postings[shingle].append(j)
    return found
