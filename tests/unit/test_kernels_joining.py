"""The kernels of the exact join, step by step: what is counted, who is dropped, which shingles make a prefix."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import hashing
from tests.twins.blocks import POISONS, hasher_of, packed
from tests.twins.verify import overlap_needed

from neardup.kernels import joining, verify
from neardup.stages import join as join_stage
from neardup.stages.join import Index, Occurrences, Prefixes, Rarity
from neardup.types import SetBlock

EXAMPLES = settings(max_examples=100)
THRESHOLDS = st.one_of(st.floats(1e-6, 1.0), st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1 / 3, 2 / 3]))
BLOBS = [b"abcabcabcabc", b"", b"zz", b"the cat sat on the mat", ("é" * 9 + "日本語" * 4).encode(), b"a" * 5000]


def hashes_of(hasher, blob):
    return hashing.shingle_hashes(hasher.params, blob)


@pytest.mark.parametrize("bits", [1, 12, 20, 24, 32])
@pytest.mark.parametrize("shingle", ["char:3", "byte:2", "word:1", "item"])
@pytest.mark.parametrize("poison", POISONS)
def test_cells_are_the_leading_bits_of_every_shingle_hash_sorted_by_part(shingle, bits, poison):
    hasher, documents = hasher_of(shingle), packed(BLOBS, poison)
    docs = np.array([0, 1, 3, 4, 5])
    expected = [h >> (64 - bits) for d in docs for h in hashes_of(hasher, BLOBS[d])]
    raw, values = np.empty(len(expected), np.uint32), np.empty(len(expected) + 3, np.uint32)
    found = join_stage.cells(documents, docs, hasher, bits=bits, side=3, raw=raw, values=values)
    assert Counter(found.values.tolist()) == Counter(expected)
    parts = found.starts.size - 1
    assert parts == 1 << max(0, bits - join_stage.PART_CELLS)
    for part in range(parts):
        inside = found.values[found.starts[part] : found.starts[part + 1]]
        assert all(cell * parts >> bits == part for cell in inside.tolist())


@EXAMPLES
@given(st.lists(st.text("ab", min_size=2, max_size=30), min_size=1, max_size=25), st.integers(1, 6))
def test_keys_are_equal_where_the_lowest_shingles_are(texts, lows):
    hasher, documents = hasher_of("char:2"), packed([text.encode() for text in texts])
    room = np.empty(sum(map(len, texts)), np.uint32)
    keys = np.empty(len(texts), np.uint32)
    docs = np.arange(len(texts))
    given_room = {"raw": room, "values": room.copy(), "lows": lows, "keys": keys}
    join_stage.cells(documents, docs, hasher, bits=8, side=3, **given_room)
    lowest = [tuple(sorted(set(hashes_of(hasher, text.encode())))[:lows]) for text in texts]
    for i, key in enumerate(keys.tolist()):
        assert [j for j, other in enumerate(keys.tolist()) if other == key] == [
            j for j, other in enumerate(lowest) if other == lowest[i]
        ]


@pytest.mark.parametrize("bits", [10, join_stage.SMALL_BITS + 1])
def test_occurrences_are_counted_until_the_table_is_full_and_classes_rise_with_them(bits):
    times = [1, 2, 3, 100, 128, 129, 200, 255, 256, 1000, 60_000, 70_000]
    values = np.repeat(np.arange(len(times)), times).astype(np.uint32)
    table = Occurrences(bits, is_across=False)
    starts = np.searchsorted(values, np.arange(table.parts + 1) << (bits - int(math.log2(table.parts))))
    table.count([join_stage.Cells(values, starts, 3)], 0, table.parts)
    classes = table.rarity().classes[: len(times)].tolist()
    assert classes[0] == verify.UNIQUE
    assert min(classes[1:]) > verify.UNIQUE
    assert classes == sorted(classes)
    assert len(set(classes)) >= 8
    if bits <= join_stage.SMALL_BITS:
        assert classes[8] < classes[9] < classes[10]


def test_across_two_sides_a_shingle_of_one_side_is_as_good_as_its_owners():
    values = np.array([0, 0, 1, 1, 1, 2, 3], dtype=np.uint32)
    starts = np.array([0, values.size])
    table = Occurrences(4, is_across=True)
    for side, some in ((1, values[:4]), (2, values[4:6]), (3, values[6:])):
        table.count([join_stage.Cells(some, np.array([0, some.size]), side)], 0, 1)
    classes = table.rarity().classes
    assert [int(c) > verify.UNIQUE for c in classes[:4]] == [False, True, False, False]
    assert starts[-1] == 7


@EXAMPLES
@given(st.integers(1, 400), THRESHOLDS)
def test_prefixes_are_as_long_as_the_least_overlap_with_any_partner_asks(size, threshold):
    """By trying every partner: a smaller or equal one for a probe, an equal or larger one for the index."""
    sides, hashes = np.full(1, 3, np.uint8), np.arange(size, dtype=np.uint64)
    block = SetBlock(np.zeros(1, np.int64), sides, np.zeros(1, np.int64), np.array([size]), hashes)
    prefixes = joining.Prefixes(*joining.prefixes_of(block, np.full(2, 9, np.uint8), 1, threshold))
    assert (prefixes.held[0], prefixes.held_indexed[0]) == (prefixes.probing[0], prefixes.indexed[0])
    possible = [other for other in range(1, size + 1) if other / size >= threshold]
    assert prefixes.probing[0] == size - min(overlap_needed(other, size, threshold) for other in possible) + 1
    larger = [other for other in range(size, min(4 * size, 800) + 1) if size / other >= threshold]
    assert prefixes.indexed[0] == size - min(overlap_needed(size, other, threshold) for other in larger) + 1


def prefixes_of(rows, counts, threshold):
    """Prefixes of sets of small numbers, spread over 64 bits, whose classes are ``counts`` of each number."""
    spread = [sorted(value << 56 | 1 for value in row) for row in rows]
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))[:-1].astype(np.int64)
    classes = np.array([min(counts.get(value, 0), 255) for value in range(256)], dtype=np.uint8)
    sets = np.array([value for row in spread for value in row], dtype=np.uint64)
    block = SetBlock(np.arange(sizes.size), np.full(sizes.size, 3, dtype=np.uint8), starts, sizes, sets)
    return Prefixes(block, Rarity(classes, 8), threshold)


SETS = st.lists(st.frozensets(st.integers(0, 30), min_size=1, max_size=14), min_size=1, max_size=30)


def pairs_of(own, first, stop, probing=None):
    found = list(Index(own).probe(probing or own, first, stop))
    listed = [
        (int(a), int(b), float(s))
        for some in found
        for a, b, s in zip(some.left, some.right, some.similarity, strict=True)
    ]
    return sorted(listed), sum(some.candidates_met for some in found), sum(some.overlaps_counted for some in found)


def true_pairs(rows, threshold, wanted):
    return sorted(
        (i, j, len(rows[i] & rows[j]) / len(rows[i] | rows[j]))
        for i, j in wanted
        if len(rows[i] & rows[j]) / len(rows[i] | rows[j]) >= threshold
    )


@EXAMPLES
@given(SETS, THRESHOLDS, st.data())
def test_a_probe_finds_every_pair_before_it_in_the_order_of_size(rows, threshold, data):
    """Whatever classes the shared shingles have, as long as each is the same for all."""
    rows = sorted(rows, key=len)
    met = Counter(value for row in rows for value in row)
    counts = {value: 1 if times == 1 else data.draw(st.integers(2, 255)) for value, times in met.items()}
    first = data.draw(st.integers(0, len(rows)))
    found, candidates, counted = pairs_of(prefixes_of(rows, counts, threshold), first, len(rows))
    assert found == true_pairs(rows, threshold, [(i, j) for j in range(first, len(rows)) for i in range(j)])
    assert len(found) <= counted <= candidates


@EXAMPLES
@given(SETS, st.integers(0, 30), THRESHOLDS)
def test_a_block_of_larger_sets_is_probed_against_an_index_of_smaller_ones(rows, cut, threshold):
    rows = sorted(rows, key=len)
    cut = min(cut, len(rows))
    met = Counter(value for row in rows for value in row)
    own, probing = prefixes_of(rows[:cut], met, threshold), prefixes_of(rows[cut:], met, threshold)
    found, _, _ = pairs_of(own, 0, len(rows) - cut, probing)
    across = true_pairs(rows, threshold, [(i, j) for j in range(cut, len(rows)) for i in range(cut)])
    assert found == [(i, j - cut, s) for i, j, s in across]


def test_more_pairs_than_there_is_room_for_come_in_pieces(monkeypatch):
    monkeypatch.setattr(join_stage, "ROOM", 1)
    rows = [frozenset(range(10))] * 40
    own = prefixes_of(rows, Counter(value for row in rows for value in row), 0.9)
    pieces = list(Index(own).probe(own, 0, 40))
    assert len(pieces) > 5
    assert pairs_of(own, 0, 40)[0] == [(i, j, 1.0) for i in range(40) for j in range(i + 1, 40)]


def test_prefixes_and_sizes_spare_most_of_the_counting():
    """Sets of 20 of 200 shingles, few alike: without filters 44,850 pairs would be counted."""
    draw = np.random.default_rng(3)
    rows = [frozenset(draw.choice(200, 20, replace=False).tolist()) for _ in range(300)]
    met = Counter(value for row in rows for value in row)
    found, candidates, counted = pairs_of(prefixes_of(rows, met, 0.8), 0, 300)
    assert found == true_pairs(rows, 0.8, [(i, j) for j in range(300) for i in range(j)])
    assert counted < candidates < 300 * 299 / 2 / 4


@pytest.mark.parametrize("threshold", [0.5, 0.8, 1.0])
def test_only_a_document_with_too_many_shingles_of_its_own_is_dropped(threshold):
    """A document of 10 shingles keeps its chance until more of them are its own than a partner may lack."""
    hasher = hasher_of("item")
    items = [f"i{j}".encode() for j in range(10)]
    documents = packed([b"\xff".join(items)])
    cells = [hashes_of(hasher, item)[0] >> 40 for item in items]
    assert len(set(cells)) == 10
    spare = 10 - math.ceil(10 * Fraction(str(threshold)))
    for own in range(11):
        classes = np.full(1 << 24, 9, dtype=np.uint8)
        classes[cells[:own]] = verify.UNIQUE
        alive = join_stage.survivors(
            documents, np.array([0]), np.array([10]), hasher, Rarity(classes, 24), threshold
        ).tolist()
        assert alive == [own <= spare]
