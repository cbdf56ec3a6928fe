"""Objects in memory: what kind they are, and held so that they can be read twice with the same result.

No library is imported for this: an object of one that is not imported yet does not exist.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.inputs.columnar.arrow_objects import is_dataset, read_object

__all__ = ["ARROW", "hold", "is_a", "is_frame", "is_series"]

ARROW = (pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray)


def hold(value: Any) -> Any:
    """Return ``value``, or its content where it might not be read twice with the same result.

    Generators and other iterators become lists. Readers become tables, and so does a duckdb relation: it is a query,
    which need not give its rows in the same order again.

    Raises:
        InputError: the object cannot be read as Arrow columns.
    """
    if isinstance(value, (*ARROW, np.ndarray)) or is_frame(value) or is_series(value) or is_dataset(value):
        return value
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        return read_object(value)
    return list(value) if isinstance(value, Iterator) else value


def is_a(value: Any, library: str, name: str) -> bool:
    """Whether ``value`` is an instance of ``library.name``, without importing the library."""
    kind = getattr(sys.modules.get(library), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def is_frame(value: Any) -> bool:
    return is_a(value, "pandas", "DataFrame") or is_a(value, "polars", "DataFrame")


def is_series(value: Any) -> bool:
    return is_a(value, "pandas", "Series") or is_a(value, "polars", "Series")
