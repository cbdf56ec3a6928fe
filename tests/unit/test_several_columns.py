"""Several columns as one text, in every format that has columns, and what is guessed where none is named."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.reading import read

import neardup
from neardup.cli import main
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs

FORMATS = ("jsonl", "csv", "tsv", "parquet", "arrow")
Rows = list[dict[str, Any]]
CELLS = st.none() | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6).map(str.strip)


def save(folder: Path, format: str, rows: Rows) -> Path:
    """Rows that all have the same keys, as a file."""
    path = folder / f"rows.{format}"
    names = list(rows[0])
    if format == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif format in ("csv", "tsv"):
        out = io.StringIO()
        writer = csv.writer(out, delimiter="," if format == "csv" else "\t", quoting=csv.QUOTE_ALL)
        writer.writerows([names, *([row[name] for name in names] for row in rows)])
        path.write_bytes(out.getvalue().encode())
    else:
        table = pa.table({name: pa.array([row[name] for row in rows]) for name in names})
        pq.write_table(table, path) if format == "parquet" else feather.write_feather(table, path)
    return path


def oracle(row: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """The text of a record; None where there is none."""
    if all(row[name] is None for name in names):
        return None
    return "\n".join(str(row[name]) for name in names if row[name])


@given(st.lists(st.fixed_dictionaries({"a": CELLS, "b": CELLS, "c": CELLS}), min_size=1, max_size=8), st.data())
def test_the_same_records_give_the_same_texts_in_every_format(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, data: st.DataObject
) -> None:
    names = tuple(data.draw(st.permutations(["a", "b", "c"]))[: data.draw(st.integers(2, 3))])
    rows = [{"id": i, **row} for i, row in enumerate([{"a": "x", "b": "y", "c": "z"}, *rows])]
    folder = tmp_path_factory.mktemp("columns")
    for format in FORMATS:
        wanted = [oracle(row, names) for row in rows]
        if format in ("csv", "tsv"):
            wanted = [text or "" for text in wanted]  # which has no null
        every = read(save(folder, format, rows), text=",".join(names), on_bad="skip")
        assert every.texts == [text for text in wanted if text is not None], format
        assert every.bad == wanted.count(None), format
        assert [str(id) for id in every.ids] == [str(i) for i, text in enumerate(wanted) if text is not None], format


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_whose_name_has_a_comma_is_reached_alone_and_among_others(tmp_path: Path, format: str) -> None:
    path = save(tmp_path, format, [{"last, first": "Doe, J.", "title": "On it", "last": "no", " first": "no"}])
    for text, wanted in (
        ("last, first", "Doe, J."),
        ('"last, first",title', "Doe, J.\nOn it"),
        (["title", "last, first"], "On it\nDoe, J."),
        (["last, first"], "Doe, J."),
    ):
        assert read(path, text=text).texts == [wanted]
    with pytest.raises(InputError, match=r"there is no column 'tilte' for --text .* Did you mean 'title'"):
        read(path, text="last,tilte")


def test_a_field_may_be_missing_from_the_first_record_and_must_be_in_some(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"title": "A"}\n{"title": "B", "author": "X"}\n{"other": 1}\n')
    every = read(path, text="title,author", on_bad="skip")
    assert (every.texts, every.rows, every.bad) == (["A", "B\nX"], [1, 2], 1)
    assert "'title', 'author' are all missing or null" in every.faults[0]
    with pytest.raises(InputError, match="no column 'autor'"):
        read(path, text="title,autor")


def test_a_value_that_is_no_text_is_named_with_its_field(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"title": "A", "author": 7}\n')
    with pytest.raises(InputError, match=r"a\.jsonl:1: the field 'author' is a number"):
        read(path, text="title,author")
    with pytest.raises(InputError, match="column 'n' is of type int64, not text"):
        read(pa.table({"title": ["A"], "n": [1]}), text="title,n")


def test_numbers_name_fields_of_a_file_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('7,one,2019,"two, three"\n8,four,2020,five\n')
    every = read(path, text="2,4", id="1")
    assert (every.texts, every.ids) == (["one\ntwo, three", "four\nfive"], ["7", "8"])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_take_several_columns(make: Any) -> None:
    frame = make({"title": ["one and the same", "one and the same"], "author": ["A. Author", None]})
    assert read(frame, text=("title", "author")).texts == ["one and the same\nA. Author", "one and the same"]
    found = neardup.find(frame, text="title,author", threshold=0.2)
    assert found.pairs.num_rows == 1
    assert found.summary.columns[0].text == ("title", "author")


def test_words_of_several_columns_are_one_set(tmp_path: Path) -> None:
    rows = [{"a": "x y", "b": "z"}]
    for format in FORMATS:
        assert read(save(tmp_path, format, rows), text="a,b", item=True).blobs == [b"x\xffy\xffz"]


def test_the_command_takes_them_and_says_which_were_read(tmp_path: Path) -> None:
    rows = [
        {"id": i, "title": "a title of some length", "author": name}
        for i, name in enumerate(["Ann Author", "Ann Author", "Berta B. Writer"])
    ]
    path = save(tmp_path, "csv", rows)
    result = CliRunner().invoke(main, ["dedup", str(path), "--text", "title,author", "-o", str(tmp_path / "out.csv")])
    assert result.exit_code == 0, result.output
    assert "columns       text from title and author, id from id" in result.stderr
    assert (tmp_path / "out.csv").read_text().count("\n") == 3  # the header, A and B


@pytest.mark.parametrize("format", FORMATS)
def test_a_title_and_an_only_column_of_texts_are_guessed_and_told(tmp_path: Path, format: str) -> None:
    title = save(tmp_path, format, [{"id": 1, "venue": "V", "title": "T"}])
    reader = open_inputs(title)
    assert [task().documents.blob(0) for task in reader.tasks()] == [b"T"]
    assert [(each.text, each.id) for each in reader.columns] == [(("title",), "id")]
    only = save(tmp_path, format, [{"id": 1, "story": "S"}])
    assert read(only).texts == ["S"]
    two = save(tmp_path, format, [{"id": 1, "story": "S", "venue": "V"}])
    with pytest.raises(InputError, match="no column is named like a text"):
        read(two)


def test_numbers_beside_a_column_of_texts_are_no_texts() -> None:
    assert read(pa.table({"id": ["a"], "year": [2020], "story": ["S"]})).texts == ["S"]


@pytest.mark.parametrize("wrong", [[], [1], 7, {"a": 1}])
def test_text_is_a_name_or_a_list_of_names(wrong: Any) -> None:
    with pytest.raises(InputError, match="Give the name of a column, or a list of names"):
        open_inputs(pa.table({"a": ["x"]}), text=wrong)
