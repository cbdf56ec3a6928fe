"""Spreadsheets (.xlsx): the first sheet that is shown is a table whose first row has the names of the columns.

openpyxl reads the cells, row by row; it has been the library of pandas for this for ten years. What lies in which part
of the package is looked up here, since clean copies are cut from these parts. Other sheets are told as passed over.
"""

from __future__ import annotations

import io
import os
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import Any
from xml.etree import ElementTree

import numpy as np

from neardup.arrays import numbers, strings
from neardup.errors import InputError, MissingDependency, NeardupError
from neardup.inputs.batches import Columns, make_batch
from neardup.inputs.blocks import read_all
from neardup.inputs.columns import ReadColumns, choose_id, choose_text, column_place, unknown_column
from neardup.inputs.formats import stored_codec
from neardup.inputs.source import BATCH_BYTES, INT64, Faults, RecordLimit, Source, Task, TooLarge
from neardup.inputs.stream import ByteStream, explained_as, open_whole
from neardup.types import Batch

SPEC_SHEET = "neardup spec"
"""Sheet of a table of ours that has the spec."""
MOST_TIMES, UNSUSPICIOUS = 200, 256 << 20
"""A package may unpack to so many times its size, or to so many bytes."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STRICT = {
    "http://purl.oclc.org/ooxml/spreadsheetml/main": _MAIN,
    "http://purl.oclc.org/ooxml/officeDocument/relationships": _RELATED,
}
_SMALL_PART = 4 << 20
"""Bytes of a part that lists others."""
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_ROW = re.compile(rb"<(?:\w+:)?row\b[^>]*>")
_ROW_NUMBER = re.compile(rb"""\sr=["'](\d+)""")
_CELL = 8
"""Bytes that a cell counts for beside its text."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The sheet that is read."""

    name: str
    part: str
    """Its name in the package."""
    others: int
    """Further sheets that are shown."""
    is_ours: bool
    """The package is a table that neardup has written."""


