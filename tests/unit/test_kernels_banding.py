"""Buckets, candidate pairs, leaders: edges of the tables, each pair once over all bands, the bound on leaders."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from tests.twins import banding as twin

from neardup.kernels import banding
from neardup.params import Bands
from neardup.stages.bands import KEY_BYTES, PAIRS_AT_A_TIME, Leading, group, pair_up, short_keys

TOP = 2**40 - 1


def found_buckets(keys: list[int], rows: list[int] | None = None) -> set[tuple[int, ...]]:
    array = np.array([list(key.to_bytes(KEY_BYTES, "big")) for key in keys], np.uint8).reshape(-1, KEY_BYTES)
    chosen = np.arange(len(keys), dtype=np.int64) if rows is None else np.array(rows, dtype=np.int64)
    found = group(array, chosen, np.ones(max(rows or [len(keys)]) + 1, np.int32), limit=len(keys))
    groups = [tuple(found.members[a:b].tolist()) for a, b in pairwise(found.starts.tolist())]
    assert len(set(groups)) == len(groups)
    assert set(groups) == twin.buckets(np.array(keys), chosen)
    return set(groups)


@pytest.mark.parametrize(
    ("keys", "groups"),
    [
        ([], set()),
        ([7], set()),
        ([7, 7], {(0, 1)}),
        ([7, 8], set()),
        ([0, TOP, 0, TOP, 1], {(0, 2), (1, 3)}),
        ([1 << 31, 2 << 31, 1 << 31], {(0, 2)}),
        ([5, 5 + (1 << 20), 5, 5 + (1 << 20), 5 + (1 << 21)], {(0, 2), (1, 3)}),  # one part
    ],
)
def test_buckets_of_a_few_keys(keys, groups):
    assert found_buckets(keys) == groups


@pytest.mark.parametrize("n", [2, 3, 4, 5, 511, 512, 513, 5000])
def test_buckets_of_one_key_of_pairs_and_of_distinct_keys(n):
    assert len(found_buckets([TOP] * n)) == 1
    assert len(found_buckets([i // 2 for i in range(n)])) == n // 2
    assert found_buckets([(i << 20) & TOP for i in range(n)]) == set()  # all low bits alike
    assert len(found_buckets([(i % 200) << 30 for i in range(n)])) == min(200, max(0, n - 200))  # two a part


def test_members_of_a_bucket_come_in_the_order_of_rows():
    assert found_buckets([9, 4, 9, 4, 9], [30, 2, 10, 1, 20]) == {(30, 10, 20), (2, 1)}


def of_band(values: np.ndarray, rows: np.ndarray, weight: np.ndarray, band: int, shape: Bands, *, limit: int):
    return group(short_keys(values, shape)[band][rows], rows, weight.astype(np.int32), limit=limit)


def random_signatures(seed: int, n: int, slots: int, values: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, values, (n, slots)).astype(np.uint32)


def paired_up(*args: Any, **options: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """All pieces of ``pair_up`` as one."""
    pieces = list(pair_up(*args, **options))
    assert max(left.size for left, _, _ in pieces) <= PAIRS_AT_A_TIME
    left, right = (np.concatenate([piece[side] for piece in pieces]) for side in (0, 1))
    return left, right, sum(met for _, _, met in pieces)


@pytest.mark.parametrize("shape", [Bands(8, 2), Bands(5, 3), Bands(16, 1), Bands(1, 16), Bands(2, 8)])
def test_over_all_bands_each_pair_that_agrees_in_one_is_met_exactly_once(shape):
    n, slots = 60, 16
    values = random_signatures(3, n, slots, 3)
    rows, weight = np.arange(n), np.ones(n, dtype=np.int64)
    none = np.full(n, -1, dtype=np.int32)
    met: list[tuple[int, int]] = []
    for band in range(shape.bands):
        groups = of_band(values, rows, weight, band, shape, limit=n)
        assert groups.hot == []
        left, right, _ = paired_up(groups, values, none, band=band, rows=shape.rows, min_matches=0)
        met.extend(zip(left.tolist(), right.tolist(), strict=True))
    agreeing = {
        (a, b)
        for a, b in combinations(range(n), 2)
        if any(twin.agree(values, a, b, band, shape.rows) for band in range(shape.bands))
    }
    assert len(met) == len(set(met))
    assert set(met) == agreeing


def test_hot_buckets_are_handed_back_whole_and_their_documents_counted_by_weight():
    values = np.zeros((7, 4), dtype=np.uint32)
    values[4:] = 1
    weight = np.array([1, 1, 1, 1, 1, 1, 9], dtype=np.int64)
    shape = Bands(2, 2)
    assert [hot.tolist() for hot in of_band(values, np.arange(7), weight, 0, shape, limit=4).hot] == [[4, 5, 6]]
    cold = of_band(values, np.arange(7), weight, 0, shape, limit=4)
    assert cold.members.tolist() == [0, 1, 2, 3]
    assert cold.starts.tolist() == [0, 4]
    assert len(of_band(values, np.arange(7), weight, 0, shape, limit=3).hot) == 2
    assert of_band(values, np.arange(7), weight, 0, shape, limit=11).hot == []


@pytest.mark.parametrize("n", [120, 700])  # 7,140 pairs, room for 1,024 at first; 244,650, four of the largest pieces
def test_more_pairs_than_a_piece_holds_are_all_given(n):
    values = np.zeros((n, 4), dtype=np.uint32)
    groups = of_band(values, np.arange(n), np.ones(n, dtype=np.int64), 0, Bands(2, 2), limit=n)
    left, right, met = paired_up(groups, values, np.full(n, -1, dtype=np.int32), band=0, rows=2, min_matches=4)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == list(combinations(range(n), 2))
    assert met == n * (n - 1) // 2


def test_pairs_inside_one_crowd_are_passed_over_and_those_between_crowds_are_not():
    values = np.zeros((6, 4), dtype=np.uint32)
    crowd = np.array([0, 0, 2, 2, -1, -1], dtype=np.int32)
    groups = of_band(values, np.arange(6), np.ones(6, dtype=np.int64), 0, Bands(2, 2), limit=6)
    left, right, met = paired_up(groups, values, crowd, band=0, rows=2, min_matches=0)
    pairs = set(zip(left.tolist(), right.tolist(), strict=True))
    assert pairs == set(combinations(range(6), 2)) - {(0, 1), (2, 3)}
    assert met == 13


def test_no_bucket_means_no_pair_and_an_end():
    values = np.arange(12, dtype=np.uint32).reshape(3, 4)
    groups = of_band(values, np.arange(3), np.ones(3, dtype=np.int64), 0, Bands(2, 2), limit=3)
    left, right, met = paired_up(groups, values, np.full(3, -1, dtype=np.int32), band=0, rows=2, min_matches=0)
    assert (left.size, right.size, met) == (0, 0, 0)
    nobody = of_band(values, np.arange(0), np.ones(3, dtype=np.int64), 0, Bands(2, 2), limit=3)
    assert nobody.members.size == 0


@pytest.mark.parametrize("most", [1, 3, 256])
def test_a_hot_bucket_has_no_more_leaders_than_allowed(most):
    """500 members in 10 families: one leader a family while there is room, the rest of the members without one."""
    n = 500
    values = np.repeat(np.arange(n, dtype=np.uint32)[:, None] % 10, 16, axis=1)
    best = Leading(np.empty(0, dtype=np.int64), values[:0], most=most, min_matches=16).nearest(np.arange(n), values)
    assert best[:10].tolist() == [-1] * 10
    led = [i % 10 if i % 10 < most else -1 for i in range(10, n)]
    assert best[10:].tolist() == led


def test_known_leaders_lead_first_and_a_tie_goes_to_the_earlier():
    values = np.zeros((5, 4), dtype=np.uint32)
    values[3] = 7
    known, members = np.array([4, 2], dtype=np.int64), np.array([0, 4, 3, 1])
    best = Leading(known, values[known], most=3, min_matches=2).nearest(members, values[members])
    assert best.tolist() == [4, -1, -1, 4]


@pytest.mark.parametrize("parts", [1, 7, 200])
def test_keys_of_some_rows_go_to_the_parts_of_their_ranges_in_order(parts: int) -> None:
    rng = np.random.default_rng(parts)
    keys = rng.integers(0, 256, size=(3000, KEY_BYTES), dtype=np.uint8)
    keys[:5], keys[5:10] = 0, 255
    weight = rng.integers(0, 4, size=3000).astype(np.int32)
    rows = np.flatnonzero(weight).astype(np.uint32)
    counts, load = np.zeros((2, 1 << 16), dtype=np.int64)
    banding.weigh_ranges(keys, rows, weight, counts, load)
    of_range = [int.from_bytes(key[:2].tobytes(), "big") for key in keys]
    for r in {0, 0xFFFF, *of_range[100:200]}:
        assert counts[r] == sum(of_range[row] == r for row in rows)
        assert load[r] == sum(weight[row] for row in rows if of_range[row] == r)
    part_of = np.array([r * parts >> 16 for r in range(1 << 16)], dtype=np.uint16)
    expected = [[row for row in rows.tolist() if of_range[row] * parts >> 16 == part] for part in range(parts)]
    place = np.cumsum([0, *map(len, expected[:-1])], dtype=np.int64)
    to_rows, to_keys = np.empty(rows.size, np.uint32), np.empty((rows.size, KEY_BYTES), np.uint8)
    banding.spread_ranges(keys, rows, part_of, place, to_rows, to_keys)
    assert to_rows.tolist() == [row for rows in expected for row in rows]
    assert np.array_equal(to_keys, keys[to_rows])
    assert place.tolist() == np.cumsum([len(each) for each in expected]).tolist()
