"""Records, ids, columns and options that are odd: each is read, counted as bad, or refused in words."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openpyxl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from tests import warm

import neardup
from neardup.cli import main
from neardup.cli.tune.page import Page
from neardup.errors import InputError
from neardup.inputs.columns import NoTextColumn

NOTICE = "the notice that stands on every page of this site, and is longer than a hundred bytes for sure, yes it is"
ROWS = ["one two three four five six", "one two three four five six!", None, "", "something else altogether here"]
NEAR = ("-t", "0.7", "--shingle", "char:3", "-q")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="neardup")


def refused(*args: str) -> str:
    result = run(*args)
    assert result.exit_code != 0, result.output
    return " ".join(result.stderr.split())


def write_lines(name: str, *records: dict[str, Any]) -> str:
    Path(name).write_text("".join(json.dumps(record) + "\n" for record in records))
    return name


def write_arrow(name: str, table: pa.Table, rows: int = 2) -> str:
    with ipc.new_file(name, table.schema) as file:
        file.write_table(table, max_chunksize=rows)
    return name


@pytest.mark.parametrize("ids", [[0, 1, None, 3, 4], [None] * 5])
def test_a_row_without_id_and_text_is_one_bad_record(ids: list[int | None]) -> None:
    pq.write_table(pa.table({"id": ids, "text": ROWS}), "in.parquet")
    found = json.loads(run("find", "in.parquet", "--on-bad", "skip", "--json").stdout)
    has_ids = any(id is not None for id in ids)  # a column without any value names no document
    bad = sum(text is None or (has_ids and id is None) for id, text in zip(ids, ROWS, strict=True))
    assert (found["documents"], found["bad"]) == (5 - bad, bad)
    assert run("dedup", "in.parquet", "--on-bad", "skip", "-o", "out.parquet", *NEAR).exit_code == 0
    assert pq.read_table("out.parquet").num_rows == 4


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_views_of_strings_with_nulls_are_cleaned(suffix: str) -> None:
    table = pa.table({"id": range(5), "text": pa.array(ROWS, pa.string_view())})
    pq.write_table(table, "in.parquet")
    write_arrow("in.arrow", table, rows=5)
    result = run("dedup", f"in.{suffix}", "--on-bad", "skip", "-o", f"out.{suffix}", *NEAR)
    assert result.exit_code == 0, result.stderr
    copy = pq.read_table("out.parquet") if suffix == "parquet" else ipc.open_file("out.arrow").read_all()
    assert copy["text"].to_pylist() == [ROWS[1], None, "", ROWS[4]]


def test_texts_are_cut_from_an_arrow_file_whose_dictionary_all_batches_share() -> None:
    texts = [f"one {NOTICE}", f"two {NOTICE}", "three", None, f"{NOTICE} four", "one ", f"one {NOTICE}"]
    kind = pa.dictionary(pa.int16(), pa.string())
    table = pa.table({"id": range(7), "text": pa.array(texts).dictionary_encode().cast(kind)})
    write_arrow("in.arrow", table)
    result = run(
        "passages", "in.arrow", "--cut", "none", "--min-left", "0", "-o", "out.arrow", "-q", "--on-bad", "skip"
    )
    assert result.exit_code == 0, result.stderr
    copy = ipc.open_file("out.arrow").read_all()
    assert copy["text"].type == kind
    values = copy["text"].chunk(0).dictionary.to_pylist()
    assert len(values) == len(set(values))
    assert all(NOTICE not in text for text in copy["text"].to_pylist() if text is not None)
    assert copy["text"].to_pylist()[2:4] == ["three", None]


def test_a_text_after_a_number_of_5000_digits_is_cut() -> None:
    digits = "7" * 5000
    Path("in.jsonl").write_text(
        f'{{"id": "a", "key": {digits}, "text": "one {NOTICE} two"}}\n{{"id": "b", "text": "three {NOTICE} four"}}\n'
    )
    result = run("passages", "in.jsonl", "--cut", "none", "-o", "out.jsonl", "-q")
    assert result.exit_code == 0, result.stderr
    assert digits in Path("out.jsonl").read_text()
    assert NOTICE not in Path("out.jsonl").read_text()


def test_a_prefix_of_ids_may_have_a_nul() -> None:
    with neardup.Index.create(shingle="word:1", threshold=0.5) as index:
        index.add(["\0", "\0b", "a", "\0é"], ["one", "two", "three", "four"])
        assert [each.id for each in index.page(prefix="\0").documents] == ["\0", "\0b", "\0é"]
        assert [each.id for each in index.page(prefix="\0é").documents] == ["\0é"]


def test_a_file_with_a_line_break_in_its_name_is_read() -> None:
    name = write_lines("a\nb.jsonl", {"text": "some words"})
    assert run("find", name, "-q").exit_code == 0
    assert "a\\nc.jsonl does not exist" in refused("find", "a\nc.jsonl")
    with pytest.raises(InputError, match="put it in a list"):
        neardup.find("first line\nsecond line")


@pytest.mark.parametrize("given", [{"threshold": 10**400}, {"memory": "9" * 400 + "GB"}, {"memory": 10**5000}])
def test_numbers_beyond_all_bounds_are_refused_in_words(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"\. Give a "):
        neardup.find(["some words"], **given)


def test_a_variable_that_numba_refuses_is_named() -> None:
    write_lines("in.jsonl", {"text": "some words"})
    env = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    env |= {"NUMBA_NUM_THREADS": "0", "NEARDUP_NATIVE": "0"}
    done = warm.run(["-m", "neardup", "find", "in.jsonl", "-q"], env=env, encoding="utf-8")
    assert done.returncode == 1
    assert "Remove NUMBA_NUM_THREADS from the environment" in done.stderr


RETURNS = {
    "plain.csv": b"id,text\r1,first text\r2,second text\r",
    "quoted.csv": b'"id","text"\r"1","first\ntext"\r',
    "wide.tsv": b"id\ttext\r1\tfirst\r",
    "records.jsonl": b'{"text":"a"}\r{"text":"b"}\r',
}


@pytest.mark.parametrize("name", RETURNS)
def test_lines_that_end_in_carriage_returns_alone_are_refused(name: str) -> None:
    Path(name).write_bytes(RETURNS[name])
    assert f"{name}: its lines end in carriage returns alone" in refused("find", name, "--on-bad", "skip")
    Path(name).write_bytes(RETURNS[name].decode().encode("utf-16"))
    assert "carriage returns alone" in refused("find", name, "--encoding", "utf-16")


def test_plain_lines_that_end_in_carriage_returns_alone_are_refused() -> None:
    Path("words").write_bytes(b"one\rtwo\rthree")
    assert "carriage returns alone" in refused("find", "words", "--input-format", "lines")


def texts_of(name: str, **how: Any) -> list[str]:
    reader = neardup.inputs.reader.open_inputs(Path(name), **how)
    batches = (task() for task in reader.tasks())
    return [batch.documents.blob(i).decode() for batch in batches for i in range(len(batch.documents))]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'id,text\n1,"a\rb"\n2,c\rd\n', ["a\rb", "c\rd"]),
        (b'1,"a\rb"', ["a\rb"]),
        (b"1,a\rb\n2,c\n", ["a\rb", "c"]),
        (b"id,text\r\n1,a\r\n2,b\r\n", ["a", "b"]),
        (b"sep=;\r\nid;text\r\n1;a, b\r\n", ["a, b"]),
        (b'"sep=|"\nid|text\n1|a, b\n', ["a, b"]),
        (b"sep=;\n1;a, b\n2;c\n", ["a, b", "c"]),
        (b"1;first, one\n2;second\n3;third\n", ["first, one", "second", "third"]),
        (b"Well; that is it\nNothing here\nNor here\n", ["Well; that is it", "Nothing here", "Nor here"]),
        (b'1,"a; b"\n2,"c; d"\n', ["a; b", "c; d"]),
    ],
)
def test_delimiters_and_line_ends_of_csv(content: bytes, expected: list[str]) -> None:
    Path("in.csv").write_bytes(content)
    assert texts_of("in.csv") == expected


@pytest.mark.parametrize("first", [b"", b"sep=;\r\n", b"\xef\xbb\xbf"])
def test_a_delimiter_is_found_before_the_names_are_looked_for(first: bytes) -> None:
    rows = b"Nr;Titel;Autor;Jahr\r\n", b"1;Ein Buch, alt;Mann, T.;1901\r\n", b"2;Ein Buch, alt;Mann, T.;1902\r\n"
    Path("in.csv").write_bytes(first + b"".join(rows))
    assert "the columns are 'Nr', 'Titel', 'Autor', 'Jahr'" in refused("find", "in.csv", "--text", "title,author")
    assert "the first row is 'Nr', 'Titel', 'Autor', 'Jahr'" in refused("find", "in.csv")
    assert run("dedup", "in.csv", "--text", "Titel,Autor", "--keep", "first", "-o", "out.csv", "-q").exit_code == 0
    assert Path("out.csv").read_bytes() == first + rows[0] + rows[1]


@pytest.mark.parametrize(("tag", "words"), [(b'<row r="191"', "row 92 comes after its row 191"), (b"<row", None)])
def test_rows_of_a_sheet_that_come_after_a_later_one_are_not_lost(tag: bytes, words: str | None) -> None:
    book = openpyxl.Workbook()
    for row in [("id", "text"), *((i, f"text {i}") for i in range(100))]:
        book.active.append(row)
    book.save("plain.xlsx")
    with zipfile.ZipFile("plain.xlsx") as plain, zipfile.ZipFile("in.xlsx", "w") as odd:
        for part in plain.infolist():
            odd.writestr(part.filename, re.sub(rb'<row r="91"', tag, plain.read(part)))
    if words is None:
        assert len(texts_of("in.xlsx")) == 100
    else:
        assert words in refused("find", "in.xlsx")


def _sheet(name: str) -> str:
    book = openpyxl.Workbook()
    for row in [("id", "price"), (1, "12.50"), (2, "1e3")]:
        book.active.append(row)
    book.save(name)
    return name


TABLE = pa.table({"id": [1, 2], "price": ["12.50", "1e3"]})
PRICES: dict[str, Callable[[], Any]] = {
    "csv": lambda: Path("p.csv").write_text("id,price\n1,12.50\n2,1e3\n") and Path("p.csv"),
    "xlsx": lambda: Path(_sheet("p.xlsx")),
    "jsonl": lambda: Path(write_lines("p.jsonl", {"id": 1, "price": "12.50"}, {"id": 2, "price": "1e3"})),
    "parquet": lambda: pq.write_table(TABLE, "p.parquet") or Path("p.parquet"),
    "arrow": lambda: Path(write_arrow("p.arrow", TABLE)),
    "frame": TABLE.to_pandas,
    "reader": TABLE.to_reader,
}


@pytest.mark.parametrize("kind", PRICES)
def test_a_column_of_numbers_is_not_guessed_to_be_the_text(kind: str) -> None:
    with pytest.raises(NoTextColumn, match=r"'price' holds numbers\. .*the columns are 'id', 'price'"):
        neardup.find(PRICES[kind]())
    assert neardup.find(PRICES[kind](), text="price").summary.documents == 2


def test_a_column_of_words_and_numbers_is_still_guessed() -> None:
    write_lines("in.jsonl", {"id": 1, "zip": "10115"}, {"id": 2, "zip": "10115 Berlin"})
    assert texts_of("in.jsonl") == ["10115", "10115 Berlin"]


LATE = {
    "find": ("find", "corpus.jsonl", "bench.jsonl", "-o", "out.csv"),
    "against": ("find", "corpus.jsonl", "--against", "bench.jsonl", "-o", "out.csv"),
    "dedup": ("dedup", "corpus.jsonl", "--protect", "bench.jsonl", "-o", "out", "--removed", "gone.csv"),
    "passages": ("passages", "corpus.jsonl", "--against", "bench.jsonl", "-o", "out.csv"),
    "report": ("report", "corpus.jsonl", "bench.jsonl", "-o", "out"),
    "figures": ("figures", "corpus.jsonl", "bench.jsonl", "-o", "new/out"),
    "index": ("index", "build", "out", "corpus.jsonl", "bench.jsonl"),
}


@pytest.mark.parametrize("command", LATE)
def test_a_column_that_one_input_lacks_is_found_before_the_first_text_is_read(command: str) -> None:
    Path("corpus.jsonl").write_text('{"url": "a", "text": "some words"}\nnot JSON\n')  # reading it would end the run
    write_lines("bench.jsonl", {"id": 1, "text": "other words"})
    before = sorted(Path().rglob("*"))
    words = refused(*LATE[command], "--id", "url", *(() if command == "index" else ("--workdir", "work")))
    assert "bench.jsonl: there is no column 'url'" in words
    assert "name a column that each has, or leave the option out" in words
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize(
    "args",
    [
        ("passages", "in.jsonl", "--cut", "first", "-o", "new/out.jsonl"),
        ("passages", "in.jsonl", "in2.jsonl", "--cut", "first", "-o", "new/deep"),
        ("dedup", "in.jsonl", "-o", "new/out.jsonl"),
        ("report", "in.jsonl", "-o", "new/out.html"),
        ("find", "in.jsonl", "-o", "new/out.csv"),
    ],
)
def test_an_output_without_a_folder_is_refused_before_the_first_text_is_read(args: tuple[str, ...]) -> None:
    for name in ("in.jsonl", "in2.jsonl"):
        Path(name).write_text('{"text": "some words"}\nnot JSON\n')
    before = sorted(Path().rglob("*"))
    words = refused(*args, "--workdir", "work")
    assert "new" in words
    assert "JSON" not in words
    assert "resume" not in words
    assert sorted(Path().rglob("*")) == before


def test_what_can_be_read_once_is_not_looked_at_before() -> None:
    write_lines("bench.jsonl", {"id": 1, "text": "other words"})
    lines = '{"url": "a", "text": "some words"}\n'
    result = CliRunner().invoke(main, ["find", "-", "bench.jsonl", "-q"], input=lines, prog_name="neardup")
    assert result.exit_code == 0, result.stderr


def test_a_result_whose_workdir_was_deleted_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines("in.jsonl", *({"id": i, "text": f"{i} {NOTICE}"} for i in range(20)))
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    monkeypatch.setattr(sys, "excepthook", lambda *args: ignored.append(args))
    found = neardup.passages(Path("in.jsonl"), workdir="work")
    shutil.rmtree("work")
    del found
    gc.collect()
    assert not ignored


@pytest.mark.parametrize("answer", [[], {}, ["yes"], {"yes": 1}, None, 1])
def test_an_answer_of_another_type_gets_a_reply(answer: object) -> None:
    with Page() as page:
        url = urlsplit(page.address)
        asking = HTTPConnection(str(url.hostname), url.port, timeout=30)
        body = json.dumps({"turn": 0, "answer": answer})
        asking.request("POST", f"{url.path}answer", body, {"Content-Type": "application/json"})
        assert asking.getresponse().status == 400
        asking.close()
