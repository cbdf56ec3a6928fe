"""From verified pairs to clusters with a keeper each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from neardup.engine.check import Checker
from neardup.engine.results.pairs import PairStore
from neardup.engine.space import Space
from neardup.stages import cluster as cluster_stage
from neardup.types import F64, I32, I64

__all__ = ["Links", "involved_rows", "link"]


@dataclass(frozen=True, slots=True)
class Links:
    """Clusters of the rows that have pairs."""

    rows: I64
    """int64[m], rising."""
    keeper: I64
    """int64[m]: the row that stands for the cluster of each; itself when it does."""
    similarity: F64
    """float64[m]: exact similarity to it."""


Stores = Sequence[PairStore]


def involved_rows(pairs: PairStore, n: int) -> I64:
    """Rows below n that have a pair, rising."""
    seen = np.zeros(n, dtype=np.bool_)
    for piece in pairs.pieces():
        seen[piece.left] = True
        seen[piece.right] = True
    return np.flatnonzero(seen)


def link(
    pairs: PairStore,
    order: I64,
    n: int,
    space: Space,
    *,
    rule: str,
    check: Checker | None = None,
    more: PairStore | None = None,
    fixed: NDArray[np.bool_] | None = None,
) -> Links:
    """Cluster rows by their pairs.

    Args:
        pairs: verified pairs.
        order: int64[m], the rows that have pairs, in the order in which they may keep.
        n: rows of the run.
        space: memory or workdir.
        rule: ``star`` or ``connected``.
        check: gives the similarity to the keeper under ``connected``, where the two need not be a pair.
        more: further verified pairs of these rows.
        fixed: bool[m], in the order of ``order``: rows that are kept whatever they are near to; for ``star``.

    Memory: 4 bytes a row, and 40 for each that has pairs. O(pairs log pairs).
    """
    m = order.size
    rank = np.full(n, -1, dtype=np.int32)
    rank[order] = np.arange(m, dtype=np.int32)
    stores = [pairs] if more is None else [pairs, more]
    if rule == "star":
        keeper, similarity = _stars(stores, rank, m, space, fixed)
    else:
        keeper = _components(stores, rank, m)
        similarity = np.ones(m)
    del rank
    by_row = np.argsort(order)
    rows = order[by_row]
    links = Links(rows, order[keeper[by_row]], similarity[by_row])
    if rule != "star" and check is not None:
        follow = np.flatnonzero(links.keeper != links.rows)
        a, b = links.rows[follow], links.keeper[follow]
        links.similarity[follow] = check(np.minimum(a, b), np.maximum(a, b), 0.0)
    return links


def _stars(stores: Stores, rank: I32, m: int, space: Space, fixed: NDArray[np.bool_] | None) -> tuple[I32, F64]:
    edges = PairStore("edges", m, space, part=0.15)
    for piece in chain.from_iterable(store.pieces() for store in stores):
        edges.add(rank[piece.left].astype(np.int64), rank[piece.right].astype(np.int64), piece.similarity)
    stars = cluster_stage.Stars(m, fixed)
    for piece in edges.pieces():
        stars.add(piece.left, piece.right, piece.similarity)
    edges.drop()
    return stars.keepers()


def _components(stores: Stores, rank: I32, m: int) -> I32:
    """The first to keep of each component: its smallest rank."""
    parts = cluster_stage.Components(m)
    for piece in chain.from_iterable(store.pieces() for store in stores):
        parts.join(rank[piece.left].astype(np.int64), rank[piece.right].astype(np.int64))
    return parts.labels()
