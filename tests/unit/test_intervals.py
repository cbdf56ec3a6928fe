"""Intervals and tails against sums written out, and design effects against groups that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neardup.tasks.audit.statistics import binomial_tail, blended_effect, design_effect, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_gives_the_values_of_the_literature(successes, trials, low, high):
    """The last one is Newcombe's example (Statistics in Medicine 17, 1998, table I)."""
    got = wilson(successes, trials)
    assert got == pytest.approx((low, high), abs=6e-5)


def test_no_trials_say_nothing():
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("trials", [1, 2, 7, 60, 300])
@pytest.mark.parametrize("probability", [1e-6, 0.001, 0.02, 0.3, 0.5, 0.95, 0.9999])
def test_a_tail_is_the_sum_of_its_terms(trials, probability):
    terms = [math.comb(trials, i) * probability**i * (1 - probability) ** (trials - i) for i in range(trials + 1)]
    for least in range(1, trials + 1):
        expected = math.fsum(terms[least:])
        assert binomial_tail(least, trials, probability) == pytest.approx(expected, rel=1e-9, abs=1e-200)


def test_a_tail_between_whole_numbers_lies_between_theirs():
    whole = [binomial_tail(k, 50, 0.1) for k in (4, 4.5, 5)]
    assert whole[0] > whole[1] > whole[2]
    assert binomial_tail(0, 50, 0.1) == 1.0
    assert binomial_tail(3, 50, 0.0) == 0.0
    assert binomial_tail(3, 50, 1.0) == 1.0
    assert binomial_tail(51, 50, 0.1) == 0.0


def test_terms_that_repeat_in_groups_of_five_have_an_effect_of_five():
    draw = np.random.Generator(np.random.PCG64(1))
    single = draw.normal(size=4000)
    assert design_effect(single, np.arange(4000)) == pytest.approx(1.0, abs=0.01)
    assert design_effect(np.repeat(single, 5), np.repeat(np.arange(4000), 5)) == pytest.approx(5.0, abs=0.05)
    assert design_effect(draw.normal(size=20_000), np.repeat(np.arange(4000), 5)) == pytest.approx(1.0, abs=0.2)


def test_a_term_that_two_groups_share_counts_half_in_each():
    errors = np.array([1.0, 1.0, -2.0])
    groups = np.array([0, 1, 2])
    halves = design_effect(np.repeat(errors, 2), np.repeat(groups, 2), np.full(6, 0.5))
    assert halves == pytest.approx(design_effect(errors, groups))


def test_no_errors_have_no_effect():
    assert design_effect(np.zeros(5), np.zeros(5, dtype=np.int64)) == 1.0


def test_few_misses_leave_most_of_the_guess_and_many_leave_none():
    sizes = np.full(100, 9)
    assert blended_effect(1.0, 0, sizes) == pytest.approx(1 + 0.25 * 8)
    assert blended_effect(1.0, 10_000, sizes) == pytest.approx(1.0, abs=0.001)
    assert blended_effect(1.0, 0, np.ones(100, dtype=np.int64)) == 1.0
