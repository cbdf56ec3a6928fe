"""Precision is 1 and recall is what was promised, next to an exact join, on real collections.

A run is one collection, one shingle and one threshold. All its pairs must be true, with exactly the similarity of the
oracle; if at least 100 true pairs are outside crowds, at least 99 % of these must be found. A pair is inside a crowd if
both its documents are listed with the same leader of ``result.crowds``: there, neardup promises one verified pair for
each document. The oracle (``tests/oracles/join.py``) is exact, shares no code with neardup, and is itself compared with
pairs that another program found. Its answers are kept (``truth.py``): a test compares the exact join with their digest,
and the approximate runs with the exact join. The oracle itself runs again for two collections, and for all of them with
``pytest -m soak``.

Four collections are in the repository, so nobody has to take the promises on trust. The larger ones of ../shared/data
are tested too if they are there.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from tests.oracles import shared
from tests.oracles.join import Found
from tests.recall.truth import FILE, NORMALISATIONS, NORMALISED, SETS, SHINGLES, Case, cases, summary

import neardup

THRESHOLDS = [0.5, 0.7, 0.8, 0.9]
RECALL = 0.99
ENOUGH = 100


def as_rows(pairs: pa.Table, row_of: dict[str, int] | None) -> Found:
    """Return the pairs of a result with rows in place of ids, in the order of the oracle."""

    def rows(name: str) -> NDArray[np.int64]:
        column = pairs[name]
        if row_of is None:
            return column.to_numpy()
        return np.array([row_of[value] for value in column.to_pylist()], dtype=np.int64)

    a, b = rows("id_a"), rows("id_b")
    low, high = np.minimum(a, b), np.maximum(a, b)
    by = np.lexsort((high, low))
    return Found(low[by], high[by], pairs["similarity"].to_numpy()[by])


def inside_crowds(leaders: NDArray[np.int64], found: Found, true: Found, number: int) -> NDArray[np.bool_]:
    """Return whether both documents of each true pair are listed with one leader."""
    inside = np.zeros(len(true), dtype=bool)
    for leader in leaders:
        member = np.zeros(number, dtype=bool)
        member[leader] = True
        member[found.right[found.left == leader]] = True
        member[found.left[found.right == leader]] = True
        inside |= member[true.left] & member[true.right]
    return inside


def exactly(case: Case, result: neardup.Result, row_of: dict[str, int] | None) -> Found:
    """Return the pairs of our exact join, after comparing their digest with that of the true pairs."""
    found = as_rows(result.pairs, row_of)
    assert summary(found) == case.known, f"{case.key}: the exact join and the oracle differ; `pytest -m soak` says how"
    assert result.summary.recall == 1.0
    assert len(result.crowds) == 0
    return found


def check_exact(true: Found, result: neardup.Result, row_of: dict[str, int] | None, name: str) -> None:
    """Check that exactly the true pairs were found, and that no crowd is listed as a star."""
    found = as_rows(result.pairs, row_of)
    assert np.array_equal(found.left, true.left), f"{name}: {len(found)} pairs, {len(true)} are true"
    assert np.array_equal(found.right, true.right), name
    assert np.array_equal(found.similarity, true.similarity), f"{name}: a similarity is not exact"
    assert result.summary.recall == 1.0
    assert len(result.crowds) == 0


def check_run(true: Found, result: neardup.Result, number: int, row_of: dict[str, int] | None, name: str) -> None:
    """Check both promises for one run."""
    found = as_rows(result.pairs, row_of)
    key, true_key = found.left * number + found.right, true.left * number + true.right
    assert np.all(np.diff(key) > 0), f"{name}: a pair is listed twice"
    at = np.searchsorted(true_key, key)
    at[at == true_key.size] = 0
    false = key if true_key.size == 0 else key[true_key[at] != key]
    assert false.size == 0, (
        f"{name}: {false.size} of {len(found)} pairs are false, the first {divmod(int(false[0]), number)}"
    )
    assert np.array_equal(true.similarity[at], found.similarity), f"{name}: a similarity is not exact"
    leaders = result.crowds["leader"].to_pylist()
    crowds = np.array([row_of[i] if row_of else i for i in leaders], dtype=np.int64)
    outside = ~inside_crowds(crowds, found, true, number)
    hit = np.zeros(true_key.size, dtype=bool)
    hit[at] = len(found) > 0
    total = int(outside.sum())
    share = float(hit[outside].mean()) if total else 1.0
    assert total < ENOUGH or share >= RECALL, f"{name}: recall {share:.4f} of {total} pairs, promised {RECALL}"


LONG = {
    "arxiv_10k": ["char:5", "char:9"],
    "arxiv_revisions": ["char:9"],
    "bible_nt": ["char:9"],
    "newsgroups": ["char:9"],
}
"""Runs that take seconds; only soak runs them, because shorter runs over the same texts remain."""
RUNS = [
    pytest.param(name, shingle, marks=[pytest.mark.soak] if shingle in LONG.get(name, ()) else [])
    for name in shared.at_hand(*shared.SHIPPED, *sorted(shared.TEXTS))
    for shingle in SHINGLES
]


@pytest.mark.parametrize(("name", "shingle"), RUNS)
def test_precision_is_one_and_recall_as_promised_on_texts(name: str, shingle: str):
    case, source = Case(name, shingle), shared.path_of(name)
    ids, _ = case.texts()
    row_of = {value: i for i, value in enumerate(ids)}
    assert len(row_of) == len(ids)
    true = exactly(case, neardup.find(source, exact=True, threshold=case.threshold, shingle=shingle), row_of)
    for threshold in THRESHOLDS:
        result = neardup.find(source, threshold=threshold, shingle=shingle)
        assert result.summary.documents == len(ids)
        check_run(true.at_least(threshold), result, len(ids), row_of, f"{name} {shingle} t={threshold}")
    result = neardup.find(source, exact=True, threshold=0.8, shingle=shingle)
    check_exact(true.at_least(0.8), result, row_of, f"exact {name} {shingle} t=0.8")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.soak] if name == "retail" else [])
        for name in shared.at_hand("revisions", "foodmart", "mushroom", "retail")
    ],
)
def test_precision_is_one_and_recall_as_promised_on_sets(name: str):
    case = Case(name, "item", SETS[name])
    rows = case.sets()
    table = pa.table({"id": np.arange(len(rows)), "text": pa.array([sorted(row) for row in rows])})
    exact = neardup.find(table, exact=True, threshold=case.threshold, shingle="item", crowd=len(rows))
    true = exactly(case, exact, None)
    for threshold in (t for t in THRESHOLDS if t >= case.threshold):
        result = neardup.find(table, threshold=threshold, shingle="item")
        check_run(true.at_least(threshold), result, len(rows), None, f"{name} item t={threshold}")


@pytest.mark.parametrize("normalize", NORMALISATIONS)
@pytest.mark.parametrize("name", shared.at_hand(*NORMALISED))
def test_precision_is_one_and_recall_as_promised_with_other_normalisations(name: str, normalize: str):
    case = Case(name, "char:7", normalize=normalize)
    _, texts = case.texts()
    how = {"threshold": case.threshold, "shingle": case.shingle, "normalize": normalize}
    true = exactly(case, neardup.find(texts, exact=True, **how), None)
    check_run(true, neardup.find(texts, **how), len(texts), None, case.key)


def test_the_classical_sketches_keep_both_promises_on_real_text():
    case = Case("chapters", "char:5")
    _, texts = case.texts()
    true = exactly(case, neardup.find(texts, exact=True, threshold=case.threshold, shingle=case.shingle), None)
    true = true.at_least(0.7)
    assert len(true) >= ENOUGH
    for sketch in ("independent", "one-permutation", "permutation", "universal"):
        result = neardup.find(texts, threshold=0.7, shingle=case.shingle, sketch=sketch)
        check_run(true, result, len(texts), None, f"chapters {sketch}")


ASKED_AGAIN = (Case("chapters", "word:3"), Case("newsgroups", "word:3"))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.key, marks=[] if case in ASKED_AGAIN else pytest.mark.soak)
        for case in cases()
        if shared.at_hand(case.name)
    ],
)
def test_the_kept_answers_are_those_of_the_oracle(case: Case):
    assert summary(case.oracle()) == case.known


def test_nothing_is_kept_that_no_test_reads():
    assert json.loads(FILE.read_text(encoding="utf-8")).keys() == {case.key for case in cases()}
