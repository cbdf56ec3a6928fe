"""What a process knows of an index at one moment: the runs of postings, from segments and from the tail.

A view never changes. A new one is made after each change, by the process that made it, and by others when they see
in their next transaction that the database has gone on.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.engine.threads import in_order
from neardup.errors import FormatError
from neardup.index.folders import SEGMENTS
from neardup.index.prepared import EMPTY, Sketcher, are_names_whole, is_tail_whole, whole_documents
from neardup.index.segments import Keys, open_segment
from neardup.index.statements import Name, Reading, Row, TailRow
from neardup.kernels.postings import ALL, RUN_FIELDS, Found
from neardup.params import Spec
from neardup.stages import postings as stage
from neardup.stages.postings import Run
from neardup.types import I64, U32, U64, Documents

CHUNK = 4096
"""Documents that are read at a time when postings are made again."""


class DamagedError(Exception):
    """A page of a segment is not as it was written."""

    def __init__(self, first: int, span: int, name: str, reason: str) -> None:
        super().__init__(name)
        self.first, self.span, self.name, self.reason = first, span, name, reason


class MissingError(DamagedError):
    """A segment cannot be opened, or (without a name) postings of some documents are nowhere; ``reason`` says why."""


class StaleError(Exception):
    """A transaction is older than the view that this process has by now: begin another one."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The runs of an index at one moment."""

    generation: int
    since: int
    """First generation whose documents all have postings here: merging drops those of removed documents."""
    segments: tuple[Run, ...]
    """Of files, in order."""
    tail: tuple[Run, ...]
    """In memory, in order, behind the segments."""
    table: I64 = field(init=False)

    def __post_init__(self) -> None:
        fields = [run.fields for run in self.runs]
        table = np.concatenate(fields).reshape(-1, RUN_FIELDS) if fields else np.empty((0, RUN_FIELDS), dtype=np.int64)
        object.__setattr__(self, "table", table)

    @property
    def runs(self) -> tuple[Run, ...]:
        return self.segments + self.tail

    @property
    def covered(self) -> int:
        """Number after the last document that a segment covers."""
        return self.segments[-1].end if self.segments else 0

    def lookup(self, keys: U32, wanted: NDArray[np.bool_], *, first_row: int, limit: int = ALL) -> Found:
        """Documents that share a key with each query; see ``stages.postings.lookup``."""
        found = stage.lookup(self.runs, self.table, keys, wanted, first_row=first_row, limit=limit)
        if found.damaged >= 0:
            run = self.runs[found.damaged]
            raise DamagedError(run.base, run.span, run.name or "", "a segment is damaged")
        return found


def with_run(tail: tuple[Run, ...], run: Run) -> tuple[Run, ...]:
    """The tail with one run more. Runs of like size are merged, so n documents are in about log2 n of them."""
    runs = [*tail, run]
    while len(runs) > 1 and runs[-2].span < 2 * runs[-1].span:
        last = runs.pop()
        runs[-1] = stage.merge_runs(runs[-1], last)
    return tuple(runs)


class Views:
    """The view of one process, kept up with the database."""

    def __init__(self, folder: Path | None, spec: Spec) -> None:
        self.folder = folder
        self.spec = spec
        self.lock = threading.RLock()
        """Held from a commit until its view is there."""
        self.current = View(-1, -1, (), ())
        self.repaired: dict[str, Run] = {}
        """Stand-ins for segments that are damaged and that this process may not write."""

    @property
    def rows(self) -> int:
        """Rows of postings: a band each, and the ids."""
        return self.spec.bands.bands + 1

    def of(self, reading: Reading) -> View:
        """The view for a transaction: as of then, or later (what was added since is not among its documents)."""
        generation = reading.generation()
        view = self.current
        if view.generation < generation:
            with self.lock:
                view = self.current
                if view.generation < generation:
                    view = self.current = self.renewed(reading, generation)
        if generation < view.since:
            raise StaleError
        return view

    def renewed(self, reading: Reading, generation: int) -> View:
        """The view of a transaction whose generation this is."""
        segments = [self.run_of(*segment) for segment in reading.segments()]
        covered = segments[-1].end if segments else 0
        tail = tuple(run for run in self.current.tail if run.base >= covered)
        if any(run.base < covered < run.end for run in self.current.tail):
            tail = ()
        for run in self._tail_runs(reading.tail(tail[-1].end if tail else covered)):
            tail = with_run(tail, run)
        _check_whole([*segments, *tail], reading.state().next)
        is_merged = [run.name for run in segments] != [run.name for run in self.current.segments]
        return View(generation, generation if is_merged else self.current.since, tuple(segments), tail)

    def run_of(self, first: int, span: int, name: str) -> Run:
        """A segment that is known, or from its file; MissingError when it cannot be opened."""
        known = {run.name: run for run in self.current.segments} | self.repaired
        if name in known:
            return known[name]
        assert self.folder is not None
        try:
            return open_segment(self.folder / SEGMENTS / name, first, span, self.rows, self.spec.id)
        except FormatError as exc:
            raise MissingError(first, span, name, str(exc)) from exc

    def _tail_runs(self, rows: list[TailRow]) -> Iterable[Run]:
        """Batches that follow each other as one run, at most 64k documents each."""
        held: list[TailRow] = []
        for row in rows:
            if not is_tail_whole(row):
                raise MissingError(0, 0, "", f"the keys of the documents from {row.first} on are damaged")
            if held and (row.first != held[-1].first + held[-1].documents or row.first - held[0].first >= 1 << 16):
                yield self._tail_run(held)
                held = []
            held.append(row)
        if held:
            yield self._tail_run(held)

    def _tail_run(self, batches: list[TailRow]) -> Run:
        keys = [np.frombuffer(row.keys, np.uint32).reshape(self.rows, row.documents) for row in batches]
        prints = np.concatenate([np.frombuffer(row.prints, np.uint64) for row in batches])
        has_shingles = np.ones(prints.size, dtype=np.bool_)
        base = batches[0].first
        for row in batches:
            has_shingles[np.frombuffer(row.empty, np.uint32).astype(np.int64) + (row.first - base)] = False
        return stage.make_run(base, np.concatenate(keys, axis=1), prints, has_shingles)


