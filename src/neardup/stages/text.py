"""Normalisation: from documents as read to documents as compared.

ASCII needs no Unicode form, so a block of it passes through untouched, buffer and all. Of other texts only those with a
character that a form could change are handed to ``unicode_forms``, the judge; the test errs on the side of asking it.
Nothing here merges words of another script: marks are never stripped.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

import numpy as np

from neardup.cutting import starts_of
from neardup.kernels import normal, utf8
from neardup.params import Normalize
from neardup.stages.unicode_forms import FORMS, to_form
from neardup.types import SLACK, U8, Documents

SEPARATOR = b"\xff"
"""Between the items of a document that is a set."""

INERT_RANGES = (
    (0x0000, 0x02FF),  # Latin with its precomposed letters, IPA
    (0x0400, 0x0482),  # Cyrillic
    (0x048A, 0x0590),  # Cyrillic, Armenian
    (0x0E01, 0x0E37),  # Thai letters (its marks are not inert)
    (0x10D0, 0x10FF),  # Georgian
    (0x2010, 0x2027),  # punctuation
    (0x3001, 0x3029),  # punctuation of East Asia
    (0x3041, 0x3096),  # Hiragana
    (0x30A1, 0x30FF),  # Katakana
    (0x4E00, 0x9FFF),  # unified ideographs
    (0xAC00, 0xD7A3),  # Hangul syllables
    (0xFF01, 0xFF60),  # full-width forms
)
"""Code points that NFC neither changes nor joins to a neighbour that is itself in these ranges. Tested one by one."""


def normalize_text(text: str, normalize: Normalize) -> str:
    """Normalise one text: form, case folding and form again, punctuation, white space. The plain definition.

    >>> normalize_text("Ａ  rose,\\nis", Normalize.parse("nfkc,casefold,punct,space"))
    'a rose is'
    """
    form = FORMS.get(normalize.form)
    if form is not None:
        text = to_form(text, form)
    if normalize.casefold:
        text = text.casefold()
        if form is not None:
            text = to_form(text, form)
    if normalize.punct:
        text = text.translate(_punctuation())
    if normalize.space:
        text = " ".join(text.split())
    elif normalize.strip:
        text = re.sub(r"\s+", "", text)
    return text


def normalize_documents(documents: Documents, normalize: Normalize, *, items: bool = False) -> Documents:
    """Normalise a block; the same block when nothing changes. Invalid UTF-8 is replaced by U+FFFD where it is met.

    With ``items`` documents are sets, items apart by SEPARATOR, each normalised by itself: steps may make items equal,
    never join them.
    """
    if normalize.form == "none" and normalize.is_form_only:
        return documents
    first, last = int(documents.offsets[0]), int(documents.offsets[-1])
    ascii_only = utf8.is_ascii(documents.data, first, last)
    if ascii_only and normalize.is_form_only:
        return documents
    if ascii_only and not items:
        return _ascii_documents(documents, normalize)
    needs = np.ones(len(documents), dtype=np.bool_)
    if normalize.is_form_only and normalize.form == "nfc":
        normal.mark_not_inert(documents.data, documents.offsets, _inert_ends(), needs)
    elif normalize.is_form_only:
        normal.mark_not_ascii(documents.data, documents.offsets, needs)
    return _replaced(documents, normalize, np.flatnonzero(needs).tolist(), items=items)


def _replaced(documents: Documents, normalize: Normalize, places: list[int], *, items: bool) -> Documents:
    """The block with the documents at ``places`` normalised one by one; what lies between is copied in one piece."""
    pieces: list[bytes] = []
    sizes = np.diff(documents.offsets)
    copied = 0
    for i in places:
        old = documents.blob(i)
        parts = old.split(SEPARATOR) if items else [old]
        texts = (normalize_text(part.decode("utf-8", "replace"), normalize) for part in parts)
        new = SEPARATOR.join(text.encode("utf-8", "replace") for text in texts)
        if new != old:
            pieces += [documents.data[documents.offsets[copied] : documents.offsets[i]].tobytes(), new]
            sizes[i] = len(new)
            copied = i + 1
    if not pieces:
        return documents
    pieces.append(documents.data[documents.offsets[copied] : documents.offsets[-1]].tobytes())
    return Documents(np.frombuffer(b"".join(pieces) + bytes(SLACK), dtype=np.uint8), starts_of(sizes))


def _ascii_documents(documents: Documents, normalize: Normalize) -> Documents:
    out = np.zeros(documents.nbytes + SLACK, dtype=np.uint8)
    offsets = np.empty_like(documents.offsets)
    space = 1 if normalize.space else (2 if normalize.strip else 0)
    table = _ascii_map(normalize.casefold, normalize.punct)
    normal.map_ascii(documents.data, documents.offsets, table, space, out, offsets)
    return Documents(out, offsets)


@lru_cache(maxsize=1)
def _punctuation() -> dict[int, None]:
    return {point: None for point in range(sys.maxunicode + 1) if unicodedata.category(chr(point)).startswith("P")}


@lru_cache(maxsize=4)
def _ascii_map(casefold: bool, punct: bool) -> U8:
    """What becomes of each ASCII byte: itself, another, 0x80 for white space, 0xFF for nothing."""
    table = np.arange(128, dtype=np.uint8)
    for byte in range(128):
        char = chr(byte)
        if char.isspace():
            table[byte] = 0x80
        elif punct and unicodedata.category(char).startswith("P"):
            table[byte] = 0xFF
        elif casefold:
            table[byte] = ord(char.casefold())
    return table


@lru_cache(maxsize=1)
def _inert_ends() -> np.typing.NDArray[np.int64]:
    """Boundaries of INERT_RANGES, rising: a code point is inert when an odd number of them is at or below it."""
    ends = [end for low, high in INERT_RANGES for end in (low, high + 1)]
    return np.array(ends, dtype=np.int64)
