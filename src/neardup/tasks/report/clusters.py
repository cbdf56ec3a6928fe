"""The clusters in the order of the report, which of them get a page, and which members and pairs are shown there.

Decided from the lengths of the texts, before the inputs are read a second time; in the end the bytes decide that come
out (``pages``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.cutting import starts_of
from neardup.engine.reading.collection import Collection
from neardup.engine.results.expand import Members
from neardup.engine.results.pairs import PairStore
from neardup.errors import InputError
from neardup.inputs.batches import documents_from
from neardup.inputs.names import Ids
from neardup.params import CLEANING, COPYING
from neardup.stages.sketch import fingerprints
from neardup.types import F64, I32, I64

NEAR, FAR, RANDOM = 15, 15, 10
"""Members of a larger one that are shown beside its keeper: those nearest to it, those farthest, and some others."""
KINDS = ("keeper", "all", "near", "far", "random")
_KEEPER, _ALL, _NEAR, _FAR, _RANDOM = range(5)
SAMPLED = 1 << 18
"""Members whose ids are hashed at a time."""
LONG = 20_000
"""Characters of a text that are shown, at most; longer ones are shown in windows."""
MEMBER_BYTES, PAIR_BYTES = 110, 600
"""What a member and a pair take in the report at least, beside texts and passages; a pair with its row of the list."""
ALLOWANCE = 1.1
"""So many times the size of the report is prepared, for sizes are estimated."""
MARKING_BYTES = 64
"""Memory for each byte of two texts while their passages are found."""
BLOCK = 512
"""Clusters looked at together."""
MARKED = 2_000_000_000
"""Bytes of text that are looked through for passages, about: some minutes. A text counts once for each pair."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How much of a large cluster is shown."""

    members: int
    """Members up to which a cluster is shown whole."""
    pairs: int
    """Found pairs, beside those with the keeper, that get a page."""
    by_pairs: bool
    """Of a larger cluster: the members of the most similar pairs, and not a sample of the cluster."""


DEPTHS = {CLEANING: Depth(40, 60, False), COPYING: Depth(120, 7200, True)}


@dataclass(frozen=True, slots=True)
class Groups:
    """Clusters, the largest first, then by the row of their keeper."""

    keeper: I64
    """int64[c]: rows."""
    size: I64
    """int64[c]: members, the keeper included."""
    least: F64
    """float64[c]: similarity to the keeper, of the others."""
    mean: F64
    starts: I64
    """int64[c + 1] into the members."""
    rows: I32
    """int32[m]: the members of each cluster, rising."""
    similarity: F64
    """float64[m]: to the keeper; NaN of those that are not compared with it."""

    def __len__(self) -> int:
        return self.keeper.size

    def highest(self) -> F64:
        """float64[c]: the highest similarity of a member to the keeper, the keeper left out."""
        if not len(self):
            return np.empty(0)
        others = np.where(self.rows == np.repeat(self.keeper, self.size), 0.0, np.nan_to_num(self.similarity))
        return np.maximum.reduceat(others, self.starts[:-1])


def order_clusters(members: Members) -> Groups:
    """The clusters of a run in the order of the report. O(members log clusters)."""
    keepers, number, size = np.unique(members.keeper, return_inverse=True, return_counts=True)
    order = np.lexsort((keepers, -size))
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    by_cluster = np.argsort(place[number], kind="stable")
    rows, similarity = members.rows[by_cluster], members.similarity[by_cluster]
    keeper, size = keepers[order].astype(np.int64), size[order].astype(np.int64)
    starts = starts_of(size)
    if not keeper.size:
        nothing = np.empty(0)
        return Groups(keeper, size, nothing, nothing, starts, rows, similarity)
    others = np.where((rows == np.repeat(keeper, size)) | np.isnan(similarity), np.inf, similarity)
    least = np.minimum.reduceat(others, starts[:-1])
    compared = np.isfinite(others)
    others[~compared] = 0.0
    mean = np.add.reduceat(others, starts[:-1]) / np.add.reduceat(compared, starts[:-1], dtype=np.int64)
    return Groups(keeper, size, least, np.clip(mean, least, 1.0), starts, rows, similarity)


