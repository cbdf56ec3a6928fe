"""Rich Text (.rtf): paragraphs and tables in order, then footnotes and endnotes.

Left out, as of other documents: headers, footers, comments, numbers of lists, pictures, and deletions that are tracked.
One pass over the bytes, in which groups are a stack of states and not calls.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from typing import NamedTuple

from neardup.inputs.documents import damaged
from neardup.inputs.documents.package import read_stored

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\(.?)|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.S
)
_MARKS = {
    **dict.fromkeys((b"par", b"line", b"sect", b"page", b"column", b"row", b"nestrow", b"\n", b"\r"), "\n"),
    **dict.fromkeys((b"tab", b"cell", b"nestcell"), "\t"), **dict.fromkeys((b"emspace", b"enspace", b"qmspace"), " "),
    b"emdash": "—", b"endash": "–", b"bullet": "•", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“",
    b"rdblquote": "”", b"~": "\xa0", b"_": "\u2011", b"\\": "\\", b"{": "{", b"}": "}",
}  # fmt: skip
_SKIPPED = frozenset(
    b"fonttbl colortbl stylesheet info header headerl headerr headerf footer footerl footerr footerf pict objdata sp"
    b" shprslt ftnsep ftnsepc aftnsep aftnsepc pntext listtext nonesttables xe tc rxe txe filetbl revtbl".split()
)
_SHOWN = (b"shpinst", b"nesttableprops")
"""Groups that hold text although readers may ignore them."""
_CHARSETS = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
    254: "cp437", 255: "cp850",
}  # fmt: skip


class _Group(NamedTuple):
    """The state of the reader, which ends with its group."""

    is_shown: bool = True
    is_deleted: bool = False
    is_note: bool = False
    codec: str = ""
    """The encoding of the font, if it has its own."""
    fallback: int = 1
    """The number of characters after a Unicode character that stand for it in old readers."""


def load(path: str) -> str:
    """Read the text of a file; Unreadable if it is damaged."""
    data = read_stored(path)
    if not data.startswith(b"{\\rtf"):
        raise damaged("it does not begin as Rich Text")
    groups, now, default, fonts, font = list[_Group](), _Group(), "cp1252", dict[int, str](), 0
    pieces: tuple[list[str], list[str]] = [], []  # for the text, and for its notes
    held = bytearray()  # characters of which some take several bytes
    at = ignored = 0
    is_starred = False
    while token := _TOKEN.match(data, at):
        at, (word, value, code, sign, brace, run) = token.end(), token.groups()
        if run is not None or code is not None:
            some = bytes.fromhex(code.decode()) if code is not None else run
            held += some[ignored:] if now.is_shown and not now.is_deleted else b""
            ignored = max(0, ignored - len(some))
            continue
        out = pieces[now.is_note]
        if held:
            out.append(held.decode(now.codec or default, "replace"))
            held.clear()
        number, was_starred = int(value or 1), is_starred
        ignored, is_starred = 0, sign == b"*"
        if brace == b"{":
            groups.append(now)
        elif brace is not None:
            now = groups.pop()
            if not groups:
                return _text(pieces)
        elif word in _SKIPPED or (was_starred and word is not None and word not in _SHOWN):
            now = now._replace(is_shown=False)
        elif word == b"bin":
            at += max(0, number)
        elif word == b"f" and now.is_shown:
            now = now._replace(codec=fonts.get(number, ""))
        elif word == b"f":
            font = number
        elif word == b"fcharset":
            fonts[font] = _CHARSETS.get(number, "")
        elif word == b"ansicpg":
            with suppress(LookupError):  # Python does not know the code page
                default = codecs.lookup(f"cp{number}").name
        elif word == b"uc":
            now = now._replace(fallback=max(0, number))
        elif word == b"deleted":
            now = now._replace(is_deleted=number != 0)
        elif word == b"footnote":
            now = now._replace(is_note=True)
            pieces[1].append("\n")
        elif word == b"u" and now.is_shown and not now.is_deleted:
            out.append(chr(number % (1 << 16)))
            ignored = now.fallback
        elif now.is_shown and not now.is_deleted:
            out.append(_MARKS.get(word or sign or b"", ""))
    raise damaged("it ends too soon")


def _text(pieces: tuple[list[str], list[str]]) -> str:
    """Return the lines that are not blank; halves of a character above U+FFFF become one."""
    whole = "\n".join("".join(each) for each in pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return "\n".join(line.rstrip() for line in whole.split("\n") if line.strip())
