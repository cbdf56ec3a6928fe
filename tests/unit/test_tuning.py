"""Plans against exact arithmetic: the S-curve and the binomial tail in fractions, the choices by trying every other."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from neardup import tuning
from neardup.errors import InputError
from neardup.params import Bands, Screen
from neardup.tasks.plan.census import band_chances, meetings, pass_chances, slot_shares
from neardup.tuning import (
    FILTER_SHARE,
    SCREEN_SHARE,
    choose_bands,
    choose_min_matches,
    choose_slots,
    filter_loss,
    promised_recall,
    s_curve,
)

THRESHOLDS = [0.05, 0.1, 0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0]
RECALLS = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999]
SLOTS = [2, 16, 64, 100, 128, 129, 256]


def exact_curve(s: float, bands: int, rows: int) -> Fraction:
    return 1 - (1 - Fraction(s) ** rows) ** bands


def exact_loss(t: float, slots: int, matches: int) -> Fraction:
    hit, whole = Fraction(t).as_integer_ratio()
    tail = sum(math.comb(slots, i) * hit**i * (whole - hit) ** (slots - i) for i in range(matches))
    return Fraction(tail, whole**slots)


def met_bands(agreeing: set[int], bands: Bands) -> int:
    """Count the bands of which all slots agree."""
    return sum({band * bands.rows + row for row in range(bands.rows)} <= agreeing for band in range(bands.bands))


def exact_pass(agreeing: set[int], met: int, screen: Screen) -> Fraction:
    """The probability that a pair that agrees in these slots, and meets in so many bands, passes a screen.

    Each other slot that has a field agrees in its lowest bits by chance.
    """
    needed = screen.least_alone if met == 1 else screen.least
    sure = sum(slot in agreeing for slot in range(screen.fields))
    others, chance = screen.fields - sure, Fraction(1, 2**screen.width)
    return sum(
        (
            math.comb(others, i) * chance**i * (1 - chance) ** (others - i)
            for i in range(max(0, needed - sure), others + 1)
        ),
        Fraction(0),
    )


SCREENS = [
    (Bands(2, 3), Screen(fields=8, width=1, least=5, least_alone=7), 8),
    (Bands(3, 2), Screen(fields=9, width=2, least=4, least_alone=5), 9),  # with slots outside of the bands
    (Bands(9, 1), Screen(fields=9, width=1, least=3, least_alone=6), 9),
    (Bands(1, 4), Screen(fields=7, width=4, least=0, least_alone=5), 7),
]
NARROW = (Bands(3, 3), Screen(fields=5, width=1, least=3, least_alone=4), 10)
"""The second band has two slots with a field and one without."""


@pytest.mark.parametrize("t", [Fraction(1, 4), Fraction(1, 2), Fraction(7, 8), Fraction(1)])
@pytest.mark.parametrize(("bands", "screen", "slots"), [*SCREENS, NARROW])
def test_a_promise_is_the_exact_chance_to_meet_less_what_filter_and_screen_may_lose(bands, screen, slots, t):
    """By listing all sets of slots in which a pair may agree."""
    found = Fraction(0)
    for size in range(slots + 1):
        for agreeing in map(set, itertools.combinations(range(slots), size)):
            if met := met_bands(agreeing, bands):
                found += t**size * (1 - t) ** (slots - size) * exact_pass(agreeing, met, screen)
    for matches in (0, 1, 3):
        promised = promised_recall(float(t), bands, slots=slots, min_matches=matches, screen=screen)
        assert promised == pytest.approx(max(0.0, float(found - exact_loss(float(t), slots, matches))), abs=1e-12)


@pytest.mark.parametrize(("bands", "rows"), [(1, 1), (20, 5), (32, 8), (9, 13), (128, 1), (1, 64)])
def test_the_curve_is_the_exact_probability(bands, rows):
    for step in range(101):
        s = step / 100
        assert s_curve(s, bands, rows) == pytest.approx(float(exact_curve(s, bands, rows)), abs=1e-13)
    assert s_curve(0.0, bands, rows) == 0.0
    assert s_curve(1.0, bands, rows) == 1.0


def test_the_curve_rises_with_similarity_and_bands_and_falls_with_rows():
    grid = [s_curve(step / 50, 20, 5) for step in range(51)]
    assert grid == sorted(grid)
    assert s_curve(0.6, 21, 5) > s_curve(0.6, 20, 5) > s_curve(0.6, 20, 6)


@pytest.mark.parametrize("slots", SLOTS)
def test_bands_chosen_by_recall_have_the_most_rows_that_reach_it(slots):
    for t, recall in itertools.product(THRESHOLDS, RECALLS):
        reaching = [rows for rows in range(1, slots + 1) if s_curve(t, slots // rows, rows) >= recall]
        if not reaching:
            with pytest.raises(InputError, match=f"{slots} slots cannot reach recall {recall} at threshold {t}"):
                choose_bands(t, slots=slots, recall=recall)
            continue
        chosen = choose_bands(t, slots=slots, recall=recall)
        assert chosen == Bands(slots // max(reaching), max(reaching))
        assert chosen.slots <= slots
        assert exact_curve(t, chosen.bands, chosen.rows) >= Fraction(recall) - Fraction(1, 10**13)


def test_bands_by_the_rules_of_the_literature_never_use_more_slots_than_there_are():
    for rule, slots, t in itertools.product(("threshold", "divisor", "log", "area"), SLOTS, THRESHOLDS):
        chosen = choose_bands(t, slots=slots, rule=rule)
        assert 1 <= chosen.slots <= slots
        assert rule != "divisor" or chosen.slots == slots


@pytest.mark.parametrize("slots", [2, 16, 100, 128, 256])
@pytest.mark.parametrize("t", [0.05, 0.3, 0.5, 0.8, 0.95, 0.99])
def test_the_loss_of_the_filter_is_the_exact_binomial_tail(t, slots):
    for matches in {0, 1, slots // 4, slots // 2, int(t * slots), slots}:
        exact = exact_loss(t, slots, matches)
        assert filter_loss(t, slots, matches) == pytest.approx(float(exact), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize(("many", "few"), [(1, 1), (7, 3), (16, 16), (64, 20), (512, 128)])
def test_matches_in_some_of_the_slots_are_hypergeometric(many, few):
    shares = slot_shares(many, few)
    assert shares.shape == (many + 1, few + 1)
    for seen in {0, 1, many // 3, many - 1, many}:
        whole = math.comb(many, few)
        exact = [
            Fraction(math.comb(seen, m) * math.comb(many - seen, few - m), whole) if m <= few else 0
            for m in range(few + 1)
        ]
        assert shares[seen] == pytest.approx([float(share) for share in exact], abs=1e-11)


@pytest.mark.parametrize(
    ("slots", "bands"), [(6, Bands(1, 2)), (8, Bands(2, 3)), (9, Bands(3, 3)), (16, Bands(4, 3)), (12, Bands(12, 1))]
)
def test_chances_of_bands_are_those_of_all_placements_of_the_matches(slots, bands):
    """By listing every way to place M matches."""
    found = band_chances(slots, bands)
    often = meetings(slots, bands)
    for agree in range(slots + 1):
        met = [met_bands(set(way), bands) for way in itertools.combinations(range(slots), agree)]
        assert found[agree] == pytest.approx(np.count_nonzero(met) / len(met), abs=1e-12)
        assert often[agree] == pytest.approx(sum(met) / len(met), abs=1e-12)


def test_chances_of_bands_go_on_smoothly_above_a_thousand_slots():
    exact, near = (band_chances(slots, Bands(100, 10)) for slots in (1000, 1001))
    assert np.allclose(exact, near[:-1], atol=0.02)


@pytest.mark.parametrize("bands", [Bands(21, 6), Bands(64, 2), Bands(9, 13)])
def test_chances_of_seen_matches_average_to_the_curve(bands):
    """Over the binomial number of matches of a pair of similarity s, what is seen gives the S-curve back."""
    slots = 512
    for s in (0.1, 0.3, 0.5, 0.8, 0.95):
        seen = [math.comb(slots, m) * s**m * (1 - s) ** (slots - m) for m in range(slots + 1)]
        met = float(np.dot(seen, band_chances(slots, bands)))
        assert met == pytest.approx(s_curve(s, bands.bands, bands.rows), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("bands", "screen", "slots", "off"), [*((*each, 1e-12) for each in SCREENS), (*NARROW, 0.02)])
def test_chances_to_pass_are_those_of_all_placements_of_the_matches(bands, screen, slots, off):
    """By listing every way to place M matches; with fewer fields than slots they are close."""
    counted, found = pass_chances(slots, slots, bands, screen)
    for agree in range(slots + 1):
        ways = list(map(set, itertools.combinations(range(slots), agree)))
        met = [met_bands(way, bands) for way in ways]
        passing = [exact_pass(way, often, screen) if often else 0 for way, often in zip(ways, met, strict=True)]
        assert found[agree] == pytest.approx(float(Fraction(sum(passing)) / len(ways)), abs=off)
        # once if it passes, else in each band
        times = sum(chance + often * (1 - chance) for chance, often in zip(passing, met, strict=True))
        assert counted[agree] == pytest.approx(float(Fraction(times) / len(ways)), abs=2 * off)


@pytest.mark.parametrize("screen", [Screen(128, 1, 103, 106), Screen(64, 2, 44, 46)])
def test_what_passes_the_screen_was_met_and_agrees_enough(screen):
    met = slot_shares(512, 128) @ band_chances(128, Bands(21, 6))
    _, passed = pass_chances(512, 128, Bands(21, 6), screen)
    assert np.all(passed <= met + 1e-12)
    assert np.all(np.diff(passed) >= -1e-12)
    assert passed[512] == pytest.approx(1.0, abs=1e-12)
    assert passed[150] < 1e-4 < passed[400]
    without = Screen(screen.fields, screen.width, 0, 0)
    assert np.allclose(pass_chances(512, 128, Bands(21, 6), without), (met, met))


def test_identical_sets_are_never_lost_in_the_filter():
    assert filter_loss(1.0, 128, 128) == 0.0
    assert filter_loss(0.5, 128, 0) == 0.0


@pytest.mark.parametrize("recall", RECALLS)
@pytest.mark.parametrize("slots", SLOTS)
def test_the_filter_asks_for_the_most_matches_inside_its_budget(slots, recall):
    budget = FILTER_SHARE * (1 - recall)
    for t in THRESHOLDS:
        matches = choose_min_matches(t, slots=slots, recall=recall)
        assert 0 <= matches <= slots
        assert filter_loss(t, slots, matches) <= budget
        assert matches == slots or filter_loss(t, slots, matches + 1) > budget


@pytest.mark.parametrize("slots", [None, 64, 100, 128, 256])
def test_what_a_run_promises_is_at_least_what_was_asked(slots):
    """Over the grid of thresholds and recalls, wherever the slots can reach it: for bands, filter and screen."""
    reached = 0
    for t, recall in itertools.product(THRESHOLDS, RECALLS):
        try:
            spec = tuning.make_spec(threshold=t, recall=recall, slots=slots)
        except InputError:
            assert s_curve(t, slots or 4096, 1) < recall + (FILTER_SHARE + SCREEN_SHARE) * (1 - recall)
            continue
        reached += 1
        assert spec.recall >= recall
        exact = exact_curve(t, spec.bands.bands, spec.bands.rows) - exact_loss(t, spec.slots, spec.min_matches)
        assert float(exact) - SCREEN_SHARE * (1 - recall) - 1e-12 <= spec.recall <= float(exact) + 1e-12
    assert reached > 40


def test_a_promise_is_never_negative():
    screen = Screen(fields=100, width=1, least=90, least_alone=95)
    assert promised_recall(0.1, Bands(1, 100), slots=100, min_matches=100, screen=screen) == 0.0


def test_slots_are_doubled_until_some_bands_reach_the_recall():
    assert choose_slots(0.8, 0.99) == tuning.DEFAULT_SLOTS
    for t, recall in ((0.01, 0.99), (0.02, 0.999)):
        slots = choose_slots(t, recall)
        assert s_curve(t, slots, 1) >= recall > s_curve(t, slots // 2, 1)
    with pytest.raises(InputError, match="up to 4096"):
        choose_slots(0.0001, 0.99)


def test_the_plan_for_the_most_slots_keeps_to_its_budget():
    """4,096 slots at t = 0.95: the filter's bound lies near 3,700 matches."""
    spec = tuning.make_spec(threshold=0.95, slots=4096)
    assert filter_loss(0.95, 4096, spec.min_matches) <= FILTER_SHARE * 0.01


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: s_curve(1.5, 20, 5), "similarity is 1.5"),
        (lambda: s_curve(0.5, 0, 5), "bands is 0"),
        (lambda: choose_bands(0.0, slots=100), "threshold is 0.0"),
        (lambda: choose_bands(0.8, slots=1), "slots is 1"),
        (lambda: choose_bands(0.8, slots=100, recall=1.0), "recall is 1.0"),
        (lambda: choose_bands(0.8, slots=100, rule="devisor"), "Did you mean 'divisor'"),
    ],
)
def test_what_cannot_be_planned_is_said_with_its_value(call, words):
    with pytest.raises(InputError, match=words):
        call()
