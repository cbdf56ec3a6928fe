"""The oracles against each other, and against pairs that a program outside this project found."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import cluster, jaccard, join, pairs, sets, shared, sketch, text

SMALL_SETS = st.lists(st.frozensets(st.integers(0, 12), max_size=8), max_size=25)
THRESHOLDS = st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])


@given(SMALL_SETS, THRESHOLDS)
def test_counting_finds_what_comparing_every_pair_finds(rows, threshold):
    assert pairs.counted_pairs(rows, threshold) == pairs.naive_pairs(rows, threshold)


@given(SMALL_SETS, THRESHOLDS)
def test_the_prefix_join_finds_what_comparing_every_pair_finds(rows, threshold):
    found = join.all_pairs(join.sets_of_items(rows), threshold)
    as_map = dict(zip(zip(found.left.tolist(), found.right.tolist(), strict=True), found.similarity, strict=True))
    assert as_map == pairs.naive_pairs(rows, threshold)


@given(
    st.lists(st.text(alphabet="ab é́\n!", max_size=14), max_size=14),
    st.sampled_from(["char:1", "char:3", "char:9", "word:1", "word:2"]),
    st.sampled_from(["none", "nfc", "nfkc,casefold,space,punct", "strip"]),
)
def test_numbered_shingles_pair_like_tuples_of_tokens(texts, shingle, how):
    plain = pairs.naive_pairs(text.collection(texts, shingle, how), 0.4)
    found = join.all_pairs(join.sets_of_texts(texts, shingle, how), 0.4)
    as_map = dict(zip(zip(found.left.tolist(), found.right.tolist(), strict=True), found.similarity, strict=True))
    assert as_map == plain


def test_windows_are_ranked_rather_than_mixed_when_they_outgrow_64_bits():
    rng = np.random.default_rng(5)
    texts = ["".join(map(chr, rng.integers(0x4E00, 0x4E00 + 3000, 40))) for _ in range(20)]
    texts += [t[:30] + t[31:] for t in texts]
    plain = pairs.naive_pairs(text.collection(texts, "char:9"), 0.3)
    found = join.all_pairs(join.sets_of_texts(texts, "char:9"), 0.3)
    assert len(plain) == 20
    assert list(zip(found.left, found.right, strict=True)) == sorted(plain)


@given(st.integers(0, 60), st.integers(1, 60), st.integers(1, 100))
def test_at_least_means_what_a_float_division_says(shared_count, union, hundredths):
    shared_count = min(shared_count, union)
    threshold = hundredths / 100
    assert jaccard.reaches(shared_count, union, threshold) == (shared_count / union >= threshold)


@pytest.mark.parametrize(("shared_count", "union", "threshold"), [(7, 10, 0.7), (4, 5, 0.8), (3, 10, 0.3), (1, 1, 1.0)])
def test_a_similarity_of_exactly_the_threshold_is_in(shared_count, union, threshold):
    assert jaccard.reaches(shared_count, union, threshold)


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)).filter(lambda p: p[0] != p[1]), max_size=30))
def test_components_are_the_coarsest_and_stars_lie_inside_them(edges):
    whole = cluster.connected(edges)
    stars = cluster.star(range(16), edges)
    assert all(any({a, b} <= part for part in whole) for a, b in edges)
    assert cluster.refines(frozenset(stars.values()), whole)
    keepers = set(range(16)) - set().union(*(c - {k} for k, c in stars.items()), frozenset())
    assert not any(a in keepers and b in keepers for a, b in edges)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("t", ["3/10", "1/2", "7/10", "4/5", "19/20"])
def test_built_pairs_have_the_similarity_they_were_built_for(t, balanced):
    shape = sets.shape_at(Fraction(t), 17, balanced=balanced)
    offsets, items = sets.many_pairs(shape, 5)
    rows = [frozenset(items[a:b].tolist()) for a, b in itertools.pairwise(offsets)]
    for i in range(0, 10, 2):
        assert jaccard.jaccard(rows[i], rows[i + 1]) == Fraction(t)
    assert pairs.naive_pairs(rows, float(Fraction(t))).keys() == {(i, i + 1) for i in range(0, 10, 2)}


def test_densifying_by_rotation_leaves_no_empty_slot():
    offsets, items = sets.many_pairs(sets.Shape(1, 4, 0), 50)
    values = sketch.rotation_densified(offsets, items, slots=128, seed=1)
    assert (values != sketch.EMPTY).all()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.soak] if name in ("arxiv_10k", "arxiv_revisions", "bible_nt", "newsgroups") else []
        )
        for name in shared.at_hand("chapters", "revisions", *sorted(shared.WORD_PAIRS))
    ],
)
def test_the_join_finds_the_pairs_that_a_program_outside_the_project_found(name: str):
    ids, texts = shared.documents(name)
    known = shared.word_pairs(name)
    # that program's rules: \w+ words in lower case, a short text is one shingle, empty ones are alike
    rows = [frozenset(text.windows(run, 3) or [()]) for run in (re.findall(r"\w+", value.lower()) for value in texts)]
    found = join.all_pairs(join.sets_of_items(rows), 0.1 if name == "clough_stevenson" else 0.5)
    mine = {
        (min(ids[a], ids[b]), max(ids[a], ids[b])): s
        for a, b, s in zip(found.left.tolist(), found.right.tolist(), found.similarity.tolist(), strict=True)
    }
    assert mine.keys() == known.keys()
    assert all(abs(mine[pair] - known[pair]) < 1e-3 for pair in known)
