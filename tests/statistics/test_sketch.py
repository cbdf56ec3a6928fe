"""The sketch estimates J without bias, varies no more than classical, and its bands follow the S-curve.

Every check takes a sketcher, so that sketches known to be bad run through the same lines and must fail
them. Trials are pairs of disjoint items times seeds; they are independent when the hash is good, which is
what is tested. Gates are 5 sigma (two-sided false alarm 6e-7 a check, under 1e-4 over the file) with fixed
seeds. With 4,000 trials of 128 slots a bias of 5 * sqrt(J(1 - J)/512,000) <= 0.0035 is detected, and a
variance 12 % too large.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracles import sketch as twin
from tests.oracles.sets import Shape, as_table, many_pairs, shape_at
from tests.statistics.bounds import SIGMAS, highest_variance, share_sigma

import neardup

Sketcher = Callable[..., NDArray[np.uint32]]
SLOTS = 128
FAMILIES = ["hybrid", "independent", "permutation", "universal"]


def ours(family: str) -> Sketcher:
    """The signatures of neardup for sets of integers, through the public call."""

    def sketcher(offsets, items, *, slots, seed):
        made = neardup.sketch(as_table(offsets, items), shingle="item", sketch=family, slots=slots, seed=seed)
        return made.signatures.values

    return sketcher


def one_permutation_over(hasher) -> Sketcher:
    """One-permutation hashing over a hash; for sets so large that no slot stays empty."""

    def sketcher(offsets, items, *, slots, seed):
        return twin.one_permutation(offsets, hasher(items, seed), slots=slots)

    return sketcher


def estimates(sketcher: Sketcher, shape: Shape, *, pairs: int, seeds: int, slots: int = SLOTS, step: int = 1):
    """One estimate a pair and seed."""
    offsets, items = many_pairs(shape, pairs, first=1, step=step)
    rows = []
    for seed in range(1, seeds + 1):
        values = sketcher(offsets, items, slots=slots, seed=seed)
        a, b = values[0::2], values[1::2]
        rows.append(((a == b) & (a != twin.EMPTY)).mean(axis=1))
    return np.concatenate(rows)


def check_bias(sample: NDArray[np.float64], similarity: float, slots: int = SLOTS) -> None:
    """The mean lies within 5 standard errors of J."""
    bound = SIGMAS * share_sigma(similarity, slots * sample.size)
    off = float(sample.mean()) - similarity
    assert abs(off) <= bound, f"bias {off:+.5f} at J = {similarity:.4f}; allowed is {bound:.5f}"


def check_variance(sample: NDArray[np.float64], similarity: float, slots: int = SLOTS) -> None:
    """The sample variance is at most the classical one, within 5 standard errors."""
    bound = highest_variance(similarity, slots, sample.size)
    found = float(sample.var(ddof=1))
    assert found <= bound, f"variance {found:.3e} at J = {similarity:.4f}; allowed is {bound:.3e}"


def check_s_curve(sketcher: Sketcher, similarity: Fraction, size: int, *, bands: int, rows: int, pairs=4000) -> None:
    """The share of candidates is 1 - (1 - s^r)^b within 5 standard errors, on both sides."""
    shape = shape_at(similarity, size, balanced=True)
    offsets, items = many_pairs(shape, pairs)
    values = sketcher(offsets, items, slots=bands * rows, seed=1)
    share = float(twin.band_hits(values[0::2], values[1::2], bands=bands, rows=rows).mean())
    theory = twin.s_curve(float(similarity), bands, rows)
    bound = SIGMAS * share_sigma(theory, pairs)
    assert abs(share - theory) <= bound, f"{share:.4f} candidates where theory says {theory:.4f} +- {bound:.4f}"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [2, 5, 50, 200])
@pytest.mark.parametrize("similarity", ["1/4", "1/2", "4/5"])
def test_the_estimate_is_unbiased_and_no_wider_than_classical(family, similarity, size):
    shape = shape_at(Fraction(similarity), size, balanced=True)
    pairs, seeds = (500, 8) if size <= 50 else (100, 8 if family == "hybrid" else 2)
    sample = estimates(ours(family), shape, pairs=pairs, seeds=seeds)
    check_bias(sample, float(shape.similarity))
    check_variance(sample, float(shape.similarity))


@pytest.mark.parametrize("slots", [16, 100, 256, 1024])
@pytest.mark.parametrize("size", [5, 300])
def test_the_estimate_is_unbiased_for_every_number_of_slots(slots, size):
    shape = shape_at(Fraction(1, 2), size, balanced=True)
    sample = estimates(ours("hybrid"), shape, pairs=250, seeds=8, slots=slots)
    check_bias(sample, 0.5, slots)
    check_variance(sample, 0.5, slots)


@pytest.mark.parametrize("step", [2, 1000, 2**16, 2**32, 0x9E3779B1])
def test_multiples_of_a_number_are_estimated_without_bias(step):
    shape = shape_at(Fraction(1, 2), 60, balanced=True)
    sample = estimates(ours("hybrid"), shape, pairs=500, seeds=8, step=step)
    check_bias(sample, 0.5)
    check_variance(sample, 0.5)


@pytest.mark.parametrize(
    "shape",
    [
        Shape(0, 1, 0),
        Shape(1, 0, 1),
        Shape(1, 1, 0),
        Shape(0, 3, 97),
        Shape(0, 20, 19_980),
        Shape(10_000, 20_000, 10_000),
    ],
    ids=["one item", "two strangers", "one in two", "3 in 100", "20 in 20,000", "40,000 in all"],
)
def test_extreme_sizes_are_estimated_without_bias(shape):
    pairs = max(4, min(500, 200_000 // shape.union))
    sample = estimates(ours("hybrid"), shape, pairs=pairs, seeds=16)
    if shape.similarity in (0, 1):
        assert set(sample) <= {float(shape.similarity), *([] if shape.similarity else sample[sample < 0.1])}
    else:
        check_bias(sample, float(shape.similarity))
        check_variance(sample, float(shape.similarity))


def test_strings_that_share_a_long_prefix_are_estimated_without_bias():
    """2,000 pairs of 30 URLs that differ in their last digits, J = 1/2, 4 seeds."""
    prefix = "https://www.example.org/catalogue/department/7/item?number="
    offsets, items = many_pairs(shape_at(Fraction(1, 2), 30, balanced=True), 2000)
    rows = [[f"{prefix}{n:09}" for n in items[a:b].tolist()] for a, b in itertools.pairwise(offsets)]
    sample = []
    for seed in range(1, 5):
        values = neardup.sketch(rows, shingle="item", slots=SLOTS, seed=seed).signatures.values
        sample.append((values[0::2] == values[1::2]).mean(axis=1))
    check_bias(np.concatenate(sample), 0.5)
    check_variance(np.concatenate(sample), 0.5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [5, 20, 150])
@pytest.mark.parametrize(
    ("similarity", "bands", "rows"), [("1/2", 20, 5), ("4/5", 32, 8), ("3/5", 16, 8), ("4/5", 9, 13)]
)
def test_bands_of_the_sketch_follow_the_s_curve(family, similarity, bands, rows, size):
    pairs = 4000 if size <= 20 else 1000 if family == "hybrid" else 200
    check_s_curve(ours(family), Fraction(similarity), size, bands=bands, rows=rows, pairs=pairs)


def test_estimate_is_the_share_of_equal_slots():
    made = neardup.sketch(["a text of some length", "a text of some longer length"], shingle="char:3", slots=SLOTS)
    a, b = made.signatures.values
    assert neardup.estimate(a, b) == float((a == b).mean())
    assert neardup.estimate(a, a) == 1.0


def test_the_yardstick_passes_its_own_checks():
    """k independent hashes in plain numpy: the checks are not so tight that a good sketch fails."""
    shape = shape_at(Fraction(1, 2), 50, balanced=True)
    sample = estimates(twin.classical, shape, pairs=500, seeds=2)
    check_bias(sample, 0.5)
    check_variance(sample, 0.5)
    check_s_curve(twin.classical, Fraction(3, 5), 20, bands=16, rows=8, pairs=2000)


def test_known_bad_bands_of_rotation_densified_hashing_fail_the_s_curve_check():
    with pytest.raises(AssertionError, match="where theory says"):
        check_s_curve(twin.rotation_densified, Fraction(3, 5), 20, bands=16, rows=8)


def test_known_bad_rotation_densified_hashing_fails_the_variance_check():
    sample = estimates(twin.rotation_densified, shape_at(Fraction(1, 2), 20, balanced=True), pairs=500, seeds=8)
    with pytest.raises(AssertionError, match="variance"):
        check_variance(sample, 0.5)


def over_words(hasher):
    return lambda items, seed: hasher(twin.decimal_words(items), seed)


STRUCTURES = pytest.mark.parametrize(
    ("step", "change"),
    [(2**32, lambda h: h), (1, over_words)],
    ids=["multiples of 2^32", "digits with a prefix"],
)


@STRUCTURES
def test_known_bad_two_round_hash_fails_the_bias_check(step, change):
    sketcher = one_permutation_over(change(twin.two_round_hash))
    sample = estimates(sketcher, shape_at(Fraction(1, 2), 2000, balanced=True), pairs=100, seeds=8, step=step)
    with pytest.raises(AssertionError, match="bias"):
        check_bias(sample, 0.5)


@STRUCTURES
def test_a_good_hash_passes_where_the_two_round_hash_fails(step, change):
    sketcher = one_permutation_over(change(twin.good_hash))
    sample = estimates(sketcher, shape_at(Fraction(1, 2), 2000, balanced=True), pairs=100, seeds=8, step=step)
    check_bias(sample, 0.5)
    check_variance(sample, 0.5)
