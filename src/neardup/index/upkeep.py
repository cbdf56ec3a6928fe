"""The upkeep of an index: the tail becomes a segment, segments of like size become one, damage is repaired.

All of it is done beside readers and writers: files are written first, then one small transaction makes them count.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue

import numpy as np

from neardup.index.core import Core
from neardup.index.segments import bad_pages, fresh_name, write_merged
from neardup.index.views import View
from neardup.stages.postings import Run, compacted
from neardup.types import I64

FLUSH_DOCUMENTS = 1 << 16
"""Documents of the tail from which it becomes a segment."""
FLUSH_BATCHES = 1 << 12
"""Or changes since the last segment: each is a row that an opening process reads."""
FAN = 4
"""Segments of like size from which they are merged: n documents are written about log4 n times."""
REWRITE_SHARE = 0.5
"""Share of a segment's documents whose removal has it written anew."""
REWRITE_LEAST = 1024
IDLE_SECONDS = 30.0
"""Seconds without a change after which the index is idle: then a few segments, or unlike ones, are merged as well."""
IDLE_SHARE = 8
"""The most documents that a merge in idle time writes for each one that is not in its largest segment."""
IDLE_DOCUMENTS = 1 << 23
"""The most documents that a merge in idle time writes: for one row of them it takes 200 MB of memory."""
RETRY_SECONDS = 1.0
BACKLOG = 8
"""Flushes that writers may be ahead of the upkeep before they wait for it."""


