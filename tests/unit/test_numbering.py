"""Numbers of pairs: held against the list of all pairs, and near the ends of what 64 bits hold."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.stages.numbering import most_documents, number_pairs, pairs_of


@pytest.mark.parametrize("n", [2, 3, 4, 17, 100])
def test_all_pairs_have_the_numbers_of_their_order(n: int) -> None:
    left, right = np.array(list(combinations(range(n), 2)), dtype=np.int64).T
    numbers = number_pairs(left, right, n)
    assert numbers.tolist() == list(range(n * (n - 1) // 2))
    assert [side.tolist() for side in pairs_of(numbers, n)] == [left.tolist(), right.tolist()]


@given(st.integers(2, (1 << 31) - 1), st.data())
def test_a_pair_of_many_rows_is_found_again(n: int, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.tuples(st.integers(0, n - 2), st.integers(1, n - 1)), min_size=1, max_size=20))
    pairs = [(left, right) for left, right in drawn if left < right]
    pairs += [(0, 1), (0, n - 1), (n - 2, n - 1), (max(0, n - 3), n - 1)]
    left, right = np.array(pairs, dtype=np.int64).T
    numbers = number_pairs(left, right, n)
    by_python = [left * (2 * n - 1 - left) // 2 + right - left - 1 for left, right in pairs]
    assert numbers.tolist() == by_python
    assert list(zip(*(side.tolist() for side in pairs_of(numbers, n)), strict=True)) == pairs


@pytest.mark.parametrize("tags", [1, 13, 22, 129, 513])
def test_the_most_documents_are_the_last_whose_pairs_and_tags_fit_into_64_bits(tags: int) -> None:
    most = most_documents(tags)
    assert tags * (most * (most - 1) // 2) < 1 << 64
    assert most == (1 << 31) - 1 or tags * ((most + 2) * (most + 1) // 2) >= 1 << 64


def test_a_billion_documents_fit_with_the_bands_of_the_defaults() -> None:
    assert most_documents(21 + 1) > 1_290_000_000
