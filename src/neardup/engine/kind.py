"""Recognise the kind of texts in a collection by script, marks of code, quoted lines and length, and name its preset.

The hints of a search (``fit``) and the preset that ``neardup tune`` proposes without answers both use this. The module
knows nothing of the search or of the similarities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.cutting import starts_of

_UNSEGMENTED = np.array(
    [
        *(0x0E00, 0x0F00),  # Thai, Lao
        *(0x1000, 0x10A0),  # Burmese
        *(0x1780, 0x1800),  # Khmer
        *(0x3040, 0x3100),  # Hiragana, Katakana
        *(0x3400, 0xA000),  # the characters of China and Japan
        *(0x20000, 0x40000),
    ],
    dtype=np.uint32,
)
"""Boundaries of scripts without spaces between words. A code point is inside if an odd number is at or below."""
UNSEGMENTED_SHARE = 0.5
"""The share of a text, without white space, from which the text counts as written in one of these scripts."""
_MARKS = np.frombuffer("{}[]();=<>_".encode("utf-32-le"), dtype=np.uint32)
MARKS_SHARE = 0.035
"""The share of marks of source code from which a text counts as code. The median is 0.05 to 0.09 in Python and C, and
at most 0.016 in prose, abstracts with formulas, and messages."""
_INDENTED = re.compile(r"^(?:\t| {2,})\S", re.MULTILINE)
_QUOTED = re.compile(r"^\s*[>|]", re.MULTILINE)
QUOTING = 0.2
"""The share of texts with quoted lines from which the texts count as messages."""
SHORT = 300
"""The largest median number of characters of short texts."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of text."""

    preset: str
    """The preset for such texts."""
    reason: str
    """The reason for the choice."""


def kind_of(texts: Sequence[str], half: int | None = None) -> Kind:
    """Recognise the kind of some texts, or of their beginnings if ``half`` is the median length of the whole texts."""
    if half is None:
        half = half_of(texts)
    if not texts:
        return Kind("articles", "there is no text that says anything")
    has_no_spaces, has_marks = look(texts)
    if has_no_spaces:
        return Kind("unsegmented", "most texts are in a script without spaces between words")
    if has_marks and _are_most(_INDENTED.search(text) is not None for text in texts):
        return Kind("code", "most texts have the marks and the indentation of source code")
    if quote_others(texts):
        return Kind("web", "many texts quote lines of others, as messages do")
    if half <= SHORT:
        reason = f"the texts are short, half of them of {half:,} characters at most, and so are its shingles"
        return Kind("articles", reason)
    return Kind("articles", f"the texts are prose, half of them of {half:,} characters or more")


def half_of(texts: Sequence[str]) -> int:
    """Return the median number of characters, which half of the texts do not exceed."""
    return int(np.median([len(text) for text in texts] or [0]))


def quote_others(texts: Sequence[str]) -> bool:
    """Return whether many texts have quoted lines, as messages do."""
    return sum(_QUOTED.search(text) is not None for text in texts) > QUOTING * len(texts)


def look(texts: Sequence[str]) -> tuple[bool, bool]:
    """Return whether most texts are in scripts without spaces between words, and whether most look like code."""
    points = np.frombuffer("".join(f"{text}\n" for text in texts).encode("utf-32-le"), dtype=np.uint32)
    starts = starts_of(np.array([len(text) + 1 for text in texts], dtype=np.int64))[:-1]
    solid = np.maximum(np.add.reduceat(points > 0x20, starts, dtype=np.int64), 1)
    has_no_spaces = np.searchsorted(_UNSEGMENTED, points, side="right") % 2 == 1
    is_mark = np.isin(points, _MARKS)
    shares = [np.add.reduceat(each, starts, dtype=np.int64) / solid for each in (has_no_spaces, is_mark)]
    return _are_most(shares[0] > UNSEGMENTED_SHARE), _are_most(shares[1] > MARKS_SHARE)


def _are_most(facts: Iterable[Any]) -> bool:
    """Return whether more than half of the facts are true."""
    told = list(facts)
    return sum(map(bool, told)) > len(told) / 2
