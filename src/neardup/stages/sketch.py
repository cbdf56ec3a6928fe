"""Sketching: MinHash signatures of documents, by the default sketch or a classical family.

The families of the literature work on shingle sets and are for learning and comparing: ``independent`` (k hash
functions), ``universal`` ((a x + b) mod p with p = 2**61 - 1), ``permutation`` (true random permutations of the
observed universe), ``one-permutation`` (one hash a shingle, a minimum in each slot, slots that stay empty).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from neardup.calls import hinted
from neardup.errors import InputError
from neardup.kernels import classical, hashing, sketching
from neardup.params import Bands
from neardup.stages.shingle import Hasher
from neardup.types import I64, U32, U64, Documents, ShingleSets, Signatures


def count_and_sketch(documents: Documents, hasher: Hasher, *, values: U32, counts: I64) -> None:
    """Default sketch of a normalised block into ``values[n, slots]`` and its shingle counts into ``counts[n]``.

    A count includes repeats and is -1 for a document of fewer than k tokens, whose text is its one shingle.
    One pass over the bytes; O(bytes + n * slots). The share of slots in which two signatures agree is an unbiased
    estimate of the Jaccard similarity, with variance at most J (1 - J) / slots.
    """
    rounds = rounds_of(values.shape[1])
    sketching.sketch_block(hasher.params, documents.data, documents.offsets, rounds, values, counts)


def rounds_of(slots: int) -> int:
    """Return the number of rounds of the default sketch, which is part of the format."""
    return 2 if slots <= 128 else 3


def fingerprints(documents: Documents) -> U64:
    """128-bit hash of each document's bytes, uint64[n, 2], to find exact copies."""
    out = np.empty((len(documents), 2), dtype=np.uint64)
    hashing.fingerprint(documents.data, documents.offsets, out)
    return out


def sketch_sets(sets: ShingleSets, *, family: str, slots: int, seed: int) -> Signatures:
    """Signatures of shingle sets by a classical family. O(total shingles x slots); O(total shingles) for
    ``one-permutation``, whose slots may stay empty (all 32 bits set) where a set has few shingles.

    For ``permutation`` these are all sets that will ever be compared, since the universe is theirs.
    """
    values = np.empty((len(sets), slots), dtype=np.uint32)
    draw = np.random.Generator(np.random.PCG64(seed))
    if family == "independent":
        keys = draw.integers(0, 2**64, size=slots, dtype=np.uint64)
        classical.independent(sets.hashes, sets.offsets, keys, values)
    elif family == "one-permutation":
        classical.one_permutation(sets.hashes, sets.offsets, draw.integers(0, 2**64, dtype=np.uint64), values)
    elif family == "universal":
        prime = (1 << 61) - 1
        a = draw.integers(1, prime, size=slots, dtype=np.uint64)
        b = draw.integers(0, prime, size=slots, dtype=np.uint64)
        classical.universal(sets.hashes, sets.offsets, a, b, values)
    elif family == "permutation":
        universe, index = np.unique(sets.hashes, return_inverse=True)
        if universe.size >= 2**32 - 1:
            raise InputError(f"sketch permutation: {universe.size} distinct shingles are more than 2**32 - 2 ranks.")
        column = np.empty(len(sets), dtype=np.uint32)
        for slot in range(slots):
            ranks = draw.permutation(universe.size).astype(np.uint32)
            classical.least_rank(ranks, index.astype(np.int64, copy=False), sets.offsets, column)
            values[:, slot] = column
    else:
        raise InputError(f"sketch {family!r} is not a classical family.")
    return Signatures(values)


def sparse_below(slots: int, bands: Bands) -> int:
    """Shingles below which more than one pair of strangers in a hundred meets in a band of ``one-permutation``.

    Two sets of m shingles with none in common leave a slot empty in both with exp(-2 m / slots), and a band in which
    every slot is empty in both is one in which they agree: m solves bands * exp(-2 m rows / slots) = 0.01. That an
    empty slot counts like any other value there is on purpose: were it to equal nothing, two near-copies would not
    meet in a band where both have one, and the shorter they are the more surely they would be missed.
    """
    return math.ceil(slots * math.log(100 * bands.bands) / (2 * bands.rows))


def estimate(a: Sequence[Any] | U32, b: Sequence[Any] | U32) -> float:
    """Estimated Jaccard similarity: the share of positions in which two signatures agree.

    A slot that is empty in both (all 32 bits set in a sketch of ours, None in one of ``minhash``) says nothing and is
    left out of the share; one that is empty in one of them disagrees. So the estimate is unbiased for every family,
    one-permutation hashing included (Li, Owen, Zhang 2012, section 3). When all are empty in both it is 0.

    Raises:
        InputError: the signatures are of different lengths or empty.

    >>> estimate([1, 0], [1, 2])
    0.5
    """
    if len(a) != len(b) or len(a) == 0:
        raise InputError(f"signatures have {len(a)} and {len(b)} slots. Compare two of one sketch.")
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype == b.dtype == np.uint32:
        matches = int(np.count_nonzero((a == b) & (a != sketching.EMPTY)))
        told = len(a) - int(np.count_nonzero((a == b) & (a == sketching.EMPTY)))
    else:
        known = [(x, y) for x, y in zip(a, b, strict=True) if x is not None or y is not None]
        matches, told = sum(1 for x, y in known if x == y), len(known)
    return matches / told if told else 0.0


@hinted
def minhash(
    sets: Iterable[Iterable[Hashable]], functions: Sequence[Callable[[Any], int] | Mapping[Any, int]]
) -> list[list[int | None]]:
    """Textbook MinHash: for each set, for each function the smallest value over its elements.

    A function is a callable, or a mapping from element to rank (an order of the universe). An empty set has None.
    Source: Mining of Massive Datasets, section 3.3.

    >>> minhash([{0, 3}, {2}], [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5])
    [[1, 0], [3, 2]]
    """
    calls = [f.__getitem__ if isinstance(f, Mapping) else f for f in functions]
    rows = [list(members) for members in sets]
    return [[min((call(x) for x in row), default=None) for call in calls] for row in rows]
