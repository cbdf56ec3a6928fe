"""Exact copies: documents of one normalised text become one representative with a weight.

A print of each text says which may be copies; that they are is decided by comparing the texts, byte for byte.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME, cut, distinct, starts_of
from neardup.engine.reading.collection import Collection
from neardup.types import I32, I64, U8, U64, Mask

COPY_BYTES = 80
"""Memory for each row whose print is compared with others."""
AT_A_TIME = 96 << 20
"""Bytes for them that are enough, whatever the limit is: the prints are passed over once for each part."""
ROW_BYTES = 64
"""Memory for each row whose text is looked at, beside the text."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Which rows are copies of which. Groups of one are not listed."""

    weight: I32
    """int32[n]: documents that a representative stands for; 0 for a copy of an earlier one and for an empty one."""
    several: I64
    """Representatives of two documents and more, rising."""
    starts: I64
    """int64[groups + 1] into ``members``."""
    members: I64
    """Rows of each group, rising, the representative first."""
    empty: int
    """Documents without a shingle."""

    @property
    def documents(self) -> int:
        """Documents that an earlier one is a copy of."""
        return self.members.size - self.several.size

    def of(self, row: int) -> I64:
        """All rows that have the text of representative ``row``, itself first."""
        at = int(np.searchsorted(self.several, row))
        if at < self.several.size and self.several[at] == row:
            return self.members[self.starts[at] : self.starts[at + 1]]
        return np.array([row], dtype=np.int64)

    def sides(self, rows: I64, split_row: int) -> U8:
        """uint8[m]: where documents of representatives ``rows`` lie: 1 before ``split_row``, 2 from it on, 3 both."""
        sides = np.where(rows < split_row, 1, 2).astype(np.uint8)
        if self.several.size:
            behind = np.maximum.reduceat(self.members, self.starts[:-1]) >= split_row
            both = self.several[behind & (self.several < split_row)]
            sides[np.searchsorted(rows, both)] = 3
        return sides

    def spread(self, rows: I64) -> tuple[I64, I64]:
        """Groups of representatives end to end: (starts[m + 1], members), in the order of ``rows``."""
        sizes = self.weight[rows].astype(np.int64)
        starts = starts_of(sizes)
        members = np.repeat(rows, sizes)
        many = np.flatnonzero(sizes > 1)
        group = np.searchsorted(self.several, rows[many])
        inside = np.repeat(np.arange(many.size), sizes[many])
        place = np.arange(inside.size) - np.repeat(np.cumsum(sizes[many]) - sizes[many], sizes[many])
        members[starts[many][inside] + place] = self.members[self.starts[group][inside] + place]
        return starts, members


def find_copies(collection: Collection) -> Copies:
    """Group documents by their normalised text. O(n), in parts that fit the budget.

    Each document that shares its print with another is read once more, in the order of the rows.
    """
    n = len(collection)
    weight = np.ones(n, dtype=np.int32)
    empty = 0
    for first, counts in collection.counts.scan(ROWS_AT_A_TIME):
        weight[first : first + counts.size] = counts > 0
        empty += int(np.count_nonzero(counts == 0))
    parts = 1
    while COPY_BYTES * n > parts * min(AT_A_TIME, collection.space.budget.share(0.5)) and parts < 256:
        parts *= 2
    found = [_copies_in(collection, weight, part, parts) for part in range(parts)]
    of, members = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((members, of))
    of, members = _verified(collection, of[order], members[order])
    several, starts, sizes = np.unique(of, return_index=True, return_counts=True)
    weight[members] = 0
    weight[several] = sizes
    return Copies(weight, several, np.append(starts, members.size).astype(np.int64), members, empty)


