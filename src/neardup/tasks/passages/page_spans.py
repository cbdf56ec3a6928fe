"""All spans of a run as columns, and of each the passage that it is a place of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.stages.repeats.segments import FIRST, Segments
from neardup.tasks.passages.run import PassageRun
from neardup.tasks.passages.spans import in_bytes
from neardup.types import I64

_SPAN_BYTES = 96
"""Of memory for each span, while passages are found."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans in the order of the text. A passage is a span whose windows all stand there for the first time.

    Places are of the texts end to end: ``begin`` and ``end`` in the units that were compared, ``low`` and ``high`` in
    bytes of the texts as they were read.
    """

    document: I64
    kind: I64
    begin: I64
    end: I64
    low: I64
    high: I64
    most: I64
    """int64[n]: places of the window that has most."""
    passage: I64
    """int64[n]: the row of the passage in which the middle window of each span stands for the first time."""

    def __len__(self) -> int:
        return self.document.size

    @property
    def bytes(self) -> I64:
        """int64[n]: of each span."""
        return self.high - self.low

    def rows_of(self, document: int) -> slice:
        """The spans of a document."""
        return slice(*np.searchsorted(self.document, (document, document + 1)).tolist())

    def segments(self, rows: slice, offsets: I64) -> Segments:
        """Spans as segments in units that were compared, for ``find_cuts``, which looks at no sources."""
        base, none = offsets[self.document[rows]], np.zeros(len(self.document[rows]), dtype=np.int64)
        begin, end = self.begin[rows] - base, self.end[rows] - base
        return Segments(self.document[rows], begin, end, self.kind[rows], none, none, none, none, none)


def read_spans(run: PassageRun, number: int) -> Spans:
    """All ``number`` spans of a run; one pass over its segments.

    InputError where they need more memory than the limit, which the message names.
    """
    repeats = run.find()
    run.space.need_memory(number * _SPAN_BYTES, f"a page of {number:,} spans")
    offsets, as_read = repeats.text.offsets, repeats.originals.text.offsets
    table = np.empty((8, number), dtype=np.int64)
    at = 0
    for found in run.segments():
        told, base = in_bytes(repeats, found), offsets[found.document]
        read = as_read[found.document]
        begin = base + found.start
        shift = np.where(found.kind == FIRST, 0, begin - offsets[found.source] - found.source_start)
        columns = (found.document, found.kind, begin, base + found.end, read + told.start, read + told.end, found.most)
        for column, values in zip(table, (*columns, shift), strict=True):
            column[at : at + len(found)] = values
        at += len(found)
    document, kind, begin, end, low, high, most, back = table
    return Spans(document, kind, begin, end, low, high, most, _passages(begin, end, back, repeats.window.span))


def _passages(begin: I64, end: I64, shift: I64, span: int) -> I64:
    """int64[n]: for each span the row of the one in which its middle window stands first.

    Each window is in one span, and ``shift`` places before it stands an equal one, if the span is not its first place;
    so one goes back until it is: at once to before the span, whose period ``shift`` is where it is shorter. The sources
    of spans are first places of some window, so few steps are made. Where spans were left out, one of which the first
    place is not there is its own.
    """
    place = begin + (end - begin - span) // 2
    row = np.arange(begin.size)
    left = np.flatnonzero(shift)
    while left.size:
        back, inside = shift[row[left]], place[left] - begin[row[left]]
        place[left] -= back * (inside // back + 1)
        to = np.searchsorted(begin, place[left], side="right") - 1
        is_there = (to >= 0) & (place[left] <= end[to] - span)
        left, to = left[is_there], to[is_there]
        row[left] = to
        left = left[shift[to] > 0]
    return row
