"""Values of a column by which documents are chosen, against what json, csv and pyarrow read."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import math
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import warm
from tests.unit.reading import zstd

from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.tasks.columns.reread import check_column, read_values
from neardup.tasks.columns.values import ranks

BIG = 1 << 53


def rows_of(*rows: int) -> Any:
    return np.array(rows, dtype=np.int64)


def every_row(inputs: Any, **options: Any) -> dict[str, Any]:
    """The local rows of all documents of each source, as its reader numbers them."""
    wanted: dict[str, list[int]] = {}
    for task in open_inputs(inputs, **options).tasks():
        batch = task()
        wanted.setdefault(batch.source, []).extend(batch.rows.tolist())
    return {name: rows_of(*rows) for name, rows in wanted.items()}


def values(inputs: Any, column: str = "n", rows: dict[str, Any] | None = None, **options: Any) -> list[Any]:
    """What is read of a column; of all documents, or those in ``rows``."""
    reader = open_inputs(inputs, **options)
    check_column(reader, column)
    rows = every_row(inputs, **options) if rows is None else rows
    found = read_values(reader, column, rows)
    assert len(found) == sum(each.size for each in rows.values())
    return texts_of(found)


def texts_of(found: Any) -> list[Any]:
    """The values in Python; strings, which are read as bytes, as strings where they are UTF-8."""
    listed: list[Any] = found.to_pylist()
    return [_text(each) if isinstance(each, bytes) else each for each in listed]


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def jsonl(path: Path, records: list[Any]) -> str:
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in records))
    return str(path)


def oracle_ranks(listed: list[Any]) -> list[int]:
    """Dense ranks by Python's exact comparisons."""
    known = [each for each in listed if each is not None and not (isinstance(each, float) and math.isnan(each))]
    order = sorted(set(known))
    return [order.index(each) if each in order else -1 for each in listed]


# JSON Lines


def test_fields_of_json_lines(tmp_path: Path) -> None:
    records = [{"text": f"t{i}", "n": n} for i, n in enumerate([3, -1.5, None, True, 10**15, 0.1, 2**40])]
    del records[3]["n"]
    path = jsonl(tmp_path / "a.jsonl", [*records, {"text": "last"}])
    assert values(path) == [3, -1.5, None, None, 10**15, 0.1, 2**40, None]
    assert values(path, "text") == [record["text"] for record in records] + ["last"]


def test_only_wanted_lines_are_read_and_counted_as_the_reader_counts(tmp_path: Path) -> None:
    lines = ['{"text": "a", "n": 1}', "", "no json", '{"text": "b", "n": 2}', "  ", '{"text": "c", "n": 3}']
    path = tmp_path / "a.jsonl"
    for ending in ("\n", "\r\n"):
        path.write_bytes(b"\xef\xbb\xbf" + ending.join(lines).encode())
        assert values(str(path), on_bad="skip") == [1, 2, 3]
        assert values(str(path), rows={str(path): rows_of(1, 6)}, on_bad="skip") == [1, 3]


def test_compressed_and_transcoded_json_lines(tmp_path: Path) -> None:
    text = "".join(json.dumps({"text": "ä", "n": name}, ensure_ascii=False) + "\n" for name in ["é", "z", "ø"])
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "a.jsonl.zst").write_bytes(zstd(text.encode()))
    (tmp_path / "utf16.jsonl").write_bytes(text.encode("utf-16"))
    (tmp_path / "latin.jsonl").write_bytes(text.encode("latin-1"))
    assert values(str(tmp_path / "a.jsonl.gz")) == ["é", "z", "ø"]
    assert values(str(tmp_path / "a.jsonl.zst")) == ["é", "z", "ø"]
    assert values(str(tmp_path / "utf16.jsonl"), encoding="utf-16") == ["é", "z", "ø"]
    assert values(str(tmp_path / "latin.jsonl"), encoding="latin-1") == ["é", "z", "ø"]


