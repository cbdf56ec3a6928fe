"""From anchors by key to pieces by place: keys of all sizes, in threads, within the memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import cut
from neardup.engine.observe import Observer
from neardup.engine.repeats.around import Around, places_of
from neardup.engine.repeats.crowds import crowd_pieces
from neardup.engine.repeats.units import Key
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.kernels import anchors as anchoring
from neardup.kernels import groups, repeats
from neardup.spool.partitions import Partitions
from neardup.types import I64, U64

PART_BITS = 9
PARTS = 1 << PART_BITS
"""Parts of the anchors, by the first bits of their keys."""
KEY_SHIFT = 64 - PART_BITS
PIECE_SHARE, GROUP_SHARE, DIVIDED_SHARE = 0.15, 0.2, 0.05
"""Of the memory for data: pieces that wait to be walked, what is grouped now, and parts that are divided for it."""
ROW_BYTES = 400
"""Memory for each anchor that is grouped, beside the text around it; measured where all are of one key."""
LEAST_ROWS, MOST_ROWS = 1 << 10, 1 << 16
"""Anchors that are grouped at a time; fewer only where a limit of memory asks for it, more where all are of one key
and the memory has room for them."""
CROWD = 8
"""A part of parts is of one key, for what it holds of them: more than this share, and too much to be grouped."""
LEAST_CHUNK, MOST_CHUNK = 1 << 20, 1 << 22
"""Places of text whose pieces are walked together."""
MOST_CHUNKS = 4096


@dataclass(frozen=True, slots=True)
class _Task:
    """Parts that are grouped together; none of them: all of these anchors are grouped."""

    anchors: Partitions
    first: int
    stop: int


def group(
    anchors: Partitions, around: Around, key: Key, *, threads: int, observer: Observer, space: Space
) -> Partitions:
    """The pieces of all anchors by where they stand, in chunks of the text; the anchors are forgotten on the way.

    A part with more anchors than fit is divided by further bits of the keys. What cannot be divided, the places of
    one passage that is everywhere, is a crowd, and its windows are counted one by one; where only some windows count,
    all its places have to fit.
    """
    share, text = space.budget.share, around.text
    chunk = max(LEAST_CHUNK, min(MOST_CHUNK, share(0.1) // 32), -(-text.size // MOST_CHUNKS))
    chunks = max(1, -(-text.size // chunk))
    bounds = np.arange(chunks + 1, dtype=np.uint64) * np.uint64(chunk) << np.uint64(anchoring.MORE)
    pieces = no_pieces(chunks, space)
    row_bytes = ROW_BYTES + (2 * around.window.span * around.window.unit if text.is_filed else 0)
    fit = max(LEAST_ROWS, share(GROUP_SHARE) // ((threads + 2) * row_bytes))
    most = min(MOST_ROWS, fit)
    salt = int(key[1] >> np.uint64(1)) | 1
    observer.stage("grouping", len(anchors), "")

    def add(found: U64) -> None:
        found = found[np.argsort(found[:, 0])]
        pieces.add(found, np.searchsorted(found[:, 0], bounds))

    def tasks(parts: Partitions, depth: int) -> Iterator[_Task]:
        """All parts as tasks. Crowds are worked on here and now, in the thread of whoever asks for tasks."""
        for run in cut(parts.sizes, most):
            first, size = run.start, int(parts.sizes[run].sum())
            is_one_key = depth and (CROWD * size > len(parts) or depth * PART_BITS >= 64)
            if size <= (fit if is_one_key else most):
                yield _Task(parts, first, run.stop)
            elif is_one_key and not around.choice.is_all_of(text.offsets.size - 1):
                space.need_memory(size * row_bytes, f"{size:,} places of one passage, which are compared together,")
                yield _Task(parts, first, run.stop)
            elif is_one_key:
                for found in crowd_pieces(parts.scan(first, most), size, around, key, most=most, space=space):
                    add(found)
                observer.advance(size)
            else:
                divided = _divided(parts, first, most=most, space=space)
                yield from tasks(divided, depth + 1)
                yield _Task(divided, PARTS, PARTS)

    def work(task: _Task) -> tuple[_Task, int, U64]:
        rows = task.anchors.take(task.first, task.stop)
        members, starts = groups.repeated_keys(rows, salt)
        return task, rows.shape[0], pieces_of(rows, members, starts, around, key)

    for task, count, found in in_order(work, tasks(anchors, 0), threads=threads, ahead=threads + 1):
        add(found)
        observer.advance(count)
        if task.first == task.stop:
            task.anchors.drop()
        elif task.anchors is anchors and anchors.forget(task.stop):
            space.release_memory(at_once=True)
    anchors.drop()
    space.release_memory()
    return pieces


def no_pieces(parts: int, space: Space) -> Partitions:
    """Pieces by where they stand, none yet, in so many chunks of the text."""
    return space.partitions("pieces", width=4, parts=parts, share=PIECE_SHARE)


def _divided(parts: Partitions, part: int, *, most: int, space: Space) -> Partitions:
    """The anchors of one part by the next bits of their keys, which come first in the keys then."""
    found = space.partitions(f"{parts.name}-{part}", width=2, parts=PARTS, share=DIVIDED_SHARE)
    for rows in parts.scan(part, most):
        keys = rows[:, 0] << np.uint64(PART_BITS) | rows[:, 0] >> np.uint64(KEY_SHIFT)
        spread = np.empty_like(rows)
        starts = np.empty(PARTS + 1, dtype=np.int64)
        anchoring.spread_anchors(keys, rows[:, 1].copy(), np.uint64(0), KEY_SHIFT, starts, spread)
        found.add(spread, starts)
    return found


def pieces_of(rows: U64, members: I64, starts: I64, around: Around, key: Key) -> U64:
    """The pieces of groups of anchors, in no order."""
    if not members.size:
        return np.empty((0, 4), dtype=np.uint64)
    window, text = around.window, around.text
    # by place, so that the text around them is read in order
    all_places = places_of(rows[members])
    order = np.argsort(all_places)
    rank = np.empty(members.size, dtype=np.int64)
    rank[order] = np.arange(members.size)
    kept = np.ascontiguousarray(rows[members[order]])
    places = all_places[order]
    sizes = (kept[:, 1] & anchoring.LOW).astype(np.int64) + window.span
    data, at = text.around(places, sizes)
    documents, weights, choice = around.documents(places), around.weights(places), around.choice
    first, templates = np.searchsorted(documents, [choice.inputs, choice.templates]).tolist()
    weights[first:] = 0
    if first < documents.size:  # templates come before all others, then the other collection
        order = np.concatenate([np.arange(*ends) for ends in ((templates, rank.size), (first, templates), (0, first))])
        kept, at, documents, weights = kept[order], at[order], documents[order], weights[order]
        new_rank = np.empty_like(order)
        new_rank[order] = np.arange(order.size)
        rank = new_rank[rank]
    if choice.groups.size or first < documents.size:
        rank, starts, least = choice.grouped(rank, starts, documents)
    else:
        least = np.full(starts.size - 1, choice.min_documents[0])
    anchored = groups.Anchored(
        kept,
        at,
        documents,
        weights,
        data,
        window.unit,
        window.span,
        window.k,
        *choice.places(text.offsets),
        int(choice.is_across),
        int(choice.is_choosing),
        choice.min_count,
        least,
    )
    found: U64 = repeats.find_pieces(anchored, rank, starts, key)
    return found
