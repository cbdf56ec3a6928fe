"""Parquet, Arrow IPC and Feather files, and objects of the real libraries."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from tests.unit.reading import read

from neardup.errors import InputError
from neardup.inputs.reader import open_inputs

TEXTS = ["one", "zwölf Boxkämpfer", "", "a text of more than twelve bytes"]
IDS = [3, 1, 4, 15]
TABLE = pa.table({"id": IDS, "text": TEXTS, "other": [0.5] * 4})


def ipc_file(table: pa.Table, path: Path, **options: Any) -> None:
    with pa.OSFile(str(path), "w") as sink, pa.ipc.new_file(sink, table.schema, **options) as writer:
        writer.write_table(table)


def ipc_stream(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "w") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "a.parquet": lambda table, path: pq.write_table(table, path),
    "groups.parquet": lambda table, path: pq.write_table(table, path, row_group_size=2, compression="zstd"),
    "file.arrow": ipc_file,
    "zstd.arrow": lambda table, path: ipc_file(table, path, options=pa.ipc.IpcWriteOptions(compression="zstd")),
    "stream.arrow": ipc_stream,
    "lz4.feather": lambda table, path: pa.feather.write_feather(table, path, compression="lz4"),
    "plain.feather": lambda table, path: pa.feather.write_feather(table, path, compression="uncompressed"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](TABLE, path)
    every = read(path)
    assert (every.texts, every.ids, every.rows) == (TEXTS, IDS, [1, 2, 3, 4])
    assert read(path, id="text").ids == TEXTS
    assert read(path, block=1).texts == TEXTS
    size = path.stat().st_size
    assert 0.5 * size < every.consumed <= size


def test_files_without_rows_hold_no_documents(tmp_path: Path) -> None:
    for name, write in WRITERS.items():
        write(TABLE.slice(0, 0), tmp_path / name)
        assert read(tmp_path / name).texts == []


def test_a_compressed_arrow_stream(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow.gz"
    with (
        pa.OSFile(str(path), "w") as raw,
        pa.CompressedOutputStream(raw, "gzip") as sink,
        pa.ipc.new_stream(sink, TABLE.schema) as writer,
    ):
        writer.write_table(TABLE)
    assert read(path).texts == TEXTS


def test_an_arrow_stream_is_read_to_its_end_or_refused(tmp_path: Path) -> None:
    sink, places = io.BytesIO(), []
    table = pa.table({"text": ["one", "two", "three"]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=1):
            places.append(sink.tell())
            writer.write_batch(batch)
        places.append(sink.tell())
    whole, path = sink.getvalue(), tmp_path / "a.arrow"
    for good in (whole, whole + bytes(64), whole[: places[3]] + bytes(4)):  # four zeros: before Arrow 0.15
        path.write_bytes(good)
        assert read(path).texts == ["one", "two", "three"]
    for place in places[1:]:
        path.write_bytes(whole[:place])
        with pytest.raises(InputError, match="without an end marker, so batches may be missing"):
            read(path, on_bad="skip")
    for bad in (whole[:-1], whole[:-4], *(whole[: places[1] + more] for more in (1, 4, 7)), whole + whole):
        path.write_bytes(bad)
        with pytest.raises(InputError, match="cannot be read as Arrow"):
            read(path)


def test_a_cut_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.parquet"
    pq.write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"cut\.parquet cannot be read as Parquet"):
        read(path)


OBJECTS: dict[str, Callable[[], Any]] = {
    "pyarrow table": lambda: TABLE,
    "pyarrow batch": lambda: TABLE.to_batches()[0],
    "pyarrow reader": TABLE.to_reader,
    "pandas": TABLE.to_pandas,
    "pandas indexed": lambda: TABLE.to_pandas().set_index(np.array([9, 8, 7, 6])),
    "polars": lambda: pl.from_arrow(TABLE),
    "struct array": lambda: TABLE.to_struct_array().combine_chunks(),
    "large": lambda: TABLE.select(["id", "text"]).cast(pa.schema({"id": pa.int32(), "text": pa.large_string()})),
    "view": lambda: TABLE.set_column(1, "text", pa.array(TEXTS, pa.string_view())),
    "dictionary": lambda: TABLE.set_column(1, "text", pa.array(TEXTS).dictionary_encode()),
    "binary": lambda: TABLE.set_column(1, "text", pa.array([text.encode() for text in TEXTS])),
    "slice": lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE, TABLE]).combine_chunks().slice(5),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects(name: str) -> None:
    every = read(OBJECTS[name]())
    assert (every.texts, every.ids, every.rows) == (TEXTS, IDS, [1, 2, 3, 4])


def test_a_duckdb_relation() -> None:
    with duckdb.connect() as connection:
        connection.register("t", TABLE)
        every = read(connection.sql("select id, text from t order by id"))
        assert every.ids == sorted(IDS)
        assert every.texts == ["zwölf Boxkämpfer", "one", "", TEXTS[3]]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(TEXTS),
        pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype="category"),
        pl.Series(TEXTS),
        pa.array(["x", *TEXTS]).slice(1),
    ],
)
def test_a_single_column_has_positions_for_ids(column: Any) -> None:
    every = read(column)
    assert (every.texts, every.ids, every.rows) == (TEXTS, [0, 1, 2, 3], [1, 2, 3, 4])


def test_a_frame_without_ids_has_positions() -> None:
    assert read(pl.DataFrame({"text": TEXTS})).ids == [0, 1, 2, 3]
    assert read(pd.DataFrame({"text": TEXTS}, index=list("abcd"))).ids == [0, 1, 2, 3]


# datasets is tried in its own process: importing it sets up logging, multiprocessing and warnings of its own
DATASETS = """
import datasets
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from tests.unit.reading import read

