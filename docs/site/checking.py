"""What is wrong with a built site: links that lead nowhere, pages that nobody finds, things loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

HOME = "index.html"
CLICKS = 2
"""From the first page to any other, at most, by links in the text: the navigation does not count."""
NOT_READ = ("search.html",)
"""Pages that are reached in another way."""
_LOADED = {
    "script": ("src",), "link": ("href",), "img": ("src", "srcset"), "source": ("src", "srcset"), "iframe": ("src",),
    "video": ("src", "poster"), "audio": ("src",), "embed": ("src",), "object": ("data",), "input": ("src",),
    "image": ("href", "xlink:href"), "use": ("href", "xlink:href"),
}  # fmt: skip
_NOT_LOADED = {"search", "next", "prev", "index", "canonical", "author", "license", "help"}
"""Kinds of ``<link>`` that a browser does not load."""
_IN_STYLE = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])([^"')\s]+)""")


class Page(HTMLParser):
    """The ids of a page, where its links lead, which of them stand in its text, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.text_links: list[str] = []
        self.loaded: list[str] = []
        self._articles = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        given = {name: value for name, value in attrs if value is not None}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        self._articles += tag == "article"
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
            self.text_links += [given["href"]] if self._articles else []
        if not (tag == "link" and _NOT_LOADED & set(given.get("rel", "").split())):
            self.loaded += [given[name] for name in _LOADED.get(tag, ()) if name in given]
        self.loaded += _IN_STYLE.findall(given.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        """Take note of the end of the text."""
        self._articles -= tag == "article"


def faults_of(folder: Path) -> list[str]:
    """What is wrong with the site in a folder, a line each; empty when nothing is."""
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    pages = {
        name: Page((folder / name).read_text(encoding="utf-8")) for name in sorted(files) if name.endswith(".html")
    }
    styles = {name: (folder / name).read_text(encoding="utf-8") for name in sorted(files) if name.endswith(".css")}
    return [
        *_dead_links(pages, files),
        *(fault for name, page in pages.items() for fault in _loads(name, page.loaded, files)),
        *(fault for name, style in styles.items() for fault in _loads(name, _IN_STYLE.findall(style), files)),
        *_far_pages(pages),
    ]


def _dead_links(pages: dict[str, Page], files: set[str]) -> Iterator[str]:
    for name, page in pages.items():
        for link in dict.fromkeys(page.links):
            if urlsplit(link).scheme:
                continue
            there, anchor = _target(name, link)
            if there not in files:
                yield f"{name}: the link {link} leads to no file"
            elif anchor and there in pages and anchor not in pages[there].ids:
                yield f"{name}: the link {link} leads to no place of that page"


def _loads(name: str, loaded: Iterable[str], files: set[str]) -> Iterator[str]:
    for address in dict.fromkeys(loaded):
        parts = urlsplit(address)
        if parts.scheme == "data" or address.startswith("#"):
            continue
        if parts.scheme or parts.netloc:
            yield f"{name}: loads {address}, which asks the network"
        elif _target(name, address)[0] not in files:
            yield f"{name}: loads {address}, which is not there"


def _far_pages(pages: dict[str, Page]) -> Iterator[str]:
    reached = {HOME}
    for _ in range(CLICKS):
        reached |= {_target(name, link)[0] for name in reached & set(pages) for link in pages[name].text_links}
    for name in sorted(set(pages) - reached - set(NOT_READ)):
        yield f"{name}: more than {CLICKS} clicks from {HOME}"


def _target(page: str, link: str) -> tuple[str, str]:
    """The file that a link of a page leads to, and the place in it."""
    parts = urlsplit(link)
    if not parts.path:
        return page, unquote(parts.fragment)
    pieces: list[str] = []
    for piece in PurePosixPath(page).parent.joinpath(unquote(parts.path)).parts:
        if piece == ".." and pieces and pieces[-1] != "..":
            pieces.pop()
        else:
            pieces.append(piece)
    return "/".join(pieces), unquote(parts.fragment)
