"""Splits of inputs: read one by one, in another process, they give what the input gives in one go."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import tarfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from tests.unit.reading import zstd
from tests.unit.splitting import assert_same, in_one_go, in_splits, limited

from neardup.errors import InputChanged, InputError
from neardup.inputs import splits as module
from neardup.inputs.ahead import made_ahead
from neardup.inputs.reader import open_inputs
from neardup.inputs.source import ReadOptions, Source, Task
from neardup.inputs.splits import FaultInSplit, Split, lines_before, plan_splits, read_split
from neardup.inputs.text import jsonl
from neardup.types import MOST_FAULTS, Alone, Batch, Documents, NeedsRoom

MARK = b"\xef\xbb\xbf"
SIZES = {"skip": (1, 5, 23, 100, 1 << 20), "fail": (3, 40)}


def line(i: int, size: int = 10) -> bytes:
    return json.dumps({"id": f"n{i}", "text": f"t{i}" + "x" * size}).encode()


GOOD = b"".join(line(i) + b"\n" for i in range(5))
JSONL = {
    "plain": GOOD,
    "no newline at the end": GOOD[:-1],
    "carriage returns": GOOD.replace(b"\n", b"\r\n"),
    "a mark before the first line": MARK + GOOD,
    "a mark before another line": GOOD + MARK + GOOD,
    "blank lines": b"\n\n" + GOOD.replace(b"\n", b"\n\n \n\r\n") + b"\n\n",
    "bad lines": b"bad\n[1]\n" + GOOD + b'{"id":"a"}\n' + line(5) + b"\n{\n" + line(6) + b"\nnull",
    "one line of many splits": GOOD + line(7, 700) + b"\n" + GOOD,
    "one line": line(1, 200),
    "bytes that are no UTF-8": GOOD + b'{"id":"a","text":"\xff\xfe"}\n' + GOOD,
    "NUL and other characters": GOOD + b"\0\0\n\x0b\x0c\n\x85\n" + GOOD,
    "ids of two types": GOOD + b'{"id":5,"text":"five"}\n' * 3,
    "no object": b"1\n2\n\n3\n",
    "blank": b"\n \n\t\r\n\n",
    "only a newline": b"\n",
    "only a mark": MARK,
    "a mark and a newline": MARK + b"\n",
    "nothing": b"",
    "the fields of the first record": b'{"body":"b","key":1}\n' + GOOD + b'{"body":"c","key":2}\n',
}


@pytest.mark.parametrize("on_bad", ["skip", "fail"])
@pytest.mark.parametrize("data", JSONL.values(), ids=JSONL)
def test_splits_of_json_lines_give_what_the_file_gives(tmp_path: Path, data: bytes, on_bad: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    for most in SIZES[on_bad]:
        splits = assert_same(path, most, on_bad=on_bad)
        has_record = b"{" in data
        assert len(splits) == (max(1, -(-len(data) // most)) if has_record else 1)
        assert sum(split.nbytes for split in splits) == len(data)


@pytest.mark.parametrize("on_bad", ["skip", "fail"])
@pytest.mark.parametrize("data", JSONL.values(), ids=JSONL)
def test_splits_of_plain_lines_give_what_the_file_gives(tmp_path: Path, data: bytes, on_bad: str) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    for most in SIZES[on_bad]:
        splits = assert_same(path, most, on_bad=on_bad, input_format="lines")
        assert len(splits) == max(1, -(-len(data) // most))


@pytest.mark.parametrize("data", JSONL.values(), ids=JSONL)
@pytest.mark.parametrize("options", [{"item": True}, {"block": 2}, {"text": "body,text"}, {"text": "missing"}], ids=str)
def test_splits_are_read_by_the_options_of_the_whole(tmp_path: Path, data: bytes, options: dict[str, Any]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    for most in (11, 70):
        assert_same(path, most, on_bad="skip", **options)


@pytest.mark.parametrize("on_bad", ["skip", "fail"])
@pytest.mark.parametrize("kind", ["jsonl", "lines"])
def test_a_line_that_is_too_long_is_one_bad_record_of_the_split_in_which_it_begins(
    tmp_path: Path, kind: str, on_bad: str
) -> None:
    path = tmp_path / "x"
    for data in (
        GOOD + line(1, 5000) + b"\n" + GOOD + line(2, 900) + b"\n" + line(3, 20000),
        line(1, 5000) + b"\n" + GOOD,
        MARK + line(1, 5000),
    ):
        path.write_bytes(data)
        for most in (50, 999, 1000, 1001, 4096, 1 << 20):
            assert_same(path, most, on_bad=on_bad, input_format=kind, limit=limited(1000))


def test_the_bad_records_that_are_told_are_the_same_however_a_file_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD + b"".join(b"bad %d\n" % i for i in range(1500)))
    whole, parts = in_one_go(path, on_bad="skip")[0], in_splits(path, 1000, on_bad="skip")[0]
    assert whole.faults == parts.faults[:MOST_FAULTS]
    assert len(whole.faults) == MOST_FAULTS


def test_the_tasks_of_a_split_may_be_done_in_threads(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD * 2000)
    (source,) = (reader := open_inputs(path, block=100)).parts
    readings = [read_split(source, split) for split in plan_splits(reader, len(GOOD) * 500)]
    with ThreadPoolExecutor(4) as pool:
        for reading in readings:
            batches = list(pool.map(lambda task: task(), made_ahead(reading.tasks())))
            assert reading.records == sum(len(batch.documents) for batch in batches)
    assert sum(reading.records for reading in readings) == 10_000


def test_a_file_a_hundred_times_larger_than_others_is_many_splits(tmp_path: Path) -> None:
    for name, size in (("a", 1), ("b", 100), ("c", 1)):
        (tmp_path / f"{name}.jsonl").write_bytes(GOOD * size)
    splits = assert_same(tmp_path, 2 * len(GOOD))
    assert [split.place for split in splits] == [0, *[1] * 50, 2]
    assert [split.kind for split in splits] == ["whole", *["bytes"] * 50, "whole"]
    assert all(split.nbytes <= 2 * len(GOOD) for split in splits)


def test_fields_are_those_that_the_first_task_of_the_whole_file_finds(tmp_path: Path) -> None:
    # the second field is in the last record of the first task only, and far behind the first split
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n" * 300 + b'{"title":"t"}\n' * 300 + b'{"title":"t","body":"b"}\n' + b'{"other":"o"}\n' * 2)
    for most in (10, 500, 10000):
        assert_same(path, most, text="title,body", on_bad="skip")


def test_a_source_that_was_not_cut_here_finds_its_fields(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"words":"one","id":1}\n' + GOOD)
    split = Split(0, "bytes", 30, 31 + len(GOOD), len(GOOD), None)
    (source,) = open_inputs(path).parts
    reading = read_split(source, split)
    with pytest.raises(FaultInSplit, match="line 1 of those that begin at byte 30 or behind: there is no field 'words"):
        [task() for task in reading.tasks()]
    assert source.columns is None


def test_a_file_without_a_record_for_very_long_is_read_in_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "_FAR", 100)
    monkeypatch.setattr(jsonl.JsonlSource, "block_bytes", 64)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n" * 90 + GOOD)
    assert len(assert_same(path, 50)) > 1
    path.write_bytes(b"\n" * 400 + GOOD)
    assert [split.kind for split in assert_same(path, 50)] == ["whole"]
    path.write_bytes((b"x" * 60 + b"\n") * 10 + GOOD)
    assert [split.kind for split in assert_same(path, 50, on_bad="skip")] == ["whole"]


def test_a_fault_of_a_split_says_where_it_is_and_then_what_the_whole_file_says(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD + b"bad\n" + GOOD)
    (source,) = (reader := open_inputs(path)).parts
    split = plan_splits(reader, len(GOOD) // 2)[2]
    reading = read_split(source, split)
    with pytest.raises(FaultInSplit, match=rf"x.jsonl: line \d of those that begin at byte {split.first} or") as caught:
        [task() for task in reading.tasks()]
    error = caught.value.absolute(lines_before(source, split))
    assert str(error).startswith(f"{path}:6: no valid JSON")
    assert str(error) == in_one_go(path)[0]
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with pytest.raises(RuntimeError, match="known when all"):
        _ = reading.records


TABLE = pa.table(
    {
        "id": [f"n{i}" for i in range(3000)],
        "text": pa.array([None if i % 700 == 5 else f"text {i} " * (1 + i % 7) for i in range(3000)]),
        "more": [[i, 2 * i] for i in range(3000)],
    }
)


@pytest.mark.parametrize(("rows", "on_bad"), [*((rows, "skip") for rows in (1, 100, 2999, 3000)), (100, "fail")])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "feather", "stream", "packed"])
def test_splits_of_columns_are_whole_row_groups_or_batches(tmp_path: Path, kind: str, rows: int, on_bad: str) -> None:
    table = TABLE.slice(0, 60) if rows == 1 else TABLE
    path = tmp_path / ("x.parquet" if kind == "parquet" else "x.arrow")
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=rows)
    elif kind in ("feather", "packed"):
        feather.write_feather(table, path, chunksize=rows, compression="zstd" if kind == "packed" else "uncompressed")
    else:
        new = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
        with new(path, table.schema) as sink:
            sink.write_table(table, max_chunksize=rows)
    count = -(-len(table) // rows)
    for most in (1, 5000, 100_000, 1 << 30):
        splits = assert_same(path, most, on_bad=on_bad)
        assert not any(split.is_relative for split in splits)
        if kind == "stream" or most == 1 << 30:
            assert [split.kind for split in splits] == ["whole"]
        elif most == 1:
            assert len(splits) == count
        elif sum(split.nbytes for split in splits) > most and count > 1:
            assert 1 < len(splits) < count or splits[0].nbytes > most // 2


def test_one_huge_row_group_is_one_split_and_small_ones_are_together(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with pq.ParquetWriter(path, TABLE.schema) as sink:
        for start, stop in ((0, 10), (10, 20), (20, 2000), (2000, 2010), (2010, 2020)):
            sink.write_table(TABLE.slice(start, stop - start))
    splits = assert_same(path, 5000, on_bad="skip")
    assert [(split.first, split.stop, split.before) for split in splits] == [(0, 2, 0), (2, 3, 20), (3, 5, 2000)]


def test_batches_of_an_arrow_file_share_their_dictionaries(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    words = pa.array([f"text {i % 5}" for i in range(100)]).dictionary_encode()
    table = pa.table({"text": words, "id": pa.array(range(100))})
    with pa.ipc.new_file(path, table.schema) as sink:
        sink.write_table(table, max_chunksize=7)
    assert len(assert_same(path, 1)) == 15


def test_a_batch_that_cannot_be_held_is_told_by_its_rows_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    texts = ["a" * 10] * 10 + ["b" * 90_000] * 10 + ["c" * 10] * 10
    table = pa.table({"text": texts})
    feather.write_feather(table, path, chunksize=10, compression="zstd")
    for on_bad in ("skip", "fail"):
        assert len(assert_same(path, 1, on_bad=on_bad, limit=limited(100_000))) == 3
    assert "rows 11 to 20" in str(in_splits(path, 1, limit=limited(100_000))[0])


@pytest.mark.parametrize("on_bad", ["skip", "fail"])
def test_files_that_are_one_document_each_are_split_by_ranges(tmp_path: Path, on_bad: str) -> None:
    for i in range(40):
        (tmp_path / f"{i:02}.txt").write_bytes(b"\xff" if i == 33 else b"words " * (i * 37 % 11))
    (tmp_path / "20.html").write_text("<p>a page of some words")
    (tmp_path / "21.txt").write_bytes(MARK)
    for most in (1, 1500, 4000, 1 << 30):
        splits = assert_same(tmp_path, most, on_bad=on_bad, has_documents=True)
        assert len(splits) == (41 if most == 1 else 1) or most in (1500, 4000)
        assert [split.before for split in splits] == [split.first for split in splits]
    (tmp_path / "20.html").unlink()
    for i in range(40):
        (tmp_path / f"{i:02}.txt").write_bytes(b"")
    assert len(assert_same(tmp_path, 5000)) > 3


def whole_files(folder: Path) -> dict[str, Path]:
    """A file of every kind that is read in one piece, and small ones of those that are not."""
    csv = b"id,text\n" + b"".join(b"%d,words of %d\n" % (i, i) for i in range(50))
    pages = b"".join(
        b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a/%d\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        b"Content-Type: text/plain\r\nContent-Length: 7\r\n\r\nwords %d\r\n\r\n" % (i, i)
        for i in range(9)
    )
    files = {
        "packed.jsonl.zst": zstd(GOOD),
        "x.csv": csv,
        "x.tsv": csv.replace(b",", b"\t"),
        "x.csv.gz": gzip.compress(csv),
        "x.warc": pages,
        "packed.txt.zst": zstd(b"a text"),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    with zipfile.ZipFile(folder / "x.zip", "w") as pack:
        for name, data in {"a.txt": b"one", "b.jsonl": GOOD, "c.csv": csv, "d.txt": b"two"}.items():
            pack.writestr(name, data)
    with tarfile.open(folder / "x.tar.gz", "w:gz") as pack:
        for name, data in {"a.txt": b"one", "b.jsonl": GOOD, "d.txt": b"two"}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            pack.addfile(info, io.BytesIO(data))
    pq.write_table(TABLE, folder / "x.parquet")
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", "text"], *([i, f"words {i}"] for i in range(30))):
        book.active.append(row)
    book.save(folder / "x.xlsx")
    return {path.name: path for path in folder.iterdir()}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_cannot_be_cut_is_one_split_each_and_can_be_sent(tmp_path: Path) -> None:
    pytest.importorskip("warcio")
    paths = whole_files(tmp_path)
    for name, path in paths.items():
        splits = assert_same(path, 10, on_bad="skip")
        places = {split.place for split in splits}
        assert len(splits) == len(places) == len(open_inputs(path).parts), name
        assert all(split.kind == "whole" and split.before == 0 for split in splits), name
    assert len(assert_same(tmp_path, 10, on_bad="skip", has_documents=True)) > len(paths)
    (tmp_path / "x.jsonl").write_bytes(GOOD.decode().encode("utf-16"))
    assert [split.kind for split in assert_same(tmp_path / "x.jsonl", 10, encoding="utf-16")] == ["whole"]


def test_a_folder_of_datasets_is_one_split_a_part(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({"text": [f"words {i}" for i in range(50)]}).save_to_disk(str(tmp_path / "d"))
    assert [split.kind for split in assert_same(tmp_path / "d", 10)] == ["whole"]


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet", "x.arrow"])
def test_what_cannot_be_read_says_so_when_it_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"no file of this kind at all" * 10)
    assert [split.kind for split in assert_same(path, 10)] == ["whole"]
    table = pa.table({"numbers": [1.5, 2.5]})
    if name == "x.jsonl":
        path.write_bytes(b'{"numbers": 1.5}\n' * 10)
    elif name == "x.parquet":
        pq.write_table(table, path)
    else:
        feather.write_feather(table, path)
    assert [split.kind for split in assert_same(path, 10)] == ["whole"]


def test_a_file_that_is_another_one_where_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD)
    reader = open_inputs(path)
    split = plan_splits(reader, 100)[1]
    path.write_bytes(GOOD + b"\n")
    with pytest.raises(InputChanged, match=f"has {len(GOOD) + 1} bytes, and had {len(GOOD)} when it was looked at"):
        read_split(reader.parts[0], split)
    path.unlink()
    with pytest.raises(InputError, match="does not exist"):
        list(read_split(reader.parts[0], split).tasks())


@pytest.mark.parametrize(
    "value",
    [["a text", "another"], [("a", "b")], {"a": "b"}, pa.table({"text": ["a"]})],
    ids=["texts", "pairs", "mapping", "table"],
)
def test_values_in_memory_cannot_be_read_elsewhere(value: Any) -> None:
    with pytest.raises(InputError, match="input is in the memory of this process, and cannot be read by the workers"):
        plan_splits(open_inputs(value), 100)


@pytest.mark.parametrize("kind", ["jsonl", "text"])
def test_standard_input_and_pipes_cannot_be_read_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    class Standard:
        buffer = io.BytesIO(GOOD)

    monkeypatch.setattr("sys.stdin", Standard())
    with pytest.raises(InputError, match=r"standard input cannot be read by the workers of a cluster\. Write it to"):
        plan_splits(open_inputs("-", input_format=kind), 100)
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    reader = open_inputs(tmp_path / "pipe", input_format=kind)
    with pytest.raises(InputError, match=r"the pipe .*pipe cannot be read by the workers of a cluster"):
        plan_splits(reader, 100)
    os.close(writer)
    source: Any = reader.parts[0]
    (source._stream or source.files[0].stream).close()


class Roomy(Source):
    """Gives one task that is to be done alone, and one that finds that out."""

    format = "jsonl"

    def tasks(self) -> Iterator[Task]:
        batch = Batch(Documents.from_bytes([b"a", b"b"]), "x", np.array([1, 2]), bad=3, blank=4)
        yield Alone(lambda: batch)

        def finds_out() -> Batch:
            raise NeedsRoom(Alone(lambda: batch))

        yield finds_out


def test_a_task_that_is_to_be_done_alone_is_so_in_a_split(tmp_path: Path) -> None:
    reading = read_split(Roomy(tmp_path / "x", ReadOptions()), Split(0, "whole", 0, 0, 0, 0))
    first, second = reading.tasks()
    assert isinstance(first, Alone)
    assert not isinstance(second, Alone)
    first(), first()
    with pytest.raises(NeedsRoom) as caught:
        second()
    with pytest.raises(RuntimeError, match="known when all"):
        _ = reading.records
    caught.value.task()
    assert reading.records == 18


def test_what_a_forged_footer_says_of_sizes_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(TABLE, path, row_group_size=1000)
    reader = open_inputs(path)
    for forged in (-5, 1 << 62, 1 << 70):
        monkeypatch.setattr(type(reader.parts[0]), "pieces", lambda _, size=forged: [(size, 1000)] * 3)
        splits = plan_splits(reader, 100)
        assert (len(splits), splits[-1].before) == ((1, 0) if forged < 0 else (3, 2000))


def test_reading_a_split_reads_little_beyond_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(line(0, 3 << 20) + b"\n" + GOOD * 10_000)
    (source,) = (reader := open_inputs(path)).parts
    splits = plan_splits(reader, 1 << 20)
    told: list[int] = []
    fill = module.ByteStream._fill
    monkeypatch.setattr(module.ByteStream, "_fill", lambda self, view: told.append(fill(self, view)) or told[-1])
    for i, split in enumerate(splits):
        told.clear()
        reading = read_split(source, split)
        batches = [task() for task in reading.tasks()]
        assert sum(told) <= (4 << 20 if i == 0 else split.nbytes + (1 << 17))
        if i in (1, 2):  # within the first line
            assert (batches, reading.records) == ([], 0)
