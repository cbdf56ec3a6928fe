"""Columnar files whose values, pages or batches are larger than may be held."""

from __future__ import annotations

import gzip
import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.reading import zstd
from tests.unit.test_record_limits import LIMIT, read, rewritten

from neardup.errors import InputError
from neardup.inputs.columnar import flatbuffers, parquet
from neardup.inputs.columnar.ipc import messages_of
from neardup.inputs.columnar.parquet import pages_of

MB = 1_000_000


def texts(*sizes: int) -> list[str]:
    return [chr(ord("a") + i % 26) * size for i, size in enumerate(sizes)]


def table(values: Any, **more: Any) -> pa.Table:
    return pa.table({"id": [f"n{i}" for i in range(len(values))], "text": values, **more})


def ipc(path: Path, table: pa.Table, *, is_file: bool, compression: str | None = None, rows: int | None = None) -> Path:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (pa.ipc.new_file if is_file else pa.ipc.new_stream)(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


LAYOUTS = [
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.string_view(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.large_string()),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("where", ["parquet", "arrow", "stream", "memory", "parquet.gz", "arrow.zst"])
def test_a_row_is_passed_over_when_it_is_larger_than_the_limit(tmp_path: Path, layout: Any, where: str) -> None:
    largest = 9 * MB  # more than two batches, or it would not be looked at by itself
    values = texts(10, largest, largest + 1, 20, 30)
    column = (
        pa.array(values, pa.string()).cast(layout) if not pa.types.is_string_view(layout) else pa.array(values, layout)
    )
    data = table(column)
    path = tmp_path / f"x.{where}"
    if where.startswith("parquet"):
        pq.write_table(data, path, use_dictionary=False, data_page_size=1, write_batch_size=1)
    elif where != "memory":
        ipc(path, data, is_file=where != "stream")
    if where in ("parquet.gz", "arrow.zst"):
        path.write_bytes((gzip.compress if where.endswith("gz") else zstd)(path.read_bytes()))
    if where == "memory":
        every = read(data, largest)
    else:
        every = read(path, largest, input_format="arrow" if where == "stream" else None)
    if where == "parquet.gz" or where == "arrow.zst":
        assert path.stat().st_size < MB
    assert [len(text) for text in every.texts] == [10, largest, 20, 30]
    assert every.rows == [1, 2, 4, 5]
    assert every.ids == ["n0", "n1", "n3", "n4"]
    assert every.bad == 1
    assert every.faults[0].endswith("allows 9.0 MB for one")
    assert ":3: the row has 9.0 MB" in every.faults[0]
    with pytest.raises(InputError, match=r":3: the row has .*skip"):
        read(
            data if where == "memory" else path,
            largest,
            on_bad="fail",
            input_format="arrow" if where == "stream" else None,
        )


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "zstd", "gzip", "snappy"])
@pytest.mark.parametrize("kind", ["dictionary", "plain", "front coded", "lengths"])
def test_the_pages_of_a_column_are_known_before_they_are_unpacked(
    tmp_path: Path, version: str, compression: str, kind: str
) -> None:
    data = table([f"text {i % 1000} " * 50 for i in range(8_000)], tags=[["a", str(i % 9)] for i in range(8_000)])
    how: dict[str, Any] = {"use_dictionary": kind == "dictionary"}
    if kind in ("front coded", "lengths"):
        how["column_encoding"] = {
            "text": "DELTA_BYTE_ARRAY" if kind == "front coded" else "DELTA_LENGTH_BYTE_ARRAY",
        }
    path = tmp_path / "x.parquet"
    pq.write_table(data, path, data_page_version=version, compression=compression, row_group_size=3500, **how)
    with pa.OSFile(str(path)) as file:
        metadata = pq.read_metadata(path)
        for i in range(metadata.num_row_groups):
            for j in range(metadata.num_columns):
                chunk = metadata.row_group(i).column(j)
                pages = list(pages_of(file, chunk))
                assert len(pages) > 1 or chunk.path_in_schema != "text" or metadata.row_group(i).num_rows < 3500
                assert sum(page.values for page in pages) == chunk.num_values
                told = sum(page.unpacked for page in pages)
                assert told <= chunk.total_uncompressed_size <= told + 4000 * len(pages)  # which counts the headers
                if chunk.path_in_schema == "text":
                    assert any(page.is_dictionary for page in pages) == (kind == "dictionary")
                    assert any(page.is_by_number for page in pages) == (kind == "dictionary")
                    assert all(page.is_front_coded for page in pages) == (kind == "front coded")


