"""Columns beside the texts: what is stored comes back, filters agree with brute force, and damage is named."""

from __future__ import annotations

import gzip
import io
import json
import math
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neardup import FormatError, Index, InputError

OPTIONS: dict[str, Any] = {"threshold": 0.5, "shingle": "word:1"}
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.0, 1.0, -0.5, 2.0, "", "a", "1"]))
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from("xy"), SCALARS, max_size=2))
OBJECTS = st.one_of(st.none(), st.dictionaries(st.sampled_from(["t", "u", "é"]), VALUES, max_size=3))


def text(number: int) -> str:
    """Texts of which each is like the next ones: nine of ten words are the same."""
    return " ".join(f"word{number + at}" for at in range(20))


def is_equal(stored: Any, asked: Any) -> bool:
    """JSON equality of a value and a scalar, by the type names of JSON and by exact fractions."""
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}
    if kinds.get(type(stored), "other") != kinds[type(asked)]:
        return False
    return Fraction(stored) == Fraction(asked) if kinds[type(asked)] == "number" else bool(stored == asked)


def chosen(objects: list[Any], where: dict[str, Any]) -> list[int]:
    """Brute force: places of the objects that have all that a filter asks for."""
    return [
        place
        for place, each in enumerate(objects)
        if each and all(name in each and is_equal(each[name], value) for name, value in where.items())
    ]


KINDS = [{"t": each} for each in (1, True, 1.0, 0, False, None, "1", [1])]


@settings(max_examples=40, deadline=None)
@example(objects=[*KINDS, {}, None], where={"t": 1}, top=9)
@example(objects=[*KINDS, {}, None], where={"t": True}, top=9)
@example(objects=[*KINDS, {}, None], where={"t": None}, top=9)
@given(
    objects=st.lists(OBJECTS, min_size=1, max_size=12),
    where=st.dictionaries(st.sampled_from(["t", "u", "é", "absent"]), SCALARS, min_size=1, max_size=2),
    top=st.integers(1, 4),
)
def test_a_filter_gives_what_brute_force_gives(objects: list[Any], where: dict[str, Any], top: int) -> None:
    with Index.create(**OPTIONS) as index:
        same = [text(place % 3) for place in range(len(objects))]  # exact copies too, of which the first may be hidden
        index.add(list(range(len(objects))), same, objects)
        every = [hit.id for hit in index.query(text(0), top=None)]
        expected = [place for place in every if place in chosen(objects, where)]
        hits = index.query(text(0), top=top, where=where)
        assert [hit.id for hit in hits] == expected[:top]
        assert [hit.columns for hit in hits] == [objects[hit.id] or None for hit in hits]
        assert [hit.id for hit in index.query([text(0)] * 2, top=None, where=where)[1]] == expected
        unchecked = [hit.id for hit in index.query(text(0), top=None, exact=False)]
        found = [hit.id for hit in index.query(text(0), top=None, exact=False, where=where)]
        assert found == [place for place in unchecked if place in chosen(objects, where)]
        for exhaustive in (False, True):
            near = index.nearest(text(0), top=top, threshold=0.5, exhaustive=exhaustive, where=where)
            assert [hit.id for hit in near] == expected[:top]
        first = index.seen(text(0), where=where)
        assert (first and first.id) == (expected[0] if expected else None)
        pages = [index.page(after, size=2, newest=True, where=where) for after in (None, 3)]
        descending = [place for place in reversed(range(len(objects))) if place in chosen(objects, where)]
        below = [place for place in descending if place < 3]
        assert [[each.id for each in page.documents] for page in pages] == [descending[:2], below[:2]]
        assert [bool(page.next) for page in pages] == [len(descending) >= 2 and descending[1] > 0, below[1:] == [1]]
        contained = index.query(text(0), top=None, measure="containment", threshold=0.5, where=where)
        assert sorted(hit.id for hit in contained) == sorted(expected)
        assert [hit.columns for hit in contained] == [objects[hit.id] or None for hit in contained]
        named = [place for place in range(0, len(objects), 2) if place in chosen(objects, where)]
        assert index.remove(list(range(0, len(objects), 2)), where=where, missing="skip") == len(named)
        assert index.remove(where=where) == len(chosen(objects, where)) - len(named)
        assert list(index) == [place for place in range(len(objects)) if place not in chosen(objects, where)]
        assert index.verify().ok


