"""WeightedMinHash and HyperLogLog: estimates within their bounds, bytes, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistics.bounds import SIGMAS, share_sigma

from neardup import InputError, SpecMismatch
from neardup.compat.datasketch import HyperLogLog, HyperLogLogPlusPlus, WeightedMinHash, WeightedMinHashGenerator

COUNTERS = [HyperLogLog, HyperLogLogPlusPlus]


class Sparse:
    """A matrix as SciPy has it, with a zero that is stored, and a place that is stored twice."""

    shape = (3, 3)

    def tocsr(self, copy: bool) -> Sparse:
        self.indptr, self.indices = np.array([0, 4, 4, 5], np.int32), np.array([0, 1, 2, 0, 2], np.int32)
        self.data = np.array([1.0, 2.0, 0.0, 3.0, 5.0])
        return self

    def sum_duplicates(self) -> None:
        self.indptr, self.indices = np.array([0, 3, 3, 4], np.int32), np.array([0, 1, 2, 2], np.int32)
        self.data = np.array([4.0, 2.0, 0.0, 5.0])

    def eliminate_zeros(self) -> None:
        self.indptr, self.indices = np.array([0, 2, 2, 3], np.int32), np.array([0, 1, 2], np.int32)
        self.data = np.array([4.0, 2.0, 5.0])


def test_the_weighted_estimate_is_unbiased():
    """16 seeds of 256 samples: a standard error of 0.008 at J = 1/2, so that a bias of 0.05 shows."""
    generator = np.random.default_rng(5)
    vectors = generator.gamma(1, 2, (3, 30)) * (generator.random((3, 30)) < 0.7)
    vectors[2] = 2 * vectors[1]
    for i, j in ((0, 1), (1, 2)):
        true = np.minimum(vectors[i], vectors[j]).sum() / np.maximum(vectors[i], vectors[j]).sum()
        found = []
        for seed in range(16):
            one, other = WeightedMinHashGenerator(30, 256, seed).minhash_many(vectors[[i, j]])
            found.append(one.jaccard(other))
        assert abs(np.mean(found) - true) < SIGMAS * share_sigma(true, 16 * 256)


def test_many_rows_are_sketched_as_each_alone_dense_or_sparse():
    rows = np.array([[4, 2, 0], [0, 0, 0], [0, 0, 5]])
    generator = WeightedMinHashGenerator(3, sample_size=8)
    alone = [generator.minhash(rows[0]), None, generator.minhash(rows[2].tolist())]
    assert generator.minhash_many(rows) == alone
    assert generator.minhash_many(Sparse()) == alone
    assert {each.hashvalues[0, 0] for each in alone[2:]} == {2}


def test_a_vector_is_left_as_it_was_and_a_sketch_can_be_kept():
    vector = np.array([1, 0, 3], dtype=np.float32)
    made = WeightedMinHashGenerator(3, 8).minhash(vector)
    assert vector.tolist() == [1, 0, 3]
    assert pickle.loads(pickle.dumps(made)) == made == made.copy() == WeightedMinHash(1, made.digest())
    assert made.jaccard(made) == 1.0
    assert len(made) == 8


@pytest.mark.parametrize(
    ("vector", "said"),
    [
        ([1, 2], "has the shape"),
        ([0, 0, 0], "all weights of the vector are 0"),
        ([1, -2, 0], "a weight is -2"),
        ([1, float("nan"), 0], "a weight is nan"),
        ([1, float("inf"), 0], "a weight is inf"),
    ],
)
def test_vectors_that_have_no_sketch_are_refused(vector, said):
    with pytest.raises(InputError, match=said):
        WeightedMinHashGenerator(3).minhash(vector)


def test_what_is_no_vector_or_matrix_or_alike_is_refused():
    generator = WeightedMinHashGenerator(3, 4)
    with pytest.raises(TypeError, match="the vector is a int"):
        generator.minhash(3)
    with pytest.raises(TypeError, match="the matrix is a list"):
        generator.minhash_many([[1, 2, 3]])
    with pytest.raises(InputError, match="has 1 dimensions"):
        generator.minhash_many(np.ones(3))
    with pytest.raises(InputError, match="has 2 columns"):
        generator.minhash_many(np.ones((1, 2)))
    with pytest.raises(InputError, match="dim is 0"):
        WeightedMinHashGenerator(0)
    for other in (WeightedMinHashGenerator(3, 5), WeightedMinHashGenerator(3, 4, 2)):
        with pytest.raises(SpecMismatch, match="differ in"):
            generator.minhash([1, 2, 3]).jaccard(other.minhash([1, 2, 3]))


def numbers(low: int, high: int) -> list[bytes]:
    return [f"{i}".encode() for i in range(low, high)]


def counted(kind: type[HyperLogLog], values: list[bytes], p: int = 10) -> HyperLogLog:
    counter = kind(p=p)
    for value in values:
        counter.update(value)
    return counter


@pytest.mark.parametrize("kind", COUNTERS)
@pytest.mark.parametrize("count", [0, 1, 50, 1000, 3000, 30_000])
def test_counts_are_within_their_error(kind, count):
    """1.04 / sqrt(1024) is 3.3 %; of so few as 50 all but a collision or two are told apart."""
    estimate = counted(kind, numbers(0, count)).count()
    assert abs(estimate - count) <= SIGMAS * 1.04 / 32 * count + (count == 50)


def test_the_estimate_with_64_bits_has_no_bias_where_the_plain_one_has():
    """Around 2.5 registers' worth of values: the mean of 60 counters of 64 registers, whose error is 1.7 %."""
    ratios = [counted(HyperLogLogPlusPlus, numbers(1000 * i, 1000 * i + 180), p=6).count() / 180 for i in range(60)]
    assert abs(np.mean(ratios) - 1) < SIGMAS * 1.04 / np.sqrt(64 * 60)


