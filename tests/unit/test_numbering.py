"""Numbers of pairs: they sort by the blocks of both rows, then as the pairs do, up to the most rows there may be."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.engine.banding.pending import WHOLE
from neardup.engine.reading.collection import MOST_DOCUMENTS
from neardup.stages.numbering import PairNumbers


@given(st.one_of(st.integers(2, 40), st.integers(2, 1 << 31)), st.integers(1, WHOLE), st.data())
def test_numbers_sort_by_blocks_then_pairs_come_back_and_have_62_bits(n: int, low: int, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.tuples(st.integers(0, n - 2), st.integers(1, n - 1)), max_size=20))
    pairs = [(left, right) for left, right in drawn if left < right]
    pairs += [(0, 1), (0, n - 1), (n - 2, n - 1), (n // 2 - 1, n // 2), ((1 << low) % (n - 1), n - 1)]
    left, right = np.array(pairs, dtype=np.int64).T
    numbers = PairNumbers(n, low)
    found = numbers.of(left, right)
    assert int(found.max()) < 1 << 62
    assert list(zip(*(side.tolist() for side in numbers.pairs(found)), strict=True)) == pairs
    size = 2**low
    blocks = [(left // size, right // size) for left, right in pairs]
    assert list(zip(*(side.tolist() for side in numbers.blocks(found)), strict=True)) == blocks
    by_number = sorted(zip(found.tolist(), blocks, pairs, strict=True))
    assert by_number == sorted(by_number, key=lambda each: each[1:])
    assert len(set(found.tolist())) == len(set(pairs))


def test_the_most_documents_have_numbers_in_blocks_of_any_size() -> None:
    last = MOST_DOCUMENTS - 1
    for low in range(1, WHOLE + 1):
        numbers = PairNumbers(MOST_DOCUMENTS, low)
        record = numbers.of(np.array([last - 1]), np.array([last])) << np.uint64(1) | np.uint64(1)
        assert [int(side[0]) for side in numbers.pairs(record >> np.uint64(1))] == [last - 1, last]
