"""Arrow tables as data frames of the library that the caller works with; neither is needed otherwise."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from neardup.arrays import values_of
from neardup.errors import MissingDependency


def pandas_frame(table: pa.Table) -> Any:
    """A table as a pandas data frame; MissingDependency where pandas is not installed."""
    try:
        import pandas  # noqa: F401
    except ImportError as exc:
        raise MissingDependency("to_pandas needs pandas: pip install pandas") from exc
    return table.to_pandas()


def polars_frame(table: pa.Table) -> Any:
    """A table as a polars data frame; MissingDependency where polars is not installed."""
    try:
        import polars
    except ImportError as exc:
        raise MissingDependency("to_polars needs polars: pip install polars") from exc
    return polars.DataFrame(table)


def table_of(rows: list[dict[str, Any]], kinds: dict[str, pa.DataType]) -> pa.Table:
    """A table of rows of plain values, of which some may be None; ``kinds`` has the type of each column, in order."""
    columns = {name: values_of([row[name] for row in rows], kind) for name, kind in kinds.items()}
    return pa.table(columns)
