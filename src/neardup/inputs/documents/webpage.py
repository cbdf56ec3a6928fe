"""Web pages (.html, .htm, .xhtml): what a reader sees, a block a line.

Left out: titles, scripts, styles, templates, and what browsers without scripts would show. Style sheets are not looked
at, so text that they hide counts. The title is left out because it stands in the window's frame, not on the page.
"""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterator

from lxml import etree

from neardup.errors import InputError
from neardup.inputs.documents import Unreadable, damaged
from neardup.inputs.documents.package import read_stored
from neardup.inputs.documents.xml import Events, feed, feed_html
from neardup.inputs.formats import text_codec

_SKIPPED = frozenset(("head", "iframe", "noframes", "noscript", "script", "style", "template", "title"))
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "dir"),
        *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4"),
        *("h5", "h6", "header", "hgroup", "hr", "html", "legend", "li", "listing", "main", "menu", "nav", "ol"),
        *("optgroup", "option", "p", "plaintext", "pre", "search", "section", "select", "summary", "table", "tbody"),
        *("textarea", "tfoot", "thead", "tr", "ul", "xmp", "br"),
    )
)
_CELLS = frozenset(("td", "th"))
_XHTML = "{http://www.w3.org/1999/xhtml}"
_VERBATIM = frozenset(
    space + name for space in ("", _XHTML) for name in ("pre", "textarea", "listing", "xmp", "plaintext")
)
_SKIP = ""
_MARKS = {
    space + name: mark
    for space in ("", _XHTML)
    for names, mark in ((_SKIPPED, _SKIP), (_BLOCKS, "\n"), (_CELLS, "\t"))
    for name in names
}
"""What stands in the text for the beginning and the end of an element; an empty string: all of it is left out."""
_WHITE = " \t\r\n\f"
_RUNS = re.compile(r"[\t\r\n\f][ \t\r\n\f]*| [ \t\r\n\f]+")

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(
    rb"""<meta\s[^>]*?charset\s*=\s*["']?\s*([\w:.-]+)|^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w:.-]+)""", re.I
)
_DECLARED_WITHIN = 4096
"""Bytes in which a page may say its encoding; browsers look at the first 1,024, some pages say it later."""
_ALIASES = {
    **dict.fromkeys(("ascii", "iso8859-1"), "cp1252"),  # the standard of HTML reads these as their larger kin
    **dict.fromkeys(("iso8859-9",), "cp1254"),
    **dict.fromkeys(("gb2312",), "gbk"),
    **dict.fromkeys(("euc_kr",), "cp949"),
    **dict.fromkeys(("shift_jis",), "cp932"),
    **dict.fromkeys(("utf-16", "utf-16-le", "utf-16-be"), "utf-8"),  # it could not have been read so far
}
_CODECS = re.compile(r"utf-8|iso8859|iso2022|cp\d|koi8|mac|gb|big5|shift_jis|euc|johab|hz|tis|kz1048|ptcp154|latin")
"""Beginnings of the encodings of pages; Python has others that are no alphabets, such as punycode."""

_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,31};")
_PIECE = 1 << 18
_MOST_CHARACTERS = 4 << 20
"""Of a page: jusText holds all of it as a tree, and its parser has no way out of a comment of more than 10 MB."""


def load(path: str, *, encoding: str, boilerplate: str) -> str:
    """The text of a web page; the arguments are as for ``read_document``."""
    return text_of(decoded(read_stored(path), encoding), boilerplate)


def text_of(page: str, boilerplate: str) -> str:
    """Return the text of a page, with its boilerplate or without."""
    if boilerplate == "keep":
        return page_text(page, is_xml=page.lstrip().startswith("<?xml"))
    text = _running_text(page)
    if not text and page_text(page, is_xml=False):
        raise Unreadable("nothing is left of it without boilerplate", "Read it with --boilerplate keep.")
    return text


