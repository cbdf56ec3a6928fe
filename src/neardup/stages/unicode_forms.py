"""Unicode forms in linear time, for blocks by a kernel and for single texts by ``unicodedata`` where that is safe.

A form puts the marks on a letter into the order of their combining classes, and ``unicodedata`` sorts them by
insertion. On a run that alternates between two classes that is quadratic: 40,000 marks take a second or more, 400,000
minutes. The kernel takes at most 56 looks at each mark, so a single text that may have a long run goes there, too.
"""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from neardup.kernels import forming
from neardup.kernels.normal import Characters
from neardup.params import Normalize
from neardup.stages.characters import DECOMPOSED, Form, parts_of, with_all_pages
from neardup.types import SLACK, Documents, Mask

_LONG = 256
"""The length of a run of marks that ``unicodedata`` never sorts. With fewer, a mark costs it at most 0.4 µs."""


def to_form(text: str, form: Form) -> str:
    """Return ``unicodedata.normalize(form, text)``, in linear time.

    >>> to_form("e\\u0301\\u0323", "NFC") == "\\u1eb9\\u0301"
    True
    """
    # A run of _LONG marks covers one of these places; in other text few of them are marks.
    if len(text) < _LONG or not any(_is_mark(char, form) for char in text[::_LONG]):
        return unicodedata.normalize(form, text)
    parts = re.split("([\ud800-\udfff])", text)  # lone surrogates have no UTF-8, and nothing composes with them
    documents = formed(Documents.from_texts(parts[::2]), Normalize(form.lower()), items=False)
    parts[::2] = [documents.blob(i).decode() for i in range(len(documents))]
    return "".join(parts)


def _is_mark(char: str, form: Form) -> bool:
    """Whether a character decomposes to marks: U+0F73, which is not a mark itself, does, and U+FF9E does in NFKC."""
    return unicodedata.combining(unicodedata.normalize(DECOMPOSED[form], char)[0]) > 0


def formed(documents: Documents, normalize: Normalize, *, items: bool) -> Documents:
    """Put documents into a form, after folding the case if ``normalize`` says so. U+FFFD replaces invalid UTF-8.

    With ``items``, documents are sets of items between bytes 0xFF, and each item is put into the form by itself.
    """
    out, offsets = np.empty(documents.nbytes + documents.nbytes // 4 + 4096, np.uint8), np.empty_like(documents.offsets)
    marks = np.empty(1 << 12, dtype=np.uint32)

    def write(now: Characters, wanted: Mask) -> int:
        nonlocal out, marks
        given = documents.data, documents.offsets
        missing = int(forming.form(now, *given, items, wanted, marks, out[:-SLACK], offsets))
        if missing == forming.FULL:  # a character may become 33 bytes, but few texts need more room than they take
            out = np.empty(2 * out.size, dtype=np.uint8)
        elif missing == forming.LONG:
            marks = np.empty(16 * marks.size, dtype=np.uint32)
        return missing

    with_all_pages(parts_of(normalize), write)
    out[offsets[-1] :][:SLACK] = 0
    return Documents(out, offsets)
