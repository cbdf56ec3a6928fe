"""Where datasketch is installed: ours gives its values, bands, answers and bytes."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from neardup.compat import datasketch as ours
from neardup.compat.datasketch._bands import best_bands, best_containment_bands

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    theirs = pytest.importorskip("datasketch")
SCHEMES = ["legacy", "affine32", "affine64"] if hasattr(theirs.MinHash(4), "scheme") else [None]


@pytest.fixture(params=SCHEMES)
def how(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Arguments of the sketches; datasketch before 2.0 has no scheme."""
    return {"num_perm": 48, "seed": 42, **({"scheme": request.param} if request.param else {})}


def token_sets() -> list[list[bytes]]:
    generator = np.random.default_rng(3)
    return [[f"{x}".encode() for x in generator.integers(0, 90, n)] for n in generator.integers(0, 60, 30)]


def sketches(library: Any, how: dict[str, Any]) -> list[Any]:
    made = [library.MinHash(**how) for _ in token_sets()]
    for each, tokens in zip(made, token_sets(), strict=True):
        each.update_batch(tokens)
    return made


def test_sketches_have_the_same_values_estimates_and_bytes(how):
    one, other = sketches(ours, how), sketches(theirs, how)
    for mine, its in zip(one, other, strict=True):
        assert mine.hashvalues.tolist() == its.hashvalues.tolist()
        assert mine.hashvalues.dtype == its.hashvalues.dtype
        assert mine.count() == pytest.approx(its.count(), rel=1e-12)
        leans = ours.LeanMinHash(mine), theirs.LeanMinHash(its)
        buffers = [bytearray(lean.bytesize("<")) for lean in leans]
        for lean, buffer in zip(leans, buffers, strict=True):
            lean.serialize(buffer, "<")
        assert buffers[0] == buffers[1]
        small = ours.bBitMinHash(mine, 3), theirs.b_bit_minhash.bBitMinHash(its, 3)
        assert small[0].hashvalues.tolist() == small[1].hashvalues.tolist()
        assert small[0].bytesize() == small[1].bytesize()
    for (a, b), (c, d) in zip(combinations(one, 2), combinations(other, 2), strict=True):
        assert a.jaccard(b) == c.jaccard(d)


def test_indexes_have_the_same_buckets_and_give_the_same_keys(how):
    one, other = sketches(ours, how), sketches(theirs, how)
    lsh, their_lsh = (library.MinHashLSH(num_perm=48, params=(12, 4)) for library in (ours, theirs))
    forest, their_forest = (library.MinHashLSHForest(num_perm=48, l=5) for library in (ours, theirs))
    for key, (mine, its) in enumerate(zip(one, other, strict=True)):
        lsh.insert(key, mine)
        their_lsh.insert(key, its)
        forest.add(key, mine)
        their_forest.add(key, its)
    forest.index()
    their_forest.index()
    assert lsh.get_counts() == their_lsh.get_counts()
    assert lsh.get_subset_counts(1, 2, 3) == their_lsh.get_subset_counts(1, 2, 3)
    for mine, its in zip(one, other, strict=True):
        assert set(lsh.query(mine)) == set(their_lsh.query(its))
        assert all(set(forest.query(mine, k)) == set(their_forest.query(its, k)) for k in (1, 4, 30))


def test_bands_are_the_same(monkeypatch):
    lsh = pytest.importorskip("datasketch.lsh")
    for threshold in (0.0, 0.3, 0.62, 0.9, 1.0):
        for weights in ((0.5, 0.5), (0.2, 0.8), (0.9, 0.1)):
            assert best_bands(threshold, 40, weights) == lsh._optimal_param(threshold, 40, *weights)
    ensemble = pytest.importorskip("datasketch.lshensemble")
    for threshold in (0.1, 0.8, 1.0):
        for ratio in (0.006, 0.5, 4.0, 148.0):
            expected = ensemble._optimal_param(threshold, 16, 4, ratio, 0.4, 0.6)
            assert best_containment_bands(threshold, 16, 4, ratio, (0.4, 0.6)) == expected


def test_weighted_samples_are_the_same():
    generator = np.random.default_rng(8)
    vectors = generator.gamma(1, 3, (20, 12)) * (generator.random((20, 12)) < 0.6) + np.eye(20, 12)
    mine, its = (library.WeightedMinHashGenerator(12, 32, 3) for library in (ours, theirs))
    for row, vector in enumerate(vectors[:12]):
        assert mine.minhash(vector).hashvalues.tolist() == its.minhash(vector).hashvalues.tolist(), row


@pytest.mark.parametrize("kind", ["HyperLogLog", "HyperLogLogPlusPlus"])
def test_registers_are_the_same_and_so_are_plain_counts(kind):
    mine, its = (getattr(library, kind)(p=5) for library in (ours, theirs))
    for i in range(400):
        if kind == "HyperLogLog" and i in (0, 10, 200, 399):
            assert mine.count() == pytest.approx(its.count(), rel=1e-12)
        mine.update(f"{i}".encode())
        its.update(f"{i}".encode())
        assert mine.reg.tolist() == its.reg.tolist()