data = datasets.Dataset.from_dict({"id": ["x", "y", "z"], "text": ["a", "b", "c"], "n": [1, 2, 3]})
assert not hasattr(data, "__arrow_c_stream__"), "it speaks the interface now: drop the other way"
for value, texts in (
    (data, ["a", "b", "c"]),
    (data.select([2, 0]), ["c", "a"]),
    (data.filter(lambda row: row["n"] > 1), ["b", "c"]),
    (data.select([]), []),
    (data.to_iterable_dataset(), ["a", "b", "c"]),
):
    assert read(value).texts == texts, (value, read(value).texts)
assert read(data.select([2, 0])).ids == ["z", "x"]
sets = datasets.Dataset.from_dict({"text": [["a", "b"], []]})
assert read(sets, item=True).texts == ["a|b", ""]
try:
    open_inputs(datasets.DatasetDict({"train": data}))
except InputError as error:
    assert "dataset['train']" in str(error), error
else:
    raise AssertionError("a DatasetDict was read")
"""


def test_datasets(repository: Path) -> None:
    path = os.pathsep.join([str(repository), str(repository / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", DATASETS], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_nulls_and_bad_bytes_are_faults() -> None:
    table = pa.table({"id": [1, None, 3, 4], "text": pa.array([b"fine", b"x", None, b"\xff"], pa.binary())})
    every = read(table, on_bad="skip")
    assert (every.texts, every.ids, every.rows, every.bad) == (["fine"], [1], [1], 3)
    assert every.faults == [
        "input:2: the id is null",
        "input:3: the text is null",
        "input:4: byte 0xff at byte 1 of the text is no valid UTF-8",
    ]
    with pytest.raises(InputError, match=r"input:3: the text is null.*--on-bad skip"):
        read(table)


def test_strings_that_are_no_utf8_are_faults() -> None:
    offsets, data = np.array([0, 1, 3], np.int32), b"a\xc3("
    broken = pa.StringArray.from_buffers(2, pa.py_buffer(offsets), pa.py_buffer(data))
    assert read(broken, on_bad="skip").texts == ["a"]


def test_null_and_empty_differ() -> None:
    every = read(pa.array(["", None]), on_bad="skip")
    assert (every.texts, every.bad) == ([""], 1)
    assert read(pa.array([None, None]), on_bad="skip").bad == 2


@pytest.mark.parametrize(
    ("ids", "taken"),
    [
        (pa.array([1, 2], pa.uint8()), [1, 2]),
        (pa.array([1, 1 << 63], pa.uint64()), ["1", str(1 << 63)]),
        (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array([b"a", b"b"]), ["a", "b"]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array([1, 2], pa.date32()), ["1970-01-02", "1970-01-03"]),
    ],
)
def test_types_of_ids(ids: Any, taken: list[Any]) -> None:
    assert read(pa.table({"id": ids, "text": ["x", "y"]})).ids == taken


SETS = [["a", "b"], [], ["c"]]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(SETS),
        pa.array([["x"], *SETS]).slice(1),
        pa.array(SETS, pa.large_list(pa.large_string())),
        pa.array(SETS, pa.list_view(pa.string_view())),
        pa.array(SETS, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        pl.Series(SETS),
        pd.Series(SETS),
    ],
)
def test_lists_are_sets(column: Any) -> None:
    every = read(column, item=True)
    assert every.blobs == [b"a\xffb", b"", b"c"]


def test_lists_of_numbers_and_of_fixed_size_are_sets() -> None:
    assert read(pa.array([[1, -2], [3]], pa.list_(pa.int16())), item=True).texts == ["1|-2", "3"]
    fixed = pa.array([["a", "b"], None, ["c", "d"]], pa.list_(pa.string(), 2))
    every = read(fixed, item=True, on_bad="skip")
    assert (every.texts, every.bad) == (["a|b", "c|d"], 1)


def test_null_items_are_faults_and_strings_are_split() -> None:
    every = read(pa.array([["a", None], None, ["b"]]), item=True, on_bad="skip")
    assert (every.texts, every.rows, every.bad) == (["b"], [3], 2)
    assert read(pa.array(["a  b", ""]), item=True).texts == ["a|b", ""]


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        (
            pa.table({"text": [{"a": 1}]}),
            {},
            r"'text' is of type struct<a: int64>, not text. Make the text a column",
        ),
        (pa.table({"text": [["a"]]}), {}, "list<.*--shingle item"),
        (pa.table({"text": [1]}), {}, "of type int64, not text. Choose a column of strings"),
        (pa.table({"text": [[1.5]]}), {"item": True}, "list<.*double"),
        (pa.table({"one": ["a"], "two": ["b"]}), {}, "no column is named like a text.*'one', 'two'"),
        (pa.table({"text": ["a"]}), {"text": "txet"}, "Did you mean 'text'"),
        (pa.table({"text": ["a"]}), {"id": "key"}, "no column 'key' for --id"),
        (pa.table({"text": ["a"], "id": [[1]]}), {"id": "id"}, "which is no id"),
        (pa.Table.from_arrays([pa.array(["a"])] * 2, ["text", "text"]), {}, "2 columns are named 'text'"),
        (pa.array(["a"]), {"text": "body"}, "a single column"),
        (pa.array([1]), {}, "the column is of type int64, not text"),
        (pd.DataFrame({"text": ["a", 1]}), {}, "the DataFrame cannot be read as Arrow columns"),
    ],
)
def test_unusable_columns_are_named(value: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(value, **options)


def test_a_guess_passes_over_columns_of_unfit_types() -> None:
    table = pa.table({"text": [["a"]], "body": ["b"], "id": [{"x": 1}], "key": ["k"]})
    every = read(table)
    assert (every.texts, every.ids) == (["b"], ["k"])


def test_texts_of_a_table_are_not_copied() -> None:
    texts = pa.array([f"text {i} " * 50 for i in range(20_000)], pa.large_string())
    batches = [task() for task in open_inputs(pa.table({"text": texts})).tasks()]
    assert len(batches) > 1
    start = texts.buffers()[2].address
    addresses = [batch.documents.data.ctypes.data for batch in batches[:-1]]
    assert addresses == [start] * len(addresses)  # the last may lack the slack


def test_large_batches_are_cut() -> None:
    texts = ["x" * 1000] * 10_000
    for column in (pa.array(texts), pa.array(texts, pa.string_view()), pl.Series(texts)):
        every = read(column)
        assert 2 <= len(every.batches) <= 4
        assert every.texts == texts
