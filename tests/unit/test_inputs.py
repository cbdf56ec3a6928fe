"""What the user may name as input, and what is said when it cannot be."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.reading import read

from neardup.errors import InputError
from neardup.inputs import columns
from neardup.inputs.reader import open_inputs
from neardup.inputs.source import Faults
from neardup.types import MOST_FAULTS


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)


CORPUS: dict[str, str | bytes] = {
    "c/b.txt": "bee",
    "c/a/z.md": "zed",
    "c/a/deep/y.txt": "why",
    "c/.hidden.txt": "hidden",
    "c/.git/x.txt": "hidden too",
    "c/code.py": "print()",
    "c/r.jsonl": '{"text": "record"}\n',
}


def test_a_folder_is_read_in_depth_one_document_a_file(here: Path) -> None:
    make(CORPUS)
    every = read("c")
    assert every.ids == ["c/a/deep/y.txt", "c/a/z.md", "c/b.txt", "c/r.jsonl:1"]
    assert every.texts == ["why", "zed", "bee", "record"]
    assert every.rows == [1, 2, 3, 1]
    assert every.consumed == open_inputs("c").total_bytes == 28
    assert open_inputs(Path("c")).sources == ["c"]


@pytest.mark.parametrize(
    ("glob", "texts"),
    [
        ("*.md", ["zed"]),
        (["*.md", "*.py"], ["zed", "print()"]),
        ("a/*", ["zed"]),
        ("a/**", ["why", "zed"]),
        ("**/y.*", ["why"]),
        ("*.jsonl", ["record"]),
        (".*", ["hidden"]),
        (".git/*", ["hidden too"]),
        ("*", ["why", "zed", "bee", "print()", "record"]),
    ],
)
def test_globs_of_a_folder(here: Path, glob: str | list[str], texts: list[str]) -> None:
    make(CORPUS)
    assert read("c", glob=glob).texts == texts


def test_a_folder_with_a_format_takes_its_suffixes(here: Path) -> None:
    make({**CORPUS, "c/more.jsonl.gz": gzip.compress(b'{"text": "packed"}\n', mtime=0)})
    assert read("c", input_format="jsonl").texts == ["packed", "record"]


def test_a_folder_without_matches_says_what_it_holds(here: Path) -> None:
    make({"d/one.log": "", "d/two.log": ""})
    with pytest.raises(InputError, match=r"d has no file that is of a format .* It holds 2 .*--glob '\*\.log'"):
        open_inputs("d")
    os.mkdir("empty")
    with pytest.raises(InputError, match="It holds no files"):
        open_inputs("empty")


def test_loops_of_links_end_and_a_file_counts_once(here: Path) -> None:
    make({"c/sub/a.txt": "a"})
    os.symlink("..", "c/sub/up")
    os.symlink("sub", "c/also")
    os.symlink("sub/a.txt", "c/zz.txt")
    assert read("c").ids == ["c/also/a.txt"]


def test_patterns(here: Path) -> None:
    make(CORPUS)
    assert read("c/*.txt").ids == ["c/b.txt"]
    assert read("c/**/*.txt").ids == ["c/a/deep/y.txt", "c/b.txt"]
    with pytest.raises(InputError, match=r"no file matches c/\*\.zip"):
        open_inputs("c/*.zip")
    make({"odd[1].txt": "odd"})
    assert read("odd[1].txt").texts == ["odd"]


def test_several_inputs_keep_their_order(here: Path) -> None:
    make(CORPUS)
    reader = open_inputs([Path("c/r.jsonl"), Path("c/b.txt"), Path("c/a")])
    every = read([Path("c/r.jsonl"), Path("c/b.txt"), Path("c/a")])
    assert every.texts == ["record", "bee", "why", "zed"]
    assert every.ids == ["c/r.jsonl:1", "c/b.txt", "c/a/deep/y.txt", "c/a/z.md"]
    assert reader.sources == ["c/r.jsonl", "c/b.txt", "c/a"]
    assert reader.total_bytes == every.consumed


@pytest.mark.parametrize("second", ["c/b.txt", "c", "c/*.txt", "./c/b.txt", "link.txt"])
def test_a_file_may_be_given_only_once(here: Path, second: str) -> None:
    make({"c/b.txt": "bee"})
    os.symlink("c/b.txt", "link.txt")
    with pytest.raises(InputError, match="given twice"):
        open_inputs([Path("c/b.txt"), Path(second)])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("c/bb.txt", {}, "c/bb.txt does not exist. Did you mean 'b.txt'"),
        ("nowhere/at/all.txt", {}, "no folder nowhere/at"),
        ("c/code.py", {}, r"the suffix '\.py' does not tell the format.*--input-format"),
        ("c/b.txt", {"input_format": "txt"}, "input_format is 'txt'.*Did you mean 'text'"),
        ("c/b.txt", {"on_bad": "ignore"}, "on_bad is 'ignore'; known are fail, skip"),
        ("c/b.txt", {"encoding": "utf8x"}, "utf8x"),
        ("c/b.txt", {"block": 0}, "block is 0"),
        ("", {}, "empty string"),
        ("empty.parquet", {}, "empty.parquet cannot be read as Parquet.*0 bytes"),
        ("empty.arrow", {}, "empty.arrow is empty"),
        ("junk.parquet", {}, "junk.parquet cannot be read as Parquet"),
        ("junk.arrow", {}, "junk.arrow cannot be read as Arrow"),
    ],
)
def test_unusable_inputs_are_named_with_a_cure(here: Path, name: str, options: dict[str, Any], message: str) -> None:
    make(
        {
            **CORPUS,
            "empty.parquet": "",
            "empty.arrow": "",
            "junk.parquet": "junk" * 9,
            "junk.arrow": "junk" * 9,
        }
    )
    with pytest.raises(InputError, match=message):
        read(name, **options)


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "e.tsv", "e.jsonl.gz"])
def test_files_of_no_bytes_hold_no_documents(here: Path, name: str) -> None:
    make({name: gzip.compress(b"", mtime=0) if name.endswith("gz") else ""})
    assert read(name).texts == []


def test_an_empty_text_file_is_an_empty_document(here: Path) -> None:
    make({"e.txt": ""})
    assert (read("e.txt").texts, read("e.txt").ids) == ([""], ["e.txt"])


def test_text_files_keep_their_bytes_but_for_the_mark(here: Path) -> None:
    make(
        {
            "a.txt": b"\xef\xbb\xbfone\r\ntwo\n",
            "b.txt.gz": gzip.compress(b"packed", mtime=0),
            "l.txt": "déjà".encode("latin-1"),
        }
    )
    assert read("a.txt").texts == ["one\r\ntwo\n"]
    assert read("b.txt.gz").texts == ["packed"]
    assert read("l.txt", encoding="latin-1").texts == ["déjà"]


def test_an_undecodable_file_is_a_fault_with_its_place(here: Path) -> None:
    make({"c/a.txt": b"one\ntw\xff\n", "c/b.txt": "fine"})
    with pytest.raises(InputError, match=r"c/a.txt:2: byte 0xff at byte 7 of the file is no valid UTF-8.*--encoding"):
        read("c")
    every = read("c", on_bad="skip")
    assert (every.texts, every.ids, every.bad, every.rows) == (["fine"], ["c/b.txt"], 1, [2])


def test_an_unreadable_file_in_a_folder_is_a_fault(here: Path) -> None:
    make({"c/b.txt": "fine"})
    os.symlink("nowhere", "c/a.txt")
    with pytest.raises(InputError, match=r"c/a.txt cannot be read: No such file.*--on-bad skip"):
        read("c")
    every = read("c", on_bad="skip")
    assert (every.texts, every.bad) == (["fine"], 1)
    assert every.faults == ["c/a.txt:1: cannot be read: No such file or directory."]


def test_a_folder_that_cannot_be_listed_is_a_fault(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make({"c/b.txt": "fine", "c/locked/x.txt": "x"})
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InputError, match="c/locked cannot be listed: Permission denied"):
        open_inputs("c")
    every = read("c", on_bad="skip")
    assert (every.texts, every.bad) == (["fine"], 1)


def test_many_small_files_share_a_batch(here: Path) -> None:
    make({f"c/{i:03}.txt": f"text {i}" for i in range(100)})
    assert len(read("c").batches) == 1
    assert [len(batch.documents) for batch in read("c", block=40).batches] == [40, 40, 20]


def test_lines(here: Path) -> None:
    make({"a.txt": b"\xef\xbb\xbfone\r\n\n  two\nthree"})
    every = read("a.txt", input_format="lines")
    assert (every.texts, every.rows, every.blank) == (["one", "  two", "three"], [1, 3, 4], 1)
    assert every.ids == ["a.txt:1", "a.txt:3", "a.txt:4"]
    assert [len(batch.documents) for batch in read("a.txt", input_format="lines", block=2).batches] == [1, 2]
    make({"b.txt": b"fine\nb\xffd\n"})
    with pytest.raises(InputError, match=r"b\.txt:2: byte 0xff at byte 2 of the text"):
        read("b.txt", input_format="lines")


def test_sets_are_lines_of_a_text_file(here: Path) -> None:
    make({"c/baskets.txt": "1 2  3\n\n4\t5\n"})
    assert read("c/baskets.txt", item=True).texts == ["1|2|3", "4|5"]
    assert read("c", item=True).ids == ["c/baskets.txt:1", "c/baskets.txt:3"]
    assert read("c", item=True, input_format="text").texts == ["1|2|3|4|5"]


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def parquet_bytes() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"text": ["in", "parquet"]}), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "options", "texts"),
    [
        (b'\n {"text": "a"}\n', {}, ["a"]),
        (b"", {}, []),
        (gzip.compress(b'{"text": "a"}\n', mtime=0), {}, ["a"]),
        (b"a b\nc\n", {"item": True}, ["a|b", "c"]),
        (b"a b\nc\n", {"input_format": "lines"}, ["a b", "c"]),
        (b"a b\nc\n", {"input_format": "text"}, ["a b\nc\n"]),
        (b"id,text\n1,a\n", {"input_format": "csv"}, ["a"]),
        (b"1\ta\n", {"input_format": "tsv"}, ["a"]),
        (parquet_bytes(), {"input_format": "parquet"}, ["in", "parquet"]),
    ],
)
def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, content: bytes, options: dict[str, Any], texts: list[str]
) -> None:
    stdin(monkeypatch, content)
    assert read([Path("-")], **options).texts == texts


def test_standard_input_of_unknown_format(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, b"id\ttext\n")
    with pytest.raises(InputError, match=r"standard input does not begin with '\{'.*--input-format"):
        open_inputs("-")
    stdin(monkeypatch, b'{"text": "a"}\n')
    with pytest.raises(InputError, match="standard input is given twice"):
        open_inputs([Path("-"), Path("-")])
    stdin(monkeypatch, b'{"text": "a"}\n')
    assert open_inputs("-").total_bytes is None


def test_a_named_pipe(here: Path) -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(b'{"text": "through a pipe"}\n'))
    writer.start()
    assert read("pipe").texts == ["through a pipe"]
    writer.join()


def test_guesses_of_columns() -> None:
    assert columns.guess_text(["id", "code", "body"]) == "body"
    assert columns.guess_text(["ID", "Text"]) == "Text"
    assert columns.guess_text(["Text", "text"]) == "text"
    assert columns.guess_text(["heading"]) is None
    assert columns.guess_id(["name", "doc_id"]) == "doc_id"
    assert columns.guess_id(["number"]) is None


def test_long_lists_of_columns_are_cut() -> None:
    with pytest.raises(InputError, match=r"'c19' and 30 more\."):
        columns.choose_text([f"c{i}" for i in range(50)], None, "x")


def test_faults_are_counted_beyond_those_listed() -> None:
    faults = Faults("f", "skip")
    for row in range(1, MOST_FAULTS + 51):
        faults.add(row, "bad")
    assert (faults.count, len(faults.first), str(faults.first[0])) == (
        MOST_FAULTS + 50,
        MOST_FAULTS,
        "f:1: bad",
    )


def test_importing_the_package_imports_no_library() -> None:
    code = (
        "import sys, neardup.inputs; assert not {'numba', 'numpy', 'pyarrow'} & set(sys.modules), sorted(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_output_that_cannot_be_is_told_before_numba_is_loaded() -> None:
    """Known bad: comparing texts in the spool, whose folder names of outputs come by, loaded it for every slip."""
    code = (
        "import sys\nfrom neardup.cli import main\n"
        "try: main(['find', 'x.jsonl', '-o', 'pairs.unknown'])\n"
        "except SystemExit as end: assert end.code in (1, 2)\n"
        "assert 'numba' not in sys.modules\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
