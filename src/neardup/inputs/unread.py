"""Refuses an input of which nothing could be read, whatever the task: each run takes its tasks through a ``Watch``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

from neardup.errors import InputError, MissingDependency
from neardup.inputs.documents import INSTALL
from neardup.inputs.source import Task
from neardup.shown import counted
from neardup.types import Alone, Batch, Fault, NeedsRoom


class Watch:
    """Counts the documents and bad records of each input, by its role, while the tasks of a reading are done.

    If all records of a role are bad, the task that ends last raises the error, or ``finish`` if it comes later.
    """

    def __init__(self) -> None:
        """Start with no task."""
        self._lock = threading.Lock()
        self._made, self._open = 0, 1  # the generator of tasks counts as an open one
        self._good: set[str] = set()
        """The roles that have documents."""
        self._bad: dict[str, tuple[int, int, Fault]] = {}
        """The bad records of a role, and the first of them, after the number of its task."""

    def watched(self, task: Task, role: str) -> Task:
        """Return a task that does the same and counts its documents and bad records."""
        with self._lock:
            self._open += 1
            self._made += 1
        done = partial(self._done, task, role, self._made)
        return Alone(done) if isinstance(task, Alone) else done

    def _done(self, task: Task, role: str, number: int) -> Batch:
        try:
            batch = task()
        except NeedsRoom as exc:
            raise NeedsRoom(Alone(partial(self._done, exc.task, role, number))) from exc
        self.count(role, number, len(batch.documents), batch.bad, batch.faults)
        self.finish()
        return batch

    def count(self, role: str, number: int, documents: int, bad: int, faults: Sequence[Fault]) -> None:
        """Add the documents and bad records of a task to the counts of a role."""
        with self._lock:
            if documents:
                self._good.add(role)
            if faults:
                before, first, fault = self._bad.get(role, (0, number, faults[0]))
                self._bad[role] = before + bad, *min((first, fault), (number, faults[0]), key=lambda each: each[0])

    def finish(self) -> None:
        """Note that a task has ended, or that no more will be made; InputError if all of some input is bad."""
        with self._lock:
            self._open -= 1
            refused = [] if self._open else [role for role in self._bad if role not in self._good]
        for role in refused:
            bad, _, fault = self._bad[role]
            of = "" if role == "input" else f" of what {role} names"
            example = f"{counted(bad, 'bad record')}, the first: {fault}" if bad > 1 else str(fault)
            kind = MissingDependency if fault.reason.endswith(INSTALL) else InputError
            raise kind(f"nothing{of} could be read. {example}")
