"""CSV and TSV: layouts, quotes, bad lines, and that nothing depends on how the bytes are cut."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.reading import Everything, gathered, read

from neardup.errors import InputError
from neardup.inputs.formats import FORMATS
from neardup.inputs.source import ReadOptions
from neardup.inputs.text import delimited, endless
from neardup.kernels.delimited import line_stops


def read_bytes(folder: Path, content: bytes, name: str = "x.csv", **options: object) -> Everything:
    path = folder / name
    path.write_bytes(content)
    return read(path, **options)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"id,text\n1,one\n2,two\n", "header.csv"),
        (b"text,other,id\none,x,1\ntwo,y,2\n", "order.csv"),
        (b"ID,Text\r\n1,one\r\n2,two\r\n", "windows.csv"),
        (b"\xef\xbb\xbfid;text\n1;one\n2;two", "bom_semicolon.csv"),
        (b'"id";"text"\n"1";"one"\n"2";"two"\n', "quoted_semicolon.csv"),
        (b"id|text\n1|one\n2|two\n", "bar.csv"),
        (b"id\ttext\n1\tone\n2\ttwo\n", "header.tsv"),
        (b"1\tone\n2\ttwo\n", "plain.tsv"),
        (b"1,one\n2,two\n", "plain.csv"),
    ],
)
def test_layouts_that_are_recognised(tmp_path: Path, content: bytes, name: str) -> None:
    every = read_bytes(tmp_path, content, name)
    assert (every.texts, every.ids) == (["one", "two"], ["1", "2"])
    assert every.consumed == len(content)


def test_rows_are_physical_lines(tmp_path: Path) -> None:
    every = read_bytes(tmp_path, b'id,text\n1,"two\nlines"\n\n2,x\n\n')
    assert (every.texts, every.rows, every.blank) == (["two\nlines", "x"], [2, 5], 2)


def test_a_single_column_needs_no_id(tmp_path: Path) -> None:
    every = read_bytes(tmp_path, b"text\none\ntwo\n")
    assert every.ids == [f"{tmp_path}/x.csv:2", f"{tmp_path}/x.csv:3"]
    assert read_bytes(tmp_path, b"just a line\nanother\n").texts == ["just a line", "another"]


def test_columns_can_be_named_and_numbered(tmp_path: Path) -> None:
    content = b"key,title,story\n1,a,one\n"
    assert read_bytes(tmp_path, content, text="title").texts == ["a"]
    assert read_bytes(tmp_path, content, text="story", id="title").ids == ["a"]
    assert read_bytes(tmp_path, content, text="3").texts == ["one"]
    headless = read_bytes(tmp_path, b"x,one,7\ny,two,8\n", text="2", id="3")
    assert (headless.texts, headless.ids) == (["one", "two"], ["7", "8"])


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"id,year,story\n1,2,x\n", {}, "no column is named like a text.*'id', 'year', 'story'"),
        (b"id,text\n1,x\n", {"text": "txet"}, "Did you mean 'text'"),
        (b"id,text\n1,x\n", {"id": "idd"}, "no column 'idd' for --id"),
        (b"a,b,c\n1,2,3\n", {}, "3 fields. Give the number of the text's column"),
        (b"a,b,c\n1,2,3\n", {"text": "4"}, "no column number 4 for --text"),
        (b'"id,text\n1,x\n', {}, r":1: the first row has a quoted field that is not closed"),
    ],
)
def test_an_unusable_first_row_names_the_cure(
    tmp_path: Path, content: bytes, options: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_bytes(tmp_path, content, **options)


BAD = [
    (b'1,"open\n2,"fine"\n3,x\n', ["fine", "x"], [2]),
    (b'1,"open\n2,fine\n', ["fine"], [2]),
    (b"1,x,y\n2,fine\n", ["fine"], [2]),
    (b"1\n2,fine\n", ["fine"], [2]),
    (b'1,"junk"x\n2,fine\n', ["fine"], [2]),
    (b"1,\xff\n2,fine\n", ["fine"], [2]),
    (b"\xff,x\n2,fine\n", ["fine"], [2]),
    (b",x\n2,fine\n", ["fine"], [2]),
    (b'1,"a\nb",c\n2,fine\n', ["fine"], [2]),
    (b'1,5" disk\n2,fine\n', ['5" disk', "fine"], []),
    (b'1,""\n2,"say ""hi"""\n', ["", 'say "hi"'], []),
]


@pytest.mark.parametrize(("content", "texts", "bad_lines"), BAD)
def test_a_bad_record_costs_one_line(tmp_path: Path, content: bytes, texts: list[str], bad_lines: list[int]) -> None:
    every = read_bytes(tmp_path, b"id,text\n" + content, on_bad="skip")
    assert every.texts == texts
    assert [fault.split(":")[-2] for fault in every.faults] == [str(line) for line in bad_lines]
    assert every.bad == len(bad_lines)
    if bad_lines:
        with pytest.raises(InputError, match=rf"x\.csv:{bad_lines[0]}: .* --on-bad skip"):
            read_bytes(tmp_path, b"id,text\n" + content)


