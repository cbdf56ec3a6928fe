"""Short pages under one of a few footers: the promised recall holds where buckets are overfull.

The truth is counted from sets of shingles, pair by pair. Pairs inside a crowd are listed as a star.
"""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from tests.oracles.results import pair_map

import neardup
from neardup.engine.banding import hot, overfull
from neardup.engine.space import Budget


def crawl(number: int, footers: tuple[int, ...], share: float, *, seed: int = 1) -> list[str]:
    """Reviews of 5 to 30 words, a ``share`` of them with a footer of so many words."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randrange(3, 9))) for _ in range(3000)]
    ends = [" ".join(rng.choices(words, k=size)) for size in footers]
    texts = [" ".join(rng.choices(words, k=rng.randrange(5, 31))) for _ in range(number)]
    return [f"{text} {rng.choice(ends)}" if rng.random() < share else text for text in texts]


def shingles(text: str, shingle: str) -> set[object]:
    kind, size = shingle.split(":")
    k = int(size)
    units = text if kind == "char" else text.split()
    return {tuple(units[i : i + k]) for i in range(max(1, len(units) - k + 1))}


def truth(texts: list[str], shingle: str, threshold: float) -> set[frozenset[int]]:
    sets = [shingles(text, shingle) for text in texts]
    found = set()
    for a, b in combinations(range(len(sets)), 2):
        small, large = sorted((len(sets[a]), len(sets[b])))
        if small >= threshold * large and len(sets[a] & sets[b]) >= threshold * len(sets[a] | sets[b]):
            found.add(frozenset((a, b)))
    return found


@pytest.mark.parametrize("shingle", ["char:9", "word:5"])
@pytest.mark.parametrize("threshold", [0.6, 0.8, 0.9])
@pytest.mark.parametrize("footers", [(40, 70), (150,)])
def test_pairs_of_overfull_documents_are_found_or_inside_a_crowd(monkeypatch, shingle, threshold, footers):
    monkeypatch.setattr(hot, "BUDGET_NS", 1.0)
    texts = crawl(320, footers, 0.7)
    wanted = truth(texts, shingle, threshold)
    result = neardup.find(texts, shingle=shingle, threshold=threshold, crowd=50, threads=2)
    found = set(pair_map(result.pairs))
    leaders = {int(leader) for leader in result.crowds["leader"].to_pylist()}
    led = {}
    for pair in found:
        for leader in pair & leaders:
            for member in pair:
                led.setdefault(member, set()).add(leader)
    starred = {pair for pair in wanted - found if set.intersection(*(led.get(row, set()) for row in pair))}
    assert result.summary.overfull == 0
    assert found <= wanted
    assert len(wanted - found - starred) <= max(2, 0.01 * len(wanted))


@pytest.mark.parametrize("crowd", [20, 60])
def test_threads_memory_and_a_workdir_change_nothing(monkeypatch, tmp_path, crowd):
    monkeypatch.setattr(hot, "BUDGET_NS", 1.0)
    texts = crawl(400, (70, 150), 0.8)
    one = neardup.find(texts, threshold=0.8, crowd=crowd, threads=1)
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(8_000_000, 6_000_000)))
    other = neardup.find(texts, threshold=0.8, crowd=crowd, threads=3, workdir=tmp_path / "work")
    assert one.pairs.equals(other.pairs)
    assert one.crowds.equals(other.crowds)
    assert (one.summary.candidates, one.summary.checked) == (other.summary.candidates, other.summary.checked)


def test_the_answer_does_not_depend_on_blocks_or_the_order_of_the_input(monkeypatch):
    monkeypatch.setattr(hot, "BUDGET_NS", 1.0)
    texts = crawl(400, (70, 150), 0.8)
    whole = neardup.find(texts, threshold=0.8, crowd=20)
    monkeypatch.setattr(overfull, "SHARE", 1e-6)
    blocks = neardup.find(texts, threshold=0.8, crowd=20)
    assert pair_map(blocks.pairs) == pair_map(whole.pairs)
    assert blocks.summary.candidates == whole.summary.candidates
    n = len(texts)
    turned = neardup.find(texts[::-1], threshold=0.8, crowd=20)
    back = {frozenset(n - 1 - int(row) for row in pair) for pair in pair_map(turned.pairs)}
    assert back == set(pair_map(whole.pairs))
