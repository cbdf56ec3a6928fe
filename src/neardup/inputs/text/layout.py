"""What the first row of a delimited file says: delimiter, header, and which fields are the text and the id.

The first row is a header when one of its cells is a known column name or equals ``--text`` or ``--id``.
Without a header, a line of one field is a text, a line of two is ``id, text``, and of more the text's
1-based number must be given (``--text 3``); a number counts under a header too. A CSV file may be delimited
by commas, semicolons, tabs or bars: the first under which the first row is a header, else the first by which most
rows have as many fields as the first row, else the comma. A first line ``sep=;``, as Excel writes it, decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neardup.errors import InputError
from neardup.inputs.blocks import only_returns
from neardup.inputs.columns import (
    NoTextColumn,
    ReadColumns,
    asked_columns,
    choose_id,
    choose_more,
    choose_text,
    guess_id,
    guess_text,
)
from neardup.inputs.source import ReadOptions
from neardup.kernels.delimited import COLUMNS, FIELDS, FINE, ID, STATUS, TEXT, scan_records
from neardup.types import U8

_DELIMITERS = {"csv": b",;\t|", "tsv": b"\t"}
_SEPARATOR = re.compile(rb'"?sep=([^\w\r\n"])"?\r?\n', re.IGNORECASE)
"""The line that Excel writes before the header row, and obeys."""
_QUOTED = re.compile(rb'(?:^|(?<=[,;\t|\n]))"(?:[^"]|"")*(?:"|$)')
_HEAD = 1 << 16
_LOOKED_AT = 20
"""Rows that are looked at after the first one."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the records of a file are made."""

    delimiter: int
    relaxed: bool
    """The rules of TSV for quotes."""
    width: int
    """Fields of the first row, and so of every record."""
    text_field: int
    id_field: int
    """0-based; -1 without ids."""
    header: tuple[int, int] | None
    """Bytes and lines before the first record, which is the header row, or a line ``sep=;``; None without them."""
    names: tuple[str, ...] = ()
    """The cells of the header row."""
    more_text: tuple[int, ...] = ()
    """Further fields of the text, 0-based, behind ``text_field``."""
    more: tuple[int, ...] = ()
    """Further fields that are read, 0-based."""

    def columns(self, source: str) -> ReadColumns | None:
        """What is read of a file, by name; None without a header."""
        if not self.names:
            return None
        texts = tuple(self.names[i] for i in (self.text_field, *self.more_text))
        return ReadColumns(texts, self.names[self.id_field] if self.id_field >= 0 else None, example=source)


BLANK_LAYOUT = Layout(ord(","), False, 0, 0, -1, None)
"""For a file of nothing but blank lines."""


_How = tuple[int, int, int, bool]
"""Where the rows begin and end in the data, and ``patience`` and ``relaxed`` as ``scan_records`` has them."""


class _FirstRow(NamedTuple):
    cells: list[str]
    end: int
    lines: int


def find_layout(data: U8, size: int, patience: int, source: str, kind: str, options: ReadOptions) -> Layout | None:
    """The layout that the first row tells, or None when ``data`` holds no whole row yet.

    ``data`` has ``size`` bytes of whole lines from the beginning of the file; ``patience`` is as ``scan_records`` has
    it, ``kind`` "csv" or "tsv". Raises InputError when the row is broken, or lacks a column that was asked for.
    """
    check_line_ends(data[:size], source)
    separator = _SEPARATOR.match(data[: min(size, 16)].tobytes())
    begin, delimiters = (separator.end(), separator[1]) if separator else (0, _DELIMITERS[kind])
    how = begin, size, patience, kind == "tsv"
    rows: dict[int, _FirstRow] = {}
    broken, is_unfinished = 0, False
    for delimiter in delimiters:
        row = _first_row(data, *how, delimiter)
        if row is None:
            is_unfinished = True
        elif isinstance(row, int):
            broken = broken or row
        else:
            rows[delimiter] = row
            if _is_header(row.cells, options):
                break
    else:
        if is_unfinished:
            return None
        if not rows:
            raise InputError(
                f"{source}:{broken}: the first row has a quoted field that is not closed properly. "
                "Double every quote inside a quoted field, and close it."
            )
        delimiter = next((each for each in rows if _is_even(data, how, each, rows[each])), next(iter(rows)))
    cells, end, lines = rows[delimiter]
    is_header = _is_header(cells, options)
    (text, *more), id_field = _fields(cells, options, source, is_header=is_header)
    before = (end, lines + (begin > 0)) if is_header else (begin, 1) if begin else None
    names = tuple(cells) if is_header else ()
    stored = tuple(cells.index(name) for name in choose_more(names, options.column, source))
    return Layout(delimiter, how[3], len(cells), text, id_field, before, names, tuple(more), stored)


