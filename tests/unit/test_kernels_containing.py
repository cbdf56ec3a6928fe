"""The shingles by which a set is known: of each container it holds at least as many as are asked for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.jaccard import reaches

from neardup.kernels import containing, rarest
from neardup.stages.shingle import SALT
from neardup.types import PaddedSets

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
    sets = PaddedSets(starts, sizes, hashes)
    total = rarest.choose(sets, classes, BITS, often, 100, threshold, share, 1.0, slack, tokens, held, needed)
    assert held.sum() == total
    kept = np.split(tokens[:total] >> np.uint64(64 - BITS), np.cumsum(held)[:-1])
    return [frozenset(some.tolist()) for some in kept], needed.tolist(), (sizes > 0).tolist()


@given(
    SETS,
    st.lists(st.integers(0, 255), min_size=1 << BITS, max_size=1 << BITS),
    st.sampled_from([0.1, 1 / 3, 0.5, 0.7, 0.8, 1.0]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.0, 100.0]),
)
def test_the_rarest_are_kept_and_no_container_is_asked_for_more_than_it_has(rows, classes, threshold, share, slack):
    classes = np.array(classes, dtype=np.uint8)
    for row, some, need, is_left in zip(rows, *kept_of(rows, classes, threshold, share, slack), strict=True):
        least = next(m for m in range(len(row) + 1) if reaches(m, len(row), threshold))
        assert least >= math.ceil(Fraction(threshold) * len(row)) - 1
        lacking = len(row) - least
        own = {s for s in row if classes[s] <= 1}
        assert some <= row - own
        assert is_left == (len(own) <= lacking)
        if not is_left:
            assert not some
            continue
        assert need >= 1
        assert need == len(some) + len(own) - lacking
        rest = row - own - some
        assert not rest or not some or max(classes[s] for s in some) <= min(classes[s] for s in rest)


@given(st.lists(st.frozensets(st.integers(0, 40), max_size=12), min_size=1, max_size=10), st.integers(1, 3))
def test_the_table_has_each_shingle_and_who_keeps_it(rows, spread):
    tokens = np.array([(s * spread) for row in rows for s in sorted(row)], dtype=np.uint64)
    held = np.array([len(row) for row in rows])
    _, slots, posts = rarest.table_of(tokens, np.cumsum(held) - held, held, SALT, 64)
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


def sets_of(rows: list[list[int]]) -> PaddedSets:
    sizes = np.array([len(row) for row in rows])
    hashes = np.array([s for row in rows for s in sorted(row)], dtype=np.uint64)
    return PaddedSets(np.cumsum(sizes) - sizes, sizes, hashes)


# neighbours in every few bits, so that cells are shared, and far apart, so that a gap takes many bytes
HASHES = st.one_of(st.integers(0, (1 << 64) - 2), st.integers(0, 1 << 8).map(lambda s: s << 54 | 5))


@given(st.lists(st.sets(HASHES, min_size=1, max_size=40), min_size=1, max_size=6))
def test_an_outline_goes_through_the_cell_of_each_shingle_in_order(rows):
    sets = sets_of([list(row) for row in rows])
    total = int(sets.sizes.sum())
    lengths, out = np.empty(len(rows), np.int64), np.empty(total + total // 4 + 2 * len(rows), np.uint8)
    used = containing.outline(sets, lengths, out)
    assert used == lengths.sum()
    for row, outline in zip(rows, np.split(out[:used].astype(int), np.cumsum(lengths)[:-1]), strict=True):
        cells = 64
        while cells < 32 * len(row):
            cells *= 2
        assert np.cumsum(outline)[outline != 255].tolist() == [s * cells >> 64 for s in sorted(row)]


@given(
    st.lists(
        st.tuples(st.sets(HASHES, min_size=1, max_size=40), st.sets(HASHES, max_size=400)), min_size=1, max_size=5
    ),
    st.sampled_from([0.1, 1 / 3, 0.5, 0.8, 1.0]),
    st.randoms(use_true_random=False),
)
def test_what_a_set_holds_of_a_smaller_one_is_counted_exactly(pairs, threshold, random):
    some = [(sorted(x), sorted({*y, *random.sample(sorted(x), random.randint(0, len(x)))})) for x, y in pairs]
    some = [(x, y) for x, y in some if len(x) <= len(y)]
    if not some:
        return
    share, places = np.empty(len(some)), np.arange(len(some))
    parts, others = sets_of([x for x, _ in some]), sets_of([y for _, y in some])
    containing.held(places, places, parts, others, threshold, share)
    for (x, y), found in zip(some, share.tolist(), strict=True):
        common = len({*x} & {*y})
        assert found == (common / len(x) if reaches(common, len(x), threshold) else -1.0)


def test_a_table_of_few_distinct_shingles_has_room_for_all_of_them():
    rng = np.random.default_rng(7)
    for distinct in (1, 40_000, 199_999):
        tokens = np.concatenate([rng.permutation(distinct) for _ in range(-(-200_000 // distinct))]).astype(np.uint64)
        tokens *= np.uint64(0x9E3779B97F4A7C15)
        held = np.array([tokens.size])
        _, slots, _ = rarest.table_of(tokens, np.zeros(1, np.int64), held, SALT, 64)
        taken = int(np.count_nonzero(slots[:, 0] != VACANT))
        assert taken == distinct
        assert distinct <= 0.6 * slots.shape[0]
        assert slots.shape[0] <= 3 * distinct + 40_000