@dataclass(frozen=True, slots=True)
class Shown:
    """The members of one cluster that are shown, the keeper first."""

    rows: I64
    similarity: F64
    """To the keeper, or NaN."""
    kinds: NDArray[np.int8]
    """Indices into KINDS."""

    def __len__(self) -> int:
        return self.rows.size


def _show(groups: Groups, number: int, ids: Ids, depth: Depth, best: F64 | None) -> Shown:
    """Choose the members of a cluster that are shown: all, up to the ``depth``.

    Of a larger one: the keeper, the nearest to it and the farthest, with ties decided by a hash of their ids, and of
    the rest those whose ids have the least hash. So shuffling the input changes nothing where ids are the documents'
    own. Each part is in the order of falling similarity. With ``best``, float64[n], of a larger one those are shown
    whose best pairs are the most similar.
    """
    part = slice(int(groups.starts[number]), int(groups.starts[number + 1]))
    rows, similarity = groups.rows[part].astype(np.int64), groups.similarity[part]
    keeper = int(np.searchsorted(rows, groups.keeper[number]))
    if best is not None and rows.size > depth.members:
        order = np.lexsort((rows, -best[rows]))
        kept = np.sort(np.concatenate(([keeper], order[order != keeper][: depth.members - 1])))
        rows, similarity, keeper = rows[kept], similarity[kept], int(np.searchsorted(kept, keeper))
    if rows.size <= depth.members:
        order = np.lexsort((rows, -similarity))  # NaN at the end
        order = np.concatenate(([keeper], order[order != keeper]))
        kinds = np.full(rows.size, _ALL, dtype=np.int8)
        kinds[0] = _KEEPER
        return Shown(rows[order], similarity[order], kinds)
    parts = (ids.take(rows[i : i + SAMPLED]).cast(pa.large_string()) for i in range(0, rows.size, SAMPLED))
    hashed = np.concatenate([fingerprints(documents_from(names))[:, 0] for names in parts])
    order = np.lexsort((rows, hashed, -similarity))
    order = order[order != keeper]
    near, rest, far = order[:NEAR], order[NEAR:-FAR], order[-FAR:]
    random = rest[np.sort(np.lexsort((rows[rest], hashed[rest]))[:RANDOM])]
    chosen = np.concatenate(([keeper], near, random, far))
    kinds = np.repeat(np.array([_KEEPER, _NEAR, _RANDOM, _FAR], np.int8), [1, near.size, random.size, far.size])
    return Shown(rows[chosen], similarity[chosen], kinds)


@dataclass(slots=True)
class PagedClusters:
    """The first clusters of the report, which may have pages."""

    shown: list[Shown] = field(default_factory=list)
    lengths: list[I64] = field(default_factory=list)
    """Bytes of each text shown, normalised."""
    sizes: list[int] = field(default_factory=list)
    """Bytes that each cluster will take, about."""
    is_cut: bool = False
    """Whether there were more, but the texts of all these together are too long to be marked."""

    def rows(self) -> I64:
        """All documents shown, rising."""
        return np.sort(np.concatenate([np.empty(0, np.int64), *(each.rows for each in self.shown)]))


