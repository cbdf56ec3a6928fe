"""Where ``MinHashLSH`` keeps its keys and buckets: in memory, or in a file of its own, which is a database of SQLite.

The file is not the index of ``neardup.Index``, which keeps texts; here there are none. A change outside a session is
one transaction, and durable when the call returns. Keys are strings, integers and bytes; nothing is pickled.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from neardup.errors import FormatError, InputError, OutputError, SpecMismatch, did_you_mean

APPLICATION = 0x6E64646B
"""SQLite's application id of such a file: "nddk"."""
FORMAT = 1
SCHEMA = f"""
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
CREATE TABLE shape (one INTEGER PRIMARY KEY CHECK (one = 1), num_perm INTEGER NOT NULL, bands INTEGER NOT NULL,
                    rows INTEGER NOT NULL, scheme TEXT);
CREATE TABLE key (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE);
CREATE TABLE bucket (band INTEGER, hash BLOB, number INTEGER, PRIMARY KEY (band, hash, number)) WITHOUT ROWID;
CREATE INDEX bucket_of ON bucket (number, band);
COMMIT;
"""
BUSY_SECONDS = 60.0
KINDS = ("dict", "neardup")


class Shape(NamedTuple):
    """What sketches and bands an index is for."""

    num_perm: int
    bands: int
    rows: int


def open_storage(config: Mapping[str, Any] | None, shape: Shape) -> Storage:
    """The storage that a ``storage_config`` asks for; the file of ``neardup`` is made where there is none.

    Raises:
        InputError: there is no such kind, or its path is missing.
        SpecMismatch: the file is of an index for other sketches or bands.
        FormatError: it is something else.
    """
    kind = "dict" if config is None else config.get("type")
    if kind not in KINDS:
        raise InputError(
            f"storage_config asks for the type {kind!r}; known are {', '.join(KINDS)}.{did_you_mean(str(kind), KINDS)} "
            "A file on disk is {'type': 'neardup', 'path': …}."
        )
    if kind == "dict":
        return MemoryStorage(shape)
    assert config is not None
    path = config.get("path")
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"storage_config has the path {path!r}. Give the path of a file: {{'type': 'neardup', …}}.")
    return FileStorage(os.fspath(path), shape)


