"""The rules of the literature against trying every banding, with areas in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from neardup.errors import InputError
from neardup.params import Bands
from neardup.tuning import (
    BAND_RULES,
    area_rule,
    areas,
    check_rule,
    choose_bands,
    divisor_rule,
    knee,
    log_rule,
    s_curve,
    threshold_rule,
)

THRESHOLDS = [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0]


def exact_areas(threshold: float, bands: int, rows: int) -> tuple[Fraction, Fraction]:
    """Term by term: the curve is 1 - sum over j of C(b, j) (-1)**j s**(r j)."""

    def integral(to: Fraction) -> Fraction:
        terms = (
            Fraction((-1) ** j * math.comb(bands, j), rows * j + 1) * to ** (rows * j + 1) for j in range(bands + 1)
        )
        return to - sum(terms)

    t = Fraction(threshold)
    below = integral(t)
    return below, (1 - t) - (integral(Fraction(1)) - below)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("bands", [Bands(1, 1), Bands(25, 5), Bands(9, 13), Bands(128, 1), Bands(1, 128), Bands(32, 8)])
def test_areas_are_those_of_exact_integration(threshold, bands):
    below, above = exact_areas(threshold, bands.bands, bands.rows)
    found = areas(threshold, bands)
    assert found.false_positive == pytest.approx(float(below), abs=1e-12)
    assert found.false_negative == pytest.approx(float(above), abs=1e-12)


def test_areas_are_exact_past_the_most_points_too():
    below, above = exact_areas(0.75, 20, 60)
    found = areas(0.75, Bands(20, 60))
    assert (found.false_positive, found.false_negative) == pytest.approx((float(below), float(above)), abs=1e-10)


@pytest.mark.parametrize("slots", [2, 12, 24])
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.1, 0.9), (1, 0), (0, 1)])
def test_the_area_rule_has_the_least_weighted_error_of_all_bandings(slots, weights):
    for threshold in THRESHOLDS:
        errors = {
            (b, r): weights[0] * float(below) + weights[1] * float(above)
            for b in range(1, slots + 1)
            for r in range(1, slots // b + 1)
            for below, above in [exact_areas(threshold, b, r)]
        }
        chosen = area_rule(threshold, slots, weights=weights)
        assert errors[chosen.bands, chosen.rows] == pytest.approx(min(errors.values()), abs=1e-12)


@pytest.mark.parametrize(
    ("threshold", "slots", "bands"),
    [(0.5, 128, "25x5"), (0.7, 128, "14x9"), (0.8, 128, "9x13"), (0.9, 128, "5x25"), (0.7, 256, "25x10")],
)
def test_the_area_rule_takes_what_datasketch_takes(threshold, slots, bands):
    """Known from its documentation and from programs that print their bands."""
    assert str(area_rule(threshold, slots)) == bands


def test_weights_move_the_area_rule_to_either_side():
    """datasketch's own test asks as much of (0.2, 0.8) and (0.5, 0.5) at 0.8."""
    careful, even, hasty = (area_rule(0.8, 128, weights=each) for each in ((0.1, 0.9), (0.5, 0.5), (0.9, 0.1)))
    assert knee(careful) < knee(even) < knee(hasty)


@pytest.mark.parametrize("weights", [(-1, 1), (0, 0), (1, -0.5)])
def test_weights_that_say_nothing_are_refused(weights):
    with pytest.raises(InputError, match="weights are"):
        area_rule(0.8, 128, weights=weights)


@pytest.mark.parametrize("slots", [2, 16, 100, 128, 256])
def test_the_threshold_rule_has_the_nearest_knee_of_all_row_counts(slots):
    for t in THRESHOLDS:
        chosen = threshold_rule(t, slots)
        nearest = min(abs((1 / (slots // r)) ** (1 / r) - t) for r in range(1, slots + 1))
        assert abs(knee(chosen) - t) == pytest.approx(nearest, abs=1e-12)
        assert chosen.bands == slots // chosen.rows


@pytest.mark.parametrize(
    ("threshold", "bands"), [(0.5, 23), (0.6, 18), (0.7, 14), (0.8, 10), (0.9, 6), (0.95, 4), (0.99, 2)]
)
def test_the_log_rule_gives_the_published_bands(threshold, bands):
    assert log_rule(threshold, 100).bands == bands


@pytest.mark.parametrize(
    ("slots", "threshold", "bands"),
    [
        *[(100, t, b) for t, b in ((0.5, 20), (0.6, 20), (0.7, 10), (0.8, 10), (0.9, 5))],
        *[(200, t, b) for t, b in ((0.5, 40), (0.6, 25), (0.7, 25), (0.8, 20), (0.9, 10))],
    ],
)
def test_the_divisor_rule_gives_the_published_bands(slots, threshold, bands):
    assert divisor_rule(threshold, slots) == Bands(bands, slots // bands)


def test_every_rule_can_be_asked_for_by_name_and_fits_the_slots():
    for rule in BAND_RULES:
        chosen = choose_bands(0.8, slots=128, rule=rule)
        assert chosen.slots <= 128
        found = s_curve(0.8, chosen.bands, chosen.rows)
        assert (found >= 0.99) == (rule == "recall"), f"{rule} finds {found:.4f} of the pairs at 0.8"


def test_an_unknown_rule_is_named_with_the_near_one():
    with pytest.raises(InputError, match=r"'aera'; known are recall, .*, area\. Did you mean 'area'"):
        check_rule("aera")
