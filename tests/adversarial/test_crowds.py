"""Crowds of copies and near-copies, hot buckets, giants among dwarfs: the work stays linear, nothing is lost.

Linear is asserted on the counts of the summary (pairs checked, pairs listed), not on a clock.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.oracles.results import crowd_members, groups, pair_map

import neardup

PAGE = " ".join(f"sentence number {i} of the page that everyone copies." for i in range(30))


def boilerplate(number: int, seed: int = 1) -> list[str]:
    """Documents that share a long text and differ by a line of their own."""
    rng = random.Random(seed)
    return [PAGE + f" Contact {rng.randrange(10**9)} for page {i}." for i in range(number)]


def test_copies_above_the_limit_are_listed_as_one_star():
    number = 20_000
    result = neardup.find([PAGE] * number, threshold=0.8)
    assert result.pairs.num_rows == number - 1
    assert set(result.pairs["similarity"].to_pylist()) == {1.0}
    assert result.summary.crowds == 1
    assert result.summary.crowd_documents == number
    assert result.crowds["documents"].to_pylist() == [number]
    assert groups(result.clusters) == {frozenset(range(number))}
    assert result.summary.exact_copies == number - 1


@pytest.mark.parametrize("number", [2, 50, 999, 1000])
def test_copies_up_to_the_limit_are_listed_pair_by_pair(number):
    result = neardup.find([PAGE] * number, threshold=0.8)
    assert result.pairs.num_rows == number * (number - 1) // 2
    assert result.summary.crowds == 0


@pytest.mark.parametrize(("number", "crowd"), [(1001, 1000), (60, 50), (3, 2)])
def test_the_limit_of_a_crowd_can_be_set(number, crowd):
    result = neardup.find([PAGE] * number, threshold=0.8, crowd=crowd)
    assert result.pairs.num_rows == number - 1
    assert result.summary.crowds == 1


def test_a_crowd_of_near_copies_is_a_star_and_every_member_is_verified():
    number = 10_000
    texts = boilerplate(number)
    result = neardup.find(texts, threshold=0.8)
    assert result.summary.crowds >= 1
    assert result.pairs.num_rows < 20 * number
    assert result.summary.checked < 60 * number
    joined = set().union(*crowd_members(result.crowds, result.pairs).values())
    assert len(joined) >= 0.99 * number
    for (a, b), similarity in random.Random(5).sample([(tuple(p), s) for p, s in pair_map(result.pairs).items()], 50):
        assert similarity == neardup.jaccard(texts[a], texts[b]) >= 0.8


def test_near_copies_up_to_the_limit_are_all_listed():
    number = 600
    result = neardup.find(boilerplate(number), threshold=0.8)
    assert result.summary.crowds == 0
    assert result.pairs.num_rows >= 0.99 * number * (number - 1) / 2


def test_a_crowd_does_not_hide_the_pairs_of_others():
    rng = random.Random(3)
    words = [f"w{i}" for i in range(5000)]
    others = [" ".join(rng.choices(words, k=60)) for _ in range(300)]
    texts = boilerplate(3000) + others + [text + " end" for text in others]
    result = neardup.find(texts, threshold=0.8)
    outside = {pair for pair in pair_map(result.pairs) if min(pair) >= 3000}
    assert len(outside) >= 0.99 * 300
    assert all(abs(a - b) == 300 for a, b in map(tuple, outside))


def checked_of_a_hot_core(number: int, threshold: float) -> int:
    """Pairs checked among ``number`` sets whose common core leaves every two of them 0.15 under the threshold."""
    core = round(2 * 60 * (threshold - 0.15) / (1 + threshold - 0.15))
    rows = [[f"c{i}" for i in range(core)] + [f"{d}.{i}" for i in range(60 - core)] for d in range(number)]
    result = neardup.find(rows, threshold=threshold, shingle="item", crowd=100)
    assert result.pairs.num_rows == 0
    return result.summary.checked


@pytest.mark.parametrize(
    ("number", "threshold"),
    [(8_000, 0.8), *(pytest.param(16_000, threshold, marks=pytest.mark.soak) for threshold in (0.5, 0.8))],
)
def test_hot_buckets_of_documents_that_are_no_pairs_cost_no_square(number, threshold):
    """Checks for each document stay under what the budget of a hot bucket buys; all pairs would be 4,000 each."""
    most = 1_500
    assert checked_of_a_hot_core(number, threshold) <= most * number


def test_a_giant_among_dwarfs_pairs_only_with_its_copy():
    rng = np.random.default_rng(1)
    giant = "".join(map(chr, rng.integers(97, 123, 4_000_000)))
    small = [f"small document number {i} with its own words {i * 7919}" for i in range(500)]
    result = neardup.find([*small, giant, giant[:-1000], *small[:10]], threshold=0.8, shingle="char:9")
    pairs = pair_map(result.pairs)
    assert pairs[frozenset((500, 501))] > 0.999
    assert all(pair == {500, 501} or max(pair) < 500 or max(pair) >= 502 for pair in pairs)
    assert all(frozenset((i, 502 + i)) in pairs for i in range(10))


def test_a_giant_of_one_repeated_character_is_one_shingle():
    result = neardup.find(["a" * 3_000_000, "a" * 9, "a" * 8, "b" * 9], threshold=0.8)
    assert pair_map(result.pairs) == {frozenset((0, 1)): 1.0}


def test_a_hundred_thousand_empty_documents_are_counted_and_cost_nothing():
    result = neardup.find([""] * 100_000 + ["one text here", "one text here"], threshold=0.8)
    assert result.summary.empty == 100_000
    assert result.pairs.num_rows == 1
    assert result.summary.crowds == 0


def test_documents_of_white_space_are_empty_only_when_normalised_away():
    texts = ["   ", "\n\n\n", " \t "]
    assert neardup.find(texts, normalize="nfc,strip").summary.empty == 3
    assert neardup.find(texts, normalize="none").summary.empty == 0


def test_no_documents_are_no_pairs():
    result = neardup.find([], threshold=0.8)
    assert result.summary.documents == 0
    assert result.pairs.num_rows == result.clusters.num_rows == result.crowds.num_rows == 0
    assert result.pairs.column_names == ["id_a", "id_b", "similarity"]
    assert result.clusters.column_names == ["id", "cluster", "keeper", "similarity"]


def test_one_document_is_no_pair():
    assert neardup.find(["alone"]).pairs.num_rows == 0


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65])
def test_texts_of_every_small_length_equal_their_copy_and_nothing_else(width):
    texts = [chr(0x61 + i) * width for i in range(5)] + [chr(0xE0 + i) * width for i in range(5)]
    found = pair_map(neardup.find(texts * 2, threshold=0.5).pairs)
    assert found == {frozenset((i, i + 10)): 1.0 for i in range(10)}
