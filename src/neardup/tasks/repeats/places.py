"""All spans of a run as columns, and of each the passage that it is a place of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.engine.repeats.chains import ChainedRepeats
from neardup.engine.repeats.find import Repeats
from neardup.stages.repeats.segments import FIRST, IGNORED, Segments
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.spans import in_bytes
from neardup.types import I64

_SPAN_BYTES = 120
"""Of memory for each span, while passages are found."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans in the order of the text, and between them what stands in templates (IGNORED), which is of no passage.

    A passage is a span whose windows all stand there for the first time. Of what stands in another collection it is a
    stretch of that, all whose windows stand in the inputs; the longest span that comes from it tells it. With changes
    it is what was numbered as one, told by its first place.

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
    origin: I64
    """int64[n]: where the same text stands earlier, or in the other collection: the byte where it begins."""
    passage: I64
    """int64[n]: the row of the span that tells the passage of each: where its middle window stands first."""
    heads: I64
    """int64[passages]: the rows by which passages are told, rising."""

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


def read_spans(run: PassageRun) -> Spans:
    """All spans of a run; one pass over its segments.

    InputError where they need more memory than the limit, which the message names.
    """
    repeats, every = run.find(), run.segments()
    number = len(every)
    run.space.need_memory(number * _SPAN_BYTES, f"a page of {number:,} spans")
    offsets, as_read = repeats.text.offsets, repeats.originals.text.offsets
    table = np.empty((10, number), dtype=np.int64)
    at = 0
    for found in every:
        told, base = in_bytes(repeats, found), offsets[found.document]
        read, source = as_read[found.document], offsets[found.source] + found.source_start
        begin, origin = base + found.start, as_read[found.source] + told.source_start
        columns = (found.document, found.kind, begin, base + found.end, read + told.start, read + told.end, found.most)
        for column, values in zip(table, (*columns, origin, source, offsets[found.source + 1]), strict=True):
            column[at : at + len(found)] = values
        at += len(found)
    document, kind, begin, end, low, high, most, origin, source, source_stop = table
    rows = np.flatnonzero(kind != IGNORED)
    if isinstance(repeats, ChainedRepeats):
        passage = np.arange(number)
        _, first, numbers = np.unique(repeats.found.passage, return_index=True, return_inverse=True)
        passage[rows], heads = rows[first][numbers], np.sort(rows[first])
    elif repeats.choice.is_across:
        passage = np.arange(number)
        some = (begin[rows], end[rows], source[rows], source_stop[rows])
        passage[rows] = rows[_by_stretch(*some, repeats.window.span)]
        heads = np.unique(passage[rows])
    else:
        passage = _passages(begin, end, np.where(kind == FIRST, 0, begin - source), repeats)
        heads = np.flatnonzero(kind == FIRST)
    return Spans(document, kind, begin, end, low, high, most, origin, passage, heads)


def _passages(begin: I64, end: I64, shift: I64, repeats: Repeats) -> I64:
    """int64[n]: for each span the row of the one in which its middle window stands first.

    Each window is in one span, and ``shift`` places before it stands an equal one, if the span is not its first place;
    so one goes back until it is: at once to before the span, whose period ``shift`` is where it is shorter. The sources
    of spans are first places of some window, so few steps are made. Where spans were left out, one of which the first
    place is not there is its own, as is what stands in a template, whose place is behind it.
    """
    span = repeats.window.span
    place = begin + (end - begin - span) // 2
    row = np.arange(begin.size)
    left = np.flatnonzero(shift > 0)
    while left.size:
        back, inside = shift[row[left]], place[left] - begin[row[left]]
        place[left] -= back * (inside // back + 1)
        to = np.searchsorted(begin, place[left], side="right") - 1
        is_there = (to >= 0) & (place[left] <= end[to] - span)
        left, to = left[is_there], to[is_there]
        row[left] = to
        left = left[shift[to] > 0]
    return row


def _by_stretch(begin: I64, end: I64, source: I64, source_stop: I64, span: int) -> I64:
    """int64[n]: for each span the longest one, the first of equals, of those that come from one stretch of text.

    A stretch is of windows that follow each other in one document of the other collection, in which sources end
    before ``source_stop``.
    """
    if not begin.size:
        return np.empty(0, dtype=np.int64)
    order = np.lexsort((source_stop, source))
    first, stop = source[order], source_stop[order]
    behind = np.maximum.accumulate(np.minimum(first + (end - begin)[order], stop) - span + 1)
    is_new = np.append(True, (first[1:] > behind[:-1]) | (stop[1:] != stop[:-1]))
    stretch = np.empty_like(order)
    stretch[order] = np.cumsum(is_new) - 1
    best = np.lexsort((np.arange(begin.size), begin - end, stretch))
    heads = best[np.append(True, np.diff(stretch[best]) > 0)]
    found: I64 = heads[stretch]
    return found
