"""Precision 1 and recall >= 0.99 against an exact join, on every collection of ../shared/data; our own exact join has
all pairs.

A run is one collection, one shingle and one threshold. Its pairs must all be true with exactly the oracle's
similarity; where it has at least 100 true pairs outside crowds, at least 99 % of them must be found. A pair
lies inside a crowd when both its members are listed with the same leader of ``result.crowds``: there the
promise is one verified pair a member. The oracle (``tests/oracles/join.py``) is exact, shares no code with
neardup, and is itself tested against pairs that another program found.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from tests.oracles import join, shared
from tests.oracles.join import Found

import neardup

THRESHOLDS = [0.5, 0.7, 0.8, 0.9]
EXACT_THRESHOLDS = [0.5, 0.8]
SHINGLES = ["char:5", "char:9", "word:3"]
RECALL = 0.99
ENOUGH = 100

pytestmark = pytest.mark.shared_data


def as_rows(pairs: pa.Table, row_of: dict[str, int] | None) -> Found:
    """The pairs of a result with ids as rows, in the order of the oracle."""

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
    """For each true pair: are both its members listed with one leader?"""
    inside = np.zeros(len(true), dtype=bool)
    for leader in leaders:
        member = np.zeros(number, dtype=bool)
        member[leader] = True
        member[found.right[found.left == leader]] = True
        member[found.left[found.right == leader]] = True
        inside |= member[true.left] & member[true.right]
    return inside


def check_exact(true: Found, result: neardup.Result, row_of: dict[str, int] | None, name: str) -> None:
    """All pairs are there, and no other; nothing is listed as a star."""
    found = as_rows(result.pairs, row_of)
    assert np.array_equal(found.left, true.left), f"{name}: {len(found)} pairs, {len(true)} are true"
    assert np.array_equal(found.right, true.right), name
    assert np.array_equal(found.similarity, true.similarity), f"{name}: a similarity is not exact"
    assert result.summary.recall == 1.0
    assert len(result.crowds) == 0


def check_run(true: Found, result: neardup.Result, number: int, row_of: dict[str, int] | None, name: str) -> None:
    """The two promises, for one run."""
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


@pytest.mark.parametrize("shingle", SHINGLES)
@pytest.mark.parametrize("name", sorted(shared.TEXTS))
def test_precision_is_one_and_recall_as_promised_on_texts(shared_data: Path, name: str, shingle: str):
    ids, texts = shared.documents(shared_data, name)
    row_of = {value: i for i, value in enumerate(ids)}
    assert len(row_of) == len(ids)
    true = join.all_pairs(join.sets_of_texts(texts, shingle), min(THRESHOLDS))
    for threshold in THRESHOLDS:
        result = neardup.find(shared_data / shared.TEXTS[name], threshold=threshold, shingle=shingle)
        assert result.summary.documents == len(ids)
        check_run(true.at_least(threshold), result, len(ids), row_of, f"{name} {shingle} t={threshold}")
    for threshold in EXACT_THRESHOLDS:
        result = neardup.find(shared_data / shared.TEXTS[name], exact=True, threshold=threshold, shingle=shingle)
        check_exact(true.at_least(threshold), result, row_of, f"exact {name} {shingle} t={threshold}")


@pytest.mark.parametrize("name", ["foodmart", "mushroom", pytest.param("retail", marks=pytest.mark.soak)])
def test_precision_is_one_and_recall_as_promised_on_baskets(shared_data: Path, name: str):
    rows = shared.baskets(shared_data, name)
    table = pa.table({"id": np.arange(len(rows)), "text": pa.array([sorted(row) for row in rows])})
    true = join.all_pairs(join.sets_of_items(rows), min(THRESHOLDS))
    for threshold in THRESHOLDS:
        result = neardup.find(table, threshold=threshold, shingle="item")
        check_run(true.at_least(threshold), result, len(rows), None, f"{name} item t={threshold}")
    for threshold in EXACT_THRESHOLDS:
        result = neardup.find(table, exact=True, threshold=threshold, shingle="item", crowd=len(rows))
        check_exact(true.at_least(threshold), result, None, f"exact {name} item t={threshold}")


@pytest.mark.parametrize("normalize", ["none", "nfkc,casefold,space", "nfc,casefold,punct,strip"])
@pytest.mark.parametrize("name", ["arxiv_revisions", "thai_messages", "udhr"])
def test_precision_is_one_and_recall_as_promised_with_other_normalisations(
    shared_data: Path, name: str, normalize: str
):
    _ids, texts = shared.documents(shared_data, name)
    texts = texts[:100] if name == "udhr" else texts[:1500]
    true = join.all_pairs(join.sets_of_texts(texts, "char:7", normalize), 0.5)
    result = neardup.find(texts, threshold=0.5, shingle="char:7", normalize=normalize)
    check_run(true, result, len(texts), None, f"{name} {normalize}")


@pytest.mark.parametrize("sketch", ["independent", "one-permutation", "permutation", "universal"])
def test_the_classical_sketches_keep_both_promises_on_real_text(shared_data: Path, sketch: str):
    ids, texts = shared.documents(shared_data, "cora")
    true = join.all_pairs(join.sets_of_texts(texts, "char:5"), 0.7)
    result = neardup.find(texts, threshold=0.7, shingle="char:5", sketch=sketch)
    assert len(true) > 9000
    check_run(true, result, len(ids), None, f"cora {sketch}")
