"""What a page of repeated passages shows: passages and their places, documents and what is cut of them, groups."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neardup.stages.repeats.policies import Cuts, find_cuts
from neardup.stages.repeats.segments import FIRST
from neardup.stages.repeats.surgery import joint, snap_cuts
from neardup.tasks.passages.page_spans import Spans
from neardup.tasks.passages.run import PassageRun
from neardup.tasks.passages.settings import Cutting
from neardup.types import I64

LISTED = 2000
"""Marks of a document that a page has; behind the last one its text is shown without."""
_RANGES = 44
"""Lengths of passages are counted in ranges that double, so many at most."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """To which group, such as a site or a file, each document belongs."""

    label: str
    """What a group is, such as ``Source``."""
    names: Sequence[str]
    of: I64
    """int64[documents]: the number of each document's group."""


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
    firsts = np.flatnonzero(spans.kind == FIRST)
    size = len(spans)
    number = np.bincount(spans.passage, minlength=size)[firsts]
    weight = np.zeros(size, dtype=np.int64)
    np.add.at(weight, spans.passage, spans.bytes)
    order = np.lexsort((firsts, -weight[firsts]))[:most]
    rows = firsts[order]
    passage = np.full(size, -1, dtype=np.int64)
    passage[rows] = np.arange(rows.size)
    passage = passage[spans.passage]
    edges = least << np.arange(1, _RANGES, dtype=np.int64)
    counts = np.bincount(np.searchsorted(edges, spans.bytes[firsts], side="right"), minlength=_RANGES).tolist()
    some = np.flatnonzero(counts)
    ranges = zip([least, *edges.tolist()], [*edges.tolist(), 2 * int(edges[-1])], counts, strict=True)
    lengths = list(ranges)[some[0] : some[-1] + 1] if some.size else []
    documents = _documents(passage, spans.document, rows.size)
    return Census(rows, number[order], documents, weight[rows], spans.most[rows], passage, lengths)


def _documents(passage: I64, document: I64, passages: int) -> I64:
    """int64[passages]: how many documents have a place of each."""
    listed = np.flatnonzero(passage >= 0)
    order = listed[np.lexsort((document[listed], passage[listed]))]
    mine, whose = passage[order], document[order]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = (mine[1:] != mine[:-1]) | (whose[1:] != whose[:-1])
    return np.bincount(mine[is_new], minlength=passages).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Losses:
    """Documents of which something is cut."""

    rows: I64
    lost: I64
    """int64[n]: bytes."""
    left: I64
    """int64[n]: characters."""

    def __len__(self) -> int:
        return self.rows.size

    def most(self, number: int) -> Losses:
        """Those that lose most, of equal ones the first."""
        order = np.lexsort((self.rows, -self.lost))[:number]
        return Losses(self.rows[order], self.lost[order], self.left[order])


def count_losses(run: PassageRun, cutting: Cutting) -> Losses:
    """What a policy cuts of each document, in the order of the input; one walk over the segments."""
    facts = array("q")
    for each in run.cut_documents(cutting):
        facts.extend((each.row, each.cut_bytes, each.left))
    rows, lost, left = np.array(facts, dtype=np.int64).reshape(-1, 3).T.copy()
    return Losses(rows, lost, left)


def count_groups(run: PassageRun, grouping: Grouping, losses: Losses) -> list[tuple[str, int, int, int, int]]:
    """Of each group with a document its name, documents, bytes, repeated bytes and cut ones; the most repeated first.

    One walk over the segments.
    """
    sizes = np.diff(run.find().originals.text.offsets)
    number = len(grouping.names)
    size, repeated, lost = (np.zeros(number, dtype=np.int64) for _ in range(3))
    for part in run.cuts("none"):
        np.add.at(repeated, grouping.of[part.document], part.end - part.start)
    np.add.at(lost, grouping.of[losses.rows], losses.lost)
    np.add.at(size, grouping.of, sizes)
    documents = np.bincount(grouping.of, minlength=number)
    columns = [column.tolist() for column in (documents, size, repeated, lost)]
    rows = [row for row in zip(grouping.names, *columns, strict=True) if row[1]]
    return sorted(rows, key=lambda row: (-row[3], row[0]))


@dataclass(frozen=True, slots=True)
class Marks:
    """What is marked in a document: bytes of its text as it was read."""

    marks: I64
    """int64[m, 4]: start, end, passage or -1, and whether it is cut; rising and apart."""
    cuts: list[tuple[int, int, str]]
    """Start, end, and the white space that takes the place of each cut."""
    left_out: int
    """Marks that there are behind these."""


def marks_of(run: PassageRun, spans: Spans, passage: I64, row: int, text: bytes, cutting: Cutting) -> Marks:
    """The marks of a document; ``passage`` is the number of each span's passage."""
    repeats = run.find()
    mine, base = spans.rows_of(row), int(repeats.originals.text.offsets[row])
    cuts: Cuts = find_cuts(spans.segments(mine, repeats.text.offsets), cutting.policy)
    start, end = repeats.originals.inside(cuts.document, cuts.start, cuts.end)
    ends = list(zip(start.tolist(), end.tolist(), strict=True))
    cut = snap_cuts(text, ends, snap=cutting.snap, least=cutting.min_cut)
    low, high = spans.low[mine] - base, spans.high[mine] - base
    marks = _apart(low, high, passage[mine], np.array(cut, np.int64).reshape(-1, 2))
    joined = [(start, end, joint(text, start, end).decode()) for start, end in cut]
    return Marks(marks[:LISTED], joined[:LISTED], max(0, len(marks) - LISTED))


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