def test_columns_come_back_from_every_way_in(tmp_path: Path) -> None:
    one, other = {"tenant": "ä", "n": 1.5, "deep": {"b": [1, None], "a": True}}, {"tenant": "b"}
    with Index.create(tmp_path / "index", **OPTIONS) as index:
        index.add("add", text(0), one)
        index.add(["several", "none"], [text(50), text(100)], [other, None])
        index.add_each(["each"], [text(150)], [one])
        assert index.add_if_new("new", text(200), one).is_new
        match = index.add_if_new(["first", "second"], [text(250), text(250)], [one, other])[1].match
        assert match is not None
        assert (match.id, match.columns) == ("first", one)
        assert index.add_if_new("again", text(200)).match.columns == one
        with index.batch() as batch:
            batch.add("batch", text(300), other)
        index.add("replaced", text(350), one)
        index.add("replaced", text(350), other, on_duplicate="replace")
        index.add("lost", text(400), one)
        index.add("lost", text(400), on_duplicate="replace")
        lines = [json.dumps({"id": "line", "text": text(450), "tenant": "b", "n": 1}).encode() + b"\n"]
        index.dedup_stream(iter(lines), tmp_path / "out.jsonl", column="tenant")
        stored = {"add": one, "several": other, "none": None, "each": one, "new": one, "first": one, "batch": other}
        stored |= {"replaced": other, "lost": None, "line": other}
        index.backup(tmp_path / "copy")
    with Index.create(tmp_path / "merged", **OPTIONS) as merged:
        merged.merge(tmp_path / "index")
        merged.compact()
        assert merged.verify().ok
    for name in ("index", "copy", "merged"):
        with Index.open(tmp_path / name, read_only=True) as index:
            assert {each.id: each.columns for each in index.page().documents} == stored
            assert {id: index.get(id).columns for id in index} == stored  # type: ignore[union-attr]
            assert {id: index.query(index.get(id).text)[0].columns for id in index} == stored  # type: ignore[union-attr]
            assert [hit.id for hit in index.query(text(0), where={"tenant": "ä", "n": 1.5})] == ["add"]


RECORDS = [
    {"id": "a", "text": text(0), "tenant": "x,y", "n": 1},
    {"id": "b", "text": text(50), "tenant": 'say "no"', "n": 2},
    {"id": "c", "text": text(100), "tenant": "ü", "n": 3},
]


def write_jsonl(path: Path) -> Any:
    lines = "".join(json.dumps(each) + "\n" for each in RECORDS)
    return path / "in.jsonl.gz", gzip.open(path / "in.jsonl.gz", "wt").write(lines)


def write_csv(path: Path) -> Any:
    return path / "in.csv", pandas.DataFrame(RECORDS).to_csv(path / "in.csv", index=False)


def write_parquet(path: Path) -> Any:
    return path / "in.parquet", pq.write_table(pa.Table.from_pylist(RECORDS), path / "in.parquet")


def write_arrow(path: Path) -> Any:
    table = pa.Table.from_pylist(RECORDS)
    with pa.OSFile(str(path / "in.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return path / "in.arrow", None


@pytest.mark.parametrize("write", [write_jsonl, write_csv, write_parquet, write_arrow, lambda _: (RECORDS, None)])
def test_named_fields_of_an_input_are_stored(tmp_path: Path, write: Callable[[Path], Any]) -> None:
    inputs = write(tmp_path)[0]
    with Index.build(tmp_path / "index", inputs, column=["tenant", "n"], **OPTIONS) as index:
        number = str if write is write_csv else int
        assert [index.get(each["id"]).columns for each in RECORDS] == [  # type: ignore[union-attr]
            {"tenant": each["tenant"], "n": number(str(each["n"]))} for each in RECORDS
        ]
        assert index.verify().ok
    with pytest.raises(InputError, match=r"no column 'tenat' for --column.*Did you mean 'tenant'"):
        Index.build(tmp_path / "other", inputs, column="tenat", **OPTIONS)


def test_fields_that_some_records_lack_and_values_of_several_types_stay_what_they_are() -> None:
    records = [
        {"id": 1, "text": text(0), "v": 1},
        {"id": 2, "text": text(50)},
        {"id": 3, "text": text(99), "v": {"a": True}},
    ]
    with Index.create(**OPTIONS) as index:
        index.add(records, column="v")
        assert [index.get(id).columns for id in (1, 2, 3)] == [{"v": 1}, None, {"v": {"a": True}}]  # type: ignore[union-attr]
        frame = pandas.DataFrame({"id": [4, 5], "text": [text(150), text(200)], "day": [date(2024, 2, 29), None]})
        index.add(frame, column="day")
        assert [index.get(id).columns for id in (4, 5)] == [{"day": "2024-02-29"}, {"day": None}]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": math.nan}, "'a' is nan"),
        ({"a": {"b": [1, -math.inf]}}, r"'a\.b\[1\]' is -inf"),
        ({1: 2}, "1 is not named by a string"),
        ({"a": {None: 2}}, "None of 'a' is not named by a string"),
        ({"a": {1, 2}}, "'a' is of type set"),
        ({"a": "\ud800"}, "'a' is not valid Unicode"),
        ({"\ud800": 1}, "not valid Unicode"),
        ({"a": 10**1000}, "'a' is a whole number"),
        ({"a": "é" * 8189}, "16,386 bytes"),
        ([1], "are of type list"),
        ({"a": json.loads("[" * 40 + "]" * 40)}, "nested too deeply"),
    ],
)
def test_columns_that_json_lacks_are_refused_by_name(tmp_path: Path, columns: Any, words: str) -> None:
    with Index.create(**OPTIONS) as index:
        for call in (index.add, index.add_if_new, index.batch().add):
            with pytest.raises(InputError, match=f"document 'q'.*{words}"):
                call("q", text(0), columns)
        assert len(index) == 0


