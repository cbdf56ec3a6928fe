"""Banding: candidate pairs of signatures, and the hot buckets that are too large to pair up.

Each band has its own keys, buckets and pairs. A pair counts once, in the first band in which its signatures agree, and
is dropped at once unless they agree in enough slots. A bucket with more documents than the crowd limit is *hot*: it is
returned whole, and ``engine`` compares its documents with leaders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import cut, starts_of
from neardup.kernels import banding
from neardup.params import Bands
from neardup.stages.shingle import SALT
from neardup.types import I32, I64, U8, U32, U64, Mask, frozen

PARTS = banding.PARTS
"""The most parts that ``grouped`` can make."""
KEY_BYTES = 5
"""The size of a short key. Among n rows, n squared / 2**41 pairs meet in a band by chance and are dropped later:
half a million pairs for a billion rows, where keys of 32 bits would make a hundred million."""
PAIRS_AT_A_TIME = 1 << 16
"""The most pairs that are yielded at a time: one bucket may have millions."""


@dataclass(frozen=True, slots=True)
class BandBuckets:
    """The buckets of one band."""

    members: I64
    """The rows of the buckets, end to end."""
    starts: I64
    """int64[buckets + 1]: the index in ``members`` where each bucket starts, and their end."""
    hot: list[I64]
    """The rows of each bucket with more documents than the limit; these rows are not in ``members``."""

    def chosen(self, which: Mask) -> tuple[I64, I64]:
        """Return the members and starts of the chosen buckets."""
        sizes = np.diff(self.starts)
        return self.members[np.repeat(which, sizes)], starts_of(sizes[which])

    def pieces(self, room: int) -> Iterator[tuple[I64, I64]]:
        """Yield the members and starts of as many buckets at a time as fit into ``room`` members, but at least one."""
        for part in cut(np.diff(self.starts), room):
            starts = self.starts[part.start : part.stop + 1]
            yield self.members[starts[0] : starts[-1]], starts - starts[0]


def keys_of(values: U32, bands: Bands) -> U64:
    """Return the keys of all rows in all bands, uint64[bands, n]."""
    keys = np.empty((bands.bands, values.shape[0]), dtype=np.uint64)
    if bands.bands:  # the joins have no bands, and no signatures to make keys from
        banding.all_keys(values, bands.rows, keys)
    return keys


def short_keys(values: U32, bands: Bands) -> U8:
    """Return the 40-bit keys of all rows in all bands, uint8[bands, n, KEY_BYTES].

    Equal slots have equal keys. Among n rows with different slots, n squared / 2**41 pairs have equal keys by chance.
    """
    keys = np.empty((bands.bands, values.shape[0], KEY_BYTES), dtype=np.uint8)
    put_short_keys(values, bands, 0, keys)
    return keys


def put_short_keys(values: U32, bands: Bands, first: int, keys: U8) -> None:
    """Write the ``short_keys`` of some consecutive rows into ``keys`` of all rows, starting at row ``first``."""
    if bands.bands:
        banding.short_keys(values, bands.rows, first, keys)


def as_numbers(keys: U8) -> U64:
    """Convert keys, uint8[m, KEY_BYTES], to numbers, uint64[m]."""
    wide = np.zeros((keys.shape[0], 8), dtype=np.uint8)
    wide[:, 8 - KEY_BYTES :] = keys
    return wide.view(">u8").astype(np.uint64).ravel()


KeyBlocks = Callable[[], Iterable[tuple[int, U8]]]
"""A function whose every call returns (first row, uint8[m, KEY_BYTES]) for all rows, block by block, in order."""


def part_sizes(blocks: KeyBlocks, weight: I32) -> I64:
    """Count the rows with a weight (int32[n]) above 0 in each of the PARTS parts of the keys; int64[PARTS]."""
    counts = np.zeros(PARTS, dtype=np.int64)
    for first, keys in blocks():
        banding.count_parts(frozen(keys), weight, first, counts)
    return counts


def counts_of(keys: U8) -> I64:
    """Count ``part_sizes`` for each band of keys, uint8[bands, n, KEY_BYTES], taking all rows; int64[bands, PARTS]."""
    counts = np.zeros((keys.shape[0], PARTS), dtype=np.int64)
    everyone = np.ones(keys.shape[1], dtype=np.int32)
    for of_band, counted in zip(keys, counts, strict=True):
        banding.count_parts(frozen(of_band), everyone, 0, counted)
    return counts


def grouped(
    blocks: KeyBlocks,
    weight: I32,
    part: int = 0,
    parts: int = 1,
    counts: I64 | None = None,
    packed: U64 | None = None,
) -> tuple[I64, I64]:
    """Find the buckets of equal short keys in one of ``parts`` key ranges: their members, ascending, and their starts.

    ``weight`` is int32[n], 0 for rows that are left out. ``counts`` are the ``part_sizes`` of these or of more rows, if
    the caller has them. ``packed`` is a buffer with room for the rows that ``counts`` has in the range. Time: O(n).
    Memory: 8 bytes for each row in the range, and little more.
    """
    counts = part_sizes(blocks, weight) if counts is None else counts
    low, high = part * PARTS // parts, (part + 1) * PARTS // parts
    begins = starts_of(counts[low:high])
    packed = np.empty(int(begins[-1]), dtype=np.uint64) if packed is None else packed
    place = np.zeros(PARTS, dtype=np.int64)
    place[low:high] = begins[:-1]
    for first, keys in blocks():
        banding.scatter_parts(frozen(keys), weight, first, low, high, place, packed)
    members, starts = banding.group_parts(packed, begins[:-1], place[low:high], SALT)
    return members, starts


def group(keys: U8, rows: I64, weight: I32, *, limit: int) -> BandBuckets:
    """Find the buckets of equal short keys (uint8[m, KEY_BYTES]) of ``rows``; see ``limited``."""
    members, starts = grouped(lambda: [(0, keys)], np.ones(rows.size, dtype=np.int32))
    return limited(rows[members], starts, weight, limit=limit)


def limited(members: I64, starts: I64, weight: I32, *, limit: int) -> BandBuckets:
    """Separate the hot buckets: those with more documents than ``limit``, as counted by ``weight`` (int32[n])."""
    if members.size == 0:
        return BandBuckets(members, starts, [])
    load = np.add.reduceat(weight[members], starts[:-1], dtype=np.int64)
    over = np.flatnonzero(load > limit)
    if over.size == 0:
        return BandBuckets(members, starts, [])
    hot = [members[starts[b] : starts[b + 1]].copy() for b in over]
    return BandBuckets(*BandBuckets(members, starts, []).chosen(load <= limit), hot)


def first_bands(values: U32, left: I64, right: I64, bands: Bands) -> tuple[I64, I64]:
    """Return the first band in which the signatures of each pair agree, and the number of slots that agree."""
    first, same = np.empty(left.size, dtype=np.int64), np.empty(left.size, dtype=np.int64)
    banding.first_bands(values, left, right, bands.bands, bands.rows, first, same)
    return first, same


def pair_up(
    buckets: BandBuckets, values: U32, crowd: I32, *, band: int, rows: int, min_matches: int, by_crowd: bool = False
) -> Iterator[tuple[I64, I64, int]]:
    """Yield candidate pairs in the buckets of one band that pass the estimate filter, at most PAIRS_AT_A_TIME at once.

    Pairs that agree in a band before ``band``, or are inside one crowd, are skipped; ``crowd`` is int32[n], -1 for rows
    in no crowd. With ``by_crowd``, the members of each bucket are sorted by crowd, so that skipping a crowd costs
    nothing. Each item is left, right (left < right) and the number of candidates met among them before the filter.
    """
    state = np.array([0, 0, 1, 0, 0], dtype=np.int64)  # the first pair is (0, 1)
    room = 1024
    while not state[4]:
        left, right = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        state[3] = 0
        n = banding.bucket_pairs(
            *(buckets.members, buckets.starts, values, band, rows, min_matches), *(crowd, by_crowd, state, left, right)
        )
        yield left[:n], right[:n], int(state[3])
        room = min(4 * room, PAIRS_AT_A_TIME)


class Leading:
    """The leaders of one hot bucket, found member by member. Signatures come in pieces, so not all are in memory."""

    def __init__(self, known: I64, known_values: U32, *, most: int, min_matches: int) -> None:
        """Begin with the rows that are already leaders, in this bucket or elsewhere, and their signatures.

        A bucket has at most ``most`` leaders; a member and its leader must agree in ``min_matches`` slots.
        """
        self._held = held = min(known.size, most)
        self._min_matches = min_matches
        self._rows = np.full(most, -1, dtype=np.int64)
        self._values = np.empty((most, known_values.shape[1]), dtype=np.uint32)
        self._rows[:held] = known[:held]
        self._values[:held] = known_values[:held]

    def nearest(self, members: I64, values: U32) -> I64:
        """Return the leader that each of the next members should be compared with, or -1.

        ``members`` are rows in the order in which they may lead; ``values`` (uint32[m, slots]) are their signatures.
        """
        best = np.empty(members.size, dtype=np.int64)
        self._held = int(
            banding.star_leaders(members, values, self._rows, self._values, self._held, self._min_matches, best)
        )
        return best
