"""Columns beside the texts: read, checked, and compared with a filter.

The kind of a document has a mark of its columns, and the checksum of the document covers its kind. So columns can be
trusted without the text, and the id without the columns; a document without columns has no mark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from neardup.errors import FormatError
from neardup.index.prepared import COLUMN_BITS, COLUMNS, column_marks
from neardup.index.statements import Reading, Row
from neardup.inputs.json_columns import is_match

Where: TypeAlias = Mapping[str, Any] | None
"""Columns that a document must have, with equal values; None: it need not have any."""


def read_columns(reading: Reading, named: Iterable[tuple[Any, ...]]) -> dict[int, dict[str, Any]]:
    """Return the columns of those documents that have any, by their numbers.

    ``named``: number, id and kind of each, perhaps with more. Raises FormatError as ``check_columns``.
    """
    numbers = [number for number, _, kind, *_ in named if kind & COLUMNS]
    if not numbers:
        return {}
    return {number: json.loads(text) for number, text in check_columns(reading, numbers)}


def matching(reading: Reading, numbers: Sequence[int] | None, where: Mapping[str, Any]) -> set[int]:
    """Return which of some documents, or of all if None, match a filter. Raises FormatError as ``check_columns``."""
    return {number for number, text in check_columns(reading, numbers) if is_match(where, text)}


def matching_rows(reading: Reading, rows: list[Row], where: Where) -> list[Row]:
    """Return the documents of a block that match a filter, if there is one."""
    if where is None:
        return rows
    wanted = matching(reading, [row[0] for row in rows], where)
    return [row for row in rows if row[0] in wanted]


def check_columns(reading: Reading, numbers: Sequence[int] | None) -> list[tuple[int, str]]:
    """Return number and columns, as JSON, of the documents that have columns. Without ``numbers``, look at all.

    Raises FormatError if columns are not as they were added, or are missing.
    """
    rows = reading.columns(COLUMNS, numbers)
    marks = column_marks([text if isinstance(text, str) else None for *_, text in rows])
    for (_, id, kind, text), mark in zip(rows, marks.tolist(), strict=True):
        if not isinstance(kind, int) or not isinstance(text, str) or kind & COLUMN_BITS != mark:
            raise FormatError(
                f"{reading.path}: the columns of the document {id!r} are damaged: they are not what was added. Add it "
                "again with on_duplicate='replace' (--on-duplicate replace), or restore the file from a copy."
            )
    return [(number, text) for number, _, _, text in rows]
