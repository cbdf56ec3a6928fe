"""Sketch families, link rules and threads in every combination: the same true pairs, the same bytes."""

from __future__ import annotations

import itertools

import pytest
from tests.oracles import pairs, text
from tests.oracles.results import as_bytes, pair_map
from tests.parity.test_inputs import documents

import neardup

FAMILIES = ["hybrid", "independent", "permutation", "universal"]


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


@pytest.mark.parametrize(("family", "link"), list(itertools.product(FAMILIES, ["star", "connected"])))
def test_every_family_and_link_rule_gives_the_same_bytes_for_any_threads(family, link):
    one, many = (
        neardup.find(documents(), threshold=0.6, shingle="char:5", sketch=family, link=link, threads=n, block=b)
        for n, b in ((1, None), (7, 11))
    )
    assert as_bytes(one.pairs) == as_bytes(many.pairs)
    assert as_bytes(one.clusters) == as_bytes(many.clusters)
    assert one.spec.sketch == family


@pytest.mark.parametrize("family", ["hybrid", "independent", "universal"])
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
