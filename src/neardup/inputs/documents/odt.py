"""OpenDocument texts (.odt): paragraphs, headings, lists and tables in order, then footnotes and endnotes.

Deleted text that is tracked does not count, and text boxes follow the paragraph that they are anchored in. Left out:
headers and footers, which repeat, comments, and the templates of indexes (the indexes themselves stay).
"""

from __future__ import annotations

import re

from neardup.inputs.documents import protected
from neardup.inputs.documents.package import Package
from neardup.inputs.documents.xml import Events, Paragraphs, elements, feed

_CONTENT = "content.xml"
_MANIFEST = "META-INF/manifest.xml"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_MATHS = "{http://www.w3.org/1998/Math/MathML}"

_PARAGRAPH = frozenset((f"{_TEXT}p", f"{_TEXT}h"))
_NOTE = f"{_TEXT}note-body"
_SPACES = f"{_TEXT}s"
_COUNT = f"{_TEXT}c"
_AS_TEXT = {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}
_SKIPPED = frozenset(
    (
        *(f"{_TEXT}{name}" for name in ("tracked-changes", "note-citation", "ruby-text", "script")),
        *(f"{_TEXT}{name}-index-source" for name in ("alphabetical", "illustration", "object", "table", "user")),
        *(f"{_TEXT}{name}-source" for name in ("bibliography", "table-of-content")),
        *(f"{_OFFICE}{name}" for name in ("annotation", "binary-data", "forms", "scripts")),
        *(f"{_SVG}{name}" for name in ("title", "desc")),
        f"{_MATHS}annotation",
    )
)
_WHITE = re.compile(r"[ \t\r\n]+")
_MOST_SPACES = 1000
"""Spaces that one mark stands for at most, so that a small file does not become a large text."""


def load(path: str) -> str:
    body = _Body()
    with Package(path) as package:
        if _MANIFEST in package.names and elements(package.part(_MANIFEST), "encryption-data"):
            raise protected()
        feed(package.pieces(_CONTENT), body)
    return body.paragraphs.text()


class _Body(Events):
    def __init__(self) -> None:
        self.paragraphs = Paragraphs()
        self._skipped = 0

    def start(self, tag: str, attrib: dict[str, str]) -> None:
        if tag in _SKIPPED:
            self._skipped += 1
        elif self._skipped:
            return
        elif tag in _PARAGRAPH:
            self.paragraphs.begin()
        elif tag == _SPACES:
            count = attrib.get(_COUNT, "1")
            self.paragraphs.add(" " * min(int(count) if count.isdecimal() else 1, _MOST_SPACES))
        elif tag in _AS_TEXT:
            self.paragraphs.add(_AS_TEXT[tag])
        elif tag == _NOTE:
            self.paragraphs.note_depth += 1

    def end(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipped -= 1
        elif self._skipped:
            return
        elif tag in _PARAGRAPH:
            self.paragraphs.end()
        elif tag == _NOTE:
            self.paragraphs.note_depth -= 1

    def data(self, data: str) -> None:
        if self._skipped or not self.paragraphs.is_open:
            return
        text = _WHITE.sub(" ", data)  # as XML is laid out; spaces that count are written as elements
        if text[0] == " " and self.paragraphs.ends_blank():
            text = text[1:]
        if text:
            self.paragraphs.add(text)