class XlsxSource(Source):
    """The first sheet of one spreadsheet; its rows have the numbers that the spreadsheet shows, from 2."""

    format = "xlsx"

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text; InputError when the sheet cannot be read, or lacks a column."""
        with _opened_rows(self.name, self._stream, self._options.limit) as rows:
            yield from self._tasks(rows)

    def look(self) -> ReadColumns | None:
        with _opened_rows(self.name, self._stream, self._options.limit) as rows:
            chosen = self._choose(next(rows, ()), next(rows, ()))
        return chosen and chosen[0]

    def header(self) -> list[str]:
        """The names of all columns."""
        with _opened_rows(self.name, self._stream, self._options.limit) as rows:
            return [cell_text(cell) or "" for cell in next(rows, ())]

    def values(self, column: str, rows: Sequence[int], *, option: str = "keep") -> list[Any]:
        """The cells of a column in some rows, rising, as numbers, texts and None; fewer where rows are not there."""
        wanted = iter(rows)
        found: list[Any] = []
        following = next(wanted, None)
        with _opened_rows(self.name, self._stream, self._options.limit) as cells:
            names = [cell_text(cell) or "" for cell in next(cells, ())]
            if column not in names:
                raise unknown_column(column, names, self.name, option=option)
            place = column_place(names, column, self.name)
            for row, values in enumerate(cells, start=2):
                if row == following:
                    value = values[place] if place < len(values) else None
                    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
                    found.append(value if is_number else cell_text(value))
                    following = next(wanted, None)
        return found

    def _choose(self, header: Sequence[Any], first: Sequence[Any]) -> tuple[ReadColumns, list[int], int | None] | None:
        """The columns, and where they are; None for an empty sheet. ``first``: the first row behind the header."""
        if all(cell is None for cell in header):
            return None
        names = self.names = [cell_text(cell) or "" for cell in header]
        id = choose_id(names, self._options.id, self.name)
        is_text = (isinstance(cell, str) for cell in [*first, *[None] * len(names)])
        texts = [name for name, fits in zip(names, is_text, strict=False) if fits and name != id and name]
        text = choose_text(names, self._options.text, self.name, texts=texts)
        places = [column_place(names, name, self.name) for name in text]
        return (
            ReadColumns(text, id, example=self.name),
            places,
            None if id is None else column_place(names, id, self.name),
        )

    def _tasks(self, rows: Iterator[Sequence[Any]]) -> Iterator[Task]:
        header, first = next(rows, ()), next(rows, None)
        chosen = self._choose(header, first or ())
        if chosen is None or first is None:
            return
        self.columns, places, id_place = chosen
        held: list[tuple[int, str | None, Any]] = []
        size = blank = told = 0
        for row, cells in enumerate(chain([first], rows), start=2):
            if all(cell is None for cell in cells):
                blank += 1
                continue
            found = [cell_text(cells[place]) if place < len(cells) else None for place in places]
            text = None if all(each is None for each in found) else "\n".join(each for each in found if each)
            id = cells[id_place] if id_place is not None and id_place < len(cells) else None
            held.append((row, text, id))
            size += len(text or "") + _CELL
            if size >= BATCH_BYTES or len(held) == self._options.block:
                yield partial(self._read, held, id_place is not None, blank, told)
                held, size, blank = [], 0, 0
        yield partial(self._read, held, id_place is not None, blank, self.total_bytes or 0)

    def _read(self, held: Sequence[tuple[int, str | None, Any]], has_ids: bool, blank: int, consumed: int) -> Batch:
        faults = Faults(self.name, self._options.on_bad)
        texts: list[str] = []
        ids: list[Any] = []
        rows: list[int] = []
        for row, text, id in held:
            if text is None or (has_ids and id in (None, "")):
                faults.add(row, "the text is empty" if text is None else "the id is empty")
                continue
            texts.append(text)
            rows.append(row)
            ids.append(id)
        columns = Columns(strings(texts), np.array(rows, dtype=np.int64), _ids(ids) if has_ids else None)
        return make_batch(columns, faults, split=self._options.item, blank=blank, consumed=consumed)


def _ids(values: Sequence[Any]) -> Any:
    """Whole numbers where all are, else texts."""
    whole = [_whole(value) for value in values]
    if values and all(value is not None and value in INT64 for value in whole):
        return numbers(np.array(whole, dtype=np.int64))
    return strings(cell_text(value) or "" for value in values)


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if value == int(value) else None


def cell_text(value: Any) -> str | None:
    """A cell as text: 1984 for the number 1984, TRUE, dates as in ISO 8601; None for an empty one."""
    if value is None:
        return None
    if isinstance(value, str):
        return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value) if "_x" in value else value
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    return str(value)


class _RisingRows(io.RawIOBase):
    """The XML of a sheet. Raises ValueError for a row that comes after a later one, which openpyxl leaves out."""

    def __init__(self, sheet: Any) -> None:
        self._sheet, self._rest, self._last = sheet, b"", 0

    def read(self, size: int = -1) -> bytes:
        piece: bytes = self._sheet.read(size)
        held = self._rest + piece
        for tag in _ROW.finditer(held):
            number = _ROW_NUMBER.search(tag[0])
            before, self._last = self._last, int(number[1]) if number else self._last + 1
            if self._last <= before:
                raise ValueError(f"its row {self._last} comes after its row {before}")
        self._rest = held[held.rfind(b"<") :] if held.rfind(b"<") > held.rfind(b">") else b""
        return piece


@contextmanager
def _opened_rows(name: str, stream: ByteStream | None, limit: RecordLimit) -> Iterator[Iterator[Sequence[Any]]]:
    """The rows of the sheet that is read, as tuples of the values of its cells."""
    if find_spec("openpyxl") is None:
        raise MissingDependency(f"{name}: reading spreadsheets needs openpyxl: pip install 'neardup[xlsx]'")
    import openpyxl

    with opened_package(name, stream, limit) as package, explained(name):
        sheet = find_sheet(package)
        package.fp.seek(0)  # type: ignore[union-attr]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of features of spreadsheets that it does not know
            book = openpyxl.load_workbook(package.fp, read_only=True, data_only=True, keep_links=False)
            found = book[sheet.name]
            found.reset_dimensions()  # what the file says of its size need not be so
            opened = found._get_source
            found._get_source = lambda: _RisingRows(opened())
            yield found.iter_rows(values_only=True)


@contextmanager
def opened_package(name: str, stream: ByteStream | None, limit: RecordLimit) -> Iterator[zipfile.ZipFile]:
    """The package of a spreadsheet; InputError where it is none, or would unpack to too much."""
    is_plain = stream is None and stored_codec(name) is None
    try:
        source: Any = open_whole(name) if is_plain else io.BytesIO(read_all(stream or name, limit=limit, many=True))
    except OSError:
        ByteStream(name).close()  # says best what is wrong
        raise
    with source, explained(name):
        head = source.read(len(_OLE))
        if not head:
            raise InputError(f"{name} is empty (0 bytes), so it is no spreadsheet. Fetch it again.")
        if head == _OLE:
            raise InputError(
                f"{name} is protected by a password, or is an old .xls under a new name. Save it as .xlsx without one."
            )
        size = source.seek(0, io.SEEK_END)
        with zipfile.ZipFile(source) as package:
            unpacked = sum(part.file_size for part in package.infolist())
            if unpacked > max(UNSUSPICIOUS, MOST_TIMES * size):
                raise InputError(f"{name} unpacks to {unpacked:,} bytes, which no spreadsheet of its size does.")
            for part in package.infolist():
                if part.filename.endswith("sharedStrings.xml") and part.file_size > limit.whole:
                    reason, cure = limit.refusal("its list of texts", part.file_size, most=limit.whole)
                    raise TooLarge(name, reason, cure)
            yield package


def explained(name: str) -> AbstractContextManager[None]:
    """Turn what openpyxl and the unpacking say about a file, whatever it is, into InputError with the cure."""
    return explained_as(".xlsx", name, (Exception,), "Save it again with a program for spreadsheets, or as .csv.")


def find_sheet(package: zipfile.ZipFile) -> Sheet:
    """The first sheet that is shown; KeyError, or what XML says, where the package is damaged."""
    book = _parsed(package, "xl/workbook.xml")
    related = {each.get("Id"): each for each in _parsed(package, "xl/_rels/workbook.xml.rels")}
    shown = []
    names = []
    for sheet in book.iter(f"{{{_MAIN}}}sheet"):
        target = related[sheet.get(f"{{{_RELATED}}}id")]
        names.append(sheet.get("name"))
        if sheet.get("state", "visible") == "visible" and str(target.get("Type")).endswith("/worksheet"):
            place = str(target.get("Target"))
            part = place.lstrip("/") if place.startswith("/") else os.path.normpath(f"xl/{place}").replace("\\", "/")
            shown.append((str(sheet.get("name")), part))
    if not shown:
        raise KeyError("it has no sheet that is shown")
    (name, part), *others = shown
    return Sheet(name, part, len(others), SPEC_SHEET in names)


def look_into(path: str) -> Sheet | None:
    """The sheet of a file, found without openpyxl; None where it cannot be read, which reading it says best."""
    try:
        with opened_package(path, None, RecordLimit()) as package:
            return find_sheet(package)
    except NeardupError:
        return None


def _parsed(package: zipfile.ZipFile, part: str) -> ElementTree.Element:
    if package.getinfo(part).file_size > _SMALL_PART:
        raise KeyError(f"its part {part} is too large")
    text = package.read(part).decode("utf-8-sig")
    if "<!DOCTYPE" in text:
        raise KeyError(f"its part {part} has a document type, which spreadsheets lack")
    for strict, plain in _STRICT.items():
        text = text.replace(strict, plain)
    return ElementTree.fromstring(text.encode())
