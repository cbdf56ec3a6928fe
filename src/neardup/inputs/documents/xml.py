"""Reading XML as a stream of events, safely: no network, no files, no entity that grows.

Nothing is kept of a document but what the target keeps, so memory does not grow with its tags.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from lxml import etree

from neardup.inputs.documents.unreadable import damaged

__all__ = ["Events", "Starts", "feed", "feed_html"]


class Events(Protocol):
    """What takes the events of a document, in order."""

    def start(self, tag: str, attrib: dict[str, str]) -> None: ...
    def end(self, tag: str) -> None: ...
    def data(self, data: str) -> None: ...
    def close(self) -> object: ...


class Starts:
    """What takes the beginnings of elements, which say all, and passes over the rest."""

    def end(self, tag: str) -> None:
        """An element ends."""

    def data(self, data: str) -> None:
        """Text between elements."""

    def close(self) -> None:
        """The document ends; all was taken as it came."""


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
