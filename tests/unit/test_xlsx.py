"""Spreadsheets: read as tables, written as tables of pairs, and copied without some of their rows."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.comments import Comment
from openpyxl.worksheet.table import Table
from tests.unit.reading import read

import neardup
from neardup.cli import main
from neardup.errors import InputError, OutputError
from neardup.inputs.columnar.xlsx import cell_text
from neardup.inputs.reader import open_inputs
from neardup.outputs import xlsx
from neardup.outputs.write import write_table

LONG = "A rather long title of a book, which is here to be compared with others"
OTHER = "Quite another text that has nothing to do with any of the titles above it"


def save(path: Path, rows: list[list[Any]], *more: str) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name).append([1])
    book.save(path)
    return path


def cells(path: Path, sheet: int = 0) -> list[tuple[Any, ...]]:
    return list(openpyxl.load_workbook(path).worksheets[sheet].iter_rows(values_only=True))


def test_a_sheet_is_a_table_whose_rows_have_their_numbers(tmp_path: Path) -> None:
    rows = [["id", "title", "year"], [7, "one", 1990], [None] * 3, [8, 1984, 1949], [9.0, date(2020, 1, 2), 1]]
    path = save(tmp_path / "a.xlsx", rows)
    every = read(path)
    assert every.texts == ["one", "1984", "2020-01-02T00:00:00"]
    assert (every.ids, every.rows, every.blank) == ([7, 8, 9], [2, 4, 5], 1)
    assert read(path, text="title,year").texts[:2] == ["one\n1990", "1984\n1949"]
    assert read(path, text="title", id="year").ids == [1990, 1949, 1]
    assert read(path, id="title", text="year").ids == ["one", "1984", "2020-01-02T00:00:00"]
    with pytest.raises(InputError, match=r"no column 'titel'.*Did you mean 'title'"):
        read(path, text="titel")


def test_the_first_sheet_that_is_shown_is_read_and_the_others_are_told(tmp_path: Path) -> None:
    path = save(tmp_path / "a.xlsx", [["text"], ["hidden"]], "shown", "third")
    book = openpyxl.load_workbook(path)
    book["Sheet"].sheet_state = "hidden"
    book["shown"].delete_rows(1)
    for value in ("text", "read"):
        book["shown"].append([value])
    book.active = 1
    book.save(path)
    reader = open_inputs(path)
    assert read(path).texts == ["read"]
    assert [(each.reason, each.count) for each in reader.passed_over] == [("further sheet", 1)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"no zip at all", "cannot be read as .xlsx"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "protected by a password"),
    ],
)
def test_what_is_no_spreadsheet_says_so(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(InputError, match=words):
        read(tmp_path / "a.xlsx")


def test_a_package_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neardup.inputs.columnar.xlsx.UNSUSPICIOUS", 1 << 20)
    path = save(tmp_path / "a.xlsx", [["text"], ["one"]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as package:
        package.writestr("xl/bomb.xml", bytes(20 << 20))
    with pytest.raises(InputError, match="unpacks to"):
        read(path)


@settings(max_examples=30)
@given(st.lists(st.lists(st.none() | st.text(max_size=9) | st.floats() | st.integers() | st.booleans(), min_size=2,
                max_size=2), max_size=6))  # fmt: skip
def test_a_table_reads_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, rows: list[list[Any]]) -> None:
    path = tmp_path_factory.mktemp("x") / "a.xlsx"
    kinds = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
    for kind, type_ in kinds.items():
        values = [each for row in rows for each in row if each is None or type(each) is kind]
        values = [each for each in values if type(each) is not int or abs(each) < 2**63]
        write_table(pa.table({"a": pa.array(values, type_), "b": pa.array(values, type_)}), path, format=None, spec={})
        wanted = [None if each != each or each in (float("inf"), -float("inf")) else each for each in values]
        found = [row[1] for row in cells(path)[1:]]
        if kind is int:
            assert [None if each is None else int(each) for each in found] == wanted
        elif kind is str:
            assert [cell_text(each) or "" for each in found] == [each or "" for each in wanted]
        else:
            assert found == wanted


def test_a_text_that_begins_as_a_formula_is_none_and_equal_tables_are_equal_bytes(tmp_path: Path) -> None:
    table = pa.table({"id": ["=1+1", "-1", "plain"], "n": [10**16, 2, 3]})
    for name in ("a", "b"):
        write_table(table, tmp_path / f"{name}.xlsx", format=None, spec={"bands": "3x2"})
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    first = book.worksheets[0]["A2"]
    assert (first.value, first.data_type, first.quotePrefix) == ("=1+1", "s", True)
    assert book.worksheets[0]["B2"].value == "10000000000000000"
    assert list(book.worksheets[-1].iter_rows(values_only=True)) == [("bands", json.dumps("3x2"))]
    assert not (tmp_path / "a.xlsx.spec.json").exists()


def test_what_does_not_fit_on_a_sheet_goes_on_on_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MOST_ROWS", 4)
    write_table(pa.table({"n": list(range(7))}), tmp_path / "a.xlsx", format=None, spec={})
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    assert book.sheetnames == ["table", "table 2", "table 3", "neardup spec"]
    assert [[row[0] for row in sheet.iter_rows(values_only=True)] for sheet in book.worksheets[:3]] == [
        ["n", 0, 1, 2], ["n", 3, 4, 5], ["n", 6],
    ]  # fmt: skip


def test_a_text_that_no_cell_can_hold_ends_the_writing_and_names_the_cure(tmp_path: Path) -> None:
    write_table(pa.table({"id": ["x" * 32_767]}), tmp_path / "a.xlsx", format=None, spec={})
    with pytest.raises(OutputError, match=r"row 2 .* 32,768 characters as 'id'.*\.parquet"):
        write_table(pa.table({"id": ["", "😀" * 16_384]}), tmp_path / "b.xlsx", format=None, spec={})
    assert not (tmp_path / "b.xlsx").exists()


def test_the_command_goes_from_a_spreadsheet_to_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "a.xlsx", [["id", "title"], [1, LONG], [2, OTHER], [3, LONG]])
    result = CliRunner().invoke(main, ["find", "a.xlsx", "-o", "pairs.xlsx", "--clusters", "clusters.xlsx"])
    assert result.exit_code == 0, result.output
    assert cells(tmp_path / "pairs.xlsx") == [("id_a", "id_b", "similarity"), (1, 3, 1)]
    assert len(cells(tmp_path / "clusters.xlsx")) == 3
    again = CliRunner().invoke(main, ["find", ".", "--json"])
    assert ("written by neardup", 2) in {(e["reason"], e["count"]) for e in json.loads(again.stdout)["passed_over"]}


def test_a_clean_copy_keeps_the_cells_that_stay_and_what_lies_round_them(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["id", "title", "n", "formula"])
    titles = [LONG, OTHER, LONG, f"{OTHER} 2 and quite some more words", LONG, "=not a formula but text of some length"]
    for i, title in enumerate(titles, start=1):
        sheet.append([i, title, i / 10 + 0.2, None])
    sheet["B7"].data_type = "s"
    sheet["D5"] = "=C5*2"
    sheet["A5"].comment = Comment("stays", "me")
    sheet["A4"].comment = Comment("goes", "me")
    sheet["B7"].hyperlink = "https://example.org"
    sheet.merge_cells("F5:G7")
    sheet.merge_cells("F4:G4")
    sheet.add_table(Table(displayName="T", ref="A1:D7"))
    sheet.column_dimensions["B"].width = 40
    book.create_sheet("more")["A1"] = "=Sheet!A5"
    book.save(path)
    exact = "0.30000000000000004"
    _replace(path, "xl/worksheets/sheet1.xml", b"<v>0.3</v>", f"<v>{exact}</v>".encode())
    _replace(path, "xl/worksheets/sheet1.xml", b"<f>C5*2</f><v></v>", b"<f>C5*2</f><v>1.2</v>")
    out = tmp_path / "out.xlsx"
    cleaned = neardup.dedup(path, output=out, keep="first")
    assert cleaned.removed.column("row").to_pylist() == [4, 6]
    copy = openpyxl.load_workbook(out)
    kept = copy.worksheets[0]
    assert [row[:3] for row in kept.iter_rows(values_only=True)] == [
        ("id", "title", "n"),
        (1, LONG, float(exact)),
        (2, OTHER, 0.4),
        (4, titles[3], 4 / 10 + 0.2),
        (6, titles[5], 0.8),
    ]
    assert [kept["D4"].value, kept["A4"].comment.text, kept["A3"].comment] == [1.2, "stays", None]
    assert [kept["B5"].data_type, kept["B5"].hyperlink.target] == ["s", "https://example.org"]
    assert [str(each) for each in kept.merged_cells.ranges] == ["F4:G5"]
    assert kept.tables["T"].ref == "A1:D5"
    assert kept.column_dimensions["B"].width == 40
    assert copy.worksheets[1]["A1"].value == "=Sheet!A5"
    assert read(out).rows == [2, 3, 4, 5]


def _replace(path: Path, part: str, old: bytes, new: bytes) -> None:
    with zipfile.ZipFile(path) as package:
        parts = {each: package.read(each) for each in package.namelist()}
    assert parts[part].count(old) == 1, parts[part]
    parts[part] = parts[part].replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)


def test_a_column_of_a_spreadsheet_decides_what_stays(tmp_path: Path) -> None:
    rows = [["id", "title", "year"], [1, LONG, 1990], [2, OTHER, None], [3, LONG, 2001.5], [4, LONG, 1980]]
    path = save(tmp_path / "a.xlsx", rows)
    neardup.dedup(path, output=tmp_path / "out.xlsx", keep="max:year")
    assert [row[0] for row in cells(tmp_path / "out.xlsx")] == ["id", 2, 3]
    with pytest.raises(InputError, match=r"no column 'yaer' for --keep .*Did you mean 'year'"):
        neardup.dedup(path, output=tmp_path / "out.xlsx", keep="max:yaer")


def test_an_annotated_copy_has_three_more_columns(tmp_path: Path) -> None:
    path = save(tmp_path / "a.xlsx", [["id", "title", "cluster"], [1, LONG, "x"], [2, OTHER], [3, LONG, "y"]])
    neardup.dedup(path, output=tmp_path / "out.xlsx", keep="first", annotate=True)
    assert cells(tmp_path / "out.xlsx") == [
        ("id", "title", "cluster", "neardup_cluster", "neardup_keeper", "neardup_similarity"),
        (1, LONG, "x", 0, 1, 1),
        (2, OTHER, None, None, None, None),
        (3, LONG, "y", 0, 1, 1),
    ]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=12), st.booleans())
def test_rows_that_stay_are_those_of_openpyxl(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[bool, int]], has_numbers: bool
) -> None:
    """Against deleting the same rows with openpyxl; also of a sheet whose rows and cells do not say where they are."""
    import numpy as np

    from neardup.inputs.source import ReadOptions
    from neardup.outputs.sink import Sink
    from neardup.tasks.rewrite.model import Rewrite
    from neardup.tasks.rewrite.xlsx import rewrite_xlsx

    path = tmp_path_factory.mktemp("x") / "a.xlsx"
    table = [["text", "b"], *([f'<r> {i} c r="A1"', i, *["z"] * more] for i, (_, more) in enumerate(rows))]
    if has_numbers:
        save(path, table)
    else:
        texts = pa.table({"text": [str(row[0]) for row in table[1:]], "b": [str(row[1]) for row in table[1:]]})
        write_table(texts, path, format=None, spec={})
        table = [["text", "b"], *([str(row[0]), str(row[1])] for row in table[1:])]
    removed = np.array([i for i, (goes, _) in enumerate(rows, start=2) if goes], dtype=np.int64)
    out = io.BytesIO()
    rewrite_xlsx(Rewrite(str(path), "xlsx", ReadOptions(), removed=removed), Sink(out))
    found = openpyxl.load_workbook(io.BytesIO(out.getvalue())).worksheets[0]
    kept = [row for i, row in enumerate(table, start=1) if i not in removed]
    assert [[cell for cell in row if cell is not None] for row in found.iter_rows(values_only=True)] == kept
