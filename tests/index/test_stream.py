"""``Index.dedup_stream``: the lines of a stream that are new, from Python; the command is tested in ``tests/cli``."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup import FormatError, Index, InputError, OutputError, Streamed
from neardup.index.stream.outputs import FileOutput

FOX = "the quick brown fox jumps over the lazy dog"
FOXED = "the quick brown fox jumped over the lazy dog"
ELSE = "something else entirely, and nothing like the others"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "i", threshold=0.7, shingle="char:3") as made:
        yield made


def lines_of(*rows: tuple[object, str]) -> list[bytes]:
    return [json.dumps({"id": id, "text": text}).encode() + b"\n" for id, text in rows]


def test_new_lines_go_from_a_generator_to_a_stream(index: Index) -> None:
    lines, output = lines_of(("fox", FOX), ("foxed", FOXED), ("else", ELSE), ("fox", ELSE)), io.BytesIO()
    told = index.dedup_stream((line for line in lines), output, on_duplicate="skip")
    assert output.getvalue() == lines[0] + lines[2]
    assert told == Streamed(read=4, new=2, near=2)
    assert list(index) == ["fox", "else"]


def test_pieces_need_not_be_lines(index: Index) -> None:
    data, output = b"".join(lines_of(("fox", FOX), ("else", ELSE))), io.BytesIO()
    told = index.dedup_stream((data[at : at + 7] for at in range(0, len(data), 7)), output)
    assert (output.getvalue(), told.new) == (data, 2)


def test_files_are_read_one_after_the_other_and_lines_added_behind(index: Index, tmp_path: Path) -> None:
    a, b, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz", tmp_path / "out.jsonl"
    lines = lines_of(("fox", FOX), ("foxed", FOXED), ("else", ELSE))
    a.write_bytes(lines[0])
    b.write_bytes(gzip.compress(lines[1] + lines[2]))
    out.write_bytes(b"there before")
    removed = tmp_path / "removed.jsonl"
    told = index.dedup_stream([a, b], out, removed=removed)
    assert (told.read, told.new, told.near) == (3, 2, 1)
    assert out.read_bytes() == b"there before\n" + lines[0] + lines[2]
    assert [json.loads(line)["match"] for line in removed.read_text().splitlines()] == ["fox"]
    again = index.dedup_stream([a, b], out, removed=removed)
    assert (again.new, again.near) == (0, 3)


def test_an_open_file_is_a_stream_and_stays_open(index: Index, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{FOX}\n{FOX}\n{ELSE}")
    with open(tmp_path / "log", "rb") as stream, open(tmp_path / "out", "wb") as output:
        told = index.dedup_stream(stream, output, input_format="lines")
        assert not output.closed
    assert (told.read, told.new) == (3, 2)
    assert (tmp_path / "out").read_text() == f"{FOX}\n{ELSE}"


def test_what_an_ended_call_owes_to_a_file_the_next_one_writes(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, out = lines_of(("fox", FOX), ("foxed", FOXED), ("else", ELSE)), tmp_path / "out.jsonl"

    def killed(self: FileOutput, lines: list[bytes], ids: object = ()) -> None:
        if lines:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FileOutput, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            index.dedup_stream(iter(lines), out)
    assert (out.read_bytes(), list(index)) == (b"", ["fox", "else"])
    with Index.create(tmp_path / "j", threshold=0.7, shingle="char:3") as other, pytest.raises(FormatError):
        other.dedup_stream(iter(lines), out)
    told = index.dedup_stream(iter(lines), out)
    assert (told.paid, told.new) == (2, 0)
    assert out.read_bytes() == lines[0] + lines[2]
    assert not list(tmp_path.glob("*.neardup-pending"))


class Full(io.BytesIO):
    """A stream that takes no more."""

    def write(self, data: object) -> int:
        raise OSError(28, "No space left on device")


def test_a_stream_that_takes_no_more_leaves_the_index_as_it_was(index: Index) -> None:
    with pytest.raises(OutputError, match="cannot write the output: No space left on device"):
        index.dedup_stream(iter(lines_of(("fox", FOX))), Full())
    assert len(index) == 0


def test_an_error_of_the_input_comes_out_and_what_came_before_it_stays(index: Index) -> None:
    lines = lines_of(("fox", FOX), ("else", ELSE))

    def broken() -> Iterator[bytes]:
        yield lines[0]
        raise ConnectionError("the other side is gone")

    output = io.BytesIO()
    with pytest.raises(ConnectionError, match="the other side is gone"):
        index.dedup_stream(broken(), output)
    with pytest.raises(InputError, match="the stream:2: "):
        index.dedup_stream([lines[1], b"{\n"].__iter__(), output)
    told = index.dedup_stream(iter([*lines, b"{\n"]), output, on_bad="skip")
    assert (output.getvalue(), told.bad) == (b"".join(lines), 1)


def test_the_thread_that_reads_ends_with_the_call(index: Index) -> None:
    left = threading.Event()

    def endless() -> Iterator[bytes]:
        try:
            while True:
                yield b"{\n"
        finally:
            left.set()

    with pytest.raises(InputError):
        index.dedup_stream(endless(), io.BytesIO())
    assert left.wait(60)


def test_sets_go_through_too() -> None:
    with Index.create(threshold=0.5, shingle="item") as index:
        lines = [b'{"id": 1, "text": ["a", "b"]}\n', b'{"id": 2, "text": ["b", "a"]}\n', b'{"id": 3, "text": []}\n']
        output = io.BytesIO()
        assert index.dedup_stream(iter(lines), output, input_format="jsonl").new == 2
        assert output.getvalue() == lines[0] + lines[2]


@pytest.mark.parametrize(
    ("inputs", "options", "words"),
    [
        (b"{}", {}, "inputs are of type bytes"),
        (17, {}, "inputs are of type int"),
        ("table.csv", {}, "table.csv is of the format csv"),
        (["a.jsonl", "a.jsonl"], {}, "an input is given twice"),
        ("nowhere.jsonl", {}, "nowhere.jsonl does not exist"),
        (iter(()), {"threshold": 0.1}, "threshold is 0.1"),
        (iter(()), {"on_duplicate": "last"}, "on_duplicate is 'last'"),
        (iter(()), {"removed": "x.parquet"}, "grows with the stream"),
        (iter([b"a line"]), {}, "the stream does not begin with '{'"),
    ],
)
def test_what_cannot_be_used_is_told(index: Index, inputs: object, options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        index.dedup_stream(inputs, io.BytesIO(), **options)
    assert len(index) == 0


def test_a_compressed_output_and_an_index_that_is_read_only_are_refused(index: Index, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not compressed"):
        index.dedup_stream(iter(()), tmp_path / "x.jsonl.gz")
    index.close()
    with Index.open(tmp_path / "i", read_only=True) as held, pytest.raises(InputError, match="for reading only"):
        held.dedup_stream(iter(()), io.BytesIO())
    assert os.listdir(tmp_path) == ["i"]
