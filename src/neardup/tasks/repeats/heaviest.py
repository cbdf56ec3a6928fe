"""The passages that weigh most, counted as ``census`` counts them, in little memory: spans block by block, from behind.

A span leads back to the passage that its middle window is of, place by place (``places``). Each of these places is
earlier than the one before it, so blocks are taken from the last one on, and what leads out of one waits for the
earlier block that it leads to.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from neardup.engine.repeats.kept import SegmentsInOrder
from neardup.spool.partitions import Partitions
from neardup.stages.repeats.segments import FIRST, IGNORED, Segments
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.spans import in_bytes
from neardup.types import I64

BLOCK = 1 << 14
"""Spans of a block."""
SHARE = 0.05
"""Of the memory for data, what waits for earlier blocks."""


class Passage(NamedTuple):
    """A passage, told where it stands for the first time."""

    weight: int
    """Bytes of its places together."""
    document: int
    start: int
    """Bytes of the document before it."""
    bytes: int
    places: int
    documents: int
    """Documents that have a place of it."""


def heaviest(run: PassageRun, most: int) -> list[Passage]:
    """The ``most`` passages whose places have most bytes together, of equal ones the first in the order of the text."""
    every = run.segments()
    firsts = range(0, len(every), BLOCK)
    if not firsts:
        return []
    begins = np.array([_begins(run, every.slice(first, first + 1))[0] for first in firsts])
    waiting = run.space.partitions("leading-back", width=3, parts=begins.size, share=SHARE)
    found: list[Passage] = []
    for block in reversed(range(begins.size)):
        found = heapq.nlargest(most, [*found, *_of_block(run, every, block, begins, waiting)], key=_order)
    waiting.drop()
    return found


def _order(passage: Passage) -> tuple[int, int, int]:
    return passage.weight, -passage.document, -passage.start


def _begins(run: PassageRun, segments: Segments) -> I64:
    found: I64 = run.find().text.offsets[segments.document] + segments.start
    return found


def _of_block(run: PassageRun, every: SegmentsInOrder, block: int, begins: I64, waiting: Partitions) -> list[Passage]:
    """The passages that stand in a block for the first time; what leads out of it is added to ``waiting``."""
    repeats = run.find()
    offsets, span = repeats.text.offsets, repeats.window.span
    segments = every.slice(block * BLOCK, (block + 1) * BLOCK)
    told = in_bytes(repeats, segments)
    begin, size = _begins(run, segments), told.end - told.start
    end = begin + segments.end - segments.start
    back = begin - offsets[segments.source] - segments.source_start
    own = np.flatnonzero(segments.kind != IGNORED)
    middle = begin[own] + (end[own] - begin[own] - span) // 2
    more = waiting.take(block, block + 1).astype(np.int64)
    left = np.concatenate((np.column_stack((middle, size[own], segments.document[own])), more))
    rows, parts = [np.empty(0, dtype=np.int64)], [np.empty((0, 3), dtype=np.int64)]
    while len(left):
        at = np.searchsorted(begin, left[:, 0], side="right") - 1
        is_there = (at >= 0) & (left[:, 0] <= end[at] - span) & (segments.kind[at] != IGNORED)
        at, left = at[is_there], left[is_there]
        is_first = segments.kind[at] == FIRST
        rows.append(at[is_first])
        parts.append(left[is_first])
        at, left = at[~is_first], left[~is_first]
        left[:, 0] -= back[at] * ((left[:, 0] - begin[at]) // back[at] + 1)
        is_out = left[:, 0] < begin[0]
        _wait(waiting, left[is_out], begins)
        left = left[~is_out]
    row, part = np.concatenate(rows), np.concatenate(parts)
    heads, of = np.unique(row, return_inverse=True)
    weights = np.zeros(heads.size, dtype=np.int64)
    np.add.at(weights, of, part[:, 1])
    places = np.bincount(of, minlength=heads.size)
    distinct = np.unique(of * repeats.documents + part[:, 2]) // repeats.documents
    holding = np.bincount(distinct, minlength=heads.size)
    columns = (weights, segments.document[heads], told.start[heads], size[heads], places, holding)
    return [Passage(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]


def _wait(waiting: Partitions, rows: I64, begins: I64) -> None:
    """Add places, with bytes and document, to the blocks in which they stand."""
    block = np.searchsorted(begins, rows[:, 0], side="right") - 1
    is_there = block >= 0
    rows, block = rows[is_there], block[is_there]
    order = np.argsort(block, kind="stable")
    starts = np.searchsorted(block[order], np.arange(begins.size + 1))
    waiting.add(rows[order].astype(np.uint64), starts)
