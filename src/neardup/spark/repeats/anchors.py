"""Anchors of one key meet in a partition, with the text around them, and become pieces.

    text/ ── anchors by key, each text around them once ──► pieces/PPPPPP.arrays   by place, and where their sources are

What is sent of an anchor is its key, its place, its document and the text of its windows; anchors of one split with
equal windows send that once. So a passage that stands very often costs some bytes for each place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.cutting import cut, starts_of
from neardup.engine.repeats.around import Around, places_of
from neardup.engine.repeats.choice import NOWHERE, Choice
from neardup.engine.repeats.crowds import crowd_pieces
from neardup.engine.repeats.find import Room, Selected, select_anchors
from neardup.engine.repeats.grouping import GROUP_SHARE, MOST_ROWS, ROW_BYTES, pieces_of
from neardup.engine.repeats.text import EndToEnd, merged
from neardup.engine.space import Space
from neardup.errors import InputError
from neardup.kernels import anchors as anchoring
from neardup.kernels import groups
from neardup.shown import megabytes
from neardup.spark.exchange import Blob, Blobs, Facts
from neardup.spark.faults import PYTHON_MEMORY
from neardup.spark.packing import Arrays, packed, unpacked
from neardup.spark.pieces import PARTS_TEXT
from neardup.spark.repeats.job import PassageJob
from neardup.spark.repeats.stored import StoredColumn
from neardup.spark.texts import local_space
from neardup.spool.partitions import Partitions
from neardup.types import I64, SLACK, U8, U64, Documents

GIVEN = 1 << 24
"""Units of text whose anchors are sent together, about."""
SELECTED = 1 << 22
"""Windows whose anchors are chosen at a time."""
SENT = 48
"""Bytes that are sent of an anchor beside the text around it, about."""
HELD = 130
"""Memory of a worker for each anchor of a partition, beside its text."""
CELL, MOST_CELLS = 1 << 22, 1 << 12
"""Units of text whose pieces of crowds are held together, about, and how many such stretches there are at most."""
CROWD_SHARE = 0.15
"""Of the memory for data, pieces of crowds that are not in a file."""
LEAST_FIT = 1 << 10
"""Anchors of one key that are grouped in memory, at least."""


def parts_for(job: PassageJob, units: int) -> int:
    """Into how many partitions the anchors of so many units go."""
    window = job.window
    reach = window.span - window.k + 1
    anchor = SENT + (window.span + reach) * window.unit
    return 1 + 2 * units * anchor // (reach + 1) // PARTS_TEXT


def give_anchors(job: PassageJob, split: int, parts: int) -> Iterator[Blob]:
    """The anchors of a split, each for the partition of its key."""
    window, first = job.window, int(job.units[split])
    lengths = job.storage.get(f"read/{split:06d}", "lengths")["lengths"]
    offsets = starts_of(lengths) + first
    column = StoredColumn(job.storage, job.compared, job.units * window.unit)
    for some in cut(lengths, GIVEN):
        mine = offsets[some.start : some.stop + 1]
        begin, end = int(mine[0]), int(mine[-1])
        text = np.zeros((end - begin) * window.unit + SLACK, dtype=np.uint8)
        text[:-SLACK] = column.slice(begin * window.unit, end * window.unit)
        rows, loops = _selected(job, text, mine - begin)
        part = ((rows[:, 0] >> np.uint64(32)) * np.uint64(parts) >> np.uint64(32)).astype(np.int64)
        order = np.argsort(part, kind="stable")
        bounds = np.searchsorted(part[order], np.arange(parts + 1))
        wanted = np.flatnonzero(np.diff(bounds))
        with_loops = {split % parts: {"loops": loops + np.array([begin, 0, begin])}} if loops.size else {}
        for each in np.union1d(wanted, list(with_loops)).astype(np.int64).tolist():
            blob = _blob(job, rows[order[bounds[each] : bounds[each + 1]]], loops, text, mine, begin)
            yield each, packed(blob | with_loops.get(each, {}))


def _selected(job: PassageJob, text: U8, offsets: I64) -> tuple[U64, I64]:
    """Anchors and loops of documents, by place in ``text``; of long ones some windows at a time."""
    window, found, loops = job.window, [np.empty((0, 2), np.uint64)], [np.empty((0, 3), np.int64)]
    room = Room()

    def take(at: int, ends: I64) -> None:
        data = text[at * window.unit : int(ends[-1]) * window.unit + SLACK]
        selected: Selected = select_anchors(Documents(data, (ends - at) * window.unit), window, job.key, room)
        rows = selected.rows
        rows[:, 1] += np.uint64(at) << anchoring.BITS24
        found.append(rows)
        loops.append(selected.loops + np.array([at, 0, at]))

    for some in cut(np.diff(offsets), SELECTED):
        ends = offsets[some.start : some.stop + 1]
        begin, end = int(ends[0]), int(ends[-1])
        if end - begin <= SELECTED:
            take(begin, ends)
            continue
        for at in range(begin, end - window.span + 1, SELECTED):
            take(at, np.array([at, min(end, at + SELECTED + window.span - 1)]))
    return np.concatenate(found), np.concatenate(loops)


def _blob(job: PassageJob, rows: U64, loops: I64, text: U8, offsets: I64, ahead: int) -> Arrays:
    """Some anchors, by place, with the texts around them. ``text`` begins with the unit ``ahead`` of the collection."""
    window, unit = job.window, job.window.unit
    places = places_of(rows)
    order = np.argsort(places)
    rows, places = rows[order], places[order]
    sizes = (rows[:, 1] & anchoring.LOW).astype(np.int64) + window.span
    document = np.searchsorted(offsets - ahead, places, side="right") - 1
    known, document = np.unique(document, return_inverse=True)
    weight = np.ones(rows.shape[0], dtype=np.int64)
    heads = np.flatnonzero(rows[:, 1] & anchoring.HEAD)
    if heads.size:
        loops = loops[np.argsort(loops[:, 0])]
        of = np.searchsorted(loops[:, 0], places[heads], side="right") - 1
        weight[heads] += (loops[of, 2] - places[heads]) // loops[of, 1]
    like = _like(rows, places * unit, sizes * unit, text)
    apart = np.flatnonzero(like == np.arange(like.size))
    begins, lengths, at = merged(places[apart], sizes[apart]) if apart.size else (apart, apart, apart)
    to = np.empty(like.size, dtype=np.int64)
    to[apart] = at
    view, stops = text.data, (begins + lengths) * unit
    around = b"".join(view[begin:end] for begin, end in zip((begins * unit).tolist(), stops.tolist(), strict=True))
    sent = rows.copy()
    sent[:, 1] += np.uint64(ahead) << anchoring.BITS24
    return {
        "rows": sent,
        "at": to[like].astype(np.uint32),
        "document": document.astype(np.uint32),
        "weight": weight[heads],
        "begin": offsets[known],
        "end": offsets[known + 1],
        "text": np.frombuffer(around, dtype=np.uint8),
    }


def _like(rows: U64, begins: I64, sizes: I64, text: U8) -> I64:
    """int64[n]: of each anchor one with the same text around it, itself if there is none before it with its key."""
    like = np.arange(begins.size)
    kinds = np.stack((rows[:, 0], rows[:, 1] & np.uint64(0xFFFFFF)), axis=1)
    order = np.lexsort((kinds[:, 1], kinds[:, 0]))
    same = np.flatnonzero((kinds[order[1:]] == kinds[order[:-1]]).all(axis=1))
    view = text.data
    for i in same.tolist():
        one, other = like[order[i]], order[i + 1]
        size = int(sizes[one])
        a, b = int(begins[one]), int(begins[other])
        if size == sizes[other] and bytes(view[a : a + size]) == bytes(view[b : b + size]):
            like[other] = one
    return like


class SentText(EndToEnd):
    """The texts around anchors, as they came."""

    def __init__(self, space: Space, window_unit: int, firsts: I64, at: I64, data: U8) -> None:
        """``firsts``: places of the first windows, rising; ``at``: where they stand in ``data``, which has slack."""
        super().__init__(space, window_unit)
        self._firsts, self._at, self._sent = firsts, at, data

    def around(self, places: I64, sizes: I64) -> tuple[U8, I64]:
        of = np.searchsorted(self._firsts, places, side="right") - 1
        return self._sent, self._at[of] + places - self._firsts[of]


@dataclass(frozen=True, slots=True)
class SentAround(Around):
    """What stands around the anchors of a partition. Documents are called by where they begin."""

    firsts: I64
    """Places of the first windows of anchors, rising."""
    begins: I64
    """Of each where its document begins."""
    weight: I64
    """Of each how many windows its windows stand for."""

    def documents(self, places: I64) -> I64:
        return self.begins[self._of(places)]

    def weights(self, places: I64) -> I64:
        return self.weight[self._of(places)]

    def _of(self, places: I64) -> I64:
        found: I64 = np.searchsorted(self.firsts, places, side="right") - 1
        return found


def take_anchors(job: PassageJob, part: int, blobs: Blobs) -> Facts:
    """The pieces of a partition go to the storage."""
    with local_space(job.memory) as space:
        sent = _together(job, [unpacked(blob) for _, blob in blobs], space)
        blobs.clear()
        places, begins = places_of(sent["rows"]), sent["begin"][sent["document"]]
        weight = np.ones(places.size, dtype=np.int64)
        weight[(sent["rows"][:, 1] & anchoring.HEAD) != 0] = sent["weight"]
        order = np.argsort(places)
        rows, firsts = np.ascontiguousarray(sent["rows"][order]), places[order]
        text = SentText(space, job.window.unit, firsts, sent["at"][order], sent["text"])
        no_loops = np.empty((0, 3), dtype=np.int64)
        choice = Choice.all_of(NOWHERE)
        around = SentAround(text, job.window, no_loops, choice, firsts, begins[order], weight[order])
        crowded = _no_crowds(job, space)
        none = np.empty((0, 4), dtype=np.uint64)
        pieces = np.concatenate([none, *_grouped(job, rows, around, space, crowded)])
        documents = sent["document"][order]

        def put(name: str, pieces: U64, **more: NDArray[Any]) -> None:
            source = np.searchsorted(firsts, pieces[:, 1].astype(np.int64), side="right") - 1
            of = documents[source]
            job.storage.put(name, pieces=pieces, begin=sent["begin"][of], end=sent["end"][of], **more)

        cells = np.flatnonzero(crowded.sizes).tolist()
        heads = firsts[(rows[:, 1] & anchoring.HEAD) != 0]
        for number, cell in enumerate(cells):
            put(crowd_file(part, number), in_runs(crowded.take(cell, cell + 1), heads), loops=sent["loops"][:0])
        pieces = pieces[np.argsort(pieces[:, 0])]
        put(f"pieces/{part:06d}", pieces, loops=sent["loops"], crowds=np.array([len(cells)]))
    return {"pieces": int(pieces.shape[0]), "crowded": len(crowded)}


def crowd_file(part: int, number: int) -> str:
    """Where pieces of crowds of a partition are kept, those of some stretch of the text."""
    return f"crowds/{part:06d}-{number:04d}"


def _no_crowds(job: PassageJob, space: Space) -> Partitions:
    """Pieces of crowds, none yet, by where they stand."""
    cells = 1 + int(job.units[-1]) // _cell(job)
    share = space.budget.share(CROWD_SHARE)
    return Partitions("crowd-pieces", width=4, parts=cells, budget=share, spill=space.scratch)


def _cell(job: PassageJob) -> int:
    return max(CELL, int(job.units[-1]) // MOST_CELLS)


def in_runs(pieces: U64, heads: I64) -> U64:
    """Pieces of one window each, in any order, as runs of windows that follow each other at both places.

    ``heads`` (rising): places of windows that stand for others, which stay by themselves.
    """
    pieces = pieces[np.argsort(pieces[:, 0])]
    places = (pieces[:, 0] >> np.uint64(anchoring.MORE)).astype(np.int64)
    at = np.minimum(np.searchsorted(heads, places), max(0, heads.size - 1))
    is_head = heads[at] == places if heads.size else np.zeros(places.size, dtype=np.bool_)
    goes_on = (np.diff(places) == 1) & (np.diff(pieces[:, 1]) == 1) & ~is_head[1:] & ~is_head[:-1]
    goes_on &= (pieces[1:, 2:] == pieces[:-1, 2:]).all(axis=1)
    begins = np.flatnonzero(np.concatenate(([True], ~goes_on)))
    since = np.arange(places.size) - np.repeat(begins, np.diff(np.append(begins, places.size)))
    begins = np.flatnonzero(since % (1 << anchoring.MORE) == 0)
    found = pieces[begins]
    found[:, 0] += (np.diff(np.append(begins, places.size)) - 1).astype(np.uint64)
    return found


def _together(job: PassageJob, blobs: list[Arrays], space: Space) -> Arrays:
    """All blobs of a partition as one; InputError where the worker has too little memory for them."""
    anchors = sum(each["rows"].shape[0] for each in blobs)
    need = HELD * anchors + 2 * sum(each["text"].size for each in blobs)
    if need > 0.9 * space.budget.work:
        raise InputError(
            f"{anchors:,} places of passages meet in one task and need about {megabytes(need)} of memory "
            f"beside the program, of which a worker has {megabytes(space.budget.work)}. Raise {PYTHON_MEMORY} (for "
            f"each core of an executor) by {megabytes(1.2 * need - space.budget.work)} or more, "
            "or raise the length of the shortest passage."
        )
    unit = job.window.unit
    texts = starts_of(np.array([each["text"].size // unit for each in blobs], dtype=np.int64))
    documents = starts_of(np.array([each["begin"].size for each in blobs], dtype=np.int64))
    for i, each in enumerate(blobs):
        each["at"] = each["at"].astype(np.int64) + texts[i]
        each["document"] = each["document"].astype(np.int64) + documents[i]
    none = {
        "rows": np.empty((0, 2), np.uint64),
        "loops": np.empty((0, 3), np.int64),
        "text": np.empty(0, np.uint8),
        **{name: np.empty(0, np.int64) for name in ("at", "document", "weight", "begin", "end")},
    }
    slack = {"text": [np.zeros(SLACK, np.uint8)]}
    return {
        name: np.concatenate([empty, *(each[name] for each in blobs if name in each), *slack.get(name, [])])
        for name, empty in none.items()
    }


def _grouped(job: PassageJob, rows: U64, around: SentAround, space: Space, crowded: Partitions) -> Iterator[U64]:
    """The pieces of anchors of all keys, some groups at a time.

    The places of a key that are too many are a crowd, whose pieces go to ``crowded``: one for each window.
    """
    bounds = np.arange(crowded.parts + 1, dtype=np.uint64) * np.uint64(_cell(job)) << np.uint64(anchoring.MORE)
    fit = max(LEAST_FIT, space.budget.share(GROUP_SHARE) // ROW_BYTES)
    most = min(MOST_ROWS, fit)
    members, starts = groups.repeated_keys(rows, int(job.key[1] >> np.uint64(1)) | 1)
    sizes = np.diff(starts)
    for some in cut(sizes, most):
        begin, end = int(starts[some.start]), int(starts[some.stop])
        if end - begin <= fit:
            yield pieces_of(rows, members[begin:end], starts[some.start : some.stop + 1] - begin, around, job.key)
        else:
            crowd = members[begin:end]
            blocks = map(partial(_block, rows, crowd, most), range(0, crowd.size, most))
            for found in crowd_pieces(blocks, crowd.size, around, job.key, most=most, space=space):
                found = found[np.argsort(found[:, 0])]
                crowded.add(found, np.searchsorted(found[:, 0], bounds))


def _block(rows: U64, members: I64, most: int, first: int) -> U64:
    return rows[members[first : first + most]]
