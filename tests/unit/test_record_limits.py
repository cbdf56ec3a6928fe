"""Records that are larger than may be held: each is one bad record, and the others are read as if it were not there."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.reading import Everything, batches_of, gathered, zstd

from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.inputs.source import ReadOptions, RecordLimit
from neardup.inputs.text import endless
from neardup.tasks.rewrite.files import rewrite_file
from neardup.tasks.rewrite.model import Annotation, Rewrite

LIMIT = 1000


def read(path: Any, limit: int = LIMIT, **options: Any) -> Everything:
    """Everything in a file, bad records passed over, under a limit for one record."""
    reader = open_inputs(path, limit=RecordLimit(limit), **{"on_bad": "skip", **options})
    return gathered(batches_of(reader))


PACK = {"": bytes, ".gz": gzip.compress, ".zst": zstd}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
@pytest.mark.parametrize("size", [999, 1000, 1001, 1002, 5000, 5_000_000])
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_is_passed_over_when_it_is_longer_than_the_limit(
    tmp_path: Path, suffix: str, encoding: str, size: int, end: str
) -> None:
    long = "x" * size
    path = tmp_path / f"x.txt{suffix}"
    path.write_bytes(PACK[suffix](f"one\n\n{long}\nthree\n{long}{end}".encode(encoding)))
    every = read(path, input_format="lines", encoding=encoding)
    kept = [] if size > LIMIT else [long]
    assert every.texts == ["one", *kept, "three", *kept]
    assert every.rows == [row for row in (1, 3, 4, 5) if size <= LIMIT or row in (1, 4)]
    assert every.bad == 2 - 2 * len(kept)
    assert every.blank == 1
    assert [fault.split(": ")[0] for fault in every.faults] == [f"{path}:{row}" for row in (3, 5) if size > LIMIT]
    assert every.consumed == path.stat().st_size


@pytest.mark.parametrize("sizes", [(3000,), (1001, 1001), (990, 3000, 10, 50_000)])
def test_json_lines_behind_a_long_one_keep_their_numbers(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    path = tmp_path / "x.jsonl"
    lines = [json.dumps({"id": f"n{i}", "text": "y" * size}) for i, size in enumerate(sizes)]
    records = [line for each in lines for line in (each, json.dumps({"id": "short", "text": "a text"}))]
    path.write_text("\n".join(records))
    every = read(path)
    good = [(row, record) for row, record in enumerate(records, 1) if len(record) <= LIMIT]
    assert every.rows == [row for row, _ in good]
    assert every.texts == [json.loads(record)["text"] for _, record in good]
    assert every.ids == [json.loads(record)["id"] for _, record in good]
    assert every.bad == len(records) - len(good)


def test_the_fields_are_found_behind_a_long_first_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"body": "z" * 5000}) + '\n{"name": 7, "content": "here"}\n')
    every = read(path)
    assert (every.texts, every.ids, every.rows, every.bad) == (["here"], [7], [2], 1)


def test_blank_lines_that_are_too_long_are_bad_and_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(" " * 5000 + '\n{"text": "here"}\n' + " " * 5000)
    every = read(path)
    assert (every.texts, every.rows, every.bad) == (["here"], [2], 2)


@pytest.mark.parametrize("name", ["x.jsonl", "x.txt"])
def test_the_refusal_names_line_size_limit_and_cure(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"text": "first"}\n{"text": "' + "x" * 2_000_000 + '"}\n')
    limit = RecordLimit()
    limit.set(1_500_000, memory=500_000_000, growth=10, together=1000)
    reader = open_inputs(path, limit=limit, input_format="lines" if name == "x.txt" else None)
    with pytest.raises(InputError) as caught:
        gathered(task() for task in reader.tasks())
    message = str(caught.value)
    assert message == (
        f"{path}:2: the line has 2.0 MB, and a memory limit of 500.0 MB allows 1.5 MB for one. Raise --memory "
        "(memory=) to 506MB. Or leave out bad records with --on-bad skip (on_bad='skip')."
    )


def test_the_rest_of_a_bomb_is_not_read_to_refuse_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from neardup.inputs import blocks, source

    monkeypatch.setattr(source, "COUNT_TO", 20_000)
    monkeypatch.setattr(blocks, "COUNT_TO", 20_000)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"x" * 10_000_000)
    with pytest.raises(InputError, match="the line has more than"):
        read(path, on_bad="fail")
    text = tmp_path / "x.txt"
    text.write_bytes(b"x" * 10_000_000)
    with pytest.raises(InputError, match=r"x\.txt: the file has more than"):
        read(text, on_bad="fail")


# text files


@pytest.mark.parametrize("suffix", PACK)
def test_a_text_file_is_passed_over_when_it_is_larger_than_the_limit(tmp_path: Path, suffix: str) -> None:
    for name, size in (("a", 10), ("b", LIMIT), ("c", LIMIT + 1), ("d", 3_000_000), ("e", 20)):
        (tmp_path / f"{name}.txt{suffix}").write_bytes(PACK[suffix](b"t" * size))
    every = read(tmp_path, glob="*")
    assert [len(text) for text in every.texts] == [10, LIMIT, 20]
    assert every.rows == [1, 2, 5]
    assert every.bad == 2
    assert all("the file has" in fault for fault in every.faults)
    assert every.faults[1].startswith(f"{tmp_path / f'd.txt{suffix}'}: ")


def test_a_text_file_may_be_as_large_as_the_limit_in_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(("é" * (LIMIT // 2)).encode("utf-8-sig"))
    (tmp_path / "b.txt").write_bytes(("é" * (LIMIT // 2 + 1)).encode("utf-8-sig"))
    assert read(tmp_path).rows == [1]
    (tmp_path / "a.txt").write_text("é" * (LIMIT // 2), encoding="utf-16")
    (tmp_path / "b.txt").write_text("é" * (LIMIT // 2 + 1), encoding="utf-16")
    assert read(tmp_path, encoding="utf-16").rows == [1]


def test_compressed_texts_are_tasks_of_their_own(tmp_path: Path) -> None:
    for i in range(4):
        (tmp_path / f"{i}.txt.zst").write_bytes(zstd(b"t" * 900))
        (tmp_path / f"{i}.txt").write_bytes(b"t" * 900)
    every = read(tmp_path, glob="*")
    assert [len(batch.documents) for batch in every.batches] == [1] * 8
    assert every.rows == list(range(1, 9))
    assert every.consumed == sum(file.stat().st_size for file in tmp_path.iterdir())


# standard input


class _Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize("suffix", PACK)
def test_standard_input_is_held_to_the_limit(monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    data = b'{"text": "a"}\n{"text": "' + b"x" * 9000 + b'"}\n{"text": "b"}\n'
    monkeypatch.setattr(sys, "stdin", _Stdin(PACK[suffix](data)))
    every = read("-")
    assert (every.texts, every.rows, every.bad) == (["a", "b"], [1, 3], 1)
    monkeypatch.setattr(sys, "stdin", _Stdin(PACK[suffix](data)))
    every = read("-", input_format="text")
    assert (every.texts, every.bad) == ([], 1)


# CSV and TSV


def table(*records: tuple[str, str], quoting: Any = csv.QUOTE_ALL, delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, quoting=quoting, lineterminator="\n", delimiter=delimiter)
    writer.writerow(["id", "text"])
    writer.writerows(records)
    return out.getvalue().encode()


TRAP = "9,trap\n" * 400
"""Inner lines that would pass for records."""


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize(
    "large",
    [
        "x" * 5000,
        "x" * 3_000_000,
        "x\n" * 2000,
        TRAP,
        TRAP + "x" * 5000 + "\n" + TRAP,
        "x" * 5000 + "\n" + TRAP,
        'with a " quote\n' * 300,
        '"' * 5000,
        '\n"' * 3000,
        "\r\n" * 2000,
    ],
)
def test_a_record_that_is_too_large_is_passed_over_as_a_whole(tmp_path: Path, suffix: str, large: str) -> None:
    path = tmp_path / f"x.csv{suffix}"
    path.write_bytes(PACK[suffix](table(("1", "one"), ("2", large), ("3", "three"), ("4", large), ("5", "a\nb"))))
    every = read(path)
    assert list(zip(every.ids, every.texts, strict=True)) == [("1", "one"), ("3", "three"), ("5", "a\nb")]
    lines = large.count("\n")
    assert every.rows == [2, 4 + lines, 6 + 2 * lines]
    assert every.bad == 2
    assert every.faults[0].startswith(f"{path}:3: the record has ")
    assert every.consumed == path.stat().st_size


@pytest.mark.parametrize("last", ["", "\n"])
def test_a_large_record_at_the_end_of_the_file_is_one_bad_record(tmp_path: Path, last: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f'id,text\n1,one\n2,"{TRAP}"{last}')
    every = read(path)
    assert (every.ids, every.bad) == (["1"], 1)
    assert "the record has" in every.faults[0]


@pytest.mark.parametrize("open_field", ['2,"open', '"2,open', '2,"' + "open " * 1000])
def test_a_quote_that_is_never_closed_costs_one_line_however_little_is_held(tmp_path: Path, open_field: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"id,text\n1,one\n{open_field}\n" + "".join(f"{i},text {i}\n" for i in range(3, 900)))
    every = read(path)
    assert every.ids == ["1", *map(str, range(3, 900))]
    assert every.rows == [2, *range(4, 901)]
    assert every.bad == 1


def test_text_behind_a_closing_quote_that_comes_late_costs_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('id,text\n1,"open\n' + "2,two\n" * 500 + '3,"x" y\n4,four\n')
    every = read(path)
    assert every.ids == ["2"] * 500 + ["4"]
    assert every.bad == 2


def test_a_quote_open_for_longer_than_any_record_counts_as_never_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endless, "MAX_RECORD", 20_000)
    path = tmp_path / "x.csv"
    path.write_text('id,text\n1,"open\n' + "2,two\n" * 5000 + '3,"end"\n')
    every = read(path)
    assert every.ids == ["2"] * 5000 + ["3"]
    assert every.bad == 1


def test_a_first_row_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for content in (b"id," + b"x" * 9000, b'id,"' + b"x\n" * 9000):
        path.write_bytes(content + b"\n1,a\n")
        with pytest.raises(InputError, match="the first row has more than"):
            read(path)


@pytest.mark.parametrize("large", ["x" * 5000, "x\n" * 2000 + "y", '""' * 2000])
def test_large_records_of_tsv_are_passed_over(tmp_path: Path, large: str) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes(f'id\ttext\n1\tone\n2\t"{large}"\n3\t"three\n'.encode())
    every = read(path)
    assert list(zip(every.ids, every.texts, strict=True)) == [("1", "one"), ("3", '"three')]
    assert every.bad == 1


def test_a_stray_quote_in_tsv_is_text_however_little_is_held(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text('id\ttext\n1\t"open\n' + "word\n" * 500 + "3\tthree\n")
    every = read(path)
    assert list(zip(every.ids, every.texts, strict=True)) == [("1", '"open'), ("3", "three")]
    assert every.bad == 500


@st.composite
def messy(draw: st.DrawFn) -> tuple[str, int]:
    """CSV with quotes in odd places and records of many sizes, and a limit."""
    rng = random.Random(draw(st.integers(0, 1 << 32)))
    pieces = ['"', '""', ",", "\n", "\r\n", "a", "bc", "x" * rng.choice((1, 30, 200, 900)), '1,"', '"\n', "\n2,b\n"]
    weights = [rng.random() for _ in pieces]
    return "id,text\n" + "".join(rng.choices(pieces, weights, k=rng.randint(1, 60))), rng.choice((64, 100, 300))


@given(messy())
def test_nothing_but_large_records_depends_on_the_limit(tmp_path_factory: Any, case: tuple[str, int]) -> None:
    content, limit = case
    path = tmp_path_factory.getbasetemp() / "messy.csv"
    path.write_bytes(content.encode())
    free, held = read(path, 1 << 30), read(path, limit)
    found = list(zip(held.rows, held.ids, held.texts, strict=True))
    missing = [each for each in zip(free.rows, free.ids, free.texts, strict=True) if each not in found]
    assert len(found) + len(missing) == len(free.rows)
    assert held.bad == free.bad + len(missing)
    lines = content.split("\n")
    for row, id, text in missing:
        record = lines[row - 1 : row + text.count("\n") + id.count("\n")]
        assert len("\n".join(record)) >= limit


# what is no compressed file


GZ = gzip.compress(b'{"text": "one"}\n')
ZST = zstd(b'{"text": "one"}\n')
WHOLE = {
    "several members": (GZ + GZ, GZ[:0] + ZST + ZST),
    "an empty member": (GZ + gzip.compress(b""), ZST + zstd(b"")),
    "zeros behind": (GZ + bytes(600_000), None),
    "a skippable frame": (None, b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + ZST),
    "nothing but an empty member": (gzip.compress(b""), zstd(b"")),
}
BROKEN = {
    "empty": (b"", b"", "is empty (0 bytes): it is no {}"),
    "cut": (GZ[:-4], ZST[:-2], "damaged or cut short"),
    "cut in its head": (GZ[:5], ZST[:5], "damaged or cut short"),
    "cut in a second member": (GZ + GZ[:-3], ZST + ZST[:-3], "damaged or cut short"),
    "a second magic number and no more": (GZ + GZ[:2], ZST + ZST[:2], "damaged or cut short"),
    "other bytes behind": (GZ + b"garbage", ZST + b"garbage", "after the end of its gzip data|damaged or cut short"),
    "one other byte behind": (GZ + b"x", ZST + b"x", "after the end of its gzip data|damaged or cut short"),
    "zeros and then other bytes": (GZ + bytes(600_000) + b"x", None, "after the end of its gzip data"),
    "half a magic number behind": (GZ + GZ[:1], ZST + ZST[:1], "after the end of its gzip data|damaged or cut short"),
    "not compressed": (b'{"text": "one"}\n', b'{"text": "one"}\n', "is no gzip file|damaged or cut short"),
}


def cases(table: Any) -> Iterator[Any]:
    for name, (gz, zst, *message) in table.items():
        for suffix, data in (("gz", gz), ("zst", zst)):
            if data is not None:
                kind = "gzip file" if suffix == "gz" else "zstd file"
                yield pytest.param(suffix, data, *(each.format(kind) for each in message), id=f"{name}-{suffix}")


@pytest.mark.parametrize(("suffix", "data"), list(cases(WHOLE)))
def test_what_the_tools_unpack_is_read(tmp_path: Path, suffix: str, data: bytes) -> None:
    path = tmp_path / f"x.jsonl.{suffix}"
    path.write_bytes(data)
    if suffix == "gz":
        assert subprocess.run(["gzip", "-t", path], check=False).returncode == 0
        expected = gzip.decompress(data)
    else:
        expected = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    assert read(path).texts == [json.loads(line)["text"] for line in expected.splitlines()]


@pytest.mark.parametrize(("suffix", "data", "message"), list(cases(BROKEN)))
def test_what_is_no_compressed_file_is_an_error_and_in_a_folder_a_bad_file(
    tmp_path: Path, suffix: str, data: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if suffix == "gz":
        (tmp_path / "x.gz").write_bytes(data)
        assert subprocess.run(["gzip", "-t", tmp_path / "x.gz"], check=False, capture_output=True).returncode != 0
        (tmp_path / "x.gz").unlink()
    for kind in ("jsonl", "csv", "parquet", "arrow", "txt"):
        path = tmp_path / f"x.{kind}.{suffix}"
        path.write_bytes(data)
        with pytest.raises(InputError, match=message.replace("(0 bytes)", r"\(0 bytes\)")):
            read(path, on_bad="fail")
        path.unlink()
    (tmp_path / "good.txt").write_text("good")
    (tmp_path / f"x.txt.{suffix}").write_bytes(data)
    every = read(tmp_path, glob="*")
    assert (every.texts, every.bad) == (["good"], 1)
    assert str(tmp_path / f"x.txt.{suffix}") in every.faults[0]
    if data[:4] in (GZ[:4], ZST[:4]):
        monkeypatch.setattr(sys, "stdin", _Stdin(data))
        with pytest.raises(InputError, match=r"standard input|^- "):
            read("-", on_bad="fail")


# clean copies


def rewritten(path: Path, format: str, limit: int, **how: Any) -> tuple[bytes, int]:
    out = io.BytesIO()
    options = ReadOptions(on_bad="skip", encoding=how.pop("encoding", "utf-8"), limit=RecordLimit(limit))
    count = rewrite_file(Rewrite(str(path), format, options, **how), out, plain=True)
    return out.getvalue(), count


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neardup.tasks.rewrite.blocks.BLOCK_BYTES", 256)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "latin-1"])
@pytest.mark.parametrize(
    "sizes", [(5000, 10, 20), (10, 5000, 70, 9000, 3), (2000, 8000, 8192, 255, 256, 257, 4), (9000,)]
)
@pytest.mark.parametrize("end", ["\n", ""])
def test_lines_that_are_too_large_stay_in_a_clean_copy(
    tmp_path: Path, encoding: str, sizes: tuple[int, ...], end: str
) -> None:
    lines = ["y" * size for size in sizes] + ["z" * 30]
    path = tmp_path / "x.txt"
    path.write_bytes(("\n".join(lines) + end).encode(encoding))
    rows = read(path, encoding=encoding, input_format="lines").rows
    for removed in (rows, rows[:1], rows[1::2], rows[-1:]):
        ends = ["\n"] * (len(lines) - 1) + [end]
        kept = "".join(
            line + stop for row, (line, stop) in enumerate(zip(lines, ends, strict=True), 1) if row not in removed
        )
        data, count = rewritten(path, "lines", LIMIT, removed=np.array(removed, dtype=np.int64), encoding=encoding)
        assert data.decode(encoding) == kept
        assert count == len(lines)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("large", ["x" * 5000, "x\n" * 2000, TRAP, "x" * 3000 + "\n" + TRAP, "\n" * 4000])
def test_records_that_are_too_large_stay_in_a_clean_copy_of_csv(tmp_path: Path, large: str) -> None:
    records = [("1", "one"), ("2", large), ("3", "three\nlines\n"), ("4", large), ("5", "five"), ("6", large)]
    path = tmp_path / "x.csv"
    path.write_bytes(table(*records))
    every = read(path)
    assert every.ids == ["1", "3", "5"]
    data, count = rewritten(path, "csv", LIMIT, removed=np.array(every.rows[1:], dtype=np.int64))
    assert data == table(*(record for record in records if record[0] not in ("3", "5")))
    assert count == 6


@pytest.mark.usefixtures("small_blocks")
def test_records_that_are_too_large_stay_as_they_are_in_an_annotated_copy(tmp_path: Path) -> None:
    def note(rows: list[int]) -> Annotation:
        n = len(rows)
        return Annotation(np.array(rows), np.arange(n), pa.array(["k"] * n, pa.large_string()), np.full(n, 0.5))

    lines = [json.dumps({"id": str(i), "text": "w" * size}) for i, size in enumerate((50, 3000, 60, 9000, 20))]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(lines) + "\n")
    data, count = rewritten(path, "jsonl", LIMIT, annotation=note([1, 3, 5]))
    out = data.decode().splitlines()
    assert [out[1], out[3]] == [lines[1], lines[3]]
    assert [json.loads(out[i])["cluster"] for i in (0, 2, 4)] == [0, 1, 2]
    assert count == 5

    large = "x" * 3000 + "\n" + TRAP
    path = tmp_path / "x.csv"
    path.write_bytes(table(("1", "one"), ("2", large), ("3", "three"), ("4", large)))
    data, count = rewritten(path, "csv", LIMIT, annotation=note([2, 4 + large.count("\n")]))
    expected = table(("1", "one"), ("2", large), ("3", "three"), ("4", large)).decode()
    expected = expected.replace('"text"\n', '"text",cluster,keeper,similarity\n')
    expected = expected.replace('"one"\n', '"one",0,k,0.5\n').replace('"three"\n', '"three",1,k,0.5\n')
    assert data.decode() == expected
    assert count == 4
