"""All SQL that reads and changes the database of an index, inside transactions.

    meta      format version, spec, version of neardup that made it
    state     one row: generation, documents, empty ones, the next number, and a checksum
    doc       number, id, kind, checksum, columns as JSON or NULL (since format 3), text
    tail      keys of documents that no segment covers yet, a row a batch
    segment   files of postings: first document, documents covered, name
    removed   numbers of removed documents whose postings are still in a segment or the tail
    added     a number, and the time at which that document and those after it were added (since format 2)

Values are checked when they are read: a damaged page can return a text for a number. ``changes`` has the logic of
changes, ``database`` connections and transactions.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neardup.errors import FormatError
from neardup.inputs.source import BATCH_BYTES
from neardup.types import I64

FORMAT = 3
"""The format that is written. An index of format 1 or 2 is read as it is, and converted when it is opened for writing,
because an older neardup would add documents without their time, or lose columns when it merges."""
FORMATS = (1, 2, FORMAT)
"""The formats that are read."""
APPLICATION = 0x6E647570
"""SQLite's application id of an index: "ndup"."""
_NAME = re.compile(r"[0-9a-f-]+\.bands")
_MANY = 500
"""The number of values in one statement."""
MOST_NUMBER = 2**63 - 1
"""The largest number that SQLite keeps."""
BLOCK = 4096
"""The largest number of documents in a block of ``Reading.blocks``."""

_ADDED = "CREATE TABLE added (first INTEGER PRIMARY KEY, seconds INTEGER NOT NULL, sum INTEGER NOT NULL)"
SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), generation INTEGER NOT NULL, documents INTEGER NOT NULL,
                    empty INTEGER NOT NULL, next INTEGER NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE doc (number INTEGER PRIMARY KEY, id TEXT NOT NULL, kind INTEGER NOT NULL, sum INTEGER NOT NULL,
                  columns TEXT, text BLOB NOT NULL);
