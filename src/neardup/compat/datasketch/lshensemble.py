"""``MinHashLSHEnsemble``: keys of sets in which much of a query is contained."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from neardup.compat.datasketch._bands import best_containment_bands, check_search
from neardup.compat.datasketch.lsh import MinHashLSH
from neardup.errors import InputError
from neardup.types import F64

RATIOS = np.exp(np.linspace(-5, 5, 10))
"""Sizes of indexed sets by that of a query for which bands are chosen."""


class MinHashLSHEnsemble:
    """An index of keys by the containment of a query in their sets, in partitions of sets of like sizes.

    Source: E. Zhu, F. Nargesian, K. Q. Pu, R. J. Miller, "LSH Ensemble: Internet-Scale Domain Search", VLDB 2016.
    Keys come from the partitions of small sets first, in each as in ``MinHashLSH``.

    Args:
        threshold: containment at which bands centre the curve.
        num_perm: permutations of the MinHashes.
        num_part: partitions, at most.
        m: largest number of rows of a band; memory grows with it.
        weights: of false positives and false negatives, for the choice of bands.
        storage_config: None or ``{"type": "dict"}``; an ensemble is kept by pickling it.
        prepickle: keep keys as their pickles.

    >>> from neardup.compat.datasketch import MinHash
    >>> ensemble = MinHashLSHEnsemble(threshold=0.8, num_perm=64)
    >>> words = [str(i).encode() for i in range(50)]
    >>> ensemble.index([("all", MinHash.bulk([words], num_perm=64)[0], 50)])
    >>> list(ensemble.query(MinHash.bulk([words[:45]], num_perm=64)[0], 45))
    ['all']
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        num_part: int = 16,
        m: int = 8,
        weights: tuple[float, float] = (0.5, 0.5),
        storage_config: Mapping[str, Any] | None = None,
        prepickle: bool | None = None,
    ) -> None:
        check_search(threshold, num_perm, weights)
        if num_part < 1:
            raise InputError(f"num_part is {num_part}. Give at least 1.")
        if not 2 <= m <= num_perm:
            raise InputError(f"m is {m}. Give a number from 2 to num_perm, which is {num_perm}.")
        if storage_config is not None and storage_config.get("type") != "dict":
            raise InputError(
                f"storage_config asks for the type {storage_config.get('type')!r}. An ensemble is in memory only; "
                "pickle it to keep it."
            )
        self.threshold, self.h, self.m = threshold, num_perm, m
        self.xqs = RATIOS
        self.params = [best_containment_bands(threshold, num_perm, m, ratio, weights) for ratio in RATIOS.tolist()]
        self.indexes = [
            {
                rows: MinHashLSH(num_perm=num_perm, params=(num_perm // rows, rows), prepickle=prepickle)
                for rows in sorted({rows for _, rows in self.params})
            }
            for _ in range(num_part)
        ]
        self.lowers: list[int | None] = [None] * num_part
        self.uppers: list[int | None] = [None] * num_part

    def index(self, entries: Iterable[tuple[Hashable, Any, int]]) -> None:
        """Add all keys at once, each with its MinHash and the size of its set.

        Raises:
            InputError: there are keys already, or none are given; a size is below 1; a key comes twice.
        """
        if not self.is_empty():
            raise InputError("the ensemble has keys already. Make a new one for all keys.")
        entries = sorted(entries, key=lambda entry: entry[2])
        if not entries:
            raise InputError("there are no entries. Give at least one key, MinHash and size.")
        if entries[0][2] < 1:
            raise InputError(f"the set of key {entries[0][0]!r} has the size {entries[0][2]}. Give at least 1.")
        sizes, counts = np.unique([size for _, _, size in entries], return_counts=True)
        bounds = partitions(sizes.tolist(), counts.tolist(), len(self.indexes))
        for i, (lower, upper) in enumerate(bounds):
            self.lowers[i], self.uppers[i] = lower, upper
        at = 0
        for key, minhash, size in entries:
            at += size > bounds[at][1]
            for index in self.indexes[at].values():
                index.insert(key, minhash)

    def query(self, minhash: Any, size: int) -> Iterator[Any]:
        """The keys of sets that are likely to contain ``threshold`` of a set of this MinHash and size.

        Raises:
            InputError: the size is below 1, or the MinHash has another num_perm.
            SpecMismatch: it is of another scheme than the keys.
        """
        if size < 1:
            raise InputError(f"size is {size}. Give at least 1.")
        for indexes, upper in zip(self.indexes, self.uppers, strict=True):
            if upper is not None:
                at = min(int(np.searchsorted(self.xqs, upper / size)), len(self.params) - 1)
                bands, rows = self.params[at]
                yield from indexes[rows]._query_b(minhash, bands)

    def __contains__(self, key: Hashable) -> bool:
        return any(key in next(iter(indexes.values())) for indexes in self.indexes)

    def is_empty(self) -> bool:
        """Whether there is no key."""
        return all(upper is None for upper in self.uppers)


def partitions(sizes: list[int], counts: list[int], most: int) -> list[tuple[int, int]]:
    """The intervals of sizes, both ends inclusive, for which false positives are fewest; at most so many.

    Taking the largest size u of an interval for a set of size x makes (u - x) / u false positives. Dynamic programming
    over the last interval, O(most x sizes**2) and 8 bytes x sizes**2. Source: as the class, section 5.4.
    """
    if most >= len(sizes):
        return [(size, size) for size in sizes]
    cost = _costs(np.array(sizes, dtype=np.float64), np.array(counts, dtype=np.float64))
    best = cost[0]
    firsts = []  # of the last interval, for each number of intervals and each last size
    for _ in range(1, most):
        # Column u: the best that ends before size f, and one interval from f to u
        total = np.vstack([np.full(len(sizes), np.inf), best[:-1, None] + cost[1:]])
        first = np.argmin(total, axis=0)
        firsts.append(first)
        best = total[first, np.arange(len(sizes))]
    found = []
    last = len(sizes) - 1
    for first in reversed(firsts):
        found.append((sizes[first[last]], sizes[last]))
        last = int(first[last]) - 1
    return [(sizes[0], sizes[last]), *reversed(found)]


def _costs(sizes: F64, counts: F64) -> F64:
    """[n, n]: false positives of the interval from one size to another; infinite where it would end before it."""
    sets, members = (np.concatenate(([0.0], np.cumsum(each))) for each in (counts, counts * sizes))
    inside = sets[1:] - sets[:-1, None]
    cost = inside - (members[1:] - members[:-1, None]) / sizes
    return np.where(np.tri(len(sizes), k=-1, dtype=np.bool_), np.inf, cost)
