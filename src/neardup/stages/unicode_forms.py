"""Unicode forms in n log n. The result is that of ``unicodedata``, which sorts each run of marks by insertion.

A form puts the marks on one letter into the order of their combining classes. On a run that alternates between two
classes an insertion sort is quadratic: 40,000 marks take a second or more, 400,000 minutes. So a long run is put into
order first. The form of a text is that of every text with the same decomposition, so this changes nothing but the cost.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

import numpy as np

Form = Literal["NFC", "NFKC"]
FORMS: dict[str, Form] = {"nfc": "NFC", "nfkc": "NFKC"}
"""The forms by their names in ``Normalize``."""
DECOMPOSED: dict[Form, Literal["NFD", "NFKD"]] = {"NFC": "NFD", "NFKC": "NFKD"}
"""The form that each begins with."""

_LONG = 256
"""Marks in a run that is put into order first. One of fewer costs at most 0.4 µs a mark."""


def to_form(text: str, form: Form) -> str:
    """``unicodedata.normalize(form, text)``, at a cost of n log n at most.

    >>> to_form("e\\u0301\\u0323", "NFC") == "\\u1eb9\\u0301"
    True
    """
    # A run of _LONG marks covers one of these places; in other text few of them are marks.
    if len(text) >= _LONG and any(map(_marks(form).__getitem__, text[::_LONG])):
        text = _in_order(text, form)
    return unicodedata.normalize(form, text)


def _in_order(text: str, form: Form) -> str:
    """The text with its long runs of marks decomposed and sorted, which ``unicodedata`` then finds in order."""
    marks = _marks(form)
    pieces: list[str] = []
    copied = 0
    for begin, end in _long_runs(text, marks):
        pieces += [text[copied:begin], _sorted("".join(map(marks.__getitem__, text[begin:end])))]
        copied = end
    return "".join([*pieces, text[copied:]])


def _long_runs(text: str, marks: _Marks) -> Iterator[tuple[int, int]]:
    """Begin and end of each run of at least ``_LONG`` marks, in order."""
    end = 0
    for place in range(0, len(text), _LONG):
        if place < end or not marks[text[place]]:
            continue
        begin, end = place, place + 1
        while begin > 0 and marks[text[begin - 1]]:
            begin -= 1
        while end < len(text) and marks[text[end]]:
            end += 1
        if end - begin >= _LONG:
            yield begin, end


def _sorted(marks: str) -> str:
    """A run of decomposed marks by combining class; those of one class stay in order."""
    classes = np.fromiter(map(unicodedata.combining, marks), dtype=np.uint8, count=len(marks))
    codes = np.frombuffer(marks.encode("utf-32-le"), dtype="<u4")
    return codes[np.argsort(classes, kind="stable")].tobytes().decode("utf-32-le")


class _Marks(dict[str, str]):
    """The decomposition of each character that becomes nothing but marks, which is told by its first; "" of others.

    A few are no marks themselves: U+0F73 in both forms, the half-width U+FF9E in NFKC. It learns the characters that it
    meets: all of them would take a tenth of a second.
    """

    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form = DECOMPOSED[form]

    def __missing__(self, char: str) -> str:
        parts = unicodedata.normalize(self._form, char)
        self[char] = found = parts if unicodedata.combining(parts[0]) else ""
        return found


@lru_cache(maxsize=2)
def _marks(form: Form) -> _Marks:
    return _Marks(form)
