"""Every repeated window of a collection, as segments in the order of the text."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from neardup.cutting import cut
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import RowNames
from neardup.engine.repeats.lasting import GROUPED, READ, keep_grouped, keep_read, restore_read, stage_of
from neardup.engine.repeats.originals import Originals
from neardup.engine.repeats.text import EndToEnd
from neardup.engine.repeats.units import Compared, Key, Units, Window
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.errors import InputError
from neardup.kernels import anchors as anchoring
from neardup.kernels import repeats as grouping
from neardup.kernels import segments as walking
from neardup.spool.partitions import Partitions
from neardup.stages.repeats.segments import Segments
from neardup.types import I64, U64, Batch, Documents

PARTS = 512
"""Parts of the anchors, by the first nine bits of their keys."""
KEY_SHIFT = 64 - 9
ANCHOR_SHARE, PIECE_SHARE, GROUP_SHARE = 0.2, 0.15, 0.2
"""Of the memory for data: anchors that wait to be grouped, pieces that wait to be walked, and what is grouped now."""
ROW_BYTES = 160
"""Memory for each anchor that is grouped, beside the text around it."""
MOST_ROWS = 1 << 16
LEAST_CHUNK, MOST_CHUNK = 1 << 20, 1 << 22
"""Places of text whose pieces are walked together."""
MOST_CHUNKS = 4096
BLOCK = 1 << 14
"""Segments that are handed on together."""
PLACE = np.uint64((1 << anchoring.PLACES) - 1)


def private_key() -> Key:
    """A key of the hashes that lead to equal windows, drawn at random: nobody can write texts that meet in them.

    The answer does not depend on it.
    """
    start, *odd = (np.uint64(secrets.randbits(64)) for _ in range(4))
    return start, odd[0] | np.uint64(1), odd[1] | np.uint64(1), odd[2] | np.uint64(1)


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
    chunk: int
    """Places of text whose pieces are in one part."""

    def segments(self) -> Iterator[Segments]:
        """All segments in the order of the text, some thousands at a time. May be asked for again."""
        state = np.zeros(walking.STATE, dtype=np.int64)
        offsets, unit, span = self.text.offsets, self.window.unit, self.window.span
        for part in np.flatnonzero(self.pieces.sizes).tolist():
            pieces = self.pieces.take(part, part + 1)
            pieces = pieces[np.argsort(pieces[:, 0])]
            walk = partial(walking.walk_pieces, self.text.pages(), pieces, offsets, self.loops, unit, span, state)
            yield from self._walked(walk, state)
        yield from self._walked(partial(walking.end_walk, self.text.pages(), offsets, unit, span, state), state)

    def _walked(self, walk: Callable[[I64], int], state: I64) -> Iterator[Segments]:
        """What one walk writes, until it is done; pages that are away are brought."""
        while True:
            out = np.empty((BLOCK, 9), dtype=np.int64)
            if count := walk(out):
                yield Segments.of_places(out[:count], self.text.offsets)
            why = int(state[walking.WHY])
            if why == walking.DONE:
                return
            if why < 0:
                self.text.bring(-1 - why)


@dataclass(frozen=True, slots=True)
class _Anchors:
    """What was selected in one batch, by part of the key; places count from the first document of the batch."""

    rows: U64
    starts: I64
    loops: I64


def _select(documents: Documents, window: Window, key: Key) -> _Anchors:
    first = int(documents.offsets[0])
    data, unit = documents.data[first:], window.unit
    offsets = (documents.offsets - first) // unit
    room = max(1, int(np.maximum(np.diff(offsets) - window.span + 1, 0).sum()))
    keys, anchors = np.empty(room, dtype=np.uint64), np.empty(room, dtype=np.uint64)
    loops = np.empty((room // anchoring.LOOP + 1, 3), dtype=np.int64)
    found, looped = anchoring.select_anchors(
        data, offsets, unit, window.span, window.gram, window.k, key, keys, anchors, loops
    )
    rows = np.empty((found, 2), dtype=np.uint64)
    starts = np.empty(PARTS + 1, dtype=np.int64)
    anchoring.spread_anchors(keys[:found], anchors[:found], np.uint64(0), KEY_SHIFT, starts, rows)
    return _Anchors(rows, starts, loops[:looped].copy())


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
) -> Repeats:
    """Read all batches and find every window that stands at two or more places.

    ``units`` makes of the documents of a batch what is compared; ``names`` sees each batch in order. Equal windows
    are found by comparing texts: ``key`` (by default ``private_key``) decides how fast. The answer is the same for any
    threads and any limit of memory. Where the workdir lasts, all goes to files, and an interrupted run goes on behind
    its last stage, with the key that it began with.

    Memory: the texts, and beside them 16 bytes for each anchor (0.03 a byte of text at a span of 100, 0.065 at 50)
    and 32 for each piece of what is repeated; what outgrows the budget goes to files. The places of one passage are
    compared together, 160 bytes each: InputError, with the limit that would do, where they are too many.
    """
    key = private_key() if key is None else key
    text = EndToEnd(space, window.unit)
    originals = Originals(space, text, are_bytes=units.are_bytes)
    spill = space.scratch if space.path is not None else None
    share = space.budget.share
    anchors = Partitions("anchors", width=2, parts=PARTS, budget=share(ANCHOR_SHARE), spill=spill)
    if (stage := stage_of(space)) is not None:
        key, known = restore_read(text, originals, names, space)
        if stage == READ:
            anchors.restore()
            return _group(text, originals, window, known, anchors, key, threads=threads, space=space)
        return _grouped(text, originals, window, known, space)
    if space.is_lasting:
        for each in (text, originals):
            each.spill()
        names.spill(space.scratch())
    loops: list[I64] = []
    consumed = 0

    def select(task: Callable[[], Batch]) -> tuple[Batch, Compared, _Anchors]:
        batch = task()
        compared = units.of(batch.documents)
        return batch, compared, _select(compared.documents, window, key)

    for batch, compared, selected in in_order(select, tasks, threads=threads, ahead=threads + 2):
        names.enter(batch)
        consumed += batch.consumed
        observer.advance(batch.consumed)
        at = text.size
        if at + compared.documents.nbytes // window.unit > int(PLACE):
            raise InputError(f"the collection is larger than {int(PLACE) / 1e9:.0f} GB. Give it in parts.")
        selected.rows[:, 1] += np.uint64(at) << anchoring.BITS24
        anchors.add(selected.rows, selected.starts)
        if selected.loops.size:
            loops.append(selected.loops + np.array([at, 0, at]))
        left = max(0, total_bytes - consumed) / max(consumed, 1) if total_bytes else 0.0
        left = min(left, 1e4) if not text.is_filed else 0.0
        text.append(compared.documents, left)
        originals.append(batch.documents, compared, left)
        if batch.give_back is not None:
            batch.give_back()
        space.need_documents(text.offsets.size, text.offsets.size)
        held = text.nbytes + originals.nbytes + units.nbytes + names.nbytes
        if not text.is_filed and space.path is not None and held > space.budget.store:
            text.spill()
            originals.spill()
            names.spill(space.scratch())
            space.release_memory()
    text.settle()
    originals.settle()
    joined = np.concatenate(loops) if loops else np.empty((0, 3), dtype=np.int64)
    keep_read(text, originals, anchors, joined, key, names, space)
    return _group(text, originals, window, joined, anchors, key, threads=threads, space=space)


def _group(
    text: EndToEnd,
    originals: Originals,
    window: Window,
    loops: I64,
    anchors: Partitions,
    key: Key,
    *,
    threads: int,
    space: Space,
) -> Repeats:
    """The pieces of all anchors; these are forgotten then."""
    share = space.budget.share
    chunk = max(LEAST_CHUNK, min(MOST_CHUNK, share(0.1) // 32), -(-text.size // MOST_CHUNKS))
    pieces = _no_pieces(text, chunk, space)
    chunks = pieces.parts
    around = 2 * window.span * window.unit if text.is_filed else 0
    most = max(1024, min(MOST_ROWS, share(GROUP_SHARE) // ((threads + 2) * (ROW_BYTES + around))))
    salt = int(key[1] >> np.uint64(1)) | 1

    def work(task: tuple[int, int, int, int]) -> U64:
        first, stop, mask, wanted = task
        rows = anchors.take(first, stop, mask=mask, wanted=wanted)
        if rows.shape[0] > most:  # parts cannot be cut further: these are nearly all of one key
            size = rows.shape[0] * (ROW_BYTES + around)
            space.need_memory(size, f"{rows.shape[0]:,} places of one passage, which are compared together,")
        members, starts = grouping.repeated_keys(rows, salt)
        return _pieces_of(rows, members, starts, text, window, loops, key)

    for found in in_order(work, _tasks(anchors.sizes, most), threads=threads, ahead=threads + 1):
        order = np.argsort(found[:, 0])
        found = found[order]
        bounds = np.arange(chunks + 1, dtype=np.uint64) * np.uint64(chunk) << np.uint64(anchoring.MORE)
        pieces.add(found, np.searchsorted(found[:, 0], bounds))
    anchors.drop()
    keep_grouped(pieces, chunk, space)
    space.release_memory()
    return Repeats(text, originals, window, loops, pieces, chunk)


def _no_pieces(text: EndToEnd, chunk: int, space: Space) -> Partitions:
    chunks = max(1, -(-text.size // chunk))
    spill = space.scratch if space.path is not None else None
    return Partitions("pieces", width=4, parts=chunks, budget=space.budget.share(PIECE_SHARE), spill=spill)


def _grouped(text: EndToEnd, originals: Originals, window: Window, loops: I64, space: Space) -> Repeats:
    """What an interrupted run had grouped; no pieces where it has walked them too, and forgotten."""
    chunk = int(space.state["chunk"])
    pieces = _no_pieces(text, chunk, space)
    if stage_of(space) == GROUPED:
        pieces.restore()
    return Repeats(text, originals, window, loops, pieces, chunk)


def _tasks(sizes: I64, most: int) -> Iterator[tuple[int, int, int, int]]:
    """Parts to be grouped together, and of a part with more than ``most`` rows the keys to be grouped at a time."""
    for run in cut(sizes, most):
        first, stop = run.start, run.stop
        passes = 1
        while stop - first == 1 and sizes[first] > most * passes and passes < 1 << 12:
            passes *= 2
        for wanted in range(passes):
            yield first, stop, passes - 1, wanted


def _pieces_of(rows: U64, members: I64, starts: I64, text: EndToEnd, window: Window, loops: I64, key: Key) -> U64:
    """The pieces of groups of anchors, in no order."""
    if not members.size:
        return np.empty((0, 4), dtype=np.uint64)
    # by place, so that the text around them is read in order
    all_places = ((rows[members, 1] >> anchoring.BITS24) & PLACE).astype(np.int64)
    order = np.argsort(all_places)
    rank = np.empty(members.size, dtype=np.int64)
    rank[order] = np.arange(members.size)
    kept = np.ascontiguousarray(rows[members[order]])
    places = all_places[order]
    weights = np.ones(members.size, dtype=np.int64)
    heads = np.flatnonzero(kept[:, 1] & anchoring.HEAD)
    if heads.size:
        of = np.searchsorted(loops[:, 0], places[heads], side="right") - 1
        weights[heads] = (loops[of, 2] - places[heads]) // loops[of, 1] + 1
    sizes = (kept[:, 1] & anchoring.LOW).astype(np.int64) + window.span
    data, at = text.around(places, sizes)
    documents = np.searchsorted(text.offsets, places, side="right") - 1
    anchored = grouping.Anchored(kept, at, documents, weights, data, window.unit, window.span, window.k)
    found: U64 = grouping.find_pieces(anchored, rank, starts, key)
    return found
