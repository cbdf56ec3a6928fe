"""Tables of the results of single characters, for the kernels that normalise: made from ``unicodedata``.

The tables grow by the pages that are met, so a start costs nothing, and each Python has the tables of its own version
of Unicode. Two properties of the forms decide whether the characters of a text become what each becomes alone. The form
of a text is the form of the joined forms of its parts. And a text is in the form if each of its characters is in it,
composes with none before it, and keeps the order of combining classes (UAX #15, section 9). So the table looks at the
result of each step: F(text), then F(casefold(F(text))). The steps after these involve no form.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Literal

import numpy as np

from neardup.kernels import forming, normal
from neardup.kernels.normal import PAGE, PAGES, Characters
from neardup.params import Normalize
from neardup.types import I64, U8, Mask, frozen

Form = Literal["NFC", "NFKC"]
FORMS: dict[str, Form] = {"nfc": "NFC", "nfkc": "NFKC"}
"""The forms by their names in ``Normalize``."""
DECOMPOSED: dict[Form, Literal["NFD", "NFKD"]] = {"NFC": "NFD", "NFKC": "NFKD"}
"""The form that each begins with."""
_LETTERS_OF_PAIRS = ((0xC0, 0x3400), (0xA000, 0xAC00), (0xF900, 0x20000))
"""The ranges of characters composed of two. Ideographs are not, and Hangul follows a rule."""
_HANGUL = (
    ((0x1100, 0x1113), (0x1161, 0x1176)),  # a leading consonant and a vowel
    ((0xAC00, 0xD7A4), (0x11A8, 0x11C3)),  # a syllable and a trailing consonant
)
_SYLLABLES = range(*_HANGUL[1][0])
_MOST = 0xFF
"""The most bytes that one character may become in ``kernels.normal``. ``kernels.forming`` has no such bound."""


def is_punctuation(char: str) -> bool:
    """Whether a character is of a Unicode category P*."""
    return unicodedata.category(char).startswith("P")


class Table:
    """The results of characters under some steps. Threads share a table; each page is made once."""

    def __init__(self, normalize: Normalize) -> None:
        self._normalize = normalize
        self._form = FORMS.get(normalize.form)
        self._growing = threading.Lock()
        pages = np.full(PAGES, -1, dtype=np.int32)
        pool = np.zeros(8, dtype=np.uint8)
        nothing = np.zeros(0, dtype=np.int64)
        self.now = _frozen(Characters(self._ascii(), pages, nothing, pool, _composed() if self._form else nothing))
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

    def _page(self, chars: str, pool: bytearray) -> list[int]:
        """Return the entries of a page. One of letters that all stay, such as ideographs, costs 10 µs, others 200."""
        parted = chars if self._form is None else unicodedata.normalize("NFD", chars)
        formed = self._in_form(chars)
        folds = self._normalize.casefold and formed.casefold() != formed
        mixed = (
            any(map(str.isspace, chars)) or any(map(is_punctuation, chars)) or any(map(unicodedata.combining, chars))
        )
        mixed |= self._normalize.digits and any(map(str.isdecimal, formed))
        if formed != chars or folds or mixed or not (self._form is None or joining().isdisjoint(chars)):
            return [self._entry(char, pool) for char in chars]
        if parted == chars:
            return [0] * PAGE
        return [normal.PARTED if unicodedata.normalize("NFD", char) != char else 0 for char in chars]

    def _entry(self, char: str, pool: bytearray) -> int:
        """Return the entry of a character, and add its result to the end of ``pool``."""
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
            if not joining().isdisjoint((formed[0], folded[0])):
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
        """Return the bits for the text that is written, after digits, punctuation and white space, too."""
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


class Parts(Table):
    """The decompositions of characters, for ``kernels.forming``. The steps are a form and perhaps case folding."""

    def _page(self, chars: str, pool: bytearray) -> list[int]:
        if not any(map(unicodedata.combining, chars)) and self._apart(chars) == chars and joining().isdisjoint(chars):
            return [0] * PAGE
        return [self._entry(char, pool) for char in chars]

    def _entry(self, char: str, pool: bytearray) -> int:
        points = list(map(self._point, self._apart(char)))
        if len(points) == 1 and points[0] & forming.CODE == ord(char):
            return points[0] - ord(char)
        place = len(pool)
        pool += np.array(points, dtype="<u4").tobytes()
        return len(points) << forming.SIZE | place

    def _apart(self, text: str) -> str:
        """Decompose a text, but leave syllables of Hangul whole: they would be composed again."""
        text = text.casefold() if self._normalize.casefold else text
        if self._form is None or all(ord(char) in _SYLLABLES for char in (text[0], text[-1])):
            return text
        return unicodedata.normalize(DECOMPOSED[self._form], text)

    def _point(self, char: str) -> int:
        if self._form is None:
            return ord(char)
        return ord(char) | unicodedata.combining(char) << forming.CLASS | (char in joining()) * forming.JOINS


@lru_cache(maxsize=8)
def table_of(normalize: Normalize) -> Table:
    """The table of some steps, one for the process."""
    return Table(normalize)


@lru_cache(maxsize=8)
def parts_of(normalize: Normalize) -> Parts:
    """The table for a form, with or without case folding before it, one for the process."""
    return Parts(normalize)


def with_all_pages(table: Table, kernel: Callable[[Characters, Mask], int]) -> None:
    """Call a kernel until it returns 0, adding the pages that it misses: twice at most, unless threads interfere."""
    wanted = np.zeros(PAGES, dtype=np.bool_)
    while kernel(table.now, wanted):
        table.grow(wanted)
        wanted[:] = False


def _frozen(characters: Characters) -> Characters:
    return Characters(*map(frozen, characters))


def _stays(text: str) -> bool:
    """Whether a text in a form, apart from its first character, stays as it is whatever text surrounds it.

    None of its characters composes with the letter before it, and a character that could compose with another letter
    follows one that does not decompose.
    """
    letter = text[0]
    for char in text[1:]:
        if char in joining() and (unicodedata.normalize("NFD", letter) != letter or letter + char in _composing()):
            return False
        if not unicodedata.combining(char):
            letter = char
    return True


@lru_cache(maxsize=1)
def _composing() -> dict[str, str]:
    """Pairs of characters, other than of Hangul, and the one that the forms make of each. 5 ms."""
    made: dict[str, str] = {}
    for low, high in _LETTERS_OF_PAIRS:
        chars = list(map(chr, range(low, high)))
        for char, parts in zip(chars, map(unicodedata.decomposition, chars), strict=True):
            if " " in parts and not parts.startswith("<") and unicodedata.normalize("NFC", char) == char:
                first, second = (chr(int(part, 16)) for part in parts.split())
                made[first + second] = char
    return made


@lru_cache(maxsize=1)
def joining() -> frozenset[str]:
    """Characters that compose with some before them."""
    hangul = {chr(point) for _, seconds in _HANGUL for point in range(*seconds)}
    return frozenset({pair[1] for pair in _composing()} | hangul)


@lru_cache(maxsize=1)
def _composed() -> I64:
    """The pairs and their composites as numbers, ascending: ``first << 42 | second << 21 | composite``.

    The pairs of Hangul are a leading consonant and a vowel. A kernel composes a trailing consonant by a rule.
    """
    (leads, vowels), ((syllable, _), _) = _HANGUL
    numbers = [ord(pair[0]) << 42 | ord(pair[1]) << 21 | ord(made) for pair, made in _composing().items()]
    for i, (lead, vowel) in enumerate(product(range(*leads), range(*vowels))):
        numbers.append(lead << 42 | vowel << 21 | syllable + i * normal.TRAILINGS)
    return np.sort(np.array(numbers, dtype=np.int64))
