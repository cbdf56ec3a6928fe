"""The exact check: Jaccard similarity, or containment, of candidate pairs on their shingle sets.

Pairs are checked in an order in which each document's set is built once and dropped soon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from neardup.kernels import equal, graph
from neardup.kernels import verify as kernels
from neardup.stages.shingle import Hasher, shingle_set
from neardup.types import F64, I64, Documents, PaddedSets


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pairs that are checked together and the documents that they need."""

    pairs: I64
    """Indices into the candidate pairs."""
    docs: I64
    """Rows whose sets are needed, rising."""
    left: I64
    """Index into ``docs`` for each pair."""
    right: I64
    """Index into ``docs`` for each pair."""


def chunks(left: I64, right: I64, counts: Callable[[I64], I64], *, budget: int) -> Iterator[Chunk]:
    """Cut candidate pairs into chunks whose documents have at most about ``budget`` shingles, or of one pair with more.

    ``counts`` gives the shingles of rows, with repeats. Documents are laid out by connected component of the candidate
    graph and cut into blocks of half the budget; pairs are ordered by the blocks of their two documents. A set is built
    once where its component fits a block, and at most once for each block that it has a pair with. O(pairs log pairs).
    """
    if left.size == 0:
        return
    rows, compact = np.unique(np.concatenate((left, right)), return_inverse=True)
    a, b = compact[: left.size], compact[left.size :]
    component = graph.components(a, b, rows.size)
    layout = np.argsort(component, kind="stable")
    cost = counts(rows)
    block = np.empty(rows.size, dtype=np.int64)
    block[layout] = np.cumsum(cost[layout]) // max(1, budget // 2)
    order = np.lexsort((b, a, component[a], block[b], block[a]))
    a, b = a[order], b[order]
    seen = np.full(rows.size, -1, dtype=np.int64)
    begin = 0
    while begin < order.size:
        end = int(graph.reach(a, b, cost, begin, budget, seen))
        members = order[begin:end]
        docs, inside = np.unique(np.concatenate((left[members], right[members])), return_inverse=True)
        yield Chunk(members, docs, inside[: members.size], inside[members.size :])
        begin = end


def check_pairs(
    left: I64, right: I64, first: PaddedSets, second: PaddedSets, *, threshold: float, is_containment: bool = False
) -> F64:
    """Exact similarity of a set of ``first`` and one of ``second`` each, or -1 where it is below the threshold.

    intersection / union, or for containment intersection / smaller set, is compared as a float64, correctly rounded,
    with the threshold as typed: a pair at exactly 7/10 passes 0.7. O(shingles of both) a pair, less where the
    threshold is out of reach early.
    """
    similarity = np.empty(left.size, dtype=np.float64)
    kernels.check_pairs(left, right, first, second, threshold, is_containment, similarity)
    return similarity


def compare_shingles(
    documents: Documents,
    left: I64,
    right: I64,
    hasher: Hasher,
    similarity: F64,
    *,
    threshold: float,
    is_containment: bool = False,
) -> None:
    """Correct similarities that were computed from hashes of ``hasher`` by comparing the shingles themselves.

    Where no two different shingles of a pair share a hash, which is all but always, its similarity is right. Else it
    is computed anew from the shingles, and is -1 where it is below the threshold. Pairs of one left document best
    follow each other.
    """
    colliding = np.empty(left.size, dtype=np.bool_)
    equal.colliding(hasher.params, documents.data, documents.offsets, left, right, colliding)
    for p in np.flatnonzero(colliding).tolist():
        a, b = (shingle_set(documents.blob(int(side[p])), hasher.shingle) for side in (left, right))
        whole = min(len(a), len(b)) if is_containment else len(a | b)
        share = len(a & b) / whole
        similarity[p] = share if share >= threshold else -1.0
