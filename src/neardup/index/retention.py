"""How long documents are kept: when each was added, and the removal of those that are older than some age.

Numbers of documents rise in the order of addition, so the table ``added`` needs a row only when the clock shows another
second: the documents from that number up to the next row were added then. Clocks can be wrong, so rows are read by two
rules. A time in the future says nothing: the clock was ahead, and its documents count as added with the next ones. And
times never fall: a clock that was set back must not make new documents old. Documents before the first row were added
by a neardup that kept no times. Nobody knows their age, and they stay.
"""

from __future__ import annotations

import math
import time
from bisect import bisect
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import itemgetter

from neardup.index.core import Core
from neardup.index.outcomes import RemovedByAge
from neardup.index.prepared import EMPTY
from neardup.index.statements import MOST_NUMBER, Reading, Writing
from neardup.index.views import View


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
    seconds = now()
    if [latest for _, latest in writing.added(MOST_NUMBER)] != [seconds]:
        writing.insert_added(first, seconds)


def _times(reading: Reading, low: int = 0, high: int = MOST_NUMBER) -> list[tuple[int, int | None]]:
    """Return the rows of ``added`` for some documents with the times that count: none in the future, none that falls.

    The time is None for documents of a clock that was ahead, if none were added after them.
    """
    rows, present = reading.added(low, high), now()
    known = list[tuple[int, int | None]]()
    latest, following = reading.added_beside(rows[0][0], high, present) if rows else (0, None)
    for first, seconds in rows:
        latest = max(latest, seconds) if seconds <= present else latest
        known.append((first, latest if seconds <= present else None))
    following = None if following is None else max(latest, following)
    for i in reversed(range(len(known))):
        following = known[i][1] or following
        known[i] = known[i][0], following
    return known


def times_of(reading: Reading, numbers: list[int]) -> list[int | None]:
    """Return when each document was added, in seconds since 1970; None if nobody knows."""
    if not numbers:
        return []
    rows = _times(reading, min(numbers), max(numbers))
    places = [bisect(rows, number, key=itemgetter(0)) - 1 for number in numbers]
    return [rows[place][1] if place >= 0 else None for place in places]


def remove_older(core: Core, age: timedelta, *, dry_run: bool) -> RemovedByAge:
    """Remove all documents that were added longer ago than ``age``, in one transaction, or only count them."""
    before = max(0, math.ceil(now() - age.total_seconds()))
    if dry_run:
        return core.ask(lambda reading, view: _older(reading, before)[0])

    def work(writing: Writing, view: View) -> tuple[RemovedByAge, View | None]:
        told, low, high = _older(writing, before)
        if not told.removed:
            return told, None
        _, empty = writing.count(low, high, EMPTY)
        writing.delete_range(low, high)
        after = writing.note_change(documents=-told.removed, empty=-empty)
        return told, replace(view, generation=after.generation)

    return core.change(work)


def _older(reading: Reading, before: int) -> tuple[RemovedByAge, int, int]:
    """Return the counts of a removal by time of addition, its first number, and the number after its last."""
    rows, end = _times(reading), reading.state().next
    low = rows[0][0] if rows else end
    high = next((first for first, seconds in rows if seconds is None or seconds >= before), end)
    unknown = next((first for first, seconds in rows if seconds is None), end)
    undated = reading.count(0, low, EMPTY)[0] + reading.count(unknown, end, EMPTY)[0]
    return RemovedByAge(reading.count(low, high, EMPTY)[0], undated, as_text(before)), low, high
