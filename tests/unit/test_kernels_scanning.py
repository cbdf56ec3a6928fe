"""The pass of an audit against its twin: the same shingles kept, the same candidates, no partner lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.twins import scanning as twin
from tests.twins.blocks import hasher_of, packed

from neardup.kernels import scanning
from neardup.stages import partners
from neardup.stages.partners import Block, Scratch
from neardup.stages.shingle import build_sets
from neardup.types import Documents

words = st.lists(st.sampled_from(["ab", "abc", "c", "dd", "é", "日本", "x" * 20]), min_size=1, max_size=30)
texts = st.lists(words.map(lambda row: " ".join(row).encode()), min_size=1, max_size=12)


def counts_of(documents: Documents, shingle: str) -> np.ndarray:
    """An upper bound of the shingles of each document: its bytes."""
    return np.diff(documents.offsets)


@pytest.mark.parametrize("shingle", ["char:3", "byte:9", "word:2"])
@given(blobs=texts, threshold=st.sampled_from([0.1, 0.5, 0.8, 1.0]), spare=st.sampled_from([0.0, 4.0]), data=st.data())
def test_the_pass_gives_what_counting_gives(shingle, blobs, threshold, spare, data):
    hasher, documents = hasher_of(shingle), packed(blobs)
    n = len(blobs)
    drawn = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    plain = data.draw(st.integers(0, len(drawn)))
    crowded = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    rows = np.arange(n, dtype=np.int64) + 5
    sets = build_sets(packed([blobs[i] for i in drawn]), hasher, counts_of(packed([blobs[i] for i in drawn]), shingle))
    common = np.zeros(64, dtype=np.uint32)
    counted = common.copy()
    scanning.rarity(sets.hashes, common)
    twin.rarity(sets.hashes, counted)
    assert common.tolist() == counted.tolist()
    m = len(drawn)
    kept = np.empty(sets.hashes.size, dtype=np.uint64)
    chosen, needed, least = (np.empty(m, dtype=np.int64) for _ in range(3))
    total = scanning.choose(sets.offsets, sets.hashes, common, threshold, spare, kept, chosen, needed, least)
    expected = twin.choose(sets.offsets, sets.hashes, counted, threshold, spare)
    assert kept[:total].tolist() == [h for row, _, _ in expected for h in row]
    assert [(len(row), n_, l_) for row, n_, l_ in expected] == list(
        zip(chosen.tolist(), needed.tolist(), least.tolist(), strict=True)
    )
    index = partners.build_index(sets, rows[drawn], plain, threshold=threshold)
    block = Block(documents, np.arange(n), rows, counts_of(documents, shingle), np.array(crowded))
    left, right = partners.find_candidates(
        block, index, Scratch.of(index), kind=hasher.kind, k=hasher.k, key=hasher.key, letters=hasher.letters
    )
    common = np.zeros(1 << max(6, (4 * sets.hashes.size - 1).bit_length()), dtype=np.uint32)
    twin.rarity(sets.hashes, common)
    sets_kept = twin.choose(sets.offsets, sets.hashes, common, threshold, partners.SPARE)
    own = rows[drawn].tolist()
    seed, sizes = int(hasher.key), counts_of(documents, shingle)
    found = twin.scan(hasher.kind, hasher.k, seed, blobs, hasher.letters, sets_kept, plain, rows.tolist(), own, crowded)
    got = set(zip(left.tolist(), (np.searchsorted(rows[drawn], right)).tolist(), strict=True))
    assert len(got) == left.size, "a candidate came twice"
    # the counts given here are upper bounds, so a few more documents may pass the test of size
    assert found <= got
    for row, s in got - found:
        assert sizes[row - 5] >= sets_kept[s][2]


def test_the_pass_goes_on_where_the_room_for_candidates_was_full(monkeypatch):
    monkeypatch.setattr(partners, "ROOM", 1)
    blobs = [b"the very same text in all of them"] * 50
    hasher, documents = hasher_of("char:5"), packed(blobs)
    sets = build_sets(documents, hasher, counts_of(documents, "char:5"))
    rows = np.arange(50, dtype=np.int64)
    index = partners.build_index(sets, rows, 50, threshold=0.9)
    block = Block(documents, rows, rows, counts_of(documents, "char:5"), np.zeros(50, dtype=np.bool_))
    scratch = Scratch.of(index)
    assert scratch.left.size == 50
    left, right = partners.find_candidates(
        block, index, scratch, kind=hasher.kind, k=hasher.k, key=hasher.key, letters=hasher.letters
    )
    assert left.size == 50 * 49
    assert len(set(zip(left.tolist(), right.tolist(), strict=True))) == 50 * 49
    assert not scratch.hits.any()


def test_equally_rare_shingles_of_small_hash_do_not_crowd_the_table():
    """Known bad: places by the highest bits, of which those kept have the lowest values, made long runs."""
    hashes = np.sort(np.random.Generator(np.random.PCG64(1)).integers(0, 2**62, 50_000, dtype=np.uint64))
    owners = np.zeros(hashes.size, dtype=np.int32)
    cells = np.full(1 << 17, -1, dtype=np.int32)
    bits = np.zeros(1 << 13, dtype=np.uint64)
    keys, starts = np.empty(hashes.size, np.uint64), np.zeros(hashes.size + 2, np.int64)
    middles, posts = np.zeros(hashes.size, np.int64), np.empty(hashes.size, np.int32)
    assert scanning.index(hashes, owners, 1, bits, cells, keys, starts, middles, posts) == hashes.size
    used = np.flatnonzero(cells >= 0)
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate(([-2], used))) > 1))
    assert runs.max() < 64
    assert (bits != 0).mean() > 0.9
