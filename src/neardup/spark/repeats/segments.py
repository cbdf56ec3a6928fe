"""Pieces meet by the chunk of the text in which they stand, and become segments.

    pieces/ ── pieces and loops by place ──► segments/CCCCCC.arrays   segments of whole documents, in order

A chunk is some whole documents: no segment reaches from one document into the next, so each is walked by itself. Of
other documents a walk must know where those begin and end in which its sources stand, and these come with the pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import chain

import numpy as np

from neardup.cutting import distinct, starts_of
from neardup.engine.repeats.choice import Choice
from neardup.engine.repeats.find import Repeats
from neardup.engine.repeats.kept import SegmentsInOrder
from neardup.engine.repeats.originals import Originals
from neardup.engine.space import Space
from neardup.kernels.anchors import MORE
from neardup.spark.exchange import Blob, Blobs, Facts
from neardup.spark.packing import Arrays, packed, unpacked
from neardup.spark.repeats.anchors import crowd_file
from neardup.spark.repeats.job import PassageJob
from neardup.spark.repeats.stored import StoredText
from neardup.spark.texts import local_space
from neardup.spool.partitions import Partitions
from neardup.stages.repeats.segments import Segments
from neardup.types import I64

CHUNK = 1 << 25
"""Units of a chunk, about."""
_FIELDS = tuple(each.name for each in fields(Segments))


def give_pieces(job: PassageJob, part: int) -> Iterator[Blob]:
    """The pieces of a partition, and loops, each for the chunk in which it stands."""
    first = job.storage.get(f"pieces/{part:06d}")
    crowds = (crowd_file(part, number) for number in range(int(first["crowds"][0])))
    for held in chain([first], map(job.storage.get, crowds)):
        pieces, loops = held["pieces"], held["loops"]
        loops = loops[np.argsort(loops[:, 0])]
        ends = np.searchsorted((pieces[:, 0] >> np.uint64(MORE)).astype(np.int64), job.chunks)
        loop_ends = np.searchsorted(loops[:, 0], job.chunks)
        for chunk in np.flatnonzero(np.diff(ends) + np.diff(loop_ends)).tolist():
            mine, of = slice(ends[chunk], ends[chunk + 1]), slice(loop_ends[chunk], loop_ends[chunk + 1])
            sources = distinct(np.concatenate((held["begin"][mine], held["end"][mine])))
            yield chunk, packed({"pieces": pieces[mine], "sources": sources, "loops": loops[of]})


def take_pieces(job: PassageJob, chunk: int, blobs: Blobs) -> Facts:
    """The segments of a chunk go to the storage; documents are called by their first units there."""
    sent = [unpacked(blob) for _, blob in blobs]
    blobs.clear()
    pieces = np.concatenate([np.empty((0, 4), np.uint64), *(each["pieces"] for each in sent)])
    loops = np.concatenate([np.empty((0, 3), np.int64), *(each["loops"] for each in sent)])
    loops = np.ascontiguousarray(loops[np.argsort(loops[:, 0])])
    edges = distinct(np.concatenate([_edges(job, chunk), *(each["sources"] for each in sent)]))
    with local_space(job.memory) as space:
        text = StoredText(job, space, edges)
        held = Partitions("pieces", width=4, parts=1, budget=pieces.nbytes + 1, spill=None)
        held.add(pieces, np.array([0, pieces.shape[0]]))
        del pieces, sent
        choice = Choice.all_of(text.offsets.size - 1)
        repeats = Repeats(text, Originals(space, text, are_bytes=True), job.window, loops, held, choice)
        found = Segments.together(list(repeats.segments()))
    table = np.column_stack([getattr(found, name) for name in _FIELDS])
    for column in ("document", "source"):
        at = _FIELDS.index(column)
        table[:, at] = text.offsets[table[:, at]]
    job.storage.put(f"segments/{chunk:06d}", segments=table)
    return {"segments": len(found)}


def _edges(job: PassageJob, chunk: int) -> I64:
    """Where the documents of a chunk begin and end."""
    begin, end = job.chunks[chunk : chunk + 2].tolist()
    first = int(np.searchsorted(job.units, begin, side="right")) - 1
    last = int(np.searchsorted(job.units, end))
    found = []
    for split, each in zip(
        range(first, last),
        job.storage.get_all((f"read/{split:06d}" for split in range(first, last)), "lengths"),
        strict=True,
    ):
        offsets = starts_of(each["lengths"]) + job.units[split]
        found.append(offsets[np.searchsorted(offsets, begin) : np.searchsorted(offsets, end, side="right")])
    return np.concatenate([np.array([begin]), *found])


class StoredSegments(SegmentsInOrder):
    """The segments of all chunks, as the workers wrote them."""

    def __init__(self, job: PassageJob, offsets: I64, counts: Sequence[int]) -> None:
        """``offsets``: the first unit of each document, and behind the last; ``counts``: segments of each chunk."""
        self._job, self._offsets = job, offsets
        self._starts = starts_of(np.array(counts, dtype=np.int64))
        self._held: tuple[int, Segments] | None = None
        """The chunk that was asked for last."""

    def __iter__(self) -> Iterator[Segments]:
        filled = np.flatnonzero(np.diff(self._starts)).tolist()
        yield from map(self._of, self._job.storage.get_all(f"segments/{chunk:06d}" for chunk in filled))

    def __len__(self) -> int:
        return int(self._starts[-1])

    def slice(self, first: int, stop: int) -> Segments:
        chunks = np.flatnonzero((self._starts[:-1] < stop) & (self._starts[1:] > first)).tolist()
        parts = []
        for chunk in chunks:
            begin = int(self._starts[chunk])
            parts.append(self._chunk(chunk).take(slice(max(first - begin, 0), stop - begin)))
        return Segments.together(parts)

    def _chunk(self, chunk: int) -> Segments:
        if self._held is None or self._held[0] != chunk:
            self._held = None  # one at a time
            self._held = chunk, self._of(self._job.storage.get(f"segments/{chunk:06d}"))
        return self._held[1]

    def _of(self, held: Arrays) -> Segments:
        found = dict(zip(_FIELDS, np.ascontiguousarray(held["segments"].T), strict=True))
        for column in ("document", "source"):
            found[column] = np.searchsorted(self._offsets, found[column], side="right") - 1
        return Segments(**found)


def no_pieces(space: Space) -> Partitions:
    """None: the segments are known."""
    return Partitions("pieces", width=4, parts=1, budget=1 << 20, spill=space.scratch)
