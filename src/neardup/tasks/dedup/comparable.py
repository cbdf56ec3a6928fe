"""Values from many places made into one Arrow array in which they can be compared.

Numbers are compared with numbers, times with times, strings with strings; what cannot be compared exactly is an error
that names two of the values. Where the values come from is in ``ranks``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat
from numpy.typing import NDArray

from neardup.arrays import flags, numbers, strings
from neardup.errors import InputError

__all__ = ["Part", "Where", "from_python", "from_text", "in_one", "mixed", "plain", "shown", "truths"]

I64 = NDArray[np.int64]

_INT64 = range(-(1 << 63), 1 << 63)
_MOST_DIGITS = 76
"""Of decimal256."""
_EXACT_DIGITS = 15
"""Decimals of so many digits become different float64s, in the same order."""
_SHOWN = 40
_UNITS = ("ns", "us", "ms", "s")

_BLANK = r"^\s*$"
_NAN = r"^\s*[+-]?(?i:nan)\s*$"
_WHOLE = r"^\s*[+-]?[0-9]+\s*$"
_NUMBER = r"^\s*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))\s*$"


class Where(NamedTuple):
    """A value as it is told to the user."""

    source: str
    row: int
    value: str


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the values, all of one Arrow type."""

    source: str
    rows: I64
    """int64[n]: line or row of each in the source."""
    at: I64
    """int64[n], rising: where each goes in the whole."""
    values: Any
    """Arrow array[n] as ``plain`` makes it; may have nulls."""

    def first(self) -> Where:
        """The first value that is not null."""
        i = int(np.flatnonzero(truths(self.values.is_valid()))[0])
        return Where(self.source, int(self.rows[i]), shown(self.values[i]))


def truths(array: Any) -> NDArray[np.bool_]:
    """A boolean Arrow array without nulls in NumPy; its own ``to_numpy`` imports pandas where that is installed."""
    if len(array) == 0:
        return np.zeros(0, dtype=np.bool_)
    bits = np.frombuffer(array.buffers()[1], dtype=np.uint8)
    found: NDArray[np.bool_] = np.unpackbits(bits, count=array.offset + len(array), bitorder="little").view(np.bool_)
    return found[array.offset :]


def shown(scalar: Any) -> str:
    """A value for a message: strings in quotes, long ones cut."""
    if _is_text(scalar.type):
        value = scalar.as_py()
        told = repr(value if isinstance(value, str) else value.decode("utf-8", "backslashreplace"))
    else:
        told = str(scalar.cast(pa.string()).as_py())
    return told if len(told) <= _SHOWN else told[: _SHOWN - 1] + "…"


def mixed(column: str, one: Where, other: Where) -> InputError:
    """The error for two values that cannot be compared."""
    return InputError(
        f"the column {column!r} has {one.value} at {one.source}:{one.row} and {other.value} at "
        f"{other.source}:{other.row}, which cannot be compared. Make them all numbers, times or strings, or choose "
        "another column."
    )


def plain(array: Any, column: str, source: str) -> Any:
    """An Arrow array as one of few types: int64, uint64, float64, decimal, large_string, large_binary, those of time.

    True becomes 1, and NaN null.

    Raises:
        InputError: values of its type have no order.
    """
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif pat.is_dictionary(array.type):
            array = array.dictionary_decode()
        elif pat.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        else:
            break
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
    if pat.is_string(type_) or pat.is_large_string(type_) or pat.is_string_view(type_):
        return array.cast(pa.large_string())
    if (
        pat.is_binary(type_)
        or pat.is_large_binary(type_)
        or pat.is_binary_view(type_)
        or pat.is_fixed_size_binary(type_)
    ):
        return array.cast(pa.large_binary())
    raise InputError(
        f"{source}: the column {column!r} is of type {type_}, whose values have no order. "
        "Choose a column of numbers, times or strings."
    )


