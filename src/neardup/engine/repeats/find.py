"""Every repeated window of a collection, as segments in the order of the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from neardup.cutting import cut
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import RowNames
from neardup.engine.repeats.around import PLACE, Around
from neardup.engine.repeats.choice import NOWHERE, Choice
from neardup.engine.repeats.grouping import KEY_SHIFT, PARTS, group, no_pieces
from neardup.engine.repeats.lasting import GROUPED, READ, keep_grouped, keep_read, restore_read, stage_of
from neardup.engine.repeats.originals import Originals
from neardup.engine.repeats.text import EndToEnd
from neardup.engine.repeats.units import BLOCK_BYTES, SLICE, Compared, Key, Units, Window, private_key
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.errors import InputError
from neardup.kernels import anchors as anchoring
from neardup.kernels import segments as walking
from neardup.spool.partitions import Partitions
from neardup.stages.repeats.segments import Segments
from neardup.types import I64, U64, Batch, Documents

ANCHOR_SHARE = 0.2
"""Of the memory for data, anchors that wait to be grouped."""
BLOCK = 1 << 14
"""Segments that are handed on together."""


@dataclass(slots=True)
class Repeats:
    """The repeated windows of a collection that was read."""

    text: EndToEnd
    """The units that were compared."""
    originals: Originals
    window: Window
    loops: I64
    """int64[m, 3], stretches of short period, as ``anchors.select_anchors`` has them, in the order of the text."""
    pieces: Partitions
    """By where they stand: ``kernels.repeats`` says what they are."""
    choice: Choice
    """Which windows count."""

    @property
    def documents(self) -> int:
        """Documents of the inputs: rows from 0. What follows them in the texts is no input."""
        return self.choice.inputs

    def segments(self) -> Iterator[Segments]:
        """All segments in the order of the text, some thousands at a time; IGNORED ones too. May be asked for again."""
        state = np.zeros(walking.STATE, dtype=np.int64)
        offsets, unit, span = self.text.offsets, self.window.unit, self.window.span
        foreign = self.choice.places(offsets)
        state[[walking.FOREIGN, walking.TEMPLATES]] = [0 if place == NOWHERE else place for place in foreign]
        for part in np.flatnonzero(self.pieces.sizes).tolist():
            pieces = self.pieces.take(part, part + 1)
            pieces = pieces[np.argsort(pieces[:, 0])]
            walk = partial(walking.walk_pieces, self.text.pages(), pieces, offsets, self.loops, unit, span, state)
            yield from self._walked(walk, state)
        yield from self._walked(partial(walking.end_walk, self.text.pages(), offsets, unit, span, state), state)

    def _walked(self, walk: Callable[[I64], int], state: I64) -> Iterator[Segments]:
        """What one walk writes, until it is done; pages that are away are brought."""
        out = np.empty((BLOCK, 9), dtype=np.int64)
        used = 0
        while True:
            used += walk(out[used:])
            why = int(state[walking.WHY])
            if used and (why >= 0 or used > BLOCK - 2):  # a walk needs room for two
                yield Segments.of_places(out[:used].copy(), self.text.offsets)
                used = 0
            if why == walking.DONE:
                return
            if why < 0:
                self.text.bring(-1 - why)


@dataclass(frozen=True, slots=True)
class Selected:
    """The anchors of one batch, by part of the key; places count from the first document of the batch."""

    rows: U64
    starts: I64
    loops: I64


class Room:
    """Arrays that are written again and again: to have new ones touched takes as long as finding the anchors."""

    def __init__(self) -> None:
        self._arrays: tuple[U64, U64, I64] | None = None

    def of(self, windows: int) -> tuple[U64, U64, I64]:
        """Arrays for the keys, the anchors and the loops of so many windows."""
        if self._arrays is None or self._arrays[0].size < windows:
            keys, anchors = np.empty(windows, dtype=np.uint64), np.empty(windows, dtype=np.uint64)
            self._arrays = keys, anchors, np.empty((windows // anchoring.LOOP + 1, 3), dtype=np.int64)
        return self._arrays


def select_anchors(documents: Documents, window: Window, key: Key, room: Room) -> Selected:
    """An anchor for every window of some documents."""
    first = int(documents.offsets[0])
    data, unit = documents.data[first:], window.unit
    offsets = (documents.offsets - first) // unit
    keys, anchors, loops = room.of(max(1, int(np.maximum(np.diff(offsets) - window.span + 1, 0).sum())))
    found, looped = anchoring.select_anchors(
        data, offsets, unit, window.span, window.gram, window.k, key, keys, anchors, loops
    )
    rows = np.empty((found, 2), dtype=np.uint64)
    starts = np.empty(PARTS + 1, dtype=np.int64)
    anchoring.spread_anchors(keys[:found], anchors[:found], np.uint64(0), KEY_SHIFT, starts, rows)
    return Selected(rows, starts, loops[:looped].copy())


def find_repeats(
    tasks: Iterator[Callable[[], Batch]],
    window: Window,
    *,
    units: Units,
    total_bytes: int | None,
    threads: int,
    names: RowNames,
    observer: Observer,
    space: Space,
    key: Key | None = None,
    choose: Callable[[int], Choice] = Choice.all_of,
) -> Repeats:
    """Read all batches and find every window that stands at two or more places, or those that ``choose`` chooses.

    It is told how many documents were read. ``units`` makes of the documents of a batch what is compared; ``names``
    sees each batch in order. Equal windows are found by comparing texts: ``key`` (by default ``private_key``) decides
    how fast. The answer is the same for any threads and any limit of memory. Where the workdir lasts, all goes to
    files, and an interrupted run goes on behind its last stage, with the key that it began with.

    Memory: the texts, and beside them 16 bytes for each anchor (0.03 a byte of text at a span of 100, 0.065 at 50)
    and 32 for each piece of what is repeated; what outgrows the budget goes to files.
    """
    key = private_key() if key is None else key
    text = EndToEnd(space, window.unit)
    originals = Originals(space, text, are_bytes=units.are_bytes)
    anchors = space.partitions("anchors", width=2, parts=PARTS, share=ANCHOR_SHARE)

    def grouped(key: Key, known: I64) -> Repeats:
        """Make pieces of all anchors, which are forgotten then."""
        choice = choose(text.offsets.size - 1)
        around = Around(text, window, known, choice)
        pieces = group(anchors, around, key, threads=threads, observer=observer, space=space)
        keep_grouped(pieces, space)
        space.release_memory()
        return Repeats(text, originals, window, known, pieces, choice)

    if (stage := stage_of(space)) is not None:
        key, known = restore_read(text, originals, names, space)
        if stage == READ:
            anchors.restore()
            return grouped(key, known)
        pieces = no_pieces(int(space.state["parts"]), space)
        if stage == GROUPED:  # else it has walked them too, and forgotten
            pieces.restore()
        return Repeats(text, originals, window, known, pieces, choose(text.offsets.size - 1))
    if space.is_lasting:
        for each in (text, originals):
            each.spill()
        names.spill(space.scratch())
    loops: list[I64] = []
    consumed = 0

    def select(task: Callable[[], Batch]) -> tuple[Batch, Compared, list[tuple[int, Selected]]]:
        batch = task()
        compared = units.of(batch.documents)
        documents = compared.documents
        # anchors go into arrays of the size of all windows: those of some documents at a time, into the same arrays
        slices = list(cut(np.diff(documents.offsets), SLICE * window.unit))
        begins = [int(documents.offsets[some.start] - documents.offsets[0]) // window.unit for some in slices]
        room = Room()
        parts = [select_anchors(documents.slice(some.start, some.stop), window, key, room) for some in slices]
        return batch, compared, list(zip(begins, parts, strict=True))

    readers, room = threads, space.budget.store
    if not units.are_bytes:
        readers = space.budget.threads(threads, BLOCK_BYTES)
        room -= readers * BLOCK_BYTES // 2
    for batch, compared, selected in in_order(select, tasks, threads=readers, ahead=readers + 2):
        names.enter(batch)
        consumed += batch.consumed
        observer.advance(batch.consumed)
        at = text.size
        if at + compared.documents.nbytes // window.unit > int(PLACE):
            raise InputError(f"the collection is larger than {int(PLACE) / 1e9:.0f} GB. Give it in parts.")
        for ahead, some in selected:
            begin = at + ahead
            some.rows[:, 1] += np.uint64(begin) << anchoring.BITS24
            anchors.add(some.rows, some.starts)
            if some.loops.size:
                loops.append(some.loops + np.array([begin, 0, begin]))
        held = text.nbytes + originals.nbytes + units.nbytes + names.nbytes + compared.nbytes
        if not text.is_filed and space.path is not None and held > room:
            text.spill()
            originals.spill()
            names.spill(space.scratch())
            space.release_memory()
        left = max(0, total_bytes - consumed) / max(consumed, 1) if total_bytes else 0.0
        left = min(left, 1e4) if not text.is_filed else 0.0
        text.append(compared.documents, left)
        originals.append(batch.documents, compared, left)
        if batch.give_back is not None:
            batch.give_back()
        space.need_documents(text.offsets.size, text.offsets.size)
    text.settle()
    originals.settle()
    joined = np.concatenate(loops) if loops else np.empty((0, 3), dtype=np.int64)
    keep_read(text, originals, anchors, joined, key, names, space)
    return grouped(key, joined)
