"""The parts of an open index together. Work on them is done in one transaction, on a view that is repaired if need be.

Locks are taken in this order: ``upkeep`` (segments are written), ``database.lock`` (the database is changed), then
``views.lock`` (a view is replaced).
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from neardup._version import __version__
from neardup.errors import FormatError, SpecMismatch
from neardup.index.database import DATABASE, Database
from neardup.index.folders import LOCK, SEGMENTS, FolderLock, acknowledged, check_there, sizes
from neardup.index.prepared import Sketcher
from neardup.index.segments import PART, SUFFIX, Keys, fresh_name, write_new
from neardup.index.statements import Reading, Writing
from neardup.index.views import DamagedError, MissingError, StaleError, View, Views, keys_of
from neardup.params import SPEC_VERSION, Spec
from neardup.types import I64

LOOKS = 5
"""Times that a segment that cannot be opened is looked for again: a writer may have merged it away meanwhile."""
REPAIRS = 20
"""Times that one piece of work has segments made again before it gives up."""

Outcome = TypeVar("Outcome")


class Core:
    """An open index."""

    def __init__(
        self, folder: Path | None, spec: Spec, database: Database, *, threads: int, created_by: str = __version__
    ) -> None:
        self.folder = folder
        self.spec = spec
        self.database = database
        self.threads = threads
        self.created_by = created_by
        """Version of neardup that made it."""
        self.lock: FolderLock | None = None
        """The lock of the folder, where it is open for writing."""
        self.sketcher = Sketcher(spec)
        self.views = Views(folder, spec)
        self.upkeep = threading.RLock()
        """Held by whoever writes segments."""
        self.repaired = 0
        """Segments that were made again."""

    @classmethod
    def open(cls, folder: Path, *, read_only: bool, threads: int) -> Core:
        """Open an index that is there; ``Index.open`` says which errors there are."""
        check_there(folder)
        with ExitStack() as undo:
            lock = None
            if not read_only:
                lock = FolderLock(folder)
                undo.callback(lock.release)
            last = acknowledged(folder) or 0
            database = undo.enter_context(closing(Database.open(folder, read_only=True)))
            with database.reading() as reading:
                generation = reading.generation()
                if generation < last:  # before anything is written over
                    raise FormatError(
                        f"{folder / DATABASE}-wal is damaged or was removed: the last {last - generation} changes of "
                        f"{last}, which were durable, are lost. Restore the folder from a copy, or delete "
                        f"{folder / LOCK} to go on without them."
                    )
                meta = reading.meta()
            spec = _read_spec(meta, database.path)  # what cannot be used here is left as it is
            if lock is not None:
                database.close()
                database = undo.enter_context(closing(Database.open(folder, read_only=False)))
                with database.writing() as writing:
                    writing.migrate()
            core = cls(folder, spec, database, threads=threads, created_by=meta.get("created_by", ""))
            core.lock = lock
            core.ask(lambda reading, view: None)
            if lock is not None:
                if sizes(folder).get(f"{DATABASE}-wal"):
                    # Settle what a writer that was killed had begun to commit: an empty change, in its place in the
                    # log. While a reader is connected SQLite does not read such a log again, and takes the commit for
                    # undone; when all have closed it would be read again, and the commit would be back.
                    core.change(
                        lambda writing, view: (None, replace(view, generation=writing.note_change().generation))
                    )
                core._clean_folder()
            undo.pop_all()
        return core

    def _clean_folder(self) -> None:
        """Remove files that a process which was killed has left: written, and never made to count."""
        assert self.folder is not None
        with self.database.reading() as reading:
            known = {name for _, _, name in reading.segments()}
        for path in (self.folder / SEGMENTS).glob("*"):
            if path.name not in known and (path.suffix == SUFFIX or path.name.endswith(PART)):
                self.unlink(path.name)

    @property
    def id_row(self) -> int:
        """Row of postings that has the ids."""
        return self.spec.bands.bands

    @property
    def name(self) -> str:
        """For messages."""
        return "index in memory" if self.folder is None else str(self.folder)

    def segment(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / SEGMENTS / name

    def close(self) -> None:
        """Close the database, and let go of the files that are mapped, once nothing uses them any more."""
        self.database.close()
        with self.views.lock:
            self.views.current = View(-1, -1, (), ())
            self.views.repaired.clear()
        if self.lock is not None:
            self.lock.release()

    def ask(self, work: Callable[[Reading, View], Outcome]) -> Outcome:
        """Do ``work`` in one read transaction; when it meets a damaged segment, repair that and do it again."""
        missing = repaired = 0
        while True:
            try:
                with self.database.reading() as reading:
                    return work(reading, self.views.of(reading))
            except StaleError:
                continue
            except DamagedError as exc:
                if isinstance(exc, MissingError) and missing < LOOKS - 1:
                    missing += 1
                    continue
                repaired += 1
                self._repair(exc, repaired)

    def change(self, work: Callable[[Writing, View], tuple[Outcome, View | None]]) -> Outcome:
        """Do ``work`` in one transaction that changes the index; it returns its outcome and the view after it."""
        repaired = 0
        while True:
            try:
                with self.database.lock, self.views.lock:
                    with self.database.writing() as writing:
                        outcome, view = work(writing, self.views.of(writing))
                    if view is not None:
                        self._publish(view)
                    return outcome
            except DamagedError as exc:
                repaired += 1
                self._repair(exc, repaired)

    def _repair(self, found: DamagedError, times: int) -> None:
        """Repair what was found; whatever that comes to, it ends."""
        if times > REPAIRS:
            raise FormatError(
                f"{self.database.path}: {found.reason}, again and again. Is the disk failing? Restore a copy."
            )
        try:
            if found.name:
                self.repair(found.first, found.span, found.name)
                return
        except MissingError as exc:
            found = exc
        if self.database.read_only:
            raise FormatError(
                f"{self.database.path}: {found.reason}. Run `neardup index verify`, which makes them again."
            )
        try:
            self.repair_all()
        except MissingError as exc:
            raise FormatError(f"{self.database.path} is damaged: {exc.reason}. Restore the file from a copy.") from exc

    def repair(self, first: int, span: int, name: str) -> None:
        """Make a segment again from the documents, and any others that cannot be opened; who only reads keeps them
        in memory."""
        with self.upkeep:
            keys: dict[str, Keys] = {}
            with self.database.reading() as reading:
                segments = reading.segments()
                if (first, span, name) not in segments or name in self.views.repaired:
                    return  # somebody was faster
                for begin, extent, each in segments:
                    if each == name or self._is_missing(begin, extent, each):
                        keys[each] = self._keys(reading, begin, extent)
                removed = reading.removed()
            self.repaired += len(keys)
            if self.database.read_only:
                with self.views.lock:
                    self.views.repaired.update({each: made.run() for each, made in keys.items()})
                    self.views.current = View(-1, -1, (), ())  # made anew by the next transaction
                return
            self.put([self._written(made) for made in keys.values()], removed, old=keys)

    def _keys(self, reading: Reading, first: int, span: int) -> Keys:
        return keys_of(reading, self.sketcher, first, span, threads=self.threads)

    def _written(self, keys: Keys) -> tuple[int, int, str]:
        """First document, end and name of a segment that is written from keys."""
        end = keys.first + keys.prints.size
        name = fresh_name(keys.first, end)
        write_new(self.segment(name), keys, self.spec.id)
        return keys.first, end, name

    def _is_missing(self, first: int, span: int, name: str) -> bool:
        try:
            self.views.run_of(first, span, name)
        except MissingError:
            return True
        return False

    def repair_all(self) -> None:
        """Make all postings again from the documents, where it is not known any more who has them."""
        with self.upkeep:
            if self.folder is None:
                self._repair_memory()
                return
            with self.database.reading() as reading:
                old = [name for _, _, name in reading.segments()]
                keys = self._keys(reading, 0, reading.state().next)
                removed = reading.removed()
            self.repaired += 1
            self.put([self._written(keys)], removed, old=old, alone=True)

    def _repair_memory(self) -> None:
        """In memory nothing is damaged, but Ctrl-C may come between a commit and its view."""
        with self.database.lock, self.views.lock, self.database.reading() as reading:
            state = reading.state()
            run = self._keys(reading, 0, state.next).run()
            self.views.current = View(state.generation, state.generation, (), (run,) if state.next else ())

    def put(
        self, segments: list[tuple[int, int, str]], removed: I64, *, old: Iterable[str] = (), alone: bool = False
    ) -> None:
        """Let segments that were written stand for the documents from their first to their end from now on.

        They have no postings of the ``removed``. ``old``: files that are no longer used then. ``alone``: whatever else
        is listed is forgotten.
        """
        with self.database.lock, self.views.lock:
            with self.database.writing() as writing:
                if alone:
                    writing.forget_keys()
                for first, end, name in segments:
                    writing.put_segment(first, end, name, removed[(removed >= first) & (removed < end)])
                view = self.views.renewed(writing, writing.note_change().generation)
            self._publish(view)
        for name in old:
            self.unlink(name)

    def _publish(self, view: View) -> None:
        """Let a change be seen that is durable by now."""
        if self.lock is not None:
            self.lock.acknowledge(view.generation)
        self.views.current = view

    def unlink(self, name: str) -> None:
        """Remove the file of a segment that is no longer used; who has it mapped keeps it until then."""
        with contextlib.suppress(OSError):
            self.segment(name).unlink()


def check_same(mine: Spec, theirs: Spec, other: str) -> None:
    """Raise SpecMismatch, which says what differs, unless two indexes have one spec."""
    ours, others = mine.as_dict(), theirs.as_dict()
    differing = [name for name in ours if name != "id" and ours[name] != others.get(name)]
    if not differing and len(ours) == len(others):
        return
    told = ", ".join(f"{name} ({ours[name]} here and {others.get(name)} there)" for name in differing)
    raise SpecMismatch(f"{other} differs in {told}. Build one of the two again with the other's options.")


def _read_spec(meta: dict[str, str], path: object) -> Spec:
    """The spec of an index from what its database says."""
    try:
        stored = json.loads(meta["spec"])
        if stored["version"] != SPEC_VERSION:
            raise FormatError(
                f"{path}: its spec has version {stored['version']}, this neardup knows {SPEC_VERSION}. Use the neardup "
                f"that wrote it ({meta.get('created_by')}), or build the index again."
            )
        return Spec.from_dict(stored)
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError) as exc:
        raise FormatError(f"{path}: the spec of the index is damaged ({exc}). Restore the file from a copy.") from exc
