"""Python values as input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.reading import read

import neardup
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs


@pytest.mark.parametrize(
    ("value", "texts", "ids"),
    [
        (["a", "b"], ["a", "b"], [0, 1]),
        (("a", ""), ["a", ""], [0, 1]),
        (iter(["a", "b"]), ["a", "b"], [0, 1]),
        ([("x", "a"), ("y", "b")], ["a", "b"], ["x", "y"]),
        ([(7, "a"), (8, "b")], ["a", "b"], [7, 8]),
        ([(7, "a"), ("y", "b")], ["a", "b"], ["7", "y"]),
        ([(np.int32(7), "a"), (1 << 70, "b")], ["a", "b"], ["7", str(1 << 70)]),
        ({"x": "a", "y": "b"}, ["a", "b"], ["x", "y"]),
        (np.array(["a", "b"]), ["a", "b"], [0, 1]),
        ([], [], []),
        ({}, [], []),
        (iter([]), [], []),
    ],
)
def test_shapes_of_texts(value: Any, texts: list[str], ids: list[Any]) -> None:
    every = read(value)
    assert (every.texts, every.ids) == (texts, ids)


@pytest.mark.parametrize(
    ("value", "texts", "ids"),
    [
        ([["a", 1], ["b"]], ["a|1", "b"], [0, 1]),
        ([{"a"}, frozenset({5}), ("b", "c")], ["a", "5", "b|c"], [0, 1, 2]),
        ([("a", "b"), ("c", "d")], ["a|b", "c|d"], [0, 1]),
        ([("x", ["a", "b"]), ("y", [1, 2])], ["a|b", "1|2"], ["x", "y"]),
        ({"x": ["a"], "y": []}, ["a", ""], ["x", "y"]),
        (["a  b\u3000c"], ["a|b|c"], [0]),
        ([np.array([1, 2])], ["1|2"], [0]),
    ],
)
def test_shapes_of_sets(value: Any, texts: list[str], ids: list[Any]) -> None:
    every = read(value, item=True)
    assert (every.texts, every.ids) == (texts, ids)


@pytest.mark.parametrize(
    ("value", "item", "message"),
    [
        (["a", 3], False, r"element 1 \(counted from 0\): 3 of type int, not a text"),
        (["a", None], False, "None of type NoneType, not a text"),
        (["a", b"b"], False, "Decode bytes to str first"),
        (["a", ["b"]], False, "shingle='item'"),
        (["a", ("b", "c")], False, "where the first element is a text"),
        ([("a", "b"), "c"], False, r"where the first element is a pair \(id, text\)"),
        ([("a", "b"), ("a", "b", "c")], False, "same shape"),
        ([(1.5, "b")], False, "the id is 1.5 of type float"),
        ([(True, "b")], False, "the id is True of type bool"),
        (["a\ud800"], False, r"lone surrogate U\+D800 at character 2"),
        ([("\udfff", "a")], False, "the id has the lone surrogate"),
        ([["a", 1.5]], True, "the item 1.5 is of type float"),
        ([["a", True]], True, "the item True is of type bool"),
        ([["a"], 5], True, "5 of type int, not a set"),
        ([["\ud800"]], True, "lone surrogate"),
    ],
)
def test_a_wrong_element_is_named(value: Any, item: bool, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(value, item=item)
    every = read(value, item=item, on_bad="skip")
    assert every.bad == 1
    assert len(every.texts) == len(every.ids) == len(value) - 1


@pytest.mark.parametrize("value", [5, None, b"bytes", 1.5])
def test_what_cannot_be_read_is_named(value: Any) -> None:
    with pytest.raises(InputError, match=f"of type {type(value).__name__}, which cannot be read"):
        open_inputs(value)


def test_a_text_in_place_of_a_path() -> None:
    with pytest.raises(InputError, match=r"put it in a list: \[text\]"):
        open_inputs("Some text.\nWith lines.")


def test_file_names_in_place_of_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("text")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="Give Path objects"):
        open_inputs(["a.txt"])
    with pytest.raises(InputError, match="among paths"):
        open_inputs([Path("a.txt"), "a.txt"])
    assert read([("x", "a.txt")]).texts == ["a.txt"]


def test_columns_cannot_be_chosen() -> None:
    with pytest.raises(InputError, match="has no columns"):
        open_inputs(["a"], text="body")


def test_an_iterator_is_read_a_piece_at_a_time() -> None:
    drawn = 0

    def texts() -> Iterator[str]:
        nonlocal drawn
        for _ in range(100):
            drawn += 1
            yield "x" * 1_000_000

    tasks = open_inputs(texts()).tasks()
    assert len(next(tasks)().documents) == 5
    assert drawn < 10


def test_blocks_hold_at_most_so_many_documents() -> None:
    every = read([str(i) for i in range(7)], block=3)
    assert [len(batch.documents) for batch in every.batches] == [3, 3, 1]
    assert every.ids == list(range(7))
    assert every.rows == list(range(1, 8))


def test_signatures_of_a_folder_with_a_document_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a rose is a rose")
    (tmp_path / "b.docx").write_bytes(b"no package")
    with pytest.raises(InputError, match=r"b\.docx: .* each document has a row"):
        neardup.sketch(tmp_path)


RECORDS = [
    {"id": "a", "text": "the minister will resign on friday", "lang": "en", "tags": ["x"]},
    {"id": "b", "text": "the minister will resign on friday!", "score": 3},
    {"id": 7, "text": "umbrellas sold well in spring", "score": "high"},
]


def test_records_are_documents_with_the_fields_of_a_line_of_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")
    how = {"shingle": "char:4", "threshold": 0.7}
    assert neardup.find(RECORDS, **how).pairs.to_pylist() == neardup.find(path, **how).pairs.to_pylist()
    assert neardup.dedup(RECORDS, **how).data == [RECORDS[1], RECORDS[2]]


@pytest.mark.parametrize("given", [RECORDS[0], RECORDS, tuple(RECORDS)])
def test_an_index_takes_records_for_what_they_are(given: Any) -> None:
    index = neardup.Index.create()
    index.add(given)
    records = [given] if isinstance(given, dict) else given
    assert [each.id for each in index.page().documents] == [str(record["id"]) for record in records]


def test_a_mapping_of_ids_to_texts_stays_one() -> None:
    index = neardup.Index.create()
    index.add({"title": "umbrellas sold well in spring", "chapter": "the minister will resign"})
    assert [each.id for each in index.page().documents] == ["title", "chapter"]


def test_a_record_without_a_text_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"(?s)no column.*text"):
        neardup.find([{"id": 1, "score": 3}, {"id": 2, "score": 4}])
    with pytest.raises(InputError, match="text"):
        neardup.find([RECORDS[0], {"id": "c"}])
