"""The places of the passages of a page, and what is marked in the documents of a page: one walk over the segments."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from neardup.engine.repeats.find import Repeats
from neardup.stages.repeats.policies import Cuts, find_cuts
from neardup.stages.repeats.segments import Segments
from neardup.stages.repeats.surgery import joint, snap_cuts
from neardup.tasks.passages.page_census import Census, Known
from neardup.tasks.passages.run import Cutting, PassageRun, in_bytes, whole_documents
from neardup.types import I64

LISTED = 2000
"""Marks of a document that a page has; behind the last one its text is shown without."""


@dataclass(frozen=True, slots=True)
class Places:
    """Places of passages, those of one passage in the order of the input."""

    first: I64
    """int64[passages + 1]: where the places of each passage begin."""
    document: I64
    """int64[places]: rows."""
    start: I64
    """int64[places]: first byte in the document."""
    end: I64

    def of(self, passage: int) -> list[tuple[int, int, int]]:
        """Row, first byte and the byte behind the last of each place of a passage."""
        part = slice(*self.first[passage : passage + 2].tolist())
        return list(
            zip(self.document[part].tolist(), self.start[part].tolist(), self.end[part].tolist(), strict=True)
        )


@dataclass(slots=True)
class Marked:
    """What is marked in a document: bytes of its text as it was read."""

    marks: I64
    """int64[m, 4]: start, end, passage or -1, and whether it is cut; rising and apart."""
    cuts: list[tuple[int, int, str]]
    """Start, end, and the white space that takes the place of each cut."""
    left_out: int
    """Marks that there are behind these."""


@dataclass(slots=True)
class Found:
    """What the walk gives."""

    places: Places
    marked: dict[int, Marked] = field(default_factory=dict)
    """By row."""


def find_places(run: PassageRun, census: Census, quotas: I64, rows: I64, cutting: Cutting) -> Found:
    """Walk over all segments: of each listed passage the first ``quotas`` spans, and the marks of some ``rows``.

    Memory: 32 bytes for each place, 8 for each passage, and the marks.
    """
    repeats = run.find()
    known = Known(census.segments, repeats)
    spans = np.zeros(len(census), dtype=np.int64)
    pieces: list[I64] = []
    marked: dict[int, Marked] = {}
    for found in whole_documents(repeats.segments()):
        passage = known.of(found)
        told = in_bytes(repeats, found)
        at = np.flatnonzero(passage >= 0)
        if at.size:
            order = at[np.argsort(passage[at], kind="stable")]
            mine = passage[order]
            heads = np.flatnonzero(np.diff(mine, prepend=-1))
            before = np.arange(mine.size) - np.repeat(heads, np.diff(np.append(heads, mine.size)))
            kept = order[spans[mine] + before < quotas[mine]]
            pieces.append(np.column_stack((passage[kept], told.document[kept], told.start[kept], told.end[kept])))
            np.add.at(spans, mine, 1)
        chosen = np.flatnonzero(np.isin(told.document, rows))
        if chosen.size:
            _mark(repeats, told.take(chosen), found.take(chosen), passage[chosen], cutting, marked)
    table = np.concatenate([np.empty((0, 4), np.int64), *pieces])
    table = table[np.argsort(table[:, 0], kind="stable")]
    first = np.searchsorted(table[:, 0], np.arange(len(census) + 1))
    return Found(Places(first, *table[:, 1:].T.copy()), marked)


def _mark(
    repeats: Repeats, told: Segments, found: Segments, passage: I64, cutting: Cutting, marked: dict[int, Marked]
) -> None:
    """Add the marks of some documents, all of whose segments are given, in bytes and in units."""
    cuts = find_cuts(found, cutting.policy)
    cuts = Cuts(cuts.document, *repeats.originals.inside(cuts.document, cuts.start, cuts.end))
    for row in np.unique(told.document).tolist():
        mine = slice(*np.searchsorted(told.document, (row, row + 1)).tolist())
        own = slice(*np.searchsorted(cuts.document, (row, row + 1)).tolist())
        text = document_bytes(repeats, row)
        spans = list(zip(cuts.start[own].tolist(), cuts.end[own].tolist(), strict=True))
        cut = snap_cuts(text, spans, snap=cutting.snap, least=cutting.min_cut)
        marks = _apart(told.start[mine], told.end[mine], passage[mine], np.array(cut, np.int64).reshape(-1, 2))
        joined = [(start, end, joint(text, start, end).decode()) for start, end in cut]
        marked[row] = Marked(marks[:LISTED], joined[:LISTED], max(0, len(marks) - LISTED))


def _apart(start: I64, end: I64, passage: I64, cuts: I64) -> I64:
    """int64[m, 4]: spans cut at the ends of each other and of cuts; where two overlap it belongs to the earlier one."""
    start = np.maximum(start, np.concatenate((start[:1], np.maximum.accumulate(end)[:-1])))
    places = np.unique(np.concatenate((start, end, cuts.reshape(-1))))
    low, high = places[:-1], places[1:]
    at = np.searchsorted(start, low, side="right") - 1
    is_inside = (at >= 0) & (low < end[at])
    low, high, at = low[is_inside], high[is_inside], at[is_inside]
    before = np.searchsorted(cuts[:, 0], low, side="right") - 1
    is_cut = (before >= 0) & (low < cuts[before, 1]) if len(cuts) else np.zeros(low.size, dtype=np.bool_)
    return np.column_stack((low, high, passage[at], is_cut)).astype(np.int64)


def document_bytes(repeats: Repeats, row: int) -> bytes:
    """The text of a document as it was read, in UTF-8."""
    text = repeats.originals.text
    begin, end = text.offsets[row : row + 2].tolist()
    return text.piece(begin, end).tobytes()
