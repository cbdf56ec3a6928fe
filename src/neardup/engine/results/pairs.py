"""Verified pairs of a run, however many, and the clusters that they make, with a keeper each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME
from neardup.engine.space import Space
from neardup.stages.cluster import Components, Stars
from neardup.types import F64, I32, I64, Mask, Pairs


class PairStore:
    """Pairs of numbers below n with a similarity; what comes out is sorted, each pair once.

    They are in memory or, where they outgrow it, in sorted runs of a workdir.
    """

    def __init__(self, name: str, n: int, space: Space, *, part: float, is_lasting: bool = False) -> None:
        """Begin empty, or with what an interrupted run wrote down under this name. See ``Space.sorter``."""
        self._n = n
        self._sorter = space.sorter(name, payload=np.dtype(np.float64), part=part, is_lasting=is_lasting)

    def add(self, a: I64, b: I64, similarity: F64) -> None:
        """Add pairs; the smaller number of each goes first."""
        if a.size:
            left, right = np.minimum(a, b).astype(np.uint64), np.maximum(a, b).astype(np.uint64)
            self._sorter.add(left * np.uint64(self._n) + right, similarity)

    def __len__(self) -> int:
        """Pairs added; one that came twice counts twice."""
        return len(self._sorter)

    def flush(self) -> None:
        """Let nothing be in memory only, before a checkpoint."""
        self._sorter.flush()

    def pieces(self) -> Iterator[Pairs]:
        """The pairs, sorted by (left, right), each once, some at a time."""
        for keys, similarity in self._sorter.merged(ROWS_AT_A_TIME, unique=True):
            assert similarity is not None
            left, right = np.divmod(keys, np.uint64(self._n))
            yield Pairs(left.astype(np.int64), right.astype(np.int64), similarity)

    def involved(self) -> I64:
        """Numbers that are in a pair, rising."""
        seen = np.zeros(self._n, dtype=np.bool_)
        for piece in self.pieces():
            seen[piece.left] = True
            seen[piece.right] = True
        return np.flatnonzero(seen)

    def gathered(self) -> Pairs:
        """All of them at once, for those who know that they are few."""
        columns = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
        columns += [(piece.left, piece.right, piece.similarity.copy()) for piece in self.pieces()]
        return Pairs(*(np.concatenate(column) for column in zip(*columns, strict=True)))

    def drop(self) -> None:
        """Forget the pairs."""
        self._sorter.drop()


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


def link(
    pairs: PairStore,
    order: I64,
    n: int,
    space: Space,
    *,
    rule: str,
    check: Callable[[I64, I64, float], F64] | None = None,
    more: PairStore | None = None,
    fixed: Mask | None = None,
) -> Links:
    """Cluster the ``n`` rows of a run by their verified pairs, and ``more`` of these rows; ``star`` or ``connected``.

    ``order`` is int64[m], the rows that have pairs, in the order in which they may keep. Under ``connected``, where a
    row and its keeper need not be a pair, ``check`` gives the similarity of the two. For ``star``, ``fixed`` (bool[m],
    as ``order``) are rows that are kept whatever they are near to.

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


def _stars(stores: Stores, rank: I32, m: int, space: Space, fixed: Mask | None) -> tuple[I32, F64]:
    edges = PairStore("edges", m, space, part=0.15)
    for piece in chain.from_iterable(store.pieces() for store in stores):
        edges.add(rank[piece.left].astype(np.int64), rank[piece.right].astype(np.int64), piece.similarity)
    stars = Stars(m, fixed)
    for piece in edges.pieces():
        stars.add(piece.left, piece.right, piece.similarity)
    edges.drop()
    return stars.keepers()


def _components(stores: Stores, rank: I32, m: int) -> I32:
    """The first to keep of each component: its smallest rank."""
    parts = Components(m)
    for piece in chain.from_iterable(store.pieces() for store in stores):
        parts.join(rank[piece.left].astype(np.int64), rank[piece.right].astype(np.int64))
    return parts.labels()
