"""MinHash, LeanMinHash, bBitMinHash: values, estimates, bytes, and what is refused."""

from __future__ import annotations

import hashlib
import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.jaccard import jaccard
from tests.statistics.bounds import SIGMAS, share_sigma
from tests.twins import datasketch as twin

from neardup import InputError, SpecMismatch
from neardup.compat.datasketch import LeanMinHash, MinHash, bBitMinHash, sha1_hash32, sha1_hash64

SCHEMES = ["legacy", "affine32", "affine64"]
BITS = {"legacy": 32, "affine32": 32, "affine64": 64}
TOKENS = st.lists(st.binary(max_size=12), max_size=12)
FEW = settings(max_examples=15)


def expected(tokens: list[bytes], scheme: str, *, num_perm: int, seed: int) -> list[int]:
    """Values by hashlib, numbers drawn one at a time, and Python's integers."""
    drawn = np.random.RandomState(seed)
    bits = BITS[scheme]
    if scheme == "legacy":
        pairs = [
            (drawn.randint(1, twin.PRIME, dtype=np.uint64), drawn.randint(0, twin.PRIME, dtype=np.uint64))
            for _ in range(num_perm)
        ]
        a, b = np.array(pairs).T
    else:
        dtype = np.dtype(f"u{bits // 8}").type
        a = np.array([2 * int(drawn.randint(0, 1 << (bits - 1), dtype=dtype)) + 1 for _ in range(num_perm)], dtype)
        b = np.array([drawn.randint(0, 1 << bits, dtype=dtype) for _ in range(num_perm)])
    hashes = [int.from_bytes(hashlib.sha1(token).digest()[: bits // 8], "little") for token in tokens]
    values = np.full((1, num_perm), 2**bits - 1, dtype=np.uint64)
    getattr(twin, f"lower_{scheme}")(np.array(hashes, dtype=np.uint64), np.array([0, len(hashes)]), a, b, values)
    return values[0].tolist()


@FEW
@given(TOKENS, st.sampled_from(SCHEMES), st.integers(0, 99))
def test_values_are_those_of_sha1_and_big_integers_however_tokens_come(tokens, scheme, seed):
    how: dict[str, Any] = {"num_perm": 5, "seed": seed, "scheme": scheme}
    one_by_one, at_once, mixed = (MinHash(**how) for _ in range(3))
    for token in tokens:
        one_by_one.update(token)
    at_once.update_batch(tokens)
    for token in tokens[::2]:
        mixed.update(token)
    mixed.update_batch(map(bytearray, tokens[1::2]))
    values = expected(tokens, scheme, num_perm=5, seed=seed)
    (in_bulk,) = MinHash.bulk([tokens], **how)
    for sketch in (one_by_one, at_once, mixed, in_bulk):
        assert sketch.hashvalues.tolist() == values
        assert sketch.hashvalues.dtype == (np.uint32 if scheme == "affine32" else np.uint64)
    assert at_once.is_empty() == (not tokens)


def test_the_value_that_datasketch_tells_of_itself():
    """From its own tests: the four values of b"Hello"."""
    sketch = MinHash(4, 1)
    sketch.update(b"Hello")
    assert sketch.hashvalues.tolist() == [734825475, 960773806, 359816889, 342714745]


@FEW
@given(TOKENS, TOKENS, st.sampled_from(SCHEMES))
def test_a_union_is_the_sketch_of_both_sets(one, other, scheme):
    first, second, both = MinHash.bulk([one, other, one + other], num_perm=16, scheme=scheme)
    assert MinHash.union(first, second) == both
    assert LeanMinHash.union(LeanMinHash(first), LeanMinHash(second)) == LeanMinHash(both)
    copied = first.copy()
    copied.merge(second)
    assert copied == both
    assert first == MinHash.bulk([one], num_perm=16, scheme=scheme)[0], "the copy is another"


def estimates(scheme: str, seeds: int) -> list[tuple[float, float]]:
    """The true similarity, and the mean of the estimate over seeds, of three pairs."""
    sets = [{f"{i}".encode() for i in range(low, low + 60)} for low in (0, 20, 40)]
    found = np.zeros(3)
    for seed in range(seeds):
        sketches = MinHash.bulk(sets, num_perm=128, seed=seed, scheme=scheme)
        found += [one.jaccard(other) for one, other in combinations(sketches, 2)]
    return [
        (float(jaccard(one, other)), mean / seeds)
        for (one, other), mean in zip(combinations(sets, 2), found, strict=True)
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_estimate_is_unbiased(scheme):
    """32 seeds of 128 slots: a standard error of 0.008 at J = 1/2, so that a bias of 0.05 shows. False alarms: 1e-6."""
    for true, mean in estimates(scheme, seeds=32):
        assert abs(mean - true) < SIGMAS * share_sigma(true, 32 * 128)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_count_is_within_its_error(scheme):
    """The least of n uniform values has a relative deviation of about 1, so that 1024 of them have 1/32."""
    sketch = MinHash(num_perm=1024, scheme=scheme)
    sketch.update_batch([f"{i}".encode() for i in range(5000)])
    assert abs(sketch.count() / 5000 - 1) < SIGMAS / 32


def test_b_bit_estimates_take_off_what_is_equal_by_chance():
    sets = [{f"{i}".encode() for i in range(low, low + 60)} for low in (0, 30)]
    true = float(jaccard(*sets))
    one, other = MinHash.bulk(sets, num_perm=4096)
    for b in (1, 2, 8):
        chance = 2.0**-b
        error = share_sigma(true + (1 - true) * chance, 4096) / (1 - chance)
        assert abs(bBitMinHash(one, b).jaccard(bBitMinHash(other, b)) - true) < SIGMAS * error
    assert bBitMinHash(one, 32).jaccard(bBitMinHash(other, 32)) == pytest.approx(one.jaccard(other), abs=1e-9)
    assert pickle.loads(pickle.dumps(bBitMinHash(one, 3))) == bBitMinHash(one, 3)
    with pytest.raises(SpecMismatch, match="differ in b"):
        bBitMinHash(one, 2).jaccard(bBitMinHash(other, 3))


def test_a_token_that_changes_later_counts_as_it_was():
    token = bytearray(b"one")
    sketch, plain = MinHash(8), MinHash(8)
    sketch.update(token)
    token[0] = 0
    plain.update(b"one")
    assert sketch == plain


def test_a_token_that_cannot_be_hashed_is_refused_at_once_and_none_of_its_batch_counts():
    sketch = MinHash(8)
    with pytest.raises(TypeError, match="encod"):
        sketch.update("text")
    with pytest.raises(TypeError):
        sketch.update_batch([b"one", 3])
    assert sketch.is_empty()


def test_own_hash_functions_are_called_at_once_and_must_return_what_fits():
    seen = []

    def own(value: int) -> int:
        seen.append(value)
        return value

    sketch, in_bulk = MinHash(8, hashfunc=own, scheme="affine32"), None
    sketch.update(5)
    assert seen == [5]
    sketch.update_batch([6, 7])
    (in_bulk,) = MinHash.bulk([[7, 6, 5]], num_perm=8, hashfunc=own, scheme="affine32")
    assert in_bulk == sketch
    for wrong in (-1, 1 << 32):
        with pytest.raises(InputError, match=rf"hashfunc returned {wrong}, which is no number of 32 bits"):
            sketch.update(wrong)
    with pytest.raises(TypeError):
        sketch.update("x")
    same = MinHash(8, hashfunc=lambda token: sha1_hash32(token))
    plain = MinHash(8)
    for each in (same, plain):
        each.update_batch([b"one", b"other"])
    assert same == plain


def test_many_tokens_are_hashed_before_they_pile_up(monkeypatch):
    monkeypatch.setattr("neardup.compat.datasketch.minhash.PENDING", 4)
    sketch, plain = MinHash(8), MinHash(8)
    tokens = [bytes([i]) for i in range(10)]
    for token in tokens:
        sketch.update(token)
        assert len(sketch._pending) < 4
    plain.update_batch(tokens)
    assert sketch == plain


def test_generator_takes_sets_as_they_are_asked_for(monkeypatch):
    monkeypatch.setattr("neardup.compat.datasketch.minhash.AHEAD", 2)
    taken = []

    def sets():
        for i in range(6):
            taken.append(i)
            yield (bytes([i, j]) for j in range(i))

    sketches = MinHash.generator(sets(), num_perm=8)
    assert next(sketches).is_empty()
    assert taken == [0, 1]
    rest = list(sketches)
    assert rest == MinHash.bulk([[bytes([i, j]) for j in range(i)] for i in range(1, 6)], num_perm=8)


@FEW
@given(TOKENS, st.sampled_from(SCHEMES), st.sampled_from("@=<>!"))
def test_bytes_and_pickles_give_the_sketch_back(tokens, scheme, byteorder):
    (sketch,) = MinHash.bulk([tokens], num_perm=6, seed=7, scheme=scheme)
    lean = LeanMinHash(sketch)
    buffer = bytearray(lean.bytesize(byteorder) + 3)
    lean.serialize(buffer, byteorder)
    assert LeanMinHash.deserialize(buffer, byteorder) == lean
    for whole in (sketch, lean):
        again = pickle.loads(pickle.dumps(whole))
        assert again == whole
        assert again.jaccard(whole) == 1
    assert hash(pickle.loads(pickle.dumps(lean))) == hash(lean)
    assert MinHash(seed=7, hashvalues=lean.hashvalues, scheme=scheme) == sketch


def test_bytes_of_datasketch_2_are_read():
    """Head by its documentation: seed, the negated number of values, the code of affine32, then the values."""
    data = (7).to_bytes(8, "little") + (-2).to_bytes(4, "little", signed=True) + b"\x01"
    data += (5).to_bytes(4, "little") + (6).to_bytes(4, "little")
    assert LeanMinHash.deserialize(data, "<") == LeanMinHash(seed=7, hashvalues=[5, 6], scheme="affine32")


@pytest.mark.parametrize("length", [0, 5, 12, 13, 20])
def test_bytes_that_are_cut_short_are_refused(length):
    lean = LeanMinHash(seed=1, hashvalues=[5, 6], scheme="affine32")
    buffer = bytearray(lean.bytesize("<"))
    lean.serialize(buffer, "<")
    with pytest.raises(InputError, match="cut short"):
        LeanMinHash.deserialize(buffer[:length], "<")


def test_what_cannot_be_compared_is_named():
    one = MinHash(8, seed=1)
    for other, what in (
        (MinHash(8, seed=2), "seed"),
        (MinHash(9), "num_perm"),
        (MinHash(8, scheme="affine32"), "scheme"),
    ):
        for compare in (one.jaccard, one.merge, lambda other: MinHash.union(one, other)):
            with pytest.raises(SpecMismatch, match=f"differ in {what}"):
                compare(other)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"num_perm": 0}, "num_perm is 0"),
        ({"hashvalues": []}, "hashvalues are empty"),
        ({"hashvalues": [1 << 40], "scheme": "affine32"}, "hashvalues do not fit scheme 'affine32'"),
        ({"hashvalues": np.array([-1])}, "hashvalues do not fit"),
        ({"permutations": ([1, 2], [3, 4]), "num_perm": 3}, "permutations are 2 factors"),
        ({"permutations": ([2], [3]), "num_perm": 1, "scheme": "affine64"}, "even factor"),
        ({"scheme": "affine23"}, "did you mean 'affine32'"),
        ({"gpu_mode": "perhaps"}, "gpu_mode is 'perhaps'"),
        ({"hashfunc": 3}, "hashfunc is 3"),
    ],
)
def test_what_makes_no_sketch_is_named(wrong, said):
    with pytest.raises(InputError, match=f"(?i){said}"):
        MinHash(**wrong)


def test_graphics_processors_are_refused_where_they_are_demanded():
    MinHash(8, gpu_mode="detect").update_batch([b"one"])
    for made in (
        MinHash(8, gpu_mode="always").update_batch,
        lambda s: MinHash.bulk([s], num_perm=8, gpu_mode="always"),
    ):
        with pytest.raises(RuntimeError, match="no code for graphics processors"):
            made([b"one"])


def test_permutations_of_another_sketch_are_used():
    other = MinHash(8, seed=5)
    given = MinHash(8, seed=5, permutations=(other.permutations[0].tolist(), other.permutations[1].tolist()))
    for each in (other, given):
        each.update(b"one")
    assert given == other
    assert pickle.loads(pickle.dumps(given)).permutations.tolist() == other.permutations.tolist()


def test_hash_functions_are_the_leading_bytes_of_sha1():
    digest = hashlib.sha1(b"abc").digest()
    assert sha1_hash32(b"abc").to_bytes(4, "little") == digest[:4]
    assert sha1_hash64(b"abc").to_bytes(8, "little") == digest[:8]
