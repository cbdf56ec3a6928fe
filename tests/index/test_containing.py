"""The documents of an index that contain a text or are part of it: as comparing with each, and as of one moment."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.containment import side
from tests.oracles.jaccard import reaches

from neardup import Index, InputError

SETS = st.lists(st.frozensets(st.integers(0, 15), max_size=9), max_size=14)
WORDS = {"a": "query", "b": "document", "both": "both"}


def expected(query: frozenset[int], documents: list[frozenset[int]], threshold: float) -> list[tuple[int, float, str]]:
    """Place, containment and side of the documents of an answer, in its order."""
    found = []
    for place, other in enumerate(documents):
        smaller = min(len(query), len(other))
        if reaches(len(query & other), smaller, threshold):
            found.append((place, len(query & other) / smaller, WORDS[side(len(query), len(other))]))
    return sorted(found, key=lambda hit: (-hit[1], hit[0]))


@settings(max_examples=25)
@given(SETS, SETS, st.sampled_from([0.2, 0.5, 0.7, 2 / 3, 1.0]), st.sampled_from([None, 2]))
def test_an_answer_is_comparing_with_each_document(documents: Any, queries: Any, threshold: float, top: Any) -> None:
    with Index.create(None, threshold=0.8, shingle="item") as index:
        index.add(list(range(len(documents))), [sorted(row) for row in documents])
        answers = index.query([sorted(row) for row in queries], measure="containment", threshold=threshold, top=top)
    told = [[(hit.id, hit.similarity, hit.contained) for hit in hits] for hits in answers]
    assert told == [expected(query, documents, threshold)[:top] for query in queries]


def test_documents_that_went_and_came_are_as_of_now(index: Any) -> None:
    index.add(["long", 5], ["a text that contains the words a rose is a rose, and more", "tulip"])
    index.add(["gone"], ["a text that contains the words a rose is a rose, too"])
    index.remove(["gone"])
    hits = index.query("the words a rose is", measure="containment", threshold=1.0)
    assert [(hit.id, hit.similarity, hit.contained) for hit in hits] == [("long", 1.0, "query")]
    assert hits[0].as_dict() == {"id": "long", "similarity": 1.0, "contained": "query"}
    assert [hit.id for hit in index.query("here is a tulip now", measure="containment", threshold=1.0)] == [5]
    assert index.query("", measure="containment") == []
    assert index.query([], measure="containment") == []


@pytest.mark.slow
def test_copies_of_copies_are_all_listed() -> None:
    """More pairs than a crowd of a run may have."""
    texts = ["one and the same text, many times"] * 1010
    with Index.create(None) as index:
        index.add([f"copy {i}" for i in range(1010)], texts)
        assert len(index.query("one and the same text", measure="containment", top=None)) == 1010
        answers = index.query(texts, measure="containment", top=None)
    assert {len(hits) for hits in answers} == {1010}


def test_wrong_arguments(index: Any) -> None:
    with pytest.raises(InputError, match="Did you mean 'containment'"):
        index.query("a", measure="containmnt")
    with pytest.raises(InputError, match="always exact"):
        index.query("a", measure="containment", exact=False)
    with pytest.raises(InputError, match=r"threshold is 0\.1"):
        index.query("a", threshold=0.1)


def test_an_answer_beside_changes_is_of_one_moment(tmp_path: Path) -> None:
    """Two documents come and go together: an answer has both or none."""
    path = tmp_path / "index"
    with Index.create(path, shingle="char:4") as index:
        index.add(["stays"], ["what stays is the word of the day"])
    stop = threading.Event()

    def change() -> None:
        with Index.open(path) as index:
            while not stop.is_set():
                index.add(["one", "two"], ["first: the word of the day", "second: the word of the day"])
                index.remove(["one", "two"])

    changing = threading.Thread(target=change)
    changing.start()
    try:
        seen = set()
        with Index.open(path, read_only=True) as index:
            for _ in range(25):
                hits = index.query("the word of the day", measure="containment", threshold=1.0)
                seen.add(tuple(sorted(hit.id for hit in hits)))
    finally:
        stop.set()
        changing.join()
    assert seen <= {("stays",), ("one", "stays", "two")}
