"""Reading XML as a stream of events, safely: no network, no files, no entity that grows.

Nothing is kept of a document but what the target keeps, so memory does not grow with its tags. ``Paragraphs`` puts the
text of office documents in reading order.
"""

from __future__ import annotations

from collections.abc import Iterable

from lxml import etree

from neardup.inputs.documents import damaged


class Events:
    """Takes the events of a document, in order."""

    def start(self, tag: str, attrib: dict[str, str]) -> None: ...
    def end(self, tag: str) -> None: ...
    def data(self, data: str) -> None: ...
    def close(self) -> None: ...


class _Found(Events):
    """Takes the beginnings of elements, and keeps those that have one of some names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.found: list[tuple[str, dict[str, str]]] = []

    def start(self, tag: str, attrib: dict[str, str]) -> None:
        name = tag.rpartition("}")[2]
        if name in self._names:
            self.found.append((name, dict(attrib)))


def elements(part: bytes, *names: str) -> list[tuple[str, dict[str, str]]]:
    """Name and attributes of the elements of a part that have one of some names, without its namespace."""
    target = _Found(names)
    feed([part], target)
    return target.found


def feed(pieces: Iterable[bytes], target: Events, *, encoding: str | None = None) -> None:
    """Send a document through ``target``; Unreadable when it is not well-formed.

    ``encoding`` counts in place of what the document declares.
    """
    # huge_tree stays off: it would lift libxml2's limits of depth and of the growth of entities
    parser = etree.XMLParser(
        target=target,
        encoding=encoding,
        no_network=True,
        load_dtd=False,
        resolve_entities="internal",
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for piece in pieces:
            parser.feed(piece)
        parser.close()
    except etree.LxmlError as exc:
        raise damaged(str(exc)) from exc


def feed_html(pieces: Iterable[bytes], target: Events) -> None:
    """Send an HTML page in UTF-8 through ``target``; whatever is wrong in it is read as browsers do, more or less."""
    parser = etree.HTMLParser(
        target=target,
        encoding="utf-8",
        no_network=True,
        huge_tree=True,  # without it libxml2 2.14 never comes back from a comment of 10 MB; no entity grows in HTML
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for piece in pieces:
            parser.feed(piece)
        parser.close()
    except etree.XMLSyntaxError:
        pass  # nothing but white space and comments: a page without text
    except etree.LxmlError as exc:
        raise damaged(str(exc)) from exc


class Paragraphs:
    """Takes the text of a document as it comes and gives it back a paragraph a line, where some begin inside others.

    What begins inside a paragraph does not cut it in two: a text box follows the paragraph that it is anchored in, and
    notes follow the whole text.
    """

    __slots__ = ("_boxes", "_done", "_notes", "_open", "note_depth")

    def __init__(self) -> None:
        self._done: list[str] = []
        self._boxes: list[str] = []
        self._notes: list[str] = []
        self._open: list[list[str]] = []
        self.note_depth = 0
        """How many notes the next paragraph lies in."""

    @property
    def is_open(self) -> bool:
        """Whether text belongs to a paragraph here."""
        return bool(self._open)

    def begin(self) -> None:
        self._open.append([])

    def add(self, text: str) -> None:
        """Text of the innermost paragraph; what lies in none is no text."""
        if self._open:
            self._open[-1].append(text)

    def ends_blank(self) -> bool:
        """Whether the innermost paragraph is empty so far, or ends in white space."""
        return not self._open or not self._open[-1] or self._open[-1][-1][-1:].isspace()

    def end(self) -> None:
        if not self._open:
            return
        text = "".join(self._open.pop())
        if text.isspace():
            text = ""
        if self.note_depth:
            self._notes.append(text)
        elif self._open:
            self._boxes.append(text)
        else:
            self._done.append(text)
            self._done += self._boxes
            self._boxes.clear()

    def resume(self) -> None:
        """Go on with the paragraph that ended last, as if it had not."""
        kept = self._notes if self.note_depth else self._boxes if self._open else self._done
        self._open.append([kept.pop()] if kept else [])

    def text(self) -> str:
        """All of it."""
        while self._open:
            self.end()
        return "\n".join(line for line in (*self._done, *self._notes) if line and not line.isspace())
