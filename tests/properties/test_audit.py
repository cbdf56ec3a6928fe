"""An audit tells the truth about its sample, for any texts, threads, memory and order of the input."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import pairs, text
from tests.properties.strategies import SHINGLES, THRESHOLDS, collections

from neardup import tuning
from neardup.engine.observe import Silent
from neardup.engine.reading.draw import draw
from neardup.inputs.reader import open_inputs
from neardup.params import RunOptions
from neardup.session import Run
from neardup.stages import partners
from neardup.tasks.audit import exact_partners
from neardup.tasks.audit.public import audit

EXAMPLES = settings(max_examples=40)
ORDERS = settings(max_examples=15)


def truth_of(documents, spec, *, drawn: int, seed: int, threads: int = 1, block: int | None = None):
    """The true pairs of a sample as {(row, row): similarity}, and the rows of the sample."""
    with Run(open_inputs(documents, block=block), spec, RunOptions(threads=threads)) as run:
        search = run.search()
        rows = draw(search.collection, search.weight, documents=drawn, seed=seed)
        found = exact_partners.find_exact_partners(
            search.collection, search.weight, search.crowd, rows, threads=threads, observer=Silent()
        ).pairs
    left, right, similarity = found.left.tolist(), found.right.tolist(), found.similarity.tolist()
    return dict(zip(zip(left, right, strict=True), similarity, strict=True)), set(rows.tolist())


@EXAMPLES
@given(collections(), SHINGLES, THRESHOLDS, st.integers(1, 12), st.integers(0, 5))
def test_the_truth_is_every_pair_of_distinct_texts_that_touches_the_sample(documents, shingle, threshold, drawn, seed):
    spec = tuning.make_spec(threshold=threshold, shingle=shingle)
    sets = text.collection([body for _, body in documents], shingle)
    bodies = [body for _, body in documents]
    found, sample = truth_of(bodies, spec, drawn=drawn, seed=seed)
    normal = [text.normalise(body, "nfc") for body in bodies]
    first = {body: i for i, body in reversed(list(enumerate(normal)))}
    distinct = {i for body, i in first.items() if sets[i]}
    assert sample <= distinct
    assert len(sample) == min(drawn, len(distinct))
    expected = {
        (i, j): s for (i, j), s in pairs.naive_pairs(sets, threshold).items() if {i, j} <= distinct and {i, j} & sample
    }
    assert found == expected


@ORDERS
@given(collections(), THRESHOLDS, st.randoms(use_true_random=False))
def test_an_audit_does_not_depend_on_order_threads_or_blocks(documents, threshold, rng: random.Random):
    def told(rows, **how):
        done = audit(dict(rows), threshold=threshold, shingle="char:3", documents=7, sample_seed=3, **how)
        plain = done.as_dict()
        missed = {frozenset((row["id_a"], row["id_b"])) for row in done.missed.to_pylist()}
        return {name: value for name, value in plain.items() if name not in ("seconds", "candidates")}, missed

    documents = list({body: (name, body) for name, body in documents}.values())
    shuffled = list(documents)
    rng.shuffle(shuffled)
    assert told(documents, threads=1) == told(shuffled, threads=2, block=2)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=40), st.integers(0, 3))
def test_samples_of_one_seed_lie_inside_each_other(lengths, seed):
    spec = tuning.make_spec(shingle="char:2")
    documents = ["ab" * n + chr(0x3041 + n) for n in lengths]
    samples = []
    with Run(open_inputs(documents), spec, RunOptions(threads=1)) as run:
        search = run.search()
        for drawn in range(1, len(documents) + 1):
            rows = draw(search.collection, search.weight, documents=drawn, seed=seed)
            assert np.all(np.diff(rows) > 0)
            samples.append(set(rows.tolist()))
    assert all(small <= large for small, large in pairwise(samples))


@pytest.mark.parametrize(
    ("pool", "share", "further"), [(0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (1.5, 1.0, 9.0), (9.0, 0.1, 1.0)]
)
def test_which_shingles_are_kept_does_not_change_the_truth(pool, share, further, monkeypatch):
    documents = [f"{i} a line that all share, {i * i % 97} and {i // 2 % 31} more of it" for i in range(150)]
    spec = tuning.make_spec(threshold=0.7, shingle="char:3")
    whole, sample = truth_of(documents, spec, drawn=50, seed=1)
    monkeypatch.setattr(partners, "POOL", pool)
    monkeypatch.setattr(partners, "FURTHER_SHARE", share)
    monkeypatch.setattr(partners, "FURTHER", further)
    monkeypatch.setattr(exact_partners, "AT_MOST", 1)
    assert truth_of(documents, spec, drawn=50, seed=1) == (whole, sample)
    assert len(whole) > 100


@pytest.mark.parametrize("parts", ["one pass", "many"])
def test_a_sample_that_is_cut_to_fit_has_the_same_truth(parts, monkeypatch):
    documents = [
        f"the {i} th document of a family of many, each a little unlike the others {i % 7}" for i in range(200)
    ]
    spec = replace(tuning.make_spec(threshold=0.6, shingle="char:4"))
    whole, sample = truth_of(documents, spec, drawn=60, seed=1)
    if parts == "many":
        monkeypatch.setattr(exact_partners, "SHINGLE_BYTES", 1 << 40)
    monkeypatch.setattr(exact_partners, "BLOCK_BYTES", 300)
    monkeypatch.setattr(exact_partners, "pairs_at_once", lambda space: 50)
    cut, again = truth_of(documents, spec, drawn=60, seed=1, threads=3, block=11)
    assert len(whole) > 1000
    assert (cut, again) == (whole, sample)
