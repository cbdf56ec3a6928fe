"""Buckets: rows with equal keys meet in a partition, which has one range of the keys of every band.

    keys/ ── keys of representatives, by their value ──► buckets/PPPP.arrays   pairs of small buckets, large buckets

All pairs of small buckets are written, once for each bucket; the driver screens them once it has the bits of their
documents. In an exchange a key takes five bytes and a row four, so a document with b bands takes 9 b bytes. A key that
is hot within a single split would make its partition large. Its partition gets only the key; the rows stay in
hot-keys/, where the driver reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neardup.cutting import starts_of
from neardup.kernels import banding
from neardup.spark.exchange import Blob, Blobs, Facts
from neardup.spark.packing import Arrays, packed, unpacked
from neardup.spark.pieces import Job
from neardup.stages import bands as band_stage
from neardup.stages.screen import SMALL, near_pairs
from neardup.types import I32, I64, U8, U64, Mask

RANGES = 1 << 16
"""The number of ranges of keys, by their first two bytes. A partition has consecutive ranges."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """Buckets of rows, end to end."""

    bands: I64
    sizes: I64
    members: I64
    """The rows of all buckets, ascending in each bucket."""

    def some(self, which: Mask | I64) -> Self:
        """Return some buckets, in the order of ``which``."""
        which = np.flatnonzero(which) if which.dtype == np.bool_ else which
        starts, sizes = starts_of(self.sizes)[:-1][which], self.sizes[which]
        places = np.repeat(starts - starts_of(sizes)[:-1], sizes) + np.arange(int(sizes.sum()))
        return type(self)(self.bands[which], sizes, self.members[places])

    def and_(self, more: Self) -> Self:
        """Return these buckets, followed by ``more``."""
        mine, others = (self.bands, self.sizes, self.members), (more.bands, more.sizes, more.members)
        return type(self)(*(np.concatenate(both) for both in zip(mine, others, strict=True)))


@dataclass(frozen=True, slots=True)
class HotRows:
    """Documents whose keys are hot within a single split; all arrays have the same length."""

    rows: I64
    bands: I64
    keys: U64

    @classmethod
    def of(cls, rows: Any, band: int, keys: U8) -> Self:
        """Make the hot rows of one band."""
        return cls(rows, np.full(rows.size, band, dtype=np.int64), as_numbers(keys))

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Join several into one."""
        found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint64))]
        found += [(each.rows, each.bands, each.keys) for each in parts]
        return cls(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def as_arrays(self) -> Arrays:
        """Return the arrays for the storage."""
        return {"hot_rows": self.rows, "hot_bands": self.bands.astype(np.int16), "hot_keys": self.keys}

    @classmethod
    def from_arrays(cls, arrays: Arrays, base: int) -> Self:
        """Read the result of ``as_arrays``, whose rows were counted from ``base``."""
        return cls(arrays["hot_rows"] + base, arrays["hot_bands"].astype(np.int64), arrays["hot_keys"])

    def buckets(self) -> Buckets:
        """Group the rows into buckets by band and key."""
        order = np.lexsort((self.rows, self.keys, self.bands))
        bands, keys = self.bands[order], self.keys[order]
        fresh = np.ones(order.size, dtype=np.bool_)
        fresh[1:] = (bands[1:] != bands[:-1]) | (keys[1:] != keys[:-1])
        begins = np.flatnonzero(fresh)
        return Buckets(bands[begins], np.diff(np.append(begins, order.size)), self.rows[order])


def as_numbers(keys: U8) -> U64:
    """Convert keys (uint8[n, 5]) to numbers."""
    wide = np.zeros((keys.shape[0], 8), dtype=np.uint8)
    wide[:, : keys.shape[1]] = keys
    found: U64 = wide.view(np.uint64)[:, 0]
    return found


def large_buckets(job: Job, parts: int) -> tuple[Buckets, Buckets]:
    """Read the hot buckets and the waiting buckets of all partitions of the keys."""
    columns = "sizes", "members", "hot_rows", "hot_bands", "hot_keys", "hot_splits"
    found = list(job.storage.get_all((f"buckets/{part:06d}" for part in range(parts)), *columns))
    sizes = np.concatenate([each["sizes"] for each in found])
    members = np.concatenate([each["members"] for each in found])
    both = Buckets(sizes[:, 0], sizes[:, 1], members)
    is_hot = sizes[:, 2] == 1
    splits = np.unique(np.concatenate([each["hot_splits"] for each in found])).tolist()
    aside = [HotRows.from_arrays(each, 0) for each in found]
    behind = zip(splits, job.storage.get_all(f"hot-keys/{split:06d}" for split in splits), strict=True)
    aside += [HotRows.from_arrays(each, int(job.bases[split])) for split, each in behind]
    return both.some(is_hot).and_(HotRows.joined(aside).buckets()), both.some(~is_hot)


def give_keys(job: Job, split: int, parts: int) -> Iterator[Blob]:
    """Yield the keys of a split for each partition, by the ranges of the keys; keys of exact copies are left out."""
    keys = job.storage.get(f"keys/{split:06d}")["keys"]
    weight = weights_of(job, split)
    rows = np.flatnonzero(weight).astype(np.uint32)
    part_of = (np.arange(RANGES) * parts // RANGES).astype(np.uint16)
    counts = np.zeros((parts, keys.shape[0]), dtype=np.int64)
    of_band: list[NDArray[np.uint32]] = []
    hot: list[HotRows] = []
    for band, mine in enumerate(keys):
        of_range, load = np.zeros((2, RANGES), dtype=np.int64)
        banding.weigh_ranges(mine, rows, weight, of_range, load)
        here, is_hot = rows, _is_hot_here(mine, rows, weight, load, job.spec.crowd)
        if is_hot is not None:
            hot.append(HotRows.of(rows[is_hot].astype(np.int64), band, mine[rows[is_hot]]))
            here = rows[~is_hot]
            of_range -= np.bincount(_ranges(mine[rows[is_hot]]), minlength=RANGES)
        of_band.append(here)
        counts[:, band] = np.bincount(part_of, of_range, minlength=parts)
    marks = _marks(hot, part_of)
    if hot:
        job.storage.put(f"hot-keys/{split:06d}", **HotRows.joined(hot).as_arrays())
    ends = starts_of(counts.ravel()).astype(np.int64)
    place = ends[:-1].reshape(counts.shape).copy()
    to_rows, to_keys = np.empty(int(ends[-1]), np.uint32), np.empty((int(ends[-1]), band_stage.KEY_BYTES), np.uint8)
    for band, here in enumerate(of_band):
        next_of = place[:, band].copy()
        banding.spread_ranges(keys[band], here, part_of, next_of, to_rows, to_keys)
    is_heavy = bool((weight > 1).any())
    firsts = np.append(place[:, 0], ends[-1])
    for number in range(parts):
        some = slice(firsts[number], firsts[number + 1])
        places = to_rows[some]
        if places.size or number in marks:
            blob: Arrays = {"rows": places, "keys": to_keys[some], "ends": starts_of(counts[number])}
            if is_heavy:
                at = np.flatnonzero(weight[places] > 1)
                blob |= {"heavy": at, "weight": weight[places[at]]}
            yield number, packed(blob | marks.get(number, {}))


def _ranges(keys: U8) -> NDArray[np.uint32]:
    """Return the range of each key, a number below RANGES."""
    found: NDArray[np.uint32] = (keys[:, 0].astype(np.uint32) << np.uint32(8)) | keys[:, 1].astype(np.uint32)
    return found


def _is_hot_here(keys: U8, rows: NDArray[np.uint32], weight: I32, load: I64, limit: int) -> Mask | None:
    """Return a mask of the rows whose key several rows of this split make hot, or None if there is no such key.

    ``load`` has the sum of the weights of the rows for each range of keys.
    """
    if load.max() <= limit:
        return None
    close = np.flatnonzero(load[_ranges(keys[rows])] > limit)
    _, of, count = np.unique(as_numbers(keys[rows[close]]), return_inverse=True, return_counts=True)
    is_hot = (np.bincount(of, weight[rows[close]]) > limit) & (count > 1)
    if not is_hot.any():
        return None
    found = np.zeros(rows.size, dtype=np.bool_)
    found[close[is_hot[of]]] = True
    return found


def _marks(hot: list[HotRows], part_of: NDArray[np.uint16]) -> dict[int, Arrays]:
    """Return the keys that are hot within a split, by the partition that they belong to."""
    found: dict[int, Arrays] = {}
    for each in hot:
        keys = np.unique(each.keys)
        part = part_of[_ranges(keys.view(np.uint8).reshape(-1, 8))]
        for number in np.unique(part).tolist():
            mine = keys[part == number]
            marks = found.setdefault(number, {"marks": keys[:0], "mark_bands": each.bands[:0]})
            marks["marks"] = np.concatenate((marks["marks"], mine))
            marks["mark_bands"] = np.concatenate((marks["mark_bands"], np.full(mine.size, each.bands[0])))
    return found


def weights_of(job: Job, split: int) -> I32:
    """Count the documents that each document of a split represents, int32[n]; 0 for copies and empty texts."""
    weight = (job.storage.get(f"read/{split:06d}", "counts")["counts"] > 0).astype(np.int32)
    known = job.storage.get(f"weights/{split:06d}")
    weight[known["places"]] = known["weight"]
    return weight


def take_keys(job: Job, part: int, blobs: Blobs) -> Facts:
    """Find the buckets of a partition, and write the pairs of small buckets and the members of large buckets."""
    screen = job.spec.screening
    given = [(job.bases[split], unpacked(blob)) for split, blob in blobs]
    hot, hot_splits = [], [split for (split, _), (_, blob) in zip(blobs, given, strict=True) if "marks" in blob]
    left: list[I64] = [np.empty(0, np.int64)]
    right: list[I64] = [np.empty(0, np.int64)]
    large: list[I64] = [np.empty(0, np.int64)]
    sizes: list[I64] = []
    for band in range(job.spec.bands.bands):
        rows, keys, weight = _of_band(given, band)
        marks = [blob["marks"][blob["mark_bands"] == band] for _, blob in given if "marks" in blob]
        if marks:
            is_hot = np.isin(as_numbers(keys), np.concatenate(marks))
            hot.append(HotRows.of(rows[is_hot], band, keys[is_hot]))
            rows, keys, weight = rows[~is_hot], keys[~is_hot], weight[~is_hot]
        if rows.size < 2:
            continue
        found = band_stage.group(keys, np.arange(rows.size), weight, limit=job.spec.crowd)
        for members in found.hot:
            large.append(rows[members])
            sizes.append(np.array([[band, members.size, 1]]))
        for a, b, _ in near_pairs(found.members, found.starts, screen, None):
            left.append(rows[a])
            right.append(rows[b])
        members, starts = found.chosen(np.diff(found.starts) > SMALL)
        waiting = np.diff(starts)
        large.append(rows[members])
        sizes.append(np.column_stack((np.full(waiting.size, band), waiting, np.zeros_like(waiting))))
    job.storage.put(
        f"buckets/{part:06d}",
        left=np.concatenate(left),
        right=np.concatenate(right),
        members=np.concatenate(large),
        sizes=np.concatenate([np.empty((0, 3), np.int64), *sizes]),
        hot_splits=np.array(hot_splits, dtype=np.int64),
        **HotRows.joined(hot).as_arrays(),
    )
    return {"pairs": sum(each.size for each in left), "members": sum(each.size for each in large)}


def _of_band(given: list[tuple[I64, Arrays]], band: int) -> tuple[I64, U8, I32]:
    """Return the rows of one band, ascending, with their keys and weights."""
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
