"""Exact copies: documents of one normalised text become one representative with a weight.

A print of each text says which may be copies; that they are is decided by comparing the texts, byte for byte.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME, cut, starts_of
from neardup.engine.reading.collection import Collection
from neardup.engine.threads import in_order
from neardup.stages.bands import KEY_BYTES, PARTS, grouped, part_sizes
from neardup.types import I32, I64, U8, Mask

KEYED_BYTES = 16
"""Memory for each row whose print is compared with others."""
MANY = 1 << 20
"""Documents from which several threads look for copies: each passes over all prints."""
PAIRS_AT_A_TIME = 1 << 20
"""Pairs of texts that a thread compares at a time: what is known of them is looked up together, on disk by passing over
columns of the whole collection."""
PAIR_BYTES = 256
"""Memory for each of them, beside the texts."""
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

    def apart(self) -> Copies:
        """The same documents, each for itself: for whom it matters which of the copies a pair has."""
        weight = np.minimum(self.weight, 1)
        weight[self.members] = 1
        nothing = np.empty(0, dtype=np.int64)
        return Copies(weight, nothing, np.zeros(1, dtype=np.int64), nothing, self.empty)

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


def find_copies(collection: Collection, *, threads: int = 1) -> Copies:
    """Group documents by their normalised text. O(n), in parts that fit the budget.

    Each document that shares the beginning of its print with another is read once more.
    """
    n = len(collection)
    weight = np.ones(n, dtype=np.int32)
    empty = 0
    for first, counts in collection.counts.scan(ROWS_AT_A_TIME):
        weight[first : first + counts.size] = counts > 0
        empty += int(np.count_nonzero(counts == 0))
    of, members = _verified(collection, *_suspects(collection, weight, threads), threads=threads)
    starts = np.flatnonzero(np.append(True, of[1:] != of[:-1])) if of.size else np.empty(0, dtype=np.int64)
    several = of[starts]
    weight[members] = 0
    weight[several] = np.diff(starts, append=of.size)
    return Copies(weight, several, np.append(starts, of.size).astype(np.int64), members, empty)


def _suspects(collection: Collection, weight: I32, threads: int) -> tuple[I64, I64]:
    """Rows with weight that share KEY_BYTES of their print: (first row of the group of each, rows), in order.

    They are grouped as the keys of a band are; texts that share so little of their prints by chance, a pair of two
    million documents, are told apart when they are compared.
    """

    def blocks() -> Iterator[tuple[int, U8]]:
        for first, prints in collection.prints.scan(ROWS_AT_A_TIME):
            yield first, prints.view(np.uint8)[:, :KEY_BYTES]

    fit = max(1, collection.space.budget.share(0.3) // (KEYED_BYTES * threads))
    n = len(collection)
    parts = min(PARTS, max(-(-n // fit), threads if n >= MANY else 1))
    counts = part_sizes(blocks, weight) if parts > 1 else None
    groups = in_order(lambda part: grouped(blocks, weight, part, parts, counts), range(parts), threads=threads)
    found = list(groups)
    members = np.concatenate([rows for rows, _ in found])
    sizes = np.concatenate([np.diff(starts) for _, starts in found])
    starts = starts_of(sizes)
    order = np.argsort(members[starts[:-1]])
    sizes = sizes[order]
    place = np.repeat(starts[:-1][order] - starts_of(sizes)[:-1], sizes) + np.arange(members.size)
    return np.repeat(members[starts[:-1][order]], sizes), members[place]


def _verified(collection: Collection, of: I64, members: I64, *, threads: int) -> tuple[I64, I64]:
    """Groups of equal texts from groups that may be: (first row of the group of each, rows), in order.

    Who is not equal to the first of the group is put together with others by a second print, keyed by a secret of this
    call, and held against the first of these. So texts made to share their public print cost two readings, not one
    for each pair of them.
    """
    room = max(1 << 16, collection.space.budget.share(0.15))
    kept: list[tuple[I64, I64]] = []
    while members.size:
        others = np.flatnonzero(members != of)

        def same(some: slice, of: I64 = of, members: I64 = members, others: I64 = others) -> Mask:
            pairs = others[some]
            return collection.texts.same(of[pairs], members[pairs], room // threads)

        step = max(1 << 12, min(PAIRS_AT_A_TIME, -(-others.size // threads), room // (PAIR_BYTES * threads)))
        pieces = (slice(first, first + step) for first in range(0, others.size, step))
        equal = np.ones(members.size, dtype=np.bool_)
        equal[others] = np.concatenate([np.empty(0, np.bool_), *in_order(same, pieces, threads=threads)])
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
    return repeated_rows(members, fresh)


def repeated_rows(rows: I64, fresh: Mask) -> tuple[I64, I64]:
    """Groups that begin where ``fresh`` is set, the single ones left out: (first row of the group of each, rows)."""
    group = np.cumsum(fresh) - 1
    repeated = np.bincount(group)[group] > 1
    return rows[fresh][group[repeated]], rows[repeated]