def test_stray_quotes_in_tsv_swallow_no_line(tmp_path: Path) -> None:
    content = b'1\t"Hello, he said\n2\tworld"\n3\t"a ""b"" c"\n4\t"x" y\n5\t"two\nlines"\n6\t"has\ttab"\n'
    every = read_bytes(tmp_path, content, "x.tsv")
    assert every.texts == ['"Hello, he said', 'world"', 'a "b" c', '"x" y', "two\nlines", "has\ttab"]
    assert every.rows == [1, 2, 3, 4, 5, 7]


def test_other_encodings(tmp_path: Path) -> None:
    latin = read_bytes(tmp_path, "id,text\n1,déjà\n".encode("latin-1"), encoding="latin-1")
    assert latin.texts == ["déjà"]
    assert read_bytes(tmp_path, "id,text\n1,déjà\n".encode("utf-16"), encoding="utf-16").texts == ["déjà"]
    with pytest.raises(InputError, match=r":2: .* --encoding"):
        read_bytes(tmp_path, "id,text\n1,déjà\n".encode("latin-1"))


@pytest.mark.parametrize("content", [b"", b"\n\r\n\n", b"id,text\n"])
def test_files_without_records(tmp_path: Path, content: bytes) -> None:
    every = read_bytes(tmp_path, content)
    assert (every.texts, every.bad, every.consumed) == ([], 0, len(content))


def test_lines_of_items(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, b"id,text\n1,a  b\xc2\xa0c\n", item=True).texts == ["a|b|c"]


def test_blocks_hold_at_most_so_many_documents(tmp_path: Path) -> None:
    content = b"id,text\n" + b"".join(b"%d,x\n" % i for i in range(10))
    every = read_bytes(tmp_path, content, block=3)
    assert [len(batch.documents) for batch in every.batches] == [3, 3, 3, 1]
    assert every.rows == list(range(2, 12))
    assert every.consumed == len(content)


def in_small_blocks(path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> Everything:
    whole = delimited.line_blocks
    monkeypatch.setattr(delimited, "line_blocks", lambda *a, **k: whole(*a, **k, block_bytes=size))
    reader = FORMATS[path.suffix[1:]].load()
    source = reader(str(path), ReadOptions(on_bad="skip"), total_bytes=path.stat().st_size)
    return gathered(task() for task in source.tasks())


@pytest.mark.parametrize("size", [64, 100, 333])
def test_records_may_cross_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["id", "text"])
    texts = [("word, " * (i % 40) + '\n"q" ') * (i % 5) for i in range(60)]
    writer.writerows((f"d{i}", text) for i, text in enumerate(texts))
    path = tmp_path / "x.csv"
    path.write_bytes(out.getvalue().encode())
    whole, cut = read(path), in_small_blocks(path, size, monkeypatch)
    assert cut.texts == whole.texts == texts
    assert (cut.rows, cut.ids, cut.bad) == (whole.rows, whole.ids, 0)
    assert cut.consumed == whole.consumed == path.stat().st_size


@pytest.mark.parametrize(("content", "texts", "bad_lines"), BAD)
def test_faults_are_the_same_in_small_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, texts: list[str], bad_lines: list[int]
) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"id,text\n" + content + b"9,end\n" * 40)
    every = in_small_blocks(path, 64, monkeypatch)
    assert every.texts == texts + ["end"] * 40
    assert every.bad == len(bad_lines)


def test_a_quote_open_too_long_counts_as_never_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "MAX_RECORD", 500)
    monkeypatch.setattr(endless, "MAX_RECORD", 500)
    path = tmp_path / "x.csv"
    path.write_bytes(b'id,text\n1,"open\n' + b"2,fine\n" * 200)
    every = in_small_blocks(path, 64, monkeypatch)
    assert (every.bad, every.texts) == (1, ["fine"] * 200)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=20)


@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=3), TEXT), min_size=1, max_size=12))
def test_what_the_csv_module_writes_is_read_back(records: list[tuple[str, str]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["id", "text"])
    writer.writerows(records)
    every = _read_quickly(out.getvalue())
    assert list(zip(every.ids, every.texts, strict=True)) == records


@given(st.text('a",\n', max_size=30))
def test_any_bytes_give_records_or_faults(body: str) -> None:
    every = _read_quickly("id,text\n" + body)
    if '"' not in body:
        lines = [line.split(",") for line in body.split("\n") if line]
        expected = [line[1] for line in lines if len(line) == 2 and line[0]]
        assert every.texts == expected
        assert every.bad == len(lines) - len(expected)


def _read_quickly(content: str) -> Everything:
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(content.encode())
        file.flush()
        return read(Path(file.name), on_bad="skip")


@given(
    st.lists(st.sampled_from([b"\n", b"\x0b", b"\x8a", b"\x00", b"\xff", b"plain bytes"]), max_size=60).map(b"".join)
)
def test_the_kernel_finds_every_newline_and_nothing_else(data: bytes) -> None:
    out = np.empty(len(data), dtype=np.int64)
    count = line_stops(np.frombuffer(bytearray(data + b"\n"), dtype=np.uint8), len(data), out)
    assert out[:count].tolist() == [i + 1 for i, byte in enumerate(data) if byte == 10]
