"""Normalisation that remembers: for each character of the normalised text, where in the original it came from.

A Unicode form is not a matter of single characters, so a text is cut where the form is separable: before a character
whose decomposition begins with a starter that never composes with what stands before it. A piece that the form
changes belongs to its characters as a whole; all others keep their places one by one. Places are code points.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.params import Normalize
from neardup.stages.characters import DECOMPOSED, FORMS, Form, joining
from neardup.stages.unicode_forms import to_form
from neardup.types import I64, U32, Mask

_SPACE = 0x20


@dataclass(frozen=True, slots=True)
class Traced:
    """A normalised text and the place of each of its characters in the original. Both arrays never fall."""

    text: str
    starts: I64
    """int64[len(text)]: first original code point that character i came from."""
    ends: I64
    """int64[len(text)]: one past the last."""


def trace(text: str, normalize: Normalize) -> Traced:
    """Normalise one text as ``text.normalize_text`` does, with offsets. Linear.

    >>> traced = trace("Stra\\u00dfe", Normalize.parse("nfc,casefold"))
    >>> traced.text, traced.starts.tolist()
    ('strasse', [0, 1, 2, 3, 4, 4, 5])
    """
    places = np.arange(len(text), dtype=np.int64)
    traced = Traced(text, places, places + 1)
    form = FORMS.get(normalize.form)
    if form is not None:
        traced = _formed(traced, form)
    if normalize.casefold:
        traced = _folded(traced)
        if form is not None:
            traced = _formed(traced, form)
    if normalize.digits:
        zeros = "".join("0" if char.isdecimal() else char for char in traced.text)
        traced = Traced(zeros, traced.starts, traced.ends)
    if normalize.punct:
        traced = _without(traced, lambda char: unicodedata.category(char).startswith("P"))
    if normalize.space:
        traced = _spaced(traced)
    elif normalize.strip:
        traced = _without(traced, str.isspace)
    return traced


def _formed(traced: Traced, form: Form) -> Traced:
    """The Unicode form, piece by piece."""
    text = traced.text
    whole = to_form(text, form)
    if whole == text:
        return traced
    codes = _codes(text)
    cuts = _where(codes, lambda char: _is_separable(char, form))
    formed, counts, lasts = _by_pieces(text, codes, cuts, form)
    if formed != whole:  # a newer Unicode than the rule was made for: before ASCII every form is separable
        formed, counts, lasts = _by_pieces(text, codes, codes < 0x80, form)
    sources = np.repeat(np.arange(codes.size), counts)
    return Traced(formed, traced.starts[sources], traced.ends[lasts[sources]])


def _by_pieces(text: str, codes: U32, cuts: Mask, form: Form) -> tuple[str, I64, I64]:
    """The form of each piece, pieces beginning where ``cuts`` is set.

    Returns the text; for each original character how many new ones stand for it, those of a changed piece all at its
    first; and the last character of what these came from.
    """
    cuts[:1] = True
    begins = np.flatnonzero(cuts)
    sizes = np.diff(begins, append=codes.size)
    single = {ord(char): unicodedata.normalize(form, char) for char in set(text)}
    many = np.flatnonzero(sizes > 1)
    known: dict[str, str] = {}  # a text has few kinds of pieces
    parts: list[str] = []
    changed: list[int] = []
    lengths: list[int] = []
    copied = 0
    for piece, begin, size in zip(many.tolist(), begins[many].tolist(), sizes[many].tolist(), strict=True):
        old = text[begin : begin + size]
        new = known.get(old)
        if new is None:
            new = known[old] = to_form(old, form)
        parts += (text[copied:begin].translate(single), new)
        copied = begin + size
        if new != old:
            changed.append(piece)
            lengths.append(len(new))
    parts.append(text[copied:].translate(single))
    is_changed = np.zeros(begins.size, dtype=np.bool_)
    is_changed[changed] = True
    counts = _table(codes, lambda char: len(single[ord(char)]), np.int64)[codes]
    counts[np.repeat(sizes > 1, sizes)] = 1
    counts[np.repeat(is_changed, sizes)] = 0
    counts[begins[changed]] = lengths
    lasts = np.arange(codes.size)
    lasts[begins[changed]] += sizes[changed] - 1
    return "".join(parts), counts, lasts


def _is_separable(char: str, form: Form) -> bool:
    """Whether whatever stands before ``char`` takes its form without it."""
    first = unicodedata.normalize(DECOMPOSED[form], char)[0]
    return unicodedata.combining(first) == 0 and first not in joining()


def _folded(traced: Traced) -> Traced:
    """Case folding: each character by itself, and some become several."""
    folded = traced.text.casefold()
    if folded == traced.text:
        return traced
    codes = _codes(traced.text)
    counts = _table(codes, lambda char: len(char.casefold()), np.int64)[codes]
    sources = np.repeat(np.arange(codes.size), counts)
    return Traced(folded, traced.starts[sources], traced.ends[sources])


def _without(traced: Traced, is_dropped: Callable[[str], bool]) -> Traced:
    """All characters but some."""
    codes = _codes(traced.text)
    kept = ~_where(codes, is_dropped)
    if kept.all():
        return traced
    return Traced(_text(codes[kept]), traced.starts[kept], traced.ends[kept])


def _spaced(traced: Traced) -> Traced:
    """A run of white space as one space that came from all of it; none at the ends."""
    codes = _codes(traced.text)
    white = _where(codes, str.isspace)
    ink = np.flatnonzero(~white)
    if ink.size == 0:
        return Traced("", traced.starts[:0], traced.ends[:0])
    inner = slice(int(ink[0]), int(ink[-1]) + 1)
    codes, white = np.where(white, np.uint32(_SPACE), codes)[inner], white[inner]
    starts, ends = traced.starts[inner], traced.ends[inner].copy()
    begins = white & ~np.roll(white, 1)  # neither end is white, so nothing is rolled in
    ends[begins] = ends[white & ~np.roll(white, -1)]
    kept = ~white | begins
    return Traced(_text(codes[kept]), starts[kept], ends[kept])


def _codes(text: str) -> U32:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint32, copy=False)


def _text(codes: U32) -> str:
    return codes.astype("<u4", copy=False).tobytes().decode("utf-32-le", "surrogatepass")


def _where(codes: U32, holds: Callable[[str], bool]) -> Mask:
    """Which code points have a property; it is asked once for each that occurs."""
    mask: Mask = _table(codes, holds, np.bool_)[codes]
    return mask


def _table(codes: U32, value: Callable[[str], int], dtype: type[np.generic]) -> NDArray[Any]:
    table = np.zeros(int(codes.max(initial=0)) + 1, dtype=dtype)  # not of all code points: texts are many and short
    table[codes] = 1
    points = np.flatnonzero(table)
    table[points] = [value(chr(point)) for point in points.tolist()]
    return table
