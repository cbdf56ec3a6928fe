"""All pairs from a low threshold on, by counting, against a comparison of every two sets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.stages import all_pairs
from neardup.stages.all_pairs import pairs_above
from neardup.types import PaddedSets

EXAMPLES = settings(max_examples=150, deadline=None)


def padded(sets: list[set[int]]) -> PaddedSets:
    """Sets of hashes, the first and the last bits of which tell them apart, with a strange number behind each."""
    hashes, starts = [], []
    for own in sets:
        starts.append(len(hashes))
        hashes += [*sorted(own), 3]
    return PaddedSets(np.array(starts), np.array(list(map(len, sets)), dtype=np.int64), np.array(hashes, np.uint64))


def slow_pairs(sets: list[set[int]], threshold: float) -> set[tuple[int, int]]:
    return {
        (i, j)
        for j in range(len(sets))
        for i in range(j)
        if sets[i] & sets[j] and Fraction(len(sets[i] & sets[j]), len(sets[i] | sets[j])) >= Fraction(str(threshold))
    }


def found(sets: list[set[int]], threshold: float) -> set[tuple[int, int]]:
    left, right = pairs_above(padded(sets), threshold)
    pairs = list(zip(left.tolist(), right.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    return set(pairs)


numbers = st.integers(0, 30).map(lambda number: (number * 0x9E3779B97F4A7C15) % 2**64)


@EXAMPLES
@given(st.lists(st.sets(numbers, max_size=20), max_size=24), st.sampled_from([0.05, 0.1, 0.25, 0.5, 0.75, 0.95, 1.0]))
def test_pairs_are_those_of_a_comparison_of_every_two_sets(sets, threshold):
    assert found(sets, threshold) == slow_pairs(sets, threshold)


@pytest.mark.parametrize("many", [1, 4, 100])
def test_pairs_are_the_same_however_common_a_shingle_must_be_to_be_a_mark(monkeypatch, many):
    monkeypatch.setattr(all_pairs, "MANY", many)
    monkeypatch.setattr(all_pairs, "ROOM", 1)
    rng = np.random.default_rng(many)
    every = rng.integers(1, 2**64, size=300, dtype=np.uint64)
    sets = [set(every[rng.random(300) < rng.choice([0.02, 0.5, 0.9])].tolist()) for _ in range(60)]
    assert found(sets, 0.3) == slow_pairs(sets, 0.3)


def test_shingles_that_differ_in_their_lowest_bits_only_make_no_pair():
    high = [number << 40 for number in range(1, 9)]
    sets = [{each + own for each in high} for own in range(4)]
    assert found(sets, 0.05) == set()
