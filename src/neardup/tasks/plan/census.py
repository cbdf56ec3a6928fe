"""A census of the similarity in a sample: the number of pairs that agree in each number of slots.

The slots of a sketch are exchangeable: if a pair agrees in M of S slots, any M of them are as likely as any others. So
a prediction for another banding of up to S slots needs only the number of pairs that agree in M slots, for each M. No
similarity has to be known exactly, because ``band_chances`` is an exact counterpart of the S-curve.

Pairs drawn at random represent the mass of dissimilar pairs, but would miss the few similar ones. So similar pairs come
from generous bands on the sample, weighted by the inverse of their probability of meeting (Horvitz, Thompson 1952).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from neardup.engine.threads import in_order
from neardup.params import Bands, Screen
from neardup.stages import bands as band_stage
from neardup.types import F64, I32, I64, U32

Flags = NDArray[np.bool_]

RANDOM_PAIRS = 600_000
"""The number of pairs drawn at random; if a sample has no more pairs, all of them are compared."""
MOST_MET = 1_000_000
"""The approximate number of pairs that may meet in the bands."""
BANDS = 64
FEWEST_ROWS, MOST_ROWS = 3, 12
FEW_BANDS = 16
"""The number of bands if very many texts are similar, because each band would meet all their pairs."""
LEAST_CHANCE = 0.05
"""Pairs that meet with a smaller probability than this are counted by the random pairs."""
STEP = 1 << 14
"""The number of pairs compared in one task."""
MOST_CROWDS = 100
"""The most crowds that are found in a sample."""
MOST_EXACT = 1000
"""The most slots for which binomial coefficients fit into floats."""


def band_chances(slots: int, bands: Bands) -> F64:
    """Return the probability that a pair meets in some band, if it agrees in M slots, for each M from 0 to ``slots``.

    Any M slots are equally likely. The result is an unbiased counterpart of ``s_curve``, by observed slots instead of
    true similarity. The coefficients of ((1 + x)**r - x**r)**b (1 + x)**rest count the ways to place M matches so that
    no band is full. Above 1000 slots they exceed a float64; bands are then nearly independent and are taken as such.

    >>> band_chances(4, Bands(2, 2)).round(3).tolist()
    [0.0, 0.0, 0.333, 1.0, 1.0]
    """
    if slots > MOST_EXACT:
        met: F64 = 1.0 - (1.0 - meetings(slots, Bands(1, bands.rows))) ** bands.bands
        return met
    spoilt = _ways(bands.rows).copy()
    spoilt[-1] = 0.0
    placed = _ways(slots - bands.slots)
    count = bands.bands
    while count:  # powers by squaring
        if count & 1:
            placed = np.convolve(placed, spoilt)
        count >>= 1
        if count:
            spoilt = np.convolve(spoilt, spoilt)
    chances: F64 = np.clip(1.0 - placed / _ways(slots), 0.0, 1.0)
    return chances


@lru_cache(maxsize=16)
def _ways(n: int) -> F64:
    """Return the binomial coefficients C(n, 0) to C(n, n). The array is cached: read only."""
    return np.array([math.comb(n, m) for m in range(n + 1)], dtype=np.float64)


def meetings(slots: int, bands: Bands) -> F64:
    """Return the expected number of bands in which a pair meets, for each number of slots in which the pair agrees."""
    agree, often = np.arange(slots + 1.0), np.full(slots + 1, float(bands.bands))
    for i in range(bands.rows):
        often *= np.maximum(agree - i, 0) / (slots - i)
    return often


@lru_cache(maxsize=16)
def slot_shares(many: int, few: int) -> F64:
    """Return the probability that a pair that agrees in M of ``many`` slots agrees in m of ``few`` of these slots.

    The array, float64[many + 1, few + 1], is the hypergeometric distribution, ``few <= many``. It is cached: read only.
    """
    log = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, many + 1)))))
    seen, kept = np.arange(many + 1)[:, None], np.arange(few + 1)[None, :]
    possible = (kept <= seen) & (few - kept <= many - seen)
    a, b = np.where(possible, kept, 0), np.where(possible, few - kept, 0)
    left = np.where(possible, many - seen, few)
    ways = log[np.where(possible, seen, 0)] - log[a] - log[np.where(possible, seen, 0) - a]
    ways = ways + log[left] - log[b] - log[left - b] - (log[many] - log[few] - log[many - few])
    return np.where(possible, np.exp(ways), 0.0)


def pass_chances(many: int, slots: int, bands: Bands, screen: Screen) -> tuple[F64, F64]:
    """Return how often a pair counts as a candidate, and how likely it is checked, if it agrees in M of ``many`` slots.

    A pair counts once if it passes the screen, otherwise once for each band of ``slots`` in which it meets. The result
    is exact if each slot has a field. If not, agreeing fields are taken as independent of the bands, and the chance is
    off by at most 0.01. Pairs of large buckets, whose whole signatures are compared, are taken to pass like others.
    """
    met, often, once = band_chances(slots, bands), meetings(slots, bands), np.zeros(slots + 1)
    others = band_chances(slots - bands.rows, Bands(bands.bands - 1, bands.rows))
    once[bands.rows :] = often[bands.rows :] * (1.0 - others)
    passing = _passing_fields(screen.fields, screen.width)[:, [screen.least, screen.least_alone]]
    several, alone = (slot_shares(slots, screen.fields) @ passing).T
    shares = slot_shares(many, slots)
    return shares @ (often - (often - met) * several), shares @ ((met - once) * several + once * alone)


@lru_cache(maxsize=16)
def _passing_fields(fields: int, width: int) -> F64:
    """Return the probability that at least j fields agree if just a of their slots do, float64[fields + 1, fields + 1].

    The field of a slot that differs agrees by chance, with probability ``2**-width``. The array is cached: read only.
    """
    passing = np.ones((fields + 1, fields + 1))
    by_chance = np.append(1.0, np.zeros(fields))  # the chance that 0, 1, … of the differing slots agree
    for others in range(fields + 1):
        passing[fields - others, fields - others :] = by_chance[: others + 1][::-1].cumsum()[::-1]
        by_chance += (np.append(0.0, by_chance[:-1]) - by_chance) * 2.0**-width
    return passing


@dataclass(frozen=True, slots=True)
class Census:
    """Pairs of a sample, each with the number of pairs that it represents."""

    slots: int
    left: I64
    right: I64
    """Indices of the texts in the sample; ``left < right``."""
    matches: I64
    """The number of slots in which each pair agrees."""
    weight: F64
    """The number of pairs of the sample that each pair represents; they sum to about all pairs."""
    near_texts: int
    """The number of texts searched for similar pairs: the whole sample, or fewer if too many texts are similar."""

    def agreeing(self, values: U32, *, threads: int) -> I64:
        """Count the slots in which the signatures ``values`` of each pair agree; any shingles may have made them."""
        return _agreeing(values, self.left, self.right, threads)


def take_census(values: U32, *, threads: int) -> Census:
    """Take the census of a sample by its signatures, uint32[m, slots].

    The result is the same for any number of threads and any order of the collection, because hashes order the sample.
    Memory: 50 bytes for each of up to three million pairs.
    """
    m, slots = values.shape
    total = m * (m - 1) // 2
    left, right = np.triu_indices(m, 1) if total <= RANDOM_PAIRS else _random_pairs(m)
    matches = _agreeing(values, left, right, threads)
    if total <= RANDOM_PAIRS:
        return Census(slots, left, right, matches, np.ones(left.size), m)
    weight = np.full(left.size, total / left.size)
    seen: F64 = np.bincount(matches, weight, minlength=slots + 1).astype(np.float64)
    bands, texts = _generous(seen, m, slots)
    chance = band_chances(slots, bands)
    # below the cut, pairs meet too rarely in the bands, or are more likely to be among the random pairs
    cut = int(np.argmax(chance >= max(LEAST_CHANCE, left.size / total)))
    low = matches < cut
    near_left, near_right = met_pairs(values[:texts], bands, cut, threads)
    near = _agreeing(values, near_left, near_right, threads)
    near_weight = total / (texts * (texts - 1) / 2) / chance[near]
    return Census(
        slots,
        np.concatenate((left[low], near_left)),
        np.concatenate((right[low], near_right)),
        np.concatenate((matches[low], near)),
        np.concatenate((weight[low], near_weight)),
        texts,
    )


def _random_pairs(m: int) -> tuple[I64, I64]:
    draw = np.random.Generator(np.random.PCG64(m))
    left = draw.integers(0, m, size=RANDOM_PAIRS)
    right = (left + draw.integers(1, m, size=RANDOM_PAIRS)) % m
    return np.minimum(left, right), np.maximum(left, right)


def _agreeing(values: U32, left: I64, right: I64, threads: int) -> I64:
    """Count the slots in which each pair agrees."""
    whole = Bands(1, values.shape[1])

    def look(first: int) -> I64:
        part = slice(first, first + STEP)
        return band_stage.first_bands(values, left[part], right[part], whole)[1]

    found = list(in_order(look, range(0, left.size, STEP), threads=threads))
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def _generous(seen: F64, m: int, slots: int) -> tuple[Bands, int]:
    """Choose bands with the fewest rows that do not meet too many pairs, and the number of texts to use them on."""
    for rows in range(FEWEST_ROWS, MOST_ROWS + 1):
        bands = Bands(min(BANDS, slots // rows), rows)
        met = float(seen @ band_chances(slots, bands))
        if met <= MOST_MET:
            return bands, m
    return Bands(FEW_BANDS, MOST_ROWS), max(2, int(m * (MOST_MET / met) ** 0.5))


def met_pairs(values: U32, bands: Bands, cut: int, threads: int) -> tuple[I64, I64]:
    """Return left and right of the pairs that share a bucket and agree in at least ``cut`` slots, each once."""
    n = values.shape[0]
    rows, weight = np.arange(n), np.ones(n, dtype=np.int32)
    none: I32 = np.full(n, -1, dtype=np.int32)
    keys = band_stage.short_keys(values, bands)

    def one(band: int) -> list[tuple[I64, I64, int]]:
        found = band_stage.group(keys[band], rows, weight, limit=n)
        return list(band_stage.pair_up(found, values, none, band=band, rows=bands.rows, min_matches=cut))

    found = [piece for pieces in in_order(one, range(bands.bands), threads=threads) for piece in pieces]
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


@dataclass(frozen=True, slots=True)
class Crowded:
    """The crowds of a collection whose pairs a run will list only with leaders, as far as a sample shows them."""

    inside: Flags
    """bool[pairs of the census]: whether both texts are in the same crowd."""
    crowds: int
    texts: int
    """The number of texts of the sample in crowds, leaders included."""
    documents: int
    """The number of documents with these texts."""


def find_crowds(census: Census, weight: I64, *, least: float, scale: float, limit: int) -> Crowded:
    """Find crowds greedily: texts with more than ``limit`` documents near them lead, the one with the most first.

    ``weight`` (int64[m]) has the number of documents of each text. Texts are near if they agree in at least ``least``
    slots. ``scale`` is the number of texts in the collection for each text that was searched for pairs.
    """
    near = np.flatnonzero(census.matches >= least)
    left, right = census.left[near], census.right[near]
    crowd = np.full(weight.size, -1, dtype=np.int64)
    for number in range(MOST_CROWDS):
        free = (crowd[left] < 0) & (crowd[right] < 0)
        a, b = left[free], right[free]
        load = np.bincount(a, weight[b], minlength=weight.size) + np.bincount(b, weight[a], minlength=weight.size)
        lead = int(np.argmax(load)) if load.size else 0
        if not load.size or load[lead] * scale + weight[lead] <= limit:
            break
        crowd[lead] = crowd[b[a == lead]] = crowd[a[b == lead]] = number
    inside = (crowd[census.left] >= 0) & (crowd[census.left] == crowd[census.right])
    members = crowd >= 0
    return Crowded(inside, int(crowd.max(initial=-1)) + 1, int(members.sum()), int(weight[members].sum()))


def documents_with_partner(left: I64, right: I64, *, share: float) -> float:
    """Estimate how many texts of a collection have a partner, from the pairs in a sample that is ``share`` of it.

    A text with D partners has about share x D partners in the sample. The number of texts with no partner in the sample
    follows from the numbers of texts with one and with two partners there (Zelterman 1988).
    """
    _, degree = np.unique(np.concatenate((left, right)), return_counts=True)
    one, two = int(np.count_nonzero(degree == 1)), int(np.count_nonzero(degree == 2))
    if share >= 1 or not degree.size:
        return float(degree.size)
    partners = max(share, 2 * two / one if one else np.inf)
    return float(degree.size / share / -np.expm1(-partners))
