"""Which bytes of documents go: policies over segments."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from neardup.stages.repeats.segments import FIRST, IGNORED, OTHER, OWN, Segments
from neardup.types import I64

POLICIES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "first": ((OWN, OTHER), (FIRST,)),
    "first-greedy": ((OWN, OTHER), ()),
    "none": ((FIRST, OWN, OTHER), ()),
    "other-documents": ((OTHER,), (FIRST, OWN)),
}
"""Of each policy the kinds of segments that are cut, and those of which no byte is.

``first``: every repeated window still stands whole at its first place. ``first-greedy``: every window that stood before
is cut, also where it overlaps with one that did not, so that a passage may be lost everywhere. ``none``: no copy stays.
``other-documents``: as ``first``, but what is repeated only inside one document is left there. No byte of what stands
in a template is cut.
"""
REPEATED, LATER, IGNORABLE = (FIRST, OWN, OTHER), (OWN, OTHER), (IGNORED,)
"""Kinds of segments: all that repeat, those that stood before, and those of templates."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Stretches to cut, rising; two have nothing in common, and may touch."""

    document: I64
    """int64[n]: row of the document."""
    start: I64
    """int64[n]: first unit."""
    end: I64
    """int64[n]: behind the last."""

    def __len__(self) -> int:
        return self.document.size

    @property
    def size(self) -> int:
        """Units in all of them."""
        return int((self.end - self.start).sum())


def find_cuts(segments: Segments, policy: str) -> Cuts:
    """What ``policy``, one of POLICIES, cuts of some documents, all of whose segments are given, in the order of the
    documents. Two stretches touch where no segment that is cut has units of both. O(n log n)."""
    goes, stays = POLICIES[policy]
    # unit i gets the place 2i + 1, and what stands before it 2i, which is in a segment with the units on both sides
    places = replace(segments, start=2 * segments.start + 1, end=2 * segments.end)
    found = stretches_of(places, goes, (*stays, IGNORED))
    start, end = found.start // 2, found.end // 2
    has_units = end > start
    return Cuts(found.document[has_units], start[has_units], end[has_units])


def stretches_of(segments: Segments, goes: tuple[int, ...], stays: tuple[int, ...] = ()) -> Cuts:
    """What segments of the kinds ``goes`` cover and none of the kinds ``stays`` does, in stretches that do not touch;
    documents rise. O(n log n)."""
    if not len(segments):
        return Cuts(*(np.empty(0, dtype=np.int64) for _ in range(3)))
    is_cut, is_kept = np.isin(segments.kind, goes), np.isin(segments.kind, stays)
    # the documents end to end, each as long as its last segment reaches, and apart, so that a place tells its document
    firsts = np.flatnonzero(np.diff(segments.document, prepend=segments.document[0] - 1))
    reach = np.maximum.reduceat(segments.end, firsts) + 1
    origins = np.cumsum(reach) - reach
    base = np.repeat(origins, np.diff(firsts, append=len(segments)))
    begins, ends = base + segments.start, base + segments.end
    # at each place where something begins or ends: how many cut and kept segments lie behind it
    edges = np.concatenate((begins[is_cut], ends[is_cut], begins[is_kept], ends[is_kept]))
    cut, kept = int(is_cut.sum()), int(is_kept.sum())
    steps = np.zeros((edges.size, 2), dtype=np.int64)
    steps[:cut, 0], steps[cut : 2 * cut, 0] = 1, -1
    steps[2 * cut : 2 * cut + kept, 1], steps[2 * cut + kept :, 1] = 1, -1
    order = np.argsort(edges, kind="stable")
    edges, levels = edges[order], np.cumsum(steps[order], axis=0)
    last = np.append(edges[1:] != edges[:-1], True) if edges.size else np.zeros(0, dtype=np.bool_)
    edges, is_going = edges[last], (levels[last, 0] > 0) & (levels[last, 1] == 0)
    changes = np.flatnonzero(np.diff(is_going.astype(np.int8), prepend=0))
    first, stop = edges[changes[0::2]], edges[changes[1::2]]
    which = np.searchsorted(origins, first, side="right") - 1
    return Cuts(segments.document[firsts[which]], first - origins[which], stop - origins[which])
