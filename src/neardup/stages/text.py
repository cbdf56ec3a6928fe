"""Normalisation: turn documents as read into documents as compared.

ASCII is already in every Unicode form, so if only a form is applied, a block of ASCII is returned unchanged, buffer and
all. Kernels normalise a text if each of its characters can be mapped on its own, if need be after composing letters
with the marks that follow. All other texts, and doubtful ones, go one by one to ``normalize_text``, which defines the
result. Marks are never stripped, because that would merge different words of other scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from neardup.cutting import starts_of
from neardup.kernels import normal, utf8
from neardup.kernels.normal import Characters
from neardup.kernels.reading import copy_pieces
from neardup.params import Normalize
from neardup.stages.characters import Table, composites, is_punctuation, table_of
from neardup.stages.unicode_forms import FORMS, to_form
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
    asked, some = np.arange(left.size), chosen(documents, left)
    if normalize.form != "none":
        some, asked = _by_characters(_composed(some), normalize, items=items)
    some = _replaced(some, asked, _judged(chosen(documents, left[asked]), normalize, items=items))
    return _replaced(done, left, some)


def _by_characters(documents: Documents, normalize: Normalize, *, items: bool) -> tuple[Documents, I64]:
    """Normalise the documents whose characters can be mapped one by one; return the block and indices of the others."""
    table = table_of(normalize)
    found = np.full(len(documents), normal.UNSEEN if normalize.is_form_only else normal.MAPPED, dtype=np.uint8)
    if normalize.is_form_only:
        with_all_pages(table, lambda now, wanted: normal.look(now, *_arrays(documents), items, found, wanted))
    done = _mapped(documents, table, found, items=items) if (found == normal.MAPPED).any() else documents
    return done, np.flatnonzero(found == normal.ASK)


def _arrays(documents: Documents) -> tuple[U8, I64]:
    return documents.data, documents.offsets


def _is_ascii(documents: Documents) -> bool:
    return bool(utf8.is_ascii(documents.data, int(documents.offsets[0]), int(documents.offsets[-1])))


def with_all_pages(table: Table, kernel: Callable[[Characters, Mask], int]) -> None:
    """Call a kernel until the table has all pages that it needs: twice at most, unless other threads interfere."""
    wanted = np.zeros(normal.PAGES, dtype=np.bool_)
    while kernel(table.now, wanted):
        table.grow(wanted)
        wanted[:] = False


def _mapped(documents: Documents, table: Table, found: U8, *, items: bool) -> Documents:
    """Copy the SAME documents, map the characters of the MAPPED ones, and leave the ASK ones empty."""
    room = documents.nbytes + documents.nbytes // 4 + 4096  # texts that grow more go to ``normalize_text``
    out, offsets = np.zeros(room + SLACK, dtype=np.uint8), np.empty_like(documents.offsets)
    known = found.copy()

    def write(now: Characters, wanted: Mask) -> int:
        found[:] = known
        return int(normal.write(now, *_arrays(documents), items, found, wanted, out[: room + 8], offsets))

    with_all_pages(table, write)
    return Documents(out, offsets)


def _composed(documents: Documents) -> Documents:
    """Compose letters with the marks that follow them. The bytes change, but the Unicode forms stay the same."""
    out, offsets = np.zeros(documents.nbytes + SLACK, dtype=np.uint8), np.empty_like(documents.offsets)
    normal.compose(*_arrays(documents), *composites(), out, offsets)
    return Documents(out, offsets)


def _judged(documents: Documents, normalize: Normalize, *, items: bool) -> Documents:
    """Normalise the documents one by one with ``normalize_text``."""
    texts: list[bytes] = []
    for i in range(len(documents)):
        parts = documents.blob(i).split(SEPARATOR) if items else [documents.blob(i)]
        written = (normalize_text(part.decode("utf-8", "replace"), normalize) for part in parts)
        texts.append(SEPARATOR.join(text.encode("utf-8", "replace") for text in written))
    return Documents.from_bytes(texts)


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


class _Punctuation(dict[int, int | None]):
    """A table for ``str.translate`` that removes punctuation. It stores the characters that it meets."""

    def __missing__(self, point: int) -> int | None:
        self[point] = kept = None if is_punctuation(chr(point)) else point
        return kept


_PUNCTUATION = _Punctuation()


class _Digits(dict[int, int]):
    """A table for ``str.translate`` that turns decimal digits into 0. It stores the characters that it meets."""

    def __missing__(self, point: int) -> int:
        self[point] = kept = ord("0") if chr(point).isdecimal() else point
        return kept


_DIGITS = _Digits()