class Upkeep:
    """The upkeep of an index that is open for writing, done in a thread when there is something to do."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.trouble: str | None = None
        """Why the last upkeep in the background failed."""
        # A queue that is made in C: Ctrl-C inside a Condition, or an Event, can leave its lock taken for good.
        self._orders: SimpleQueue[bool] = SimpleQueue()
        """True: there is something to do; False: end."""
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._changes = 0
        """Changes since the last flush."""
        self._all_changes = 0

    def note_change(self) -> None:
        """Called after each change; wakes the thread when there is something to do."""
        self._changes += 1
        self._all_changes += 1
        if self.core.folder is None or self._stopping:
            return
        is_due = self._is_due()
        if not is_due and len(self.core.views.current.segments) < 2:
            return
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="neardup-upkeep", daemon=True)
                self._thread.start()
        if not is_due:
            return  # the thread waits until nothing has been changed for a while
        if self._orders.empty():
            self._orders.put(True)
        if self._waiting() >= BACKLOG * FLUSH_DOCUMENTS:
            with self.core.upkeep:
                pass  # the upkeep is far behind: wait for a turn of it, so that memory stays bounded

    def _is_due(self) -> bool:
        return self._waiting() >= FLUSH_DOCUMENTS or self._changes >= FLUSH_BATCHES

    def _waiting(self) -> int:
        """Documents of the tail."""
        return sum(run.span for run in self.core.views.current.tail)

    def _run(self) -> None:
        settled = -1
        """The number of changes after which the index was last idle."""
        while not self._stopping:
            seen = self._all_changes
            order = self._next_order(None if seen == settled else IDLE_SECONDS)
            if order is False:
                return
            try:
                if order:
                    if self._is_due():  # changes that came during the last flush have asked for another one
                        self.flush()
                    self._merge_all(_group)
                elif seen == self._all_changes:
                    settled = seen
                    self._merge_all(_idle_group, check=self._check_stopping)
                self.trouble = None
            except _StoppedError:
                return
            except Exception as exc:  # whatever it is, it must not end the upkeep for good: ``info`` tells
                self.trouble = str(exc) or type(exc).__name__
                time.sleep(RETRY_SECONDS)

    def _next_order(self, seconds: float | None) -> bool | None:
        """Return the next order, or None if there is none for so many seconds."""
        try:
            return self._orders.get(timeout=seconds)
        except Empty:
            return None

    def stop(self) -> None:
        """End the thread after its present work; a merge in idle time is given up."""
        self._stopping = True
        self._orders.put(False)
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def flush(self) -> None:
        """Make the tail a segment."""
        core = self.core
        with core.upkeep:
            view, removed = self._now()
            if not view.tail or core.folder is None:
                return
            self._changes = 0
            self._merge(view.tail, removed)

    def _merge_all(
        self, choose: Callable[[View, I64], tuple[Run, ...]], *, check: Callable[[], None] | None = None
    ) -> None:
        """Merge one group of segments after another, while there is one."""
        while not self._stopping:
            with self.core.upkeep:
                view, removed = self._now()
                group = choose(view, removed)
                if not group:
                    return
                self._merge(group, removed, check=check)

    def _check_stopping(self) -> None:
        if self._stopping:
            raise _StoppedError

    def _now(self) -> tuple[View, I64]:
        """The runs, and the numbers of removed documents that they still name."""
        return self.core.ask(lambda reading, view: (view, reading.removed()))

    def _merge(self, runs: tuple[Run, ...], removed: I64, *, check: Callable[[], None] | None = None) -> None:
        """Let one new segment stand for runs that follow each other, unless one of them has to be made again first.

        ``check`` is called before each row, and ends the merge if it raises.
        """
        core = self.core
        for run in runs:
            if run.name is not None and bad_pages(run):
                core.repair(run.base, run.span, run.name)
                return  # the next turn finds the new one
        first, end = runs[0].base, runs[-1].end
        name = fresh_name(first, end)
        write_merged(core.segment(name), runs, removed, core.spec.id, check=check)
        core.put([(first, end, name)], removed, old=[run.name for run in runs if run.name is not None])

    def compact(self) -> None:
        """Make one segment of everything, without what was removed, and give free room back."""
        core = self.core
        with core.upkeep:
            if core.folder is None:
                self._compact_memory()
                return
            while True:
                self.flush()
                view, removed = self._now()
                if len(view.segments) < 2 and not (removed.size and view.segments):
                    break
                self._merge(view.segments, removed)
            core.database.shrink()
            core.database.settle()

    def _compact_memory(self) -> None:
        core = self.core
        with core.database.lock, core.views.lock, core.database.writing() as writing:
            view, removed = core.views.of(writing), writing.removed()
            if view.tail:
                run = compacted(view.tail, removed)
                writing.forget_removed()
                core.views.current = View(view.generation, view.generation, (), (run,))


def _group(view: View, removed: I64) -> tuple[Run, ...]:
    """Segments that follow each other and should be merged: FAN of one size with the smaller ones among and beside
    them (left out, these would keep their like apart), or one of which much was removed."""
    levels = [_level(run) for run in view.segments]
    for level in sorted(set(levels)):
        begin = 0
        for end in [*(at for at, other in enumerate(levels) if other > level), len(levels)]:
            if levels[begin:end].count(level) >= FAN:
                return view.segments[begin:end]
            begin = end + 1
    for run in view.segments:
        gone = int(np.count_nonzero((removed >= run.base) & (removed < run.end)))
        if gone >= REWRITE_LEAST and gone > REWRITE_SHARE * _documents(run):
            return (run,)
    return ()


def _idle_group(view: View, removed: I64) -> tuple[Run, ...]:
    """Return as many of the last segments as are worth one merge: all, unless one holds nearly all the documents."""
    sizes = [_documents(run) for run in view.segments]
    for begin in range(len(sizes) - 1):
        total, largest = sum(sizes[begin:]), max(sizes[begin:])
        if total <= IDLE_DOCUMENTS and total <= IDLE_SHARE * (total - largest):
            return view.segments[begin:]
    return ()


class _StoppedError(Exception):
    """The index is being closed."""


def _documents(run: Run) -> int:
    """Documents that a run has postings of."""
    return int(run.starts[-1] - run.starts[-2])


def _level(run: Run) -> int:
    size, level = max(1, _documents(run)), 0
    while size >= FAN:
        size //= FAN
        level += 1
    return level
