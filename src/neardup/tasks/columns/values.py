"""Values by which documents are chosen: of one type in all inputs, and ranked.

Only whole numbers and fractions go together, where none of them would be rounded; other mixed types are an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from neardup.arrays import as_numpy, blobs, flags, nullable, numbers
from neardup.errors import InputError
from neardup.types import I64, Mask

_EXACT = 1 << 53
"""Whole numbers up to this are float64s exactly."""
_INT64 = range(-(1 << 63), 1 << 63)
_SHOWN = 40
"""Characters of a value that a message shows."""

_BLANK = r"^\s*$"
_NAN = r"^\s*[+-]?(?i:nan)\s*$"
_WHOLE = r"^\s*[+-]?[0-9]+\s*$"
_NUMBER = r"^\s*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))\s*$"


class Part(NamedTuple):
    """Values that follow each other in a source, all of one type."""

    source: str
    rows: I64
    """int64[n]: line or row of each in the source."""
    values: Any
    """Arrow array[n] as ``ordered`` makes it; may have nulls."""

    @property
    def has_values(self) -> bool:
        """Whether any is not null."""
        return bool(self.values.null_count < len(self.values))

    def told(self, where: Mask | None = None) -> str:
        """The first value of those that are not null (or ``where``), its type and its place, for a message."""
        i = int(np.flatnonzero(as_numpy(self.values.is_valid()) if where is None else where)[0])
        value, kind = self.values[i], self.values.type
        if _is_text(kind):
            shown, kind = repr(value.as_py().decode("utf-8", "backslashreplace")), "string"
        else:
            shown = str(value.cast(pa.string()).as_py())
        shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
        return f"{shown} ({kind}) at {self.source}:{self.rows[i]}"


def ranks(values: Any) -> I64:
    """Rank values: int64[n], from 0, equal for equal values, larger for larger ones; -1 for null and NaN.

    Numbers are ranked exactly, strings by their code points, false before true, times by the clock.
    """
    values = ordered(values, "values", "values")
    known = as_numpy(values.is_valid())
    found = np.full(len(values), -1, dtype=np.int64)
    if known.any():
        dense = pc.rank(values.drop_null(), tiebreaker="dense")
        found[known] = as_numpy(dense).astype(np.int64) - 1
    return found


def ordered(array: Any, column: str, source: str) -> Any:
    """An Arrow array as one of few types: int64, uint64, float64, decimal, those of time, large_binary for strings.

    True becomes 1, and NaN null. InputError where values of its type have no order.
    """
    if pat.is_dictionary(array.type):
        array = array.dictionary_decode()
    type_ = array.type
    if pat.is_floating(type_):
        array = array.cast(pa.float64())
        return pc.if_else(pc.is_nan(array), pa.nulls(1, pa.float64())[0], array)
    if pat.is_uint64(type_) or pat.is_null(type_) or (pat.is_temporal(type_) and not pat.is_interval(type_)):
        return array
    if pat.is_integer(type_) or pat.is_boolean(type_):
        return array.cast(pa.int64())
    if pat.is_decimal(type_):
        return array if type_.bit_width >= 128 else array.cast(pa.decimal128(type_.precision, type_.scale))
    if _is_text(type_):
        return array.cast(pa.large_binary())  # of UTF-8, whose bytes have the order of the code points
    raise InputError(
        f"{source}: the column {column!r} is of type {type_}, whose values have no order. "
        "Choose a column of numbers, times or strings."
    )


def _is_text(type_: Any) -> bool:
    strings = (pat.is_string, pat.is_large_string, pat.is_string_view)
    binary = (pat.is_binary, pat.is_large_binary, pat.is_binary_view, pat.is_fixed_size_binary)
    return any(kind(type_) for kind in (*strings, *binary))


def joined(parts: Sequence[Part], column: str) -> Any:
    """The values of all parts, one part after the other."""
    arrays = _of_one_type(parts, column)
    return pa.concat_arrays(arrays) if arrays else pa.nulls(0)


def _of_one_type(parts: Sequence[Part], column: str) -> list[Any]:
    """The values of each part, all of one type. Whole numbers among fractions become fractions if none is rounded."""
    known = [part for part in parts if part.has_values]
    types = {part.values.type for part in known}
    if types == {pa.int64(), pa.float64()}:
        for part in known:
            if part.values.type == pa.int64() and (rounded := _is_rounded(part.values)).any():
                other = next(other for other in known if other.values.type == pa.float64())
                raise _two_types(column, part.told(rounded), other.told())
        types = {pa.float64()}
    if len(types) > 1:
        other = next(part for part in known if part.values.type != known[0].values.type)
        raise _two_types(column, known[0].told(), other.told())
    one = next(iter(types), pa.null())
    return [part.values.cast(one) if part.has_values else pa.nulls(len(part.values), one) for part in parts]


def _two_types(column: str, one: str, other: str) -> InputError:
    return InputError(
        f"the column {column!r} has {one} and {other}, which cannot be compared exactly. Write the column as one type "
        "in all inputs, or choose another column."
    )


def _is_rounded(whole: Any) -> Mask:
    """Which numbers of an int64 array might be others as float64."""
    values = np.frombuffer(whole.buffers()[1], np.int64, len(whole), 8 * whole.offset)  # where null, any number
    return as_numpy(whole.is_valid()) & ((values > _EXACT) | (values < -_EXACT))


def json_part(values: Sequence[Any], column: str, source: str, rows: I64) -> Part:
    """Values as ``json`` reads them; None is null, true is 1. InputError where they have no common order."""
    for row, value in zip(rows.tolist(), values, strict=True):
        if isinstance(value, (list, dict)):
            kind = "a list" if isinstance(value, list) else "an object"
            raise InputError(
                f"{source}:{row}: the field {column!r} is {kind}, which has no order. "
                "Choose a field of numbers or strings."
            )
        if isinstance(value, int) and value not in _INT64:
            raise _too_long(column, source, row)
    whole = numbers(np.array([value if isinstance(value, int) else 0 for value in values], dtype=np.int64))
    fractions = numbers(np.array([value if isinstance(value, float) else 0.0 for value in values], dtype=np.float64))
    texts = blobs(value.encode("utf-8", "surrogatepass") if isinstance(value, str) else b"" for value in values)
    known = [np.array([isinstance(value, kind) for value in values], dtype=np.bool_) for kind in (int, float, str)]
    return _merged(column, source, rows, zip((whole, fractions, texts), known, strict=True))


def text_part(fields: Any, column: str, source: str, rows: I64) -> Part:
    """The fields of one CSV file, large_binary[n] without nulls: numbers if all are, else strings; blank ones are null.

    InputError where some are numbers and some are not, or one is too large a number.
    """
    blank, nan, whole, number = (
        as_numpy(pc.match_substring_regex(fields, pattern)) for pattern in (_BLANK, _NAN, _WHOLE, _NUMBER)
    )
    text = ~(blank | nan | number)
    digits = pc.replace_substring_regex(
        pc.ascii_trim_whitespace(nullable(fields, number).cast(pa.large_string())), r"^\+", ""
    )
    try:
        integers = nullable(digits, whole).cast(pa.int64())
    except pa.ArrowInvalid:
        listed = fields.filter(flags(whole)).to_pylist()
        long = next(i for i, each in enumerate(listed) if int(each) not in _INT64)
        raise _too_long(column, source, int(rows[whole][long])) from None
    kinds = [(integers, whole), (digits.cast(pa.float64()), number & ~whole)]
    if text.any():
        kinds.append((fields, text | nan))  # Nan is a name too
    return _merged(column, source, rows, kinds)


def _too_long(column: str, source: str, row: int) -> InputError:
    return InputError(
        f"{source}:{row}: the field {column!r} is a whole number that does not fit into 64 bits. Shorten it, or choose "
        "another column."
    )


def _merged(column: str, source: str, rows: I64, kinds: Iterable[tuple[Any, Mask]]) -> Part:
    """One part of values of which each array has some, where its mask is True; no two have the same."""
    parts = [Part(source, rows, ordered(nullable(array, mask), column, source)) for array, mask in kinds]
    return Part(source, rows, pc.coalesce(*_of_one_type(parts, column)))