def choose_clusters(
    groups: Groups,
    most: int,
    ids: Ids,
    collection: Collection,
    *,
    budget: int,
    depth: Depth = DEPTHS[CLEANING],
    best: F64 | None = None,
) -> PagedClusters:
    """Take clusters from the largest on until their pages fill ``budget`` bytes, ``most`` at most.

    ``best`` is float64[n], the similarity of each document's best pair, where the depth asks for it.
    """
    chosen = PagedClusters()
    left, to_mark = ALLOWANCE * budget, MARKED
    for first in range(0, min(most, len(groups)), BLOCK):
        block = [
            _show(groups, number, ids, depth, best) for number in range(first, min(first + BLOCK, most, len(groups)))
        ]
        lengths = collection.texts.lengths(np.concatenate([each.rows for each in block]))
        cuts = np.cumsum([len(each) for each in block])[:-1]
        for each, length in zip(block, np.split(lengths, cuts), strict=True):
            _need_memory(each, length, ids, collection)
            to_mark -= int(length.sum() + (len(each) - 1) * length[0])
            texts = np.minimum(length, LONG)
            distinct = int(texts[0]) + int(texts[1:][each.similarity[1:] != 1.0].sum())  # equal texts are there once
            size = distinct + len(each) * (MEMBER_BYTES + PAIR_BYTES)
            left -= size
            if left < 0 or to_mark < 0:
                chosen.is_cut = left >= 0
                return chosen
            chosen.shown.append(each)
            chosen.lengths.append(length)
            chosen.sizes.append(size)
    return chosen


def _need_memory(shown: Shown, lengths: I64, ids: Ids, collection: Collection) -> None:
    """Raise unless the passages of the keeper and of the longest other member can be found within the memory."""
    longest = 1 + int(np.argmax(lengths[1:]))
    budget, need = collection.space.budget, MARKING_BYTES * int(lengths[0] + lengths[longest])
    if need > budget.work:
        a, b = ids.take(shown.rows[[0, longest]]).to_pylist()
        more = (budget.limit - budget.work + 1.1 * need) / 1e6
        raise InputError(
            f"the documents {a} and {b} are too long for their passages to be found within a memory limit of "
            f"{budget.limit / 1e6:.0f} MB. Raise --memory (memory=) to about {more:.0f}MB, or leave them out."
        )


@dataclass(frozen=True, slots=True)
class Mates:
    """Found pairs of two members shown of one cluster, by cluster."""

    starts: I64
    """int64[clusters + 1]."""
    first: I32
    """Number of the member among those shown, less than that of the second."""
    second: I32
    similarity: F64

    def of(self, number: int) -> Iterator[tuple[int, int, float]]:
        """The pairs of one cluster, by their members."""
        part = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return zip(self.first[part].tolist(), self.second[part].tolist(), self.similarity[part].tolist(), strict=True)


def best_of(pairs: PairStore, n: int) -> F64:
    """float64[n]: the similarity of the best pair of each document; 0 of those that have none. One pass."""
    best = np.zeros(n)
    for piece in pairs.pieces():
        np.maximum.at(best, piece.left, piece.similarity)
        np.maximum.at(best, piece.right, piece.similarity)
    return best


def find_mates(pairs: PairStore, shown: list[Shown], n: int) -> Mates:
    """Look up the found pairs among the members shown. One pass over the pairs; memory: 4 bytes a document."""
    sizes = np.array([len(each) for each in shown], dtype=np.int64)
    slot = np.full(n, -1, dtype=np.int32)
    rows = np.concatenate([np.empty(0, np.int64), *(each.rows for each in shown)])
    slot[rows] = np.arange(rows.size, dtype=np.int32)
    cluster = np.repeat(np.arange(sizes.size), sizes)
    member = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    kept: list[tuple[I32, I32, F64]] = [(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))]
    for piece in pairs.pieces():
        a, b = slot[piece.left], slot[piece.right]
        here = np.flatnonzero((a >= 0) & (b >= 0))
        here = here[cluster[a[here]] == cluster[b[here]]]
        if here.size:
            low, high = np.minimum(a[here], b[here]), np.maximum(a[here], b[here])
            kept.append((low, high, piece.similarity[here]))
    low, high, similarity = (np.concatenate(column) for column in zip(*kept, strict=True))
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    starts = np.searchsorted(cluster[low], np.arange(sizes.size + 1))
    return Mates(starts, member[low].astype(np.int32), member[high].astype(np.int32), similarity[order])
