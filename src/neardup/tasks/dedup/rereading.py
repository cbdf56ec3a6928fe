"""Inputs are read twice: what was decided on in the first reading must still be so in the second.

Stamps of the file system tell which files may have been changed; texts tell whether they were. What is compared, and
how, is in ``rewrite.known``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from neardup.engine.state import SearchState
from neardup.errors import InputChanged
from neardup.inputs.folder import FilesSource
from neardup.inputs.source import Source
from neardup.session import Run
from neardup.tasks.dedup.choose import Removals
from neardup.tasks.dedup.rewrite.known import Known
from neardup.types import I64

__all__ = ["SecondReading"]


class SecondReading:
    """What must be found again in the inputs, and whether it is."""

    def __init__(self, run: Run, search: SearchState, chosen: Removals) -> None:
        self._run = run
        self._search = search
        self._chosen = chosen
        self._keepers: I64 | None = None
        self._doubted: set[str] = set()
        """Sources whose files are not quite what they were: what is kept there is looked at while it is copied."""

    def begin(self) -> None:
        """Look at the stamps before anything is copied: what is gone is said best, and what goes to stdout is not taken
        back.

        Raises:
            InputChanged: a file is not what it was; it is named.
        """
        written = self._run.reader.written_parts
        self._doubted.update(part.name for part in self._touched() if part in written)

    def end(self) -> None:
        """Say when all is copied whether the files that were read are still what they were.

        Raises:
            InputChanged: one is not; it is named.
        """
        for part in self._touched():
            if part.name not in self._doubted:
                self._doubted.add(part.name)
                self.known_of(part.name).check_source(part)

    def known_of(self, source: str) -> Known:
        """What the texts of a source were that go; where it is doubted, also those of documents kept for others.

        A kept text that is no longer there would take the last of its copies along. But it costs as much to look at
        as one that goes, and that its file has all its old stamps, the time of the last change among them, tells that
        it is there; on Windows there is no such time.
        """
        rows = np.empty(0, dtype=np.int64)
        places = self._run.provenance.places
        if source in places.sources:
            first, end = places.span(places.sources.index(source))
            asked = [self._chosen.rows]
            if source in self._doubted or os.name == "nt":
                if self._keepers is None:
                    self._keepers = np.unique(self._chosen.keeper)
                asked.append(self._keepers)
            found = [each[slice(*np.searchsorted(each, (first, end)))] for each in asked]
            rows = np.sort(np.concatenate(found))  # who is kept for another does not go
        return self._known(source, rows)

    def _known(self, source: str, rows: I64) -> Known:
        run, prints = self._run, self._search.collection.prints
        local = run.provenance.places.locate(rows)[1] if rows.size else rows
        return Known(
            source,
            local,
            lambda part: prints.take(rows[part]),
            options=run.reader.options,
            normalize=run.spec.normalize,
            records=run.provenance.records.get(source, 0),
        )

    def _touched(self) -> Iterator[Source]:
        """The sources of many documents a file of which a file is not quite what it was; all others are."""
        for part in self._run.reader.parts:
            stamps = self._run.stamps.get(part.name)
            if stamps is None:
                continue
            what, touched = stamps.look()
            if what is not None:
                raise InputChanged(
                    f"{what} when the run began. Leave the inputs as they are until it is done, and run again from the "
                    "start."
                )
            if touched and isinstance(part, FilesSource):
                self._check_files(part, touched)
            elif touched:
                yield part

    def _check_files(self, part: FilesSource, touched: list[int]) -> None:
        """Read files of one document each once more."""
        places = self._run.provenance.places
        if part.name not in places.sources:
            return
        rows = np.arange(*places.span(places.sources.index(part.name)))
        local = places.locate(rows)[1]
        mine = np.isin(local, np.array(touched) + 1)
        known = self._known(part.name, rows[mine])
        for place in local[mine].tolist():
            known.check_batch(part.read(place - 1, place))
        known.check_end(None)
