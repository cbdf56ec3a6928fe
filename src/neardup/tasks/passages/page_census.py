"""What a page of repeated passages lists: the passages that weigh most, and the documents that lose most."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neardup.engine.repeats.find import Repeats
from neardup.stages.repeats.segments import FIRST, OWN, Segments
from neardup.tasks.passages.run import Cutting, PassageRun, in_bytes, whole_documents
from neardup.types import I64, Mask

_LONGEST = 44
"""Lengths of passages are counted in ranges that double, so many at most."""
_HELD = 4
"""How many times the passages that are listed are held until the lighter ones are forgotten."""


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
    """Passages that are listed, the heaviest first, and counts over all of them."""

    segments: Segments
    """Those of the listed passages, each where it stands for the first time, in units that were compared."""
    begin: I64
    """int64[n]: the same in bytes of the texts end to end, as they were read."""
    end: I64
    spans: I64
    """int64[n]: spans that begin in each passage, where it stands first among them; they are its places."""
    documents: I64
    """int64[n]: documents that have one."""
    weight: I64
    """int64[n]: bytes of these spans together."""
    lengths: list[tuple[int, int, int]]
    """Of a range of lengths the least bytes, the bytes below which it ends, and the passages in it."""

    @property
    def bytes(self) -> I64:
        """int64[n]: of each passage."""
        return self.end - self.begin

    def __len__(self) -> int:
        return len(self.segments)


@dataclass(frozen=True, slots=True)
class Losses:
    """Documents of which something is cut, in the order of the input."""

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


def take_census(run: PassageRun, *, most: int) -> Census:
    """List the ``most`` passages whose places have most bytes together; two walks over the segments.

    Those are looked at whose bytes times places, of the part that stands most often, are most; of equal ones the first
    in the order of the text. Memory: 150 bytes for each that is listed, and a few times as much while they are chosen.
    """
    repeats = run.find()
    offsets = repeats.originals.text.offsets
    least = run.length.least_bytes
    edges = least << np.arange(1, _LONGEST, dtype=np.int64)
    counts = np.zeros(edges.size + 1, dtype=np.int64)
    held: list[_Firsts] = []
    size = 0
    for found in repeats.segments():
        told = in_bytes(repeats, found)
        is_first = found.kind == FIRST
        part = _Firsts.of(found, told, is_first, offsets)
        counts += np.bincount(np.searchsorted(edges, part.end - part.begin, side="right"), minlength=counts.size)
        held.append(part)
        size += len(part.segments)
        if size > _HELD * most:
            held = [_Firsts.together(held).heaviest(most)]
            size = len(held[0].segments)
    chosen = _Firsts.together(held).heaviest(most)
    bounds = [least, *edges.tolist()]
    some = np.flatnonzero(counts).tolist()
    kept = range(some[0], some[-1] + 1) if some else range(0)
    lengths = [(bounds[i], bounds[i + 1] if i < edges.size else 2 * bounds[i], int(counts[i])) for i in kept]
    spans, documents, weight = _weigh(repeats, chosen.segments)
    order = np.lexsort((chosen.begin, -weight))
    columns = [column[order] for column in (chosen.begin, chosen.end, spans, documents, weight)]
    return Census(chosen.segments.take(order), *columns, lengths)


def _weigh(repeats: Repeats, firsts: Segments) -> tuple[I64, I64, I64]:
    """Of some passages the spans that begin in each, the documents that have them, and their bytes together."""
    known = Known(firsts, repeats)
    spans, documents, weight = (np.zeros(len(firsts), dtype=np.int64) for _ in range(3))
    for found in whole_documents(repeats.segments()):
        passage, told = known.of(found), in_bytes(repeats, found)
        at = np.flatnonzero(passage >= 0)
        np.add.at(spans, passage[at], 1)
        np.add.at(weight, passage[at], told.end[at] - told.start[at])
        both = np.unique(np.column_stack((passage[at], found.document[at])), axis=0)
        np.add.at(documents, both[:, 0], 1)
    return spans, documents, weight


@dataclass(frozen=True, slots=True)
class _Firsts:
    """Passages where they stand first."""

    segments: Segments
    begin: I64
    end: I64

    @classmethod
    def of(cls, found: Segments, told: Segments, chosen: Mask, offsets: I64) -> _Firsts:
        at = np.flatnonzero(chosen)
        base = offsets[told.document[at]]
        return cls(found.take(at), base + told.start[at], base + told.end[at])

    @classmethod
    def together(cls, parts: list[_Firsts]) -> _Firsts:
        none = [np.empty(0, dtype=np.int64)]
        return cls(
            Segments.together([part.segments for part in parts]),
            np.concatenate(none + [part.begin for part in parts]),
            np.concatenate(none + [part.end for part in parts]),
        )

    def heaviest(self, most: int) -> _Firsts:
        weight = (self.end - self.begin) * self.segments.most
        order = np.lexsort((self.begin, -weight))[:most]
        return _Firsts(self.segments.take(order), self.begin[order], self.end[order])


class Known:
    """Some passages by where they stand first, to find the one that a segment belongs to.

    It is the one in which the first window of its source stands, since a source is the first place of that window.
    """

    def __init__(self, firsts: Segments, repeats: Repeats) -> None:
        """``firsts`` are the segments where the passages stand first."""
        offsets = repeats.text.offsets
        begin, end = offsets[firsts.document] + firsts.start, offsets[firsts.document] + firsts.end
        self._offsets = offsets
        self._order = np.argsort(begin)
        self._begin, self._last = begin[self._order], end[self._order] - repeats.window.span

    def of(self, found: Segments) -> I64:
        """int64[n]: the number of the listed passage of each segment, or -1."""
        passage = np.full(len(found), -1, dtype=np.int64)
        if not self._order.size:
            return passage
        source = self._offsets[found.source] + found.source_start
        at = np.searchsorted(self._begin, source, side="right") - 1
        is_known = (at >= 0) & (source <= self._last[at])
        passage[is_known] = self._order[at[is_known]]
        # of a text of short period the source may be a few units before, inside the segment before
        behind = np.zeros(len(found), dtype=np.bool_)
        is_near = (found.source[1:] == found.document[:-1]) & (found.source_start[1:] >= found.start[:-1])
        behind[1:] = ~is_known[1:] & (found.kind[1:] == OWN) & is_near
        near: I64 = passage[np.maximum.accumulate(np.where(behind, 0, np.arange(len(found))))]
        return near


def count_losses(run: PassageRun, cutting: Cutting) -> Losses:
    """What a policy cuts of each document; one walk over the segments. 24 bytes for each document that is cut."""
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
    repeated = np.zeros(number, dtype=np.int64)
    for part in run.cuts("none"):
        np.add.at(repeated, grouping.of[part.document], part.end - part.start)
    lost = np.zeros(number, dtype=np.int64)
    np.add.at(lost, grouping.of[losses.rows], losses.lost)
    documents, size = np.bincount(grouping.of, minlength=number), np.zeros(number, dtype=np.int64)
    np.add.at(size, grouping.of, sizes)
    columns = [column.tolist() for column in (documents, size, repeated, lost)]
    rows = [row for row in zip(grouping.names, *columns, strict=True) if row[1]]
    return sorted(rows, key=lambda row: (-row[3], row[0]))
