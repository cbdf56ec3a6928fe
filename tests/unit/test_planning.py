"""Plans against what then happens, and their parts against slow and obvious twins."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import join

import neardup
from neardup import tuning
from neardup.engine.observe import Silent
from neardup.engine.space import Budget
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.params import Bands, Screen
from neardup.stages.sketch import fingerprints
from neardup.tasks.plan import census as census_module
from neardup.tasks.plan.census import Census, band_chances, documents_with_partner, find_crowds, take_census
from neardup.tasks.plan.costs import PROGRAM_BYTES, Profile, Setting, Speeds, predict
from neardup.tasks.plan.make import SLOTS, setting_for, shapes_of
from neardup.tasks.plan.profile import Sample, survey
from neardup.tasks.plan.public import plan
from neardup.types import Documents

ABSTRACTS = Path(__file__).parents[2] / "examples" / "abstracts.jsonl"


def surveyed(
    texts: list[str], *, most_bytes: int = 1 << 20, most_texts: int = 1000, block: int | None = None, threads=1
):
    reader = open_inputs(texts, block=block)
    return survey(
        reader.tasks(),
        tuning.make_spec(crowd=5),
        threads=threads,
        observer=Silent(),
        most_bytes=most_bytes,
        most_texts=most_texts,
    )


def texts_of(sample: Sample) -> list[str]:
    return [sample.documents.blob(i).decode() for i in range(len(sample))]


def made_up(number: int, seed: int) -> list[str]:
    """Texts of 0 to 60 letters, some several times."""
    draw = random.Random(seed)
    letters = ["".join(draw.choices("abcdefgh ", k=draw.randrange(60))) for _ in range(number)]
    return letters + draw.choices(letters, k=number // 3)


@pytest.mark.parametrize("most_texts", [1, 10, 57, 1000])
def test_the_sample_is_the_texts_of_the_smallest_hashes_whatever_the_order(most_texts):
    texts = made_up(150, 3)
    distinct = sorted(set(texts) - {""})
    hashes = fingerprints(Documents.from_texts(distinct))
    by_hash = [text for _, text in sorted(zip(map(tuple, hashes.tolist()), distinct, strict=True))]
    for seed, block, threads in ((0, 1, 1), (1, 7, 3), (2, None, 1), (3, 20, 2)):
        mixed = random.Random(seed).sample(texts, len(texts))
        _, sample = surveyed(mixed, most_texts=most_texts, block=block, threads=threads)
        assert texts_of(sample) == by_hash[:most_texts]
        assert sample.weight.tolist() == [texts.count(text) for text in by_hash[:most_texts]]


def test_the_sample_keeps_to_its_bytes():
    texts = made_up(300, 4)
    _, whole = surveyed(texts)
    _, part = surveyed(texts, most_bytes=1000, block=10)
    kept = texts_of(part)
    assert kept == texts_of(whole)[: len(kept)]
    assert part.documents.nbytes <= 1000 < part.documents.nbytes + 60


def test_the_survey_counts_everything():
    texts = ["aa", "b", "aa", "", "aa", "c", "b", *["d"] * 7]
    found, _ = surveyed(texts, block=3)
    assert (found.documents, found.distinct, found.copies) == (14, 4, 9)
    # three aa: 3 pairs; two b: 1; seven d are more than the crowd limit of 5: a star of 6
    assert found.copy_pairs == 3 + 1 + 6
    assert found.bytes == found.read_bytes == sum(map(len, texts))
    assert found.sizes.tolist() == sorted(map(len, texts))


def test_an_empty_collection_has_an_empty_sample():
    found, sample = surveyed(["", ""])
    assert (found.documents, found.distinct, len(sample)) == (2, 0, 0)


def random_signatures(m: int, slots: int, seed: int) -> np.ndarray:
    """Groups of rows that share a part of their slots with the head of the group, each row another part."""
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 40, size=(m, slots)).astype(np.uint32)  # strangers agree in one slot of 40
    for row in range(m):
        if row % 5:
            same = draw.random(slots) < draw.random()
            values[row, same] = values[row - row % 5, same]
    return values


def test_a_small_census_looks_at_all_pairs():
    values = random_signatures(60, 32, 1)
    found = take_census(values, threads=2)
    pairs = {(a, b): int((values[a] == values[b]).sum()) for a in range(60) for b in range(a + 1, 60)}
    assert (
        dict(zip(zip(found.left.tolist(), found.right.tolist(), strict=True), found.matches.tolist(), strict=True))
        == pairs
    )
    assert np.all(found.weight == 1)


def test_a_large_census_is_right_on_average(monkeypatch):
    """600 texts, 20,000 of 180,000 pairs at random: what all pairs would give for several bandings, within a tenth.

    Seeds are fixed. With inverse chances left out the near pairs would come out short, with both sources added twice.
    """
    values = random_signatures(600, 256, 2)
    whole = take_census(values, threads=1)
    assert whole.left.size == 600 * 599 // 2
    monkeypatch.setattr(census_module, "RANDOM_PAIRS", 20_000)
    part = take_census(values, threads=3)
    assert part.left.size < 60_000
    assert part.weight.sum() == pytest.approx(whole.left.size, rel=0.02)
    for bands in (Bands(64, 4), Bands(42, 6), Bands(32, 8), Bands(12, 20)):
        chance = band_chances(256, bands)
        exact = chance[whole.matches].sum()
        assert (chance[part.matches] * part.weight).sum() == pytest.approx(exact, rel=0.1)
    assert np.array_equal(take_census(values, threads=1).weight, part.weight)


def test_where_all_texts_are_alike_fewer_of_them_are_compared(monkeypatch):
    monkeypatch.setattr(census_module, "RANDOM_PAIRS", 5_000)
    monkeypatch.setattr(census_module, "MOST_MET", 20_000)
    draw = np.random.default_rng(5)
    values = np.where(draw.random((400, 512)) < 0.95, 7, draw.integers(0, 1 << 30, (400, 512))).astype(np.uint32)
    found = take_census(values, threads=2)
    assert found.near_texts < 400
    assert found.left.size < 60_000
    assert found.weight.sum() == pytest.approx(400 * 399 / 2, rel=0.1)


@pytest.mark.parametrize(("partners", "share"), [(1, 0.3), (1, 0.5), (4, 0.3), (30, 0.2)])
def test_texts_with_a_partner_are_told_from_a_sample(partners, share):
    """Cliques of 1 + partners; half of the answer to twice the answer."""
    draw = np.random.default_rng(7)
    cliques = 1500
    left, right = [], []
    for clique in range(cliques):
        rows = [clique * (partners + 1) + i for i in range(partners + 1) if draw.random() < share]
        left += [a for a in rows for b in rows if a < b]
        right += [b for a in rows for b in rows if a < b]
    found = documents_with_partner(np.array(left), np.array(right), share=share)
    assert 0.5 < found / (cliques * (partners + 1)) < 2


def test_with_all_texts_those_with_a_partner_are_counted():
    assert documents_with_partner(np.array([0, 0, 5]), np.array([1, 2, 6]), share=1.0) == 5
    assert documents_with_partner(np.array([], dtype=int), np.array([], dtype=int), share=0.1) == 0


def test_crowds_of_a_sample_are_found_once_scaled():
    left, right = np.array([0, 0, 0, 4, 1]), np.array([1, 2, 3, 5, 2])
    census = Census(10, left, right, np.array([9, 9, 8, 9, 9]), np.ones(5), 6)
    weight = np.array([1, 1, 2, 1, 1, 1])
    found = find_crowds(census, weight, least=8, scale=10, limit=40)  # 0 has 4 documents near to it, which stand for 40
    assert (found.crowds, found.texts, found.documents) == (1, 4, 5)
    assert found.inside.tolist() == [True, True, True, False, True]
    none = find_crowds(census, weight, least=8, scale=10, limit=41)
    assert none.crowds == 0
    assert not none.inside.any()


@pytest.mark.parametrize(("threshold", "target"), [(0.5, 0.9), (0.8, 0.99), (0.8, 0.999), (0.95, 0.99), (1.0, 0.99)])
def test_every_setting_keeps_the_promise_with_the_fewest_or_the_most_bands(threshold, target):
    shapes = [(slots, bands) for slots in (64, 128) for bands in shapes_of(threshold, target, slots)]
    found = [setting_for(threshold, target, *shape) for shape in shapes]
    assert {each.slots for each in found} == {64, 128}
    t = Fraction(threshold)
    for each in found:
        b, r = each.bands.bands, each.bands.rows
        assert b * r <= each.slots
        assert each.recall >= target
        assert 1 - (1 - t**r) ** b >= Fraction(target)
        needed = Fraction(tuning.recall_for_bands(target))
        is_least = b == 1 or 1 - (1 - t**r) ** (b - 1) < needed
        assert is_least or b == each.slots // r
    default = tuning.choose_bands(threshold, slots=128, recall=tuning.recall_for_bands(target))
    assert default in [each.bands for each in found]


def a_profile(**changes) -> Profile:
    pairs = np.zeros(513)
    pairs[[30, 300, 450]] = 1e9, 1e5, 2e4
    whole = {
        "threshold": 0.8, "documents": 1_000_000, "distinct": 900_000, "bytes": 10**9, "kept_bytes": 0,
        "id_bytes": 10**7,
        "copies": 100_000, "copy_pairs": 200_000, "shingles": 9 * 10**8, "slots": 512,
        "pairs": pairs, "squares": pairs * 20, "pair_shingles": pairs * 2000,
        "partnered": np.linspace(50_000, 10_000, 513), "scale": 20.0,
        "document_pairs": 25_000.0, "crowds": 0, "crowd_texts": 0.0, "crowd_documents": 0.0,
    }  # fmt: skip
    return Profile(**{**whole, **changes})


SPEEDS = Speeds(2e-9, 1e-7, {128: (1e-9, 1e-6), 256: (1.2e-9, 2e-6)}, 1e-9, 2e-8, 6e-9)
SCREEN = Screen(fields=128, width=1, least=103, least_alone=106)
DEFAULT = Setting(128, Bands(21, 6), 81, SCREEN, 0.998)


def test_a_prediction_grows_with_what_it_is_made_of():
    means = {"budget": Budget(17 << 30, 16 << 30), "threads": 2}
    base = predict(a_profile(), SPEEDS, DEFAULT, **means)
    assert base.disk == 0
    more = predict(a_profile(bytes=2 * 10**9, kept_bytes=10**9), SPEEDS, DEFAULT, **means)
    assert more.total_seconds > base.total_seconds
    assert more.memory - base.memory == 10**9
    wider = Screen(fields=256, width=1, least=212, least_alone=216)
    longer = predict(a_profile(), SPEEDS, Setting(256, Bands(21, 6), 170, wider, 0.998), **means)
    # the same bands; but what the sharper screen drops counts in each of them
    assert base.candidates.expected < longer.candidates.expected < 1.2 * base.candidates.expected
    assert longer.checked.expected < base.checked.expected  # a sharper screen
    assert longer.memory > base.memory
    alone = predict(a_profile(), SPEEDS, DEFAULT, **{**means, "threads": 1})
    assert base.total_seconds < alone.total_seconds < 2 * base.total_seconds
    slow = predict(
        a_profile(),
        Speeds(*[getattr(SPEEDS, n) for n in SPEEDS.__slots__[:-1]], 3.0),
        DEFAULT,
        **means,
    )
    assert slow.seconds["start"] == 3 * base.seconds["start"]
    for found in (base.candidates, base.checked, base.pairs):
        assert 0 <= found.low < found.expected < found.high


def test_what_does_not_fit_is_predicted_on_disk_and_within_the_limit():
    budget = Budget(500 << 20, 300 << 20)
    found = predict(a_profile(), SPEEDS, DEFAULT, budget=budget, threads=2)
    spooled = int(1.1 * (10**7 + (8 + 16 + 8 + 8 + 16 + 5 * 21) * 10**6))  # ids; counts, prints, places, bits, keys
    # and 10,000 to 50,000 texts with a partner, of 1,000 shingles each, are laid down once more
    assert 10_000 * 1_111 <= found.disk - spooled <= 50_000 * 1_112
    kept = predict(a_profile(kept_bytes=10**9), SPEEDS, DEFAULT, budget=budget, threads=2)
    assert kept.disk == spooled + int(1.1 * 10**9)  # which are not read again
    assert found.memory < PROGRAM_BYTES + budget.work
    assert found.seconds["spool"] > 0


def test_where_no_pair_was_seen_up_to_three_may_be_there():
    found = predict(a_profile(pairs=np.zeros(513), squares=np.zeros(513)), SPEEDS, DEFAULT,
                    budget=Budget(1 << 34, 1 << 34), threads=1)  # fmt: skip
    assert found.candidates.expected == found.candidates.low == 0
    assert found.candidates.high >= 3 * 20


def test_a_plan_of_a_small_collection_is_what_happens():
    """All pairs are looked at, so only the draw of the hash functions is left to chance."""
    for slots in SLOTS:
        planned = plan(ABSTRACTS, slots=slots, bands=tuning.choose_bands(0.8, slots=slots), threads=1)
        cost = planned.chosen.estimate
        seen = neardup.find(ABSTRACTS, slots=slots, bands=planned.spec.bands, threads=1).summary
        assert planned.collection.documents == seen.documents
        assert planned.collection.exact_copies == seen.exact_copies
        assert cost.candidates.low <= seen.candidates <= cost.candidates.high
        assert cost.checked.expected == pytest.approx(seen.checked, rel=0.2)
        assert cost.pairs.expected == pytest.approx(seen.pairs, rel=0.2)


def test_the_interval_for_pairs_holds_those_of_large_groups_listed_as_stars_or_one_by_one():
    """On a crawl with footers, the interval was 34 times too low: its groups had been counted as stars alone."""
    draw = random.Random(3)
    footer = "".join(draw.choices("abcdefghij", k=260))
    texts = [footer + "".join(draw.choices("abcdefghij", k=40)) for _ in range(200)] + made_up(100, 4)
    every = len(join.all_pairs(join.sets_of_texts(texts, "char:5"), 0.7))
    assert every > 5_000
    for crowd in (20, 0):
        expected = plan(texts, threshold=0.7, shingle="char:5", crowd=crowd).chosen.estimate.pairs
        listed = neardup.find(texts, threshold=0.7, shingle="char:5", crowd=crowd).summary.pairs
        assert expected.low <= listed <= expected.high
        assert expected.low <= every <= expected.high


def test_a_plan_counts_the_same_in_any_order_and_with_any_threads():
    table = pa.table({"text": made_up(400, 9)})
    mixed = table.take(pa.array(random.Random(1).sample(range(len(table)), len(table))))
    one, other = (
        plan(each, shingle="char:3", threshold=0.7, bands="21x6", threads=threads, block=block)
        for each, threads, block in ((table, 1, None), (mixed, 3, 50))
    )
    assert one.collection == other.collection
    for name in ("candidates", "checked", "pairs"):
        assert getattr(one.chosen.estimate, name) == getattr(other.chosen.estimate, name)


def test_the_similarities_of_a_plan_are_those_of_the_texts():
    texts = [json.loads(line)["text"] for line in ABSTRACTS.read_text(encoding="utf-8").splitlines()]
    texts = sorted(set(texts))[:250]
    found = plan(texts, shingle="char:3", threads=1).collection
    sets = join.sets_of_texts(texts, "char:3")
    true = join.all_pairs(sets, 0.5)
    assert len(true) > 20, "the texts are too far apart to say anything"
    # estimates of pairs are blurred by 0.02: at 0.5 as many come in as go out, further down most pairs would come in
    near = sum(each.expected for each in found.similarity[10:])
    assert near == pytest.approx(len(true), rel=0.2)
    assert sum(each.expected for each in found.similarity) == pytest.approx(len(texts) * (len(texts) - 1) / 2)


def test_the_chosen_setting_keeps_the_promise_and_can_be_passed_on():
    planned = plan(ABSTRACTS, threads=1)
    assert planned.chosen.recall >= 0.99
    assert planned.recommended in ("lsh", "exact")
    found = neardup.find(ABSTRACTS, **planned.arguments)
    assert found.spec == planned.spec
    least = min(option.estimate.total_seconds for option in planned.options)
    assert planned.chosen.estimate.total_seconds <= 1.03 * least
    assert {128, 64, 256, 512} <= {option.slots for option in planned.options}


def test_a_plan_for_given_slots_bands_or_a_rule_keeps_to_them():
    assert plan(ABSTRACTS, slots=96, threads=1).spec.slots == 96
    assert plan(ABSTRACTS, bands="7x3", threads=1).spec.bands == Bands(7, 3)
    by_rule = plan(ABSTRACTS, rule="area", threads=1)
    assert by_rule.spec.bands == Bands(9, 13)
    assert by_rule.chosen.recall < 0.5


def test_an_empty_collection_has_a_plan():
    planned = plan(["", ""], threads=1)
    assert planned.chosen.estimate.candidates.expected == 0
    assert planned.exact is None
    assert planned.as_dict()["collection"]["distinct"] == 0


@pytest.mark.parametrize("sketch", ["independent", "universal", "permutation"])
def test_classical_families_are_predicted_to_be_slower(sketch):
    slow, fast = (plan(ABSTRACTS, sketch=each, bands="21x6", threads=1).chosen.estimate for each in (sketch, "hybrid"))
    assert slow.seconds["read"] > fast.seconds["read"]
    assert slow.candidates == fast.candidates


def test_a_table_needs_no_data():
    table = plan(threshold=0.8, slots=128)
    assert table.collection is None
    assert table.chosen.bands == Bands(21, 6)
    assert [rule.rule for rule in table.rules] == list(tuning.BAND_RULES)
    assert table.rules[0].option.recall >= 0.99 > max(rule.option.recall for rule in table.rules[1:])


def test_a_rule_and_bands_exclude_each_other():
    with pytest.raises(InputError, match="Give one of them"):
        plan(rule="area", bands="9x13")
