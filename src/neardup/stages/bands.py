"""Banding: candidate pairs of signatures, and the hot buckets that are too large to pair up.

Each band is independent: keys, buckets, pairs. A pair is met once, in the first band where both agree, and leaves at
once unless its signatures agree in enough slots. A bucket of more documents than the crowd limit is *hot*: it is
handed back whole, for ``pipeline`` to deal with by leaders. Choosing (bands, rows) is in ``plan``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.kernels import banding
from neardup.params import Bands
from neardup.types import I64, U32

__all__ = ["BandBuckets", "band_buckets", "nearest_leaders", "pair_up"]


@dataclass(frozen=True, slots=True)
class BandBuckets:
    """The buckets of one band."""

    members: I64
    """Rows, bucket after bucket."""
    starts: I64
    """int64[buckets + 1] into ``members``."""
    hot: list[I64]
    """Members of each bucket that holds more documents than the limit; they are not in ``members``."""


def band_buckets(values: U32, rows: I64, weight: I64, band: int, bands: Bands, *, limit: int) -> BandBuckets:
    """Group the signatures of ``rows`` by one band.

    Args:
        values: uint32[n, slots], signatures.
        rows: int64[m], rows to group: no copies, none empty.
        weight: int64[n], documents that each row stands for.
        band: which, from 0.
        bands: their shape.
        limit: largest number of documents of a bucket that is paired up.
    """
    keys = np.empty(rows.size, dtype=np.uint64)
    banding.band_keys(values, rows, band * bands.rows, bands.rows, keys)
    members, starts = banding.buckets(keys, rows)
    if members.size == 0:
        return BandBuckets(members, starts, [])
    load = np.add.reduceat(weight[members], starts[:-1])
    over = np.flatnonzero(load > limit)
    if over.size == 0:
        return BandBuckets(members, starts, [])
    hot = [members[starts[b] : starts[b + 1]].copy() for b in over]
    sizes = np.diff(starts)
    kept = np.repeat(load <= limit, sizes)
    return BandBuckets(members[kept], np.concatenate(([0], np.cumsum(sizes[load <= limit]))), hot)


def pair_up(
    buckets: BandBuckets, values: U32, crowd: I64, *, band: int, rows: int, min_matches: int, by_crowd: bool = False
) -> tuple[I64, I64, int]:
    """Candidate pairs of the buckets of one band that pass the estimate filter.

    Args:
        buckets: of band ``band``.
        values: uint32[n, slots].
        crowd: int64[n], crowd of each row or -1; pairs inside one crowd are passed over.
        band: a pair that agrees in an earlier one is passed over.
        rows: rows of a band.
        min_matches: slots in which a candidate must agree.
        by_crowd: the members of each bucket are in rising order of their crowds, which then cost nothing.

    Returns:
        left, right (left < right) and the number of candidates met, before the filter.
    """
    state = np.array([0, 0, 1, 0, 0], dtype=np.int64)  # the first pair is (0, 1)
    room = 1024
    lefts: list[I64] = []
    rights: list[I64] = []
    while not state[4]:
        left, right = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        n = banding.bucket_pairs(
            *(buckets.members, buckets.starts, values, band, rows, min_matches),
            *(crowd, by_crowd, state, left, right),
        )
        lefts.append(left[:n])
        rights.append(right[:n])
        room = min(4 * room, 1 << 20)
    return np.concatenate(lefts), np.concatenate(rights), int(state[3])


def nearest_leaders(members: I64, values: U32, leader: I64, known: I64, *, most: int, min_matches: int) -> I64:
    """For each member of a hot bucket the leader that it should be checked against, or -1.

    Args:
        members: int64[m], rows in the order in which they may lead.
        values: uint32[n, slots].
        leader: int64[n], the verified leader of each row or -1.
        known: int64[l], rows that lead already, in this bucket or elsewhere.
        most: leaders that a bucket may have.
        min_matches: slots in which member and leader must agree.
    """
    best = np.empty(members.size, dtype=np.int64)
    banding.star_leaders(members, values, leader, known, most, min_matches, best)
    return best
