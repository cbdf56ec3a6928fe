"""Clean copies of Parquet and Arrow files: schema, metadata, order and every value but those of the removed rows."""

from __future__ import annotations

import datetime
import decimal
import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.errors import InputError
from neardup.inputs.source import ReadOptions
from neardup.tasks.rewrite.files import rewrite_file
from neardup.tasks.rewrite.model import Annotation, Rewrite

ROWS = 300
NOTHING: Sequence[int] = ()


def rewritten(
    path: Path, removed: Sequence[int] = NOTHING, *, annotation: Annotation | None = None, **options: Any
) -> tuple[bytes, int]:
    out = io.BytesIO()
    format, rows = "parquet" if ".parquet" in path.name else "arrow", np.array(removed, dtype=np.int64)
    count = rewrite_file(Rewrite(str(path), format, ReadOptions(), rows, annotation, **options), out)
    return out.getvalue(), count


def collection() -> pa.Table:
    """Columns of every kind that Parquet has, with nulls, field metadata, and metadata of the whole."""
    n = range(ROWS)
    items = [[{"b": i, "c": None if i % 2 else "x"}] * (i % 3) for i in n]
    nested = [{"a": items[i], "m": [("k", i / 7)]} if i % 11 else None for i in n]
    inner = pa.struct([("b", pa.int64()), ("c", pa.string())])
    columns: dict[str, Any] = {
        "id": pa.array(n, pa.int64()),
        "text": pa.array([f"text {i}" * (i % 5) for i in n]),
        "large": pa.array([None if i % 13 == 0 else str(i) for i in n], pa.large_string()),
        "view": pa.array([str(i) for i in n], pa.string_view()),
        "kind": pa.array([f"kind {i % 5}" for i in n]).cast(pa.dictionary(pa.int8(), pa.string(), ordered=True)),
        "price": pa.array([decimal.Decimal(i) / 100 if i % 9 else None for i in n], pa.decimal128(12, 2)),
        "bytes": pa.array([bytes([i % 256]) * (i % 3) for i in n]),
        "fixed": pa.array([i.to_bytes(4, "big") for i in n], pa.binary(4)),
        "zoned": pa.array(n, pa.timestamp("us", "Europe/Paris")),
        "exact": pa.array(n, pa.timestamp("ns")),
        "day": pa.array([datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in n]),
        "time": pa.array(n, pa.time64("us")),
        "unsigned": pa.array([2**32 - 1 - i for i in n], pa.uint32()),
        "half": pa.array(np.arange(ROWS).astype(np.float16)),
        "flag": pa.array([None, True, False] * (ROWS // 3)),
        "nested": pa.array(nested, pa.struct([("a", pa.list_(inner)), ("m", pa.map_(pa.string(), pa.float64()))])),
        "vector": pa.array([[float(i)] * 3 for i in n], pa.list_(pa.float32(), 3)),
        "nothing": pa.nulls(ROWS),
    }
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    fields[0] = pa.field("id", pa.int64(), nullable=False, metadata={"unit": "none"})
    schema = pa.schema(fields, metadata={"pandas": '{"columns": []}', "made by": "hand"})
    return pa.table(list(columns.values()), schema=schema)


TABLE = collection()
REMOVED = sorted({*range(2, 51, 3), *range(101, 151), 160, 299, 300})
"""A third of the first rows, the third row group of fifty, and the end."""
KEPT = [i for i in range(ROWS) if i + 1 not in REMOVED]


def rows_of(table: pa.Table, rows: Sequence[int]) -> list[Any]:
    values = table.to_pylist()
    return [values[i] for i in rows]


def column_facts(file: pq.ParquetFile) -> list[tuple[Any, ...]]:
    group = file.metadata.row_group(0)
    facts = (
        *("path_in_schema", "physical_type", "compression"),
        *("has_dictionary_page", "is_stats_set", "has_offset_index"),
    )
    return [tuple(getattr(group.column(i), fact) for fact in facts) for i in range(group.num_columns)]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"compression": {"id": "zstd", "text": "gzip", "kind": "snappy"}},
        {"compression": "none", "write_page_index": True},
        {"use_compliant_nested_type": False},
        {"use_deprecated_int96_timestamps": True},
        {"store_schema": False, "use_dictionary": ["kind"], "write_statistics": ["id"]},
        {"store_decimal_as_integer": True, "compression": "brotli"},
        {"sorting_columns": [pq.SortingColumn(0)]},
    ],
    ids=str,
)
def test_a_parquet_file_keeps_its_make(tmp_path: Path, how: dict[str, Any]):
    path = tmp_path / "x.parquet"
    pq.write_table(TABLE, path, row_group_size=50, **how)
    out, count = rewritten(path, REMOVED)
    assert count == len(KEPT) + len(REMOVED)
    with pq.ParquetFile(path) as before, pq.ParquetFile(io.BytesIO(out)) as after:
        assert after.schema.equals(before.schema)
        assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
        assert after.metadata.metadata == before.metadata.metadata
        assert column_facts(after) == column_facts(before)
        assert after.metadata.row_group(0).sorting_columns == before.metadata.row_group(0).sorting_columns
        assert after.read().to_pylist() == rows_of(before.read(), KEPT)
        after.read().validate(full=True)
        groups = [after.read_row_group(i)["id"].to_pylist() for i in range(after.metadata.num_row_groups)]
    starts = [start for start in range(0, ROWS, 50) if start != 100]
    assert groups == [[i for i in KEPT if start <= i < start + 50] for start in starts]


