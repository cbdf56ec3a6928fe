"""Crowds of the joins: near-copies so many that their pairs are not listed, since every one of them is known.

A crowd is a document, its leader, with more documents than ``spec.crowd`` that are at least (1 + t) / 2 similar to it,
itself included. Jaccard distance, 1 - J, is a metric (Lipkus: A proof of the triangle inequality for the Tanimoto
distance, 1999): any two of them are at least t similar, and at least t of the smaller is contained in the other. So a
join that lists them as a star still leaves no pair unsaid, and it does not look for these pairs.

    key of the lowest shingles of each document ──► large groups of one key ──► the middle one of each may lead
    all documents ── index of those that may lead ──► the first that is near enough ──► large ones are crowds

A group of near-copies that no key finds is joined pair by pair, as any other documents: nothing depends on the keys but
time. They depend on the documents only, so what is a crowd depends on nothing else.
"""

from __future__ import annotations

from math import log

import numpy as np

from neardup.cutting import starts_of
from neardup.engine.reading.collection import Collection, content_order
from neardup.types import I32, I64, U32

AGREE = 0.3
"""Chance of two near-copies to agree in the key, at the least similarity: a group has so many of a crowd, at least."""
MOST_LOWS = 6
"""More tell strangers apart better than they need to be told apart, and cost more: 6 take 1.7 ns a byte, 22 take 6."""
GROUP_SHARE = 16
"""One of a group of this part of the limit may lead. Their number is so small a share of that of the documents."""
SAMPLE = 24
"""Documents of a group that are held against each other: the one that is nearest to the others may lead. Any one would
do for some of the crowd; those that are not near enough to it are joined pair by pair."""
TABLE_BITS = 24
"""Of the table in which documents are counted by key, at most."""


def near_enough(threshold: float) -> float:
    """How similar a document must be to its leader, so that any two that are have a similarity of the threshold."""
    return (1.0 + threshold) / 2.0


def lows_of(threshold: float) -> int:
    """How many of the lowest shingles make up a key.

    A document has none of its own among them with a chance of AGREE, or a better one, if it shares as much as it must
    and what two documents do not share is in equal parts their own.
    """
    near = near_enough(threshold)
    shared = 2.0 * near / (1.0 + near)
    return MOST_LOWS if shared >= 1.0 else min(MOST_LOWS, max(1, round(log(AGREE) / log(shared))))


def samples(collection: Collection, rows: I64, weight: I32, keys: U32) -> tuple[I64, I64]:
    """At most SAMPLE documents of each large group of one key, the largest groups first; and where each begins.

    ``weight`` is int32[n] by row, ``keys`` uint32 by place in ``rows``. They are spread evenly over the group in order
    of content. O(documents).
    """
    least = max(2, collection.spec.crowd // GROUP_SHARE)
    bits = min(TABLE_BITS, max(1, rows.size.bit_length()))
    cells = keys >> np.uint32(32 - bits)
    some = np.flatnonzero(np.bincount(cells, weights=weight[rows], minlength=1 << bits)[cells] >= least)
    _, group = np.unique(keys[some], return_inverse=True)
    load = np.bincount(group, weights=weight[rows[some]])
    members, group = rows[some[load[group] >= least]], group[load[group] >= least]
    ordered = content_order(collection, members)
    group = group[np.searchsorted(members, ordered)]
    by_group = np.argsort(group, kind="stable")
    begins = np.flatnonzero(np.diff(group[by_group], prepend=-1))
    sizes = np.diff(begins, append=group.size)
    # of equally large groups the one whose first document comes first
    order = np.lexsort((by_group[begins], -load[group[by_group[begins]]]))
    begins, sizes = begins[order], sizes[order]
    taken = np.minimum(sizes, SAMPLE)
    starts = starts_of(taken)
    place = np.arange(int(starts[-1])) - np.repeat(starts[:-1], taken)
    at = np.repeat(begins, taken) + place * np.repeat(sizes, taken) // np.repeat(taken, taken)
    return ordered[by_group[at]], starts


def grown(n: int, rows: I64, leaders: I64, weight: I32, limit: int) -> I32:
    """int32[n]: the leader of the crowd of each row, or -1; ``leaders`` (int64[m]) are those of ``rows``.

    ``weight`` is int32[n], the documents that a row stands for; with more than ``limit`` of them it is a crowd.
    """
    load = weight.astype(np.int64)
    np.add.at(load, leaders, weight[rows])
    large = load[leaders] > limit
    crowd = np.full(n, -1, dtype=np.int32)
    crowd[rows[large]] = leaders[large]
    crowd[leaders[large]] = leaders[large]
    return crowd
