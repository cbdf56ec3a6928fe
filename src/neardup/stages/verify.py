"""The exact check: the Jaccard similarity or containment of candidate pairs, from their shingle sets.

Pairs are checked in an order that lets each document's set be built once and dropped soon.
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
"""The most rows per pair, counted from the first row to the last, for which rows are numbered with a bitmap. It takes
at most 64 bytes a pair, counts included."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pairs that are checked together, and the documents that they need."""

    pairs: I64
    """Indices into the candidate pairs."""
    docs: I64
    """The rows of the documents whose sets are needed, ascending."""
    counts: I64
    """The number of shingles of each document, with repeats."""
    lengths: I64
    """The number of bytes of each document."""
    left: I64
    """The index in ``docs`` of the left document of each pair."""
    right: I64
    """The index in ``docs`` of the right document of each pair."""


def chunks(
    left: I64,
    right: I64,
    counts: Callable[[I64], I64],
    lengths: Callable[[I64], I64],
    *,
    budget: int,
) -> Iterator[Chunk]:
    """Divide candidate pairs into chunks whose documents have at most ``budget`` shingles, or more if one pair does.

    ``counts`` returns the shingles of ascending rows, with repeats; ``lengths`` returns their bytes. A chunk consists
    of whole components of the candidate graph, so that no document is in two chunks; only a component above the budget
    is divided. Time: O(pairs), and O(pairs log pairs) for a divided component.
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
    """Return the distinct rows of pairs, ascending, and the indices of the left and of the right rows among them."""
    first, last = int(min(left.min(), right.min())), int(max(left.max(), right.max()))
    if last - first > SPARSE * left.size:
        rows, both = np.unique(np.concatenate((left, right)), return_inverse=True)
        return rows, both[: left.size], both[left.size :]
    marks = np.zeros((last - first) // 64 + 1, dtype=np.uint64)
    a, b = np.empty(left.size, dtype=np.int64), np.empty(left.size, dtype=np.int64)
    return graph.number(np.ascontiguousarray(left), np.ascontiguousarray(right), first, marks, a, b), a, b


def _blocks(whole: Chunk, budget: int) -> Iterator[Chunk]:
    """Divide a component above the budget: documents into blocks of half the budget, pairs by their two blocks.

    The set of a document is built at most once for each block that it has a pair with.
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
    """Return the exact similarity of each pair of a set of ``first`` and one of ``second``, or -1 below the threshold.

    Jaccard similarity is intersection / union, containment is intersection / smaller set. The quotient is a correctly
    rounded float64, compared with the threshold as typed: a pair at exactly 7/10 passes 0.7. A pair takes O(shingles of
    both), or less if the threshold is soon out of reach.
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
    """Correct similarities that were computed from hashes of ``hasher``, by comparing the shingles themselves.

    If no two different shingles of a pair share a hash, which is nearly always so, its similarity is right. Otherwise
    it is recomputed from the shingles, or set to -1 below the threshold. It is fastest if pairs with the same left
    document follow each other.
    """
    colliding = np.empty(left.size, dtype=np.bool_)
    equal.colliding(hasher.params, documents.data, documents.offsets, left, right, colliding)
    for p in np.flatnonzero(colliding).tolist():
        a, b = (shingle_set(documents.blob(int(side[p])), hasher.shingle) for side in (left, right))
        whole = min(len(a), len(b)) if is_containment else len(a | b)
        share = len(a & b) / whole
        similarity[p] = share if share >= threshold else -1.0