CREATE TABLE tail (first INTEGER PRIMARY KEY, count INTEGER NOT NULL, keys BLOB NOT NULL, prints BLOB NOT NULL,
                   empty BLOB NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE segment (first INTEGER PRIMARY KEY, span INTEGER NOT NULL, name TEXT NOT NULL);
CREATE TABLE removed (number INTEGER PRIMARY KEY);
{_ADDED};
INSERT INTO state VALUES (1, 0, 0, 0, 0, 0);
"""


Row: TypeAlias = tuple[int, str, int, int, bytes]
"""A stored document: number, id, kind, checksum, text."""
Name: TypeAlias = tuple[int, str, int, int]
"""The same without its text."""


class TailRow(NamedTuple):
    """Keys of a batch that no segment covers."""

    first: int
    documents: int
    keys: bytes
    prints: bytes
    empty: bytes
    sum: int


@dataclass(frozen=True, slots=True)
class State:
    """The counters of an index."""

    generation: int
    documents: int
    empty: int
    next: int

    @property
    def sum(self) -> int:
        """Checksum: 0 for an index that was never changed."""
        values = (self.generation, self.documents, self.empty, self.next)
        return zlib.crc32(str(list(values)).encode()) if any(values) else 0  # the text that json.dumps gives, sooner


def _added_sum(first: int, seconds: int) -> int:
    return zlib.crc32(f"{first} {seconds}".encode())


class Reading:
    """The queries inside one transaction."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self._execute = connection.execute
        self.connection = connection
        """The connection of the transaction, for operations other than SQL."""
        self.path = path

    def generation(self) -> int:
        """Return the number of the last change."""
        row = self._execute("SELECT generation FROM state").fetchone()
        if row is None or not isinstance(row[0], int):
            raise self._damaged("its counters")
        return row[0]

    def state(self) -> State:
        row = self._execute("SELECT generation, documents, empty, next, sum FROM state").fetchone()
        if row is None or not all(isinstance(value, int) for value in row):
            raise self._damaged("its counters")
        *counted, sum = row
        state = State(*counted)
        if state.sum != sum:
            raise self._damaged("its counters")
        return state

    def format(self) -> int:
        """Return the version of the tables."""
        version: int = self._execute("PRAGMA user_version").fetchone()[0]
        return version

    def added(self, low: int = 0, high: int = MOST_NUMBER) -> list[tuple[int, int]]:
        """Return (first document, time) in order, times in seconds since 1970 as the clock showed them.

        These are all, or those of the documents with numbers from ``low`` to ``high``.
        """
        if self.format() < 2:
            return []
        found = self._execute(
            "SELECT first, seconds, sum FROM added WHERE first <= ?"
            " AND first >= coalesce((SELECT max(first) FROM added WHERE first <= ?), 0) ORDER BY first",
            (high, low),
        ).fetchall()
        for first, seconds, sum in found:
            if not (isinstance(first, int) and isinstance(seconds, int)) or sum != _added_sum(first, seconds):
                raise self._damaged("its times of addition")
        return [(first, seconds) for first, seconds, _ in found]

    def added_beside(self, low: int, high: int, present: int) -> tuple[int, int | None]:
        """Return the latest time in a row before ``low``, or 0, and the time of the next row after ``high``, or None.

        Times after ``present`` are ignored.
        """
        before = self._execute("SELECT max(seconds) FROM added WHERE first < ? AND seconds <= ?", (low, present))
        after = self._execute(
            "SELECT seconds FROM added WHERE first > ? AND seconds <= ? ORDER BY first LIMIT 1", (high, present)
        )
        return before.fetchone()[0] or 0, (after.fetchone() or (None,))[0]

    def count(self, low: int, high: int, flag: int) -> tuple[int, int]:
        """Count the documents with numbers from ``low`` to below ``high``, and those whose kind has a flag."""
        query = "SELECT count(*), coalesce(sum(kind & ? != 0), 0) FROM doc WHERE number >= ? AND number < ?"
        documents, flagged = self._execute(query, (flag, low, high)).fetchone()
        return documents, flagged

    def _damaged(self, what: str) -> FormatError:
        return FormatError(f"{self.path} is damaged in {what}. Restore the file from a copy.")

    def meta(self) -> dict[str, str]:
        found = self._execute("SELECT name, value FROM meta").fetchall()
        if not all(isinstance(value, str) for row in found for value in row):
            raise self._damaged("its spec")
        return dict(found)

    def segments(self) -> list[tuple[int, int, str]]:
        """Return the first document, number of documents and file name of each segment, in order."""
        found = self._execute("SELECT first, span, name FROM segment ORDER BY first").fetchall()
        for first, span, name in found:
            if not (isinstance(first, int) and isinstance(span, int) and _NAME.fullmatch(str(name))):
                raise self._damaged("its list of segments")
        return found

    def tail(self, first: int) -> list[TailRow]:
        """Return the keys of the batches that start at document ``first`` or later."""
        found = self._execute("SELECT first, count, keys, prints, empty, sum FROM tail WHERE first >= ?", (first,))
        rows = [TailRow(*row) for row in found]
        for row in rows:
            numbers, blobs = (row.first, row.documents, row.sum), (row.keys, row.prints, row.empty)
            if not all(isinstance(n, int) for n in numbers) or not all(isinstance(blob, bytes) for blob in blobs):
                raise self._damaged("its table of keys")
        return rows

    def removed(self) -> I64:
        """Return the numbers of removed documents that postings still name, ascending; int64[n]."""
        found = self._execute("SELECT number FROM removed WHERE number NOT IN (SELECT number FROM doc)")
        return np.array([row[0] for row in found], dtype=np.int64)

    def rows(self, numbers: Sequence[int]) -> list[Row]:
        """Return the documents with these numbers, ordered by number; numbers without a document are left out."""
        return self._many("SELECT number, id, kind, sum, text FROM doc WHERE number IN", numbers)

    def columns(self, mark: int, numbers: Sequence[int] | None) -> list[tuple[int, str, int, Any]]:
        """Return number, id, kind and columns of the documents that have columns, or a kind that marks them.

        ``numbers`` limits the search; None searches all documents.
        """
        if self.format() < 3:
            return []
        query = f"SELECT number, id, kind, columns FROM doc WHERE (columns IS NOT NULL OR kind & {mark})"
        return self._execute(query).fetchall() if numbers is None else self._many(f"{query} AND number IN", numbers)

    def row_blocks(self, numbers: Sequence[int]) -> Iterator[list[Row]]:
        """Yield the documents with these numbers, some hundred at a time."""
        for start in range(0, len(numbers), _MANY):
            rows = self.rows(numbers[start : start + _MANY])
            if rows:
                yield rows

    def names(self, numbers: Sequence[int]) -> list[Name]:
        """Return the documents as ``rows`` does, without their texts."""
        return self._many("SELECT number, id, kind, sum FROM doc WHERE number IN", numbers)

    def _many(self, query: str, numbers: Sequence[int]) -> list[Any]:
        found: list[Any] = []
        for start in range(0, len(numbers), _MANY):
            part = numbers[start : start + _MANY]
            rows = self._execute(f"{query} ({','.join('?' * len(part))})", part).fetchall()
            found += rows if len(part) == 1 else sorted(rows)
        return found

    def are_copies(self, numbers: I64, originals: I64) -> NDArray[np.bool_]:
        """Compare the text of each document, byte for byte, with that of its counterpart in ``originals``; bool[n].

        The result is False if one of the two was removed. SQLite compares the texts in place, which takes about 1 us
        for 1 kB; fetching them would take twice that.
        """
        found = np.zeros(numbers.size, dtype=np.bool_)
        step = max(1, _MANY // 3)
        for start in range(0, numbers.size, step):
            end = min(start + step, numbers.size)
            pairs = range(start, end), numbers[start:end].tolist(), originals[start:end].tolist()
            values = list(zip(*pairs, strict=True))
            rows = self._execute(
                f"WITH pair (place, a, b) AS (VALUES {','.join(['(?, ?, ?)'] * len(values))}) SELECT place FROM pair"
                " CROSS JOIN doc x ON x.number = a CROSS JOIN doc y ON y.number = b WHERE x.text = y.text",
                list(chain.from_iterable(values)),
            ).fetchall()
            found[[row[0] for row in rows]] = True
        return found

    def check_absent(self, numbers: Sequence[int]) -> None:
        """Raise FormatError if one of these missing documents, which postings name, was never removed.

        Numbers that this transaction has not assigned yet are ignored: a view may be later than the transaction.
        """
        end = self.state().next
        known = [number for number in numbers if number < end]
        if len(self._many("SELECT number FROM removed WHERE number IN", known)) < len(known):
            raise self._damaged("its table of documents")

    def blocks(self, *, counted: bool = True) -> Iterator[list[Row]]:
        """Yield all documents in order, in blocks of about 4 MB and at most BLOCK documents.

        Raises:
            FormatError: a text is damaged or, with ``counted``, the number of documents is not the recorded one.
        """
        held: list[Row] = []
        nbytes = count = 0
        state = self.state()
        for row in self.scan(0, state.next):
            if not isinstance(row[4], bytes):
                raise FormatError(f"{self.path} is damaged: the text of document {row[1]!r} is none. Restore the file.")
            held.append(row)
            count += 1
            nbytes += len(row[4])
            if nbytes >= BATCH_BYTES or len(held) >= BLOCK:
                yield held
                held, nbytes = [], 0
        if counted and count != state.documents:
            raise FormatError(f"{self.path} is damaged: it has {count} documents and counts others. Restore the file.")
        if held:
            yield held

    def scan(self, first: int, end: int) -> Iterable[Row]:
        """Iterate over the documents with numbers from ``first`` to below ``end``, in order."""
        return self._execute(
            "SELECT number, id, kind, sum, text FROM doc WHERE number >= ? AND number < ? ORDER BY number", (first, end)
        )

    def ids(self) -> list[Name]:
        """Return all documents without their texts, in order of addition."""
        found = self._execute("SELECT number, id, kind, sum FROM doc ORDER BY number").fetchall()
        if len(found) != self.state().documents:
            raise self._damaged("its table of documents")
        return found

    def names_after(self, after: int, prefix: str, *, most: int, scanned: int, newest: bool) -> tuple[list[Name], int]:
        """Return the next documents whose ids have a prefix, without texts, and the last number that was examined.

        The search starts after the number ``after`` and goes up or, with ``newest``, starts before it and goes down; it
        examines at most ``scanned`` numbers.
        """
        low, high = (after - scanned, after) if newest else (after + 1, after + 1 + scanned)
        order = "DESC" if newest else "ASC"
        begin = prefix.encode()  # as bytes, because SQLite ends a text at its first NUL
        found = self._execute(
            "SELECT number, id, kind, sum FROM doc WHERE number >= ? AND number < ?"
            f" AND substr(CAST(id AS BLOB), 1, ?) = ? ORDER BY number {order} LIMIT ?",
            (low, high, len(begin), begin, most),
        ).fetchall()
        if len(found) == most:
            return found, found[-1][0]
        return found, low if newest else high - 1

    def check(self) -> list[str]:
        """Return the faults that SQLite finds in the database."""
        found = [row[0] for row in self._execute("PRAGMA integrity_check(10)")]
        return [] if found == ["ok"] else found


class Writing(Reading):
    """The changes inside one transaction."""

    def insert(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Store documents: number, id, kind, checksum, columns as JSON or None, and text."""
        query = "INSERT INTO doc (number, id, kind, sum, columns, text) VALUES (?, ?, ?, ?, ?, ?)"
        self.connection.executemany(query, rows)

    def insert_added(self, first: int, seconds: int) -> None:
        """Record the time at which the documents numbered ``first`` and above were added."""
        self._execute("INSERT INTO added VALUES (?, ?, ?)", (first, seconds, _added_sum(first, seconds)))

    def delete_range(self, low: int, high: int) -> None:
        """Remove the documents from ``low`` to below ``high`` as ``delete`` does, and their times of addition."""
        reach = (low, high)
        self._execute("INSERT INTO removed SELECT number FROM doc WHERE number >= ? AND number < ?", reach)
        self._execute("DELETE FROM doc WHERE number >= ? AND number < ?", reach)
        self._execute("DELETE FROM added WHERE first >= ? AND first < ?", reach)

    def migrate(self) -> None:
        """Convert a database of an earlier format: documents get no columns, and those of format 1 no time."""
        if self.format() < 2:
            self._execute(_ADDED)
        if self.format() < FORMAT:
            self._execute("ALTER TABLE doc ADD COLUMN columns TEXT")
            self._execute(f"PRAGMA user_version = {FORMAT}")

    def insert_tail(self, row: TailRow) -> None:
        self._execute("INSERT INTO tail VALUES (?, ?, ?, ?, ?, ?)", row)

    def delete(self, numbers: Sequence[int]) -> None:
        """Remove documents; their postings are dropped when segments are merged."""
        each = [(number,) for number in numbers]
        self.connection.executemany("DELETE FROM doc WHERE number = ?", each)
        self.connection.executemany("INSERT INTO removed VALUES (?)", each)

    def forget_keys(self) -> None:
        """Delete the records of all segments and rows of keys, before one segment replaces them."""
        self._execute("DELETE FROM segment")
        self._execute("DELETE FROM tail")

    def forget_removed(self) -> None:
        """Record that no postings name removed documents."""
        self._execute("DELETE FROM removed")

    def note_change(self, *, documents: int = 0, empty: int = 0, numbers: int = 0) -> State:
        """Count a change, in which ``documents`` and ``empty`` may be negative, and return the new counters."""
        old = self.state()
        new = State(old.generation + 1, old.documents + documents, old.empty + empty, old.next + numbers)
        values = (*astuple(new), new.sum)
        self._execute("UPDATE state SET generation = ?, documents = ?, empty = ?, next = ?, sum = ?", values)
        return new

    def put_segment(self, first: int, end: int, name: str, removed: I64) -> None:
        """Record the segment that now covers documents ``first`` to ``end``, without those in ``removed``."""
        self._execute("DELETE FROM segment WHERE first >= ? AND first < ?", (first, end))
        self._execute("DELETE FROM tail WHERE first >= ? AND first < ?", (first, end))
        self._execute("INSERT INTO segment VALUES (?, ?, ?)", (first, end - first, name))
        self.connection.executemany("DELETE FROM removed WHERE number = ?", [(int(number),) for number in removed])