def test_the_largest_columns_fit_and_numbers_of_numpy_are_numbers() -> None:
    with Index.create(**OPTIONS) as index:
        largest = {"a": "é" * 8188}  # 16,384 bytes with {"a":""}
        index.add(["a", "b"], [text(0), text(50)], [largest, {"n": np.int64(3), "b": np.bool_(True)}])
        assert index.get("a").columns == largest  # type: ignore[union-attr]
        assert index.query(text(50), where={"n": 3, "b": True})[0].columns == {"n": 3, "b": True}


def test_a_bad_record_is_left_out_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(
        f'{{"id": 1, "text": "{text(0)}", "t": "{"x" * 20000}"}}\n{{"id": 2, "text": "{text(50)}", "t": 1}}\n'
    )
    with Index.create(**OPTIONS) as index:
        with pytest.raises(InputError, match=r"in\.jsonl:1.*bytes"):
            index.add(file, column="t")
        added = index.add(file, column="t", on_bad="skip")
        assert (added.added, added.bad) == (1, 1)
        table = pa.table({"id": [5, 6], "text": [text(99), text(150)], "t": [math.nan, 1.0]})
        added = index.add(table, column="t", on_bad="skip")
        assert (added.added, added.bad, index.get(6).columns) == (1, 1, {"t": 1.0})  # type: ignore[union-attr]


def test_inputs_without_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text(0))
    with Index.create(**OPTIONS) as index:
        with pytest.raises(InputError, match=r"a\.txt: columns are read from"):
            index.add(tmp_path / "a.txt", column="t")
        with pytest.raises(InputError, match="column is 't'"):
            index.add([text(0)], column="t")
        with pytest.raises(InputError, match="column is 't', which is for inputs"):
            index.add("a", text(0), column="t")
        with pytest.raises(InputError, match=r"Name columns of them with column="):
            index.add([text(0)], columns=[{"t": 1}])
        with pytest.raises(InputError, match="2 ids and 1 columns"):
            index.add([1, 2], [text(0), text(1)], [{}])
        assert len(index) == 0


@pytest.mark.parametrize("where", [{}, [], "t=a", {"t": [1]}, {"t": {"a": 1}}, {"t": math.nan}, {1: 2}])
def test_filters_that_cannot_be_used_are_refused(where: Any) -> None:
    with Index.create(**OPTIONS) as index:
        index.add("a", text(0), {"t": 1})
        for call in (lambda: index.query("x", where=where), lambda: index.remove(where=where)):
            with pytest.raises(InputError, match="where"):
                call()
        with pytest.raises(InputError, match="neither ids nor where"):
            index.remove()
        assert "a" in index


def test_to_a_filter_that_does_not_match_a_document_is_not_there() -> None:
    """A service that removes by id and tenant must not remove what belongs to another tenant."""
    with Index.create(**OPTIONS) as index:
        index.add(["a", "b"], [text(0), text(50)], [{"t": "x"}, {"t": "y"}])
        with pytest.raises(InputError, match="no document 'b' that has the columns of where"):
            index.remove(["a", "b"], where={"t": "x"})
        assert len(index) == 2
        assert index.remove(["a", "b"], where={"t": "x"}, missing="skip") == 1
        assert list(index) == ["b"]


