"""Containment: recall 1 and precision 1 on real texts with quotations planted into them.

Texts of a collection are strung together to containers of 100 to 100,000 shingles, about. Out of these come quotations
of 10 to 1,000 shingles, each a document of its own, or with text of another place round it, so that its containment
is on both sides of every threshold. All pairs of the collection are then compared with those of an exact oracle that
shares no code with neardup: the planted ones, and those that nobody planted, such as short texts of frequent phrases.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.oracles import join, shared
from tests.oracles.containment import all_contained, counted_contained
from tests.oracles.join import Found

import neardup

SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
QUOTED = (10, 20, 50, 100, 300, 1000)
"""Shingles, about."""
THRESHOLDS = (0.3, 0.5, 0.8, 1.0)
WORD = 6
"""Characters of a word and the space behind it, about."""


def planted(name: str, shingle: str, *, quotes: int, plain: int, seed: int) -> list[str]:
    """Return containers, quotations out of them, and plain texts of the collection, shuffled."""
    width = WORD if shingle.startswith("word") else 1
    chosen = random.Random(seed)
    _, texts = shared.documents(name)
    texts = [text for text in texts if len(text) > 20]
    whole = "\n".join(chosen.sample(texts, len(texts)))
    containers = []
    for i in range(3 * len(SIZES)):
        size = min(width * SIZES[i % len(SIZES)] + chosen.randint(0, 90), len(whole) // 2)
        begin = chosen.randrange(len(whole) - size)
        containers.append(whole[begin : begin + size])
    documents = containers + chosen.sample(texts, min(plain, len(texts)))
    for i in range(quotes):
        size = width * QUOTED[i % len(QUOTED)]
        source = chosen.choice([text for text in containers if len(text) > size])
        begin = chosen.randrange(len(source) - size)
        quote = source[begin : begin + size]
        if i % 4:
            own = int(size * chosen.uniform(0.0, 2.5))
            at = chosen.randrange(len(whole) - own)
            other = whole[at : at + own][::-1]  # nobody else says it
            quote = other[: own // 2] + quote + other[own // 2 :]
        documents.append(quote)
    chosen.shuffle(documents)
    return documents


def check(texts: list[str], shingle: str, thresholds: tuple[float, ...]) -> list[int]:
    """Compare the pairs with those of the oracle, and return how many there are at each threshold."""
    sets = join.sets_of_texts(texts, shingle)
    everything = all_contained(sets, min(thresholds))
    counts = []
    for threshold in thresholds:
        true: Found = everything.at_least(threshold)
        result = neardup.find(texts, measure="containment", threshold=threshold, shingle=shingle, crowd=10**6)
        found = result.pairs
        assert len(found) == len(true), f"{shingle} t={threshold}: {len(found)} pairs, {len(true)} are true"
        assert np.array_equal(found["id_a"].to_numpy(), true.left)
        assert np.array_equal(found["id_b"].to_numpy(), true.right)
        assert np.array_equal(found["similarity"].to_numpy(), true.similarity), "a containment is not exact"
        larger = np.sign(sets.sizes[true.left] - sets.sizes[true.right])
        assert found["contained"].to_pylist() == [("a", "both", "b")[i + 1] for i in larger.tolist()]
        counts.append(len(true))
    return counts


TEXTS = [
    (name, shingle)
    for name in shared.at_hand("chapters", "revisions", "messages", "newsgroups", "udhr", "chinese_poems")
    for shingle in ("char:9", "char:5", "word:3")
    if (name, shingle) != ("chinese_poems", "word:3")  # a poem is one word
]


@pytest.mark.parametrize(("name", "shingle"), TEXTS)
def test_every_planted_quotation_is_found_and_nothing_else(name: str, shingle: str) -> None:
    thresholds = THRESHOLDS[TEXTS.index((name, shingle)) % 2 :: 2]
    counts = check(planted(name, shingle, quotes=120, plain=100, seed=1), shingle, thresholds)
    assert counts[-1] > 10


@pytest.mark.soak
@pytest.mark.parametrize(("name", "shingle"), TEXTS)
def test_every_planted_quotation_is_found_at_every_threshold(name: str, shingle: str) -> None:
    check(planted(name, shingle, quotes=600, plain=300, seed=2), shingle, THRESHOLDS)


def test_the_oracles_agree() -> None:
    texts = planted("chapters", "char:5", quotes=60, plain=10, seed=3)
    sets = join.sets_of_texts(texts, "char:5")
    rows = [frozenset(sets.items[sets.offsets[i] : sets.offsets[i + 1]].tolist()) for i in range(len(sets))]
    fast = all_contained(sets, 0.4)
    found = dict(zip(zip(fast.left.tolist(), fast.right.tolist(), strict=True), fast.similarity.tolist(), strict=True))
    assert found == {pair: s for pair, (s, _) in counted_contained(rows, 0.4).items()}
