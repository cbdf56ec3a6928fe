"""What a document belongs to: a person, a site, a newspaper; told by its folder, a column or its id.

What is made of it is elsewhere: ``tasks.report.people`` compares no two documents of a person, ``tasks.passages`` looks
for what repeats inside each group.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from neardup.engine.space import Space
from neardup.errors import InputError
from neardup.inputs.folder import FilesSource
from neardup.inputs.names import Provenance
from neardup.inputs.reader import Reader
from neardup.shown import shown_path
from neardup.tasks.columns.reread import check_column, read_values
from neardup.types import I32, I64

_OPTION = "group_by"
NAME_BYTES = 150
"""Memory for the name of a group, beside its characters."""


class ReadRun(Protocol):
    """A run that has read its inputs."""

    @property
    def reader(self) -> Reader:
        """The inputs."""

    @property
    def provenance(self) -> Provenance:
        """Where documents came from."""


class SpacedRun(ReadRun, Protocol):
    """One with a limit of memory."""

    @property
    def space(self) -> Space:
        """What it may take."""


@dataclass(frozen=True, slots=True)
class GroupBy:
    """How a document tells what it belongs to: by one of the three."""

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

    def check(self, reader: Reader, without: Collection[str] = ()) -> None:
        """Raise InputError, before a long run, where a source has no such column; sources ``without`` need none."""
        if self.column is not None:
            check_column(reader, self.column, without=without, option=_OPTION)


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a collection."""

    names: list[str | None]
    """In the order of their first documents; None: of a document that does not tell, and is a group by itself."""
    of: I32
    """int32[n]: the number of each document's group."""

    @property
    def untold(self) -> int:
        """Documents that do not tell what they belong to."""
        return sum(name is None for name in self.names)

    def sizes(self) -> I64:
        """int64[groups]: documents of each."""
        counts: I64 = np.bincount(self.of, minlength=len(self.names)).astype(np.int64)
        return counts


def group_documents(run: SpacedRun, by: GroupBy) -> Groups:
    """What each document of a run belongs to. Memory: 4 bytes a document, the names, and the values of a column.

    InputError where there are more names than fit.
    """
    ids = run.provenance.ids
    rows = np.arange(len(ids), dtype=np.int64)
    of = np.empty(rows.size, dtype=np.int32)
    known: dict[str, int] = {}
    names: list[str | None] = []
    size = 0
    pieces = [slice(0, rows.size)] if by.column is not None else ids.pieces(rows)
    for piece in pieces:
        shown = shown_ids(run, rows[piece]) if by.pattern is not None else []
        for row, name in enumerate(told_names(run, by, run.reader.sources, rows[piece], shown), start=piece.start):
            number = len(names) if name is None else known.setdefault(name, len(names))
            if number == len(names):
                names.append(name)
                size += NAME_BYTES + len(name or "")
            of[row] = number
        run.space.need_memory(size, f"the names of {len(names):,} groups or more")
    return Groups(names, of)


def shown_ids(run: ReadRun, rows: I64) -> list[str]:
    """The ids of documents as the pages show them: files of the one folder that was given from that folder on."""
    names = map(str, run.provenance.ids.take(rows).to_pylist())
    base = run.reader.base
    if base is None:
        return list(names)
    folder = os.path.join(shown_path(base), "")
    return [name.removeprefix(folder) for name in names]


def told_names(run: ReadRun, by: GroupBy, given: Sequence[str], rows: I64, ids: Sequence[str]) -> list[str | None]:
    """The names that documents tell, by their rising rows and shown ids; below the folders ``given``, where a folder
    is one."""
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
                value = next(values)  # strings are bytes there
                name = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
                told[place] = None if value is None else name.strip() or None
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
