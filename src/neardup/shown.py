"""What people see: numbers as text, and text from outside, of which nothing acts upon a terminal in any encoding.

Names of files, ids, columns and values, and what other libraries say, may hold anything. The rule which characters
are hidden, or would steer a terminal, is here, and is the same for messages, tables and texts that are compared. So is
the table of those that a page shows by name; scripts are given the same one (``pages.assets``). Data are no business
of this module: they go out as they are, unless a terminal takes them (``outputs.stdout``).
"""

from __future__ import annotations

import codecs
import os
import unicodedata
from collections.abc import Iterable
from typing import Any

FITTED = "neardup.fitted"
"""Name of an error handler of codecs: what an encoding has not is spelled in ASCII, signs of ours as people do."""
NARROW = "neardup.narrow"
"""The same for columns: each character takes one place."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")
"""Marks and letters, to Unicode, of which nothing is seen."""
UNSEEN: tuple[tuple[int, int], ...] = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200F),
    (0x2028, 0x202E), (0x2060, 0x206F), (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE007F), *((ord(char), ord(char)) for char in sorted(_BLANK)),
)  # fmt: skip
"""First and last code point of each range of characters that a page shows by name: nothing is seen of them, or they
turn the direction of what follows. Tab and line feed are not among them, since texts are drawn with them, nor are signs
such as U+06DD that Unicode calls format characters though they are seen. A terminal hides all of these and more."""
_CONTROLS = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US"
)
NAMES = {
    **dict(enumerate(_CONTROLS.split())),
    0x7F: "DEL", 0x85: "NEL", 0xAD: "SHY", 0x34F: "CGJ", 0x61C: "ALM", 0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ",
    0x200E: "LRM", 0x200F: "RLM", 0x2028: "LS", 0x2029: "PS", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF",
    0x202D: "LRO", 0x202E: "RLO", 0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
    0xFEFF: "BOM",
}  # fmt: skip
"""Short names that Unicode gives to some of them, by code point."""
_SPELLED = {
    "…": "...", "×": "x", "≥": ">=", "≤": "<=", "±": "+-", "–": "-", "—": "-", "→": "->", "│": "|", "█": "#",
    "␣": "_", "␉": ">", "␍": "<", "◌": "o", "□": "?",
}  # fmt: skip
_MADE_OF = {ord(char): point for point, char in enumerate("\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\u1680", 0xE000)}
_MADE_OF[ord(" ")] = 0x2423  # the sign for a space
"""What stands for white space inside an item, where white space parts items."""
CUT = "…"
"""Where a text goes on that is not shown to its end."""
_ZWJ = "\u200d"
_LOWEST, _HIGHEST = 0xDC80, 0xDCFF
"""Stand in names of files for the bytes 0x80 to 0xff that are no UTF-8."""


def is_hidden(char: str) -> bool:
    """Whether a character is a control, a format character (bidi, joiners), a line or paragraph break, or not seen."""
    category = unicodedata.category(char)
    return category[0] == "C" or category in ("Zl", "Zp") or char in _BLANK


def is_unseen(char: str) -> bool:
    """Whether a page shows a character by its name: it is one of ``UNSEEN``."""
    point = ord(char)
    return any(first <= point <= last for first, last in UNSEEN)


def name_of(char: str) -> str:
    """The short name of a character that is not seen, or its code.

    >>> name_of("\u202e"), name_of("\u2065")
    ('RLO', 'U+2065')
    """
    return NAMES.get(ord(char)) or f"U+{ord(char):04X}"


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


def as_text(blob: bytes, *, is_items: bool) -> str:
    """The text that is shown for a document; ``is_items``: it is a set, of items with the byte 0xFF between them.

    >>> as_text(b"milk\\xffrye bread", is_items=True)
    'milk rye\\u2423bread'
    """
    if not is_items:
        return blob.decode("utf-8", "replace")
    items = (item.decode("utf-8", "replace") for item in blob.split(b"\xff"))
    return " ".join(item.translate(_MADE_OF) for item in items)


def cut_text(text: str, most: int) -> str:
    """The first ``most`` code points of a text, and ``…`` where there are more.

    A letter is not parted from its marks, nor a sign from what it is joined to: the cut comes before them.

    >>> cut_text("a rose", 6), cut_text("a rose", 3), cut_text("ae\\u0301", 2)
    ('a rose', 'a r…', 'a…')
    """
    return text if len(text) <= most else text[: whole_before(text, most)] + CUT


def whole_before(text: str, at: int) -> int:
    """The last place up to ``at`` where a text may be cut without parting what people see as one character."""
    while 0 < at < len(text) and _is_joined(text, at):
        at -= 1
    return at


def _is_joined(text: str, at: int) -> bool:
    """Whether the characters before and behind a place are one to the eye: most rules of Unicode's UAX 29."""
    before, behind = text[at - 1], text[at]
    if behind.isascii() and before != _ZWJ:
        return before == "\r" and behind == "\n"
    if before == _ZWJ or behind == _ZWJ or unicodedata.category(behind)[0] == "M":
        return True
    point = ord(behind)
    if 0x1F3FB <= point <= 0x1F3FF or 0xE0020 <= point <= 0xE007F:  # tones of skin; tags of flags
        return True
    if 0x1160 <= point <= 0x11FF:  # vowels and ends of Korean syllables that are written in parts
        return 0x1100 <= ord(before) <= 0x11FF or 0xAC00 <= ord(before) <= 0xD7A3
    if not _is_half_flag(behind):
        return False
    first = at
    while first > 0 and _is_half_flag(text[first - 1]):
        first -= 1
    return (at - first) % 2 == 1


