"""Buckets: rows of equal keys meet in a partition, which holds one range of the keys of every band.

    keys/ ── keys of representatives, by their value ──► buckets/PPPP.npz   pairs of small buckets; large buckets whole

A key is five bytes and a row four on the way, so that a document of b bands weighs 9 b bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from neardup.cutting import starts_of
from neardup.engine.banding.candidates import SMALL
from neardup.spark.exchange import Blob, Blobs, Facts
from neardup.spark.pieces import Job
from neardup.spark.storage import Arrays, packed, unpacked
from neardup.stages import bands as band_stage
from neardup.types import I32, I64, U8, Mask

RANGES = 1 << 16
"""Ranges of keys, by their first two bytes, of which a partition has some that follow each other."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """Buckets of rows, end to end."""

    bands: I64
    sizes: I64
    members: I64
    """Of all, rising in each bucket."""

    def some(self, which: Mask | I64) -> Self:
        """Some of them, in the order asked for."""
        which = np.flatnonzero(which) if which.dtype == np.bool_ else which
        starts, sizes = starts_of(self.sizes)[:-1][which], self.sizes[which]
        places = np.repeat(starts - starts_of(sizes)[:-1], sizes) + np.arange(int(sizes.sum()))
        return type(self)(self.bands[which], sizes, self.members[places])


def large_buckets(job: Job, parts: int) -> tuple[Buckets, Buckets]:
    """Hot buckets, and those that wait, of all partitions of the keys."""
    found = list(job.storage.get_all((f"buckets/{part:06d}" for part in range(parts)), "sizes", "members"))
    sizes = np.concatenate([each["sizes"] for each in found])
    members = np.concatenate([each["members"] for each in found])
    both = Buckets(sizes[:, 0], sizes[:, 1], members)
    is_hot = sizes[:, 2] == 1
    return both.some(is_hot), both.some(~is_hot)


def give_keys(job: Job, split: int, parts: int) -> Iterator[Blob]:
    """The keys of a split, each to the partition of its range; those of copies stay behind."""
    keys = job.storage.get(f"keys/{split:06d}")["keys"]
    weight = weights_of(job, split)
    rows = np.flatnonzero(weight).astype(np.uint32)
    counts = np.zeros((keys.shape[0], parts), dtype=np.int64)
    orders = []
    for band, of_band in enumerate(keys):
        mine = of_band[rows]
        part = ((mine[:, 0].astype(np.uint32) << 8 | mine[:, 1]) * np.uint32(parts) >> 16).astype(np.uint16)
        orders.append(np.argsort(part, kind="stable"))
        counts[band] = np.bincount(part, minlength=parts)
    ends = np.zeros((keys.shape[0], parts + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, out=ends[:, 1:])
    heavy = np.flatnonzero(weight[rows] > 1)
    for number in range(parts):
        some = [rows[order[ends[band, number] : ends[band, number + 1]]] for band, order in enumerate(orders)]
        places = np.concatenate(some) if some else rows[:0]
        if places.size:
            blob: Arrays = {
                "rows": places,
                "keys": np.concatenate([keys[band][at] for band, at in enumerate(some)]),
                "ends": starts_of(counts[:, number]),
            }
            if heavy.size:
                at = np.flatnonzero(weight[places] > 1)
                blob |= {"heavy": at, "weight": weight[places[at]]}
            yield number, packed(blob)


def weights_of(job: Job, split: int) -> I32:
    """int32[n]: documents that each document of a split stands for; 0 for copies and empty ones."""
    weight = (job.storage.get(f"read/{split:06d}", "counts")["counts"] > 0).astype(np.int32)
    known = job.storage.get(f"weights/{split:06d}")
    weight[known["places"]] = known["weight"]
    return weight


def take_keys(job: Job, part: int, blobs: Blobs) -> Facts:
    """Find the buckets of a partition: pairs of the small ones, and the others with their members."""
    bands = job.spec.bands.bands
    given = [(job.bases[split], unpacked(blob)) for split, blob in blobs]
    left: list[I64] = [np.empty(0, np.int64)]
    right: list[I64] = [np.empty(0, np.int64)]
    tags: list[I64] = [np.empty(0, np.int64)]
    large: list[I64] = [np.empty(0, np.int64)]
    sizes: list[I64] = []
    for band in range(bands):
        rows, keys, weight = _of_band(given, band)
        if rows.size < 2:
            continue
        found = band_stage.group(keys, np.arange(rows.size), weight, limit=job.spec.crowd)
        for members in found.hot:
            large.append(rows[members])
            sizes.append(np.array([[band, members.size, 1]]))
        is_small = np.diff(found.starts) <= SMALL
        for a, b in band_stage.all_pairs(*found.chosen(is_small)):
            left.append(rows[a])
            right.append(rows[b])
            tags.append(np.full(a.size, band + 1))
        members, starts = found.chosen(~is_small)
        waiting = np.diff(starts)
        large.append(rows[members])
        sizes.append(np.column_stack((np.full(waiting.size, band), waiting, np.zeros_like(waiting))))
    job.storage.put(
        f"buckets/{part:06d}",
        left=np.concatenate(left),
        right=np.concatenate(right),
        tag=np.concatenate(tags).astype(np.int16),
        members=np.concatenate(large),
        sizes=np.concatenate([np.empty((0, 3), np.int64), *sizes]),
    )
    return {"pairs": sum(each.size for each in left), "members": sum(each.size for each in large)}


def _of_band(given: list[tuple[I64, Arrays]], band: int) -> tuple[I64, U8, I32]:
    """Rows, rising, with their keys and weights in one band."""
    rows, keys, weights = [np.empty(0, np.int64)], [np.empty((0, band_stage.KEY_BYTES), np.uint8)], []
    for base, blob in given:
        some = slice(int(blob["ends"][band]), int(blob["ends"][band + 1]))
        rows.append(blob["rows"][some] + base)
        keys.append(blob["keys"][some])
        weight = np.ones(some.stop - some.start, dtype=np.int32)
        if "heavy" in blob:
            low, high = np.searchsorted(blob["heavy"], (some.start, some.stop))
            weight[blob["heavy"][low:high] - some.start] = blob["weight"][low:high]
        weights.append(weight)
    return np.concatenate(rows), np.concatenate(keys), np.concatenate([np.empty(0, np.int32), *weights])
