"""Word documents (.docx): the body with its tables in order, then footnotes and endnotes.

Inserted text counts and deleted text does not, whoever tracked the changes. Text boxes follow the paragraph that they
are anchored in. Left out: headers and footers, which repeat, comments, and the code of fields (their results stay).
"""

from __future__ import annotations

import posixpath

from neardup.inputs.documents import damaged
from neardup.inputs.documents.package import Package
from neardup.inputs.documents.xml import Events, Paragraphs, elements, feed

_OPEN, _STRICT = "http://schemas.openxmlformats.org", "http://purl.oclc.org/ooxml"
_WORD = (f"{_OPEN}/wordprocessingml/2006/main", f"{_STRICT}/wordprocessingml/main")
_MATHS = (f"{_OPEN}/officeDocument/2006/math", f"{_STRICT}/officeDocument/math")
_COMPATIBILITY = (f"{_OPEN}/markup-compatibility/2006",)
_MAIN = "word/document.xml"


def _tags(namespaces: tuple[str, ...], *names: str) -> frozenset[str]:
    return frozenset(f"{{{namespace}}}{name}" for namespace in namespaces for name in names)


_PARAGRAPH = _tags(_WORD, "p")
_TEXT = _tags(_WORD, "t") | _tags(_MATHS, "t")
_PROPERTIES = _tags(_WORD, "pPr")
_FRAME = _tags(_WORD, "framePr")
_DROPPED_CAPITAL = tuple(f"{{{namespace}}}dropCap" for namespace in _WORD)
_GONE = _tags(_WORD, "del", "moveFrom")
# Fallback repeats a text box for older programs; rt is the small print over East Asian characters
_SKIPPED = _GONE | _tags(_WORD, "rt") | _tags(_COMPATIBILITY, "Fallback")
_AS_TEXT = {
    **dict.fromkeys(_tags(_WORD, "tab", "ptab"), "\t"),
    **dict.fromkeys(_tags(_WORD, "br", "cr"), "\n"),
    **dict.fromkeys(_tags(_WORD, "noBreakHyphen"), "-"),
}


def load(path: str) -> str:
    body = _Body()
    with Package(path) as package:
        main = _main_part(package)
        feed(package.pieces(main), body)
        body.paragraphs.note_depth = 1
        parts = dict(_relations(package, main))
        for kind in ("footnotes", "endnotes"):
            if parts.get(kind) in package.names:
                feed(package.pieces(parts[kind]), body)
    return body.paragraphs.text()


def _main_part(package: Package) -> str:
    """Name of the part that holds the body."""
    named = [target for kind, target in _relations(package, "") if kind == "officeDocument"]
    main = next((name for name in [*named, _MAIN] if name in package.names), None)
    if main is None:
        raise damaged("there is no text of a Word document in it")
    return main


def _relations(package: Package, part: str) -> list[tuple[str, str]]:
    """Kind and name of the parts that a part, or the package, refers to."""
    folder, name = posixpath.split(part)
    path = posixpath.join(folder, "_rels", f"{name}.rels")
    if path not in package.names:
        return []
    found = []
    for _, attributes in elements(package.part(path), "Relationship"):
        if attributes.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", "")))
            found.append((posixpath.basename(attributes.get("Type", "")), target.lstrip("/")))
    return found


class _Body(Events):
    """Takes the events of the body, and then of the notes."""

    def __init__(self) -> None:
        self.paragraphs = Paragraphs()
        self._skipped = 0
        self._in_text = False
        self._in_properties = False
        self._mark_is_gone = False
        self._goes_on = False

    def start(self, tag: str, attrib: dict[str, str]) -> None:
        if tag in _SKIPPED:
            self._skipped += 1
            self._mark_is_gone |= self._in_properties and tag in _GONE
        elif self._skipped:
            return
        elif tag in _TEXT:
            self._in_text = True
        elif tag in _PARAGRAPH:
            if self._goes_on:
                self.paragraphs.resume()
            else:
                self.paragraphs.begin()
            self._goes_on = False
        elif tag in _PROPERTIES:
            self._in_properties = True
        elif tag in _FRAME:  # a large first letter is a paragraph by itself
            self._mark_is_gone |= any(attrib.get(name, "none") != "none" for name in _DROPPED_CAPITAL)
        elif tag in _AS_TEXT and not self._in_properties:  # there, a tab is the place of a tab stop
            self.paragraphs.add(_AS_TEXT[tag])

    def end(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipped -= 1
        elif self._skipped:
            return
        elif tag in _TEXT:
            self._in_text = False
        elif tag in _PROPERTIES:
            self._in_properties = False
        elif tag in _PARAGRAPH:
            self.paragraphs.end()
            self._goes_on, self._mark_is_gone = self._mark_is_gone, False

    def data(self, data: str) -> None:
        if self._in_text and not self._skipped:
            self.paragraphs.add(data)

    def close(self) -> None:
        self._goes_on = False
