"""One-permutation hashing: its estimate leaves out what is empty in both, and its bands never miss more than promised.

Here the slots of small sets stay empty, so its variance is not J(1 - J)/k but that of Li, Owen and Zhang (2012, theorem
2): given m slots that are not empty in both, the matches are those of m draws without replacement from a union of f, so
Var = J(1 - J) (f E[1/m] - 1)/(f - 1). The distribution of m (f elements thrown into k slots) is computed exactly.
Pooled seeds and 5 sigma as in ``test_sketch``; the wrong estimates and the wrong bands must fail the same lines.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracles import sketch as twin
from tests.oracles.sets import Shape, as_table, many_pairs, shape_at
from tests.statistics.bounds import SIGMAS, lowest_share, share_sigma

import neardup

SLOTS = 128
PAIRS = 1000
SEEDS = 4
Signed = tuple[NDArray[np.uint32], NDArray[np.uint32]]


def signatures(shape: Shape, *, pairs: int = PAIRS, seeds: int = SEEDS, slots: int = SLOTS) -> Signed:
    """The signatures of both sides of each pair under each seed, through the public call."""
    table = as_table(*many_pairs(shape, pairs, first=1))
    made = [
        neardup.sketch(table, shingle="item", sketch="one-permutation", slots=slots, seed=seed).signatures.values
        for seed in range(1, seeds + 1)
    ]
    return np.concatenate([values[0::2] for values in made]), np.concatenate([values[1::2] for values in made])


def estimates(a: NDArray[np.uint32], b: NDArray[np.uint32]) -> NDArray[np.float64]:
    """What ``neardup.estimate`` gives for each pair."""
    return np.array([neardup.estimate(x, y) for x, y in zip(a, b, strict=True)])


def filled(union: int, slots: int) -> NDArray[np.float64]:
    """P(m of the slots are not empty) for ``union`` elements thrown at random, m = 0 … slots."""
    chance = np.zeros(slots + 1)
    chance[0] = 1.0
    m = np.arange(slots + 1)
    for _ in range(union):
        stays = chance * m / slots
        stays[1:] += chance[:-1] * (1 - m[:-1] / slots)
        chance = stays
    return chance


def theory(shape: Shape, slots: int) -> float:
    """The variance of the estimate."""
    j, f = float(shape.similarity), shape.union
    chance = filled(f, slots)
    mean_inverse = float((chance[1:] / np.arange(1, slots + 1)).sum())
    return j * (1 - j) * (f * mean_inverse - 1) / (f - 1)


def check_bias(sample: NDArray[np.float64], shape: Shape, slots: int = SLOTS) -> None:
    bound = SIGMAS * math.sqrt(theory(shape, slots) / sample.size)
    off = float(sample.mean()) - float(shape.similarity)
    assert abs(off) <= bound, f"bias {off:+.5f} at J = {shape.similarity}; allowed is {bound:.5f}"


def check_variance(sample: NDArray[np.float64], shape: Shape, slots: int = SLOTS) -> None:
    """Two-sided: the sample variance is what theory says, within 5 of its standard errors."""
    off = sample - sample.mean()
    kurtosis = float((off**4).mean() / (off**2).mean() ** 2) - 3
    bound = SIGMAS * math.sqrt(max(0.0, 2 / (sample.size - 1) + kurtosis / sample.size))
    ratio = float(sample.var(ddof=1)) / theory(shape, slots)
    assert abs(ratio - 1) <= bound, f"variance {ratio:.3f} of theory at J = {shape.similarity}; allowed is 1 +- {bound}"


@pytest.mark.parametrize("size", [2, 5, 20, 80, 200])
@pytest.mark.parametrize("similarity", ["1/4", "1/2", "4/5"])
def test_the_estimate_is_unbiased_and_varies_as_theory_says(size, similarity):
    shape = shape_at(Fraction(similarity), size, balanced=True)
    sample = estimates(*signatures(shape))
    check_bias(sample, shape)
    check_variance(sample, shape)


@pytest.mark.parametrize("slots", [16, 100, 512])
def test_the_estimate_is_unbiased_for_every_number_of_slots(slots):
    shape = shape_at(Fraction(1, 2), 60, balanced=True)
    sample = estimates(*signatures(shape, slots=slots))
    check_bias(sample, shape, slots)
    check_variance(sample, shape, slots)


@pytest.mark.parametrize(
    "wrong", [lambda a, b: (a == b) & (a != twin.EMPTY), lambda a, b: a == b], ids=["all slots count", "empty agrees"]
)
def test_known_bad_estimates_of_small_sets_fail_the_bias_check(wrong):
    shape = shape_at(Fraction(1, 2), 100, balanced=True)
    a, b = signatures(shape, seeds=1)
    check_bias(estimates(a, b), shape)
    with pytest.raises(AssertionError, match="bias"):
        check_bias(wrong(a, b).mean(axis=1), shape)


def band_share(a: NDArray[np.uint32], b: NDArray[np.uint32], bands: int, rows: int) -> float:
    return float(twin.band_hits(a, b, bands=bands, rows=rows).mean())


SHAPES = [("3/10", 64, 2), ("1/2", 42, 3), ("4/5", 21, 6), ("19/20", 8, 16)]
"""Thresholds, and bands of 128 slots that keep a recall of 0.99 there."""


@pytest.mark.parametrize("balanced", [True, False], ids=["balanced", "contained"])
@pytest.mark.parametrize("size", [1, 5, 25, 120])
@pytest.mark.parametrize(("threshold", "bands", "rows"), SHAPES)
def test_bands_find_pairs_of_any_size_at_least_as_surely_as_the_s_curve_says(threshold, bands, rows, size, balanced):
    shape = shape_at(Fraction(threshold), size, balanced=balanced)
    share = band_share(*signatures(shape, seeds=2), bands, rows)
    bound = lowest_share(neardup.s_curve(float(shape.similarity), bands, rows), 2 * PAIRS)
    assert share >= bound, f"found {share:.4f} of the pairs of {shape.union} elements, under {bound:.4f}"


@pytest.mark.parametrize(("similarity", "bands", "rows"), [("1/2", 20, 5), ("4/5", 9, 13), ("3/5", 16, 8)])
def test_bands_of_sets_that_fill_their_slots_follow_the_s_curve(similarity, bands, rows):
    shape = shape_at(Fraction(similarity), 1000, balanced=True)
    share = band_share(*signatures(shape, pairs=400, seeds=2), bands, rows)
    expected = neardup.s_curve(float(shape.similarity), bands, rows)
    assert abs(share - expected) <= SIGMAS * share_sigma(expected, 800)


@pytest.mark.parametrize(("threshold", "bands", "rows"), SHAPES)
def test_known_bad_bands_in_which_empty_slots_equal_nothing_lose_short_documents(threshold, bands, rows):
    """The sets have 30 elements; nearly every band has an empty slot, and almost no pair would be met."""
    shape = shape_at(Fraction(threshold), 30, balanced=True)
    a, b = signatures(shape, seeds=1)
    apart = np.where(b == twin.EMPTY, np.uint32(0), b)  # a value that the other side has not got
    assert band_share(a, apart, bands, rows) < lowest_share(
        neardup.s_curve(float(shape.similarity), bands, rows), PAIRS
    )
    assert band_share(a, apart, bands, rows) < 0.6


@pytest.mark.parametrize("size", [5, 40])
@pytest.mark.parametrize(("threshold", "bands"), [("1/2", "42x3"), ("4/5", "21x6")])
def test_a_search_over_short_sets_finds_every_pair_and_says_what_it_costs(threshold, bands, size):
    notes: list[str] = []
    shape = shape_at(Fraction(threshold), size, balanced=True)
    found = neardup.find(
        as_table(*many_pairs(shape, 200)),
        threshold=float(shape.similarity),
        shingle="item",
        sketch="one-permutation",
        bands=bands,
        observer=Noting(notes),
    )
    assert found.pairs.num_rows >= 200 * lowest_share(0.99, 200)
    assert set(found.pairs["similarity"].to_pylist()) == {float(shape.similarity)}
    assert found.summary.candidates > 10 * 200  # strangers met in empty slots
    assert [note for note in notes if "sketch one-permutation: 400 of 400 documents have fewer than" in note]


def test_a_search_over_long_sets_meets_no_strangers_and_says_nothing():
    notes: list[str] = []
    shape = shape_at(Fraction(4, 5), 300, balanced=True)
    table = as_table(*many_pairs(shape, 200))
    found = neardup.find(
        table, threshold=0.8, shingle="item", sketch="one-permutation", bands="21x6", observer=Noting(notes)
    )
    assert found.summary.candidates <= 200
    assert not [note for note in notes if "one-permutation" in note]


class Noting:
    """An observer that keeps the notes."""

    def __init__(self, notes: list[str]) -> None:
        self.note = notes.append

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Not looked at."""

    def advance(self, amount: int) -> None:
        """Not looked at."""
