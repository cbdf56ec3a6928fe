"""Textbook MinHash and the S-curve in plain numpy, and sketches that are known to be bad.

A statistical test that a bad sketch passes sees nothing, so each of them is also run on these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]

EMPTY = np.uint32(0xFFFFFFFF)


def s_curve(similarity: float, bands: int, rows: int) -> float:
    """P(candidate) = 1 - (1 - s^r)^b."""
    return 1.0 - (1.0 - similarity**rows) ** bands


def good_hash(items: I64, seed: int) -> U64:
    """SplitMix64's finaliser over item + seed: a hash that is good enough to be the yardstick."""
    x = items.astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def two_round_hash(items: I64, seed: int) -> U64:
    """Known bad: two multiplications and no mixing after the last.

    A product carries bits upwards only, so what differs in the high bytes of the input never reaches the
    low bits.
    """
    x = (items.astype(np.uint64) + np.uint64(seed * 0xBF58476D1CE4E5B9 % 2**64)) * np.uint64(0x9E3779B97F4A7C15)
    return (x ^ np.uint64(0xD6E8FEB86659FD93)) * np.uint64(0xA0761D6478BD642F)


def classical(offsets: I64, items: I64, *, slots: int, seed: int) -> U32:
    """k-independent-hashes MinHash: for every slot the smallest hash of the set."""
    values = np.empty((offsets.size - 1, slots), dtype=np.uint32)
    for slot in range(slots):
        hashed = (good_hash(items, seed * 100_003 + slot) >> np.uint64(32)).astype(np.uint32)
        values[:, slot] = np.minimum.reduceat(hashed, offsets[:-1])
    return values


def one_permutation(offsets: I64, hashed: U64, *, slots: int) -> U32:
    """One-permutation hashing: high bits choose the slot, low bits the value; unfilled slots are EMPTY."""
    rows = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    slot = ((hashed >> np.uint64(32)) * np.uint64(slots)) >> np.uint64(32)
    values = np.full((offsets.size - 1, slots), EMPTY, dtype=np.uint32)
    np.minimum.at(values, (rows, slot.astype(np.int64)), (hashed & np.uint64(0xFFFFFFFE)).astype(np.uint32))
    return values


def rotation_densified(offsets: I64, items: I64, *, slots: int, seed: int) -> U32:
    """Known bad for bands: empty slots copy the next full one to the right, with the distance added.

    Each slot alone is unbiased (Shrivastava and Li 2014), but slots that copy from one source agree
    together, so the bands of a small set are copies of each other.
    """
    values = one_permutation(offsets, good_hash(items, seed), slots=slots)
    dense = values.copy()
    for distance in range(1, slots):
        source = np.roll(values, -distance, axis=1)
        fill = (dense == EMPTY) & (source != EMPTY)
        dense[fill] = source[fill] + np.uint32(distance) * np.uint32(0x01000193)
    return dense


def decimal_words(items: I64) -> I64:
    """Each number as eight ASCII digits, read as a little-endian word: they share a prefix."""
    digits = (items[:, None] // 10 ** np.arange(7, -1, -1)) % 10 + ord("0")
    return np.ascontiguousarray(digits.astype(np.uint8)).view("<i8").ravel()


def band_hits(left: U32, right: U32, *, bands: int, rows: int) -> NDArray[np.bool_]:
    """For each pair of signatures: does some band agree in all its rows?"""
    same = (left == right)[:, : bands * rows].reshape(len(left), bands, rows)
    return same.all(axis=2).any(axis=1)


def chi_square_per_freedom(bins: NDArray[np.integer], number: int) -> float:
    """chi^2 / df of bin numbers against equal bins: 1 for a good hash, standard error sqrt(2/df)."""
    counts = np.bincount(bins.astype(np.int64), minlength=number)
    expected = bins.size / number
    return float(((counts - expected) ** 2 / expected).sum() / (number - 1))