class MemoryStorage:
    """Dictionaries. A bucket is a dict without values: a set that keeps its order."""

    def __init__(self, shape: Shape) -> None:
        self.keys: dict[Any, list[bytes]] = {}
        self.hashtables: list[dict[bytes, dict[Any, None]]] = [{} for _ in range(shape.bands)]
        self.scheme: str | None = None

    def insert(self, key: Any, hashes: Sequence[bytes], *, buffered: bool) -> None:
        """Add a key; ``buffered`` changes nothing here."""
        self.keys.setdefault(key, []).extend(hashes)
        for table, each in zip(self.hashtables, hashes, strict=True):
            bucket = table.get(each)
            if bucket is None:
                table[each] = {key: None}
            else:
                bucket[key] = None

    def remove(self, key: Any, *, buffered: bool) -> None:
        """Remove a key; ``buffered`` changes nothing here."""
        for i, each in enumerate(self.keys.pop(key)):  # more than one a band where a key was added again
            table = self.hashtables[i % len(self.hashtables)]
            bucket = table.get(each, {})
            bucket.pop(key, None)
            if not bucket:
                table.pop(each, None)

    def settle(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""


class FileStorage:
    """A file of SQLite, which one process at a time writes and others may read."""

    def __init__(self, path: str, shape: Shape) -> None:
        self.path, self.shape = path, shape
        self._scheme: str | None = None
        with self._explained():
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS
            )
        try:
            with self._explained():
                self._open()
        except BaseException:
            self._connection.close()
            raise
        self.keys = Keys(self)
        self.hashtables = [Table(self, band) for band in range(shape.bands)]

    def _open(self) -> None:
        application, version = (self.ask(f"PRAGMA {name}")[0][0] for name in ("application_id", "user_version"))
        if not application and not self.ask("SELECT name FROM sqlite_master"):
            self._connection.executescript(SCHEMA)
            self._connection.execute("INSERT INTO shape VALUES (1, ?, ?, ?, NULL)", self.shape)
        elif application != APPLICATION:
            raise FormatError(f"{self.path} is no file of neardup.compat.datasketch. Give another path.")
        elif version != FORMAT:
            raise FormatError(
                f"{self.path} has format {version}; this neardup reads {FORMAT}. Use the one that wrote it."
            )
        self._connection.execute("PRAGMA synchronous = FULL")
        (*found, self._scheme) = self.ask("SELECT num_perm, bands, rows, scheme FROM shape")[0]
        if tuple(found) != self.shape:
            told = "num_perm, bands and rows"
            raise SpecMismatch(
                f"{self.path} has {told} {tuple(found)}, and they were to be {tuple(self.shape)}. Open it with "
                f"num_perm={found[0]}, params=({found[1]}, {found[2]})."
            )

    @property
    def scheme(self) -> str | None:
        """Of the sketches so far."""
        return self._scheme

    @scheme.setter
    def scheme(self, scheme: str | None) -> None:
        if scheme != self._scheme:
            self.ask("UPDATE shape SET scheme = ?", (scheme,))
            self._scheme = scheme

    def ask(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        with self._explained():
            return self._connection.execute(statement, values).fetchall()

    def insert(self, key: Any, hashes: Sequence[bytes], *, buffered: bool) -> None:
        """Add a key, a string, an integer of 64 bits or bytes; ``buffered``: nothing lasts before ``settle``."""
        with self._changing(buffered) as connection:
            connection.execute("INSERT INTO key (key) VALUES (?) ON CONFLICT DO NOTHING", (stored_key(key),))
            (number,) = connection.execute("SELECT number FROM key WHERE key = ?", (key,)).fetchone()
            rows = ((band, each, number) for band, each in enumerate(hashes))
            connection.executemany("INSERT INTO bucket VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows)

    def remove(self, key: Any, *, buffered: bool) -> None:
        """Remove a key that is there; ``buffered`` as for ``insert``."""
        with self._changing(buffered) as connection:
            (number,) = connection.execute("SELECT number FROM key WHERE key = ?", (key,)).fetchone()
            connection.execute("DELETE FROM bucket WHERE number = ?", (number,))
            connection.execute("DELETE FROM key WHERE number = ?", (number,))

    def settle(self) -> None:
        """Keep what was buffered."""
        with self._explained():
            try:
                if self._connection.in_transaction:
                    self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Keep what was buffered, and close the file."""
        self.settle()
        self._connection.close()

    @contextmanager
    def _changing(self, buffered: bool) -> Iterator[sqlite3.Connection]:
        """One change, kept whole or not at all; in its own transaction, or in the one of a session."""
        with self._explained():
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("SAVEPOINT change")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK TO change")
                raise
            finally:
                self._connection.execute("RELEASE change")
                if not buffered:
                    self.settle()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except sqlite3.ProgrammingError as exc:
            raise InputError(f"{self.path} is closed. Make the MinHashLSH again to open it.") from exc
        except sqlite3.OperationalError as exc:
            raise OutputError(
                f"{self.path}: {exc}. Is there room, may it be written, does another program use it?"
            ) from exc
        except sqlite3.DatabaseError as exc:
            raise FormatError(f"{self.path} is no database, or is damaged: {exc}. Give another path.") from exc

    def __getstate__(self) -> tuple[str, Shape]:
        self.settle()
        return self.path, self.shape

    def __setstate__(self, state: tuple[str, Shape]) -> None:
        self.__init__(*state)  # type: ignore[misc]


Storage: TypeAlias = MemoryStorage | FileStorage


class Table(Mapping[bytes, dict[Any, None]]):
    """The buckets of one band, read from the file when they are asked for."""

    def __init__(self, storage: FileStorage, band: int) -> None:
        self._storage, self._band = storage, band

    def __getitem__(self, each: bytes) -> dict[Any, None]:
        found = self._storage.ask(
            "SELECT key FROM bucket JOIN key USING (number) WHERE band = ? AND hash = ? ORDER BY number",
            (self._band, each),
        )
        if not found:
            raise KeyError(each)
        return dict.fromkeys(key for (key,) in found)

    def __iter__(self) -> Iterator[bytes]:
        for (each,) in self._storage.ask("SELECT DISTINCT hash FROM bucket WHERE band = ?", (self._band,)):
            yield each

    def __len__(self) -> int:
        ((count,),) = self._storage.ask("SELECT count(DISTINCT hash) FROM bucket WHERE band = ?", (self._band,))
        return int(count)


class Keys(Mapping[Any, list[bytes]]):
    """The hashes of each key, read from the file when they are asked for."""

    def __init__(self, storage: FileStorage) -> None:
        self._storage = storage

    def __getitem__(self, key: Any) -> list[bytes]:
        found = self._storage.ask(
            "SELECT hash FROM bucket JOIN key USING (number) WHERE key = ? ORDER BY band, hash", (stored_key(key),)
        )
        if not found:
            raise KeyError(key)
        return [each for (each,) in found]

    def __iter__(self) -> Iterator[Any]:
        for (key,) in self._storage.ask("SELECT key FROM key ORDER BY number"):
            yield key

    def __len__(self) -> int:
        return int(self._storage.ask("SELECT count(*) FROM key")[0][0])


def stored_key(key: Any) -> Any:
    """A key as the file takes it; TypeError for others."""
    if not isinstance(key, str | int | bytes):
        raise TypeError(
            f"the key {key!r} is a {type(key).__name__}. Keys of a file are strings, integers or bytes; or give "
            "prepickle=True, and open only files that you trust."
        )
    if isinstance(key, int) and not -(1 << 63) <= key < 1 << 63:
        raise InputError(f"the key {key} has more than 64 bits. Give str(key).")
    return key
