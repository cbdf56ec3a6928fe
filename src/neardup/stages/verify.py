"""The exact check: Jaccard similarity, or containment, of candidate pairs on their shingle sets.

Pairs are checked in an order in which each document's set is built once and dropped soon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import cut
from neardup.kernels import equal, graph
from neardup.kernels import verify as kernels
from neardup.stages.shingle import Hasher, shingle_set
from neardup.types import F64, I64, Documents, PaddedSets

SPARSE = 256
"""Rows for each pair, from the first to the last, up to which they are numbered by a bit each: 64 bytes a pair at most,
with the counts beside."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pairs that are checked together and the documents that they need."""

    pairs: I64
    """Indices into the candidate pairs."""
    docs: I64
    """Rows whose sets are needed, rising."""
    counts: I64
    """Shingles of each, with repeats."""
    lengths: I64
    """Bytes of each."""
    left: I64
    """Index into ``docs`` for each pair."""
    right: I64
    """Index into ``docs`` for each pair."""


def chunks(
    left: I64,
    right: I64,
    counts: Callable[[I64], I64],
    lengths: Callable[[I64], I64],
    *,
    budget: int,
) -> Iterator[Chunk]:
    """Cut candidate pairs into chunks whose documents have at most ``budget`` shingles, or of one pair with more.

    ``counts`` gives the shingles of rising rows, with repeats, ``lengths`` their bytes. A chunk has whole components of
    the candidate graph, so that no document is in two of them; only a component that is too large by itself is cut.
    O(pairs), and for such a component O(pairs log pairs).
    """
    if left.size == 0:
        return
    rows, a, b = numbered(left, right)
    cost, size = counts(rows), lengths(rows)
    if int(cost.sum()) <= budget:
        yield Chunk(np.arange(left.size), rows, cost, size, a, b)
        return
    docs, doc_starts, pairs, pair_starts = graph.by_component(graph.components(a, b, rows.size), a)
    place = np.empty(rows.size, dtype=np.int64)
    for part in cut(np.add.reduceat(cost[docs], doc_starts[:-1]), budget):
        mine = np.sort(docs[doc_starts[part.start] : doc_starts[part.stop]])
        some = pairs[pair_starts[part.start] : pair_starts[part.stop]]
        place[mine] = np.arange(mine.size)
        whole = Chunk(some, rows[mine], cost[mine], size[mine], place[a[some]], place[b[some]])
        yield from [whole] if int(whole.counts.sum()) <= budget else _blocks(whole, budget)


def numbered(left: I64, right: I64) -> tuple[I64, I64, I64]:
    """The distinct rows of pairs, rising, and which of them each side is."""
    first, last = int(min(left.min(), right.min())), int(max(left.max(), right.max()))
    if last - first > SPARSE * left.size:
        rows, both = np.unique(np.concatenate((left, right)), return_inverse=True)
        return rows, both[: left.size], both[left.size :]
    marks = np.zeros((last - first) // 64 + 1, dtype=np.uint64)
    a, b = np.empty(left.size, dtype=np.int64), np.empty(left.size, dtype=np.int64)
    return graph.number(np.ascontiguousarray(left), np.ascontiguousarray(right), first, marks, a, b), a, b


def _blocks(whole: Chunk, budget: int) -> Iterator[Chunk]:
    """A component that is too large, cut: documents into blocks of half the budget, pairs by the blocks of both.

    A set is built at most once for each block that it has a pair with.
    """
    cost = whole.counts
    block = np.cumsum(cost) // max(1, budget // 2)
    order = np.lexsort((whole.right, whole.left, block[whole.right], block[whole.left]))
    a, b = whole.left[order], whole.right[order]
    seen = np.full(whole.docs.size, -1, dtype=np.int64)
    begin = 0
    while begin < order.size:
        end = int(graph.reach(a, b, cost, begin, budget, seen))
        docs, left, right = numbered(a[begin:end], b[begin:end])
        of_docs = whole.docs[docs], whole.counts[docs], whole.lengths[docs]
        yield Chunk(whole.pairs[order[begin:end]], *of_docs, left, right)
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