def test_an_older_parquet_version_is_kept(tmp_path: Path):
    path = tmp_path / "x.parquet"
    pq.write_table(TABLE.drop_columns(["exact"]), path, version="1.0", store_schema=False)
    with pq.ParquetFile(path) as before, pq.ParquetFile(io.BytesIO(rewritten(path, REMOVED)[0])) as after:
        assert after.metadata.format_version == "1.0"
        assert after.schema.equals(before.schema)
        assert after.metadata.metadata == before.metadata.metadata
        assert after.read().to_pylist() == rows_of(before.read(), KEPT)


def test_a_row_group_too_large_for_memory_becomes_several(tmp_path: Path):
    path = tmp_path / "x.parquet"
    table = pa.table({"id": range(20_000), "text": [f"{i:0100}" for i in range(20_000)]})
    pq.write_table(table, path, row_group_size=20_000)
    removed = list(range(1, 20_001, 4))
    with pq.ParquetFile(io.BytesIO(rewritten(path, removed, group_bytes=500_000)[0])) as file:
        assert file.metadata.num_row_groups > 2
        assert all(file.read_row_group(i).nbytes < 2_000_000 for i in range(file.metadata.num_row_groups))
        assert file.read()["id"].to_pylist() == [i for i in range(20_000) if i % 4]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_packed_parquet_file_is_packed_again(tmp_path: Path, suffix: str):
    path = tmp_path / f"x.parquet{suffix}"
    plain = io.BytesIO()
    pq.write_table(TABLE, plain)
    packed = pa.CompressedOutputStream(str(path), "gzip" if suffix == ".gz" else "zstd")
    with packed:
        packed.write(plain.getvalue())
    out, _ = rewritten(path, REMOVED)
    whole = gzip.decompress(out) if suffix == ".gz" else pa.CompressedInputStream(pa.BufferReader(out), "zstd").read()
    assert pq.read_table(pa.BufferReader(whole)).to_pylist() == rows_of(TABLE, KEPT)


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_all_rows_or_none_can_go(tmp_path: Path, name: str):
    path = tmp_path / name
    if name == "x.parquet":
        pq.write_table(TABLE, path, row_group_size=100)
    else:
        write_ipc(path, pa.ipc.new_file, None)
    assert rewritten(path) == (path.read_bytes(), ROWS)
    out, count = rewritten(path, range(1, ROWS + 1))
    read = pq.read_table if name == "x.parquet" else lambda source: pa.ipc.open_file(source).read_all()
    empty = read(io.BytesIO(out))
    assert (len(empty), count) == (0, ROWS)
    assert empty.schema.equals(read(str(path)).schema, check_metadata=True)


