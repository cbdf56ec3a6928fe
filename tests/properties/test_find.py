"""Invariants of ``neardup.find`` that hold for every collection, spec and seed."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import cluster, pairs, text
from tests.oracles.results import as_bytes, groups, keepers, pair_map
from tests.properties.strategies import LINKS, NORMALIZE, SHINGLES, THRESHOLDS, collections, edited

import neardup

EXAMPLES = settings(max_examples=40)


def found(documents, **spec):
    return neardup.find(documents, **{"threads": 1, **spec})


@EXAMPLES
@given(collections(), SHINGLES, THRESHOLDS, NORMALIZE)
def test_every_reported_pair_is_true_and_its_similarity_exact(documents, shingle, threshold, normalize):
    result = found(documents, shingle=shingle, threshold=threshold, normalize=normalize)
    sets = text.collection([body for _, body in documents], shingle, normalize)
    true = {
        frozenset((documents[i][0], documents[j][0])): s for (i, j), s in pairs.naive_pairs(sets, threshold).items()
    }
    reported = pair_map(result.pairs)
    assert {pair: true.get(pair) for pair in reported} == reported


@EXAMPLES
@given(collections(), SHINGLES, THRESHOLDS)
def test_pairs_of_equal_shingle_sets_are_never_missed(documents, shingle, threshold):
    sets = text.collection([body for _, body in documents], shingle)
    reported = pair_map(found(documents, shingle=shingle, threshold=threshold).pairs)
    for i, a in enumerate(sets):
        for j in range(i):
            if a and a == sets[j]:
                assert reported[frozenset((documents[i][0], documents[j][0]))] == 1.0


@EXAMPLES
@given(collections(), SHINGLES)
def test_an_empty_document_is_counted_and_never_pairs(documents, shingle):
    documents = [*documents, ("void", ""), ("void too", "")]
    result = found(documents, shingle=shingle, threshold=0.5)
    empty = {i for i, body in documents if not body}
    assert result.summary.empty == len(empty)
    assert not empty & set().union(*pair_map(result.pairs), frozenset())


@EXAMPLES
@given(collections(), st.randoms(use_true_random=False), LINKS, THRESHOLDS, SHINGLES)
def test_shuffled_documents_give_the_same_pairs_and_the_same_partition(documents, rng, link, threshold, shingle):
    shuffled = list(documents)
    rng.shuffle(shuffled)
    one = found(documents, link=link, threshold=threshold, shingle=shingle)
    two = found(shuffled, link=link, threshold=threshold, shingle=shingle)
    assert pair_map(two.pairs) == pair_map(one.pairs)
    assert groups(two.clusters) == groups(one.clusters)


@EXAMPLES
@given(collections(), st.randoms(use_true_random=False), st.integers(2, 5), THRESHOLDS)
def test_shuffled_documents_give_the_same_pairs_inside_crowds(documents, rng, crowd, threshold):
    shuffled = list(documents)
    rng.shuffle(shuffled)
    bodies = dict(documents)

    def by_content(result):
        return sorted(
            (*sorted((bodies[a], bodies[b])), s)
            for (a, b), s in ((tuple(pair), s) for pair, s in pair_map(result.pairs).items())
        )

    spec = {"threshold": threshold, "shingle": "char:3", "crowd": crowd}
    one, two = found(documents, **spec), found(shuffled, **spec)
    # which of several equal copies leads is the first of them; by content nothing may change
    assert by_content(two) == by_content(one)


@EXAMPLES
@given(collections(), LINKS, THRESHOLDS)
def test_a_copy_joins_its_originals_cluster(documents, link, threshold):
    full = [(i, body) for i, body in documents if body]
    doubled = [*documents, *((f"copy of {i}", body) for i, body in full)]
    result = found(doubled, link=link, threshold=threshold, shingle="char:5")
    label = dict(zip(result.clusters["id"].to_pylist(), result.clusters["cluster"].to_pylist(), strict=True))
    assert all(label[f"copy of {i}"] == label[i] for i, _ in full)


@EXAMPLES
@given(collections(), st.sampled_from(["12x4", "32x2", "16x8"]), st.tuples(THRESHOLDS, THRESHOLDS))
def test_a_higher_threshold_at_fixed_bands_refines(documents, bands, thresholds):
    low, high = sorted(thresholds)
    spec = {"bands": bands, "link": "connected", "shingle": "char:3"}
    coarse = found(documents, threshold=low, **spec)
    fine = found(documents, threshold=high, **spec)
    assert pair_map(fine.pairs).items() <= pair_map(coarse.pairs).items()
    assert cluster.refines(groups(fine.clusters), groups(coarse.clusters))


@EXAMPLES
@given(collections(), THRESHOLDS, SHINGLES)
def test_every_star_member_is_verified_against_its_keeper_and_no_keepers_pair(documents, threshold, shingle):
    result = found(documents, threshold=threshold, shingle=shingle, link="star")
    similarity = pair_map(result.pairs)
    keeper = keepers(result.clusters)
    stated = dict(zip(result.clusters["id"].to_pylist(), result.clusters["similarity"].to_pylist(), strict=True))
    for member, kept in keeper.items():
        assert keeper[kept] == kept
        if member == kept:
            assert stated[member] in (None, 1.0)
        else:
            assert stated[member] == similarity[frozenset((member, kept))] >= threshold
    survivors = {i for i, _ in documents if keeper.get(i, i) == i}
    assert not any(pair <= survivors for pair in similarity)
    assert all(len(group) > 1 for group in groups(result.clusters))


@EXAMPLES
@given(collections(), THRESHOLDS, SHINGLES)
def test_connected_clusters_are_the_components_of_the_found_pairs(documents, threshold, shingle):
    result = found(documents, threshold=threshold, shingle=shingle, link="connected")
    assert groups(result.clusters) == cluster.connected(tuple(pair) for pair in pair_map(result.pairs))
    kept = keepers(result.clusters)
    assert all(kept[kept[i]] == kept[i] for i in kept)


@EXAMPLES
@given(collections(), THRESHOLDS, LINKS)
def test_threads_and_blocks_change_no_byte(documents, threshold, link):
    results = [
        found(documents, threshold=threshold, link=link, shingle="char:5", threads=threads, block=block)
        for threads, block in ((1, None), (2, 1), (7, 3), (7, 100), (2, 100_000))
    ]
    for name in ("pairs", "clusters", "crowds"):
        assert len({as_bytes(getattr(result, name)) for result in results}) == 1
    assert len({result.spec.id for result in results}) == 1


@EXAMPLES
@given(
    collections(),
    st.sampled_from(["independent", "permutation", "universal", "hybrid"]),
    st.integers(0, 2**40),
)
def test_no_sketch_and_no_seed_adds_a_false_pair(documents, sketch, seed):
    result = found(documents, threshold=0.5, shingle="char:3", sketch=sketch, seed=seed)
    sets = dict(zip((i for i, _ in documents), text.collection([b for _, b in documents], "char:3"), strict=True))
    for pair, similarity in pair_map(result.pairs).items():
        a, b = pair
        assert similarity == len(sets[a] & sets[b]) / len(sets[a] | sets[b]) >= 0.5


@EXAMPLES
@given(collections(), LINKS)
def test_collapsing_exact_copies_only_takes_pairs_of_copies_away(documents, link):
    whole = found(documents, shingle="char:3", threshold=0.6, link=link)
    short = found(documents, shingle="char:3", threshold=0.6, link=link, collapse_exact=True)
    assert pair_map(short.pairs).items() <= pair_map(whole.pairs).items()
    assert groups(short.clusters) == groups(whole.clusters)


@EXAMPLES
@given(st.lists(st.frozensets(st.integers(-5, 20), max_size=12), max_size=25), THRESHOLDS)
def test_sets_of_integers_pair_by_their_items(rows, threshold):
    result = found([(f"r{i}", sorted(row)) for i, row in enumerate(rows)], shingle="item", threshold=threshold)
    true = {frozenset((f"r{i}", f"r{j}")): s for (i, j), s in pairs.naive_pairs(rows, threshold).items()}
    reported = pair_map(result.pairs)
    assert {pair: true.get(pair) for pair in reported} == reported
    assert all(pair in reported for pair, s in true.items() if s == 1.0)


@EXAMPLES
@given(collections())
def test_the_summary_adds_up(documents):
    result = found(documents, threshold=0.6, shingle="char:3", link="connected")
    s = result.summary
    assert s.documents == len(documents)
    assert s.pairs == result.pairs.num_rows <= s.checked + s.exact_copies * s.documents
    assert s.clusters == len(groups(result.clusters))
    assert s.recall >= 0.99
    assert s.bad == 0


@EXAMPLES
@given(collections(most=14), st.data())
def test_adding_a_document_takes_no_pair_away(documents, data):
    before = pair_map(found(documents, threshold=0.6, shingle="char:3").pairs)
    extra = data.draw(edited(documents[0][1] if documents else "text"))
    after = pair_map(found([*documents, ("extra", extra)], threshold=0.6, shingle="char:3").pairs)
    assert before.items() <= after.items()


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("block", [1, 100, 100_000])
def test_a_thousand_documents_give_the_same_bytes(threads, block):
    rng = random.Random(11)
    words = [f"w{i}" for i in range(300)]
    originals = [" ".join(rng.choices(words, k=40)) for _ in range(400)]
    documents = originals + [" ".join(rng.sample(o.split(), 39)) if i % 3 else o[:-2] for i, o in enumerate(originals)]
    documents += originals[:200]
    expected = neardup.find(documents, threshold=0.7, shingle="char:5", threads=1)
    result = neardup.find(documents, threshold=0.7, shingle="char:5", threads=threads, block=block)
    assert expected.pairs.num_rows > 300
    assert as_bytes(result.pairs) == as_bytes(expected.pairs)
    assert as_bytes(result.clusters) == as_bytes(expected.clusters)
    assert isinstance(result.pairs, pa.Table)
