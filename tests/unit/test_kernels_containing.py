"""The shingles by which a set is known: of each container it holds at least as many as are asked for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.jaccard import reaches

from neardup.kernels import rarest
from neardup.stages.shingle import SALT
from neardup.types import SetBlock

SETS = st.lists(st.frozensets(st.integers(0, 60), min_size=1, max_size=20), min_size=1, max_size=8)
BITS = 6
VACANT = np.uint64(0xFFFFFFFFFFFFFFFF)


def kept_of(rows: list[frozenset[int]], classes: np.ndarray, threshold: float, share: float, slack: float):
    """The kept shingles of each set and what a container needs of them. Shingle s is its own cell of the table."""
    hashes = np.array([s << (64 - BITS) for row in rows for s in sorted(row)], dtype=np.uint64)
    sizes = np.array([len(row) for row in rows])
    starts = np.cumsum(sizes) - sizes
    tokens, held, needed = (
        np.empty(hashes.size, np.uint64),
        np.empty(len(rows), np.int64),
        np.empty(len(rows), np.int32),
    )
    often = np.maximum(np.arange(256.0), 1.0)
    block = SetBlock(np.arange(len(rows)), np.full(len(rows), 3, dtype=np.uint8), starts, sizes, hashes)
    total = rarest.choose(block, classes, BITS, often, 100, threshold, share, 1.0, slack, tokens, held, needed)
    assert held.sum() == total
    kept = np.split(tokens[:total] >> np.uint64(64 - BITS), np.cumsum(held)[:-1])
    return [frozenset(some.tolist()) for some in kept], needed.tolist()


@given(
    SETS,
    st.lists(st.integers(0, 255), min_size=1 << BITS, max_size=1 << BITS),
    st.sampled_from([0.1, 1 / 3, 0.5, 0.7, 0.8, 1.0]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.0, 100.0]),
)
def test_the_rarest_are_kept_and_no_container_is_asked_for_more_than_it_has(rows, classes, threshold, share, slack):
    classes = np.array(classes, dtype=np.uint8)
    kept, needed = kept_of(rows, classes, threshold, share, slack)
    for row, some, need in zip(rows, kept, needed, strict=True):
        least = next(m for m in range(len(row) + 1) if reaches(m, len(row), threshold))
        assert least >= math.ceil(Fraction(threshold) * len(row)) - 1
        lacking = len(row) - least
        own = {s for s in row if classes[s] <= 1}
        assert some <= row - own
        assert need >= 1
        if len(own) > lacking:
            continue  # dropped before, by ``pack``
        assert need == len(some) + len(own) - lacking
        rest = row - own - some
        assert not rest or not some or max(classes[s] for s in some) <= min(classes[s] for s in rest)


@given(st.lists(st.frozensets(st.integers(0, 40), max_size=12), min_size=1, max_size=10), st.integers(1, 3))
def test_the_table_has_each_shingle_and_who_keeps_it(rows, spread):
    tokens = np.array([(s * spread) for row in rows for s in sorted(row)], dtype=np.uint64)
    held = np.array([len(row) for row in rows])
    _, slots, posts = rarest.table_of(tokens, held, SALT, 64)
    found = {}
    for shingle, what in slots.tolist():
        if shingle == int(VACANT):
            continue
        if what < 1 << 62:
            found[shingle] = [what]
        else:
            begin = what - (1 << 62)
            found[shingle] = posts[begin + 1 : begin + 1 + posts[begin]].tolist()
    expected = {}
    for number, row in enumerate(rows):
        for s in sorted(row):
            expected.setdefault(s * spread, []).append(number)
    assert found == expected
