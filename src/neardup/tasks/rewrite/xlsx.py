"""Clean copies of spreadsheets: rows are cut out of the sheet that was read, and the rows below move up.

The package is copied part by part, so other sheets, styles, widths, pictures and the exact digits of numbers stay. In
the sheet formulas become the values that the file has for them, since the rows that they speak of move or go; merged
cells, tables, filters, links and comments move with their rows. Formulas of other sheets stay as they are.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from neardup.inputs.columnar.xlsx import XlsxSource, explained, find_sheet, opened_package
from neardup.outputs.sink import Sink
from neardup.tasks.rewrite.model import Rewrite, added_names, changed
from neardup.types import I64

_PIECE = 1 << 20
_LONGEST_ROW = 32 << 20
"""Bytes of a row, whose texts are elsewhere in most files: 2 kB for each of 16,384 cells."""
_ROW = re.compile(rb"<((?:\w+:)?)row\b([^>]*?)(?:/>|>(.*?)</(?:\w+:)?row\s*>)", re.DOTALL)
_END = re.compile(rb"</(?:\w+:)?sheetData\s*>|<(?:\w+:)?sheetData\s*/>")
_NUMBER = re.compile(rb'\br="([A-Z]*)(\d+)"')
_FORMULA = re.compile(rb"<(?:\w+:)?f\b[^>]*?(?:/>|>.*?</(?:\w+:)?f\s*>)", re.DOTALL)
_CELL = re.compile(rb"<(?:\w+:)?c\b[^>]*?(?:/>|>.*?</(?:\w+:)?c\s*>)", re.DOTALL)
_VALUE = re.compile(rb"<(?:\w+:)?(?:v|is)\b")
_OPENING = re.compile(rb"<(?:\w+:)?c\b[^>]*>")
_REFERENCES = re.compile(rb'\b(ref|sqref)="([^"]*)"')
_RANGE = re.compile(r"(\$?[A-Z]{1,3}\$?)(\d+)(?::(\$?[A-Z]{1,3}\$?)(\d+))?")
_NOTE_SHAPE = re.compile(rb"<v:shape\b.*?</v:shape\s*>", re.DOTALL)
_NOTED_ROW = re.compile(rb"<x:Row>\s*(\d+)\s*</x:Row>")
_EMPTY = re.compile(
    rb'<(?:\w+:)?(mergeCell|hyperlink|comment|conditionalFormatting|dataValidation)\b[^>]*?\b(?:ref|sqref)=""[^>]*?'
    rb"(?:/>|>.*?</(?:\w+:)?\1\s*>)",
    re.DOTALL,
)
"""What was said of cells that are gone."""
_EMPTY_GROUP = re.compile(rb"<((?:\w+:)?(?:mergeCells|hyperlinks|dataValidations))\b[^>]*>\s*</\1\s*>")
_MOVING = ("table", "comments", "vmlDrawing")
"""Kinds of parts beside a sheet that name cells of it."""


def rewrite_xlsx(job: Rewrite, sink: Sink) -> int:
    """Write a spreadsheet without some rows, or with three more columns; the records that it has, bad ones too."""
    records = count_xlsx(job)
    header = XlsxSource(job.path, job.options).header() if job.annotation is not None else ()
    with opened_package(job.path, None, job.options.limit) as package, explained(job.path):
        sheet = find_sheet(package)
        moving = set(_beside(package, sheet.part))
        editor = _Editor(job, header)
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as copy:
            parts = [part for part in package.infolist() if not part.filename.endswith("/calcChain.xml")]
            for part in sorted(parts, key=lambda part: part.filename != sheet.part):  # moves are known behind it
                made = zipfile.ZipInfo(part.filename, part.date_time)
                made.compress_type, made.external_attr = part.compress_type, part.external_attr
                with package.open(part) as source, copy.open(made, "w", force_zip64=True) as out:
                    if part.filename == sheet.part:
                        for piece in editor.sheet(source):
                            out.write(piece)
                    elif part.filename in moving:
                        out.write(editor.moved(source.read()))
                    elif part.filename in ("[Content_Types].xml", "xl/_rels/workbook.xml.rels"):
                        out.write(re.sub(rb"<\w+[^>]*calcChain\.xml[^>]*/>", b"", source.read()))
                    else:
                        while piece := source.read(_PIECE):
                            out.write(piece)
    editor.check()
    return records


def count_xlsx(job: Rewrite) -> int:
    """The records of a spreadsheet, bad ones too; what is known of it is checked."""
    records = 0
    for task in XlsxSource(job.path, replace(job.options, on_bad="skip")).tasks():
        batch = task()
        records += len(batch.documents) + batch.bad
        if job.known is not None:
            job.known.check_batch(batch)
    return records


def _beside(package: zipfile.ZipFile, part: str) -> Iterator[str]:
    """The parts that a sheet names and that name cells of it."""
    folder, name = posixpath.split(part)
    related = f"{folder}/_rels/{name}.rels"
    if related in package.namelist():
        for found in re.finditer(rb"<\w*:?Relationship\b[^>]*>", package.read(related)):
            kind, target = (re.search(rf'\b{key}="([^"]*)"'.encode(), found[0]) for key in ("Type", "Target"))
            if kind and target and kind[1].decode().rpartition("/")[2] in _MOVING:
                place = target[1].decode()
                yield place.lstrip("/") if place.startswith("/") else posixpath.normpath(f"{folder}/{place}")


class _Editor:
    """What becomes of the rows of one sheet."""

    def __init__(self, job: Rewrite, header: Sequence[str]) -> None:
        self._path, self._removed, self._note = job.path, job.removed, job.annotation
        self._gone: list[int] = []
        self._matched = 0
        self._names: tuple[str, ...] = ()
        self._header = header
        self._last = 0
        self._width = 0

    def sheet(self, source: Any) -> Iterator[bytes]:
        """The sheet, piece by piece, edited."""
        held = b""
        is_over = False
        while piece := source.read(_PIECE):
            held += piece
            if is_over:
                continue
            at = 0
            for row in _ROW.finditer(held):
                if _END.search(held, at, row.start()):
                    break
                yield held[at : row.start()]
                yield self._row(row)
                at = row.end()
            held = held[at:]
            is_over = _END.search(held) is not None
            if not is_over and len(held) > _LONGEST_ROW:
                raise ValueError("a row is too long")
        yield self.moved(held)

    def _row(self, found: re.Match[bytes]) -> bytes:
        number = _NUMBER.search(found[2])
        row = int(number[2]) if number else self._last + 1
        self._last = row
        i = int(np.searchsorted(self._removed, row))
        if i < self._removed.size and self._removed[i] == row:
            self._gone.append(row)
            return b""
        text = found[0]
        if b"<" in (found[3] or b""):
            text = _CELL.sub(_without_formula, text)
        if self._note is not None:
            text = self._annotated(found, text, row)
        return self._renumbered(text, row - len(self._gone)) if self._gone else text

    def _renumbered(self, text: bytes, row: int) -> bytes:
        """The tags of a row and of its cells with another number; texts between the tags stay."""
        number = str(row).encode()
        end = text.index(b">") + 1
        head = _NUMBER.sub(rb'r="\g<1>' + number + b'"', text[:end])
        return head + _OPENING.sub(lambda tag: _NUMBER.sub(rb'r="\g<1>' + number + b'"', tag[0]), text[end:])

    def _annotated(self, found: re.Match[bytes], text: bytes, row: int) -> bytes:
        prefix = found[1].decode()
        if not self._names:
            before = _CELL.findall(text)
            self._width = max([len(before), *(_column(cell) for cell in before)])
            self._names = added_names(self._header, self._path)
            values: Sequence[Any] = self._names
        else:
            values = self._values(row)
        cells = b"".join(
            _made(prefix, _letters(self._width + i), row, value) for i, value in enumerate(values, start=1)
        )
        if found[3] is None:
            return text[:-2] + b">" + cells + f"</{prefix}row>".encode()
        end = text.rindex(b"</")
        return text[:end] + cells + text[end:]

    def _values(self, row: int) -> Sequence[Any]:
        assert self._note is not None
        part = self._note.part(row, 1)
        if not part.rows.size:
            return (None, None, None)
        self._matched += 1
        similarity = float(part.similarity[0])
        return int(part.cluster[0]), part.keeper[0].as_py(), similarity if similarity == similarity else None

    def moved(self, text: bytes) -> bytes:
        """A part with what it says of cells below removed rows moved up, and what it says of removed rows left out."""
        if not self._gone:
            return text
        gone = np.array(self._gone, dtype=np.int64)

        def shifted(found: re.Match[bytes]) -> bytes:
            ranges = [_shifted(each, gone) for each in found[2].decode().split()]
            return found[1] + b'="' + " ".join(each for each in ranges if each).encode() + b'"'

        def noted(found: re.Match[bytes]) -> bytes:
            row = _NOTED_ROW.search(found[0])
            moved = _shifted(f"A{int(row[1]) + 1}", gone) if row else "A1"
            if not moved:
                return b""
            return _NOTED_ROW.sub(f"<x:Row>{int(moved[1:]) - 1}</x:Row>".encode(), found[0]) if row else found[0]

        text = _REFERENCES.sub(shifted, _NOTE_SHAPE.sub(noted, text))
        return _EMPTY_GROUP.sub(b"", _EMPTY.sub(b"", text))

    def check(self) -> None:
        """Raise InputChanged unless every row that was to be edited has come."""
        wanted = self._removed.size if self._note is None else self._note.rows.size
        done = len(self._gone) if self._note is None else self._matched
        if done != wanted:
            raise changed(self._path, int(wanted), done)


def _without_formula(found: re.Match[bytes]) -> bytes:
    """A cell with the value of its formula, where the file has one."""
    return _FORMULA.sub(b"", found[0]) if _VALUE.search(found[0]) else found[0]


def _shifted(reference: str, gone: I64, *, least: int = 1) -> str:
    """A range without the removed rows, of ``least`` rows at least; empty where it has fewer."""
    found = _RANGE.fullmatch(reference)
    if found is None:
        return reference
    first, last = int(found[2]), int(found[4] or found[2])
    above = int(np.searchsorted(gone, first))
    inside = int(np.searchsorted(gone, last, side="right")) - above
    rows = last - first + 1 - inside
    if rows < least:
        return ""
    end = "" if found[3] is None else f":{found[3]}{first - above + rows - 1}"
    return f"{found[1]}{first - above}{end}"


def _column(cell: bytes) -> int:
    """The number of the column of a cell, from 1; 0 where it does not say."""
    found = _NUMBER.search(cell[: cell.index(b">")])
    number = 0
    for letter in found[1] if found else b"":
        number = 26 * number + letter - 64
    return number


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _made(prefix: str, column: str, row: int, value: Any) -> bytes:
    """A cell, in the namespace of its row."""
    if value is None:
        return b""
    tag, place = f"{prefix}c", f'r="{column}{row}"'
    if isinstance(value, str):
        text = f'<{prefix}is><{prefix}t xml:space="preserve">{escape(value)}</{prefix}t></{prefix}is>'
        return f'<{tag} {place} t="inlineStr">{text}</{tag}>'.encode()
    return f"<{tag} {place}><{prefix}v>{value!r}</{prefix}v></{tag}>".encode()
