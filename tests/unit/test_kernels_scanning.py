"""The pass of an audit against its twin: the same shingles kept, the same candidates, no partner lost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.twins import scanning as twin
from tests.twins.blocks import hasher_of, packed

from neardup.kernels import rarest, scanning
from neardup.kernels.verify import VACANT
from neardup.stages import partners
from neardup.stages.partners import Block, Commonness, find_candidates, new_scratch
from neardup.stages.shingle import SALT, build_sets
from neardup.types import Documents

words = st.lists(st.sampled_from(["ab", "abc", "c", "dd", "é", "日本", "x" * 20]), min_size=1, max_size=30)
texts = st.lists(words.map(lambda row: " ".join(row).encode()), min_size=1, max_size=12)


def counts_of(documents: Documents) -> np.ndarray:
    """An upper bound of the shingles of each document: its bytes."""
    return np.diff(documents.offsets)


def index_of(documents: Documents, hasher, drawn: list[int], *, threshold: float, plain: int | None = None):
    """The index of some documents of a block, whose rows are their places, and their sets."""
    rows = np.array(drawn, dtype=np.int64)
    sets = sets_of(documents, hasher, drawn)
    commonness = Commonness.of(threshold, sets.hashes.size)
    commonness.see(documents, rows, hasher)
    plain = len(drawn) if plain is None else plain
    return partners.build_index(sets, rows, plain, commonness=commonness, threshold=threshold), sets, commonness


def sets_of(documents: Documents, hasher, drawn: list[int]):
    texts = [documents.data[documents.offsets[i] : documents.offsets[i + 1]].tobytes() for i in drawn]
    part = packed(texts)
    return build_sets(part, hasher, counts_of(part))


@pytest.mark.parametrize("shingle", ["char:3", "byte:9", "word:2"])
@given(blobs=texts, threshold=st.sampled_from([0.1, 0.5, 0.8, 1.0]), spare=st.sampled_from([0.0, 4.0]), data=st.data())
def test_the_shingles_kept_are_those_of_the_twin(shingle, blobs, threshold, spare, data):
    hasher, documents = hasher_of(shingle), packed(blobs)
    docs = np.arange(len(blobs), dtype=np.int64)
    bound = data.draw(st.sampled_from([0, 2**62, 2**63, 2**64 - 1]))
    common = np.zeros(64, dtype=np.uint32)
    scanning.count(hasher.params, documents.data, documents.offsets, docs, np.uint64(bound), common)
    counted = twin.count(hasher.params, blobs, bound, 64)
    assert common.tolist() == [counted[cell] for cell in range(64)]
    sets = sets_of(documents, hasher, docs.tolist())
    kept = np.empty(sets.hashes.size, dtype=np.uint64)
    out = [np.empty(docs.size, dtype=np.int64) for _ in range(2)]
    numbers = docs.size, threshold, 0.1, spare
    total = scanning.choose(sets.offsets, sets.hashes, np.uint64(bound), common, *numbers, kept, *out)
    expected = twin.choose(sets.offsets, sets.hashes, bound, common.tolist(), *numbers)
    assert kept[:total].tolist() == [h for row, _, _ in expected for h in row]
    assert [(len(row), needed) for row, needed, _ in expected] == list(
        zip(*(column.tolist() for column in out), strict=True)
    )


@pytest.mark.parametrize("shingle", ["char:3", "byte:9", "word:2"])
@given(blobs=texts, threshold=st.sampled_from([0.1, 0.5, 0.8, 1.0]), data=st.data())
def test_the_pass_gives_what_counting_gives(shingle, blobs, threshold, data):
    hasher, documents = hasher_of(shingle), packed(blobs)
    n = len(blobs)
    drawn = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    plain = data.draw(st.integers(0, len(drawn)))
    crowded = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    rows = np.arange(n, dtype=np.int64)
    index, sets, commonness = index_of(documents, hasher, drawn, threshold=threshold, plain=plain)
    # with the numbers of distinct shingles the test of size is sharp on both sides
    counts = np.diff(sets_of(documents, hasher, rows.tolist()).offsets)
    block = Block(rows, rows, counts, np.array(crowded))
    left, right = find_candidates(documents, block, index, new_scratch(index), hasher)
    numbers = commonness.seen, threshold, partners.FURTHER_SHARE, partners.FURTHER
    kept = twin.choose(sets.offsets, sets.hashes, int(commonness.bound), commonness.times.tolist(), *numbers)
    sizes = np.diff(sets.offsets).tolist()
    found = twin.scan(hasher.params, blobs, threshold, sizes, kept, plain, rows.tolist(), drawn, crowded)
    got = set(zip(left.tolist(), np.searchsorted(drawn, right).tolist(), strict=True))
    assert len(got) == left.size, "a candidate came twice"
    assert found <= got
    # whole numbers are rounded up by one on the way, so one shingle too many may pass
    for row, s in got - found:
        assert row != drawn[s]
        assert not (crowded[row] and s >= plain)
        assert kept[s][2] <= counts[row] <= sizes[s] / threshold + 1


@pytest.mark.parametrize("shingle", ["char:3", "word:2"])
@given(blobs=texts, threshold=st.sampled_from([0.1, 0.5, 0.8, 1.0]), words=st.sampled_from([1, 2, 64]))
def test_words_of_bits_lose_no_partner(shingle, blobs, threshold, words):
    hasher, documents = hasher_of(shingle), packed(blobs)
    rows = np.arange(len(blobs), dtype=np.int64)
    index, sets, _ = index_of(documents, hasher, rows.tolist(), threshold=threshold)
    bits = np.zeros((len(blobs), words), dtype=np.uint64)
    scanning.mark(sets.offsets, sets.hashes, bits)
    block = Block(rows, rows, counts_of(documents), np.zeros(len(blobs), dtype=np.bool_))
    left, right = find_candidates(documents, block, index, new_scratch(index), hasher, bits)
    got = set(zip(left.tolist(), right.tolist(), strict=True))
    assert len(got) == left.size
    own = [set(sets.hashes[sets.offsets[i] : sets.offsets[i + 1]].tolist()) for i in rows]
    for a in rows.tolist():
        assert (a, a) not in got
        for b in rows.tolist():
            if a != b and len(own[a] & own[b]) / len(own[a] | own[b]) >= threshold:
                assert (a, b) in got


def test_words_of_bits_are_taken_where_strangers_share_much_and_tell_most_of_them_apart():
    rng = np.random.default_rng(1)
    blobs = ["".join(rng.choice(list("aeinrst "), 800)).encode() for _ in range(120)]
    hasher, documents = hasher_of("char:3"), packed(blobs)
    rows = np.arange(len(blobs), dtype=np.int64)
    index, sets, commonness = index_of(documents, hasher, rows.tolist(), threshold=0.8)
    bits = partners.bits_of(sets, index, commonness)
    assert bits is not None
    block = Block(rows, rows, counts_of(documents), np.zeros(rows.size, dtype=np.bool_))
    left, _ = find_candidates(documents, block, index, new_scratch(index), hasher, bits)
    assert left.size < 0.05 * rows.size**2
    sparse = packed([" ".join(f"w{i * 97 + j}" for j in range(40)).encode() for i in range(120)])
    index, sets, commonness = index_of(sparse, hasher_of("word:2"), rows.tolist(), threshold=0.8)
    assert partners.bits_of(sets, index, commonness) is None


def test_a_document_much_larger_than_what_it_can_share_is_no_candidate():
    short = " ".join(f"w{i}" for i in range(300)).encode()
    long = short + b" " + " ".join(f"v{i}" for i in range(60_000)).encode()
    documents = packed([short, long, short + b" end"])
    hasher = hasher_of("char:5")
    index, _, _ = index_of(documents, hasher, [0], threshold=0.8)
    rows = np.arange(3, dtype=np.int64)
    block = Block(rows, rows, counts_of(documents), np.zeros(3, dtype=np.bool_))
    left, right = find_candidates(documents, block, index, new_scratch(index), hasher)
    assert (left.tolist(), right.tolist()) == ([2], [0])


@pytest.mark.parametrize("bound", [0, 2**62])
def test_a_set_with_too_few_shingles_of_small_hash_is_kept_whole(bound):
    blobs = [b"one two three four five six", b"one two three four five seven"]
    hasher, documents = hasher_of("char:3"), packed(blobs)
    sets = sets_of(documents, hasher, [0, 1])
    commonness = Commonness(np.uint64(bound), np.zeros(64, dtype=np.uint32))
    rows = np.arange(2, dtype=np.int64)
    commonness.see(documents, rows, hasher)
    index = partners.build_index(sets, rows, 2, commonness=commonness, threshold=0.7)
    assert int(index.needed[0]) == math.ceil(Fraction("0.7") * int(index.sizes[0]))
    block = Block(rows, rows, counts_of(documents), np.zeros(2, dtype=np.bool_))
    left, right = find_candidates(documents, block, index, new_scratch(index), hasher)
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 1), (1, 0)]


def test_the_pass_goes_on_where_the_room_for_candidates_was_full(monkeypatch):
    monkeypatch.setattr(partners, "ROOM", 1)
    blobs = [b"the very same text in all of them"] * 50
    hasher, documents = hasher_of("char:5"), packed(blobs)
    rows = np.arange(50, dtype=np.int64)
    index, _, _ = index_of(documents, hasher, rows.tolist(), threshold=0.9)
    block = Block(rows, rows, counts_of(documents), np.zeros(50, dtype=np.bool_))
    scratch = new_scratch(index)
    assert scratch.left.size == 50
    left, right = find_candidates(documents, block, index, scratch, hasher)
    assert left.size == 50 * 49
    assert len(set(zip(left.tolist(), right.tolist(), strict=True))) == 50 * 49
    assert not scratch.hits.any()


def test_equally_rare_shingles_of_small_hash_do_not_crowd_the_table():
    """Known bad: places by the highest bits, of which those kept have the lowest values, made runs of thousands.

    The places are drawn anew by each process. Of 400 draws the longest run was 81 at the median, 152 at most, and each
    ten more are about half as likely.
    """
    hashes = np.sort(np.random.Generator(np.random.PCG64(1)).integers(0, 2**62, 50_000, dtype=np.uint64))
    bitmap, slots, posts = rarest.table_of(hashes, np.array([0]), np.array([hashes.size]), SALT, 1 << 19)
    used = np.flatnonzero(slots[:, 0] != VACANT)
    assert posts.size == 0
    assert np.array_equal(np.sort(slots[used, 0]), hashes)
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate(([-2], used))) > 1))
    assert runs.max() < 400
    assert (bitmap != 0).mean() > 0.9
