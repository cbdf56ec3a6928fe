"""What the order of keeping, and the table of removals, need to know of rows: their sources and values."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from neardup.arrays import numbers, strings
from neardup.engine.state import SearchState
from neardup.inputs.folder import FilesSource
from neardup.inputs.names import Places
from neardup.session import Run
from neardup.tasks.dedup.policy import Policy, is_source
from neardup.types import I64

__all__ = ["Origins"]


class Origins:
    """What the order of keeping needs to know of rows: their sources and values."""

    def __init__(self, run: Run, search: SearchState, policy: Policy) -> None:
        self._places: Places = run.provenance.places
        self._reader = run.reader
        self._search = search
        self._policy = policy
        self.column = policy.keep.column
        """The column that decides, if one does; then ``prepare`` comes before the first question."""
        parts = {part.name: part for part in run.reader.parts}
        self._parts = [parts[name] for name in self._places.sources]
        self._tiers = [self._tier_of(part) for part in self._parts]
        self._rows = np.empty(0, dtype=np.int64)
        self._ranks = np.empty(0, dtype=np.int64)

    def _tier_of(self, part: Any) -> I64:
        """Tier of a source: one number, or one for each of its text files."""
        if part.name in self._policy.protected:
            return np.zeros(1, dtype=np.int64)
        paths = [file.path for file in part.files] if isinstance(part, FilesSource) else [part.name]
        last = len(self._policy.prefer) + 1
        tiers = [
            next((i for i, source in enumerate(self._policy.prefer, start=1) if is_source(path, source)), last)
            for path in paths
        ]
        return np.array(tiers, dtype=np.int64)

    def tier(self, rows: I64) -> I64:
        """int64[m]: 0 for a protected document, which never goes; then the preferred in their order; then others."""
        source, local = self._places.locate(rows)
        tier = np.array([each[0] for each in self._tiers] or [0], dtype=np.int64)[source]
        for number, each in enumerate(self._tiers):
            if each.size > 1:
                mine = source == number
                tier[mine] = each[local[mine] - 1]
        return tier

    def prepare(self, rows: I64) -> None:
        """Read the column that decides, for all ``rows`` (rising) that may be asked for."""
        assert self.column is not None
        from neardup.tasks.dedup.deciding_column import read_values
        from neardup.tasks.dedup.values import ranks

        self._rows, self._ranks = rows, np.zeros(rows.size, dtype=np.int64)
        asked = np.flatnonzero(self.tier(rows))  # protected documents stay, whatever they have
        source, local = self._places.locate(rows[asked])
        order = np.lexsort((local, source))
        wanted = {name: local[order][source[order] == i] for i, name in enumerate(self._places.sources)}
        wanted = {name: values for name, values in wanted.items() if values.size}
        found = ranks(read_values(self._reader, self.column, wanted))
        worst = int(found.max(initial=0)) + 1
        value = -found if self._policy.keep.rule == "max" else found
        value[found < 0] = worst
        self._ranks[asked[order]] = value

    def value(self, rows: I64) -> I64:
        """int64[m]: what the policy orders by; the smaller is kept."""
        rule = self._policy.keep.rule
        if rule == "first":
            return np.zeros(rows.size, dtype=np.int64)
        if rule == "last":
            return -rows
        if rule in ("longest", "shortest"):
            lengths = self._search.collection.texts.lengths(rows)
            return -lengths if rule == "longest" else lengths
        found: I64 = self._ranks[np.searchsorted(self._rows, rows)]
        return found

    def is_folder(self, number: int) -> bool:
        """Whether the documents of a source are files of folders."""
        return isinstance(self._parts[number], FilesSource)

    def names(self, rows: I64) -> tuple[Any, I64]:
        """Source of each of ``rows`` as Arrow strings (a text file's is its folder), and the local row."""
        source, local = self._places.locate(rows)
        labels: list[str] = []
        place = np.empty(rows.size, dtype=np.int64)
        for number in np.unique(source).tolist():
            mine = np.flatnonzero(source == number)
            part = self._parts[number]
            if isinstance(part, FilesSource):
                folders = [os.path.dirname(file.path) or os.curdir for file in part.files]
                distinct = sorted(set(folders))
                index = {folder: i for i, folder in enumerate(distinct)}
                of_file = np.array([index[folder] for folder in folders], dtype=np.int64)
                place[mine] = of_file[local[mine] - 1] + len(labels)
                labels += distinct
            else:
                place[mine] = len(labels)
                labels.append(part.name)
        return strings(labels).take(numbers(place)), local
