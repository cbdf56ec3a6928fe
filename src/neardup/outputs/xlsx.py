"""Tables as .xlsx, within the limits of spreadsheets.

A package of seven small parts and a sheet, written here: openpyxl and XlsxWriter write numbers with 16 digits, which do
not read back as the same float64, and the time of writing, so that no two runs would give the same bytes. The first row
has the names. What does not fit on a sheet goes on on the next; the last sheet has the spec.

Texts are inline strings, so one that begins with "=" is no formula, and is marked so that it stays none when its cell
is edited. A whole number of more than 15 digits is written as text, since a spreadsheet would round it.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
import pyarrow.types as pat

from neardup.errors import OutputError
from neardup.inputs.columnar.xlsx import SPEC_SHEET
from neardup.outputs.sink import Sink

MOST_ROWS = 1_048_576
"""Of a sheet, the names among them."""
MOST_CHARACTERS = 32_767
"""Of a cell, as UTF-16 has them."""
_EXACT = 10**15
_ROWS = 1 << 14
"""Rows that are Python values at a time."""
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""When all parts were made: the same table gives the same bytes."""
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\r\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
"""What XML cannot hold or would change, and what would be read as one of these."""
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PLAIN, _NAME, _NO_FORMULA, _FRACTION = "", ' s="1"', ' s="2"', ' s="3"'
_WIDE, _MIDDLE, _NARROW = 60, 28, 12
"""Widths of columns in characters: of texts, of ids and other words, of numbers."""
_TEXTS = frozenset({"text", "text_a", "text_b", "keeper_text", "query_text", "passage"})
_STYLES = (
    f'{_HEAD}<styleSheet xmlns="{_MAIN}"><numFmts count="1">'
    '<numFmt numFmtId="164" formatCode="0.0000"/></numFmts>'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2">'
    '<fill><patternFill patternType="none"/>'
    '</fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>'
    '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="4"><xf xfId="0"/>'
    '<xf fontId="1" applyFont="1" xfId="0"/><xf quotePrefix="1" xfId="0"/>'
    '<xf numFmtId="164" applyNumberFormat="1" xfId="0"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
_FROZEN = (
    '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" '
    'state="frozen"/></sheetView></sheetViews>'
)


def write_xlsx(schema: pa.Schema, batches: Iterable[pa.RecordBatch], stream: BinaryIO, spec: dict[str, Any]) -> None:
    """Write a table that may come as a stream.

    Raises:
        OutputError: a text is longer than a cell may be; the message has its column and row.
        TypeError: a column is neither text, number nor boolean.
    """
    rows = _rows(schema, batches)
    sheets: list[str] = []
    with zipfile.ZipFile(Sink(stream), "w", zipfile.ZIP_DEFLATED) as package:
        row = next(rows, None)
        while row is not None or not sheets:
            sheets.append("table" if not sheets else f"table {len(sheets) + 1}")
            with package.open(_part(_sheet(len(sheets))), "w", force_zip64=True) as out:
                out.write(f'{_HEAD}<worksheet xmlns="{_MAIN}">{_FROZEN}{_widths(schema)}<sheetData>'.encode())
                out.write(f"<row>{''.join(_text(name, _NAME) for name in schema.names)}</row>".encode())
                count = 1
                while row is not None and count < MOST_ROWS:
                    out.write(row)
                    row, count = next(rows, None), count + 1
                out.write(f'</sheetData><autoFilter ref="A1:{_letters(len(schema))}{count}"/></worksheet>'.encode())
        sheets.append(SPEC_SHEET)
        told = "".join(
            f"<row>{_text(key, _NAME)}{_text(json.dumps(value))}</row>" for key, value in sorted(spec.items())
        )
        _put(package, _sheet(len(sheets)), f'<worksheet xmlns="{_MAIN}"><sheetData>{told}</sheetData></worksheet>')
        _finish(package, sheets)


def _widths(schema: pa.Schema) -> str:
    """The widths of the columns, which are shown and change no value."""
    widths = []
    for field in schema:
        is_number = pat.is_integer(field.type) or pat.is_floating(field.type) or pat.is_boolean(field.type)
        widths.append(_WIDE if field.name in _TEXTS else _NARROW if is_number else _MIDDLE)
    listed = "".join(f'<col min="{i}" max="{i}" width="{width}" customWidth="1"/>' for i, width in enumerate(widths, 1))
    return f"<cols>{listed}</cols>"


def _letters(column: int) -> str:
    """The name of a column, from 1 on: A, B, …, Z, AA."""
    return (_letters((column - 1) // 26) if column > 26 else "") + chr(ord("A") + (column - 1) % 26)


def _rows(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    for field in schema:
        kind = field.type.value_type if pat.is_dictionary(field.type) else field.type
        is_text = pat.is_string(kind) or pat.is_large_string(kind) or kind == pa.string_view()
        if not (is_text or pat.is_integer(kind) or pat.is_floating(kind) or pat.is_boolean(kind) or pat.is_null(kind)):
            raise TypeError(f"a column of type {kind} cannot be written as cells")
    number = 1
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            columns = [column.to_pylist() for column in batch.slice(start, _ROWS).columns]
            for values in zip(*columns, strict=True):
                number += 1
                yield f"<row>{''.join(map(_cell, values, schema.names, [number] * len(values)))}</row>".encode()


def _cell(value: Any, column: str, row: int) -> str:
    if value is None or value != value or value in (float("inf"), -float("inf")):
        return "<c/>"
    if isinstance(value, str):
        if len(value) > MOST_CHARACTERS // 2 and (size := len(value.encode("utf-16-le")) // 2) > MOST_CHARACTERS:
            raise OutputError(
                f"row {row - 1:,} of the table has {size:,} characters as {column!r}, and a cell of .xlsx holds "
                f"{MOST_CHARACTERS:,}. Give a name that ends in .csv, .jsonl or .parquet."
            )
        return _text(value, _NO_FORMULA if value[:1] in ("=", "+", "-", "@", "'") else _PLAIN)
    if isinstance(value, bool):
        return f'<c t="b"><v>{value:d}</v></c>'
    if isinstance(value, float):  # shown with four places, kept with all
        return f"<c{_FRACTION}><v>{value!r}</v></c>"
    return _text(str(value)) if abs(value) >= _EXACT else f"<c><v>{value!r}</v></c>"


def _text(value: str, style: str = _PLAIN) -> str:
    safe = escape(_UNSAFE.sub(lambda found: f"_x{ord(found[0]):04X}_", value))
    return f'<c t="inlineStr"{style}><is><t xml:space="preserve">{safe}</t></is></c>'


def _sheet(number: int) -> str:
    return f"xl/worksheets/sheet{number}.xml"


def _part(name: str) -> zipfile.ZipInfo:
    part = zipfile.ZipInfo(name, _LONG_AGO)
    part.compress_type = zipfile.ZIP_DEFLATED
    return part


def _put(package: zipfile.ZipFile, name: str, xml: str) -> None:
    package.writestr(_part(name), xml if xml.startswith("<?xml") else _HEAD + xml)


def _finish(package: zipfile.ZipFile, sheets: list[str]) -> None:
    """Write the parts that say what the others are."""
    numbered = list(enumerate(sheets, start=1))
    listed = "".join(f'<sheet name={quoteattr(name)} sheetId="{i}" r:id="rId{i}"/>' for i, name in numbered)
    related = "".join(
        f'<Relationship Id="rId{i}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i, _ in numbered
    )
    kinds = "".join(f'<Override PartName="/{_sheet(i)}" ContentType="{_KIND}.worksheet+xml"/>' for i, _ in numbered)
    _put(package, "xl/styles.xml", _STYLES)
    _put(
        package,
        "xl/workbook.xml",
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
    )
    _put(
        package,
        "xl/_rels/workbook.xml.rels",
        f'<Relationships xmlns="{_PACKAGE}/relationships">{related}<Relationship Id="rId{len(sheets) + 1}" '
        f'Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
    )
    _put(
        package,
        "_rels/.rels",
        f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
    )
    _put(
        package,
        "[Content_Types].xml",
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_KIND}.styles+xml"/>{kinds}</Types>',
    )