def _running_text(page: str) -> str:
    """The blocks that are no menus, headers, footers or lists of links, a line each.

    jusText judges each block by its length, its share of links and its neighbours. It is used without its lists of
    common words, which would throw away pages of any language but the one that was named.
    """
    import justext

    if len(page) > _MOST_CHARACTERS:
        raise Unreadable(
            f"it has {len(page):,} characters, and boilerplate is taken out of pages of {_MOST_CHARACTERS:,} at most",
            "Read it with --boilerplate keep.",
        )
    try:
        blocks = justext.justext(
            page.encode("utf-8", "replace"), (), encoding="utf-8", stopwords_low=0, stopwords_high=0
        )
    except etree.ParserError:  # nothing but white space and comments
        return ""
    except (etree.LxmlError, ValueError, AssertionError) as exc:
        raise damaged(str(exc)) from exc
    except RecursionError as exc:
        raise Unreadable(
            "its elements are too deeply nested for taking out boilerplate", "Read it with --boilerplate keep."
        ) from exc
    return "\n".join(block.text for block in blocks if not block.is_boilerplate)


def decoded(data: bytes, encoding: str = "utf-8") -> str:
    """The characters of a page: by its mark, by what it declares, or by what its bytes can be."""
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    declared = _declared(data[:_DECLARED_WITHIN])
    if declared:
        return data.decode(declared, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        fallback = text_codec(encoding)
        return data.decode("cp1252" if fallback == "utf-8" else fallback, "replace")


def _declared(head: bytes) -> str | None:
    found = _DECLARED.search(head)
    if found is None:
        return None
    try:
        codec = text_codec((found[1] or found[2]).decode("ascii", "replace"))
    except InputError:
        return None
    return _ALIASES.get(codec, codec) if _CODECS.match(_ALIASES.get(codec, codec)) else None


def page_text(page: str, *, is_xml: bool) -> str:
    """The text of a page of HTML, or of XHTML, where a tag may end itself (and HTML where it is not well-formed)."""
    if is_xml:
        seen = _Seen()
        # The names of characters are HTML's, and the parser must not fetch the list of them
        try:
            feed(_encoded(_ENTITY.sub(_character, page)), seen, encoding="utf-8")
            return seen.text()
        except Unreadable:
            pass
    seen = _Seen()
    feed_html(_encoded(page), seen)
    return seen.text()


def _character(entity: re.Match[str]) -> str:
    found = html.unescape(entity[0])
    return html.escape(found) if found != entity[0] else entity[0]


def _encoded(page: str) -> Iterator[bytes]:
    for start in range(0, len(page), _PIECE):
        yield page[start : start + _PIECE].encode("utf-8", "replace")


class _Seen(Events):
    """Takes the events of a page and keeps what a reader sees."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._skipped = 0
        self._verbatim = 0
        self._is_blank = True
        """The text so far ends in white space."""

    def start(self, tag: str, attrib: dict[str, str]) -> None:
        self._mark(tag, 1)

    def end(self, tag: str) -> None:
        self._mark(tag, -1)

    def _mark(self, tag: str, step: int) -> None:
        """An element begins (1) or ends (-1)."""
        mark = _MARKS.get(tag)
        if mark == _SKIP:
            self._skipped += step
        elif mark is not None:
            if not self._skipped:
                self._pieces.append(mark)
                self._is_blank = True
            self._verbatim += step * (tag in _VERBATIM)

    def data(self, data: str) -> None:
        if self._skipped:
            return
        if self._verbatim:
            text = data
        elif data.strip(_WHITE):
            text = _RUNS.sub(" ", data)
        else:
            text = " "
        if self._is_blank and not self._verbatim and text[0] == " ":
            text = text[1:]
        if text:
            self._pieces.append(text)
            self._is_blank = text[-1] == " "

    def text(self) -> str:
        """What was seen, without blank lines."""
        lines = (line.strip(" \t\r") for line in "".join(self._pieces).split("\n"))
        return "\n".join(line for line in lines if line)
