"""JSON Lines read the slow and obvious way: one ``json.loads`` a line, no code shared with the reader."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

__all__ = ["Read", "read_jsonl"]


@dataclass
class Read:
    """What a file of lines holds."""

    texts: list[bytes] = field(default_factory=list)
    ids: list[object] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    bad: list[int] = field(default_factory=list)
    blank: int = 0


def _refuse(name: str) -> None:
    raise ValueError(name)


def _member(value: object) -> bytes:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(value)
    return str(value).encode()


def _text(value: object, item: bool) -> bytes:
    if item and isinstance(value, list):
        return b"\xff".join(_member(member) for member in value)
    if not isinstance(value, str):
        raise ValueError(value)
    value.encode()
    return b"\xff".join(part.encode() for part in value.split()) if item else value.encode()


def _identifier(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(value)
    if isinstance(value, str):
        value.encode()
        return value
    return value if -(2**63) <= value < 2**63 else str(value)


def read_jsonl(content: bytes, text: str, id: str | None, item: bool = False) -> Read:
    """Read the lines of ``content``; of ids of two types in one file all become strings."""
    result = Read()
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for row, line in enumerate(lines if lines[-1] else lines[:-1], start=1):
        if not line.strip(b" \t\r"):
            result.blank += 1
            continue
        try:
            record = json.loads(line.decode("utf-8"), parse_constant=_refuse)
            if not isinstance(record, dict):
                raise ValueError(record)
            found = _text(record[text], item), None if id is None else _identifier(record[id])
        except (ValueError, KeyError, RecursionError):
            result.bad.append(row)
            continue
        result.texts.append(found[0])
        result.ids.append(found[1])
        result.rows.append(row)
    return result
