"""Passages that stand again with changes: segments of a collection, chained and aligned in the order of the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from neardup.cutting import cut
from neardup.engine.repeats.choice import Choice
from neardup.engine.repeats.find import BLOCK, Repeats
from neardup.engine.repeats.kept import KeptSegments, SegmentsInOrder
from neardup.engine.repeats.text import EndToEnd
from neardup.engine.space import Space
from neardup.kernels import chains as chaining
from neardup.kernels.chains import Rules, Stretches
from neardup.kernels.equal import equal_bytes
from neardup.spool import MemoryColumn
from neardup.stages.repeats.chains import Chains, NearPassages, group_chains
from neardup.stages.repeats.segments import IGNORED, OTHER, OWN, Segments, whole_documents
from neardup.types import I64

ROOM = 1 << 12
CHECK = 1 << 16
"""Links after which the limit of memory is looked at."""
CHAIN_BYTES = 300
"""Memory for a passage, when they are grouped and sorted."""
IGNORED_BYTES = 200
"""The same for a stretch that stands in a template."""
COMPARED = 1 << 22
"""Units of segments that are compared with their sources at a time."""


@dataclass(slots=True)
class ChainedRepeats(Repeats):
    """Repeats with changes, in place of exact ones for all that follows."""

    found: NearPassages
    every: Segments
    """All places of passages, and between them what stands in templates, unit for unit: in the order of the text."""
    work: int
    """Steps and cells that chaining and aligning took."""

    def segments(self) -> Iterator[Segments]:
        """All of ``every``. A place and its source may differ, also in length."""
        for first in range(0, len(self.every), BLOCK):
            yield self.every.take(slice(first, first + BLOCK))


class ChainedSegments(SegmentsInOrder):
    """What ``ChainedRepeats.segments`` gives, which is in memory."""

    def __init__(self, repeats: ChainedRepeats) -> None:
        """Those of some repeats."""
        self._repeats = repeats

    def __iter__(self) -> Iterator[Segments]:
        return self._repeats.segments()

    def __len__(self) -> int:
        return len(self._repeats.every)

    def slice(self, first: int, stop: int) -> Segments:
        return self._repeats.every.take(slice(first, stop))


def chain_repeats(repeats: Repeats, rules: Rules, wanted: Choice, space: Space) -> ChainedRepeats:
    """Chain all segments of ``repeats``, whose windows have ``rules.match`` units; these are forgotten.

    ``wanted`` says at how many places and in how many documents a passage is to stand: windows were chosen without
    that. No chain is made of what stands in a template.

    Memory: 24 bytes for each piece of a chain and 300 for each place of a passage; InputError where the limit has no
    room for them. Time: n log n in the segments, and ``rules.gap`` steps for each unit of what is chained. The answer
    depends on the texts, their order and the rules only. Where the workdir lasts, an interrupted run has the segments
    again, and chains them anew.
    """
    chains = _Chainer(repeats.text, repeats.window.unit, rules, space)
    ignored: list[Segments] = []
    held = 0
    for segments in whole_documents(KeptSegments(repeats, space) if space.is_lasting else repeats.segments()):
        chains.add(_as_equal(repeats, segments, rules.match))
        if (in_templates := segments.kind == IGNORED).any():
            ignored.append(segments.take(in_templates))
            held += len(ignored[-1])
            space.need_memory(IGNORED_BYTES * held, f"{held:,} places of templates, beside passages with changes,")
    repeats.pieces.drop()
    found = group_chains(chains.found(), repeats.text.offsets, repeats.documents)
    groups, document = wanted.groups, found.segments.document
    least = wanted.min_documents[groups[document] if groups.size else np.zeros_like(document)]
    found = found.choose(wanted.min_count, least)
    every = found.segments
    if ignored:
        every = Segments.together([every, *ignored])
        every = every.take(np.lexsort((every.start, every.document)))
    return ChainedRepeats(
        repeats.text,
        repeats.originals,
        repeats.window,
        repeats.loops,
        repeats.pieces,
        repeats.choice,
        found=found,
        every=every,
        work=int(chains.state[chaining.WORK]),
    )


def _as_equal(repeats: Repeats, segments: Segments, match: int) -> Segments:
    """Segments that are unit for unit what stands at their sources.

    Of one of short period whose windows stand in another collection only the first window is known to be.
    """
    if not repeats.choice.is_across:
        return segments
    text, unit = repeats.text, repeats.text.unit
    sizes = segments.end - segments.start
    own = text.offsets[segments.document] + segments.start
    other = text.offsets[segments.source] + segments.source_start
    is_inside = other + sizes <= text.offsets[segments.source + 1]
    equal = is_inside & (segments.kind == OTHER)
    asked = np.flatnonzero(equal)
    for part in cut(sizes[asked], COMPARED):
        rows = asked[part]
        left, left_at = text.around(own[rows], sizes[rows])
        order = np.argsort(other[rows], kind="stable")
        right, at = text.around(other[rows][order], sizes[rows][order])
        right_at = np.empty_like(at)
        right_at[order] = at
        same = np.empty(rows.size, dtype=np.bool_)
        addresses = left.ctypes.data + left_at * unit, right.ctypes.data + right_at * unit
        equal_bytes(*addresses, sizes[rows] * unit, same)
        equal[rows] = same
    return replace(segments, end=np.where(equal, segments.end, segments.start + match))


class _Chainer:
    """Chains of the documents so far, and where they lead."""

    def __init__(self, text: EndToEnd, unit: int, rules: Rules, space: Space) -> None:
        self._text, self._unit, self._rules, self._space = text, unit, rules, space
        self.state = np.zeros(4, dtype=np.int64)
        self._links = np.empty((ROOM, 3), dtype=np.int64)
        self._rows = MemoryColumn(np.int64, 5)
        self._stays = MemoryColumn(np.int64)
        self._checked = 0

    def found(self) -> Chains:
        """All that were found."""
        begin, end, source, source_end, differences = self._rows.array.T
        return Chains(begin, end, source, source_end, differences, self._stays.array)

    def add(self, segments: Segments) -> None:
        """Chain the segments of the documents that follow."""
        later = np.flatnonzero((segments.kind == OWN) | (segments.kind == OTHER))
        if not later.size:
            return
        offsets = self._text.offsets
        document = segments.document[later]
        rows = np.empty((later.size, 3), dtype=np.int64)
        rows[:, 0] = offsets[document] + segments.start[later]
        rows[:, 1] = offsets[document] + segments.end[later]
        rows[:, 2] = offsets[segments.source[later]] + segments.source_start[later]
        stops = np.append(np.flatnonzero(np.diff(document)) + 1, later.size)
        self.state[chaining.DOCUMENT] = 0
        out, starts = _room(2 * int(np.diff(stops, prepend=0).max()))
        while count := chaining.draft_chains(rows, stops, offsets, self._links, self._rules, self.state, out, starts):
            if count < 0:
                out, starts = _room(int(self.state[chaining.ROOM]))
            else:
                self._align(out, starts, count)

    def _align(self, pieces: I64, starts: I64, count: int) -> None:
        stop = int(starts[count])
        passages = np.empty((stop, 8), dtype=np.int64)
        texts = self._stretches(pieces, starts[: count + 1])
        found = chaining.align_chains(
            pieces, starts, count, self._text.offsets, self._rules, texts, self.state, passages
        )
        if not found:
            return
        linked = int(self.state[chaining.LINKED])
        need = linked + 2 * stop + found
        if need > self._links.shape[0]:
            links = np.empty((max(need, 3 * linked // 2), 3), dtype=np.int64)
            links[:linked] = self._links[:linked]
            self._links = links
        stays = np.empty(found, dtype=np.int64)
        chaining.link_chains(passages, found, pieces, self._links, self.state, stays)
        self._stays.append(stays + len(self._rows))
        self._rows.append(passages[:found, :5])
        held = self._links.shape[0] + len(self._rows)
        if held >= self._checked + CHECK:
            self._checked = held
            size = self._links.nbytes + CHAIN_BYTES * len(self._rows)
            self._space.need_memory(size, f"{len(self._rows):,} passages with changes, and the pieces of these,")

    def _stretches(self, pieces: I64, starts: I64) -> Stretches:
        """The texts of chains and of what they are copies of, with so much around them as may belong to them."""
        first, last, gap = pieces[starts[:-1]], pieces[starts[1:] - 1], self._rules.gap
        begins = np.concatenate((first[:, 0], first[:, 2]))
        ends = np.concatenate((last[:, 1], last[:, 2] + last[:, 1] - last[:, 0]))
        offsets = self._text.offsets
        document = np.searchsorted(offsets, begins, side="right") - 1
        begins = np.maximum(begins - gap, offsets[document])
        ends = np.minimum(ends + gap, offsets[document + 1])
        order = np.argsort(begins, kind="stable")
        data, places = self._text.around(begins[order], (ends - begins)[order])
        shifts = np.empty(order.size, dtype=np.int64)
        shifts[order] = places - begins[order]
        half = order.size // 2
        return Stretches(data, self._unit, shifts[:half].copy(), shifts[half:].copy())


def _room(pieces: int) -> tuple[I64, I64]:
    return np.empty((max(pieces, 16), 3), dtype=np.int64), np.empty(max(pieces, 16) + 1, dtype=np.int64)
