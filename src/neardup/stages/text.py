"""Normalisation: turn documents as read into documents as compared.

ASCII is already in every Unicode form, so if only a form is applied, a block of ASCII is returned unchanged, buffer and
all. One pass normalises the texts of which each character can be mapped on its own. The other texts are put into the
form first, then take that pass again, and those still left take one step after another. ``normalize_text`` defines the
result. Marks are never stripped, because that would merge different words of other scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from neardup.cutting import starts_of
from neardup.kernels import normal, utf8
from neardup.kernels.normal import Characters
from neardup.kernels.reading import copy_pieces
from neardup.params import Normalize
from neardup.stages.characters import FORMS, Table, is_punctuation, table_of, with_all_pages
from neardup.stages.unicode_forms import formed, to_form
from neardup.types import I64, SLACK, U8, Documents, Mask

SEPARATOR = b"\xff"
"""The byte between the items of a document that is a set."""


def normalize_text(text: str, normalize: Normalize) -> str:
    """Normalise one text: form, case folding and form again, digits, punctuation, white space. This is the definition.

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
    if normalize.digits:
        text = text.translate(_DIGITS)
    if normalize.punct:
        text = text.translate(_PUNCTUATION)
    if normalize.space:
        text = " ".join(text.split())
    elif normalize.strip:
        text = re.sub(r"\s+", "", text)
    return text


def normalize_documents(documents: Documents, normalize: Normalize, *, items: bool = False) -> Documents:
    """Normalise a block, and return the same block if nothing changes. U+FFFD replaces any invalid UTF-8 on the way.

    With ``items``, documents are sets of items between SEPARATOR, each normalised by itself. The steps may make two
    items equal, but never join them.
    """
    if normalize.is_form_only and (normalize.form == "none" or _is_ascii(documents)):
        return documents
    done, left = _by_characters(documents, normalize, items=items)
    if left.size == 0:
        return done
    some = formed(chosen(documents, left), Normalize(normalize.form), items=items)
    if not normalize.is_form_only:
        some = _by_steps(some, normalize, items=items)
    return _replaced(done, left, some)


def _by_characters(documents: Documents, normalize: Normalize, *, items: bool) -> tuple[Documents, I64]:
    """Normalise the documents whose characters can be mapped one by one; return the block and the other indices."""
    table = table_of(normalize)
    found = np.full(len(documents), normal.UNSEEN if normalize.is_form_only else normal.MAPPED, dtype=np.uint8)
    if normalize.is_form_only:
        given = documents.data, documents.offsets
        with_all_pages(table, lambda now, wanted: int(normal.look(now, *given, items, found, wanted)))
    done = _mapped(documents, table, found, items=items) if (found == normal.MAPPED).any() else documents
    return done, np.flatnonzero(found == normal.ASK)


def _is_ascii(documents: Documents) -> bool:
    return bool(utf8.is_ascii(documents.data, int(documents.offsets[0]), int(documents.offsets[-1])))


def _mapped(documents: Documents, table: Table, found: U8, *, items: bool) -> Documents:
    """Copy the SAME documents, map the characters of the MAPPED ones, and leave the others empty, marked ASK."""
    room = documents.nbytes + documents.nbytes // 4 + 4096  # texts that grow more are left
    out, offsets = np.zeros(room + SLACK, dtype=np.uint8), np.empty_like(documents.offsets)
    known = found.copy()

    def write(now: Characters, wanted: Mask) -> int:
        found[:] = known
        given = documents.data, documents.offsets
        return int(normal.write(now, *given, items, found, wanted, out[: room + 8], offsets))

    with_all_pages(table, write)
    return Documents(out, offsets)


def _by_steps(documents: Documents, normalize: Normalize, *, items: bool) -> Documents:
    """Apply the steps after the form to documents that are in it: in one pass if possible, else one after another."""
    done, left = _by_characters(documents, normalize, items=items)
    if left.size == 0:
        return done
    folded = formed(chosen(documents, left), Normalize(normalize.form, normalize.casefold), items=items)
    some, doubtful = _by_characters(folded, replace(normalize, form="none", casefold=False), items=items)
    assert doubtful.size == 0, "digits, punctuation and white space become shorter, whatever surrounds them"
    return _replaced(done, left, some)


def chosen(documents: Documents, places: I64) -> Documents:
    """Return the documents of a block at some indices, copied unless they are the whole block."""
    if places.size == len(documents):
        return documents
    begins = documents.offsets[places]
    sizes = documents.offsets[places + 1] - begins
    offsets = starts_of(sizes)
    data = np.empty(int(offsets[-1]) + SLACK, dtype=np.uint8)
    copy_pieces(documents.data, begins, sizes, data, offsets)
    return Documents(data, offsets)


def arranged(blocks: Sequence[Documents], order: I64) -> Documents:
    """Join blocks into one in another order: document i of the result is document ``order[i]`` of all blocks."""
    sizes = np.concatenate([np.diff(block.offsets) for block in blocks])
    offsets = starts_of(sizes[order])
    data = np.empty(int(offsets[-1]) + SLACK, dtype=np.uint8)
    places = np.empty(order.size, dtype=np.int64)
    places[order] = offsets[:-1]
    first = 0
    for block in blocks:
        some = slice(first, first + len(block))
        copy_pieces(block.data, block.offsets[:-1].copy(), sizes[some], data, places[some])
        first = some.stop
    return Documents(data, offsets)


def _replaced(documents: Documents, places: I64, others: Documents) -> Documents:
    """Replace the documents at some indices by others; return the same block if nothing changes."""
    if places.size == 0:
        return documents
    before, after = chosen(documents, places), others.offsets[:-1].copy()
    sizes = np.diff(documents.offsets)
    sizes[places] = np.diff(others.offsets)
    if np.array_equal(np.diff(before.offsets), sizes[places]) and np.array_equal(_bytes(before), _bytes(others)):
        return documents
    offsets = starts_of(sizes)
    data = np.zeros(int(offsets[-1]) + SLACK, dtype=np.uint8)
    kept = np.delete(np.arange(sizes.size), places)
    copy_pieces(documents.data, documents.offsets[kept], sizes[kept], data, offsets[kept])
    copy_pieces(others.data, after, sizes[places], data, offsets[places])
    return Documents(data, offsets)


def _bytes(documents: Documents) -> U8:
    return documents.data[documents.offsets[0] : documents.offsets[-1]]


class _Translation(dict[int, int | None]):
    """A table for ``str.translate`` that stores the characters that it meets."""

    def __init__(self, become: Callable[[str], int | None]) -> None:
        """``become`` returns the code point that replaces a character, or None to remove it."""
        self._become = become

    def __missing__(self, point: int) -> int | None:
        self[point] = kept = self._become(chr(point))
        return kept


_PUNCTUATION = _Translation(lambda char: None if is_punctuation(char) else ord(char))
_DIGITS = _Translation(lambda char: ord("0" if char.isdecimal() else char))
