"""Buckets kept for later, and pairing up the members of buckets wherever their signatures are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME, cut, starts_of
from neardup.engine.reading.collection import Collection
from neardup.engine.space import Space
from neardup.spool import Column, MemoryColumn
from neardup.stages import bands as band_stage
from neardup.stages.bands import BandBuckets
from neardup.types import I32, I64

__all__ = ["Bucket", "Buckets", "pair_members"]


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where the members of a bucket lie."""

    band: int
    start: int
    size: int
    mark: int
    """Smallest text hash of its members: an order of buckets that does not depend on rows."""


class Buckets:
    """Members of buckets, band after band, in memory or in a file."""

    def __init__(self, name: str, collection: Collection, space: Space) -> None:
        self._collection = collection
        self._rows: Column = (
            MemoryColumn(np.int64) if space.workdir is None else space.workdir.column(f"{name}-rows", np.int64)
        )
        self._sizes: Column = (
            MemoryColumn(np.int64, 2) if space.workdir is None else space.workdir.column(f"{name}-sizes", np.int64, 2)
        )
        """Band and size of each bucket."""
        self._marked: list[Bucket] = []

    def __len__(self) -> int:
        return len(self._sizes)

    def state(self) -> list[list[int]]:
        """The marked buckets as JSON values; what lies in columns needs none."""
        return [[bucket.band, bucket.start, bucket.size, bucket.mark] for bucket in self._marked]

    def restore(self, state: list[list[int]]) -> None:
        """Take back what ``state`` gave."""
        self._marked = [Bucket(*each) for each in state]

    def add(self, band: int, members: I64) -> None:
        """Keep one bucket that will be asked for by itself."""
        mark = min(
            int(self._collection.prints.take(members[i : i + ROWS_AT_A_TIME])[:, 0].min())
            for i in range(0, members.size, ROWS_AT_A_TIME)
        )
        self._marked.append(Bucket(band, len(self._rows), members.size, mark))
        self.add_all(band, members, np.array([0, members.size]))

    def add_all(self, band: int, members: I64, starts: I64) -> None:
        """Keep buckets that will be asked for in pieces."""
        if members.size:
            sizes = np.diff(starts)
            self._rows.append(members)
            self._sizes.append(np.column_stack((np.full(sizes.size, band), sizes)))

    def bands(self) -> list[int]:
        """Bands that have buckets, rising."""
        seen: set[int] = set()
        for _, sizes in self._sizes.scan(ROWS_AT_A_TIME):
            seen.update(np.unique(sizes[:, 0]).tolist())
        return sorted(seen)

    def marked(self) -> list[Bucket]:
        """The buckets that ``add`` kept."""
        return list(self._marked)

    def rows(self, bucket: Bucket) -> I64:
        """Members of one of them."""
        rows: I64 = np.array(self._rows.slice(bucket.start, bucket.start + bucket.size))
        return rows

    def pieces(self, band: int, room: int) -> Iterator[tuple[I64, I64]]:
        """Buckets of a band as (members, starts), each piece with about ``room`` members."""
        at = 0
        for _, sizes in self._sizes.scan(ROWS_AT_A_TIME):
            for part in cut(sizes[:, 1], room):
                of, size = sizes[part].T
                stop, mine = at + int(size.sum()), of == band
                if mine.any():
                    rows = self._rows.slice(at, stop)
                    yield np.array(rows[np.repeat(mine, size)]), starts_of(size[mine])
                at = stop


def pair_members(
    collection: Collection, members: I64, starts: I64, crowd: I32 | None, *, band: int, by_crowd: bool = False
) -> Iterator[tuple[I64, I64, int]]:
    """Candidate pairs of buckets that pass the estimate filter, in pieces; see ``stages.bands.pair_up``.

    ``crowd`` is int32[n], or None when pairs inside crowds are wanted too.
    """
    spec, values = collection.spec, collection.resident
    rows = members
    if values is None:
        values = collection.values.take(members)
        members = np.arange(rows.size)
        crowd = np.full(rows.size, -1, dtype=np.int32) if crowd is None else crowd[rows]
    elif crowd is None:
        crowd = np.full(len(collection), -1, dtype=np.int32)
    pieces = band_stage.pair_up(
        BandBuckets(members, starts, []),
        values,
        crowd,
        band=band,
        rows=spec.bands.rows,
        min_matches=spec.min_matches,
        by_crowd=by_crowd,
    )
    for left, right, met in pieces:
        if collection.resident is None:
            left, right = rows[left], rows[right]
            left, right = np.minimum(left, right), np.maximum(left, right)
        yield left, right, met
