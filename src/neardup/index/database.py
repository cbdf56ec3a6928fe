"""The database of an index, its durable part: SQLite in WAL mode, its connections and transactions.

A document's number says when it was added and is never used twice. Every change is one transaction, durable when it
returns. What is asked and changed inside a transaction is in ``statements``.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

from neardup._version import __version__
from neardup.errors import FormatError, InputError, NeardupError, OutputError
from neardup.index.statements import APPLICATION, FORMATS, SCHEMA, Reading, Writing
from neardup.params import Spec

DATABASE = "index.sqlite"
BUSY_SECONDS = 60.0


class Database:
    """The database of one index, and its connections: one that writes, and as many that read as read at a time.

    In memory there is a single connection, and whoever uses it has it alone.
    """

    def __init__(self, folder: Path | None, *, read_only: bool) -> None:
        self.path = None if folder is None else folder / DATABASE
        self.read_only = read_only
        self.process = os.getpid()
        """The process that opened it: connections must not be used in one that was forked from it."""
        self.lock = threading.RLock()
        """Held by whoever writes; in memory by whoever reads too."""
        self._idle: list[sqlite3.Connection] = []
        self._counter = threading.Lock()
        """Held while connections are taken and given back."""
        self._closed = False
        self._writer: sqlite3.Connection | None = None
        if self.path is None or not read_only:
            with self._explained():
                self._writer = self._connect()

    @classmethod
    def create(cls, folder: Path | None, spec: Spec, *, fast: bool = False) -> Database:
        """A new database; ``fast``: nothing lasts before ``settle``, for building where nobody looks."""
        database = cls(folder, read_only=False)
        connection = database.writer
        with ExitStack() as undo, database._explained():
            undo.callback(database.close)
            if folder is not None:
                connection.execute(f"PRAGMA journal_mode = {'OFF' if fast else 'WAL'}")
                connection.execute(f"PRAGMA synchronous = {'OFF' if fast else 'FULL'}")
            connection.executescript(SCHEMA)
            facts = {"spec": json.dumps(spec.as_dict(), sort_keys=True), "created_by": __version__}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
            undo.pop_all()
        return database

    @classmethod
    def open(cls, folder: Path, *, read_only: bool) -> Database:
        """The database of an index that is there; FormatError: it is none, damaged, or of a later format."""
        path = folder / DATABASE
        database = cls(folder, read_only=read_only)
        with ExitStack() as undo:
            undo.callback(database.close)
            with database.reading() as reading:
                application = reading.connection.execute("PRAGMA application_id").fetchone()[0]
                version = reading.format()
            if application != APPLICATION:
                raise FormatError(f"{path} is not the database of an index, or is damaged. Restore it from a copy.")
            if version not in FORMATS:
                known = " and ".join(map(str, FORMATS))
                raise FormatError(
                    f"{path} has format {version}; this neardup reads formats {known}. Use the neardup that wrote it, "
                    "or a later one."
                )
            undo.pop_all()
        return database

    @property
    def writer(self) -> sqlite3.Connection:
        """The connection that writes; hold ``lock``."""
        assert self._writer is not None, "whoever may only read was refused before"
        return self._writer

    def _connect(self) -> sqlite3.Connection:
        if self.path is None:
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        mode = "ro" if self.read_only else "rwc"
        place = f"file:{quote(str(self.path))}?mode={mode}"
        settled = self.read_only and not os.path.exists(f"{self.path}-wal") and not os.access(self.path.parent, os.W_OK)
        if settled:
            place += "&immutable=1"  # where not even the lock file of WAL mode can be made, nobody writes either
        connection = sqlite3.connect(
            place, uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS
        )
        try:
            connection.execute("PRAGMA mmap_size = 1099511627776")
            if not self.read_only:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA wal_autocheckpoint = 4000")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except sqlite3.DatabaseError as exc:
            raise self._wrapped(exc) from exc

    def _wrapped(self, exc: sqlite3.Error) -> NeardupError:
        """SQLite's error as ours, which names the file and the cure."""
        words = str(exc)
        if not isinstance(exc, sqlite3.OperationalError):
            return FormatError(f"{self.path} is damaged: {words}. Restore it from a copy.")
        if not self.read_only and ("full" in words or "disk I/O" in words or "readonly" in words):
            return OutputError(f"cannot write {self.path}: {words}. Nothing of this change is kept.")
        if "locked" in words or "busy" in words:
            return OutputError(
                f"{self.path} was kept locked by another program for {BUSY_SECONDS:.0f} s. Close it, and try again."
            )
        if "disk I/O" in words:  # also where the file of 32 kB that a reader maps finds no room
            return FormatError(
                f"{self.path}: {words}. Free some space if the disk is full, else restore it from a copy."
            )
        return FormatError(f"{self.path}: {words}. Restore it from a copy.")

    def need_open(self) -> None:
        """Raise InputError when it is closed, or was opened in the process that this one was forked from."""
        if self._closed:
            raise InputError("the index is closed. Open it again with Index.open.")
        if self.process != os.getpid():
            raise InputError(
                "the index was opened in the process that this one was forked from. Open it again here, with "
                "read_only=True, or start processes by 'spawn'."
            )

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """One read transaction: all that is read inside is as of one moment."""
        self.need_open()  # before a lock is taken, which a thread may have held when this process was forked
        if self.path is None:
            with self.lock:
                self.need_open()
                yield Reading(self.writer, None)
            return
        try:  # not ``_explained``: a query is short enough to notice what a second generator costs
            connection = self._lease()
            try:
                connection.execute("BEGIN")
                yield Reading(connection, self.path)
            finally:
                self._give_back(connection)
        except sqlite3.DatabaseError as exc:
            raise self._wrapped(exc) from exc

    def _lease(self) -> sqlite3.Connection:
        """A connection to read with, for this caller alone until it gives it back."""
        with self._counter:
            self.need_open()
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        """End what was read with a connection, and let others have it."""
        try:
            if connection.in_transaction:
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        with self._counter:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """One transaction that changes the index: kept, and durable, when the block ends well; else undone."""
        with self.lock, self._explained():
            self.need_open()
            connection = self.writer
            try:
                if connection.in_transaction:  # Ctrl-C came in the middle of undoing one
                    connection.execute("ROLLBACK")
                connection.execute("BEGIN IMMEDIATE")
                yield Writing(connection, self.path)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def settle(self) -> None:
        """Fold the log into the database, as far as readers allow; after a fast build: from now on all is durable."""
        if self.path is None:
            return
        with self.lock, self._explained():
            if self.writer.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                self.writer.execute("PRAGMA journal_mode = WAL")
                self.writer.execute("PRAGMA synchronous = FULL")
            self.writer.execute("PRAGMA busy_timeout = 1000")  # a long reader must not hold writers up: next time
            self.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.writer.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")
            with open(self.path, "rb") as file:
                os.fsync(file.fileno())  # a fast build has synced nothing so far

    def shrink(self) -> None:
        """Give the room of removed documents back to the disk, where it is more than a quarter of the file."""
        with self.lock, self._explained():
            free = self.writer.execute("PRAGMA freelist_count").fetchone()[0]
            if 4 * free > self.writer.execute("PRAGMA page_count").fetchone()[0]:
                self.writer.execute("VACUUM")

    def close(self) -> None:
        """Close all connections that are not in use; those that are, when they come back."""
        with self.lock, self._counter:
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            if self._writer is not None:
                self._writer.close()
