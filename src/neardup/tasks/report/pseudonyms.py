"""Names that stand for people and documents in a report, and the key file that leads back from them.

A pseudonym is made of the person's name and a random secret of the key file, by HMAC-SHA256: who has the pages and not
the key file cannot try names out. The file keeps every name that it gave, so the same person has the same pseudonym in
each later report that is made with it. Texts are not rewritten.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import os
import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neardup.errors import InputError
from neardup.outputs.atomic import check_target, writing
from neardup.tasks.report.people import People
from neardup.types import I64

HEADER = ["kind", "name", "pseudonym"]
SECRET, PERSON, DOCUMENT = "secret", "person", "document"
_DIGITS = (4, 6, 8, 12, 16, 64)
"""Hexadecimal digits of a pseudonym: more where two people would have the same."""


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """The names of a report in place of those of its inputs."""

    people: list[str]
    """As ``People.names``."""
    of: list[str]
    """Of each document, by row; originals keep their ids."""

    def documents(self, rows: I64) -> list[str]:
        """The names of documents."""
        return [self.of[row] for row in rows.tolist()]


@dataclass(slots=True)
class KeyFile:
    """A key file: a secret, and the names that were given so far."""

    path: Path
    secret: bytes
    people: dict[str, str] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> KeyFile:
        """Read a key file; one that is not there has a new secret, and is written by ``name_all``.

        InputError where it is no key file; OutputError where it cannot be written.
        """
        place = Path(path)
        check_target(place)
        if not place.exists():
            return cls(place, secrets.token_bytes(32))
        keys: KeyFile | None = None
        try:
            with place.open(encoding="utf-8", newline="") as stream:
                rows = list(csv.reader(stream))
        except (OSError, UnicodeDecodeError, csv.Error) as exc:
            raise InputError(f"{path} cannot be read as a key file ({exc}). {_CURE}") from exc
        if not rows or rows[0] != HEADER:
            raise InputError(f"{path} is no key file: its first line is not {','.join(HEADER)}. {_CURE}")
        for line, row in enumerate(rows[1:], start=2):
            kind, name, pseudonym = row if len(row) == len(HEADER) else ("", "", "")
            if kind == SECRET and keys is None and re.fullmatch("[0-9a-f]{64}", name):
                keys = cls(place, bytes.fromhex(name))
            elif kind in (PERSON, DOCUMENT) and keys is not None and name and pseudonym:
                (keys.people if kind == PERSON else keys.documents)[name] = pseudonym
            else:
                raise InputError(f"{path}, row {line}: {row!r} is no row of a key file. {_CURE}")
        if keys is None:
            raise InputError(f"{path} has no secret, so its names cannot be made again. {_CURE}")
        return keys

    def name_all(self, people: People, ids: Sequence[str]) -> Pseudonyms:
        """Name the people and the documents of a report, and write the file where some are new.

        ``ids`` are those of the documents, by row. A person's documents are numbered in the order of their ids, behind
        those that have a number. OutputError where the file cannot be written.
        """
        before = len(self.people) + len(self.documents)
        taken = set(self.people.values())
        for name in sorted(set(people.names) - set(self.people)):
            self.people[name] = _new(self._digest(name), taken)
            taken.add(self.people[name])
        named = [self.people[name] for name in people.names]
        of = list(ids)
        if people.is_grouped:
            self._number(people, ids)
        for row, person in enumerate(people.of.tolist()):
            if person >= 0:
                of[row] = self.documents[ids[row]] if people.is_grouped else named[person]
        if len(self.people) + len(self.documents) > before or not self.path.exists():
            self._write()
        return Pseudonyms(named, of)

    def _number(self, people: People, ids: Sequence[str]) -> None:
        """Give the documents names that have none: the person's, with a number."""
        highest: dict[str, int] = defaultdict(int)
        for pseudonym in self.documents.values():
            person, _, number = pseudonym.rpartition(", text ")
            highest[person] = max(highest[person], int(number) if number.isdecimal() else 0)
        for id, number in sorted({(ids[row], number) for row, number in enumerate(people.of.tolist()) if number >= 0}):
            if id not in self.documents:
                person = self.people[people.names[number]]
                highest[person] += 1
                self.documents[id] = f"{person}, text {highest[person]}"

    def _digest(self, name: str) -> str:
        return hmac.new(self.secret, name.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest().upper()

    def _write(self) -> None:
        """Whole or not at all; nobody else may read it."""
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        with writing(self.path):
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with open(descriptor, "w", encoding="utf-8", errors="surrogatepass", newline="") as stream:
                    csv.writer(stream).writerows(self._rows())
                    stream.flush()
                    os.fsync(stream.fileno())
                os.replace(temporary, self.path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise

    def _rows(self) -> Iterable[list[str]]:
        yield HEADER
        yield [SECRET, self.secret.hex(), ""]
        yield from ([PERSON, name, pseudonym] for name, pseudonym in sorted(self.people.items()))
        yield from ([DOCUMENT, name, pseudonym] for name, pseudonym in sorted(self.documents.items()))


_CURE = "Give a key file that neardup made, or a name that is not taken, and one is made."


def _new(digest: str, taken: set[str]) -> str:
    """The shortest pseudonym of a digest that nobody has."""
    return next(name for digits in _DIGITS if (name := f"Person {digest[:digits]}") not in taken)