@pytest.mark.parametrize("maker", ["polars", "duckdb", "pandas"])
def test_files_of_other_makers_keep_schema_and_values(tmp_path: Path, maker: str):
    path = tmp_path / "x.parquet"
    if maker == "polars":
        import polars

        frame = polars.DataFrame({"id": range(90), "text": ["a"] * 90, "list": [[i, None] for i in range(90)]})
        kind = polars.Series("kind", ["x", "y", None] * 30, polars.Categorical)
        frame.with_columns(kind, polars.col("id").cast(polars.Decimal(10, 2)).alias("price")).write_parquet(path)
    elif maker == "duckdb":
        import duckdb

        duckdb.sql(
            "copy (select i as id, 'a' || i as text, [i, i + 1] as list, {'a': i, 'b': [i::varchar]} as struct, "
            "map {'k': i} as map, timestamptz '2020-01-01' as at, i::decimal(18, 3) as price, uuid() as uuid "
            f"from range(90) r(i)) to '{path}' (format parquet, codec zstd)"
        )
    else:
        import pandas

        kind = pandas.Categorical(["x", "y", None] * 30)
        index = pandas.Index(range(7, 97), name="place")
        pandas.DataFrame({"text": ["a"] * 90, "kind": kind}, index=index).to_parquet(path)
    removed = list(range(2, 91, 3))
    with pq.ParquetFile(path) as before, pq.ParquetFile(io.BytesIO(rewritten(path, removed)[0])) as after:
        assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
        assert after.metadata.metadata == before.metadata.metadata
        assert column_facts(after) == column_facts(before)
        assert after.read().to_pylist() == rows_of(before.read(), [i for i in range(90) if i + 1 not in removed])


