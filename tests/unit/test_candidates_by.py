"""Candidates by other shingles than those of the check: what is chosen, found, promised and refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracles import pairs, text
from tests.oracles.jaccard import jaccard
from tests.oracles.results import pair_map
from tests.twins.hashing import shingle_hashes
from tests.twins.sketching import signature

import neardup
from neardup.params import Bands, CandidateShingle, Shingle, Spec
from neardup.stages.shingle import Hasher
from neardup.tuning import CANDIDATE_SLOTS, candidate_bands, candidate_threshold, make_spec

LETTERS = "abcdefghijklmnopqrstuvwxyz    "


def sentence(draw: random.Random, count: int) -> str:
    return "".join(draw.choices(LETTERS, k=count))


def with_edits(draw: random.Random, original: str, share: float) -> str:
    """A copy of which each character is another one with a probability, whatever became of its neighbours."""
    return "".join(draw.choice("0123456789") if draw.random() < share else char for char in original)


def family(count: int = 40) -> list[str]:
    """Texts with versions of them, whose similarity goes from nearly the same to hardly any."""
    draw = random.Random(11)
    texts = []
    for number in range(count):
        original = sentence(draw, 300)
        cut = 10 + 3 * number
        texts += [original, original[:-cut] + sentence(draw, cut)]
    return texts


@pytest.mark.parametrize(("t", "k", "n"), [(0.4, 5, 12), (0.4, 5, 9), (0.6, 9, 16), (0.3, 4, 10)])
def test_the_threshold_of_longer_shingles_is_that_of_pairs_with_independent_edits(t: float, k: int, n: int) -> None:
    """A long text and a copy with edits of such a share that its k-shingles are at t: its n-shingles are as said."""
    draw = random.Random(k)
    kept = (2 * t / (1 + t)) ** (1 / k)
    original = "".join(draw.choices([chr(code) for code in range(0x4E00, 0x5E00)], k=60_000))
    other = with_edits(draw, original, 1 - kept)
    short, long = (
        float(jaccard(text.shingles(original, f"char:{size}"), text.shingles(other, f"char:{size}"))) for size in (k, n)
    )
    assert short == pytest.approx(t, abs=0.03)
    assert candidate_threshold(short, Shingle("char", k), Shingle("char", n)) == pytest.approx(long, abs=0.012)


@pytest.mark.parametrize("recall", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("threshold", [0.06, 0.15, 0.22, 0.5, 0.8, 1.0])
def test_the_bands_are_the_fewest_of_the_most_rows_that_the_slots_allow(threshold: float, recall: float) -> None:
    """By trying every number of rows and of bands."""
    counts, rows = np.arange(1, 4097), np.arange(2, CANDIDATE_SLOTS + 1)[:, None]
    reaches = 1 - (1 - threshold**rows) ** counts >= recall
    fewest = np.where(reaches.any(axis=1), counts[reaches.argmax(axis=1)], 4097)
    within = np.flatnonzero(fewest * rows[:, 0] <= CANDIDATE_SLOTS)
    chosen = int(within.max(initial=0))
    if fewest[chosen] * (chosen + 2) > 4096:
        with pytest.raises(neardup.InputError, match="shorter shingles, or a lower recall"):
            candidate_bands(threshold, recall)
    else:
        assert candidate_bands(threshold, recall) == Bands(int(fewest[chosen]), chosen + 2)


@pytest.mark.parametrize("by", ["char:9", "word:2@0.2", "byte:12"])
def test_found_are_the_true_pairs_whose_signatures_of_the_other_shingles_meet(by: str) -> None:
    """Signatures, bands and filter done slowly, by a twin of the sketch that shares no code with it."""
    texts = family(30)
    result = neardup.find(texts, shingle="char:5", threshold=0.4, candidates_by=by, recall=0.7)
    spec = result.spec
    params = Hasher(spec.sketched, spec.seed).params
    rounds = 2 if spec.slots <= 128 else 3
    signed = [signature(set(shingle_hashes(params, body.encode())), spec.slots, rounds) for body in texts]

    def meet(a: list[int], b: list[int]) -> bool:
        same = [x == y for x, y in zip(a, b, strict=True)]
        rows = spec.bands.rows
        bands = (same[i * rows : (i + 1) * rows] for i in range(spec.bands.bands))
        return any(map(all, bands)) and sum(same) >= spec.min_matches

    true = pairs.naive_pairs(text.collection(texts, "char:5"), 0.4)
    expected = {frozenset(pair): s for pair, s in true.items() if meet(signed[pair[0]], signed[pair[1]])}
    assert pair_map(result.pairs) == expected
    assert len(expected) >= 20


def test_longer_shingles_leave_fewer_candidates_and_hardly_lose_a_pair() -> None:
    draw = random.Random(5)
    words = ["".join(draw.choices("abcdefghij", k=draw.randint(2, 7))) for _ in range(150)]
    texts = [" ".join(draw.choices(words, k=60)) for _ in range(400)]
    texts += [" ".join(draw.choices(words, k=8)) + body[40:] for body in texts[:100]]
    plain = neardup.find(texts, shingle="char:3", threshold=0.5)
    other = neardup.find(texts, shingle="char:3", threshold=0.5, candidates_by="char:9")
    assert other.summary.candidates < plain.summary.candidates / 10
    assert pair_map(other.pairs).items() <= pair_map(plain.pairs).items()
    assert len(other.pairs) >= 0.95 * len(plain.pairs) >= 90


def test_nothing_is_promised_and_the_spec_says_so() -> None:
    found = neardup.find(family(6), shingle="char:5", threshold=0.4, candidates_by="char:12")
    assert found.summary.recall is None
    assert found.spec.recall is None
    assert json.loads(json.dumps(found.summary.as_dict()))["recall"] is None
    assert found.summary.spec["candidates_by"] == "char:12@0.15"


def test_a_spec_with_other_candidates_is_another_and_comes_back_from_its_values() -> None:
    plain = make_spec(shingle="char:5", threshold=0.4)
    specs = [make_spec(shingle="char:5", threshold=0.4, candidates_by=by) for by in ("char:12", "char:12@0.123456789")]
    assert len({plain.id, *(spec.id for spec in specs)}) == 3
    for spec in specs:
        assert Spec.from_dict(json.loads(json.dumps(spec.as_dict()))) == spec
    assert "candidates_by" not in plain.as_dict()
    named = CandidateShingle(Shingle("char", 12), 0.15)
    assert make_spec(shingle="char:5", threshold=0.4, candidates_by=named) == specs[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"candidates_by": "char:5"}, "which is the shingle of the check itself"),
        ({"candidates_by": "char:4"}, "no longer than the shingle char:5"),
        ({"candidates_by": "word:1"}, "no longer than the shingle char:5"),
        ({"candidates_by": "char:900"}, "too long to find pairs at 0.4 of char:5"),
        ({"candidates_by": "char:30"}, "takes more than 4096 slots"),
        ({"candidates_by": "item"}, "sets of items have no other shingles"),
        ({"candidates_by": "word:3", "shingle": "item"}, "sets of items have no other shingles"),
        ({"candidates_by": "char:12", "exact": True}, "exact is found by a join"),
        ({"candidates_by": "char:12", "exact": "auto"}, "exact is found by a join"),
        ({"candidates_by": "char:12", "measure": "containment"}, "containment is found by a join"),
        ({"candidates_by": "char:12", "sketch": "universal"}, "the sketch hybrid only"),
        ({"candidates_by": "char:12@1.5"}, "Give char:K, word:K or byte:K"),
        ({"candidates_by": "char:12@"}, "Give char:K, word:K or byte:K"),
        ({"candidates_by": "char"}, None),
        ({"candidates_by": "letter:12"}, "Give char:K, word:K or byte:K"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(options: dict[str, Any], said: str | None) -> None:
    asked = {"shingle": "char:5", "threshold": 0.4, **options}
    if said is None:
        assert str(make_spec(**asked).sketched) == "char:9"
        return
    with pytest.raises(neardup.InputError, match="candidates_by") as refused:
        make_spec(**asked)
    assert said in str(refused.value)


def test_between_two_collections_there_is_a_join_only() -> None:
    with pytest.raises(neardup.InputError, match="found by a join"):
        neardup.find(family(3), against=family(2), shingle="char:5", candidates_by="char:12")


def test_slots_and_bands_by_hand_are_taken() -> None:
    spec = make_spec(shingle="char:5", threshold=0.4, candidates_by="char:12", slots=512)
    assert (spec.slots, spec.bands) == (512, Bands(256, 2))
    spec = make_spec(shingle="char:5", threshold=0.4, candidates_by="char:12", bands="10x3")
    assert (spec.slots, spec.bands, spec.recall) == (30, Bands(10, 3), None)


def test_short_documents_are_those_of_less_than_one_shingle_of_the_candidates() -> None:
    texts = ["seven.7", "seven.7", "seven.8", "a text of more than twelve letters", ""]
    found = neardup.find(texts, shingle="char:3", threshold=0.4, candidates_by="char:12")
    assert (found.summary.short, found.summary.empty) == (3, 1)
    assert found.pairs.to_pylist() == [{"id_a": 0, "id_b": 1, "similarity": 1.0}]


def test_the_audit_measures_by_the_shingles_of_the_check_and_holds_against_no_promise() -> None:
    """Bands that can hardly find anything: most pairs are missed, and that breaks nothing."""
    texts = family()
    true = pairs.naive_pairs(text.collection(texts, "char:5"), 0.4)
    done = neardup.audit(texts, shingle="char:5", threshold=0.4, candidates_by="char:12", bands="1x8")
    found = neardup.find(texts, shingle="char:5", threshold=0.4, candidates_by="char:12", bands="1x8")
    assert (done.pairs, done.found) == (len(true), len(found.pairs))
    assert done.found < 0.9 * done.pairs
    missed = {frozenset((row["id_a"], row["id_b"])): row["similarity"] for row in done.missed.to_pylist()}
    assert missed.items() | pair_map(found.pairs).items() == {frozenset(pair): s for pair, s in true.items()}.items()
    assert (done.promised, done.theory, done.chance, done.is_broken) == (None, None, None, False)
    assert {each.theory for each in done.bins} == {None}
    assert done.verdict.startswith(f"measured, nothing promised: {done.found} of {done.pairs} true pairs found")


def test_a_plan_counts_what_the_run_will_meet_and_find() -> None:
    texts = family()
    options: dict[str, Any] = {"shingle": "char:3", "threshold": 0.5, "candidates_by": "char:8"}
    made = neardup.plan(texts, bands="100x2", **options)
    done = neardup.find(texts, bands="100x2", **options)
    estimate = made.chosen.estimate
    assert estimate is not None
    assert estimate.candidates.expected == pytest.approx(done.summary.candidates, rel=0.35)
    assert estimate.pairs.expected == pytest.approx(done.summary.pairs, rel=0.2)
    assert made.spec.recall is None
    assert made.arguments["candidates_by"] == str(done.spec.candidates_by)
    assert made.chosen.recall == pytest.approx(1 - (1 - made.spec.banded_at**2) ** 100, abs=0.01)


def test_the_setting_that_a_plan_chooses_can_be_passed_on() -> None:
    texts = family(20)
    made = neardup.plan(texts, shingle="char:5", threshold=0.4, candidates_by="char:12", recall=0.9)
    found = neardup.find(texts, shingle="char:5", **made.arguments)
    assert found.spec == made.spec
    assert made.spec.bands.rows >= 2
    assert neardup.plan(shingle="char:5", threshold=0.4, candidates_by="char:12").spec.recall is None


def test_pairs_of_such_a_run_make_a_report_that_promises_nothing(tmp_path: Path) -> None:
    texts = [(f"d{i}", body) for i, body in enumerate(family(8))]
    neardup.report(texts, tmp_path / "pages", shingle="char:5", threshold=0.4, candidates_by="char:12", audit=10)
    page = (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
    assert "Recall is not promised" in page
    assert "recall promised" not in page
    assert "measured, nothing promised" in page
