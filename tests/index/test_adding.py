"""What an index takes in, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.index.specs import TEXTS

import neardup
from neardup import (
    InputError,
)


def test_adding_counts_what_it_did(index: Any) -> None:
    told = index.add(["e", "s", "n"], ["", "abc", "a new text"])
    assert told.as_dict() == {
        "added": 3, "replaced": 0, "skipped": 0, "empty": 1, "short": 1, "bad": 0, "blank": 0,
        "faults": (), "passed_over": (), "hints": (), "columns": (),
    }  # fmt: skip
    told = index.add(["n", "o"], ["", "another text"], on_duplicate="replace")
    assert (told.added, told.replaced, told.empty) == (1, 1, 1)
    told = index.add(["n", "p"], ["a text", ""], on_duplicate="skip")
    assert (told.added, told.skipped, told.empty) == (1, 1, 1)
    assert index.info().empty == 3


def test_one_id_and_one_text(index: Any) -> None:
    index.add("one", "a single text")
    index.add(5, "another single text")
    assert index.get(5).text == "another single text"
    assert index.get("5").id == 5


def test_a_duplicate_stops_the_whole_batch_and_is_named(index: Any) -> None:
    for ids in (["new", "tulip"], ["new", "other", "new"], ["new", "17"], ["new", 17]):
        with pytest.raises(InputError, match=str(ids[-1])):
            index.add(ids, ["text"] * len(ids))
        assert "new" not in index
        assert len(index) == 4
    with pytest.raises(InputError, match=r"skip.*replace|replace.*skip"):
        index.add("tulip", "text")


def test_the_first_stays_with_skip_and_the_last_wins_with_replace(index: Any) -> None:
    index.add(["x", "x"], ["first", "last"], on_duplicate="skip")
    assert index.get("x").text == "first"
    index.add(["x", "x"], ["third", "fourth"], on_duplicate="replace")
    assert index.get("x").text == "fourth"
    assert index.add_each(["x", "x", "y", "y"], ["5", "6", "7", "8"]) == [
        "duplicate",
        "duplicate",
        "added",
        "duplicate",
    ]
    assert index.add_each(["x", "z", "z"], ["9", "10", "11"], on_duplicate="replace") == [
        "replaced",
        "added",
        "replaced",
    ]
    assert index.add_each(["x", "w"], ["12", "13"], on_duplicate="skip") == ["skipped", "added"]
    assert [index.get(id).text for id in "xyzw"] == ["9", "7", "11", "13"]
    with pytest.raises(InputError, match=r"never.*error, skip, replace"):
        index.add_each(["x"], ["y"], on_duplicate="never")
    with pytest.raises(InputError, match="never"):
        index.add(["x"], ["y"], on_duplicate="never")


def test_a_document_that_is_replaced_is_found_by_its_new_text_alone(index: Any) -> None:
    index.add("rose", "tulips from amsterdam are no roses", on_duplicate="replace")
    assert [hit.id for hit in index.query(TEXTS["rose"])] == ["rose too"]
    assert [hit.id for hit in index.query(TEXTS["tulip"])] == ["tulip", "rose"]
    assert list(index) == ["rose too", "tulip", 17, "rose"]


def test_an_empty_batch_is_nothing(index: Any) -> None:
    before = index.info().generation
    assert index.add([], []).added == 0
    assert index.add_each([], []) == []
    assert index.add_if_new([], []) == []
    assert index.remove([]) == 0
    assert index.query([]) == []
    assert len(index) == 4
    assert index.info().generation == before


@pytest.mark.parametrize(
    ("ids", "texts", "words"),
    [
        (["a", "b"], ["one"], "2.*1"),
        (["a"], [5], "text"),
        (["a"], [None], "text"),
        (["a"], [b"bytes"], "text"),
        (["a", "b"], ["fine", "\ud800"], "surrogate"),
        (["a", "\ud800"], ["one", "two"], "surrogate"),
        (["a", None], ["one", "two"], "id"),
        (["a", 1.5], ["one", "two"], "id"),
        (["a", True], ["one", "two"], "id"),
        (["a", ("b",)], ["one", "two"], "id"),
        (["a", b"b"], ["one", "two"], "id"),
    ],
)
def test_what_is_no_document_is_refused_and_adds_nothing(index: Any, ids: Any, texts: Any, words: str) -> None:
    for add in (index.add, index.add_each, index.add_if_new):
        with pytest.raises(InputError, match=words):
            add(ids, texts)
    assert len(index) == 4
    assert "a" not in index


def test_a_text_is_no_list_of_texts_and_an_id_no_list_of_ids(index: Any) -> None:
    for ids, texts in (("ab", ["a", "b"]), (["a", "b"], "ab"), (5, ["a"])):
        with pytest.raises(InputError):
            index.add(ids, texts)
    assert len(index) == 4


@pytest.mark.parametrize(
    "id", ["", " ", "\x00", "a\x00b", "a" * 100_000, "\U0010ffff", "'; DROP TABLE doc; --", "%", "../x"]
)
def test_any_text_is_an_id(index: Any, id: str) -> None:
    index.add([id], ["a text of its own"])
    assert id in index
    assert index.get(id).id == id
    assert list(index)[-1] == id
    assert index.query("a text of its own")[0].id == id
    assert index.remove(id) == 1
    assert id not in index


def test_numbers_and_their_digits_are_one_id_and_come_back_as_they_came(index: Any) -> None:
    assert "17" in index
    assert 17 in index
    assert index.get("17").id == 17
    index.add(["18", np.int64(19), 2**63 - 1, -(2**63), "007"], ["a", "b", "c", "d", "e"])
    assert 18 in index
    assert 7 not in index
    assert [(id, type(id)) for id in list(index)[4:]] == [
        ("18", str), (19, int), (2**63 - 1, int), (-(2**63), int), ("007", str),
    ]  # fmt: skip
    assert index.remove(["17", 18]) == 2
    for odd in (None, 1.0, True, b"17"):
        with pytest.raises((InputError, TypeError)):
            index.get(odd)


@pytest.mark.parametrize(
    "text", ["\x00", "a\x00b\x00" * 5, "\ufeffmark", "é" * 50, "e\u0301" * 50, "日本語" * 9, "x" * 1_000_000]
)
def test_any_text_comes_back_as_it_was(index: Any, text: str) -> None:
    index.add("odd", text)
    assert index.get("odd").text == text
    assert index.query(text, top=1)[0].similarity == 1.0


def test_columns_are_ids_and_texts_too(index: Any) -> None:
    index.add(np.array([1, 2]), np.array(["text one", "text two"]))
    index.add(pa.array(["a", "b"]), pa.array(["text three", "text four"]))
    index.add(pd.Series(["c", "d"]), pd.Series(["text five", "text six"]))
    index.add((str(i) + "!" for i in range(2)), (f"text {i}" for i in range(2)))
    assert list(index)[4:] == [1, 2, "a", "b", "c", "d", "0!", "1!"]
    assert [index.get(id).text for id in (2, "b", "d", "1!")] == ["text two", "text four", "text six", "text 1"]


def test_inputs_of_find_can_be_added(index: Any, tmp_path: Path) -> None:
    lines = tmp_path / "more.jsonl"
    lines.write_text('{"key": "j1", "body": "a text in a file"}\n\n{"key": "j2", "body": "another text"}\n')
    told = index.add(lines, text="body", id="key")
    assert (told.added, told.blank) == (2, 1)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("text a")
    (folder / "b.md").write_text("text b")
    assert index.add(folder, glob="*.txt").added == 1
    index.add(pd.DataFrame({"id": ["p"], "text": ["of pandas"]}))
    index.add(pl.DataFrame({"id": [1], "text": ["of polars"]}))
    index.add([("q", "a pair")])
    index.add({"r": "a mapping"})
    assert [index.get(id).text for id in ("j2", "p", 1, "q", "r")] == [
        "another text", "of pandas", "of polars", "a pair", "a mapping",
    ]  # fmt: skip
    with pytest.raises(InputError, match="j1"):
        index.add(lines, text="body", id="key")
    with pytest.raises(InputError, match=r"no\.jsonl"):
        index.add(tmp_path / "no.jsonl")


def test_a_bad_line_stops_the_addition_or_is_counted(index: Any, tmp_path: Path) -> None:
    lines = tmp_path / "bad.jsonl"
    lines.write_text('{"id": "g", "text": "good"}\n{"id": "b", "text": 5}\n')
    with pytest.raises(InputError, match=r"bad\.jsonl:2.*number"):
        index.add(lines)
    assert "b" not in index
    told = index.add(lines, on_bad="skip", on_duplicate="replace")
    assert told.bad == 1
    assert told.added + told.replaced == 1


def test_options_of_inputs_are_refused_with_ids_and_texts(index: Any) -> None:
    for options in ({"text": "body"}, {"id": "key"}, {"glob": "*"}, {"input_format": "jsonl"}):
        with pytest.raises(InputError, match=next(iter(options))):
            index.add(["a"], ["text"], **options)
    assert "a" not in index


def test_removing(index: Any) -> None:
    assert index.remove("rose") == 1
    assert "rose" not in index
    assert index.get("rose") is None
    assert [hit.id for hit in index.query(TEXTS["rose"])] == ["rose too"]
    assert index.remove(["tulip", "17", 17, "tulip"]) == 2
    assert list(index) == ["rose too"]
    index.add("rose", TEXTS["rose"])
    assert [hit.id for hit in index.query(TEXTS["rose"])] == ["rose", "rose too"]


def test_an_absent_id_stops_the_removal_or_is_passed_over(index: Any) -> None:
    with pytest.raises(InputError, match=r"ros[^e].*skip|skip.*ros[^e]"):
        index.remove(["rose", "ros"])
    assert "rose" in index
    assert index.remove(["rose", "ros"], missing="skip") == 1
    with pytest.raises(InputError, match="whatever"):
        index.remove("tulip", missing="whatever")
    with pytest.raises(InputError):
        index.remove([None])


def test_new_documents_are_admitted_one_after_the_other(index: Any) -> None:
    told = index.add_if_new(
        ["n1", "n2", "n3", "n4"],
        ["a text that is altogether new", "a text that is altogether new.", TEXTS["rose"], ""],
    )
    assert [answer.is_new for answer in told] == [True, False, False, True]
    assert [None if answer.match is None else answer.match.id for answer in told] == [None, "n1", "rose", None]
    assert told[2].match.similarity == 1.0
    assert [id in index for id in ("n1", "n2", "n3", "n4")] == [True, False, False, True]
    assert told[1].as_dict()["match"]["id"] == "n1"
    one = index.add_if_new("n5", "yet another text, unlike the others")
    assert (one.id, one.is_new, one.match) == ("n5", True, None)
    assert index.add_if_new("n6", TEXTS["rose too"], threshold=1.0).match.id == "rose too"
    assert index.add_if_new("n7", TEXTS["rose"] + "?", threshold=1.0).is_new
    with pytest.raises(InputError, match=r"0\.2"):
        index.add_if_new("n8", "text", threshold=0.2)


def test_an_id_that_is_there_is_not_admitted(index: Any) -> None:
    fresh = "words that nobody has used before"
    with pytest.raises(InputError, match="tulip"):
        index.add_if_new(["fresh", "tulip"], [fresh, "other words that nobody has used"])
    assert "fresh" not in index
    told = index.add_if_new(["fresh", "tulip"], [fresh, "other words that nobody has used"], on_duplicate="skip")
    assert [(answer.is_new, answer.match) for answer in told] == [(True, None), (False, None)]
    assert index.get("tulip").text == TEXTS["tulip"]
    assert "fresh" in index


def test_a_new_version_is_compared_with_all_but_the_version_that_it_replaces() -> None:
    with neardup.Index.create(threshold=0.5, shingle="word:2") as index:
        index.add(["a", "b"], ["one two three four five six", "zz yy xx ww vv"])
        new = "one two three four five seven"
        assert index.add_if_new("a", new, on_duplicate="replace").match is None
        assert index.get("a").text == new
        assert index.add_if_new("b", new, on_duplicate="replace").match.id == "a"
        assert index.get("b").text == "zz yy xx ww vv"
