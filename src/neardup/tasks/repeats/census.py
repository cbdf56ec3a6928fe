"""Passages counted: those whose places have most bytes together, their places, and how long passages are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.tasks.repeats.places import Spans
from neardup.types import I64

_RANGES = 44
"""Lengths of passages are counted in ranges that double, so many at most."""


@dataclass(frozen=True, slots=True)
class Census:
    """Passages that are listed: those first whose places have most bytes together."""

    rows: I64
    """int64[n]: of the span where each stands first."""
    spans: I64
    """int64[n]: its places."""
    documents: I64
    """int64[n]: documents that have one."""
    weight: I64
    """int64[n]: bytes of its places together."""
    most: I64
    """int64[n]: places of the window of it that has most, whatever passage these are counted for."""
    passage: I64
    """int64[spans of the run]: the number of each span's passage in this list, or -1."""
    lengths: list[tuple[int, int, int]]
    """Of a range of lengths the least bytes, the bytes below which it ends, and how many of all passages it has."""

    def __len__(self) -> int:
        return self.rows.size

    def places(self, quotas: I64) -> tuple[I64, I64]:
        """The first places of each passage, so many, in the order of the text.

        int64[n + 1]: where those of each begin; int64[places]: their rows of spans.
        """
        order = np.argsort(self.passage, kind="stable")
        order = order[int(np.count_nonzero(self.passage < 0)) :]
        begins = np.cumsum(np.concatenate(([0], self.spans)))
        inside = np.arange(order.size) - np.repeat(begins[:-1], self.spans)
        kept = order[inside < np.repeat(quotas, self.spans)]
        return np.cumsum(np.concatenate(([0], np.minimum(quotas, self.spans)))), kept


def take_census(spans: Spans, *, most: int, least: int) -> Census:
    """List the ``most`` passages that weigh most, of equal ones the first in the order of the text.

    ``least`` are the bytes from which lengths are counted. O(spans log spans).
    """
    firsts = spans.heads
    size = len(spans)
    number = np.bincount(spans.passage, minlength=size)[firsts]
    weight = np.zeros(size, dtype=np.int64)
    np.add.at(weight, spans.passage, spans.bytes)
    order = np.lexsort((firsts, -weight[firsts]))[:most]
    rows = firsts[order]
    passage = np.full(size, -1, dtype=np.int64)
    passage[rows] = np.arange(rows.size)
    passage = passage[spans.passage]
    edges = max(1, least) << np.arange(1, _RANGES, dtype=np.int64)
    counts = np.bincount(np.searchsorted(edges, spans.bytes[firsts], side="right"), minlength=_RANGES).tolist()
    some = np.flatnonzero(counts)
    ranges = zip([max(1, least), *edges.tolist()], [*edges.tolist(), 2 * int(edges[-1])], counts, strict=True)
    lengths = list(ranges)[some[0] : some[-1] + 1] if some.size else []
    documents = _documents(passage, spans.document, rows.size)
    return Census(rows, number[order], documents, weight[rows], spans.most[rows], passage, lengths)


def _documents(passage: I64, document: I64, passages: int) -> I64:
    """Count the documents that have a place of each passage, int64[passages]."""
    listed, width = passage >= 0, int(document.max(initial=0)) + 1
    held = np.unique(passage[listed] * width + document[listed]) // width
    return np.bincount(held, minlength=passages).astype(np.int64)