def from_python(values: Sequence[Any], column: str, source: str, rows: I64, at: I64) -> Iterable[Part]:
    """Yield parts of values as ``json`` reads them; None is null, true is 1.

    Raises:
        InputError: one is a list or an object, or a whole number of more than 76 digits.
    """
    whole, fractions, texts = [], [], []
    for i, value in enumerate(values):
        if isinstance(value, int):
            whole.append(i)
        elif isinstance(value, float):
            fractions.append(i)
        elif isinstance(value, str):
            texts.append(i)
        elif value is not None:
            kind = "a list" if isinstance(value, list) else "an object"
            raise InputError(
                f"{source}:{rows[i]}: the field {column!r} is {kind}, which has no order. "
                "Choose a field of numbers or strings."
            )
    for places, make in ((whole, _integers), (fractions, _floats), (texts, _texts)):
        if places:
            chosen = np.array(places, dtype=np.int64)
            try:
                array = make([values[i] for i in places])
            except _TooLongError as exc:
                raise _too_long(column, source, int(rows[places[exc.position]])) from exc
            yield Part(source, rows[chosen], at[chosen], array)


class _TooLongError(Exception):
    """A whole number of too many digits, at ``position``."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


def _too_long(column: str, source: str, row: int) -> InputError:
    return InputError(
        f"{source}:{row}: the field {column!r} is a whole number of more than {_MOST_DIGITS} digits. Shorten it."
    )


def _integers(values: Sequence[int]) -> Any:
    """Arrow array of whole numbers: int64, else decimal256."""
    if all(value in _INT64 for value in values):
        return numbers(np.array(values, dtype=np.int64))
    for i, value in enumerate(values):
        if abs(value) >= 10**_MOST_DIGITS:
            raise _TooLongError(i)
    return strings(str(int(value)) for value in values).cast(pa.decimal256(_MOST_DIGITS, 0))


def _floats(values: Sequence[float]) -> Any:
    return plain(numbers(np.array(values, dtype=np.float64)), "", "")


def _texts(values: Sequence[str]) -> Any:
    try:
        return strings(values)
    except UnicodeEncodeError:  # lone surrogates; their bytes sort as their code points do
        return pa.array([value.encode("utf-8", "surrogatepass") for value in values], pa.large_binary())


def from_text(array: Any, column: str, source: str, rows: I64, at: I64) -> Iterable[Part]:
    """Yield parts of the fields of one file: numbers if all are, else strings; blank ones are null.

    Args:
        array: Arrow large_binary without nulls.
        column: its name, for messages.
        source: the file.
        rows: int64[n]: the line of each.
        at: int64[n]: where each goes in the whole.

    Raises:
        InputError: some are numbers and some are not.
    """
    blank, nan, whole, number = (_matches(array, pattern) for pattern in (_BLANK, _NAN, _WHOLE, _NUMBER))
    text = ~(blank | nan | number)
    if number.any() and text.any():
        one, other = (
            Where(source, int(rows[i]), shown(array[i]))
            for i in sorted((int(np.flatnonzero(number)[0]), int(np.flatnonzero(text)[0])))
        )
        raise mixed(column, one, other)
    if text.any():
        chosen = np.flatnonzero(~blank)
        yield Part(source, rows[chosen], at[chosen], _as_strings(array.take(numbers(chosen))))
        return
    for mask, make in ((whole, _written_integers), (number & ~whole, _written_floats)):
        chosen = np.flatnonzero(mask)
        if chosen.size:
            digits = array.take(numbers(chosen)).cast(pa.large_string())
            try:
                values = make(pc.ascii_trim_whitespace(digits))
            except _TooLongError as exc:
                raise _too_long(column, source, int(rows[chosen[exc.position]])) from exc
            yield Part(source, rows[chosen], at[chosen], values)


def _matches(array: Any, pattern: str) -> NDArray[np.bool_]:
    return truths(pc.match_substring_regex(array, pattern))


def _as_strings(array: Any) -> Any:
    try:
        return array.cast(pa.large_string())
    except pa.ArrowInvalid:  # not UTF-8; bytes have the same order
        return array


def _written_integers(digits: Any) -> Any:
    digits = pc.replace_substring_regex(digits, r"^\+", "")
    try:
        return digits.cast(pa.int64())
    except pa.ArrowInvalid:
        bare = pc.replace_substring_regex(digits, r"^(-?)0+([0-9])", r"\1\2")
        long = np.flatnonzero(_matches(bare, f"[0-9]{{{_MOST_DIGITS + 1}}}"))
        if long.size:
            raise _TooLongError(int(long[0])) from None
        return bare.cast(pa.decimal256(_MOST_DIGITS, 0))


def _written_floats(digits: Any) -> Any:
    return digits.cast(pa.float64())


def in_one(parts: Sequence[Part], size: int, column: str) -> Any:
    """Put parts together.

    Args:
        parts: values, each with its place; places that none has are null.
        size: places in all.
        column: the name of the column, for messages.

    Returns:
        Arrow array[size] of one type.

    Raises:
        InputError: the parts are of kinds that cannot be compared, or not exactly.
    """
    parts = [part for part in parts if len(part.values) > part.values.null_count]
    if not parts:
        return pa.nulls(size)
    kinds = {_kind(part.values.type): part for part in reversed(parts)}
    if len(kinds) > 1:
        one, other = sorted(kinds.values(), key=lambda part: int(part.at[0]))[:2]
        raise mixed(column, one.first(), other.first())
    arrays = _of_one_type(parts, column)
    total = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
    places = np.concatenate([part.at for part in parts])
    if places.size == size and bool((places[1:] > places[:-1]).all()):
        return total
    at = np.zeros(size, dtype=np.int64)
    at[places] = np.arange(places.size)
    known = np.zeros(size, dtype=np.bool_)
    known[places] = True
    indices = pa.Array.from_buffers(pa.int64(), size, [flags(known).buffers()[1], pa.py_buffer(at)])
    return total.take(indices)


def _kind(type_: Any) -> str:
    if pat.is_integer(type_) or pat.is_floating(type_) or pat.is_decimal(type_):
        return "number"
    if _is_text(type_):
        return "string"
    if pat.is_date(type_) or (pat.is_timestamp(type_) and type_.tz is None):
        return "time"
    if pat.is_timestamp(type_):
        return "time with a zone"
    return "time of day" if pat.is_time(type_) else "duration"


def _is_text(type_: Any) -> bool:
    return bool(pat.is_large_string(type_) or pat.is_large_binary(type_))


def _of_one_type(parts: Sequence[Part], column: str) -> list[Any]:
    """The values of parts of one kind, all of one type."""
    arrays = [part.values for part in parts]
    types = {array.type for array in arrays}
    if len(types) == 1:
        return arrays
    for target in _targets(types):
        try:
            return [array.cast(target) for array in arrays]
        except pa.ArrowInvalid:  # a value would be cut
            continue
    one = parts[0]
    other = next(part for part in parts if part.values.type != one.values.type)
    first, second = one.first(), other.first()
    raise InputError(
        f"the column {column!r} has values of the types {one.values.type} (such as {first.value} at {first.source}:"
        f"{first.row}) and {other.values.type} (such as {second.value} at {second.source}:{second.row}), which cannot "
        "all be compared exactly. Write them as one type, or choose another column."
    )


def _targets(types: set[Any]) -> list[Any]:
    """Types in which all values might be compared; the first that holds every one without loss is the right one."""
    kind = _kind(next(iter(types)))
    if kind == "string":
        return [pa.large_binary()]
    if kind == "time of day":
        return [pa.time64("ns")]
    if kind == "duration":
        return [pa.duration(unit) for unit in _UNITS]
    if kind != "number":
        zone = next((type_.tz for type_ in types if pat.is_timestamp(type_)), None)
        return [pa.timestamp(unit, zone) for unit in _UNITS]
    decimals = [type_ for type_ in types if pat.is_decimal(type_)]
    if pa.float64() in types:
        is_exact = all(type_.precision <= _EXACT_DIGITS for type_ in decimals)
        return ([pa.float64()] if is_exact else []) + ([] if decimals else [pa.int64(), pa.uint64()])
    if not decimals:
        return [pa.uint64(), pa.decimal128(20, 0)]
    before = [type_.precision - type_.scale for type_ in decimals] + [20] * (pa.uint64() in types)
    before += [19] * (pa.int64() in types)
    after = max(0, *(type_.scale for type_ in decimals))
    digits = max(before) + after
    if digits > _MOST_DIGITS:
        return []
    return [pa.decimal128(digits, after) if digits <= 38 else pa.decimal256(digits, after)]
