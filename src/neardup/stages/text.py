"""Normalisation: from documents as read to documents as compared.

ASCII needs no Unicode form, so a block of it passes through untouched, buffer and all. Kernels write the texts of which
each character tells by itself what becomes of it. The others, mostly those with letters and marks to be joined, are
handed one by one to ``normalize_text``, the judge; the test errs on the side of asking it. Nothing here merges words of
another script: marks are never stripped.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from neardup.cutting import starts_of
from neardup.kernels import normal, utf8
from neardup.kernels.normal import Characters
from neardup.params import Normalize
from neardup.stages.characters import Table, is_punctuation, table_of
from neardup.stages.unicode_forms import FORMS, to_form
from neardup.types import I64, SLACK, U8, Documents, Mask

SEPARATOR = b"\xff"
"""Between the items of a document that is a set."""


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
        text = text.translate(_PUNCTUATION)
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
    if normalize.is_form_only and (normalize.form == "none" or _is_ascii(documents)):
        return documents
    table = table_of(normalize)
    found = np.full(len(documents), normal.MAPPED, dtype=np.uint8)
    if normalize.is_form_only:
        _with_all_pages(table, lambda now, wanted: normal.look(now, *_arrays(documents), items, found, wanted))
        if not found.any():
            return documents
    done = _mapped(documents, table, found, items=items) if (found == normal.MAPPED).any() else documents
    return _judged(documents, done, normalize, np.flatnonzero(found == normal.ASK).tolist(), items=items)


def _arrays(documents: Documents) -> tuple[U8, I64]:
    return documents.data, documents.offsets


def _is_ascii(documents: Documents) -> bool:
    return bool(utf8.is_ascii(documents.data, int(documents.offsets[0]), int(documents.offsets[-1])))


def _with_all_pages(table: Table, kernel: Callable[[Characters, Mask], int]) -> None:
    """Call a kernel until the table has the pages that it meets; the second time is the last but for threads."""
    wanted = np.zeros(normal.PAGES, dtype=np.bool_)
    while kernel(table.now, wanted):
        table.grow(wanted)
        wanted[:] = False


def _mapped(documents: Documents, table: Table, found: U8, *, items: bool) -> Documents:
    """The block with the documents found MAPPED as their characters become, and nothing of those that are ASK."""
    room = documents.nbytes + documents.nbytes // 4 + 4096  # texts that grow more are left to the judge
    out, offsets = np.zeros(room + SLACK, dtype=np.uint8), np.empty_like(documents.offsets)
    known = found.copy()

    def write(now: Characters, wanted: Mask) -> int:
        found[:] = known
        return int(normal.write(now, *_arrays(documents), items, found, wanted, out[: room + 8], offsets))

    _with_all_pages(table, write)
    return Documents(out, offsets)


def _judged(old: Documents, done: Documents, normalize: Normalize, places: list[int], *, items: bool) -> Documents:
    """``done`` with the documents at ``places`` normalised one by one; what lies between is copied in one piece."""
    pieces: list[bytes] = []
    sizes = np.diff(done.offsets)
    copied = 0
    for i in places:
        blob = old.blob(i)
        parts = blob.split(SEPARATOR) if items else [blob]
        texts = (normalize_text(part.decode("utf-8", "replace"), normalize) for part in parts)
        new = SEPARATOR.join(text.encode("utf-8", "replace") for text in texts)
        if new != done.blob(i):
            pieces += [done.data[done.offsets[copied] : done.offsets[i]].tobytes(), new]
            sizes[i] = len(new)
            copied = i + 1
    if not pieces:
        return done
    pieces.append(done.data[done.offsets[copied] : done.offsets[-1]].tobytes())
    return Documents(np.frombuffer(b"".join(pieces) + bytes(SLACK), dtype=np.uint8), starts_of(sizes))


class _Punctuation(dict[int, int | None]):
    """For ``str.translate``: punctuation becomes nothing. It learns the characters that it meets."""

    def __missing__(self, point: int) -> int | None:
        self[point] = kept = None if is_punctuation(chr(point)) else point
        return kept


_PUNCTUATION = _Punctuation()
