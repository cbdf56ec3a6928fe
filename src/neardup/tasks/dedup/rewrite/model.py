"""What a rewrite is told and what it tells: ``Rewrite`` with its ``Annotation``, ``Tally`` and ``Written``."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neardup.arrays import nullable, numbers
from neardup.errors import InputChanged, InputError
from neardup.inputs.source import ReadOptions
from neardup.tasks.dedup.rewrite.known import Known
from neardup.types import F64, I64

__all__ = [
    "GROUP_BYTES",
    "Annotation",
    "Rewrite",
    "Tally",
    "Written",
    "added_names",
    "changed",
    "check_rereadable",
]

GROUP_BYTES = 64 << 20
"""Decoded bytes of a row group or batch that is written in one piece; about three times as much memory is used."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """What is known of the documents of one file that lie in clusters; the entries belong together."""

    rows: I64
    """int64[n], rising: 1-based lines or rows of the file, as its reader numbers them."""
    cluster: I64
    """int64[n], the cluster of each."""
    keeper: Any
    """Arrow array[n] of int64 or large_string: the id of the document that stands for each."""
    similarity: F64
    """float64[n], the exact similarity to that document; NaN: not known, written as null."""

    def part(self, first: int, count: int) -> Annotation:
        """What is known of a file that holds ``count`` rows of the input, beginning with row ``first``."""
        some = slice(*np.searchsorted(self.rows, (first, first + count)).tolist())
        return Annotation(self.rows[some] - (first - 1), self.cluster[some], self.keeper[some], self.similarity[some])

    def spread(self, first: int, count: int) -> tuple[Any, Any, Any]:
        """Cluster, keeper and similarity of ``count`` rows beginning with row ``first``, as Arrow arrays; null outside
        clusters."""
        some = self.part(first, count)
        places = np.zeros(count, dtype=np.int64)
        known = np.zeros(count, dtype=np.bool_)
        places[some.rows - 1] = np.arange(some.rows.size)
        known[some.rows - 1] = True
        at = nullable(numbers(places), known)
        similarity = nullable(numbers(some.similarity), ~np.isnan(some.similarity))
        return numbers(some.cluster).take(at), some.keeper.take(at), similarity.take(at)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file that gets a clean copy: what is left out of it, or added to it."""

    path: str
    """A regular file; compressed where its name ends in ``.gz`` or ``.zst``, and then the copy is too."""
    format: str
    """"jsonl", "lines", "csv", "tsv", "parquet" or "arrow"."""
    options: ReadOptions
    """How the file was read; bad records are kept whatever ``on_bad`` says."""
    removed: I64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[n], rising: the 1-based lines or rows, as its reader numbers them, that are left out."""
    annotation: Annotation | None = None
    """Fields to add; then nothing is removed."""
    known: Known | None = None
    """What some of its documents were when they were read first; each is held against it."""
    group_bytes: int = GROUP_BYTES
    """Decoded bytes of a row group or batch to write at most, about."""

    def __post_init__(self) -> None:
        if self.annotation is not None and self.removed.size:
            raise ValueError("a file is either annotated or cut")
        object.__setattr__(self, "removed", np.ascontiguousarray(self.removed, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Written:
    """What a rewrite did to one file."""

    kept: int
    """Records that were written, without blank lines and those in ``bad``."""
    removed: int
    """Documents that were left out."""
    bad: int
    """Records kept as they are that were seen to be no documents.

    Only what is looked at is seen. Cutting looks at the ends of the records, so it counts a broken quote in CSV and
    nothing else; annotating reads the records, and counts all that the reader calls bad in JSON Lines.
    """
    bytes: int
    """Bytes that were written, compressed where the output is."""


@dataclass(slots=True)
class Tally:
    """The counts of ``Written`` while they grow."""

    kept: int = 0
    removed: int = 0
    bad: int = 0

    @property
    def records(self) -> int:
        """Documents and bad records that were seen."""
        return self.kept + self.removed + self.bad


ADDED = ("cluster", "keeper", "similarity")
_PREFIX = "neardup_"


def added_names(names: Iterable[str], source: str) -> tuple[str, str, str]:
    """Names for the three fields that an annotation adds to those in ``names``.

    Raises:
        InputError: they are there already, with the prefix too.
    """
    taken = set(names)
    for prefix in ("", _PREFIX):
        cluster, keeper, similarity = (prefix + name for name in ADDED)
        if taken.isdisjoint((cluster, keeper, similarity)):
            return cluster, keeper, similarity
    both = sorted(taken & {prefix + name for prefix in ("", _PREFIX) for name in ADDED})
    raise InputError(
        f"{source} has the columns {', '.join(map(repr, both))} already, so there are no names left for those of the "
        "annotation. Annotate a file without them, or rename them."
    )


def changed(source: str, wanted: int, found: int) -> InputChanged:
    """The error for a file whose documents are not where they were when it was read."""
    return InputChanged(
        f"{source} was changed since it was read: of {wanted} documents to find again, {found} are in their places. "
        "Run again from the start."
    )


def check_rereadable(path: str, use: str = "a clean copy") -> None:
    """Raise InputError when a file can be read only once: standard input, a pipe, a device."""
    try:
        is_regular = path != "-" and stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return  # opening it says best what is wrong
    if not is_regular:
        name = "standard input" if path == "-" else path
        raise InputError(f"{name} can be read only once, and {use} reads it again. Save it as a file first.")