def test_a_damaged_page_header_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(table(texts(10, 20)), path)
    data = bytearray(path.read_bytes())
    at = pq.read_metadata(path).row_group(0).column(1).dictionary_page_offset
    for damage in (b"\xff" * 8, b"\x15" + b"\xff" * 12, b"\0" * 8):
        data[at : at + len(damage)] = damage
        path.write_bytes(data)
        with pytest.raises(InputError, match="cannot be read as Parquet"):
            read(path)


@pytest.mark.parametrize("how", [{}, {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}])
def test_a_few_bytes_that_stand_for_one_value_many_times_are_read_piece_by_piece(
    tmp_path: Path, how: dict[str, Any]
) -> None:
    """10 GB from 500 bytes, or 240 MB: the good rows between are read, the rest is bad, and nothing of it is held."""
    path = tmp_path / "x.parquet"
    n = 420 if not how else 10
    values = pa.DictionaryArray.from_arrays(
        pa.array([0] * n + [1, 2] + [0] * n, pa.int32()), pa.array(["x" * 12 * MB, "one", "two"])
    )
    pq.write_table(table(values.cast(pa.large_string()) if how else values), path, compression="zstd", **how)
    before = pa.total_allocated_bytes()
    every = read(path, 9 * MB)
    assert (every.texts, every.rows) == (["one", "two"], [n + 1, n + 2])
    assert every.bad == 2 * n
    assert pa.total_allocated_bytes() - before < 100 * MB


@pytest.mark.parametrize(("value", "rows"), [(50_000, 2000), (2 * MB, 120)])
def test_the_batches_of_a_dictionary_never_have_much_more_than_the_limit(
    tmp_path: Path, value: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.parquet"
    indices = np.random.default_rng(1).integers(0, 3, rows).astype(np.int32)
    indices[0] = 0
    data = table(pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(["x" * value, "one", "two"])))
    pq.write_table(data, path)
    seen: list[int] = []
    of_rows = parquet.Groups.of_rows

    def noted(self: Any, *how: Any) -> Any:
        for batch in of_rows(self, *how):
            seen.append(batch.nbytes)
            yield batch

    monkeypatch.setattr(parquet.Groups, "of_rows", noted)
    every = read(path, 9 * MB)
    assert len(every.texts) == rows
    assert [len(text) for text in every.texts] == [(value, 3, 3)[i] for i in indices]
    assert max(seen) < 15 * MB


@pytest.mark.parametrize("compression", ["zstd", "gzip", "none"])
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_a_row_group_with_a_page_that_cannot_be_held_is_passed_over(
    tmp_path: Path, compression: str, use_dictionary: bool
) -> None:
    path = tmp_path / "x.parquet"
    data = table([*texts(10, 20), "x" * 5000, *texts(30, 40, 50)])
    pq.write_table(data, path, row_group_size=2, compression=compression, use_dictionary=use_dictionary)
    every = read(path)
    assert (every.rows, [len(text) for text in every.texts], every.bad) == ([1, 2, 5, 6], [10, 20, 40, 50], 2)
    assert f"{path}:3: a page of the rows 3 to 4 has 5," in every.faults[0]
    assert every.consumed == path.stat().st_size
    with pytest.raises(InputError, match="a page of the rows 3 to 4 has 5,"):
        read(path, on_bad="fail")
    with pytest.raises(InputError, match="a page of row group 1 has 5,"):  # nor is a clean copy made of what was not
        rewritten(path, "parquet", LIMIT, removed=np.array([1]))


def test_the_ids_of_a_parquet_file_count_too(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"id": ["a", "x" * 5000, "b"], "text": ["one", "two", "three"]}), path, row_group_size=1)
    every = read(path)
    assert (every.ids, every.rows, every.bad) == (["a", "b"], [1, 3], 1)
    long = ["x" * 12 * MB, "b"]
    pq.write_table(pa.table({"id": long, "text": ["one", "two"]}), path)
    assert read(path, 9 * MB).ids == ["b"]