def _check_whole(runs: list[Run], end: int) -> None:
    """Raise MissingError unless each document up to ``end`` is in a run."""
    at = 0
    for run in runs:
        if run.base != at:
            break
        at = run.end
    if at != end:
        raise MissingError(0, 0, "", f"the keys of documents from {at} on are missing")


def documents_of(rows: list[Row], path: object) -> tuple[Documents, I64, I64]:
    """Stored documents as a block, their numbers and kinds. Raises FormatError: one is not as it was written."""
    numbers, ids, kinds, sums, texts = _columns(rows, path)
    documents = whole_documents(numbers, ids, kinds, sums, texts)
    if documents is None:
        wrong = next((row for row in rows if not is_whole(row, path)), rows[0])
        raise FormatError(
            f"{path}: the document {wrong[1]!r} is damaged: it is not what was added. Add it again with "
            "on_duplicate='replace' (--on-duplicate replace), or restore the file from a copy."
        )
    return documents, numbers, kinds


def names_of(rows: list[Name], path: object) -> list[tuple[int, str, int]]:
    """Number, id and kind of stored documents. Raises FormatError: one is not as it was written."""
    if rows:
        numbers, ids, kinds, sums = _columns(rows, path)
        if not are_names_whole(numbers, ids, kinds, sums):
            raise FormatError(f"{path} is damaged: the id of a document is not what was added. Restore it from a copy.")
    return [row[:3] for row in rows]


def _columns(rows: Sequence[tuple[Any, ...]], path: object) -> Any:
    """Rows as columns, of the types that they must have."""
    numbers, ids, kinds, sums, *texts = zip(*rows, strict=True)
    try:
        if not all(isinstance(id, str) for id in ids) or not all(isinstance(text, bytes) for text in chain(*texts)):
            raise TypeError
        arrays = [np.array(column, dtype=np.int64) for column in (numbers, kinds, sums)]
    except (TypeError, ValueError, OverflowError) as exc:
        raise FormatError(f"{path} is damaged: a document is of another type than was stored. Restore it.") from exc
    return arrays[0], ids, arrays[1], arrays[2], *texts


def is_whole(row: Row, path: object) -> bool:
    """Whether a stored document is as it was written."""
    try:
        return whole_documents(*_columns([row], path)) is not None
    except FormatError:  # it has not even the types that it must have
        return False


def keys_of(reading: Reading, sketcher: Sketcher, first: int, span: int, *, threads: int) -> Keys:
    """Keys of documents ``first`` to ``first + span``, made again from their texts. O(bytes of text)."""

    def make(rows: list[Row]) -> tuple[U32, U64, I64, I64]:
        documents, at, kinds = documents_of(rows, reading.path)
        made = sketcher.prepare(documents, [row[1] for row in rows])
        return made.keys, made.prints, at - first, kinds

    starts = range(first, first + span, CHUNK)
    scanned = (list(reading.scan(start, min(start + CHUNK, first + span))) for start in starts)
    none, no_keys = np.empty(0, dtype=np.int64), np.empty((sketcher.spec.bands.bands + 1, 0), dtype=np.uint32)
    made = in_order(make, filter(None, scanned), threads=threads)
    blocks, *facts = zip((no_keys, none.view(np.uint64), none, none), *made, strict=True)
    found, numbers, kinds = map(np.concatenate, facts)
    prints: U64 = np.zeros(span, dtype=np.uint64)
    prints[numbers] = found
    return Keys(first, blocks, numbers, prints, (kinds & EMPTY) == 0)
