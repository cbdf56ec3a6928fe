"""The clusters in the order of the report, and which members of each are shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.engine.results.expand import Members
from neardup.inputs.batches import documents_from
from neardup.inputs.names.ids import Ids
from neardup.stages.sketch import fingerprints
from neardup.types import F64, I32, I64, U64

__all__ = ["FAR", "KINDS", "MOST_WHOLE", "NEAR", "RANDOM", "Groups", "Shown", "order_clusters", "show"]

MOST_WHOLE = 40
"""Members of a cluster that is shown whole."""
NEAR, FAR, RANDOM = 15, 15, 10
"""Members of a larger one that are shown beside its keeper: those nearest to it, those farthest, and some others."""
KINDS = ("keeper", "all", "near", "far", "random")
_KEEPER, _ALL, _NEAR, _FAR, _RANDOM = range(5)
SAMPLED = 1 << 18
"""Members whose ids are hashed at a time."""


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
    """float64[m]: to the keeper."""

    def __len__(self) -> int:
        return self.keeper.size


def order_clusters(members: Members) -> Groups:
    """The clusters of a run in the order of the report. O(members log clusters)."""
    keepers, number, size = np.unique(members.keeper, return_inverse=True, return_counts=True)
    order = np.lexsort((keepers, -size))
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    by_cluster = np.argsort(place[number], kind="stable")
    rows, similarity = members.rows[by_cluster], members.similarity[by_cluster]
    keeper, size = keepers[order].astype(np.int64), size[order].astype(np.int64)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(size)))
    if not keeper.size:
        nothing = np.empty(0)
        return Groups(keeper, size, nothing, nothing, starts, rows, similarity)
    others = np.where(rows == np.repeat(keeper, size), np.inf, similarity)
    least = np.minimum.reduceat(others, starts[:-1])
    others[np.isinf(others)] = 0.0
    mean = np.add.reduceat(others, starts[:-1]) / (size - 1)
    return Groups(keeper, size, least, np.clip(mean, least, 1.0), starts, rows, similarity)


@dataclass(frozen=True, slots=True)
class Shown:
    """The members of one cluster that are shown, the keeper first."""

    rows: I64
    similarity: F64
    """To the keeper."""
    kinds: NDArray[np.int8]
    """Indices into KINDS."""

    def __len__(self) -> int:
        return self.rows.size


def show(groups: Groups, number: int, ids: Ids) -> Shown:
    """Choose the members of a cluster that are shown: all of up to MOST_WHOLE.

    Of more the keeper, the nearest to it and the farthest, ties by a hash of their ids, and of the rest those whose ids
    have the least hash: shuffling the input changes nothing where ids are the documents' own. They come by falling
    similarity in each part.
    """
    part = slice(int(groups.starts[number]), int(groups.starts[number + 1]))
    rows, similarity = groups.rows[part].astype(np.int64), groups.similarity[part]
    keeper = int(np.searchsorted(rows, groups.keeper[number]))
    if rows.size <= MOST_WHOLE:
        order = np.lexsort((rows, -similarity))
        order = np.concatenate(([keeper], order[order != keeper]))
        kinds = np.full(rows.size, _ALL, dtype=np.int8)
        kinds[0] = _KEEPER
        return Shown(rows[order], similarity[order], kinds)
    hashed = np.concatenate([_hashes(ids, rows[i : i + SAMPLED]) for i in range(0, rows.size, SAMPLED)])
    order = np.lexsort((rows, hashed, -similarity))
    order = order[order != keeper]
    near, rest, far = order[:NEAR], order[NEAR:-FAR], order[-FAR:]
    random = rest[np.sort(np.lexsort((rows[rest], hashed[rest]))[:RANDOM])]
    chosen = np.concatenate(([keeper], near, random, far))
    kinds = np.repeat(np.array([_KEEPER, _NEAR, _RANDOM, _FAR], np.int8), [1, near.size, random.size, far.size])
    return Shown(rows[chosen], similarity[chosen], kinds)


def _hashes(ids: Ids, rows: I64) -> U64:
    hashes: U64 = fingerprints(documents_from(ids.take(rows).cast(pa.large_string())))[:, 0]
    return hashes