def test_a_set_of_very_many_items_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    many = pa.ListArray.from_arrays(pa.array([0, 2, 4_000_002, 4_000_003], pa.int32()), pa.array([7] * 4_000_003))
    pq.write_table(pa.table({"text": many}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    for where in (path, ipc(tmp_path / "x.arrow", pa.table({"text": many}), is_file=True)):
        every = read(where, 9 * MB, item=True, input_format=None)
        assert every.rows == [1, 3]
        assert every.bad == 1


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
@pytest.mark.parametrize("is_file", [True, False])
def test_a_batch_that_unpacks_to_more_than_can_be_held_is_passed_over(
    tmp_path: Path, compression: str, is_file: bool
) -> None:
    data = table([*texts(10, 20), "x" * 50_000, *texts(30, 40, 50)], other=["y" * 50_000] * 6)
    path = ipc(tmp_path / "x.arrow", data, is_file=is_file, compression=compression, rows=2)
    every = read(path)
    assert (every.rows, [len(text) for text in every.texts], every.bad) == ([1, 2, 5, 6], [10, 20, 40, 50], 2)
    assert every.faults[0].startswith(f"{path}:3: the batch of the rows 3 to 4 has 50,")
    assert path.stat().st_size - 100 <= every.consumed <= path.stat().st_size
    with pytest.raises(InputError, match="the batch of the rows 3 to 4"):
        read(path, on_bad="fail")
    with pytest.raises(InputError, match="a batch has"):
        rewritten(path, "arrow", LIMIT, removed=np.array([1]))


@pytest.mark.parametrize("is_file", [True, False])
def test_a_batch_that_claims_to_be_huge_is_passed_over_before_memory_is_asked_for(
    tmp_path: Path, is_file: bool
) -> None:
    path = ipc(tmp_path / "x.arrow", table(texts(500, 600)), is_file=is_file, compression="zstd")
    data = bytearray(path.read_bytes())
    told = struct.pack("<q", 1100)
    assert data.count(told) == 1
    data[data.index(told) : data.index(told) + 8] = struct.pack("<q", 1 << 46)
    path.write_bytes(data)
    every = read(path)
    assert (every.texts, every.bad) == ([], 2)
    assert "has 70,368,744.2 MB" in every.faults[0]


@pytest.mark.parametrize("is_file", [True, False])
def test_a_dictionary_that_cannot_be_held_is_refused(tmp_path: Path, is_file: bool) -> None:
    data = table(pa.array(texts(10, 50_000, 10)).dictionary_encode())
    path = ipc(tmp_path / "x.arrow", data, is_file=is_file, compression="zstd")
    with pytest.raises(InputError, match=r"x\.arrow: a dictionary of a column has 50,"):
        read(path)


@pytest.mark.parametrize("is_file", [True, False])
@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_what_a_batch_unpacks_to_is_what_its_columns_have(
    tmp_path: Path, is_file: bool, compression: str | None
) -> None:
    n = 1000
    data = pa.table(
        {
            "null": pa.nulls(n),
            "list": [[{"a": 1, "b": "x"}]] * n,
            "text": ["abc" * 100] * n,
            "view": pa.array(["a view of a long string"] * n, pa.string_view()),
            "kind": pa.array(["x", "y"] * (n // 2)).dictionary_encode(),
            "map": pa.array([[("k", 1)]] * n, pa.map_(pa.string(), pa.int64())),
            "pair": pa.array([[1, 2]] * n, pa.list_(pa.int32(), 2)),
            "flag": [True] * n,
            "more": ["q" * 100] * n,
        }
    )
    path = ipc(tmp_path / "x.arrow", data, is_file=is_file, compression=compression, rows=250)
    found = messages_of(pa.py_buffer(path.read_bytes()), is_file=is_file, schema=data.schema, columns=[2, 8])
    batches = [message for message in found if message.is_records]
    assert [message.rows for message in batches] == [250] * 4
    expected = 250 * 400 + 2 * 4 * 251 if compression else 0
    assert all(abs(message.unpacked - expected) <= 128 for message in batches)


@pytest.mark.parametrize("order", [("id", "text"), ("text", "id")])
def test_columns_are_found_whatever_lies_before_between_and_behind_them(tmp_path: Path, order: tuple[str, str]) -> None:
    columns = {"id": ["a", "b"], "text": ["one", "two"]}
    names = ["x", order[0], "y", order[1], "z"]
    data = pa.table({name: columns.get(name, [[1], [2]]) for name in names})
    for is_file in (True, False):
        every = read(ipc(tmp_path / "x.arrow", data, is_file=is_file, compression="lz4"))
        assert (every.texts, every.ids) == (["one", "two"], ["a", "b"])
    one = ipc(tmp_path / "x.arrow", data, is_file=True)
    assert read(one, text="text", id="text").ids == ["one", "two"]


def test_a_compressed_columnar_file_that_cannot_be_held_whole_is_refused(tmp_path: Path) -> None:
    out = io.BytesIO()
    pq.write_table(table(texts(*[100] * 5)), out)
    for suffix, pack in (("gz", gzip.compress), ("zst", zstd)):
        path = tmp_path / f"x.parquet.{suffix}"
        path.write_bytes(pack(out.getvalue() + bytes(50_000)))
        with pytest.raises(InputError, match="the file has 5"):
            read(path)


def test_flatbuffers_reads_what_is_left_out_as_nothing() -> None:
    empty = struct.pack("<I", 8) + struct.pack("<HH", 4, 4) + struct.pack("<i", 4)
    at = flatbuffers.root(empty)
    assert flatbuffers.scalar(empty, at, 3, "q") == 0
    assert flatbuffers.structs(empty, at, 2, "qq") == []
    assert flatbuffers.table(empty, at, 1) == 0
