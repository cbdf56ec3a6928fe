"""The families of the literature at the edges of their arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from tests.twins import classical as twin
from tests.twins.hashing import unmix

from neardup.errors import InputError
from neardup.kernels import classical
from neardup.stages.sketch import sketch_sets
from neardup.types import ShingleSets

PRIME = (1 << 61) - 1
EMPTY = 0xFFFFFFFF
EDGES = [0, 1, 2, 2**29, 2**32 - 1, 2**32, PRIME - 1, PRIME, PRIME + 1, 2**63, 2**64 - 2, 2**64 - 1]


def words(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def test_universal_hashing_does_not_overflow_at_any_edge():
    """Every edge as hash, as factor and as summand, against integers without end; one set each."""
    offsets = np.arange(len(EDGES) + 1)
    below = [value for value in EDGES if value < PRIME]
    a, b = (words(side) for side in zip(*((x, y) for x in below for y in below), strict=True))
    fast, slow = (np.zeros((len(EDGES), a.size), dtype=np.uint32) for _ in range(2))
    classical.universal(words(EDGES), offsets, a, b, fast)
    twin.universal(words(EDGES), offsets, a, b, slow)
    assert fast.tolist() == slow.tolist()


def test_a_set_with_members_never_has_the_value_of_an_empty_slot():
    """Hashes whose leading bits are all ones would give it; they give the value below."""
    offsets = np.array([0, 1, 1])
    values = np.zeros((2, 1), dtype=np.uint32)
    classical.universal(words([PRIME - 1]), offsets, words([1]), words([0]), values)
    assert values.tolist() == [[EMPTY - 1], [EMPTY]]
    classical.independent(words([unmix(2**64 - 1) ^ 5]), offsets, words([5]), values)
    assert values.tolist() == [[EMPTY - 1], [EMPTY]]
    classical.one_permutation(words([unmix(2**64 - 1) ^ 5]), offsets, np.uint64(5), values)
    assert values.tolist() == [[EMPTY - 1], [EMPTY]]


def sets_of(*members: list[int]) -> ShingleSets:
    return ShingleSets(np.cumsum([0, *map(len, members)]), words([h for one in members for h in sorted(one)]))


@pytest.mark.parametrize("family", ["independent", "permutation", "universal"])
def test_families_are_seeded_order_free_and_leave_empty_sets_empty(family):
    sets = sets_of([3, 2**40, 2**64 - 1], [], [2**40], [3, 2**40, 2**64 - 1])
    one, again, other = (sketch_sets(sets, family=family, slots=64, seed=seed).values for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()
    assert (one[0] == one[3]).all()
    assert (one[1] == EMPTY).all()
    assert (one[[0, 2]] < EMPTY).all()
    assert 0 < (one[0] == one[2]).sum() < 64


def test_one_permutation_puts_each_element_into_one_slot_and_leaves_the_others_empty():
    """Upper halves 0, the middle and the top of the range fall into the first, the middle and the last of 7 slots."""
    hashes = [unmix(upper << 32 | value) for upper, value in ((0, 9), (2**31, 8), (2**31 + 1, 3), (2**32 - 1, 7))]
    values = np.zeros((1, 7), dtype=np.uint32)
    classical.one_permutation(words(sorted(hashes)), np.array([0, 4]), np.uint64(0), values)
    assert values.tolist() == [[9, EMPTY, EMPTY, 3, EMPTY, EMPTY, 7]]


def test_one_permutation_is_seeded_order_free_and_leaves_an_empty_set_empty():
    sets = sets_of([3, 2**40, 2**64 - 1], [], [2**40], [3, 2**40, 2**64 - 1])
    one, again, other = (sketch_sets(sets, family="one-permutation", slots=64, seed=s).values for s in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()
    assert (one[0] == one[3]).all()
    assert [int((row < EMPTY).sum()) for row in one[:3]] == [3, 0, 1]


def test_an_unknown_family_is_named():
    with pytest.raises(InputError, match="'nonsense'"):
        sketch_sets(sets_of([1]), family="nonsense", slots=4, seed=1)
