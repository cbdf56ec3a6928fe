"""Tables of what becomes of single characters, for the kernels that normalise: made of the answers of ``unicodedata``.

They grow by the pages that are met, so a start costs nothing and each Python has the tables of its own version of
Unicode. When the characters of a text become what they become alone follows from two properties of the forms: the form
of a text is the form of the forms of its parts, one behind the other; and a text is in the form if each of its
characters is in it, composes with none before it, and stands in the order of combining classes (UAX #15, section 9). So
each step is looked at for its own result: F(text), then F(casefold(F(text))). What follows is no form.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from neardup.kernels import normal
from neardup.kernels.normal import PAGE, PAGES, Characters
from neardup.params import Normalize
from neardup.stages.unicode_forms import FORMS
from neardup.types import I64, U8, Mask, frozen

_LETTERS_OF_PAIRS = ((0xC0, 0x3400), (0xA000, 0xAC00), (0xF900, 0x20000))
"""Where characters lie that are composed of two: not among ideographs, nor Hangul, which goes by a rule."""
_HANGUL = (
    ((0x1100, 0x1113), (0x1161, 0x1176)),  # a leading consonant and a vowel
    ((0xAC00, 0xD7A4), (0x11A8, 0x11C3)),  # a syllable and a trailing consonant
)
_MOST = 0xFF
"""Bytes of a text that one character becomes; one of more would be left to the judge."""


def is_punctuation(char: str) -> bool:
    """Whether a character is of a Unicode category P*."""
    return unicodedata.category(char).startswith("P")


class Table:
    """What becomes of characters under some steps. Threads share it; each page is made once."""

    def __init__(self, normalize: Normalize) -> None:
        self._normalize = normalize
        self._form = FORMS.get(normalize.form)
        self._growing = threading.Lock()
        pages = np.full(PAGES, -1, dtype=np.int32)
        pool = np.zeros(8, dtype=np.uint8)
        self.now = _frozen(Characters(self._ascii(), pages, np.zeros(0, dtype=np.int64), pool, self._pairs()))
        """The table as far as it is made. It is replaced, never changed, so a kernel that runs is not disturbed."""

    def grow(self, wanted: Mask) -> None:
        """Add the pages that ``wanted`` (bool[PAGES]) marks."""
        with self._growing:
            now = self.now
            new = np.flatnonzero(wanted & (now.pages < 0))
            pages = now.pages.copy()
            pages[new] = now.entries.size // PAGE + np.arange(new.size)
            pool = bytearray(now.pool[:-8].tobytes())
            chars = (map(chr, range(page * PAGE, (page + 1) * PAGE)) for page in new.tolist())
            entries = [entry for page in chars for entry in self._page("".join(page), pool)]
            texts = np.frombuffer(bytes(pool) + bytes(8), dtype=np.uint8)
            every = np.concatenate([now.entries, np.array(entries, dtype=np.int64)])
            self.now = _frozen(Characters(now.ascii, pages, every, texts, now.pairs))

    def _ascii(self) -> U8:
        table = np.arange(128, dtype=np.uint8)
        for byte in range(128):
            char = chr(byte)
            if char.isspace() and (self._normalize.space or self._normalize.strip):
                table[byte] = normal.SPACE if self._normalize.space else normal.DROP
            elif self._normalize.punct and is_punctuation(char):
                table[byte] = normal.DROP
            elif self._normalize.digits and char.isdecimal():
                table[byte] = ord("0")
            elif self._normalize.casefold:
                table[byte] = ord(char.casefold())
        return table

    def _pairs(self) -> I64:
        return _composed() if self._form else np.zeros(0, dtype=np.int64)

    def _page(self, chars: str, pool: bytearray) -> list[int]:
        """The entries of a page. One of letters that stay as they are, as of ideographs, costs 10 µs, others 200."""
        parted = chars if self._form is None else unicodedata.normalize("NFD", chars)
        formed = self._in_form(chars)
        folds = self._normalize.casefold and formed.casefold() != formed
        mixed = (
            any(map(str.isspace, chars)) or any(map(is_punctuation, chars)) or any(map(unicodedata.combining, chars))
        )
        mixed |= self._normalize.digits and any(map(str.isdecimal, formed))
        if formed != chars or folds or mixed or not (self._form is None or _joining().isdisjoint(chars)):
            return [self._entry(char, pool) for char in chars]
        if parted == chars:
            return [0] * PAGE
        return [normal.PARTED if unicodedata.normalize("NFD", char) != char else 0 for char in chars]

    def _entry(self, char: str, pool: bytearray) -> int:
        """The entry of a character; what it becomes goes to the end of ``pool``."""
        if "\ud800" <= char <= "\udfff":
            return normal.UNKNOWN  # not in UTF-8
        formed = self._in_form(char)
        folded = self._in_form(formed.casefold()) if self._normalize.casefold else formed
        entry = 0 if formed == folded == char else normal.PARTED
        if self._form is not None:
            if unicodedata.normalize("NFD", char) != char:
                entry |= normal.PARTED
            first, last = (unicodedata.combining(folded[i]) for i in (0, -1))
            if formed != folded and (first, last) != tuple(unicodedata.combining(formed[i]) for i in (0, -1)):
                return normal.UNKNOWN
            if not _joining().isdisjoint((formed[0], folded[0])):
                if entry:
                    return normal.UNKNOWN
                entry |= normal.JOINS
            if not all(map(_stays, {formed, folded})) or (entry & normal.PARTED and first):
                return normal.UNKNOWN
            entry |= first << normal.FIRST | last << normal.LAST
        return entry | self._becomes(char, folded, pool)

    def _in_form(self, text: str) -> str:
        return text if self._form is None else unicodedata.normalize(self._form, text)

    def _becomes(self, char: str, folded: str, pool: bytearray) -> int:
        """The bits that say what is written: after the forms, digits, punctuation and white space."""
        steps = self._normalize
        if steps.digits:
            folded = "".join("0" if each.isdecimal() else each for each in folded)
        text = "".join(each for each in folded if not is_punctuation(each)) if steps.punct else folded
        if steps.space and text and any(map(str.isspace, text)):
            return normal.GAP if text.isspace() else normal.UNKNOWN
        if steps.strip and not steps.space:
            text = "".join(text.split())
        if text == char:
            return 0
        written = text.encode()
        if len(written) > _MOST:
            return normal.UNKNOWN
        place = len(pool)
        pool += written
        return normal.REPLACED | len(written) << normal.LENGTH | place << normal.PLACE


@lru_cache(maxsize=8)
def table_of(normalize: Normalize) -> Table:
    """The table of some steps, one for the process."""
    return Table(normalize)


def _frozen(characters: Characters) -> Characters:
    return Characters(*map(frozen, characters))


def _stays(text: str) -> bool:
    """Whether a text that is in a form, but for its first character, joins to nothing where others stand around it.

    None of its characters composes with the letter before it, and those that could with another one follow a letter
    that does not decompose.
    """
    letter = text[0]
    for char in text[1:]:
        if char in _joining() and (unicodedata.normalize("NFD", letter) != letter or letter + char in _composing()):
            return False
        if not unicodedata.combining(char):
            letter = char
    return True


def _halves() -> Iterator[tuple[str, str]]:
    """All pairs of characters, other than of Hangul, of which the forms make one."""
    for low, high in _LETTERS_OF_PAIRS:
        chars = list(map(chr, range(low, high)))
        for char, parts in zip(chars, map(unicodedata.decomposition, chars), strict=True):
            if " " in parts and not parts.startswith("<") and unicodedata.normalize("NFC", char) == char:
                first, second = (chr(int(part, 16)) for part in parts.split())
                yield first, second


@lru_cache(maxsize=1)
def _composing() -> frozenset[str]:
    """Pairs of characters, other than of Hangul, of which the forms make one. 5 ms."""
    return frozenset(first + second for first, second in _halves())


@lru_cache(maxsize=1)
def _joining() -> frozenset[str]:
    """Characters that compose with some before them."""
    hangul = {chr(point) for _, seconds in _HANGUL for point in range(*seconds)}
    return frozenset({pair[1] for pair in _composing()} | hangul)


@lru_cache(maxsize=1)
def composites() -> tuple[I64, I64, Mask]:
    """What ``kernels.normal.compose`` needs: the pairs, what each of them makes, and the pages of what comes second."""
    pairs = _composed()
    letters, marks = pairs >> 21, pairs & 0x1FFFFF
    made = [ord(unicodedata.normalize("NFC", chr(a) + chr(b))) for a, b in zip(letters, marks, strict=True)]
    seconds = np.zeros(PAGES, dtype=np.bool_)
    seconds[marks // PAGE] = True
    (_, (_, trailing)) = _HANGUL
    seconds[np.arange(*trailing) // PAGE] = True
    return frozen(pairs), frozen(np.array(made, dtype=np.int64)), frozen(seconds)


@lru_cache(maxsize=1)
def _composed() -> I64:
    """The pairs as numbers, rising: (first << 21) | second. Of Hangul those of leading consonants and vowels only, for
    a syllable decomposes, so that the kernel asks about none that is followed by a trailing one."""
    (leads, vowels), _ = _HANGUL
    numbers = [ord(pair[0]) << 21 | ord(pair[1]) for pair in _composing()]
    numbers += [lead << 21 | vowel for lead in range(*leads) for vowel in range(*vowels)]
    return np.sort(np.array(numbers, dtype=np.int64))