def _is_half_flag(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF


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


def similarity_text(value: float, threshold: float) -> str:
    """Return ``value`` with four decimal places, or as many more as it takes to be true.

    Rounding may not move it to 1 nor across ``threshold``.

    Example:
        >>> similarity_text(0.99996, 0.8), similarity_text(1.0, 0.8), similarity_text(2 / 3, 2 / 3)
        ('0.99996', '1.0000', '0.6667')
    """
    for places in range(4, 17):
        text = f"{value:.{places}f}"
        seen = float(text)
        if (seen >= threshold) == (value >= threshold) and (seen == 1.0) == (value == 1.0):
            return text
    return repr(value)


def megabytes(count: float) -> str:
    """Return a number of bytes as B, kB, MB, GB or TB, powers of 1000."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 999.95:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} TB"


def counted(number: int, noun: str) -> str:
    """Return ``1 pair``, ``2 pairs``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """Return a time as ``0.41 s``, ``12 s``, ``3 min 05 s`` or ``2 h 10 min``."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def percent(part: int, whole: int) -> str:
    """Return a share in percent; 0 % and 100 % stand for themselves only.

    Example:
        >>> percent(1, 4), percent(1, 100_000), percent(99_999, 100_000)
        ('25.0 %', '< 0.1 %', '> 99.9 %')
    """
    if part in (0, whole):
        return f"{100 if part else 0} %"
    share = 100 * part / whole
    if share < 0.1:
        return "< 0.1 %"
    return "> 99.9 %" if share > 99.9 else f"{share:.1f} %"


def by_cause(faults: Iterable[Any]) -> list[tuple[str, int]]:
    """Return a line for each fault with the number of faults in it; whole files with one reason share a line."""
    lines: dict[Any, list[Any]] = {}
    for fault in faults:
        lines.setdefault(fault if fault.row else fault.reason, []).append(fault)
    return [(_line(*same), len(same)) for same in lines.values()]


def _line(*same: Any) -> str:
    more = f" and {len(same) - 3:,} more" if len(same) > 3 else ""
    named = shown(f"{', '.join(fault.source for fault in same[:3])}{more}: {same[0].reason}")
    return named if len(same) > 1 else str(same[0])


def first_line(error: BaseException) -> str:
    """Return the message of an error as one line of at most 500 characters without a full stop."""
    return (str(error).splitlines() or [""])[0].rstrip(". ")[:500] or type(error).__name__
