"""What a page of repeated passages shows of documents: what is cut of them, what is marked in them, and their groups.

The passages that it lists are counted in ``tasks.repeats.census``.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neardup.stages.repeats.segments import IGNORED
from neardup.stages.repeats.surgery import joints, snap_cuts
from neardup.tasks.repeats.cutting import CutDocument, cuts_in_bytes
from neardup.tasks.repeats.places import Spans
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.settings import Cutting
from neardup.types import I64

BESIDE = -2
LISTED = 2000
"""Marks of a document that a page has; behind the last one its text is shown without."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """To which group, such as a site or a file, each document belongs."""

    label: str
    """What a group is, such as ``Source``."""
    names: Sequence[str]
    of: I64
    """int64[documents]: the number of each document's group."""


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
    repeats = run.find()
    sizes = np.diff(repeats.originals.text.offsets[: repeats.documents + 1])
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
    """int64[m, 4]: start, end, passage, -1 or BESIDE, and whether it is cut; rising and apart."""
    cuts: list[tuple[int, int, str]]
    """Start, end, and the white space that takes the place of each cut."""
    left_out: int
    """Marks that there are behind these."""


def marks_of(run: PassageRun, spans: Spans, passage: I64, row: int, text: bytes, cutting: Cutting) -> Marks:
    """The marks of a document; ``passage`` is the number of each span's passage."""
    repeats = run.find()
    mine, base = spans.rows_of(row), int(repeats.originals.text.offsets[row])
    cuts = cuts_in_bytes(repeats, spans.segments(mine, repeats.text.offsets), cutting.policy)
    ends = list(zip(cuts.start.tolist(), cuts.end.tolist(), strict=True))
    cut = snap_cuts(text, ends, snap=cutting.snap, least=cutting.min_cut)
    if run.spares(cutting) and not CutDocument(row, text, cut).left:
        cut = []
    is_repeat = spans.kind[mine] != IGNORED
    low, high, numbers = (column[mine][is_repeat] for column in (spans.low, spans.high, passage))
    marks = _apart(low - base, high - base, numbers, np.array(cut, np.int64).reshape(-1, 2))
    joined = [(*span, white.decode()) for span, white in zip(cut, joints(text, cut), strict=True)]
    return Marks(marks[:LISTED], joined[:LISTED], max(0, len(marks) - LISTED))


def _apart(start: I64, end: I64, passage: I64, cuts: I64) -> I64:
    """int64[m, 4]: spans cut at the ends of each other and of cuts; where two overlap it belongs to the earlier one.

    What is cut and in no span, the white space beside a whole unit, is BESIDE in place of a passage.
    """
    start = np.maximum(start, np.concatenate((start[:1], np.maximum.accumulate(end)[:-1])))
    places = np.unique(np.concatenate((start, end, cuts.reshape(-1))))
    low, high = places[:-1], places[1:]
    at = np.searchsorted(start, low, side="right") - 1
    is_inside = (at >= 0) & (low < end[at])
    before = np.searchsorted(cuts[:, 0], low, side="right") - 1
    is_cut = (before >= 0) & (low < cuts[before, 1]) if len(cuts) else np.zeros(low.size, dtype=np.bool_)
    numbers = np.where(is_inside, passage[at], BESIDE)
    return np.column_stack((low, high, numbers, is_cut)).astype(np.int64)[is_inside | is_cut]
