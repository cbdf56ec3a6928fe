"""A look into files that a folder holds: which are no collection of documents, although their suffix is that of one.

Of files that were named, by name or by a pattern, none is left out: what cannot be read of them is an error.
"""

from __future__ import annotations

from importlib.util import find_spec

from neardup.errors import InputError
from neardup.inputs.columns import NoColumn, NoTextColumn, guess_text
from neardup.inputs.formats import FORMATS, bare_suffix, suffix_format
from neardup.inputs.passed import Reason
from neardup.inputs.source import BadRecord, ReadOptions, Source
from neardup.inputs.stream import ByteStream, size_of

_SPEC = b"neardup"
"""Key of the metadata under which a Parquet file of ours has the spec."""
_SKIP = "Or pass over such files of the folder with --on-bad skip (on_bad='skip')."
_SIDE_TABLES = ("csv", "tsv", "xlsx")
"""Formats of lists that lie beside documents; a column is a text there only if its name says so."""


def why_not(source: Source, options: ReadOptions) -> tuple[Reason | None, InputError | None]:
    """Why a file of records that a folder holds is passed over, with the error that reading it would give; else None.

    Raises:
        InputError: it cannot be read, or lacks a column that was asked for, and the run is to fail at what is bad.
    """
    try:
        return _look(source, options)
    except NoColumn:  # the run cannot go by the names that were given
        raise
    except InputError as exc:
        if options.on_bad != "skip":
            raise InputError(f"{exc} {_SKIP}") from exc
        return "damaged", exc


def _look(source: Source, options: ReadOptions) -> tuple[Reason | None, InputError | None]:
    """As ``why_not``; InputError for a file that cannot be read, whatever the run is to do."""
    if source.total_bytes == 0 and source.format in ("jsonl", "csv", "tsv"):
        return None, None  # it has no records
    is_file = source.paths == [source.name]
    if bare_suffix(source.name) == ".json":
        with source.opened() as stream:
            if not _is_lines(stream):
                return "no records", None
    if is_file and source.format in ("parquet", "xlsx") and is_own_table(source.name):
        return "written by neardup", None
    if source.format == "xlsx" and find_spec("openpyxl") is None:
        return "needs openpyxl", None
    if source.format == "warc" and find_spec("warcio") is None:
        return "needs warcio", None
    try:
        read = source.looked_at
    except NoTextColumn as exc:
        if options.text is not None and options.on_bad != "skip":
            raise NoTextColumn(f"{exc} {_SKIP}") from exc
        return "no text column", exc
    if options.text is None and source.format in _SIDE_TABLES and (read is None or guess_text(read.text) is None):
        error = NoTextColumn(
            f"{source.name}: no column is named like a text, and a table that lies in a folder may be about something "
            "else. Name the column with --text COLUMN (text=), or its number, from 1."
        )
        return "no text column", error
    return None, None


def holds_texts(path: str) -> bool:
    """Whether a file would be read where its folder is, as far as its contents decide."""
    format = suffix_format(path)
    if format is None or format not in FORMATS or format == "text":
        return True
    options = ReadOptions(on_bad="skip")
    try:
        return why_not(FORMATS[format].load()(path, options, total_bytes=size_of(path)), options)[0] is None
    except InputError:
        return True


def is_own_table(path: str) -> bool:
    """Whether a file is a Parquet table or a spreadsheet that neardup has written, such as pairs."""
    if bare_suffix(path) == ".xlsx":
        from neardup.inputs.columnar.xlsx import look_into

        sheet = look_into(path)
        return sheet is not None and sheet.is_ours
    if bare_suffix(path) not in (".parquet", ".pq"):
        return False
    import pyarrow as pa
    import pyarrow.parquet as pq

    from neardup.inputs.columnar.parquet import arrow_file

    try:
        return _SPEC in (pq.read_schema(arrow_file(path)).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def _is_lines(stream: ByteStream) -> bool:
    """Whether a ``.json`` file holds an object a line, as far as its beginning tells."""
    from neardup.inputs.text.jsonl import parse_object

    line, newline, _ = stream.peek().removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    is_whole = bool(newline) or not stream.goes_on
    if not line:
        return True  # it is empty
    if not is_whole:
        return line.startswith(b"{")
    try:
        parse_object(line, "utf-8")
    except BadRecord:
        return False
    return True
