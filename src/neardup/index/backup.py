"""A copy of an index as of one moment, made while it is open: by this process, by another one that writes, or by both.

A read transaction holds the database still, and the files of postings that it names are opened before anything is
copied: upkeep may remove them meanwhile, but who has a file open keeps it. What cannot be had any more, or is damaged,
is made again from the texts. All of it happens under a temporary name and without the name of the database, so that
nothing opens as an index before it is whole.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from neardup.engine.observe import Observer
from neardup.errors import FormatError, InputError, OutputError
from neardup.index import checking, folders
from neardup.index.core import LOOKS, Core
from neardup.index.database import DATABASE
from neardup.index.segments import bad_pages, fresh_name, open_segment, write_new
from neardup.index.statements import Reading, Writing
from neardup.index.views import keys_of
from neardup.outputs.atomic import output_error
from neardup.spool.machine import sync_folder

STEP_PAGES = 1024
"""Pages of the database, of 4 KB, that are copied between two looks for Ctrl-C."""
_PART = DATABASE + ".part"

Segment = tuple[int, int, str]


@contextmanager
def backed_up(core: Core, target: Path, *, replace: bool, observer: Observer) -> Iterator[Path]:
    """A copy of an index, whole and on the disk, under a temporary name; it is ``target`` when the block ends well."""
    if core.folder is not None:
        source, place = Path(os.path.realpath(core.folder)), Path(os.path.realpath(target))
        if source == place or source in place.parents:
            raise InputError(f"{target} is the index itself, or inside it. Give a folder beside it for the copy.")
    if not replace and target.exists():
        raise OutputError(f"{target} is there already. Give another name, or replace=True (--replace) for an index.")
    with folders.appearing(target, replace=replace) as place:
        for look in range(1, LOOKS + 1):
            with core.database.reading() as reading, ExitStack() as stack:
                opened = _opened(core, reading, stack)
                if look < LOOKS and any(file is None for _, file in opened):
                    continue  # merged away since the transaction began: another one knows the new ones
                _check(core, reading, observer)
                try:
                    _copy(core, reading, opened, place, observer)
                except OSError as exc:
                    raise output_error(target, exc) from exc
            break
        os.rename(place / _PART, place / DATABASE)
        yield place


def _opened(core: Core, reading: Reading, stack: ExitStack) -> list[tuple[Segment, BinaryIO | None]]:
    """The segments of a transaction and their files; None for one that is not there."""
    opened: list[tuple[Segment, BinaryIO | None]] = []
    for segment in reading.segments():
        file = None
        with contextlib.suppress(OSError):
            file = stack.enter_context(core.segment(segment[2]).open("rb"))
        opened.append((segment, file))
    return opened


def _check(core: Core, reading: Reading, observer: Observer) -> None:
    """Raise FormatError when the database is not as it should be: a copy of it would be none to go back to."""
    observer.stage("verify", reading.state().documents, "documents")
    faults = checking.database_faults(core, reading, observer)
    if faults:
        told = "; ".join(faults[:3])
        raise FormatError(f"{core.name} is damaged, and was not copied: {told}. See `neardup index verify`.")


def _copy(
    core: Core, reading: Reading, opened: list[tuple[Segment, BinaryIO | None]], place: Path, observer: Observer
) -> None:
    pages = reading.connection.execute("PRAGMA page_count").fetchone()[0]
    observer.stage("copy", pages, "pages")
    for segment, file in opened:
        _copy_segment(core, reading, segment, file, place / folders.SEGMENTS / segment[2])
        observer.advance(0)
    _copy_database(reading, place / _PART, observer)
    if core.folder is None:
        _add_postings(core, reading, place)
    folders.write_acknowledged(place, reading.generation())
    for path in (place / _PART, place / folders.LOCK, *(place / folders.SEGMENTS).iterdir()):
        with open(path, "r+b") as written:
            os.fsync(written.fileno())
    sync_folder(place / folders.SEGMENTS)


def _copy_segment(core: Core, reading: Reading, segment: Segment, file: BinaryIO | None, path: Path) -> None:
    """One file of postings: copied and read again, or made from the texts where that cannot be."""
    first, span, _ = segment
    if file is not None:
        with open(path, "wb") as copy:
            shutil.copyfileobj(file, copy, 1 << 20)
        with contextlib.suppress(FormatError):
            if not bad_pages(open_segment(path, first, span, core.views.rows, core.spec.id)):
                return
    write_new(path, keys_of(reading, core.sketcher, first, span, threads=core.threads), core.spec.id)


def _copy_database(reading: Reading, path: Path, observer: Observer) -> None:
    """The database of a transaction, page by page. The transaction lasts, so all pages are as of one moment."""
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        copy.execute("PRAGMA journal_mode = OFF")
        copy.execute("PRAGMA synchronous = OFF")  # it is synced as a file when it is whole
        done = 0

        def progress(status: int, remaining: int, total: int) -> None:
            nonlocal done
            observer.advance(total - remaining - done)
            done = total - remaining

        try:
            reading.connection.backup(copy, pages=STEP_PAGES, progress=progress)
        except sqlite3.OperationalError as exc:  # its pages were all read a moment ago: it is the copy
            raise OSError(errno.ENOSPC if "full" in str(exc) else errno.EIO, str(exc)) from exc


def _add_postings(core: Core, reading: Reading, place: Path) -> None:
    """What an index in memory has no file of."""
    end = reading.state().next
    with closing(sqlite3.connect(place / _PART, isolation_level=None)) as copy:
        if end:
            name = fresh_name(0, end)
            keys = keys_of(reading, core.sketcher, 0, end, threads=core.threads)
            write_new(place / folders.SEGMENTS / name, keys, core.spec.id)
            copy.execute("BEGIN")
            Writing(copy, place / _PART).put_segment(0, end, name, reading.removed())
            copy.execute("COMMIT")
        copy.execute("PRAGMA journal_mode = WAL")
