"""PDF files: the text of each page, as its program wrote it.

A PDF knows places of characters, not words: PDFium puts together words and lines, and writes ligatures as letters. The
lines of a paragraph are joined here: their breaks come from the width of the page, not from the text. Hyphens at the
ends of lines stay, and so do page numbers and running heads; what was filled into the fields of a form is not read.
PDFium must not be used by two threads at once: PDFs are read at the same time in processes of their own (``readers``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pypdfium2
from pypdfium2 import raw

from neardup.inputs.documents import MOST_BYTES, Unreadable, damaged, protected, too_large
from neardup.inputs.documents.package import read_stored

_MARK = b"%PDF-"
_MARK_WITHIN = 1024
_END = b"%%EOF"
_END_WITHIN = 1 << 16
"""Bytes at the end in which the end mark is; old programs append a few bytes after it."""
_PROTECTED = (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)
_AS_TEXT = {0xFFFE: "-", 0x0D: "", 0xFFFF: ""}
"""PDFium's mark for a hyphen at the end of a line, half of its line ends, and what it could not name."""
_FULL_LINE = 0.75
"""A line of less than this share of the full ones of its page ends a paragraph, or is a title or a row of a table."""
_LEAST_FULL = 40
"""Characters of full lines; a page of shorter ones is a list, a slide or a poem, and its lines stay."""


def load(path: str) -> list[str]:
    """The text of each page."""
    data = read_stored(path)
    _check_whole(data)
    pages: list[str] = []
    size = 0
    for page in _pages(data):
        pages.append(_joined(page.translate(_AS_TEXT)))
        size += len(page)
        if size > MOST_BYTES:
            raise too_large()
    if not any(map(str.strip, pages)):
        count = f"{len(pages):,} pages" if len(pages) > 1 else "its page"
        raise Unreadable(
            f"there is no text on {count}, only pictures or nothing; perhaps it was scanned",
            "Make its text readable by OCR, for example with ocrmypdf, or leave it out.",
        )
    return pages


def _check_whole(data: bytes) -> None:
    """Raise for a file that was cut short: PDFium would mend it, and give the text of some of its pages."""
    if _MARK not in data[:_MARK_WITHIN]:
        raise damaged("it does not begin as a PDF does")
    if _END not in data[-_END_WITHIN:]:
        raise damaged("the mark at the end of a PDF is missing, so it was cut short")


def _pages(data: bytes) -> Iterator[str]:
    """Yield the text of each page; all that PDFium holds is released page by page, in the order that it asks for."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as exc:
        if getattr(exc, "err_code", None) in _PROTECTED:
            raise protected() from exc
        raise damaged("no pages can be found in it") from exc
    with closing(document):
        for number in range(len(document)):
            try:
                page = document[number]
            except pypdfium2.PdfiumError as exc:
                raise damaged(f"page {number + 1:,} of {len(document):,} cannot be read") from exc
            with closing(page):
                yield _page_text(page)


def _page_text(page: pypdfium2.PdfPage) -> str:
    try:
        found = page.get_textpage()
    except pypdfium2.PdfiumError as exc:
        raise damaged(str(exc)) from exc
    try:
        # not get_text_bounded, which joins the cells of tables: of 1|2|3 it makes 123
        return str(found.get_text_range())
    except AssertionError as exc:  # its own check of what PDFium said
        raise damaged("the text of a page is not as long as it says") from exc
    finally:
        found.close()


def _joined(page: str) -> str:
    """The lines of a page with those of one paragraph as one."""
    lines = [line for line in (line.strip() for line in page.split("\n")) if line]
    full = sorted(map(len, lines))[3 * len(lines) // 4] if lines else 0
    enough = _FULL_LINE * max(full, _LEAST_FULL)
    return "".join(line + (" " if len(line) >= enough else "\n") for line in lines).rstrip()
