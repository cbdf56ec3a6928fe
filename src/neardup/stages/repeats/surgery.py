"""A text without some of its bytes: cuts moved inward to whole characters, words, lines or sentences; the rest, joined.

A sentence ends behind ``.``, ``!``, ``?`` or ``…`` before white space or the end of the text, behind ``。``, ``！`` or
``？`` anywhere, each with the quotes and brackets that close there, and at an empty line. An abbreviation counts as an
end: the cut is then larger by the words before it than whole sentences would be, never larger than what is repeated.
It needs no library, so that a cut does not depend on what is installed; sentences that are compared whole are those of
``splitting``, which knows abbreviations.

Cuts of whole units (``UNIT``) take the white space on one side along.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

Span = tuple[int, int]
Known = dict[int, bool]
"""Whether a word reaches the places of one text that were asked about. A run of marks is so walked through once, and
not once for each cut in it."""

SNAPS = ("char", "word", "line", "sentence")
UNIT = "unit"
"""In place of one of SNAPS: cuts are whole lines, sentences or paragraphs."""
_WHITE = re.compile(
    rb"(?:[\t-\r\x1c-\x20]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)*"
)
_BREAK = re.compile(rb"\r\n|\r|\n")
_CLOSING = "|".join(map(re.escape, "\"')]}»”’」』）】"))
_SENTENCE_END = re.compile(
    rf"(?:[.!?]|…)(?:{_CLOSING})*(?=\s|\Z)|(?:。|！|？)+(?:{_CLOSING})*|\n[ \t\r]*(?=\n)".encode()
)
"""Of several marks of the first kind it takes the last: from each of them to look for that is quadratic."""
_LETTERS = re.compile(r"\w*")
_JOINERS = "\u200c\u200d\xad"
"""They stand inside words: of Persian and of Indian scripts, and where a word may be broken."""
_PIECE = 64
"""Bytes of a word that are looked at first."""
_BEFORE = 64
"""Bytes before a cut in which the end of the sentence before it is looked for."""
_BEHIND = 4
"""Bytes behind a cut that may tell that no sentence ends with it: a character."""


def snap_cuts(text: bytes, cuts: Sequence[Span], *, snap: str, least: int) -> list[Span]:
    """The cuts (bytes of ``text``, UTF-8, rising, apart), each moved inward; those below ``least`` bytes are left out.

    ``snap``, one of SNAPS: to whole characters; so that no word is cut in two; to whole lines; or to whole
    sentences. A word is a run of letters, digits and underscores, with the marks and joiners that follow them. With
    UNIT cuts of at least ``least`` bytes grow by white space, as ``_with_white_space`` has it.
    """
    if snap == UNIT:
        return [_with_white_space(text, *cut) for cut in cuts if cut[1] - cut[0] >= least]
    found = []
    known: Known = {}
    for start, end in cuts:
        start, end = _to_characters(text, start, end)
        if start == end:
            continue
        if snap == "word":
            start, end = _to_words(text, start, end, known)
        elif snap == "line":
            start, end = _to_lines(text, start, end)
        elif snap == "sentence":
            start, end = _to_sentences(text, start, end)
        if end - start >= max(least, 1):
            found.append((start, end))
    return found


def without(text: bytes, cuts: Sequence[Span]) -> bytes:
    """Return what is left, in order. If two words would run together, the first line break cut goes in, or a space."""
    pieces: list[bytes] = []
    at = 0
    for (start, end), white in zip(cuts, joints(text, cuts), strict=True):
        pieces += (text[at:start], white)
        at = end
    pieces.append(text[at:])
    return b"".join(pieces)


def joints(text: bytes, cuts: Sequence[Span]) -> Iterator[bytes]:
    """Yield the bytes that take the place of each cut: none, or white space where two words would run together."""
    known: Known = {}
    for start, end in cuts:
        is_inside = start > 0 and end < len(text)
        if is_inside and _is_word_before(text, start, known) and _is_word_at(text, end, known):
            found = _BREAK.search(text, start, end)  # another kind would end a record, or mix the ends of lines
            yield found.group() if found else b" "
        else:
            yield b""


def _is_inside(text: bytes, at: int) -> bool:
    """Whether a character goes on at a place, one that began before."""
    return 0 < at < len(text) and text[at] & 0xC0 == 0x80


def _to_characters(text: bytes, start: int, end: int) -> Span:
    while start < end and _is_inside(text, start):
        start += 1
    while start < end and _is_inside(text, end):
        end -= 1
    return start, end


def _begin_before(text: bytes, at: int) -> int:
    """Where the character before a place begins."""
    at -= 1
    while _is_inside(text, at):
        at -= 1
    return at


def _end_at(text: bytes, at: int) -> int:
    """Where the character that begins at a place ends."""
    at += 1
    while _is_inside(text, at):
        at += 1
    return at


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


def _goes_on(character: str) -> bool:
    """Whether a character, a mark or a joiner, is in the word that it follows."""
    return character in _JOINERS or unicodedata.category(character).startswith("M")


def _is_word_before(text: bytes, at: int, known: Known) -> bool:
    place, found = at, False
    while place > 0 and place not in known:
        begin = _begin_before(text, place)
        character = text[begin:place].decode("utf-8", "replace")
        if not _goes_on(character):
            found = _is_letter(character)
            break
        place = begin
    known[at] = known.get(place, found)
    return known[at]


def _is_word_at(text: bytes, at: int, known: Known) -> bool:
    if at == len(text):
        return False
    character = text[at : _end_at(text, at)].decode("utf-8", "replace")
    return _is_word_before(text, at, known) if _goes_on(character) else _is_letter(character)


def _word_length(text: str) -> int:
    """With how many letters, marks and joiners a text begins."""
    at = 0
    while True:
        at = _LETTERS.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        if at == len(text) or not _goes_on(text[at]):
            return at
        at += 1


def _to_words(text: bytes, start: int, end: int, known: Known) -> Span:
    if _is_word_before(text, start, known):
        start = _behind_word(text, start, end)
    if _is_word_at(text, end, known):
        end = _before_word(text, start, end)
    return start, end


def _behind_word(text: bytes, start: int, end: int) -> int:
    """Where the word that goes on at ``start`` ends, or ``end``. A piece at a time, since a word may have megabytes."""
    size = _PIECE
    while start < end:
        stop = min(start + size, end)
        while _is_inside(text, stop):
            stop -= 1
        piece = text[start:stop].decode("utf-8", "replace")
        count = _word_length(piece)
        start += len(piece[:count].encode())
        if count < len(piece):
            break
        size *= 2
    return start


def _before_word(text: bytes, start: int, end: int) -> int:
    """Where the word that goes on at ``end`` begins, or ``start``."""
    size, stop = _PIECE, end
    while start < end:
        begin = max(start, end - size)
        while _is_inside(text, begin):
            begin += 1
        piece = text[begin:end].decode("utf-8", "replace")[::-1]
        count = _word_length(piece)
        end -= len(piece[:count].encode())
        if count < len(piece):
            break
        size *= 2
    while end < stop and _goes_on(text[end : (behind := _end_at(text, end))].decode("utf-8", "replace")):
        end = behind  # it follows what is no letter
    return end


def _with_white_space(text: bytes, start: int, end: int) -> Span:
    """A cut of whole units, and of the white space on both sides all but what is to stand between its neighbours.

    That is the side with more line breaks, of equal ones that before; and what indents the unit behind stays. At the
    begin and at the end of the text what stands there stays. If nothing else is left, all goes.
    """
    begin = start
    while begin > 0 and text[(at := _begin_before(text, begin)) : begin].decode("utf-8", "replace").isspace():
        begin = at
    white = _WHITE.match(text, end)
    stop = end if white is None else white.end()
    if begin == 0 and stop == len(text):
        return 0, stop
    if stop == len(text):
        return begin, end
    before, behind = text[begin:start], text[end:stop]
    line = begin + max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
    next_line = end + max(behind.rfind(b"\n"), behind.rfind(b"\r")) + 1
    if next_line == end:
        return start, stop
    is_apart = line > begin and len(_BREAK.findall(before)) >= len(_BREAK.findall(behind))
    return (line, next_line) if begin == 0 or is_apart else (begin, end)


def _begins_line(text: bytes, at: int) -> bool:
    """Whether a line begins at a place, or the text ends; between CR and LF none does."""
    before, behind = text[at - 1 : at], text[at : at + 1]
    return at in (0, len(text)) or before == b"\n" or (before == b"\r" and behind != b"\n")


def _to_lines(text: bytes, start: int, end: int) -> Span:
    if not _begins_line(text, start):
        found = _BREAK.search(text, start, end)
        start = found.end() if found else end
    if not _begins_line(text, end):
        last = end - 1 if text[end - 1 : end] == b"\r" else end  # of this CR the LF is behind the cut
        end = max(start, text.rfind(b"\n", start, last) + 1, text.rfind(b"\r", start, last) + 1)
    return start, end


def _to_sentences(text: bytes, start: int, end: int) -> Span:
    at = max(0, start - _BEFORE)
    ends = [0] if at == 0 else []
    for found in _SENTENCE_END.finditer(text, at, end + _BEHIND):
        if found.end() > end:
            break
        ends.append(found.end())
    if end == len(text):
        ends.append(end)
    if not any(each <= start and not text[each:start].strip() for each in ends):
        start = next((each for each in ends if each >= start), end)
    last = max((each for each in ends if each <= end), default=start)
    most, end = end, max(start, last)
    if not text[start : start + 1].isspace():  # of the blanks before and behind it those on one side stay
        while end < most and text[end : end + 1].isspace():
            end += 1
    return start, end
