"""The source of each document: the file or folder that it came from, or what its id says."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.cutting import ROWS_AT_A_TIME, distinct
from neardup.errors import InputError
from neardup.inputs.folder import FilesSource
from neardup.inputs.source import Source
from neardup.session import Run
from neardup.shown import shown_path
from neardup.types import I64

Names = NDArray[np.object_]

MOST_SOURCES = 40
"""Sources that are told apart: those of most documents."""
OTHERS = "others"
NAMELESS = "(no source)"
"""Where the pattern is not found in the id."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Sources, by their documents, most first."""

    names: list[str]
    """Of more than MOST_SOURCES the last stands for the rest."""
    of: NDArray[np.int8]
    """int8[n]: number of each document's source."""
    documents: list[int]
    left_out: int
    """Sources that the last name stands for."""


def check_pattern(pattern: str | None) -> re.Pattern[str] | None:
    """The regular expression that tells sources; InputError where it is none."""
    if pattern is None:
        return None
    try:
        return re.compile(pattern)
    except re.error as exc:
        raise InputError(
            f"sources is {pattern!r}, which is no regular expression: {exc}. Give one such as '^[^/]+'."
        ) from exc


def find_origins(run: Run, pattern: re.Pattern[str] | None) -> Origins | None:
    """The source of each document of a run that has read them; None where there is one only.

    The pattern is searched in each id: its first group that matched, or the match, names the source. Without one it is
    the input file, and for a text file the folder that it lies in.
    """
    n = len(run.provenance.ids)
    numbers: dict[str, int] = {}
    of = np.empty(n, dtype=np.int32)
    name = _by_pattern(run, pattern) if pattern is not None else _by_place(run)
    for first in range(0, n, ROWS_AT_A_TIME):
        rows = np.arange(first, min(first + ROWS_AT_A_TIME, n))
        named, inverse = np.unique(name(rows), return_inverse=True)
        known = [numbers.setdefault(str(each), len(numbers)) for each in named]
        of[rows] = np.array(known, dtype=np.int32)[inverse]
    if len(numbers) < 2:
        return None
    names = list(numbers)
    documents = np.bincount(of, minlength=len(names))
    ranked = sorted(range(len(names)), key=lambda i: (-int(documents[i]), names[i]))
    kept = ranked if len(ranked) <= MOST_SOURCES else ranked[: MOST_SOURCES - 1]
    code = np.full(len(names), len(kept), dtype=np.int8)
    code[kept] = np.arange(len(kept), dtype=np.int8)
    counts, shown = documents[kept].tolist(), [names[i] for i in kept]
    left_out = len(ranked) - len(kept)
    if left_out:
        shown.append(OTHERS)
        counts.append(int(n - sum(counts)))
    return Origins(shown, code[of], counts, left_out)


def _by_pattern(run: Run, pattern: re.Pattern[str]) -> Callable[[I64], Names]:
    """The names of the sources of some rows, by their ids."""

    def name(id: object) -> str:
        found = pattern.search(str(id))
        if found is None:
            return NAMELESS
        return next((group for group in found.groups() if group is not None), found[0]) or NAMELESS

    return lambda rows: np.array([name(id) for id in run.provenance.ids.take(rows).to_pylist()], dtype=object)


def _by_place(run: Run) -> Callable[[I64], Names]:
    """The names of the sources of some rows, by where they were read."""
    places = run.provenance.places
    parts = {part.name: part for part in run.reader.parts}
    labels = [_labels(parts[name], run.reader.base) for name in places.sources]

    def names(rows: I64) -> Names:
        source, local = places.locate(rows)
        found = np.empty(source.size, dtype=object)
        for number in distinct(source).tolist():
            mine, label = source == number, labels[number]
            found[mine] = label[local[mine] - 1] if label.size > 1 else label[0]
        return found

    return names


def _labels(part: Source, base: str | None) -> Names:
    """The names under which documents of a source are counted: its own, or for text files the folder of each."""
    if not isinstance(part, FilesSource):
        return np.array([part.name], dtype=object)
    folders = [os.path.dirname(file.path) or os.curdir for file in part.files]
    if base is not None:
        top = os.path.basename(os.path.abspath(base))
        folders = [top if os.path.samefile(each, base) else os.path.relpath(each, base) for each in folders]
    return np.array([shown_path(each) for each in folders], dtype=object)
