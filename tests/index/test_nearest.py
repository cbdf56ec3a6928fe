"""The documents most like a text, below the threshold too: as holding it against each, or a part of that."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.specs import TEXTS

from neardup import Index, InputError

SETS = st.lists(st.frozensets(st.integers(0, 15), max_size=9), max_size=14)


def expected(query: frozenset[int], documents: list[frozenset[int]], threshold: float) -> list[tuple[int, float]]:
    """Place and similarity of the documents that share something, in the order of an answer."""
    found = []
    for place, other in enumerate(documents):
        common, whole = len(query & other), len(query | other)
        if common and common / whole >= threshold:
            found.append((place, common / whole))
    return sorted(found, key=lambda hit: (-hit[1], hit[0]))


@settings(max_examples=25)
@given(SETS, SETS, st.sampled_from([0.0, 0.2, 1.0]), st.sampled_from([None, 2]))
def test_an_exhaustive_answer_is_comparing_with_each_document(
    documents: Any, queries: Any, threshold: float, top: Any
) -> None:
    how = {"threshold": threshold, "top": top}
    with Index.create(None, threshold=0.8, shingle="item") as index:
        index.add([*range(len(documents)), "gone"], [*(sorted(row) for row in documents), [0, 1]])
        index.remove(["gone"])
        asked = [sorted(row) for row in queries]
        answers = index.nearest(asked, exhaustive=True, **how)
        found = index.nearest(asked, **how)
        agreeing = [{hit.id: hit.bands for hit in hits} for hits in index.query(asked, exact=False, top=None)]
    assert [[(hit.id, hit.similarity) for hit in hits] for hits in answers] == [
        expected(query, documents, threshold)[:top] for query in queries
    ]
    assert [[hit.bands for hit in hits] for hits in answers] == [
        [bands.get(hit.id, 0) for hit in hits] for hits, bands in zip(answers, agreeing, strict=True)
    ]
    # by bands: exactly the candidates, with the same similarities
    assert [[(hit.id, hit.similarity) for hit in hits] for hits in found] == [
        [hit for hit in expected(query, documents, threshold) if hit[0] in bands][:top]
        for query, bands in zip(queries, agreeing, strict=True)
    ]


def test_what_lies_below_the_threshold_is_told(index: Any) -> None:
    text = "a rose is a rose, and a tulip is none"
    assert index.query(text) == []
    hits = index.nearest(text, exhaustive=True)
    assert [hit.id for hit in hits[:2]] == ["rose", "rose too"]
    assert all(0 < hit.similarity < index.spec.threshold for hit in hits)
    assert index.nearest("", exhaustive=True) == []
    assert index.nearest([], exhaustive=True) == []
    assert index.nearest(TEXTS["rose"], top=1)[0].similarity == 1.0


@pytest.mark.parametrize(("options", "words"), [({"threshold": 1.5}, "0 to 1"), ({"top": 0}, "top is 0")])
def test_values_out_of_range_are_named(index: Any, options: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        index.nearest("text", **options)


def test_what_an_observer_raises_ends_a_reading_of_all_texts(index: Any) -> None:
    class Stopping:
        def stage(self, name: str, total: int | None, unit: str) -> None: ...

        def note(self, message: str) -> None: ...

        def advance(self, amount: int) -> None:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        index.nearest("text", exhaustive=True, observer=Stopping())
    with pytest.raises(TimeoutError):
        index.query("text", measure="containment", observer=Stopping())
    assert [hit.id for hit in index.query(TEXTS["tulip"])] == ["tulip"]
