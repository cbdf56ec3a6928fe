"""How text from outside is shown to people: nothing in it acts upon a terminal, and every encoding can carry it.

Names of files, ids, columns and values, and what other libraries say, may hold anything. The rule which characters
are hidden, or would steer a terminal, is here, and is the same for messages, tables and texts that are compared. Data
are no business of this module: they go out as they are, unless a terminal takes them (``outputs.stdout``).
"""

from __future__ import annotations

import codecs
import os
import unicodedata

__all__ = ["FITTED", "NARROW", "fitted", "is_hidden", "shown", "shown_path"]

FITTED = "neardup.fitted"
"""Name of an error handler of codecs: what an encoding has not is spelled in ASCII, signs of ours as people do."""
NARROW = "neardup.narrow"
"""The same for columns: each character takes one place."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Marks and letters, to Unicode, of which nothing is seen."""
_SPELLED = {
    "…": "...", "×": "x", "≥": ">=", "≤": "<=", "±": "+-", "–": "-", "—": "-", "→": "->", "│": "|", "█": "#",
    "␣": "_", "␉": ">", "␍": "<", "◌": "o", "□": "?",
}  # fmt: skip
_LOWEST, _HIGHEST = 0xDC80, 0xDCFF
"""Stand in names of files for the bytes 0x80 to 0xff that are no UTF-8."""


def is_hidden(char: str) -> bool:
    """Whether a character is a control, a format character (bidi, joiners), a line or paragraph break, or not seen."""
    category = unicodedata.category(char)
    return category[0] == "C" or category in ("Zl", "Zp") or char in _BLANK


def shown(value: object) -> str:
    r"""The value as one line of text in which each hidden character is written as its escape.

    Escaping twice gives the same. A backslash stays as it is: this is for the eye, not for reading back.

    >>> print(shown("a\x1b[31m\n.txt"), shown("b\udcff"))
    a\x1b[31m\n.txt b\xff
    """
    text = str(value)
    if text.isprintable() and _BLANK.isdisjoint(text):
        return text
    return "".join(_escape(char) if is_hidden(char) else char for char in text)


def shown_path(path: str) -> str:
    """The path as valid Unicode: bytes of a name that are no UTF-8 are written as ``\\xff``.

    This is data, such as an id, and keeps control characters; for people's eyes ``shown`` escapes them.
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def fitted(text: str, encoding: str | None) -> str:
    """The text as a stream of this encoding will show it."""
    encoding = encoding or "utf-8"
    return text.encode(encoding, FITTED).decode(encoding)


def _escape(char: str) -> str:
    point = ord(char)
    if _LOWEST <= point <= _HIGHEST:
        return f"\\x{point - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")


def _spell(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_SPELLED.get(char) or _escape(char) for char in missing), error.end


def _narrow(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    spelled = (_SPELLED.get(char, "?") for char in error.object[error.start : error.end])
    return "".join(each if len(each) == 1 else "?" for each in spelled), error.end


codecs.register_error(FITTED, _spell)
codecs.register_error(NARROW, _narrow)
