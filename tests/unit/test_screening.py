"""The choice of a screen: its chances against enumeration, its loss against sums slot by slot, its place in a spec."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.oracles.screen import by_slots, enumerated, share_lost

from neardup.errors import InputError
from neardup.params import Bands, Screen, Spec
from neardup.screening import MOST_STRANGERS, STRANGERS, WIDTHS, WORDS, choose_screen, field_chances, screen_loss
from neardup.tuning import SCREEN_SHARE, make_spec, s_curve

LOSS = 0.001
SLOTS = (16, 36, 64, 100, 128, 200, 256, 512)
GIVEN = [(Bands(1, 100), 100), (Bands(9, 13), 128), (Bands(100, 1), 100), (Bands(1, 512), 512)]


@pytest.mark.parametrize(
    ("bands", "slots", "fields"),
    [
        *((Bands(2, 3), 6, fields) for fields in range(1, 7)),
        *((Bands(3, 2), 6, fields) for fields in (1, 3, 5, 6)),
        *((Bands(6, 1), 6, fields) for fields in (2, 6)),
        *((Bands(1, 6), 6, fields) for fields in (2, 6)),
        *((Bands(2, 2), 6, fields) for fields in (3, 4, 5, 6)),
        (Bands(1, 2), 5, 5),
    ],
    ids=str,
)
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("similarity", [Fraction(0), Fraction(1, 3), Fraction(4, 5), Fraction(1)], ids=str)
def test_the_chances_are_those_of_all_patterns_of_slots_and_fields(
    bands: Bands, slots: int, fields: int, width: int, similarity: Fraction
) -> None:
    one, several = field_chances(float(similarity), bands, fields, width)
    known = enumerated(similarity, bands.bands, bands.rows, slots, fields, width)
    np.testing.assert_allclose(one, np.array(known[0], dtype=float), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(several, np.array(known[1], dtype=float), rtol=1e-12, atol=1e-15)
    slot_by_slot = by_slots(np.array([float(similarity)]), bands.bands, bands.rows, slots, fields, width)
    np.testing.assert_allclose(slot_by_slot[0][0], one, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(slot_by_slot[1][0], several, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("slots", SLOTS)
def test_a_screen_loses_no_more_than_its_share_from_the_threshold_on(slots: int) -> None:
    thresholds = [step / 20 for step in (*range(1, 20, 2 if slots <= 128 else 6), 20)]
    chosen = [(threshold, bands) for threshold in thresholds for bands, needed in GIVEN if needed == slots]
    for threshold in thresholds:
        try:
            chosen.append((threshold, make_spec(threshold=threshold, slots=slots).bands))
        except InputError:
            assert threshold < 0.3, "these slots reach no recall"
    for threshold, bands in chosen:
        screen = choose_screen(threshold, bands, slots=slots, loss=LOSS)
        assert screen.words <= WORDS[-1]
        assert screen.width in WIDTHS
        assert 0 <= screen.least <= screen.least_alone <= screen.fields <= slots  # so that equal signatures pass
        above = np.array([threshold, *np.linspace(threshold, 1, 4)[1:]])
        met = by_slots(above, bands.bands, bands.rows, max(bands.slots, screen.fields), screen.fields, screen.width)
        assert (share_lost(*met, screen.least, screen.least_alone) <= LOSS * (1 + 1e-9)).all()
        curve = [s_curve(similarity, bands.bands, bands.rows) for similarity in above.tolist()]
        np.testing.assert_allclose(sum(met).sum(axis=1), curve, rtol=1e-9, atol=1e-12)
        sums = [sum(map(np.sum, field_chances(s, bands, screen.fields, screen.width))) for s in above.tolist()]
        np.testing.assert_allclose(sums, curve, rtol=1e-9, atol=1e-12)
        lost = share_lost(*met, screen.least, screen.least_alone)[0] * sum(met)[0].sum()
        assert screen_loss(threshold, bands, screen) == pytest.approx(lost, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("threshold", "bands", "slots"), [(0.8, Bands(21, 6), 128), (0.5, Bands(12, 2), 36)])
def test_no_other_screen_within_the_loss_passes_fewer_strangers(threshold: float, bands: Bands, slots: int) -> None:
    at = np.array([threshold, STRANGERS * threshold])
    passing: dict[int, list[tuple[float, Screen]]] = {}
    for words in WORDS:
        for width in WIDTHS:
            fields = min(slots, 64 * words // width)
            one, several = by_slots(at, bands.bands, bands.rows, slots, fields, width)
            for least in range(fields + 1):
                for alone in range(least, fields + 1):
                    lost, rejected = share_lost(one, several, least, alone)
                    if lost <= LOSS:
                        passing.setdefault(words, []).append((1 - rejected, Screen(fields, width, least, alone)))
    best = {words: min(share for share, _ in found) for words, found in passing.items()}
    words = next((words for words in WORDS if best[words] <= MOST_STRANGERS), min(WORDS, key=lambda some: best[some]))
    screen = choose_screen(threshold, bands, slots=slots, loss=LOSS)
    assert screen.words <= words
    assert {each: share for share, each in passing[words]}[screen] == pytest.approx(best[words], rel=1e-9)


def test_a_spec_keeps_its_screen_and_one_stored_without_keeps_its_id(repository: Path) -> None:
    spec = make_spec(threshold=0.8)
    assert spec.screen is not None
    assert Spec.from_dict(json.loads(json.dumps(spec.as_dict()))) == spec
    stored = json.loads((repository / "tests/golden/index-v1/expected.json").read_text("utf-8"))["spec"]
    assert "screen" not in stored
    known = Spec.from_dict(stored)
    assert (known.screen, known.id) == (None, stored["id"])
    assert replace(known, screen=spec.screen).id != known.id


@pytest.mark.parametrize("recall", [0.9, 0.99, 0.999])
def test_the_screen_of_a_run_takes_its_share_of_the_misses_at_most(recall: float) -> None:
    for threshold in (0.5, 0.8, 0.9):
        spec = make_spec(threshold=threshold, recall=recall)
        assert spec.screen is not None
        assert spec.recall is not None
        curve = s_curve(threshold, spec.bands.bands, spec.bands.rows)
        lost = screen_loss(threshold, spec.bands, spec.screen)
        assert 0 < lost <= SCREEN_SHARE * (1 - recall) * curve
        assert recall <= spec.recall <= curve - lost