@pytest.mark.parametrize(
    "damage",
    [
        """columns = '{"t":"y"}' WHERE id = 'a'""",
        "columns = NULL WHERE id = 'a'",
        "columns = CAST(columns AS BLOB) WHERE id = 'a'",
        "columns = 5 WHERE id = 'a'",
        """columns = '{"t":"x"}' WHERE id = 'none'""",
        "kind = kind & 7 WHERE id = 'a'",
        "kind = kind + (1 << 40) WHERE id = 'a'",
    ],
)
def test_damaged_columns_are_named_and_never_believed(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "index"
    with Index.create(path, **OPTIONS) as index:
        index.add(["a", "none"], [text(0), text(0)], [{"t": "x"}, None])
        assert index.verify().ok
    with closing(sqlite3.connect(path / "index.sqlite")) as database:
        database.execute(f"UPDATE doc SET {damage}")
        database.commit()
    with Index.open(path) as index:
        told = index.verify()
        assert not told.ok
        assert any("'a'" in fault or "'none'" in fault for fault in told.faults)
        for where in ({"t": "x"}, {"t": "y"}):
            for call in (index.query, index.nearest):
                with pytest.raises(FormatError, match="damaged"):
                    call(text(0), where=where)
            with pytest.raises(FormatError, match="damaged"):
                index.remove(where=where)
        if "id = 'a'" in damage:
            for read in (lambda: index.query(text(0)), lambda: index.get("a"), index.page):
                with pytest.raises(FormatError, match="damaged"):
                    read()
        assert len(index) == 2


@pytest.mark.parametrize("version", [1, 2])
def test_an_index_of_an_earlier_format_takes_columns_when_it_is_written(tmp_path: Path, version: int) -> None:
    path = tmp_path / "index"
    with Index.create(path, **OPTIONS) as index:
        index.add(["old", 7], [text(0), text(50)])
    with closing(sqlite3.connect(path / "index.sqlite")) as database:  # the tables that neardup 0.1 and 0.2 made
        before = database.execute("SELECT number, id, kind, sum, text FROM doc").fetchall()
        database.execute("ALTER TABLE doc DROP COLUMN columns")
        if version == 1:
            database.execute("DROP TABLE added")
        database.execute(f"PRAGMA user_version = {version}")
        database.commit()
    shutil.copytree(path, tmp_path / "copy")
    with Index.open(path, read_only=True) as reader:
        assert reader.info().format == version
        assert reader.query(text(0))[0].columns is None
        assert reader.query(text(0), where={"t": None}) == []
        assert reader.verify().ok
        with Index.open(path) as writer:
            assert writer.info().format == 3
            writer.add("new", text(0), {"t": "x"})
            assert writer.verify().ok
        assert [hit.columns for hit in reader.query(text(0))] == [None, {"t": "x"}]
        assert [hit.id for hit in reader.query(text(0), where={"t": "x"})] == ["new"]
    with closing(sqlite3.connect(path / "index.sqlite")) as database:
        assert database.execute("SELECT number, id, kind, sum, text FROM doc").fetchall()[:2] == before
    with Index.open(path) as writer:
        writer.merge(tmp_path / "copy", on_duplicate="skip")
        assert list(writer) == ["old", 7, "new"]


def test_texts_without_ids_are_named_by_their_texts() -> None:
    with Index.create(**OPTIONS) as index:
        assert index.add([text(0), text(50), text(0)]).as_dict()["skipped"] == 1
        ids = list(index)
        assert (index.add([text(50)]).skipped, index.add([text(100)]).added) == (1, 1)
        assert index.add(pa.table({"text": [text(0)]}), on_duplicate="replace").replaced == 1
        assert index.add(iter([text(0)])).skipped == 1
        assert list(index)[-1] == ids[0]
        index.dedup_stream(iter([text(300).encode()]), lines := io.BytesIO(), input_format="lines")
        assert index.add([text(300)]).skipped == 1
        assert lines.getvalue()
        assert len(index) == 4


def test_a_record_is_one_document_and_a_dict_of_texts_is_many() -> None:
    with Index.create(**OPTIONS) as index:
        index.add({"id": "b", "text": text(0)})
        index.add([{"id": "c", "text": text(50)}])
        index.add({"d": text(100), "e": text(150)})
        assert list(index) == ["b", "c", "d", "e"]


def test_what_an_index_gives_back_shows_what_matters() -> None:
    with Index.create(**OPTIONS) as index:
        added = index.add(["a", "b"], [text(0), text(0)], [None, {"t": "x"}])
        assert repr(added) == "Added(added=2)"
        assert repr(index.add([text(0)]) + index.add([])) == "Added(added=1)"
        hits = index.query(text(0), top=2)
        assert repr(hits) == "[Hit(id='a', similarity=1.0), Hit(id='b', similarity=1.0, columns={'t': 'x'})]"
        assert ">columns<" in hits._repr_html_()
        assert ">columns<" not in index.query(text(0), top=1)._repr_html_()
