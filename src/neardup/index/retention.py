"""How long documents are kept: when each was added, and the removal of those that are older than some age.

Numbers of documents rise in the order of addition, so the table ``added`` needs a row only where a new second begins:
documents from its number on, up to the next row, were added then. Times never fall, whatever the clock does: a clock
that was set back must not make new documents old. Documents before the first row were added by a neardup that kept no
times. Nobody knows their age, and they stay.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from neardup.index.core import Core
from neardup.index.outcomes import RemovedByAge
from neardup.index.prepared import EMPTY
from neardup.index.statements import Reading, Writing
from neardup.index.views import View
from neardup.types import I64


def now() -> int:
    """Seconds since 1970, which is what the index keeps of a time."""
    return int(time.time())


def as_text(seconds: int) -> str:
    """A time as people and programs read it.

    >>> as_text(1_767_225_600)
    '2026-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def note_added(writing: Writing, first: int) -> None:
    """Keep the time of the documents from number ``first`` on, which are added in this transaction."""
    last = writing.last_added()
    seconds = now()
    if last is None or last < seconds:
        writing.insert_added(first, seconds)


def times_of(reading: Reading, numbers: list[int]) -> list[int | None]:
    """When each document was added, in seconds since 1970; None where nobody knows."""
    if not numbers:
        return []
    rows = reading.added(min(numbers), max(numbers))
    firsts: I64 = np.array([first for first, _ in rows], dtype=np.int64)
    places = np.searchsorted(firsts, np.array(numbers, dtype=np.int64), side="right") - 1
    return [rows[place][1] if place >= 0 else None for place in places.tolist()]


def remove_older(core: Core, age: timedelta, *, dry_run: bool) -> RemovedByAge:
    """Remove all documents that were added longer ago than ``age``, in one transaction, or only count them."""
    before = max(0, math.ceil(now() - age.total_seconds()))
    if dry_run:
        return core.ask(lambda reading, view: _told(reading, *_reach(reading, before), before))

    def work(writing: Writing, view: View) -> tuple[RemovedByAge, View | None]:
        low, high = _reach(writing, before)
        told = _told(writing, low, high, before)
        if not told.removed:
            return told, None
        state = writing.state()
        _, empty = writing.count(low, high, EMPTY)
        writing.delete_range(low, high)
        after = replace(
            state,
            generation=state.generation + 1,
            documents=state.documents - told.removed,
            empty=state.empty - empty,
        )
        writing.set_state(after)
        return told, replace(view, generation=after.generation)

    return core.change(work)


def _reach(reading: Reading, before: int) -> tuple[int, int]:
    """The numbers of documents that were added before a time: from the first whose time is known, to the end."""
    rows, end = reading.added(), reading.state().next
    low = rows[0][0] if rows else end
    return low, next((first for first, seconds in rows if seconds >= before), end)


def _told(reading: Reading, low: int, high: int, before: int) -> RemovedByAge:
    return RemovedByAge(
        removed=reading.count(low, high, EMPTY)[0],
        undated=reading.count(0, low, EMPTY)[0],
        before=as_text(before),
    )