def write_ipc(path: Path, make: Any, compression: str | None, table: pa.Table = TABLE) -> None:
    with make(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        for i, batch in enumerate(table.to_batches(max_chunksize=50)):
            writer.write_batch(batch, custom_metadata={"place": str(i)})


def codec_seen(data: bytes) -> str | None:
    """How the buffers are compressed, told from their first bytes: frames of lz4 and zstd begin with magic numbers."""
    if b"\x04\x22\x4d\x18" in data:
        return "lz4"
    return "zstd" if b"\x28\xb5\x2f\xfd" in data else None


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_an_arrow_file_keeps_its_make(tmp_path: Path, compression: str | None, kind: str):
    path = tmp_path / "x.arrow"
    ends = pa.RunEndEncodedArray.from_arrays(pa.array([100, ROWS], pa.int32()), pa.array(["a", "b"]))
    views = pa.array([[i] * (i % 3) for i in range(ROWS)], pa.list_view(pa.int32()))
    types, offsets = pa.array([0, 1] * (ROWS // 2), pa.int8()), pa.array(np.arange(ROWS, dtype=np.int32) // 2)
    either = pa.UnionArray.from_dense(types, offsets, [pa.array(range(ROWS // 2)), pa.array(["x"] * (ROWS // 2))])
    table = TABLE.append_column("ends", ends).append_column("views", views).append_column("either", either)
    write_ipc(path, pa.ipc.new_file if kind == "file" else pa.ipc.new_stream, compression, table)
    out, count = rewritten(path, REMOVED)
    assert count == len(KEPT) + len(REMOVED)
    assert codec_seen(out) == compression
    reader = (pa.ipc.open_file if kind == "file" else pa.ipc.open_stream)(out)
    assert reader.schema.equals(table.schema, check_metadata=True)
    if kind == "file":
        batches = [reader.get_batch_with_custom_metadata(i) for i in range(reader.num_record_batches)]
    else:
        batches = list(reader.iter_batches_with_custom_metadata())
    assert [batch.custom_metadata["place"].decode() for batch in batches] == ["0", "1", "3", "4", "5"]
    after = pa.Table.from_batches([batch.batch for batch in batches])
    after.validate(full=True)
    assert after.to_pylist() == rows_of(table, KEPT)


@pytest.mark.parametrize("deltas", [False, True])
def test_dictionaries_that_change_in_a_stream_stay_right(tmp_path: Path, deltas: bool):
    path = tmp_path / "x.arrow"
    kind = pa.dictionary(pa.int32(), pa.string())
    words = [["a", "b"], ["a", "b", "c"], ["d", "a", "b", "c"], ["e"]]
    schema = pa.schema([("kind", kind), ("kinds", pa.list_(kind))])
    expected: list[Any] = []
    with pa.ipc.new_stream(str(path), schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)) as writer:
        for dictionary in words:
            places = pa.array(list(range(len(dictionary))) * 2, pa.int32())
            column = pa.DictionaryArray.from_arrays(places, pa.array(dictionary))
            lists = pa.ListArray.from_arrays(pa.array(range(len(places) + 1), pa.int32()), column)
            writer.write_batch(pa.record_batch([column, lists], schema=schema))
            expected += [{"kind": word, "kinds": [word]} for word in dictionary * 2]
    removed = [1, 4, 7, 20]
    out = rewritten(path, removed)[0]
    assert pa.ipc.open_stream(out).read_all().to_pylist() == [
        row for i, row in enumerate(expected, start=1) if i not in removed
    ]


def test_a_file_with_growing_dictionaries_stays_right(tmp_path: Path):
    path = tmp_path / "x.arrow"
    schema = pa.schema([("kind", pa.dictionary(pa.int32(), pa.string()))])
    with pa.ipc.new_file(str(path), schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as writer:
        for words in (["a", "b"], ["a", "b", "c"]):
            column = pa.DictionaryArray.from_arrays(pa.array(range(len(words)), pa.int32()), pa.array(words))
            writer.write_batch(pa.record_batch([column], schema=schema))
    assert pa.ipc.open_file(rewritten(path, [1])[0]).read_all()["kind"].to_pylist() == ["b", "a", "b", "c"]


def test_a_batch_too_large_for_memory_becomes_several(tmp_path: Path):
    path = tmp_path / "x.arrow"
    table = pa.table({"id": range(20_000), "text": [f"{i:0100}" for i in range(20_000)]})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    reader = pa.ipc.open_file(rewritten(path, range(1, 20_001, 4), group_bytes=500_000)[0])
    assert reader.num_record_batches > 2
    assert reader.read_all()["id"].to_pylist() == [i for i in range(20_000) if i % 4]


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
@pytest.mark.parametrize("keeper", ["numbers", "strings"])
def test_an_annotated_file_gets_three_more_columns(tmp_path: Path, name: str, keeper: str):
    path = tmp_path / name
    if name == "x.parquet":
        pq.write_table(TABLE, path, row_group_size=100)
    else:
        write_ipc(path, pa.ipc.new_stream, "lz4")
    rows = np.array(REMOVED, dtype=np.int64)
    ids = pa.array(REMOVED) if keeper == "numbers" else pa.array([f"id {row}" for row in REMOVED], pa.large_string())
    similarity = np.where(rows % 3 == 0, np.nan, rows / 1000)
    out, count = rewritten(path, annotation=Annotation(rows, rows * 2, ids, similarity))
    assert count == ROWS
    if name == "x.parquet":
        before, after = pq.read_table(path), pq.read_table(io.BytesIO(out))
    else:
        before, after = TABLE, pa.ipc.open_stream(out).read_all()
    added = ["cluster", "keeper", "similarity"]
    types = [pa.int64(), pa.int64() if keeper == "numbers" else pa.large_string(), pa.float64()]
    assert after.schema.names == [*before.schema.names, *added]
    assert [after.schema.field(column).type for column in added] == types
    assert after.schema.metadata == before.schema.metadata
    assert after.drop_columns(added).to_pylist() == before.to_pylist()
    expected = {
        row: (row * 2, row if keeper == "numbers" else f"id {row}", None if row % 3 == 0 else row / 1000)
        for row in REMOVED
    }
    values = [tuple(value.values()) for value in after.select(added).to_pylist()]
    assert values == [expected.get(row, (None, None, None)) for row in range(1, ROWS + 1)]


def test_added_columns_get_a_prefix_when_their_names_are_taken(tmp_path: Path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": ["a"], "similarity": [1]}), path)
    one = np.array([1], dtype=np.int64)
    annotation = Annotation(one, one, pa.array([1]), np.array([1.0]))
    names = pq.read_schema(io.BytesIO(rewritten(path, annotation=annotation)[0])).names
    assert names == ["text", "similarity", "neardup_cluster", "neardup_keeper", "neardup_similarity"]


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_a_changed_or_broken_file_is_refused(tmp_path: Path, name: str):
    path = tmp_path / name
    if name == "x.parquet":
        pq.write_table(TABLE, path)
    else:
        write_ipc(path, pa.ipc.new_file, None)
    with pytest.raises(InputError, match=rf"{name} was changed since it was read: of 2 documents to find again, 1 "):
        rewritten(path, [1, ROWS + 1])
    path.write_bytes(b"no such file")
    with pytest.raises(InputError, match="cannot be read as"):
        rewritten(path, [1])
    path.write_bytes(b"")
    with pytest.raises(InputError, match="cannot be read as"):
        rewritten(path, [1])
    path.unlink()
    with pytest.raises(InputError, match="does not exist"):
        rewritten(path, [1])