def test_json_lines_of_many_blocks(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    numbers = rng.integers(-(10**9), 10**9, 150_000).tolist()
    path = jsonl(tmp_path / "a.jsonl", [{"text": "some text to fill the blocks " * 2, "n": n} for n in numbers])
    assert os.path.getsize(path) > 3 * (4 << 20)
    chosen = np.sort(rng.choice(150_000, 80_000, replace=False))
    assert values(path, rows={path: chosen + 1}) == [numbers[i] for i in chosen]


def test_a_field_that_no_record_has_is_refused_with_the_near_one(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", [{"text": "a", "stars": 1}, {"text": "b", "date": "x"}])
    with pytest.raises(InputError, match=r"a.jsonl: there is no column 'star' .*'text', 'stars', 'date'.*mean 'stars'"):
        check_column(open_inputs(path), "star")
    with pytest.raises(InputError, match="there is no column 'star'"):
        read_values(open_inputs(path), "star", {path: rows_of(2)})
    assert values(path, "stars", {path: rows_of(2)}) == [None]


def test_a_file_without_records_has_every_field(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", ["", "  "])
    check_column(open_inputs(path), "anything")
    (tmp_path / "e.csv").write_text("")
    check_column(open_inputs(tmp_path / "e.csv"), "anything")


@pytest.mark.parametrize(("value", "kind"), [([1], "a list"), ({"a": 1}, "an object")])
def test_fields_without_an_order_are_refused(tmp_path: Path, value: Any, kind: str) -> None:
    path = jsonl(tmp_path / "a.jsonl", [{"text": "a", "n": 1}, {"text": "b", "n": value}])
    with pytest.raises(InputError, match=rf"a.jsonl:2: the field 'n' is {kind}, which has no order"):
        values(path)


def test_kinds_mixed_in_one_file_are_refused_with_both_lines(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", [{"text": "a", "n": None}, {"text": "b", "n": "new"}, "", {"text": "c", "n": 7}])
    with pytest.raises(
        InputError,
        match=r"'n' has 7 \(int64\) at .*a.jsonl:4 and 'new' \(string\) at .*a.jsonl:2, which cannot be compared",
    ):
        values(path)


def test_lone_surrogates_and_long_numbers(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", ['{"text": "a", "n": "\\ud800"}', '{"text": "b", "n": "\\uffff"}'])
    found = read_values(open_inputs(path), "n", {path: rows_of(1, 2)})
    assert ranks(found).tolist() == [0, 1]
    path = jsonl(tmp_path / "b.jsonl", [{"text": "a", "n": -(2**63)}, {"text": "b", "n": 2**63}])
    with pytest.raises(InputError, match=r"b.jsonl:2: .* whole number that does not fit into 64 bits"):
        values(path)


def test_a_changed_file_is_told(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", [{"text": "a", "n": 1}, "[1]"])
    for rows in (rows_of(1, 3), rows_of(1, 2)):
        with pytest.raises(InputError, match="was changed since it was read: of 2 documents to find again, 1"):
            values(path, rows={path: rows}, on_bad="skip")
    table = pa.table({"text": ["a"], "n": [1]})
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("text,n\na,1\n\nb,2\n")
    for name in ("a.parquet", "a.csv"):
        with pytest.raises(InputError, match="was changed since it was read"):
            values(tmp_path / name, rows={str(tmp_path / name): rows_of(3, 4, 5)})


# CSV and TSV


def test_columns_of_csv_by_name_and_by_number(tmp_path: Path) -> None:
    path = str(tmp_path / "a.csv")
    Path(path).write_text('id;text;n\r\n1;"a ""b""\r\nc";"10"\r\n\r\n2;x;\r\n3;y; +2.5 \r\n4;z;NaN\r\n')
    assert values(path) == [10, None, 2.5, None]
    assert values(path, "3") == [10, None, 2.5, None]
    assert values(path, "text") == ['a "b"\r\nc', "x", "y", "z"]
    assert values(path, "n", {path: rows_of(2)}) == [10]


def test_columns_of_csv_without_a_header(tmp_path: Path) -> None:
    path = str(tmp_path / "a.csv")
    Path(path).write_text("10,a\n9,b\n")
    assert values(path, "1") == [10, 9]
    for column in ("n", "0", "3"):
        with pytest.raises(InputError, match=rf"no column '{column}' .*2 fields and names none. Give the number"):
            check_column(open_inputs(path), column)


def test_a_column_that_csv_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("text\tstars\tx\tx\na\t1\t2\t3\n")
    with pytest.raises(InputError, match=r"no column 'star' .*Did you mean 'stars'"):
        check_column(open_inputs(path), "star")
    with pytest.raises(InputError, match=r"no column '5' .*4 fields. Give"):
        check_column(open_inputs(path), "5")
    with pytest.raises(InputError, match="2 columns are named 'x'"):
        check_column(open_inputs(path), "x")
    assert values(str(path), "4") == [3]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (["007", "-0", "+12", ""], [7, 0, 12, None]),
        (["1e3", ".5", "2.", "-inf", "nan"], [1000.0, 0.5, 2.0, -math.inf, None]),
        (["9007199254740993", "9007199254740992"], [BIG + 1, BIG]),
        (["1e30", "-5", "000" + str(10**15)], [1e30, -5.0, 1e15]),
        (["2020-01-02", "2019-12-31", " "], ["2020-01-02", "2019-12-31", None]),
        (["nan", "Nan", ""], [None, None, None]),
        (["Nan", "Ann"], ["Nan", "Ann"]),
        (["1_000", "1,5", "0x1F", "١"], ["1_000", "1,5", "0x1F", "١"]),
        ([" padded ", "x"], [" padded ", "x"]),
    ],
)
def test_fields_of_csv_are_numbers_when_all_are(tmp_path: Path, fields: list[str], expected: list[Any]) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text", "n"], *(["t", field] for field in fields)])
    assert values(str(path)) == expected


def test_numbers_among_words_are_refused_with_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,n\na,\nb,"12"\n"c\nd",n/a\n')
    with pytest.raises(
        InputError, match=r"'n' has 12 \(int64\) at .*a.csv:3 and 'n/a' \(string\) at .*a.csv:4, which cannot"
    ):
        values(str(path))
    path.write_text("text,n\na,1\nb,9223372036854775808\n")
    with pytest.raises(InputError, match=r"a.csv:3: .*does not fit into 64 bits"):
        values(str(path))


def test_fields_that_are_no_utf8_are_compared_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,n\na,\xe9\nb,z\n")
    found = read_values(open_inputs(path), "n", {str(path): rows_of(2, 3)})
    assert texts_of(found) == [b"\xe9", "z"]
    assert ranks(found).tolist() == [1, 0]


CELLS = st.text(st.sampled_from('ab1 ",\n\r\t;'), max_size=8)


@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12),
    stray=st.lists(st.sampled_from(["", '"open', 'a"b,c', '"x"y,z', "one", "a,b,c,d"]), max_size=3),
    kind=st.sampled_from(["csv", "tsv"]),
    data=st.data(),
)
def test_any_csv_gives_the_field_of_each_record(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], stray: list[str], kind: str, data: Any
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    sink = io.StringIO()
    delimiter = "," if kind == "csv" else "\t"
    writer = csv.writer(sink, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["id", "text", "n"])
    for i, row in enumerate(rows):
        writer.writerow([f"i{i}", *row])
    lines = sink.getvalue() + "".join(line + "\n" for line in stray)
    path = folder / f"a.{kind}"
    path.write_text(lines, newline="")
    # the text column, read as the documents are, is the oracle of which records there are and what they hold
    texts: list[str] = []
    for task in open_inputs(path, on_bad="skip").tasks():
        documents = task().documents
        texts += [documents.blob(i).decode() for i in range(len(documents))]
    wanted = every_row(path, on_bad="skip")
    if not texts:
        return
    chosen = data.draw(st.sets(st.integers(0, len(texts) - 1), min_size=1))
    places = sorted(chosen)
    rows_chosen = {str(path): wanted[str(path)][places]}
    reader = open_inputs(path, on_bad="skip")
    if kind == "csv":  # a line of a TSV file may begin with a part of a cell, a number among words too
        found = texts_of(read_values(reader, "id", rows_chosen))
        ids = [f"i{i}" for i in range(len(rows))]
        assert found[: sum(i < len(rows) for i in places)] == [ids[i] for i in places if i < len(rows)]
    try:
        again = texts_of(read_values(reader, "text", rows_chosen))
    except InputError as exc:
        assert "which cannot be compared" in str(exc)  # noqa: PT017 - a number among words
        return
    expected = [texts[i] if texts[i].strip(" \t\n\r") else None for i in places]
    if all(isinstance(each, str) or each is None for each in again):
        assert again == expected
    else:
        assert again == [None if each is None else float(each) for each in expected]


# Parquet, Arrow, datasets, objects

WHEN = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
COLUMNS: dict[str, tuple[pa.Array, list[Any]]] = {
    "int8": (pa.array([3, None, -1], pa.int8()), [3, None, -1]),
    "uint64": (pa.array([2**64 - 1, 2**64 - 2, None], pa.uint64()), [2**64 - 1, 2**64 - 2, None]),
    "int64": (pa.array([BIG + 1, BIG, BIG + 1]), [BIG + 1, BIG, BIG + 1]),
    "float32": (pa.array([0.5, math.nan, None], pa.float32()), [0.5, None, None]),
    "half": (pa.array([0.5, 1.5, None], pa.float16()), [0.5, 1.5, None]),
    "bool": (pa.array([True, None, False]), [1, None, 0]),
    "decimal": (pa.array([Decimal("1.50"), Decimal("-2.00"), None]), [Decimal("1.50"), Decimal("-2.00"), None]),
    "decimal32": (
        pa.array([Decimal("1.5"), Decimal("2.5"), None], pa.decimal32(5, 1)),
        [Decimal("1.5"), Decimal("2.5"), None],
    ),
    "date": (
        pa.array([datetime.date(2020, 1, 2), None, datetime.date(2020, 1, 1)]),
        [datetime.date(2020, 1, 2), None, datetime.date(2020, 1, 1)],
    ),
    "timestamp": (pa.array([WHEN, None, WHEN], pa.timestamp("us", "UTC")), [WHEN, None, WHEN]),
    "string": (pa.array(["b", "a", None]), ["b", "a", None]),
    "view": (pa.array(["b" * 20, "a", None], pa.string_view()), ["b" * 20, "a", None]),
    "dictionary": (pa.array(["b", "a", "b"]).dictionary_encode(), ["b", "a", "b"]),
    "binary": (pa.array([b"\xff", b"\xfe", None]), [b"\xff", b"\xfe", None]),
    "null": (pa.nulls(3), [None, None, None]),
}
NO_PARQUET = {"half", "view", "decimal32"}
"""Types that Parquet gives back as others."""


def table_of(column: pa.Array) -> pa.Table:
    return pa.table({"text": ["x", "y", "z"], "n": column})


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_every_type(tmp_path: Path, name: str) -> None:
    column, expected = COLUMNS[name]
    table = table_of(column)
    pa.feather.write_feather(table, str(tmp_path / "a.feather"), compression="lz4")
    with pa.OSFile(str(tmp_path / "s.arrow"), "w") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    sources: list[Any] = [str(tmp_path / "a.feather"), str(tmp_path / "s.arrow"), table, table.to_batches()[0]]
    if name not in NO_PARQUET:
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
        sources.append(str(tmp_path / "a.parquet"))
    for source in sources:
        assert values(source) == expected
        rows = every_row(source)
        found = read_values(open_inputs(source), "n", rows)
        assert ranks(found).tolist() == oracle_ranks(expected)


def test_wanted_rows_of_files_in_many_pieces(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    table = pa.table({"text": ["t"] * 1000, "n": rng.random(1000), "s": [f"s{i}" for i in range(1000)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=70)
    pa.feather.write_feather(table, str(tmp_path / "a.arrow"), compression="zstd", chunksize=90)
    with pa.CompressedOutputStream(str(tmp_path / "a.parquet.gz"), "gzip") as sink:
        sink.write((tmp_path / "a.parquet").read_bytes())
    with pa.CompressedOutputStream(str(tmp_path / "a.arrow.gz"), "gzip") as sink:
        sink.write((tmp_path / "a.arrow").read_bytes())
    datasets.disable_progress_bars()
    datasets.Dataset(table).save_to_disk(tmp_path / "d", num_shards=7)
    for name in ("a.parquet", "a.arrow", "a.parquet.gz", "a.arrow.gz", "d"):
        path = str(tmp_path / name)
        for rows in ([1], [1000], [70, 71, 72], sorted((1 + rng.choice(1000, 300, replace=False)).tolist())):
            expected = table.take([row - 1 for row in rows])
            assert values(path, "n", {path: rows_of(*rows)}) == expected["n"].to_pylist()
            assert values(path, "s", {path: rows_of(*rows)}) == expected["s"].to_pylist()


def test_objects_of_the_real_libraries() -> None:
    records = {"text": ["x", "y", "z"], "n": [2, None, 1], "bad": ["u", "v", "w"]}
    frame = pd.DataFrame({**records, "bad": [1, "v", b"w"]}, index=[5, 5, 6]).astype({"n": "Int64"})
    for value in (
        frame,
        pl.DataFrame(records),
        pa.table(records),
        pa.table(records).to_batches()[0],
        datasets.Dataset.from_dict(records),
        datasets.Dataset.from_dict(records).select([0, 1, 2]),
        datasets.Dataset.from_dict(records).with_format("numpy", columns=["text"]),
        duckdb.from_arrow(pa.table(records)),
    ):
        assert values(value, rows={"input": rows_of(1, 2, 3)}) == [2, None, 1]
        assert values(value, rows={"input": rows_of(3)}) == [1]
    for value in (pl.DataFrame(records), pa.table(records), datasets.Dataset.from_dict(records)):
        with pytest.raises(InputError, match=r"input: there is no column 'm' .*'text', 'n', 'bad'"):
            check_column(open_inputs(value), "m")
    with pytest.raises(InputError, match="columns are named 'n'"):
        check_column(open_inputs(pa.table([["a"], [1], [2]], names=["text", "n", "n"])), "n")
    numbered = pd.DataFrame({0: ["x", "y"], 7: [4, 3]})
    assert values(numbered, "7", {"input": rows_of(1, 2)}, text="0") == [4, 3]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "d"])
def test_files_that_lack_the_column_or_have_one_without_order(tmp_path: Path, name: str) -> None:
    table = pa.table({"text": ["x"], "stars": [1], "tags": [["a"]], "part": [{"a": 1}]})
    path = tmp_path / name
    if name == "d":
        datasets.Dataset(table).save_to_disk(path)
    elif name == "a.arrow":
        pa.feather.write_feather(table, str(path))
    else:
        pq.write_table(table, path)
    with pytest.raises(InputError, match=rf"{name}: there is no column 'star' for --keep .*Did you mean 'stars'"):
        check_column(open_inputs(path), "star")
    for column in ("tags", "part"):
        with pytest.raises(
            InputError, match=rf"{name}: the column '{column}' is of type .*, whose values have no order"
        ):
            check_column(open_inputs(path), column)


def test_documents_without_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    inputs: list[tuple[Any, dict[str, Any]]] = [
        (tmp_path, {}),
        (tmp_path / "a.txt", {"input_format": "lines"}),
        (["a", "b"], {}),
        ({"a": "b"}, {}),
        (pa.array(["a"]), {}),
        (pl.Series(["a"]), {}),
    ]
    for value, options in inputs:
        with pytest.raises(
            InputError, match=r"have no columns, so there is no 'n' to choose by. Choose with --keep first"
        ):
            check_column(open_inputs(value, **options), "n")


def test_standard_input_cannot_be_read_again() -> None:
    code = """
        from neardup.inputs.reader import open_inputs
        from neardup.tasks.columns.reread import check_column
        check_column(open_inputs("-", input_format="{}"), "n")
    """
    for name in ("jsonl", "csv", "parquet", "arrow"):
        lines = "\n".join(line.strip() for line in code.splitlines()).format(name)
        run = warm.run(["-c", lines], input="{}", encoding="utf-8")
        assert "standard input can be read only once" in run.stderr


# Several sources


def test_sources_of_many_formats_come_in_the_order_wanted(tmp_path: Path) -> None:
    first = jsonl(tmp_path / "a.jsonl", [{"text": "a", "n": 1.5}, {"text": "b", "n": 4}])
    pq.write_table(pa.table({"text": ["c", "d"], "n": pa.array([2, None], pa.int8())}), tmp_path / "b.parquet")
    (tmp_path / "c.csv").write_text("text,n\ne,3\nf,0.25\n")
    second, third = str(tmp_path / "b.parquet"), str(tmp_path / "c.csv")
    paths = [Path(path) for path in (first, second, third)]
    assert values(paths) == [1.5, 4, 2, None, 3, 0.25]
    wanted = {third: rows_of(3), second: rows_of(), first: rows_of(2)}
    assert values(paths, rows=wanted) == [0.25, 4]


def test_kinds_mixed_among_files_are_refused(tmp_path: Path) -> None:
    one = jsonl(tmp_path / "a.jsonl", [{"text": "a", "n": None}, {"text": "b", "n": "2020-01-01"}])
    pq.write_table(pa.table({"text": ["c"], "n": [datetime.date(2020, 1, 1)]}), tmp_path / "b.parquet")
    with pytest.raises(
        InputError,
        match=r"'2020-01-01' \(string\) at .*a.jsonl:2 and 2020-01-01 \(date32\[day\]\) at .*b.parquet:1, which",
    ):
        values([Path(one), tmp_path / "b.parquet"])


def combined(tmp_path: Path, *columns: pa.Array) -> list[Any]:
    """The columns as if each were of another file."""
    paths = []
    for i, column in enumerate(columns):
        table = pa.table({"text": ["t"] * len(column), "n": column})
        pa.feather.write_feather(table, str(tmp_path / f"{i}.arrow"))
        paths.append(tmp_path / f"{i}.arrow")
    found = read_values(open_inputs(paths), "n", every_row(paths))
    listed: list[Any] = found.to_pylist()
    assert ranks(found).tolist() == oracle_ranks(listed)
    return listed


def test_whole_numbers_and_fractions_of_several_files_are_compared_exactly(tmp_path: Path) -> None:
    assert combined(tmp_path, pa.array([BIG, -7]), pa.array([1.5, None]), pa.nulls(1)) == [BIG, -7, 1.5, None, None]
    assert combined(tmp_path, pa.array([1], pa.int8()), pa.array([0.5], pa.float32()), pa.array([True])) == [1, 0.5, 1]
    with pytest.raises(
        InputError,
        match=rf"has {BIG + 1} \(int64\) at .*0.arrow:2 and 0.5 \(double\) at .*1.arrow:1, .* as one type in",
    ):
        combined(tmp_path, pa.array([1, BIG + 1]), pa.array([0.5]))


NAIVE = WHEN.replace(tzinfo=None)


@pytest.mark.parametrize(
    "columns",
    [
        (pa.array([-1]), pa.array([2**64 - 1], pa.uint64())),
        (pa.array([1]), pa.array([Decimal("0.01")])),
        (pa.array([1]), pa.array(["1"])),
        (pa.array([1]), pa.array([NAIVE])),
        (pa.array([NAIVE.date()]), pa.array([NAIVE])),
        (pa.array([NAIVE], pa.timestamp("s")), pa.array([NAIVE], pa.timestamp("us"))),
        (pa.array([WHEN], pa.timestamp("s", "UTC")), pa.array([NAIVE], pa.timestamp("s"))),
    ],
    ids=lambda columns: " and ".join(str(column.type) for column in columns),
)
def test_files_with_a_column_of_two_types_are_refused(tmp_path: Path, columns: tuple[pa.Array, ...]) -> None:
    for one, other in (columns, columns[::-1]):
        with pytest.raises(InputError, match=r"the column 'n' has .*0.arrow:1 and .*1.arrow:1, .* or choose another"):
            combined(tmp_path, one, other)


def test_times_of_one_type_are_compared_by_the_clock(tmp_path: Path) -> None:
    later = NAIVE + datetime.timedelta(milliseconds=1)
    for unit in ("ms", "us"):
        one, other = pa.array([later, None, NAIVE], pa.timestamp(unit)), pa.array([later], pa.timestamp(unit))
        assert combined(tmp_path, one, other) == [later, None, NAIVE, later]
    times = [datetime.time(12), datetime.time(11, 59)]
    assert combined(tmp_path, pa.array(times[:1]), pa.array(times[1:])) == times
    spans = [datetime.timedelta(seconds=2), datetime.timedelta(milliseconds=1)]
    assert combined(tmp_path, pa.array(spans[:1]), pa.array(spans[1:])) == spans


# Ranks

INTEGERS = st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from([BIG - 1, BIG, BIG + 1, -BIG - 1])


@given(st.lists(st.none() | INTEGERS))
def test_ranks_of_whole_numbers_are_exact(listed: list[int | None]) -> None:
    assert ranks(pa.array(listed, pa.int64())).tolist() == oracle_ranks(listed)


@given(st.lists(st.none() | st.floats()))
def test_ranks_of_floats(listed: list[float | None]) -> None:
    assert ranks(pa.array(listed, pa.float64(), from_pandas=False)).tolist() == oracle_ranks(listed)


@given(st.lists(st.none() | st.text(max_size=4)))
def test_ranks_of_strings_are_by_code_point(listed: list[str | None]) -> None:
    assert ranks(pa.array(listed, pa.large_string())).tolist() == oracle_ranks(listed)


@given(st.lists(st.none() | st.booleans() | st.integers(-20, 20) | st.integers(-(10**20), 10**20) | st.floats(-4, 4)))
def test_ranks_of_what_json_lines_hold_are_those_of_python(
    tmp_path_factory: pytest.TempPathFactory, listed: list[Any]
) -> None:
    path = jsonl(tmp_path_factory.mktemp("r") / "a.jsonl", [{"text": "t", "n": each} for each in listed])
    rows = {path: np.arange(1, len(listed) + 1)}
    try:
        found = read_values(open_inputs(path), "n", rows)
    except InputError as exc:
        if "does not fit into 64 bits" in str(exc):
            assert any(isinstance(each, int) and not -(2**63) <= each < 2**63 for each in listed)
            return
        assert "cannot be compared exactly" in str(exc)  # noqa: PT017
        assert any(isinstance(each, int) and abs(each) > BIG for each in listed)
        assert any(isinstance(each, float) for each in listed)
        return
    assert ranks(found).tolist() == oracle_ranks(listed)


def test_reading_values_imports_no_frame_library(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", [{"text": "t", "n": each} for each in (1, 2.5, None)])
    (tmp_path / "b.csv").write_text("text,n\na,1\nb,2.5\n")
    code = f"""
        import sys
        import numpy as np
        from neardup.inputs.reader import open_inputs
        from neardup.tasks.columns.reread import read_values
        from neardup.tasks.columns.values import ranks
        for path in ({path!r}, {str(tmp_path / "b.csv")!r}):
            assert ranks(read_values(open_inputs(path), "n", {{path: np.array([2])}})).tolist() == [0]
        print(*sorted({{"pandas", "polars", "datasets"}} & set(sys.modules)))
    """
    lines = "\n".join(line[8:] for line in code.splitlines())
    run = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False)
    assert (run.stdout.strip(), run.stderr) == ("", "")