@pytest.mark.parametrize("kind", COUNTERS)
@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_a_union_counts_the_values_of_both(kind, one, other):
    values = [[f"{i}".encode() for i in side] for side in (one, other)]
    first, second = (counted(kind, side, p=4) for side in values)
    both = counted(kind, values[0] + values[1][::-1], p=4)
    assert kind.union(first, second) == both
    copied = first.copy()
    copied.merge(second)
    assert copied == both
    buffer = bytearray(both.bytesize())
    both.serialize(buffer)
    assert buffer[0] == 4
    assert list(buffer[1:]) == both.reg.tolist()
    assert kind.deserialize(buffer) == both == pickle.loads(pickle.dumps(both))
    assert first.is_empty() == (not one)
    both.clear()
    assert both.is_empty()


def test_values_are_counted_by_a_hash_function_of_ones_own():
    counter = HyperLogLogPlusPlus(p=4, hashfunc=int)
    counter.update("31")  # 1 1111: register 15, and one bit behind 59 zeros
    counter.update("0")
    assert {int(i): int(counter.reg[i]) for i in np.flatnonzero(counter.reg)} == {15: 60, 0: 61}
    with pytest.raises(InputError, match=f"hashfunc returned {1 << 64}, which is no number of 64 bits"):
        counter.update(f"{1 << 64}")
    with pytest.raises(TypeError):
        HyperLogLog().update("text")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"p": 3}, "p is 3. Give 4 to 16"),
        ({"reg": [0] * 16}, "reg is a list"),
        ({"reg": np.zeros(17, dtype=np.int8)}, "reg has 17 registers"),
        ({"hashfunc": 3}, "hashfunc is 3"),
    ],
)
def test_counters_that_there_cannot_be_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        HyperLogLog(**wrong)


def test_counters_that_are_not_alike_and_bytes_that_are_cut_short_are_refused():
    with pytest.raises(SpecMismatch, match=r"differ in p \(4 and 5\)"):
        HyperLogLog(4).merge(HyperLogLog(5))
    for cut in (b"", b"\x04", bytes([4]) + bytes(15)):
        with pytest.raises(InputError, match="cut short"):
            HyperLogLog.deserialize(cut)
    with pytest.raises(InputError, match="p is 0"):
        HyperLogLog.deserialize(bytes(20))
    with pytest.raises(InputError, match=r"has 3 bytes\. Give at least 17"):
        HyperLogLog(4).serialize(bytearray(3))
