"""The exact join has every pair and no other, for every threshold, in blocks of any size, for tables of any size."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracles import pairs, text
from tests.oracles.results import pair_map
from tests.properties.strategies import NORMALIZE, SHINGLES, collections

import neardup
from neardup.engine.joins import common, exact
from neardup.engine.space import Budget
from neardup.kernels import joining

EXAMPLES = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
ANY_THRESHOLD = st.one_of(
    st.floats(min_value=1e-9, max_value=1.0),
    st.tuples(st.integers(1, 12), st.integers(1, 12)).map(lambda pair: min(pair) / max(pair)),  # attained exactly
)
SETS = st.lists(st.frozensets(st.integers(0, 25), max_size=12), max_size=40)


def joined(inputs: Any, **options: Any) -> dict[frozenset[Any], float]:
    return pair_map(neardup.find(inputs, **{"exact": True, "threads": 1, **options}).pairs)


def expected_sets(rows: list[frozenset[int]], threshold: float) -> dict[frozenset[Any], float]:
    return {frozenset(pair): s for pair, s in pairs.naive_pairs(rows, threshold).items()}


@EXAMPLES
@given(collections(), SHINGLES, ANY_THRESHOLD, NORMALIZE, st.sampled_from([1, 2, 5]))
def test_the_exact_join_of_texts_is_comparing_every_pair(documents, shingle, threshold, normalize, threads):
    sets = text.collection([body for _, body in documents], shingle, normalize)
    true = {
        frozenset((documents[i][0], documents[j][0])): s for (i, j), s in pairs.naive_pairs(sets, threshold).items()
    }
    options = {"shingle": shingle, "threshold": threshold, "normalize": normalize, "threads": threads}
    assert joined(documents, **options) == true


@EXAMPLES
@given(SETS, ANY_THRESHOLD)
def test_the_exact_join_of_sets_is_comparing_every_pair(rows, threshold):
    assert joined([sorted(row) for row in rows], shingle="item", threshold=threshold) == expected_sets(rows, threshold)


@EXAMPLES
@given(SETS, ANY_THRESHOLD, st.integers(1, 6), st.integers(1, 40), st.sampled_from([1, 3]))
def test_blocks_and_a_table_full_of_collisions_lose_nothing(rows, threshold, bits, fit, threads):
    """With few cells hardly a shingle looks as rare as it is, and blocks hold a handful of sets."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(common, "LEAST_BITS", bits)
        patched.setattr(common, "MOST_BITS", bits)
        patched.setattr(common, "SLAB", 7)
        patched.setattr(common, "HELD", 2)
        patched.setattr(exact, "SLAB", 9)
        patched.setattr(exact, "LEAST_RANGE", 5)
        patched.setattr(exact.ExactJoin, "fit", fit)
        found = joined([sorted(row) for row in rows], shingle="item", threshold=threshold, threads=threads)
    assert found == expected_sets(rows, threshold)


@EXAMPLES
@given(SETS, SETS, ANY_THRESHOLD, st.sampled_from([1, 30, 10**6]), st.sampled_from([1, 1000]))
def test_between_two_collections_it_is_comparing_each_with_each(ours, theirs, threshold, fit, crowd):
    if crowd == 1000:
        ours = [*ours, *theirs[:3], *ours[:2]]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(exact.ExactJoin, "fit", fit)
        found = neardup.find(
            [(f"a{i}", sorted(row)) for i, row in enumerate(ours)],
            against=[(f"b{i}", sorted(row)) for i, row in enumerate(theirs)],
            shingle="item",
            threshold=threshold,
        )
    true = {}
    for i, a in enumerate(ours):
        for j, b in enumerate(theirs):
            if a and b and len(a & b) / len(a | b) >= threshold:
                true[f"a{i}", f"b{j}"] = len(a & b) / len(a | b)
    columns = (found.pairs[name].to_pylist() for name in ("id_a", "id_b", "similarity"))
    listed = [((a, b), s) for a, b, s in zip(*columns, strict=True)]
    assert len(listed) == len(set(listed))
    assert dict(listed) == true
    assert found.summary.clusters == 0
    assert len(found.clusters) == 0


@EXAMPLES
@given(collections(), SHINGLES, st.sampled_from([0.5, 0.7, 0.8]))
def test_banding_finds_nothing_that_the_exact_join_has_not(documents, shingle, threshold):
    options = {"shingle": shingle, "threshold": threshold, "crowd": 10**6}
    banded = pair_map(neardup.find(documents, threads=1, **options).pairs)
    everything = joined(documents, **options)
    assert {pair: everything.get(pair) for pair in banded} == banded


def test_a_join_with_a_prefix_shingle_too_few_is_caught(monkeypatch):
    """The oracle sees what a prefix of one shingle too few loses."""
    rows = [frozenset(random.Random(i).sample(range(13), 6)) for i in range(200)]
    true = expected_sets(rows, 0.5)
    lists = [sorted(row) for row in rows]
    assert joined(lists, shingle="item", threshold=0.5) == true
    plain = joining.prefixes_of

    def short(*args):
        found = joining.Prefixes(*plain(*args))
        fewer, fewer_indexed = np.maximum(found.held - 1, 0), np.maximum(found.held_indexed - 1, 0)
        return found._replace(held=fewer, held_indexed=fewer_indexed)

    monkeypatch.setattr(joining, "prefixes_of", short)
    assert len(joined(lists, shingle="item", threshold=0.5)) < len(true)


def test_little_memory_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(5)
    words = ["".join(chosen.choices("abcdefgh", k=5)) for _ in range(3000)]
    documents = []
    for _ in range(300):
        page = chosen.choices(words, k=chosen.randint(5, 60))
        for _ in range(3):
            page[chosen.randrange(len(page))] = chosen.choice(words)
            documents.append(" ".join(page))
    whole = neardup.find(documents, exact=True, threshold=0.7)
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(900_000, 700_000)))
    small = neardup.find(documents, exact=True, threshold=0.7, workdir=tmp_path / "work", threads=3, block=50)
    assert small.summary.spooled > 0
    assert small.pairs == whole.pairs
    assert small.clusters == whole.clusters
    assert len(whole.pairs) > 300


def test_pairs_that_outgrow_the_memory_go_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """900 near-copies make 400,000 pairs, far more bytes than the texts have; the texts stay in memory."""
    page = [f"w{i}" for i in range(60)]
    documents = [" ".join([*page, f"x{i}"]) for i in range(900)]
    documents += documents[:200]
    options: dict[str, Any] = {"exact": True, "threshold": 0.9, "shingle": "word:1", "crowd": 0}
    whole = neardup.find(documents, **options)
    assert whole.summary.spooled == 0
    assert len(whole.pairs) == 1100 * 1099 // 2
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(4_000_000, 4_000_000)))
    small = neardup.find(documents, threads=2, **options)
    assert small.summary.spooled > 5_000_000
    assert small.pairs == whole.pairs
    assert small.clusters == whole.clusters
    assert list(tmp_path.iterdir()) == []