def _verified(collection: Collection, of: I64, members: I64) -> tuple[I64, I64]:
    """Groups of equal texts from groups of equal prints: (first row of the group of each, rows), in order.

    Who is not equal to the first of the group is put together with others by a second print, keyed by a secret of this
    call, and held against the first of these. So texts made to share their public print cost two readings, not one
    for each pair of them.
    """
    room = max(1 << 16, collection.space.budget.share(0.15))
    kept: list[tuple[I64, I64]] = []
    while members.size:
        others = members != of
        equal = ~others
        equal[others] = collection.texts.same(of[others], members[others], room)
        if equal.all() and not kept:
            return of, members
        kept.append((of[equal], members[equal]))
        of, members = _regrouped(collection, of[~equal], members[~equal], room)
    if not kept:
        return of, members
    of, members = (np.concatenate(columns) for columns in zip(*kept, strict=True))
    order = np.lexsort((members, of))
    of, members = of[order], members[order]
    _, group, sizes = np.unique(of, return_inverse=True, return_counts=True)
    several = sizes[group] > 1  # the first of a group may have been left alone
    return of[several], members[several]


def _regrouped(collection: Collection, of: I64, members: I64, room: int) -> tuple[I64, I64]:
    """Groups of rows of one group and one secret print, the single ones left out."""
    secret = os.urandom(32)
    digests = np.empty((members.size, 2), dtype=np.uint64)
    order = np.argsort(members)
    lengths = collection.texts.lengths(members[order])
    for some in cut(lengths + ROW_BYTES, room):
        mine = order[some]
        for documents, local, part in collection.texts.parts(members[mine]):
            for place, row in zip(local.tolist(), mine[part].tolist(), strict=True):
                digest = hashlib.blake2b(documents.blob(place), digest_size=16, key=secret).digest()
                digests[row] = np.frombuffer(digest, dtype=np.uint64)
    order = np.lexsort((members, digests[:, 1], digests[:, 0], of))
    of, members, digests = of[order], members[order], digests[order]
    fresh = np.ones(members.size, dtype=np.bool_)
    fresh[1:] = (of[1:] != of[:-1]) | np.any(digests[1:] != digests[:-1], axis=1)
    return _repeated(members, fresh)


def _repeated(rows: I64, fresh: Mask) -> tuple[I64, I64]:
    """Groups that begin where ``fresh`` is set, the single ones left out: (first row of the group of each, rows)."""
    group = np.cumsum(fresh) - 1
    repeated = np.bincount(group)[group] > 1
    return rows[fresh][group[repeated]], rows[repeated]


def _copies_in(collection: Collection, weight: I32, part: int, parts: int) -> tuple[I64, I64]:
    """Rows with copies whose hash lies in one part, and the first row of each one's group."""
    kept: list[tuple[I64, U64]] = [(np.empty(0, dtype=np.int64), np.empty((0, 2), dtype=np.uint64))]
    for first, prints in collection.prints.scan(ROWS_AT_A_TIME):
        inside = weight[first : first + len(prints)] > 0
        if parts > 1:
            inside &= (prints[:, 0] % np.uint64(parts)) == part
        at = np.flatnonzero(inside)
        kept.append((at + first, prints[at]))
    rows, prints = (np.concatenate(column) for column in zip(*kept, strict=True))
    del kept
    return repeated_prints(rows, prints)


def repeated_prints(rows: I64, prints: U64) -> tuple[I64, I64]:
    """Rows (rising) whose print (uint64[m, w]) another row has, too: (first row of the group of each, rows)."""
    nothing = rows[:0]
    order = np.argsort(prints[:, 0], kind="stable")
    keys = prints[order, 0]
    same = np.flatnonzero(keys[1:] == keys[:-1])
    if same.size == 0:
        return nothing, nothing
    # only rows that share half of their hash with a neighbour are looked at closely
    close = distinct(np.concatenate((order[same], order[same + 1])))
    close = close[np.lexsort(prints[close].T[::-1])]  # stable: rows of a group stay in order
    fresh = np.ones(close.size, dtype=np.bool_)
    fresh[1:] = np.any(prints[close[1:]] != prints[close[:-1]], axis=1)
    return _repeated(rows[close], fresh)
