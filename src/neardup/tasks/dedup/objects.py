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
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import flags, strings
from neardup.errors import InputError
from neardup.inputs.columnar.objects import ARROW, is_a, is_dataset, is_frame, rereadable
from neardup.tasks.rewrite.columnar import filtered
from neardup.tasks.rewrite.model import Annotation, added_names
from neardup.types import I64, Mask


def without_rows(value: Any, positions: I64) -> Any:
    """An object of the same kind without the documents at ``positions``, rising, from 0; InputError if it has fewer."""
    value = rereadable(value)
    if isinstance(value, Mapping):
        return dict(compress(value.items(), _kept(len(value), positions, value).tobytes()))
    if is_dataset(value):
        return _dataset_without(value, positions)
    if not hasattr(value, "__len__") or isinstance(value, (set, frozenset)):
        value = list(value)
    kept = _kept(len(value), positions, value)
    if isinstance(value, ARROW):
        return filtered(value, kept) if positions.size else value
    if isinstance(value, np.ndarray):
        return value[kept] if positions.size else value
    if is_a(value, "pandas", "DataFrame") or is_a(value, "pandas", "Series"):
        return value.iloc[kept] if positions.size else value
    if is_a(value, "polars", "DataFrame") or is_a(value, "polars", "Series"):
        return value.filter(sys.modules["polars"].Series(kept)) if positions.size else value
    chosen = compress(value, kept.tobytes())
    return tuple(chosen) if isinstance(value, tuple) else list(chosen)


def with_texts(value: Any, positions: I64, texts: Sequence[str], column: str) -> Any:
    """An object of the same kind with other texts at ``positions``, rising, from 0; of a frame in its ``column``."""
    value = rereadable(value)
    new = dict(zip(positions.tolist(), texts, strict=True))
    if not new:
        return value
    if isinstance(value, Mapping):
        return {key: new.get(i, text) for i, (key, text) in enumerate(value.items())}
    if isinstance(value, (pa.Table, pa.RecordBatch)):
        place = value.schema.get_field_index(column)
        return value.set_column(place, value.schema.field(place), _with_texts(value.column(place), positions, texts))
    if isinstance(value, ARROW):
        return _with_texts(value, positions, texts)
    if is_a(value, "pandas", "DataFrame"):
        return value.assign(**{column: with_texts(value[column], positions, texts, "")})
    if is_a(value, "pandas", "Series"):
        changed = value.copy()
        changed.iloc[positions] = texts
        return changed
    if is_a(value, "polars", "DataFrame"):
        return value.with_columns(with_texts(value[column], positions, texts, ""))
    if is_a(value, "polars", "Series"):
        listed = [new.get(i, text) for i, text in enumerate(value.to_list())]
        return sys.modules["polars"].Series(value.name, listed, dtype=value.dtype)
    if isinstance(value, np.ndarray):
        return np.array([new.get(i, text) for i, text in enumerate(value.tolist())], dtype=object)
    changed = [_with_text(element, new[i]) if i in new else element for i, element in enumerate(value)]
    return tuple(changed) if isinstance(value, tuple) else changed


def _with_text(element: Any, text: str) -> Any:
    """A text, or a pair (id, text), with another text."""
    return (element[0], text) if isinstance(element, tuple) else text


def _with_texts(column: Any, positions: I64, texts: Sequence[str]) -> Any:
    """An Arrow array, or chunked one, with other texts at some places."""
    mask = np.zeros(len(column), dtype=np.bool_)
    mask[positions] = True
    return pc.replace_with_mask(column.cast(pa.large_string()), flags(mask), strings(texts)).cast(column.type)


def with_annotation(value: Any, annotation: Annotation) -> Any:
    """Return a frame or table of the same kind with the columns cluster, keeper and similarity.

    They are called ``neardup_cluster`` and so on where the object has one of these. In pandas whole numbers are of type
    Int64, which has nulls; similarities are float64, with NaN for null. InputError where the object has no columns.
    """
    value = rereadable(value)
    _check_columns(value)
    _kept(len(value), annotation.rows - 1, value)
    if isinstance(value, (pa.Table, pa.RecordBatch)):
        names = value.schema.names
    else:
        names = value.column_names if is_dataset(value) else value.columns
    new = dict(zip(added_names(map(str, names), "the input"), annotation.spread(1, len(value)), strict=True))
    if isinstance(value, (pa.Table, pa.RecordBatch)):
        for name, column in new.items():
            value = value.append_column(name, column)
        return value
    if is_a(value, "pandas", "DataFrame"):
        whole = {pa.int64(): sys.modules["pandas"].Int64Dtype()}
        return value.assign(**{name: column.to_pandas(types_mapper=whole.get).array for name, column in new.items()})
    if is_dataset(value):
        return _dataset_with(value, new)
    return value.with_columns(**{name: sys.modules["polars"].Series(name, column) for name, column in new.items()})


def _check_columns(value: Any) -> None:
    if isinstance(value, (pa.Table, pa.RecordBatch)) or is_frame(value) or (is_dataset(value) and _has_rows(value)):
        return
    table = "frame or a table, such as pyarrow.table({'text': texts})"
    cure = f"Give a {'datasets.Dataset' if is_dataset(value) else table}."
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
