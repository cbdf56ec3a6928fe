"""Text that repeats in one document, and that the other side lacks, hides no pair of a join between two sides.

The oracle is Python sets of strings. Each test asks in both directions, by similarity and by containment.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import neardup

RUNS = ("-", " \n", "| - ", "0", ". ", "ha ")
THRESHOLDS = (0.3, 0.6, 0.8, 0.95, 1.0)
MEASURES = ("jaccard", "containment")
Pairs = dict[tuple[str, str], float]


def shared(a: set[Any], b: set[Any], measure: str) -> float:
    whole = len(a | b) if measure == "jaccard" else min(len(a), len(b))
    return len(a & b) / whole if whole else 0.0


def true_pairs(ours: dict[str, set[Any]], theirs: dict[str, set[Any]], threshold: float, measure: str) -> Pairs:
    every = {(i, j): shared(a, b, measure) for i, a in ours.items() for j, b in theirs.items()}
    return {pair: share for pair, share in every.items() if share >= threshold}


def found_pairs(ours: dict[str, Any], theirs: dict[str, Any], **options: Any) -> Pairs:
    table = neardup.find(list(ours.items()), against=list(theirs.items()), normalize="none", threads=1, **options).pairs
    columns = (table[name].to_pylist() for name in ("id_a", "id_b", "similarity"))
    return {(a, b): share for a, b, share in zip(*columns, strict=True)}


def random_text(draw: random.Random) -> str:
    return " ".join(
        draw.choice("abcdefgh") * draw.randint(1, 3) + draw.choice("xyz") for _ in range(draw.randint(1, 30))
    )


def edited(draw: random.Random, original: str) -> str:
    """Part of a text, perhaps with a run put in once or twice."""
    first = draw.choice((0, 0, draw.randrange(len(original))))
    text = original[first : draw.choice((None, None, first + draw.randint(1, 60)))]
    for _ in range(draw.choice((0, 1, 2))):
        at = draw.randint(0, len(text))
        text = text[:at] + draw.choice(RUNS) * draw.choice((3, 40, 300)) + text[at:]
    return text


def collections(draw: random.Random) -> tuple[dict[str, str], dict[str, str]]:
    """Two sides of some texts each, of which many are edits of the same originals; some runs are on one side only."""
    originals = [random_text(draw) for _ in range(4)]
    sides = []
    for side in "ab":
        texts = [
            draw.choice(originals) if draw.random() < 0.4 else edited(draw, draw.choice(originals)) for _ in "12345678"
        ]
        sides.append({f"{side}{i}": text for i, text in enumerate(texts)})
    return sides[0], sides[1]


def shingles(text: str, size: int) -> set[str]:
    return {text[i : i + size] for i in range(max(1, len(text) - size + 1))}


@pytest.mark.parametrize("seed", range(12))
def test_runs_of_one_side_hide_no_pair_of_texts(seed: int) -> None:
    draw = random.Random(seed)
    ours, theirs = collections(draw)
    size, threshold = draw.choice((2, 5, 9)), draw.choice(THRESHOLDS)
    sets = [{id: shingles(text, size) for id, text in side.items()} for side in (ours, theirs)]
    for measure in MEASURES:
        options = {"shingle": f"char:{size}", "threshold": threshold, "measure": measure}
        assert found_pairs(ours, theirs, **options) == true_pairs(*sets, threshold, measure)
        assert found_pairs(theirs, ours, **options) == true_pairs(*reversed(sets), threshold, measure)


@pytest.mark.parametrize("seed", range(6))
def test_items_that_repeat_on_one_side_hide_no_pair_of_sets(seed: int) -> None:
    draw = random.Random(seed)

    def side(name: str) -> dict[str, list[str]]:
        rows = [draw.sample("abcdefghijkl", draw.randint(1, 8)) for _ in range(12)]
        return {f"{name}{i}": row + [name] * draw.choice((0, 0, 5, 90)) for i, row in enumerate(rows)}

    ours, theirs, threshold = side("A"), side("B"), draw.choice(THRESHOLDS)
    sets = [{id: set(row) for id, row in rows.items()} for rows in (ours, theirs)]
    for measure in MEASURES:
        options = {"shingle": "item", "threshold": threshold, "measure": measure}
        assert found_pairs(ours, theirs, **options) == true_pairs(*sets, threshold, measure)


@pytest.mark.parametrize("seed", range(6))
def test_runs_in_a_query_of_an_index_hide_no_document_that_contains_it(seed: int) -> None:
    draw = random.Random(100 + seed)
    stored, asked = collections(draw)
    size, threshold = draw.choice((2, 5, 9)), draw.choice(THRESHOLDS)
    sets = [{id: shingles(text, size) for id, text in side.items()} for side in (asked, stored)]
    with neardup.Index.create(shingle=f"char:{size}", normalize="none") as index:
        index.add(list(stored), list(stored.values()))
        answers = index.query(list(asked.values()), measure="containment", threshold=threshold, top=None)
    found = {(id, hit.id): hit.similarity for id, hits in zip(asked, answers, strict=True) for hit in hits}
    assert found == true_pairs(*sets, threshold, "containment")


def test_a_text_of_which_nearly_all_is_a_run_is_found_at_the_edge_of_the_threshold() -> None:
    """char:2 of "abcdefghi" is 8 shingles; a run of "z" makes "iz" and "zz" of it, however long: 8 of 10."""
    for length in (1, 2, 3, 300, 70_000):
        ours, theirs = {"a": "abcdefghi" + "z" * length}, {"b": "abcdefghi"}
        expected = {("a", "b"): 8 / 9 if length == 1 else 0.8}
        assert found_pairs(ours, theirs, shingle="char:2", threshold=0.8) == expected
        assert found_pairs(ours, theirs, shingle="char:2", threshold=0.89) == {}
