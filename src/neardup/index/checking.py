"""Every byte of an index that means something, held against what it should be."""

from __future__ import annotations

import sqlite3

import numpy as np

from neardup.engine.observe import Observer, Silent
from neardup.errors import FormatError
from neardup.index.columns import check_columns
from neardup.index.core import Core
from neardup.index.database import DATABASE
from neardup.index.folders import LOCK, acknowledged
from neardup.index.outcomes import Verified
from neardup.index.prepared import EMPTY, is_tail_whole
from neardup.index.segments import bad_pages, open_segment
from neardup.index.statements import Reading
from neardup.index.views import documents_of, is_whole


def verify(core: Core, *, repair: bool) -> Verified:
    """Check all files; make damaged segments again where that is asked for and allowed."""
    with core.upkeep:
        with core.database.reading() as reading:
            faults = database_faults(core, reading)
            if core.folder is not None and acknowledged(core.folder) is None:
                faults.append(f"{LOCK}: it is damaged; the next change writes it again")
            damaged = _segments(core, reading) if core.folder is not None else []
            faults += [fault for *_, fault in damaged]
        healed = []
        for first, span, name, _ in damaged:
            if repair and not core.database.read_only:
                core.repair(first, span, name)
                healed.append(f"segments/{name}")
        return Verified(not faults, tuple(faults), tuple(healed))


def database_faults(core: Core, reading: Reading, observer: Observer | None = None) -> list[str]:
    """What is wrong with the database, as of a transaction; ``observer`` is told of each document."""
    path = DATABASE if core.folder is not None else "memory"
    try:
        faults = [f"{path}: {fault}" for fault in reading.check()]
        faults = faults or [f"{path}: {fault}" for fault in _documents(reading, observer or Silent())]
        return faults or [f"{path}: {fault}" for fault in _postings(core, reading)]
    except (FormatError, sqlite3.DatabaseError) as exc:
        return [f"{path}: {exc}"]


def _documents(reading: Reading, observer: Observer) -> list[str]:
    faults: list[str] = []
    state = reading.state()
    hashes, numbers = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    count = empty = 0
    for rows in reading.blocks(counted=False):
        try:
            _, _, kinds = documents_of(rows, reading.path)
        except FormatError:
            bad = [row for row in rows if not is_whole(row, reading.path)]
            faults += [f"the document {row[1]!r} (number {row[0]}) is not what was added" for row in bad]
            kinds = np.array([row[2] for row in rows], dtype=np.int64)
        try:
            check_columns(reading, [row[0] for row in rows])
        except FormatError as exc:
            faults.append(str(exc))
        count += len(rows)
        empty += int(np.count_nonzero(kinds & EMPTY))
        hashes.append(np.array([hash(row[1]) for row in rows], dtype=np.int64))
        numbers.append(np.array([row[0] for row in rows], dtype=np.int64))
        observer.advance(len(rows))
    if (count, empty) != (state.documents, state.empty):
        faults.append(
            f"it has {count} documents, {empty} of them empty, and counts {state.documents} and {state.empty}"
        )
    times = reading.added()  # raises where they are not as they were written
    if times and times[-1][0] >= state.next:
        faults.append(f"it has a time of addition for document {times[-1][0]}, and {state.next} were ever added")
    _, kind, many = np.unique(np.concatenate(hashes), return_inverse=True, return_counts=True)
    alike = np.concatenate(numbers)[many[kind] > 1]
    twice = alike.size - len({row[1] for row in reading.names(alike.tolist())})  # of equal hashes, ids are compared
    if twice:
        faults.append(f"{twice} ids are there more than once")
    return faults


def _postings(core: Core, reading: Reading) -> list[str]:
    """Every document's keys must be somewhere: segments first, then the tail, without a gap."""
    if core.folder is None:
        return []
    faults = []
    at = 0
    for first, span, _ in reading.segments():
        if first != at:
            faults.append(f"no segment covers the documents from {at} to {first}")
        at = first + span
    for row in reading.tail(0):
        if row.first != at:
            faults.append(f"the keys of the documents from {at} to {row.first} are missing")
        at = row.first + row.documents
        if not is_tail_whole(row):
            faults.append(f"the keys of the documents from {row.first} to {at} are damaged")
    if at != reading.state().next:
        faults.append(f"the keys of the documents from {at} on are missing")
    return faults


def _segments(core: Core, reading: Reading) -> list[tuple[int, int, str, str]]:
    """First document, span, name and fault of each segment that is not as it was written."""
    damaged = []
    for first, span, name in reading.segments():
        try:
            pages = bad_pages(open_segment(core.segment(name), first, span, core.views.rows, core.spec.id))
            fault = f"{pages} of its pages are damaged" if pages else None
        except FormatError as exc:
            fault = str(exc)
        if fault is not None:
            damaged.append((first, span, name, f"segments/{name}: {fault}"))
    return damaged
