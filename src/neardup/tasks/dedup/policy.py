"""Which document of a cluster is kept: the policy as the user says it, and what it knows of rows and their sources."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup import tuning
from neardup.arrays import numbers, strings
from neardup.engine.joins.containment import sizes_of
from neardup.engine.state import Gathered
from neardup.errors import InputError
from neardup.inputs.addresses import as_path, place_of, real_place
from neardup.inputs.folder import FilesSource
from neardup.inputs.passed import Passing, together
from neardup.inputs.reader import Reader, open_inputs
from neardup.inputs.source import Source
from neardup.params import CONTAINMENT, DEFAULT_KEEP, InputOptions, Keep, Overlap, SearchOptions, Spec
from neardup.session import Run
from neardup.shown import shown_path
from neardup.types import I64

ValuesOf = Callable[[str, Mapping[str, I64]], Any]
NONE = "none"
"""The rule by which all of a cluster go."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Which document of a cluster is kept."""

    keep: Keep
    prefer: tuple[str, ...] = ()
    """Sources whose documents are kept rather than others, the first first: a file, a folder, or a pattern."""
    protected: frozenset[str] = frozenset()
    """Names of sources none of whose documents goes."""

    def facts(self) -> dict[str, Any]:
        """What a later run must be told alike to go on, as JSON values."""
        return {"keep": str(self.keep), "prefer": list(self.prefer), "protected": sorted(self.protected)}


def make_spec(
    search: SearchOptions, overlap: str | int | Overlap | None, policy: Policy, *, is_protected: bool
) -> Spec:
    """The spec of a clean-up: of a search, or of a rule of overlap with protected documents.

    Raises:
        InputError: an option is out of range, or is given with a rule of overlap, which leaves no room for it.
    """
    if overlap is None:
        return tuning.make_spec(search)
    rule = Overlap.parse(overlap)
    if not is_protected:
        raise InputError(f"overlap is {rule}, and no documents are protected. Name them with --protect (protect=).")
    if str(policy.keep) != DEFAULT_KEEP or policy.prefer:
        name = "prefer" if policy.prefer else "keep"
        raise InputError(
            f"with overlap {rule} only documents that overlap with a protected one are removed. Leave {name} out."
        )
    return tuning.make_overlap_spec(rule, search)


def open_protected(inputs: Any, protect: Any, options: InputOptions, *, item: bool) -> tuple[Reader, frozenset[str]]:
    """Open inputs, with those that are protected behind them, or among them; one reader, and the names of these.

    A file that is among both is read once. InputError where text files of a folder are protected in part.
    """
    reader = _without_archives(open_inputs(inputs, options, item=item, again=True))
    if protect is None or (isinstance(protect, Sequence) and not isinstance(protect, str) and not len(protect)):
        return reader, frozenset()
    other = open_inputs(protect, options, item=item, name="protect", limit=reader.options.limit)
    protected: set[str] = set()
    more = []
    for part, shared in reader.shared_with(other):
        twice = {id(source): source for _, source in shared}
        if not twice:
            more.append(part)
            protected.add(part.name)
            continue
        (first, *others) = twice.values()
        if others or len(first.paths or []) != len(part.paths or []):
            raise InputError(
                f"{real_place(shared[0][0])} is both an input and protected, and other files beside it are only "
                "one of the two. Give separate folders."
            )
        protected.add(first.name)
    return reader.joined(more, other.found_over), frozenset(protected)


def _without_archives(reader: Reader) -> Reader:
    """The reader without what a folder holds of which no copy can be made, where bad records are to be skipped."""
    parts = reader.written_parts
    kept = [part for part in parts if part.no_copy is None]
    if len(kept) in (0, len(parts)) or reader.base is None or reader.options.on_bad != "skip":
        return reader
    passing = Passing()
    for path in dict.fromkeys((part.paths or [part.name])[0] for part in parts if part.no_copy is not None):
        passing.note("no clean copy", path)
    over = together([*reader.found_over, *passing.table()])
    return Reader(kept, reader.sources, reader.options, reader.value, passed_over=over)


def check_policy(reader: Reader, policy: Policy) -> None:
    """Say before a long run whether the inputs can be copied, and have what the policy asks for."""
    for part in reader.written_parts:
        if part.no_copy is not None:
            more = " With --on-bad skip (on_bad='skip') the files beside it are cleaned, and it is left out."
            raise InputError(part.no_copy + (more if reader.base is not None else ""))
    if policy.keep.rule == NONE and policy.prefer:
        raise InputError("keep is none, so no document is rather kept than others. Leave prefer out, or keep.")
    paths = [path for part in reader.parts for path in (part.paths or [part.name])]
    for source in policy.prefer:
        if not any(_is_source(path, source) for path in paths):
            raise InputError(
                f"no input is {source!r}, which is to be preferred. Inputs are {', '.join(paths[:5])}; name one, "
                "a folder, or a pattern."
            )
    if policy.keep.column is not None:
        from neardup.tasks.columns.reread import check_column

        check_column(reader, policy.keep.column, without=policy.protected)


def _is_source(path: str, source: str) -> bool:
    """Whether a file is a source: by its name, by a folder that it is in, or by a pattern."""
    source = place_of(source)
    mine, other = as_path(path), as_path(source)
    return path == source or mine == other or mine.startswith(other + os.sep) or fnmatch.fnmatch(path, source)


