"""Objects of the real libraries, given back without some rows or with more columns."""

from __future__ import annotations

import io
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.reading import read

from neardup.errors import InputError
from neardup.inputs.columnar.objects import rereadable
from neardup.tasks.dedup.objects import with_annotation, without_rows
from neardup.tasks.rewrite.model import Annotation

TEXTS = ["one", "two", "three", "four", "five", "six", "seven"]
RECORDS = [
    {"id": i, "text": text, "part": {"tags": ["t"] * i}, "score": None if i == 2 else i / 2}
    for i, text in enumerate(TEXTS)
]
TABLE = pa.Table.from_pylist(RECORDS).replace_schema_metadata({"made": "by hand"})
REMOVED = [0, 3, 4]
LEFT = [1, 2, 5, 6]


def rows_of(*rows: int) -> Any:
    return np.array(rows, dtype=np.int64)


class Capsule:
    """Something of an unknown library that speaks the stream interface; a table only once."""

    def __init__(self, content: pa.Table | pa.ChunkedArray) -> None:
        self._content: Any = content

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        content = self._content
        if isinstance(content, pa.Table):
            self._content = None
        return content.__arrow_c_stream__(requested_schema)


class ArrayCapsule:
    """The same for the interface of one batch."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "text": TEXTS,
            "kind": pd.Categorical(["a", "b"] * 3 + ["a"]),
            "n": pd.array([1, None, 3, 4, 5, 6, 7], dtype="Int16"),
            "when": pd.date_range("2020-01-01", periods=7, tz="Europe/Berlin"),
            "any": [1, "x", None, (1, 2), 4.5, b"y", {}],
        },
        index=pd.MultiIndex.from_product([["k"], [7, 6, 5, 4, 3, 2, 1]], names=["p", "q"]),
    )


def as_rows(value: Any) -> list[Any]:
    """What a value holds, told without our code."""
    if isinstance(value, (pa.Table, pa.RecordBatch)):
        return value.to_pylist()
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return value.to_pylist()
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    if isinstance(value, (pl.Series, datasets.Dataset)):
        return value.to_list()
    if isinstance(value, dict):
        return list(value.items())
    return list(value)


def text_of(row: Any) -> Any:
    if isinstance(row, dict):
        return row["text"]
    return row[1] if isinstance(row, tuple) else row


KINDS: dict[str, tuple[Callable[[], Any], type, list[Any]]] = {
    "pyarrow table": (lambda: TABLE, pa.Table, RECORDS),
    "pyarrow table in pieces": (lambda: pa.concat_tables([TABLE[:1], TABLE[1:5], TABLE[5:]]), pa.Table, RECORDS),
    "pyarrow batch": (lambda: TABLE.to_batches()[0], pa.RecordBatch, RECORDS),
    "pyarrow slice": (lambda: pa.table({"text": ["before", *TEXTS]})[1:], pa.Table, [{"text": each} for each in TEXTS]),
    "pyarrow reader": (lambda: TABLE.to_reader(max_chunksize=2), pa.Table, RECORDS),
    "pyarrow array": (lambda: pa.array(TEXTS), pa.Array, TEXTS),
    "pyarrow chunks": (lambda: pa.chunked_array([TEXTS[:2], [], TEXTS[2:]]), pa.ChunkedArray, TEXTS),
    "pyarrow views": (lambda: pa.array(TEXTS, pa.string_view()), pa.Array, TEXTS),
    "pyarrow chunks of views": (
        lambda: pa.chunked_array([TEXTS[:2], TEXTS[2:]], pa.string_view()),
        pa.ChunkedArray,
        TEXTS,
    ),
    "pyarrow table of views": (
        lambda: pa.table({"text": pa.array(TEXTS, pa.string_view())}),
        pa.Table,
        [{"text": each} for each in TEXTS],
    ),
    "pyarrow dictionary": (lambda: pa.array(TEXTS).dictionary_encode(), pa.DictionaryArray, TEXTS),
    "polars frame": (lambda: pl.DataFrame(RECORDS), pl.DataFrame, RECORDS),
    "polars series": (lambda: pl.Series("text", TEXTS), pl.Series, TEXTS),
    "pandas series": (lambda: pd.Series(TEXTS, index=list("gfedcba")), pd.Series, TEXTS),
    "dataset": (lambda: datasets.Dataset.from_list(RECORDS), datasets.Dataset, RECORDS),
    "selected dataset": (
        lambda: datasets.Dataset.from_list(RECORDS[::-1]).select(range(6, -1, -1)),
        datasets.Dataset,
        RECORDS,
    ),
    "duckdb relation": (lambda: duckdb.from_arrow(TABLE), pa.Table, RECORDS),
    "capsule": (lambda: Capsule(TABLE), pa.Table, RECORDS),
    "capsule of a column": (lambda: Capsule(pa.chunked_array([TEXTS])), pa.ChunkedArray, TEXTS),
    "capsule of an array": (lambda: ArrayCapsule(TABLE.to_batches()[0]), pa.Table, RECORDS),
    "numpy": (lambda: np.array(TEXTS), np.ndarray, TEXTS),
    "list": (lambda: list(TEXTS), list, TEXTS),
    "tuple": (lambda: tuple(TEXTS), tuple, TEXTS),
    "pairs": (lambda: list(enumerate(TEXTS)), list, list(enumerate(TEXTS))),
    "dict": (lambda: dict(enumerate(TEXTS)), dict, list(enumerate(TEXTS))),
    "other mapping": (lambda: MappingProxyType(OrderedDict(enumerate(TEXTS))), dict, list(enumerate(TEXTS))),
    "generator": (lambda: (text for text in TEXTS), list, TEXTS),
    "map": (lambda: map(str, TEXTS), list, TEXTS),
    "zip": (lambda: zip(range(7), TEXTS, strict=True), list, list(enumerate(TEXTS))),
    "values of a dict": (lambda: dict(enumerate(TEXTS)).values(), list, TEXTS),
    "set": (lambda: set(TEXTS), list, list(set(TEXTS))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_kind_comes_back_without_the_rows(kind: str) -> None:
    make, type_, rows = KINDS[kind]
    held = rereadable(make())
    assert read(held).texts == [text_of(row) for row in rows]
    for _ in range(2):
        found = without_rows(held, rows_of(*REMOVED))
        assert isinstance(found, type_)
        assert as_rows(found) == [rows[i] for i in LEFT]
    assert as_rows(without_rows(held, rows_of(*range(7)))) == []
    untouched = without_rows(held, rows_of())
    assert isinstance(untouched, type_)
    assert as_rows(untouched) == rows


@given(removed=st.sets(st.integers(0, 6)), cuts=st.lists(st.integers(0, 7), max_size=4))
def test_any_rows_of_any_layout_of_chunks(removed: set[int], cuts: list[int]) -> None:
    bounds = [0, *sorted(cuts), 7]
    table = pa.concat_tables([TABLE[low:high] for low, high in pairwise(bounds)])
    left = [row for i, row in enumerate(RECORDS) if i not in removed]
    found = without_rows(table, rows_of(*sorted(removed)))
    assert found.to_pylist() == left
    assert found.schema.equals(TABLE.schema, check_metadata=True)
    assert without_rows(table["text"], rows_of(*sorted(removed))).to_pylist() == [row["text"] for row in left]
    assert without_rows(pl.from_arrow(table), rows_of(*sorted(removed))).to_dicts() == left
    assert without_rows(TEXTS, rows_of(*sorted(removed))) == [row["text"] for row in left]


def test_what_can_be_read_twice_is_held_as_it_is() -> None:
    values = [TABLE, TABLE["text"], frame(), frame()["text"], pl.DataFrame(RECORDS), TEXTS, tuple(TEXTS), {"a": "b"}]
    values += [datasets.Dataset.from_list(RECORDS), np.array(TEXTS), set(TEXTS)]
    for value in values:
        assert rereadable(value) is value


def test_lines_of_an_open_file_are_held() -> None:
    assert rereadable(io.StringIO("one\ntwo\n")) == ["one\n", "two\n"]


def test_a_pandas_frame_keeps_its_index_and_types() -> None:
    whole = frame()
    found = without_rows(whole, rows_of(*REMOVED))
    pd.testing.assert_frame_equal(found, whole.iloc[LEFT])
    assert found.index.tolist() == [("k", 6), ("k", 5), ("k", 2), ("k", 1)]
    assert (found.dtypes == whole.dtypes).all()
    repeated = pd.DataFrame({"text": TEXTS}, index=[1, 1, 1, 2, 2, 2, 2])
    assert without_rows(repeated, rows_of(1)).index.tolist() == [1, 1, 2, 2, 2, 2]


def test_a_frame_of_a_subclass_stays_one() -> None:
    class Mine(pd.DataFrame):
        @property
        def _constructor(self) -> type:
            return Mine

    assert type(without_rows(Mine({"text": TEXTS}), rows_of(1))) is Mine


def test_schema_and_metadata_of_a_batch_are_kept() -> None:
    batch = TABLE.to_batches()[0]
    assert without_rows(batch, rows_of(1)).schema.equals(batch.schema, check_metadata=True)
    views = pa.record_batch({"text": pa.array(TEXTS, pa.string_view())})
    assert without_rows(views, rows_of(1, 2)).column(0).to_pylist() == ["one", *TEXTS[3:]]


def test_a_dataset_keeps_features_split_and_format() -> None:
    features = datasets.Features({"text": datasets.Value("string"), "y": datasets.ClassLabel(names=["a", "b"])})
    whole = datasets.Dataset.from_dict({"text": TEXTS, "y": [0, 1] * 3 + [0]}, features=features, split="train")
    found = without_rows(whole.with_format("numpy", columns=["y"]), rows_of(*REMOVED))
    assert (found.features, str(found.split), found.format["type"]) == (features, "train", "numpy")
    assert found.with_format(None)["text"][:] == [TEXTS[i] for i in LEFT]


def test_an_iterable_dataset_is_filtered() -> None:
    stream = datasets.Dataset.from_list(RECORDS).to_iterable_dataset(num_shards=2)
    assert rereadable(stream) is stream
    found = without_rows(stream, rows_of(*REMOVED))
    assert isinstance(found, datasets.IterableDataset)
    assert [row["text"] for row in found] == [TEXTS[i] for i in LEFT]
    with pytest.raises(InputError, match=r"takes no new columns. Give a datasets.Dataset"):
        with_annotation(stream, NOTE)


def test_a_value_that_shrank_is_told() -> None:
    for value in (TEXTS, TABLE, frame(), dict(enumerate(TEXTS)), datasets.Dataset.from_list(RECORDS)):
        with pytest.raises(InputError, match=r"holds 7 documents, and had 9 or more when it was read"):
            without_rows(value, rows_of(1, 8))


NOTE = Annotation(
    rows_of(2, 3, 7), rows_of(10, 11, 10), pa.array(["k", "l", "k"], pa.large_string()), np.array([1.0, np.nan, 0.75])
)
CLUSTER = [None, 10, 11, None, None, None, 10]
KEEPER = [None, "k", "l", None, None, None, "k"]
SIMILARITY = [None, 1.0, None, None, None, None, 0.75]


def test_tables_get_three_columns() -> None:
    for value in (TABLE, TABLE.to_batches()[0], pa.concat_tables([TABLE[:3], TABLE[3:]])):
        found = with_annotation(value, NOTE)
        assert type(found) is type(value)
        assert found.schema.names == [*TABLE.schema.names, "cluster", "keeper", "similarity"]
        assert found.schema.metadata == TABLE.schema.metadata
        assert [found.schema.field(name).type for name in ("cluster", "keeper", "similarity")] == [
            pa.int64(),
            pa.large_string(),
            pa.float64(),
        ]
        assert found.to_pydict() == {
            **TABLE.to_pydict(),
            "cluster": CLUSTER,
            "keeper": KEEPER,
            "similarity": SIMILARITY,
        }


def test_readers_and_relations_get_columns_as_tables() -> None:
    for value in (TABLE.to_reader(), duckdb.from_arrow(TABLE), Capsule(TABLE)):
        found = with_annotation(rereadable(value), NOTE)
        assert isinstance(found, pa.Table)
        assert found["cluster"].to_pylist() == CLUSTER


def test_a_pandas_frame_gets_columns_at_its_rows() -> None:
    whole = frame()
    found = with_annotation(whole, NOTE)
    pd.testing.assert_frame_equal(found[list(whole.columns)], whole)
    assert found.index.equals(whole.index)
    assert (str(found["cluster"].dtype), str(found["similarity"].dtype)) == ("Int64", "float64")
    for name, expected in (("cluster", CLUSTER), ("keeper", KEEPER), ("similarity", SIMILARITY)):
        assert [None if pd.isna(value) else value for value in found[name]] == expected
    numbered = Annotation(NOTE.rows, NOTE.cluster, pa.array([1 << 60, 5, 1 << 60], pa.int64()), NOTE.similarity)
    assert found.columns[-3:].tolist() == ["cluster", "keeper", "similarity"]
    assert with_annotation(whole, numbered)["keeper"].iloc[1] == 1 << 60


def test_a_pandas_frame_with_numbered_columns_gets_named_ones() -> None:
    found = with_annotation(pd.DataFrame({0: TEXTS, 1: range(7)}), NOTE)
    assert found.columns.tolist() == [0, 1, "cluster", "keeper", "similarity"]


def test_a_polars_frame_gets_three_columns() -> None:
    found = with_annotation(pl.DataFrame(RECORDS), NOTE)
    assert isinstance(found, pl.DataFrame)
    assert found.schema["cluster"] == pl.Int64
    assert found.schema["keeper"] == pl.String
    assert found.select("cluster", "keeper", "similarity").to_dict(as_series=False) == {
        "cluster": CLUSTER,
        "keeper": KEEPER,
        "similarity": SIMILARITY,
    }


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4, 5, 6], []], ids=["rows", "none"])
def test_a_dataset_gets_three_columns_and_keeps_the_rest(rows: list[int]) -> None:
    features = datasets.Features({"text": datasets.Value("string"), "y": datasets.ClassLabel(names=["a", "b"])})
    whole = datasets.Dataset.from_dict({"text": TEXTS, "y": [0, 1] * 3 + [0]}, features=features, split="train")
    part = whole.select(rows)
    note = NOTE if rows else Annotation(rows_of(), rows_of(), pa.array([], pa.large_string()), np.zeros(0))
    found = with_annotation(part, note)
    assert isinstance(found, datasets.Dataset)
    assert found.features == {
        **features,
        "cluster": datasets.Value("int64"),
        "keeper": datasets.Value("large_string"),
        "similarity": datasets.Value("float64"),
    }
    assert str(found.split) == "train"
    assert found.remove_columns(["cluster", "keeper", "similarity"]).to_list() == part.to_list()
    assert found["cluster"][:] == (CLUSTER if rows else [])
    assert found["similarity"][:] == (SIMILARITY if rows else [])
    shown = with_annotation(part.with_format("numpy", columns=["y"]), note)
    assert (shown.format["type"], shown.format["columns"]) == ("numpy", ["y"])
    assert whole.column_names == ["text", "y"]


def test_a_shuffled_dataset_gets_columns_in_its_order() -> None:
    shuffled = datasets.Dataset.from_list(RECORDS).shuffle(seed=5)
    found = with_annotation(shuffled, NOTE)
    assert found["text"][:] == shuffled["text"][:]
    assert found["keeper"][:] == KEEPER


@pytest.mark.parametrize(
    "make",
    [lambda: pa.table({"text": TEXTS, "keeper": TEXTS}), lambda: pl.DataFrame({"text": TEXTS, "keeper": TEXTS})],
)
def test_columns_that_exist_are_not_replaced(make: Callable[[], Any]) -> None:
    found = with_annotation(make(), NOTE)
    names = found.column_names if isinstance(found, pa.Table) else found.columns
    assert names == ["text", "keeper", "neardup_cluster", "neardup_keeper", "neardup_similarity"]
    with pytest.raises(InputError, match="no names left"):
        with_annotation(found, NOTE)


@pytest.mark.parametrize(
    "value", [TEXTS, dict(enumerate(TEXTS)), pa.array(TEXTS), pd.Series(TEXTS), pl.Series(TEXTS), np.array(TEXTS)]
)
def test_what_has_no_columns_takes_none(value: Any) -> None:
    with pytest.raises(InputError, match=rf"of type {type(value).__name__}, which takes no new columns. Give a frame"):
        with_annotation(value, NOTE)


def test_no_library_is_imported_for_values_that_are_not_its_own() -> None:
    code = """
        import sys
        import numpy as np, pyarrow as pa
        from neardup.inputs.columnar.objects import rereadable
        from neardup.tasks.dedup.objects import with_annotation, without_rows
        from neardup.tasks.rewrite.model import Annotation
        rows = np.array([1], dtype=np.int64)
        table = pa.Table.from_batches([pa.RecordBatch.from_arrays([pa.nulls(3, pa.string())], ["text"])])
        note = Annotation(rows, rows, pa.nulls(1, pa.large_string()), np.ones(1))
        without_rows(rereadable(table), rows), without_rows(["a", "b"], rows), with_annotation(table, note)
        print(*sorted({"pandas", "polars", "datasets", "duckdb"} & set(sys.modules)))
    """
    lines = "\n".join(line.strip() for line in code.splitlines())
    run = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
