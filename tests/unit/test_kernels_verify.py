"""The exact check at exactly the threshold, the overlap it needs, and sets whose hashes crowd together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.twins import hashing
from tests.twins import verify as twin
from tests.twins.blocks import built, hasher_of, needed, packed

from neardup.kernels.verify import build_sets, check_pairs
from neardup.native.declare import kernel
from neardup.types import PaddedSets

NUMBERS = np.arange(1000, dtype=np.uint64)
ALL = 2**64 - 1


def shares(cells: list[tuple[int, int]], threshold: float) -> list[float]:
    """What the check says of pairs that share ``common`` of ``union``, cut three ways; sets are slices of numbers."""
    starts, sizes = [], []
    for common, union in cells:
        for size in {common, (union + common) // 2, union}:
            starts += [0, size - common]
            sizes += [size, union - size + common]
    count = len(starts) // 2
    left, right = np.arange(count) * 2, np.arange(count) * 2 + 1
    similarity = np.full(count, math.nan)
    sets = PaddedSets(np.array(starts, dtype=np.int64), np.array(sizes, dtype=np.int64), NUMBERS)
    check_pairs(left, right, sets, sets, threshold, False, similarity)
    return similarity.tolist()


@pytest.mark.parametrize("places", [1, 2, 3])
def test_a_pair_at_exactly_the_threshold_as_typed_is_in(places):
    """0.7 and 7 of 10, 0.8 and 4 of 5, …: every decimal, every union up to 200 of which it is a whole share."""
    whole = 10**places
    for step in range(1, whole + 1):
        threshold = float(f"{step / whole:.{places}f}")
        cells = [(u * step // whole, u) for u in range(1, 201) if u * step % whole == 0]
        for share in shares(cells, threshold) if cells else []:
            assert share == threshold


@pytest.mark.parametrize("first", range(1, 201, 50))
def test_a_pair_at_every_fraction_is_in_at_that_fraction_and_one_less_is_out(first):
    for q in range(first, first + 50):
        for p in range(1, q + 1):
            assert set(shares([(p, q)], p / q)) == {p / q}
            assert set(shares([(p - 1, q)], p / q)) == {-1.0}
            assert set(shares([(p, q)], math.nextafter(p / q, 2))) == {-1.0}


def test_similarity_is_the_quotient_of_intersection_and_union():
    for union in range(1, 120):
        cells = [(common, union) for common in range(union + 1)]
        got = shares(cells, 1e-9)
        assert set(got) == {common / union if common else -1.0 for common, _ in cells}


def test_two_empty_sets_are_no_pair_and_a_threshold_of_zero_lets_the_rest_through():
    sets = PaddedSets(np.zeros(3, dtype=np.int64), np.array([0, 0, 5], dtype=np.int64), NUMBERS)
    similarity = np.full(3, math.nan)
    left, right = np.array([0, 0, 2]), np.array([1, 2, 2])
    check_pairs(left, right, sets, sets, 0.5, False, similarity)
    assert similarity.tolist() == [-1.0, -1.0, 1.0]
    check_pairs(left, right, sets, sets, 0.0, False, similarity)
    assert similarity.tolist() == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize("shift", [0, 1, 63, 64, 65, 128, 300])
def test_early_stops_never_lose_a_pair_whatever_the_order_of_misses(shift):
    """Misses all in front, all behind, in blocks of the 64 steps after which the check looks up."""
    a = np.arange(1000, dtype=np.uint64) * np.uint64(2)
    for from_front in (True, False):
        b = a.copy()
        misses = np.arange(shift) if from_front else np.arange(1000 - shift, 1000)
        b[misses] += np.uint64(1)
        sets = PaddedSets(np.array([0, 1000]), np.array([1000, 1000]), np.concatenate((a, b)))
        exact = (1000 - shift) / (1000 + shift)
        for threshold in (exact, math.nextafter(exact, 2), exact / 2):
            similarity = np.full(2, math.nan)
            check_pairs(np.array([0, 1]), np.array([1, 0]), sets, sets, threshold, False, similarity)
            expected = exact if exact >= threshold else -1.0
            assert similarity.tolist() == [expected, expected]


@kernel("int64, float64")
def _needed_of_all(most, threshold):
    out = np.empty(most + 1, np.int64)
    for total in range(most + 1):
        out[total] = needed(total // 3, total - total // 3, threshold)
    return out


@pytest.mark.parametrize("steps", [100, 7, 64, 99])
def test_the_needed_overlap_is_the_least_for_all_sizes_up_to_two_thousand(steps):
    totals = np.arange(2, 4001)  # one and none cannot be shared at all
    for step in range(1, steps + 1):
        threshold = step / steps
        least = _needed_of_all(4000, threshold)[2:]
        assert (least / (totals - least) >= threshold).all()
        assert ((least - 1) / (totals - least + 1) < threshold).all()
        for sizes in ((0, 0), (0, 1), (1, 1), (3, 4), (700, 1000)):
            assert needed(*sizes, threshold) == twin.overlap_needed(*sizes, threshold)


def item_sets(*sets: list[int]) -> list[list[int]]:
    """The sets that the kernel builds of items with these very hashes (where their bytes hold no separator)."""
    hasher = hasher_of("item")
    blobs = []
    for one in sets:
        items = [hashing.bytes_with_hash(value, hasher.params.key) for value in one]
        blobs.append(b"\xff".join(item for item in items if b"\xff" not in item))
    block = packed(blobs)
    docs = [*range(len(sets)), 0, 0]
    fast = built(hasher, block, docs, build_sets)
    assert fast == built(hasher, block, docs, twin.build_sets)
    return fast


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    "values",
    [
        range(2000),  # all in the first cell
        range(ALL - 2000, ALL + 1),  # all in the last
        range(2**63 - 1000, 2**63 + 1000),
        [i << 52 for i in range(4096)],  # one a cell
        [(i << 60) + j for i in range(16) for j in range(100)],
    ],
)
def test_sets_of_hashes_that_crowd_together_are_sorted(values, order):
    built_sets = item_sets(list(values)[::order])
    assert len(built_sets[0]) > 0.9 * len(values)


def test_repeats_cost_no_room_and_change_nothing():
    assert item_sets([5] * 50_000, [5, 9] * 20_000, [9, 5])[1:3] == [[5, 9], [5, 9]]


def test_the_hash_that_marks_a_vacant_cell_is_kept_as_the_one_below():
    hasher = hasher_of("byte:8")
    blobs = [hashing.bytes_with_hash(value, hasher.params.key) for value in (ALL, ALL - 1, ALL - 2)]
    sets = built(hasher, packed([b"", *blobs]), [0, 1, 2, 3], build_sets)
    assert sets == [[], [ALL - 1], [ALL - 1], [ALL - 2]]


def test_documents_are_built_in_the_order_asked_for_large_and_small_mixed():
    blobs = [
        b"",
        b"a",
        b"".join(b"%d " % i for i in range(3000)),
        b"ab" * 3000,
        "é".encode() * 10,
        b"abc def ghi",
    ]
    for shingle in ("char:5", "byte:3", "word:2"):
        hasher, docs = hasher_of(shingle), [2, 0, 5, 3, 3, 1, 4, 2]
        assert built(hasher, packed(blobs), docs, build_sets) == built(hasher, packed(blobs), docs, twin.build_sets)