class Origins:
    """What the order of keeping, and the table of removals, need to know of rows: their sources and values."""

    def __init__(self, run: Run, search: Gathered, policy: Policy, values_of: ValuesOf) -> None:
        """``values_of`` reads the column that decides, where one does; see ``columns.reread.read_values``."""
        self._places = run.provenance.places
        self._search = search
        self._policy = policy
        self._values_of = values_of
        self.keeps_none = policy.keep.rule == NONE
        self.are_files = run.reader.value is None
        self.protected = policy.protected
        """Names of the sources that never lose anything."""
        by_size = run.spec.measure == CONTAINMENT and policy.keep.rule in ("longest", "shortest")
        self.is_prepared = policy.keep.column is not None or by_size
        """Whether ``prepare`` must come before the first question for a value."""
        self.values_are_of_texts = not self.is_prepared and policy.keep.rule in ("longest", "shortest")
        """Whether documents of one text have one value."""
        parts = {part.name: part for part in run.reader.parts}
        self._parts = [parts[name] for name in self._places.sources]
        self._tiers = [self._tier_of(part) for part in self._parts]
        index: dict[str, int] = {}
        self._numbers = [
            np.array([index.setdefault(name, len(index)) for name in _names_of(part)], dtype=np.int64)
            for part in self._parts
        ]
        self._names = strings(map(shown_path, index))
        self._rows = np.empty(0, dtype=np.int64)
        self._ranks = np.empty(0, dtype=np.int64)

    def _tier_of(self, part: Source) -> I64:
        """Tier of a source: one number, or one for each of its text files."""
        if part.name in self._policy.protected:
            return np.zeros(1, dtype=np.int64)
        paths = [file.path for file in part.files] if isinstance(part, FilesSource) else [part.name]
        prefer = self._policy.prefer
        tiers = [next((i for i, each in enumerate(prefer) if _is_source(path, each)), len(prefer)) for path in paths]
        return np.array(tiers, dtype=np.int64) + 1

    def tier(self, rows: I64) -> I64:
        """int64[m]: 0 for a protected document, which never goes; then the preferred in their order; then others."""
        if len(self._tiers) == 1 and self._tiers[0].size == 1:
            return np.full(rows.size, self._tiers[0][0])
        return _looked_up(self._tiers, *self._places.locate(rows))

    def prepare(self, rows: I64) -> None:
        """Learn what decides of all ``rows`` (rising) that may be asked for.

        A column is read. By containment, the longest document is the one of most shingles: so a document that goes for
        another is the part, also where the other is the shorter one, as it repeats itself less.
        """
        column = self._policy.keep.column
        if column is None:
            search = self._search
            sizes = sizes_of(search.collection, rows, search.check.hasher, threads=search.tally.threads).sizes
            self._rows, self._ranks = rows, -sizes if self._policy.keep.rule == "longest" else sizes
            return
        from neardup.tasks.columns.values import ranks

        self._rows, self._ranks = rows, np.zeros(rows.size, dtype=np.int64)
        asked = np.flatnonzero(self.tier(rows))  # protected documents stay, whatever they have
        source, local = self._places.locate(rows[asked])
        order = np.lexsort((local, source))
        wanted = {name: local[order][source[order] == i] for i, name in enumerate(self._places.sources)}
        wanted = {name: values for name, values in wanted.items() if values.size}
        found = ranks(self._values_of(column, wanted))
        worst = int(found.max(initial=0)) + 1
        value = -found if self._policy.keep.rule == "max" else found
        value[found < 0] = worst
        self._ranks[asked[order]] = value

    def value(self, rows: I64) -> I64:
        """int64[m]: what the policy orders by; the smaller is kept."""
        rule = self._policy.keep.rule
        if self.is_prepared:
            found: I64 = self._ranks[np.searchsorted(self._rows, rows)]
            return found
        if rule in ("longest", "shortest"):
            lengths = self._search.collection.texts.lengths(rows)
            return -lengths if rule == "longest" else lengths
        return -rows if rule == "last" else np.zeros(rows.size, dtype=np.int64)

    def names(self, rows: I64) -> tuple[Any, I64]:
        """Source of each of ``rows`` as Arrow strings (a text file's is its folder), and the local row."""
        source, local = self._places.locate(rows)
        return self._names.take(numbers(_looked_up(self._numbers, source, local))), local

    def shares(self, gone: I64) -> Iterator[tuple[str, int, int]]:
        """Name, documents, and how many of these are in ``gone``, rising, of each source, in input order.

        Folders whose text files gave no documents are left out.
        """
        counts = np.zeros((len(self._names), 2), dtype=np.int64)
        is_listed = np.zeros(len(self._names), dtype=np.bool_)
        documents = self._places.documents()
        for source, (part, names) in enumerate(zip(self._parts, self._numbers, strict=True)):
            first, end = self._places.span(source)
            low, high = np.searchsorted(gone, (first, end)).tolist()
            if not isinstance(part, FilesSource):
                counts[names] += documents[source], high - low
                is_listed[names] = True
                continue
            for column, local in enumerate((self._places.local_rows(source), self._places.locate(gone[low:high])[1])):
                counts[:, column] += np.bincount(names[local - 1], minlength=len(counts))
        for name, (all_of, removed), listed in zip(self._names.to_pylist(), counts.tolist(), is_listed, strict=True):
            if listed or all_of:
                yield name, all_of, removed


def _names_of(part: Source) -> list[str]:
    """The name of a source, or the folder of each of its text files."""
    if isinstance(part, FilesSource):
        return [os.path.dirname(file.path) or os.curdir for file in part.files]
    return [part.name]


def _looked_up(values: list[I64], source: I64, local: I64) -> I64:
    """int64[m]: what documents have of ``values``, which are one for each source, or one for each of its text files."""
    found = np.array([each[0] for each in values] or [0], dtype=np.int64)[source]
    for number, each in enumerate(values):
        if each.size > 1:
            mine = source == number
            found[mine] = each[local[mine] - 1]
    return found
