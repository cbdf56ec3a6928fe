"""Texts as people wrote them, by row: pairs are found among normalised texts, and judged by these.

They are kept in the one reading of a run that is to show them, so that what can be read once only, such as stdin, can
be shown too. Of a text that normalisation did not change nothing is kept beside the normalised one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.arrays import numbers, strings
from neardup.cutting import cut
from neardup.kernels.equal import equal_bytes
from neardup.shown import as_text, cut_text
from neardup.spool import Texts
from neardup.types import I64, SLACK, Documents

PIECE_BYTES = 4 << 20
"""Bytes of texts that are brought at a time: decoded, cut and put in order they take some five times as much."""
_ROW = 64
"""Bytes of memory that a text takes beside its characters."""


def changed_texts(before: Documents, after: Documents) -> Documents:
    """Of a block, each document that normalisation changed, as it was; of the others nothing.

    So an empty one was not changed: normalisation makes nothing of nothing.
    """
    n = len(before)
    if before is after:
        return Documents(np.zeros(SLACK, dtype=np.uint8), np.zeros(n + 1, dtype=np.int64))
    lengths = np.diff(before.offsets)
    same = lengths == np.diff(after.offsets)
    at = np.flatnonzero(same)
    equal = np.empty(at.size, dtype=np.bool_)
    starts = (block.data.ctypes.data + block.offsets[:-1][at] for block in (before, after))
    equal_bytes(*starts, lengths[at], equal)
    same[at] = equal
    if not same.any():
        return before
    return Documents.from_bytes(b"" if same[i] else before.blob(i) for i in range(n))


@dataclass(frozen=True, slots=True)
class WrittenTexts:
    """The texts of all rows."""

    normalized: Texts
    changed: Texts
    """Those that normalisation changed, as they were; of others nothing."""
    is_items: bool

    def prepare(self, rows: I64) -> None:
        """Be told whose texts are asked for next, where they have to be brought from somewhere; here all are."""

    def pieces(self, *columns: I64, most: int | None) -> Iterator[slice]:
        """Cut columns of rows into pieces whose texts, cut as by ``take``, are about PIECE_BYTES or one row."""
        size = int(columns[0].size)
        for first in range(0, size, 1 << 16):
            end = min(first + (1 << 16), size)
            cost = np.sum([self._sizes(rows[first:end], most) for rows in columns], axis=0)
            for run in cut(cost, PIECE_BYTES):
                yield slice(first + run.start, first + run.stop)

    def _sizes(self, rows: I64, most: int | None) -> I64:
        """Bytes that the texts of some rows take, about."""
        sizes = np.maximum(self.normalized.lengths(rows), self.changed.lengths(rows))
        return _ROW + (sizes if most is None else np.minimum(sizes, _enough(most)))

    def take(self, rows: I64, most: int | None) -> Any:
        """Arrow large_string array[m]: the texts of some rows, in any order, cut by ``shown.cut_text`` where ``most``.

        Sets are their items with spaces between. Reads each text once, and of it no more than it takes.
        """
        distinct, place = np.unique(rows, return_inverse=True)
        is_changed = self.changed.lengths(distinct) > 0
        found = [""] * distinct.size
        limit = None if most is None else _enough(most)
        for texts, at in ((self.normalized, np.flatnonzero(~is_changed)), (self.changed, np.flatnonzero(is_changed))):
            for documents, local, part in texts.parts(distinct[at], limit):
                for inside, to in zip(local.tolist(), at[part].tolist(), strict=True):
                    text = as_text(documents.blob(inside, limit), is_items=self.is_items)
                    found[to] = text if most is None else cut_text(text, most)
        return strings(found).take(numbers(place.astype(np.int64)))


def _enough(most: int) -> int:
    """Bytes that hold the first ``most`` characters of any text, and the one behind them whole."""
    return 4 * (most + 2)
