"""The slow and authoritative way to read a line of JSON Lines: Python's ``json``, and a reason if it is bad.

RFC 8259 to the letter where Python is generous: NaN and Infinity are refused. Of equal keys the last
counts.
"""

from __future__ import annotations

import json
from typing import Any

from neardup.inputs.items import ItemError, join_items, split_items
from neardup.inputs.source import INT64, BadRecord

__all__ = ["BadRecord", "judge", "parse_object"]

_LONGEST_INTEGER = 640
"""Characters that every Python turns into an int; a longer number is read as a float."""


def judge(line: bytes, text: str, id: str | None, *, item: bool, encoding: str) -> tuple[bytes, str | int | None]:
    """Return the text (of a set: its items as bytes) and the id of one line.

    Args:
        line: the line in UTF-8, without its newline.
        text: name of the text field.
        id: name of the id field, or None.
        item: the text field is a set: a list of strings and whole numbers, or a string split at white space.
        encoding: what the file was decoded from, for the message.

    Raises:
        BadRecord: the line is no record, and why.
    """
    record = parse_object(line, encoding)
    value = _field(record, text)
    content = _items(value, text) if item else _string(value, text).encode("utf-8")
    return content, None if id is None else _identifier(_field(record, id), id)


def parse_object(line: bytes, encoding: str) -> dict[str, Any]:
    """Return the object in ``line``.

    Raises:
        BadRecord: it is not one object in valid JSON and valid UTF-8.
    """
    try:
        value = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as exc:
        place = (
            f"byte 0x{line[exc.start]:02x} at byte {exc.start + 1} of the line is"
            if encoding == "utf-8"
            else ("the line has bytes that are")
        )
        cure = "Name the encoding of the file with --encoding (encoding=)."
        raise BadRecord(f"{place} no valid {encoding}", cure) from exc
    except json.JSONDecodeError as exc:
        if line.startswith(b"\xef\xbb\xbf"):
            raise BadRecord("a byte order mark stands before the record") from exc
        raise BadRecord(f"no valid JSON: {exc.msg} at character {exc.pos + 1}") from exc
    except RecursionError as exc:
        raise BadRecord("no usable JSON: nested too deeply") from exc
    if not isinstance(value, dict):
        raise BadRecord(f"{_kind(value)}, not an object")
    return value


def _constant(name: str) -> None:
    raise BadRecord(f"no valid JSON: {name} is not a JSON number")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


_DECODER = json.JSONDecoder(parse_constant=_constant, parse_int=_integer)


def _field(record: dict[str, Any], name: str) -> Any:
    if name not in record:
        raise BadRecord(f"there is no field {name!r}")
    if record[name] is None:
        raise BadRecord(f"the field {name!r} is null")
    return record[name]


def _string(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise BadRecord(f"the field {name!r} is {_kind(value)}, not a string")
    return _checked(value, name)


def _items(value: Any, name: str) -> bytes:
    if isinstance(value, str):
        return split_items(_checked(value, name))
    if not isinstance(value, list):
        raise BadRecord(f"the field {name!r} is {_kind(value)}, not a list or a string")
    try:
        return join_items(value)
    except ItemError as exc:
        raise BadRecord(f"the field {name!r}: {exc}") from exc


def _identifier(value: Any, name: str) -> str | int:
    """The id; a whole number beyond 64 bits as its decimal text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value in INT64 else str(value)
    if not isinstance(value, str):
        raise BadRecord(f"the field {name!r} is {_kind(value)}, not a string or a whole number")
    return _checked(value, name)


def _checked(value: str, name: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as exc:
        code = ord(value[exc.start])
        raise BadRecord(
            f"the field {name!r} has the lone surrogate \\u{code:04x} at character {exc.start + 1}"
        ) from exc
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    kinds: dict[type, str] = {str: "a string", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")
