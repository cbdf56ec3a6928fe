"""Texts divided into lines, sentences or paragraphs, trimmed of white space, and the size of such units.

A line ends at a line break: LF, CR LF or CR. A paragraph ends at a blank line: at white space with two line breaks or
more. A sentence ends where the library ``sentencex`` says so, by its rules for English, which know the marks that end a
sentence in many scripts; and at a blank line. What is nothing but white space is no unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from neardup.cutting import starts_of
from neardup.errors import MissingDependency
from neardup.kernels import segments, units
from neardup.params import Shingle
from neardup.stages.shingle import Hasher
from neardup.types import I64, Documents, Mask

UNITS = ("line", "sentence", "paragraph")
_BREAKS = {"line": 1, "paragraph": 2}
_LANGUAGE = "en"
"""It decides which abbreviations and ordinal numbers end no sentence; the marks are those of all languages."""
_WIDE_WHITE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
"""White space of several bytes, on which sentencex 1.0.32 fails behind an initial. A vertical tab in its place ends the
same sentences; a space, a tab or a line break does not, since of these its rules know more."""
_BLANK_LINE = re.compile(r"[\r\n](?<!\r(?=\n))[^\S\r\n]*(?=[\r\n])")
"""From the end of a line, which is no CR before LF, over white space to that of the next."""
_Segmenter = Callable[[str, str], list[dict[str, Any]]]


def split(documents: Documents, unit: str) -> tuple[I64, I64]:
    """Where each unit begins and ends in ``documents.data`` (int64[m, 2]), and how many each document has (int64[n]).

    ``unit`` is one of UNITS. MissingDependency where sentences are asked for and ``sentencex`` is not installed.
    """
    if unit == "sentence":
        return _sentences(documents)
    counts = np.empty(len(documents), dtype=np.int64)
    bounds = np.empty((documents.nbytes // 2 + len(documents), 2), dtype=np.int64)
    used = units.split_at_breaks(documents.data, documents.offsets, _BREAKS[unit], counts, bounds)
    return bounds[:used].copy(), counts


def check_unit(unit: str) -> None:
    """Raise MissingDependency unless texts can be divided so."""
    if unit == "sentence":
        _segmenter()


def _segmenter() -> _Segmenter:
    try:
        from sentencex import get_sentence_boundaries
    except ImportError as exc:
        raise MissingDependency("unit 'sentence' needs sentencex: pip install 'neardup[sentences]'") from exc
    found: _Segmenter = get_sentence_boundaries
    return found


def _sentences(documents: Documents) -> tuple[I64, I64]:
    segment = _segmenter()
    sizes: list[int] = []
    counts = np.empty(len(documents), dtype=np.int64)
    for d in range(len(documents)):
        text = documents.blob(d).decode("utf-8", "replace")
        # a piece goes from the end of one sentence to that of the next: white space between them is trimmed below
        ends = [0, *_ends_of_sentences(text, segment)]
        pieces = pairwise(ends)
        sizes += (stop - at if text.isascii() else len(text[at:stop].encode()) for at, stop in pieces)
        counts[d] = len(ends) - 1
    places = starts_of(np.array(sizes, dtype=np.int64)) + documents.offsets[0]
    bounds = np.stack((places[:-1], places[1:]), axis=1)
    assert int(places[-1]) == int(documents.offsets[-1]), "documents are UTF-8"
    units.trim(documents.data, bounds)
    of = np.repeat(np.arange(counts.size), counts)
    some = bounds[:, 1] > bounds[:, 0]
    return bounds[some], np.bincount(of[some], minlength=counts.size).astype(np.int64)


def _ends_of_sentences(text: str, segment: _Segmenter) -> list[int]:
    """Where the sentences of a text, and its paragraphs, end, in characters; what the library fails on is one sentence.

    The library is given a paragraph at a time: of more than 10 kB it works on pieces, whose borders would tell.
    """
    text = text if text.isascii() else _WIDE_WHITE.sub("\v", text)
    ends: list[int] = []
    for start, stop in pairwise([0, *(found.end() for found in _BLANK_LINE.finditer(text)), len(text)]):
        try:
            found = segment(_LANGUAGE, text[start:stop])
        except BaseException as exc:
            _raise_unless_panic(exc)
            found = []
        ends += [*(start + each["end_index"] for each in found), stop]
    return ends


def _raise_unless_panic(error: BaseException) -> None:
    """Raise it again, unless it is a failure inside the library, whose class is no Exception and cannot be imported."""
    if type(error).__name__ != "PanicException":
        raise error


def is_long(texts: Documents, kind: str, least: int) -> Mask:
    """Which texts have ``least`` or more of a ``kind``: ``byte``, ``char`` or ``word`` (letters, marks and numbers)."""
    counts = np.diff(texts.offsets)
    if kind == "char":
        segments.count_characters(texts.data, texts.offsets[:-1].copy(), texts.offsets[1:].copy(), counts)
    elif kind == "word":
        units.count_words(texts.data, texts.offsets, Hasher.private(Shingle("word", 1)).params.letters, counts)
    found: Mask = counts >= least
    return found
