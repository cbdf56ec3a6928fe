"""Shingles compared themselves: texts whose shingles share hashes of a public key, against sets of Python strings."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.twins import hashing

from neardup.kernels import equal
from neardup.params import Shingle
from neardup.stages.shingle import Hasher
from neardup.stages.verify import compare_shingles
from neardup.types import Documents

MASK = (1 << 64) - 1


def shingle_sets(blob: bytes, kind: str, k: int) -> set[tuple[bytes, ...]]:
    """Runs of tokens, by the definition."""
    if kind == "item":
        return {(item,) for item in blob.split(b"\xff") if item}
    text = blob.decode()
    if kind == "byte":
        tokens = [blob[i : i + 1] for i in range(len(blob))]
    elif kind == "char":
        tokens = [char.encode() for char in text]
    else:
        tokens = [word.encode() for word in re.findall(r"[^\W_]+", text)]  # ASCII and a few letters are drawn
        if text and not tokens:
            return {(b"no word", blob)}
    joined = (lambda run: (b"".join(run),)) if kind != "word" else tuple
    runs = [tokens[i : i + k] for i in range(len(tokens) - k + 1)] or ([tokens] if tokens else [])
    return {joined(run) for run in runs}


def found_collisions(hasher: Hasher, blobs: list[bytes], pairs: list[tuple[int, int]]) -> list[bool]:
    documents = Documents.from_bytes(blobs)
    left, right = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    found = np.empty(left.size, dtype=np.bool_)
    equal.colliding(hasher.params, documents.data, documents.offsets, left, right, found)
    return found.tolist()


KINDS = ["char:1", "char:3", "char:9", "char:20", "byte:2", "byte:9", "word:1", "word:3", "item"]
TEXTS = st.lists(st.text("ab é-  中", max_size=30), min_size=2, max_size=6)


@pytest.mark.parametrize("kind", KINDS)
@given(texts=TEXTS)
def test_honest_texts_have_no_shingles_that_share_a_hash(kind: str, texts: list[str]):
    blobs = [b"\xff".join(t.encode().split()) if kind == "item" else t.encode() for t in texts]
    pairs = [(a, b) for a in range(len(blobs)) for b in range(len(blobs))]
    assert found_collisions(Hasher.private(Shingle.parse(kind)), blobs, pairs) == [False] * len(pairs)


@pytest.mark.parametrize("kind", KINDS)
@given(texts=TEXTS)
def test_a_hash_that_says_nothing_is_found_out_wherever_two_shingles_differ(kind: str, texts: list[str]):
    """With all multipliers zero every shingle of a length and every run of words has one hash: the known-bad hash."""
    shingle = Shingle.parse(kind)
    hasher = Hasher.private(shingle)
    object.__setattr__(hasher, "params", hasher.params._replace(key=(np.uint64(0),) * 4))
    blobs = [b"\xff".join(t.encode().split()) if kind == "item" else t.encode() for t in texts]
    pairs = [(a, b) for a in range(len(blobs)) for b in range(len(blobs))]
    expected = []
    for a, b in pairs:
        both = shingle_sets(blobs[a], shingle.kind, shingle.k) | shingle_sets(blobs[b], shingle.kind, shingle.k)
        expected.append(len(both) > 1)
    assert found_collisions(hasher, blobs, pairs) == expected


def colliding_words(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Words of 16 letters of two alphabets each of which has the hash of its partner, under the public key of a seed.

    The hash of 16 bytes is mix(g(first eight) + last eight * M3): for a chosen first half the last is solved for.
    """
    hasher = Hasher(Shingle.parse("word:1"), seed)
    start, by, _, last_by = (int(number) for number in hasher.params.key)
    start ^= 16 * int(hasher.params.key[2]) & MASK
    inverse = pow(last_by, -1, 1 << 64)
    draw = np.random.default_rng(seed)

    def half(first: int) -> int:
        x = (first ^ start) * by & MASK
        return x ^ (x >> 29)

    ones, others = [], []
    while len(ones) < count:
        one = bytes(draw.integers(97, 123, 16).astype(np.uint8))
        first, last = int.from_bytes(one[:8], "little"), int.from_bytes(one[8:], "little")
        target = half(first) + last * last_by
        # any bytes will do but separators of items: the words of this test need not be letters
        other = int.from_bytes(bytes(draw.integers(65, 91, 8).astype(np.uint8)), "little")
        rest = ((target - half(other)) * inverse & MASK).to_bytes(8, "little")
        if b"\xff" not in rest:
            ones.append(one)
            others.append(other.to_bytes(8, "little") + rest)
    return ones, others


@pytest.mark.parametrize("seed", [1, 987654321])
def test_solved_shingles_are_one_by_their_public_hashes_and_apart_by_themselves(seed: int):
    ones, others = colliding_words(40, seed)
    for one, other in zip(ones, others, strict=True):
        key = Hasher(Shingle.parse("item"), seed).params.key
        assert hashing.hash_bytes(one, key) == hashing.hash_bytes(other, key)
    shared = [b"%d" % i for i in range(60)]
    blobs = [b"\xff".join(shared + ones), b"\xff".join(others + shared)]
    documents, left, right = Documents.from_bytes(blobs), np.array([0]), np.array([1])
    for is_containment, true in ((False, 60 / 140), (True, 60 / 100)):
        for threshold in (0.3, true, 0.7):
            similarity = np.array([1.0])
            compare_shingles(
                documents,
                left,
                right,
                Hasher(Shingle.parse("item"), seed),
                similarity,
                threshold=threshold,
                is_containment=is_containment,
            )
            assert similarity.tolist() == [true if true >= threshold else -1.0]
    assert found_collisions(Hasher(Shingle.parse("item"), seed), blobs, [(0, 1)]) == [True]
    assert found_collisions(Hasher.private(Shingle.parse("item")), blobs, [(0, 1)]) == [False]


def test_pairs_around_one_that_collides_are_judged_by_themselves():
    """The table is used again from pair to pair: nothing of one may be left to the next."""
    ones, others = colliding_words(5, 1)
    hasher = Hasher(Shingle.parse("item"), 1)
    blobs = [b"\xff".join(ones), b"\xff".join(others), b"\xff".join(ones[:2]), b"plain", b"\xff".join(others[3:])]
    pairs = [(a, b) for a in range(5) for b in range(5)]
    expected = []
    for a, b in pairs:
        both = shingle_sets(blobs[a], "item", 1) | shingle_sets(blobs[b], "item", 1)
        expected.append(len({hashing.hash_bytes(item, hasher.params.key) for (item,) in both}) < len(both))
    assert found_collisions(hasher, blobs, pairs) == expected
    assert found_collisions(hasher, blobs, pairs[::-1]) == expected[::-1]
