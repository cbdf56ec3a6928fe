"""Questions to an index, and its answers as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.index.specs import TEXTS

import neardup
from neardup import (
    Index,
    IndexNotFound,
    InputError,
    SpecMismatch,
)


def test_the_example_of_the_issue(tmp_path: Path) -> None:
    path = tmp_path / "papers"
    with Index.create(path, threshold=0.7, recall=0.99, shingle="char:4", normalize="nfc") as index:
        assert index.add(["a", "b"], ["one text and its near copy", "something else altogether"]).added == 2
    with Index.open(path, read_only=True) as index:
        hits = index.query("one text and its near copy!", top=3)
        assert [(hit.id, hit.similarity) for hit in hits] == [
            ("a", neardup.jaccard("one text and its near copy", "one text and its near copy!", "char:4"))
        ]


def test_hits_are_best_first_and_equals_in_order_of_addition(index: Any) -> None:
    index.add(["copy", "first copy"], [TEXTS["rose"], TEXTS["rose"]])
    hits = index.query(TEXTS["rose"], top=None)
    assert [hit.id for hit in hits] == ["rose", "copy", "first copy", "rose too"]
    assert [hit.similarity for hit in hits[:3]] == [1.0] * 3
    assert hits[3].similarity == neardup.jaccard(TEXTS["rose"], TEXTS["rose too"], "char:4")
    assert [hit.id for hit in index.query(TEXTS["rose"], top=2)] == ["rose", "copy"]
    assert [hit.id for hit in index.query(TEXTS["rose"], threshold=0.95)] == ["rose", "copy", "first copy"]
    expected = {"id": "rose", "similarity": 1.0, "bands": index.spec.bands.bands}
    assert hits[0].as_dict() == expected


def test_several_texts_give_several_lists(index: Any) -> None:
    texts = ["", TEXTS["tulip"], "nothing like it", TEXTS[17]]
    for asked in (texts, tuple(texts)):
        assert [[hit.id for hit in hits] for hits in index.query(asked)] == [[], ["tulip"], [], [17]]
    assert index.query("") == []


def test_ten_is_the_default_of_top(index: Any) -> None:
    index.add([f"c{i}" for i in range(20)], ["the very same text"] * 20)
    assert [hit.id for hit in index.query("the very same text")] == [f"c{i}" for i in range(10)]
    assert len(index.query("the very same text", top=None)) == 20
    assert len(index.query("the very same text", exact=False)) == 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": 0.69}, "0.69.*0.7"),
        ({"threshold": 0}, "threshold"),
        ({"threshold": 1.1}, "threshold"),
        ({"threshold": "high"}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"top": -1}, "top"),
        ({"top": 0}, "top"),
        ({"top": 1.5}, "top"),
        ({"top": "all"}, "top"),
        ({"top": True}, "top"),
        ({"exact": False, "threshold": 0.9}, "exact|threshold"),
    ],
)
def test_questions_that_cannot_be_answered_are_refused(index: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        index.query("a text", **options)


@pytest.mark.parametrize("text", [5, None, b"bytes", ["fine", 5], ["fine", ["nested"]], "\ud800", ["a", "\udfff"]])
def test_what_is_no_text_cannot_be_asked(index: Any, text: Any) -> None:
    with pytest.raises(InputError):
        index.query(text)


def test_copies_by_normalisation_are_copies() -> None:
    with Index.create(normalize="nfkc,casefold,space", shingle="char:3") as index:
        index.add(["a", "b"], ["The  ﬁne STRASSE", "the fine straße"])
        assert [(hit.id, hit.similarity) for hit in index.query("THE FINE\tstrasse")] == [("a", 1.0), ("b", 1.0)]
        assert index.get("a").text == "The  ﬁne STRASSE"


def test_sets_of_items() -> None:
    with Index.create(shingle="item", threshold=0.5) as index:
        index.add(["list", "set", "text"], [["a", 1, "x y"], {"a", "1"}, "a 1 b"])
        hits = index.query([["1", "a"]], top=None)[0]
        assert [(hit.id, hit.similarity) for hit in hits] == [("set", 1.0), ("list", 2 / 3), ("text", 2 / 3)]
        assert index.query("1 a")[0].id == "set"
        for bad in ([["a", 1.5]], [5], [["a", None]], [["a", ["b"]]]):
            with pytest.raises(InputError):
                index.add(["bad"], bad)
        assert index.pairs().num_rows == len(
            neardup.find([["a", 1, "x y"], ["a", "1"], ["a", "1", "b"]], threshold=0.5, shingle="item").pairs
        )


def test_pairs_and_clusters_are_those_of_find(index: Any) -> None:
    documents = [(str(id), text) for id, text in TEXTS.items()]
    expected = neardup.find(documents, threshold=0.7, shingle="char:4")
    found = index.find()
    assert found.pairs.to_pylist() == expected.pairs.to_pylist()
    assert found.clusters.to_pylist() == expected.clusters.to_pylist()
    assert index.pairs().equals(found.pairs)
    assert index.clusters(link="connected").num_rows == 2
    with pytest.raises(InputError, match="link"):
        index.find(link="chain")


def test_compacting_changes_no_answer(index: Any) -> None:
    index.add([f"c{i}" for i in range(50)], [f"text number {i} of fifty" for i in range(50)])
    index.remove([f"c{i}" for i in range(0, 50, 2)])
    before = index.query([f"text number {i} of fifty" for i in range(50)], top=None)
    index.compact()
    assert index.query([f"text number {i} of fifty" for i in range(50)], top=None) == before
    assert index.info().removed == 0
    index.compact()
    assert len(index) == 29


def test_merging(index: Any, tmp_path: Path) -> None:
    other_path = tmp_path / "other"
    with Index.create(other_path, threshold=0.7, shingle="char:4") as other:
        other.add(["o", "tulip"], ["a text of the other", "another tulip"])
        with pytest.raises(InputError, match="tulip"):
            index.merge(other)
        assert "o" not in index
        assert index.merge(other, on_duplicate="skip").as_dict()["skipped"] == 1
        assert index.get("tulip").text == TEXTS["tulip"]
    assert index.merge(other_path, on_duplicate="replace").replaced == 2
    assert index.get("tulip").text == "another tulip"
    assert index.query("another tulip")[0].id == "tulip"
    with pytest.raises(InputError):
        index.merge(index)
    with pytest.raises(IndexNotFound):
        index.merge(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"threshold": 0.8}, "threshold"),
        ({"shingle": "char:5"}, "shingle"),
        ({"normalize": "nfkc"}, "normalize"),
        ({"seed": 2}, "seed"),
        ({"bands": "16x4"}, "bands"),
    ],
)
def test_indexes_of_different_specs_do_not_merge(index: Any, options: dict[str, Any], word: str) -> None:
    with Index.create(None, **{"threshold": 0.7, "shingle": "char:4", **options}) as other:
        other.add("o", "text")
        with pytest.raises(SpecMismatch, match=word):
            index.merge(other)
    assert "o" not in index


def test_info_tells_what_it_is(index: Any) -> None:
    info = index.info()
    assert (info.documents, info.threshold, info.shingle, info.normalize) == (4, 0.7, "char:4", "nfc")
    assert info.spec_id == index.spec.id == info.spec["id"]
    assert info.recall == index.spec.recall >= 0.99
    assert info.created_by == neardup.__version__
    assert info.format >= 1
    assert json.loads(json.dumps(info.as_dict())) == info.as_dict()
    if index.path is not None:
        assert info.bytes["index.sqlite"] > 0
        sizes = {
            str(file.relative_to(index.path)): file.stat().st_size for file in index.path.rglob("*") if file.is_file()
        }
        assert {name: info.bytes[name] for name in info.bytes if name in sizes} == {
            name: sizes[name] for name in info.bytes if name in sizes
        }
        assert sum(info.bytes.values()) == info.total_bytes
    generation = info.generation
    index.add("x", "text")
    assert index.info().generation > generation
