"""Whose a document is: several files of one person are not compared with each other, and are shown together."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from neardup.engine.pairing import Pairing
from neardup.errors import InputError
from neardup.inputs.folder import FilesSource
from neardup.inputs.reader import Reader
from neardup.session import Run
from neardup.shown import shown_path
from neardup.tasks.dedup.deciding_column import check_column, read_values
from neardup.tasks.report.roles import ORIGINAL, SUBMISSION, Roles
from neardup.types import I32, I64, U8

_OPTION = "group_by"


@dataclass(frozen=True, slots=True)
class GroupBy:
    """How a document tells whose it is: by one of the three."""

    level: int | None = None
    """A folder of its path: 1 is the first below the folder that was given."""
    column: str | None = None
    pattern: re.Pattern[str] | None = None
    """Searched in the id as the pages show it: its first group that matched, or the match."""

    @classmethod
    def parse(cls, text: str | None) -> GroupBy | None:
        """Read ``folder:N``, ``column:NAME`` or a regular expression; InputError where it is none of them.

        >>> GroupBy.parse("folder:1").level
        1
        """
        if text is None:
            return None
        kind, colon, rest = text.partition(":")
        if kind == "folder" and colon:
            if not re.fullmatch("[1-9][0-9]{0,2}", rest):
                raise InputError(f"{_OPTION} is {text!r}. Give the level of a folder from 1, such as folder:1.")
            return cls(level=int(rest))
        if kind == "column" and colon:
            if not rest:
                raise InputError(f"{_OPTION} is {text!r}. Give the name of a column, such as column:student.")
            return cls(column=rest)
        try:
            return cls(pattern=re.compile(text))
        except re.error as exc:
            raise InputError(
                f"{_OPTION} is {text!r}, which is no regular expression: {exc}. Give folder:1, column:NAME, or an "
                "expression such as '^[^_]+'."
            ) from exc

    def check(self, reader: Reader, roles: Roles) -> None:
        """Raise InputError, before a long run, where a source has no such column."""
        if self.column is not None:
            originals = [name for name, role in roles.sources.items() if role == ORIGINAL]
            check_column(reader, self.column, without=originals, option=_OPTION)


@dataclass(frozen=True, slots=True)
class People:
    """The people of a collection."""

    names: list[str]
    """In the order of their first documents."""
    of: I32
    """int32[n]: the number of each document's person; -1 for originals, which are nobody's."""
    role: U8
    """uint8[n]: indices into ROLES."""
    is_grouped: bool
    """Whether a person may have several documents; else each document has its own."""
    unnamed: int
    """Documents that did not tell whose they are, and stand for themselves."""

    @property
    def pairing(self) -> Pairing | None:
        """Which documents may form pairs; None: any two."""
        is_reference = self.role != SUBMISSION
        if not self.is_grouped and not is_reference.any():
            return None
        return Pairing(self.of if self.is_grouped else None, is_reference if is_reference.any() else None)

    def submitting(self) -> int:
        """How many people have a submission."""
        return int(np.unique(self.of[self.role == SUBMISSION]).size)


def shown_ids(run: Run, rows: I64) -> list[str]:
    """The ids of documents as the pages show them: files of the one folder that was given from that folder on."""
    names = map(str, run.provenance.ids.take(rows).to_pylist())
    base = run.reader.base
    if base is None:
        return list(names)
    folder = os.path.join(shown_path(base), "")
    return [name.removeprefix(folder) for name in names]


def find_people(run: Run, by: GroupBy | None, roles: Roles) -> People:
    """Whose each document of a run is that has read them. A document that does not tell is by itself.

    Without ``by`` each document is its own person's, by the name of its id. Two documents are of one person when they
    tell the same name, submissions and earlier ones alike.
    """
    n = len(run.provenance.ids)
    role = roles.of(run)
    rows = np.flatnonzero(role != ORIGINAL)
    ids = shown_ids(run, rows)
    of = np.full(n, -1, dtype=np.int32)
    if by is None:
        of[rows] = np.arange(rows.size, dtype=np.int32)
        return People(ids, of, role, False, 0)
    told = _told(run, by, [*run.reader.sources, *roles.given], rows, ids)
    known: dict[tuple[bool, str], int] = {}
    keys = [(name is None, id if name is None else name) for name, id in zip(told, ids, strict=True)]
    of[rows] = [known.setdefault(key, len(known)) for key in keys]
    return People([name for _, name in known], of, role, True, sum(name is None for name in told))


def _told(run: Run, by: GroupBy, given: Sequence[str], rows: I64, ids: Sequence[str]) -> list[str | None]:
    """The names that documents tell; below the folders ``given``, where a folder is one."""
    if by.pattern is not None:
        return [_matched(by.pattern, id) for id in ids]
    places = run.provenance.places
    source, local = places.locate(rows)
    parts = {part.name: part for part in run.reader.parts}
    told: list[str | None] = [None] * rows.size
    if by.column is not None:
        mine = {number: np.flatnonzero(source == number) for number in range(len(places.sources))}
        wanted: Mapping[str, I64] = {places.sources[number]: local[at] for number, at in mine.items()}
        values = iter(read_values(run.reader, by.column, wanted).to_pylist())
        for at in mine.values():
            for place in at.tolist():
                value = next(values)
                told[place] = None if value is None else str(value).strip() or None
        return told
    assert by.level is not None
    for place, (number, at) in enumerate(zip(source.tolist(), local.tolist(), strict=True)):
        part = parts[places.sources[number]]
        path = part.files[at - 1].path if isinstance(part, FilesSource) else next(iter(part.paths or ()), None)
        told[place] = None if path is None else _folder(path, given, by.level)
    return told


def _matched(pattern: re.Pattern[str], id: str) -> str | None:
    found = pattern.search(id)
    if found is None:
        return None
    return next((group for group in found.groups() if group is not None), found[0]) or None


def _folder(path: str, given: Sequence[str], level: int) -> str | None:
    """The folder of a path at a level below what was given, if it has so many."""
    for base in given:
        if os.path.isdir(base) and not (below := os.path.relpath(path, base)).startswith(os.pardir):
            path = below
            break
    folders = [part for part in os.path.dirname(path).split(os.sep) if part not in ("", os.curdir, os.pardir)]
    return folders[level - 1] if len(folders) >= level else None
