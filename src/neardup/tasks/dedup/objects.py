"""Objects in memory, given back without some of their rows, or with three more columns.

What each kind becomes:

    Arrow Table, RecordBatch, Array, ChunkedArray    the same
    pandas and polars frame, series                  the same; index and types of the columns kept
    ``datasets.Dataset``                             the same, as a selection of its rows; an IterableDataset: filtered
    list, tuple, dict, NumPy array                   the same
    other mapping, other iterable, generator         dict; list
    RecordBatchReader, duckdb relation, whatever     Table, or ChunkedArray of a single column
    else speaks the Arrow PyCapsule interface
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from itertools import compress, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.arrays import flags, numbers
from neardup.errors import InputError
from neardup.inputs.columnar.arrow_objects import is_dataset
from neardup.inputs.objects import ARROW, hold, is_a, is_frame
from neardup.tasks.dedup.rewrite.model import I64, Annotation, added_names

__all__ = ["with_annotation", "with_columns", "without_rows"]

Mask = NDArray[np.bool_]


def without_rows(value: Any, positions: I64) -> Any:
    """Return an object of the same kind without some of its documents; ``value`` stays as it is.

    Args:
        value: what was read, after ``hold``.
        positions: int64[n], rising: documents to leave out, counted from 0.

    Raises:
        InputError: there are not so many documents in it now.
    """
    value = hold(value)
    if isinstance(value, Mapping):
        return dict(compress(value.items(), _kept(len(value), positions, value).tobytes()))
    if is_dataset(value):
        return _dataset_without(value, positions)
    if not hasattr(value, "__len__") or isinstance(value, (set, frozenset)):
        value = list(value)
    kept = _kept(len(value), positions, value)
    if isinstance(value, ARROW):
        return _filtered(value, kept) if positions.size else value
    if isinstance(value, np.ndarray):
        return value[kept] if positions.size else value
    if is_a(value, "pandas", "DataFrame") or is_a(value, "pandas", "Series"):
        return value.iloc[kept] if positions.size else value
    if is_a(value, "polars", "DataFrame") or is_a(value, "polars", "Series"):
        return value.filter(sys.modules["polars"].Series(kept)) if positions.size else value
    chosen = compress(value, kept.tobytes())
    return tuple(chosen) if isinstance(value, tuple) else list(chosen)


def with_annotation(value: Any, annotation: Annotation) -> Any:
    """Return a frame or table of the same kind with the columns cluster, keeper and similarity.

    Args:
        value: what was read, after ``hold``.
        annotation: what is known of the documents in clusters; their rows are counted from 1.

    Raises:
        InputError: the object has no columns, or has fewer rows now.
    """
    value = hold(value)
    _check_columns(value)
    rows = len(value)
    _kept(rows, annotation.rows - 1, value)
    places = np.zeros(rows, dtype=np.int64)
    places[annotation.rows - 1] = np.arange(annotation.rows.size)
    known = np.zeros(rows, dtype=np.bool_)
    known[annotation.rows - 1] = True
    cluster, keeper = numbers(annotation.cluster), annotation.keeper
    similarity = _nullable(numbers(annotation.similarity), ~np.isnan(annotation.similarity))
    at = _nullable(numbers(places), known)
    return with_columns(value, cluster.take(at), keeper.take(at), similarity.take(at))


def with_columns(value: Any, cluster: Any, keeper: Any, similarity: Any) -> Any:
    """Return a frame or table of the same kind with three more columns.

    They are called cluster, keeper and similarity, or ``neardup_cluster`` and so on where the object has one of these.
    In pandas whole numbers are of type Int64, which has nulls; similarities are float64, with NaN for null.

    Args:
        value: what was read, after ``hold``.
        cluster: Arrow int64 array, an entry a row; null outside clusters, as the other two.
        keeper: Arrow int64 or large_string array.
        similarity: Arrow float64 array.

    Raises:
        InputError: the object has no columns, or no names are left for the new ones.
    """
    value = hold(value)
    _check_columns(value)
    if isinstance(value, (pa.Table, pa.RecordBatch)):
        names = value.schema.names
    else:
        names = value.column_names if is_dataset(value) else value.columns
    new = dict(zip(added_names(map(str, names), "the input"), (cluster, keeper, similarity), strict=True))
    if isinstance(value, pa.Table):
        for name, column in new.items():
            value = value.append_column(name, column)
        return value
    if isinstance(value, pa.RecordBatch):
        schema = value.schema
        for name, column in new.items():
            schema = schema.append(pa.field(name, column.type))
        return pa.RecordBatch.from_arrays([*value.columns, *new.values()], schema=schema)
    if is_a(value, "pandas", "DataFrame"):
        whole = {pa.int64(): sys.modules["pandas"].Int64Dtype()}
        return value.assign(**{name: column.to_pandas(types_mapper=whole.get).array for name, column in new.items()})
    if is_dataset(value):
        return _dataset_with(value, new)
    return value.with_columns(**{name: sys.modules["polars"].Series(name, column) for name, column in new.items()})


def _check_columns(value: Any) -> None:
    if isinstance(value, (pa.Table, pa.RecordBatch)) or is_frame(value) or (is_dataset(value) and _has_rows(value)):
        return
    cure = "Give a frame or a table, such as pyarrow.table({'text': texts})."
    if is_dataset(value):
        cure = "Give a datasets.Dataset."
    raise InputError(f"the input is of type {type(value).__name__}, which takes no new columns. {cure}")


def _has_rows(dataset: Any) -> bool:
    """Whether the rows of a dataset can be chosen by number; those of an IterableDataset only go by."""
    return hasattr(dataset, "select")


def _kept(rows: int, positions: I64, value: Any) -> Mask:
    """bool[rows]: False at ``positions``."""
    if positions.size and int(positions[-1]) >= rows:
        raise InputError(
            f"the {type(value).__name__} holds {rows} documents, and had {int(positions[-1]) + 1} or more when it was "
            "read. Leave it unchanged until the call returns."
        )
    kept = np.ones(rows, dtype=np.bool_)
    kept[positions] = False
    return kept


def _filtered(value: Any, kept: Mask) -> Any:
    """An Arrow object with the rows where ``kept`` is True."""
    try:
        return value.filter(flags(kept))
    except pa.ArrowNotImplementedError:  # of views and run ends; they can be cut and joined
        if isinstance(value, pa.RecordBatch):
            return pa.RecordBatch.from_arrays([_filtered(each, kept) for each in value.columns], schema=value.schema)
        bounds = [-1, *np.flatnonzero(~kept).tolist(), len(value)]
        runs = [value[low + 1 : high] for low, high in pairwise(bounds) if high > low + 1] or [value[:0]]
        if isinstance(value, pa.Table):
            return pa.concat_tables(runs)
        if isinstance(value, pa.ChunkedArray):
            return pa.chunked_array([chunk for run in runs for chunk in run.chunks], type=value.type)
        return pa.concat_arrays(runs)


def _nullable(array: Any, known: Mask) -> Any:
    """An array of numbers with nulls where ``known`` is False."""
    return pa.Array.from_buffers(array.type, len(array), [flags(known).buffers()[1], array.buffers()[1]])


def _dataset_without(dataset: Any, positions: I64) -> Any:
    if not positions.size:
        return dataset
    if _has_rows(dataset):
        return dataset.select(np.flatnonzero(_kept(len(dataset), positions, dataset)))
    return dataset.filter(partial(_stays, frozenset(positions.tolist())), with_indices=True)


def _stays(removed: frozenset[int], _: Any, position: int) -> bool:
    return position not in removed


def _dataset_with(dataset: Any, columns: dict[str, Any]) -> Any:
    """A dataset with columns beside its own; its description, split and format stay."""
    library = sys.modules["datasets"]
    beside = library.Dataset(pa.table(columns))
    info = dataset.info.copy()
    info.features.update(beside.features)
    plain = dataset.with_format(None)
    if len(dataset):
        wide = library.concatenate_datasets([plain, beside], axis=1, info=info, split=dataset.split)
    else:  # which concatenating leaves out
        table = plain.with_format("arrow")[:].replace_schema_metadata(None)
        for name, column in columns.items():
            table = table.append_column(name, column)
        wide = library.Dataset(table, info=info, split=dataset.split)
    shown = dataset.format
    every = set(shown["columns"]) == set(dataset.column_names)
    return wide.with_format(
        shown["type"],
        columns=None if every else shown["columns"],
        output_all_columns=shown["output_all_columns"],
        **shown["format_kwargs"],
    )
