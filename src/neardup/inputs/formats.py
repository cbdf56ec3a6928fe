"""The formats that are read, in one table: the suffixes of each, and the class that reads it.

A new format is a line here and a module. Its class is a ``source.Source``: what has named columns extends
``columnar.source.ColumnarFile``, what has lines ``blocks.LineSource``.
A new kind of document, each file one text, is a line in ``DOCUMENTS`` and a module with ``load(path)``. What can be
asked for stands in ``params.INPUT_FORMATS`` too; clean copies of a new format are made in ``tasks.rewrite``.

Nothing is imported for the table, so that the command line and the children that read documents can ask it.
"""

from __future__ import annotations

import codecs
import difflib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from neardup.errors import InputError, did_you_mean


@dataclass(frozen=True, slots=True)
class Format:
    """One format that ``input_format`` may name."""

    source: str
    """Module and class, below ``neardup.inputs``."""
    suffixes: tuple[str, ...] = ()
    """In small letters."""

    def load(self) -> Any:
        """The class of its sources."""
        module, _, name = self.source.partition(":")
        return getattr(import_module(f"neardup.inputs.{module}"), name)


FORMATS = {
    "jsonl": Format("text.jsonl:JsonlSource", (".jsonl", ".ndjson", ".json")),
    "csv": Format("text.delimited:DelimitedSource", (".csv",)),
    "tsv": Format("text.delimited:TsvSource", (".tsv", ".tab")),
    "parquet": Format("columnar.parquet:ParquetSource", (".parquet", ".pq")),
    "arrow": Format("columnar.ipc:IpcSource", (".arrow", ".feather", ".ipc")),
    "xlsx": Format("columnar.xlsx:XlsxSource", (".xlsx",)),
    "warc": Format("warc:WarcSource", (".warc", ".wet")),
    "text": Format("folder:FilesSource", (".txt", ".md")),
    "lines": Format("text.lines:LinesSource"),
}

DOCUMENT = "document"
"""Format of documents such as PDFs, each kind by its suffix; not one of FORMATS, since it cannot be asked for."""
DOCUMENTS = {
    ".docx": "docx",
    ".odt": "odt",
    ".pdf": "pdf",
    ".epub": "epub",
    ".rtf": "rtf",
    ".html": "webpage",
    ".htm": "webpage",
    ".xhtml": "webpage",
    ".eml": "mail",
}
"""The module below ``inputs.documents`` for each suffix."""
DATASET = "dataset"
"""Format of a folder that the library ``datasets`` wrote; it cannot be asked for either."""
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz", ".lz4": "lz4"}
"""Suffixes behind which the bytes of a file are compressed, and how."""

ARCHIVE = "archive"
"""Format of files that hold other files; it cannot be asked for either."""
MAIL = (".eml", ".mbox")
"""Suffixes of archives of messages. A message of which only its own text is read is a document and no archive."""
_TARS = {".tgz": "gzip", ".tbz2": "bz2", ".tbz": "bz2", ".txz": "xz", ".tzst": "zstd"}
ARCHIVES: dict[str, str | None] = dict.fromkeys((*MAIL, ".zip", ".tar")) | _TARS
"""Their suffixes, and how a tar is compressed beside what a suffix of COMPRESSIONS behind it says."""

SUFFIXES = {
    **{suffix: name for name, format in FORMATS.items() for suffix in format.suffixes},
    **dict.fromkeys(DOCUMENTS, DOCUMENT),
    **dict.fromkeys(ARCHIVES, ARCHIVE),
}
"""The format of each suffix that tells one."""
_SHORT, _NEAR = 4, 0.8
_ENCODINGS = ("utf-8", "latin-1", "cp1252", "ascii", "utf-16", "shift_jis", "gb18030", "big5", "koi8-r")
"""Common ones, for who mistypes."""
_NO_TEXTS = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
"""Python's codecs for names and for its own literals. They fail at most texts; punycode takes quadratic time."""


def stored_codec(path: str | Path) -> Any:
    """How the bytes of a file are compressed by its name: one of COMPRESSIONS, or None."""
    return COMPRESSIONS.get(Path(path).suffix.lower())


def archive_codec(path: str) -> Any:
    """How a tar is compressed by its name; None: it is not, or is no tar."""
    return stored_codec(path) or ARCHIVES.get(Path(path).suffix.lower())


def bare_suffix(path: str) -> str:
    """The suffix, in small letters, under that of a compression."""
    bare = Path(path).with_suffix("") if stored_codec(path) else Path(path)
    return bare.suffix.lower()


def suffix_format(path: str) -> str | None:
    """The format that the name of a file stands for: one of INPUT_FORMATS, DOCUMENT or None."""
    return SUFFIXES.get(bare_suffix(path))


def near_suffix(suffix: str) -> str:
    """`` Did you mean '.jsonl'?`` for a suffix that somebody mistyped; nothing for one of another kind of file.

    Short suffixes are all near to each other: ``.zip`` to ``.ipc``. So one letter may be wrong only where there are
    four and more; or the letters are in another order.
    """
    near = next((known for known in SUFFIXES if sorted(known) == sorted(suffix)), None)
    if near is None and len(suffix) > _SHORT:
        found = difflib.get_close_matches(suffix, SUFFIXES, n=1, cutoff=_NEAR)
        near = found[0] if found else None
    return f" Did you mean {near!r}?" if near else ""


def text_codec(encoding: str) -> str:
    """Return Python's name of a text encoding; "utf-8" for all spellings of UTF-8.

    Raises:
        InputError: there is no such text encoding.
    """
    try:
        info = codecs.lookup(encoding)
    except (LookupError, ValueError) as exc:  # a NUL in the name is a ValueError
        cure = did_you_mean(encoding, _ENCODINGS) or " Try utf-8 or latin-1."
        raise InputError(f"{encoding!r} is no encoding that Python knows.{cure}") from exc
    is_text = getattr(info, "_is_text_encoding", True) and info.name not in _NO_TEXTS
    if not is_text or info.incrementaldecoder is None:
        raise InputError(f"{encoding!r} is not an encoding of text files. Try utf-8 or latin-1.")
    return "utf-8" if info.name in ("utf-8", "utf-8-sig") else info.name
