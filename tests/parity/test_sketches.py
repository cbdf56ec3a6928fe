"""Sketch families, link rules and threads in every combination: the same true pairs, the same bytes."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.oracles import pairs, text
from tests.oracles.results import as_bytes, pair_map
from tests.parity.test_inputs import documents

import neardup

FAMILIES = ["hybrid", "independent", "one-permutation", "permutation", "universal"]


@pytest.fixture(scope="module")
def true() -> dict[frozenset[str], float]:
    rows = documents()
    ids = list(rows)
    found = pairs.counted_pairs(text.collection(rows.values(), "char:5"), 0.6)
    return {frozenset((ids[i], ids[j])): s for (i, j), s in found.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_finds_the_true_pairs_and_only_them(true, family):
    found = pair_map(neardup.find(documents(), threshold=0.6, shingle="char:5", sketch=family).pairs)
    assert len(true) >= 95
    assert found.items() <= true.items()
    assert len(found) >= 0.95 * len(true)  # 5 sigma under 0.99 of a hundred pairs


def long_documents() -> list[str]:
    """Ten texts of 3,000 characters, each with three copies of which each 400th, 200th or 100th is changed."""
    draw = random.Random(7)
    texts = []
    for _ in range(10):
        letters = draw.choices("abcdefghijklmnop ", k=3000)
        texts.append("".join(letters))
        texts += ["".join("#" if i % step == 0 else c for i, c in enumerate(letters)) for step in (400, 200, 100)]
    return texts


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_finds_exactly_the_true_pairs_of_long_documents(family):
    """60 pairs of J from 0.83 to 0.96 at t = 0.7 and a recall of 0.9999: one is missed with 0.006 at most."""
    texts = long_documents()
    true = pairs.counted_pairs(text.collection(texts, "char:9"), 0.7)
    found = neardup.find(texts, threshold=0.7, recall=0.9999, sketch=family)
    rows = zip(*found.pairs.to_pydict().values(), strict=True)
    assert len(true) == 60
    assert {(a, b): s for a, b, s in rows} == true


def test_one_permutation_hashing_gives_the_same_bytes_on_disk(tmp_path):
    """Short documents: the keys of bands with empty slots lie in files."""
    rows = {name: value[:60] for name, value in documents().items()}
    settings = {"threshold": 0.6, "shingle": "char:5", "sketch": "one-permutation"}
    here, there = neardup.find(rows, **settings), neardup.find(rows, **settings, workdir=tmp_path / "work")
    assert here.pairs.num_rows > 50
    assert as_bytes(here.pairs) == as_bytes(there.pairs)
    assert here.summary.candidates == there.summary.candidates


@pytest.mark.parametrize(("family", "link"), list(itertools.product(FAMILIES, ["star", "connected"])))
def test_every_family_and_link_rule_gives_the_same_bytes_for_any_threads(family, link):
    one, many = (
        neardup.find(documents(), threshold=0.6, shingle="char:5", sketch=family, link=link, threads=n, block=b)
        for n, b in ((1, None), (7, 11))
    )
    assert as_bytes(one.pairs) == as_bytes(many.pairs)
    assert as_bytes(one.clusters) == as_bytes(many.clusters)
    assert one.spec.sketch == family


@pytest.mark.parametrize("family", ["hybrid", "independent", "one-permutation", "universal"])
def test_a_sketch_does_not_depend_on_its_neighbours(family):
    """Not ``permutation``: its universe is what it is shown."""
    texts = list(documents().values())[:60]
    together = neardup.sketch(texts, shingle="char:5", sketch=family).signatures.values
    alone = [neardup.sketch([t], shingle="char:5", sketch=family).signatures.values[0] for t in texts]
    assert all((a == b).all() for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_sketch_of_a_union_is_the_smaller_value_of_each_slot(family):
    a, b = list(range(300)), list(range(200, 450))
    made = neardup.sketch([a, b, sorted({*a, *b})], shingle="item", sketch=family, slots=128)
    left, right, union = made.signatures.values
    assert (union == [min(x, y) for x, y in zip(left, right, strict=True)]).all()


def test_the_order_and_repeats_of_items_do_not_matter():
    a = neardup.sketch([[1, 2, 3, 4, 5]], shingle="item").signatures.values
    b = neardup.sketch([[5, 4, 4, 3, 1, 2, 2]], shingle="item").signatures.values
    assert (a == b).all()


def test_sketches_of_two_seeds_differ():
    texts = list(documents().values())[:20]
    a = neardup.sketch(texts, seed=1).signatures.values
    b = neardup.sketch(texts, seed=2).signatures.values
    assert (a == b).mean() < 0.01


@pytest.mark.parametrize("other", [{"seed": 2}, {"shingle": "char:3"}, {"normalize": "none"}, {"slots": 64}])
def test_sketches_of_two_specs_are_not_compared(other):
    a, b = neardup.sketch(["one text"]), neardup.sketch(["one text"], **other)
    (name,) = other
    with pytest.raises(neardup.SpecMismatch, match=name):
        a.estimate(0, b, 0)
    assert a.estimate(0, a, 0) == 1.0
