"""Columns that an index stores beside a text: one small JSON object a document, checked and written in one form.

The filters that compare such columns are here too. Which fields of an input are stored is the readers' business.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from neardup.errors import InputError
from neardup.inputs.source import BadRecord, Faults
from neardup.types import I64, Mask

MOST_BYTES = 16 << 10
"""The most bytes of the columns of one document."""
_DEEPEST = 32
"""The most lists and objects within each other."""
_LONGEST_INTEGER = 2048
"""The most bits of a whole number; every Python can write that many digits."""


def columns_json(columns: Mapping[str, Any]) -> str | None:
    """Return columns as JSON with sorted keys and without spaces; None if there are none.

    Dates and times become text in ISO 8601, and bytes the text that they hold. Raises BadRecord, which names the
    column: a value is not JSON, or all of them together are too large.
    """
    if not isinstance(columns, Mapping):
        raise BadRecord(f"the columns are of type {type(columns).__name__}", "Give a dict of names and JSON values.")
    plain = _plain(columns, "", 0)
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    size = len(text.encode())
    if size > MOST_BYTES:
        raise BadRecord(f"its columns have {size:,} bytes as JSON; {MOST_BYTES:,} are allowed", "Store fewer of them.")
    return text if plain else None


def _plain(value: Any, name: str, depth: int) -> Any:
    """Return a value as ``json`` writes it. Raises BadRecord, which calls it ``name``, if JSON does not have it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (str, bytes)):
        try:
            return (value if isinstance(value, bytes) else value.encode()).decode()
        except UnicodeError as exc:
            raise BadRecord(f"the column {name!r} is not valid Unicode ({exc})", "Decode it again.") from exc
    if isinstance(value, float) and not math.isfinite(value):
        raise BadRecord(f"the column {name!r} is {value}, which JSON does not have", "Give a finite number, or null.")
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        raise BadRecord(f"the column {name!r} is a whole number of {value.bit_length():,} bits", "Give it as text.")
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, (Mapping, list, tuple)) and depth > _DEEPEST:
        raise BadRecord(f"the column {name!r} is nested too deeply", f"Give at most {_DEEPEST} levels.")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                where = f" of {name!r}" if name else ""
                raise BadRecord(f"the column {key!r}{where} is not named by a string", "Give names as strings.")
        below = f"{name}." if name else ""
        return {_plain(key, key, depth): _plain(each, f"{below}{key}", depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, f"{name}[{place}]", depth + 1) for place, each in enumerate(value)]
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise BadRecord(f"the column {name!r} is of type {type(value).__name__}, which JSON does not have", "Give text.")


def columns_of(records: Iterable[Mapping[str, Any]], mask: Mask, rows: I64, faults: Faults) -> list[str | None]:
    """Return the columns of records as JSON. One that cannot be stored becomes a fault, and is cleared in ``mask``."""
    found: list[str | None] = []
    for place, record in enumerate(records):
        found.append(None)
        try:
            found[-1] = columns_json(record) if mask[place] else None
        except BadRecord as exc:
            faults.add(int(rows[place]), str(exc), exc.cure)
            mask[place] = False
    return found


def checked_where(where: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a filter as it is compared. Raises InputError: it has no column, or a value is not a JSON scalar."""
    if where is None:
        return None
    try:
        text = columns_json(where)
    except BadRecord as exc:
        raise InputError(f"where cannot be used: {exc}. {exc.cure}") from exc
    if text is None:
        raise InputError("where has no columns. Give one at least, such as {'tenant': 'a'}, or leave where out.")
    values: dict[str, Any] = json.loads(text)
    for name, value in values.items():
        if isinstance(value, (dict, list)):
            kind = "an object" if isinstance(value, dict) else "a list"
            raise InputError(f"where compares {name!r} with {kind}. Give a string, a number, true, false or null.")
    return values


def is_match(where: Mapping[str, Any], columns: str) -> bool:
    """Return whether a document has every column of a filter, with an equal value.

    As in JSON, 1 equals 1.0 and does not equal true. A column that is absent equals nothing, not even null.

    >>> is_match({"a": 1}, '{"a":1.0,"b":null}'), is_match({"a": True}, '{"a":1}'), is_match({"c": None}, '{"b":null}')
    (True, False, False)
    """
    found = json.loads(columns)
    return all(
        name in found and found[name] == value and isinstance(found[name], bool) == isinstance(value, bool)
        for name, value in where.items()
    )