def check_line_ends(data: U8, source: str) -> None:
    """Raise InputError if a file has carriage returns outside of quotes, and no newline there."""
    head = data[:_HEAD].tobytes().strip(b"\r\n")
    if b"\r" in head and b"\r" in (rows := _QUOTED.sub(b"", head)) and b"\n" not in rows:
        raise only_returns(source)


def _is_even(data: U8, how: _How, delimiter: int, first: _FirstRow) -> bool:
    """Return whether most of the next rows have as many fields as the first one, and more than one."""
    rows = np.zeros((_LOOKED_AT, COLUMNS), dtype=np.int64)
    count, *_ = scan_records(data, first.end, how[1], how[1], delimiter, how[3], how[2], 0, -1, rows)
    like = (rows[:count, STATUS] == FINE) & (rows[:count, FIELDS] == len(first.cells))
    return len(first.cells) > 1 and 2 * int(np.count_nonzero(like)) > count


def _first_row(data: U8, begin: int, size: int, patience: int, relaxed: bool, delimiter: int) -> _FirstRow | int | None:
    """The first row; None when it does not end in ``data``; its 1-based line when its quotes are broken."""
    records = np.zeros((1, COLUMNS), dtype=np.int64)
    cells: list[str] = []
    while True:
        n = len(cells)  # two fields a scan; the row is short
        count, end, lines, _ = scan_records(data, begin, size, size, delimiter, relaxed, patience, n, n + 1, records)
        if count == 0:
            return None
        record = records[0]
        if record[STATUS] != FINE:
            return int(lines)
        for first in (TEXT, ID):
            if record[first] >= 0:
                cell = data[record[first] : record[first + 1]].tobytes().replace(b'""', b'"')
                cells.append(cell.decode("utf-8", "replace").strip())
        if len(cells) >= int(record[FIELDS]):
            return _FirstRow(cells, int(end), int(lines))


def _is_header(cells: Sequence[str], options: ReadOptions) -> bool:
    asked = {*asked_columns(options.text or (), cells), *asked_columns(options.column, cells), options.id} - {None}
    known = guess_text(cells) is not None or guess_id(cells) is not None
    return known or not asked.isdisjoint(cells)


def _field(cells: Sequence[str], asked: str | None, source: str, *, option: str) -> int | None:
    """The 0-based field that a 1-based number stands for; None when ``asked`` is no number or is a cell."""
    if asked is None or asked in cells or not (asked.isascii() and asked.isdigit()):
        return None
    if not 1 <= int(asked) <= len(cells):
        raise InputError(
            f"{source}: there is no column number {asked} for --{option}; the first row has {len(cells)} fields."
        )
    return int(asked) - 1


def _fields(cells: list[str], options: ReadOptions, source: str, *, is_header: bool) -> tuple[list[int], int]:
    """The fields of the text and of the id (-1: none): those asked for, by name or number, else those guessed."""
    id_field = _field(cells, options.id, source, option="id")
    if id_field is None and (is_header or options.id is not None):
        name = choose_id(cells, options.id, source)
        id_field = None if name is None else cells.index(name)
    others = [i for i in range(len(cells)) if i != id_field]
    texts = []
    for asked in () if options.text is None else asked_columns(options.text, cells):
        text = _field(cells, asked, source, option="text")
        texts.append(cells.index(choose_text(cells, (asked,), source)[0]) if text is None else text)
    if not texts and is_header:
        texts = [cells.index(choose_text(cells, None, source, texts=[cells[i] for i in others])[0])]
    elif not texts and (len(cells) > 2 or not others):
        raise NoTextColumn(
            f"{source}: no field of the first row is a known column name, and it has {len(cells)} fields. Give the "
            "number of the text's column, such as --text 2 (and --id 1); "
            f"the first row is {', '.join(repr(cell[:30]) for cell in cells[:8])}."
        )
    texts = texts or [others[-1]]
    if not is_header and id_field is None and (len(cells), texts[0]) == (2, 1):
        id_field = 0
    return texts, -1 if id_field is None else id_field
