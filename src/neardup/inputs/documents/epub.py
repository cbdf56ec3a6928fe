"""E-books (.epub): the chapters in the order of reading, without the page of navigation.

What is not in the order of reading is no text of the book. Books whose chapters are encrypted (DRM) are refused; fonts
may be obfuscated, which says nothing of the text.
"""

from __future__ import annotations

import posixpath
from urllib.parse import unquote, urlsplit

from neardup.inputs.documents import Unreadable, damaged
from neardup.inputs.documents.package import Package
from neardup.inputs.documents.webpage import decoded, page_text
from neardup.inputs.documents.xml import elements

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/xml", "text/xml")
_SUFFIXES = (".xhtml", ".html", ".htm", ".xml")


def load(path: str) -> str:
    with Package(path) as package:
        protected = set[str]()
        if _ENCRYPTION in package.names:
            found = elements(package.part(_ENCRYPTION), "CipherReference")
            protected.update(_path("", attributes.get("URI", "")) for _, attributes in found)
        chapters = _reading_order(package)
        if protected.intersection(chapters):
            raise Unreadable(
                "it is protected against copying (DRM), so its text cannot be read",
                "Take an edition without protection, or leave it out.",
            )
        pages = [page_text(decoded(b"".join(package.pieces(name))), is_xml=True) for name in chapters]
    return "\n".join(page for page in pages if page)


def _reading_order(package: Package) -> list[str]:
    container = elements(package.part(_CONTAINER), "rootfile")
    root = next((attributes["full-path"] for _, attributes in container if "full-path" in attributes), None)
    if root is None:
        raise damaged("it does not say where its text begins")
    book = elements(package.part(root), "item", "itemref")
    folder = posixpath.dirname(root)
    items = {attributes.get("id"): attributes for tag, attributes in book if tag == "item"}
    chapters: dict[str, None] = {}  # a chapter is read once, however often it is named
    for tag, attributes in book:
        if tag != "itemref":
            continue
        item = items.get(attributes.get("idref"))
        if item is None:
            raise damaged(f"its order of reading names {attributes.get('idref')!r}, which is not in its list of parts")
        if "nav" in item.get("properties", "").split():
            continue
        name = _path(folder, item.get("href", ""))
        if item.get("media-type", "") in _PAGES or name.lower().endswith(_SUFFIXES):
            chapters[name] = None
    if not chapters:
        raise damaged("its order of reading has no pages")
    return list(chapters)


def _path(folder: str, reference: str) -> str:
    """The part that a reference in a file of ``folder`` means."""
    path = posixpath.join("/", folder, unquote(urlsplit(reference).path))
    return posixpath.normpath(path).lstrip("/")
