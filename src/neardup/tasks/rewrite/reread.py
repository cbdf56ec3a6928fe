"""The second reading of a run's inputs, and whether they are still what they were in the first one.

Rows are decided on in the first reading and cut out, or changed, in the second. Stamps of the file system tell which
files may have changed in between, and the prints of the texts tell whether they did. Clean-ups and cuts of passages
use the same checks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from neardup.errors import InputChanged
from neardup.inputs.folder import FilesSource
from neardup.inputs.names import Provenance
from neardup.inputs.reader import Reader, Stamps
from neardup.inputs.source import Source
from neardup.params import Normalize
from neardup.tasks.rewrite.model import Known
from neardup.types import I64, U64


class Rereading:
    """Reads documents again. Rows are those of the first reading; local rows are those of a source."""

    def __init__(
        self, reader: Reader, provenance: Provenance, normalize: Normalize, prints: Callable[[I64], U64]
    ) -> None:
        """``prints`` returns uint64[m, 2], the prints of the texts of some rows, normalised."""
        self.reader = reader
        self._provenance, self._normalize, self._prints = provenance, normalize, prints

    def known(self, source: str, rows: I64) -> Known:
        """Return what is known of the texts of some rows of a source, ascending."""
        return Known(
            source,
            self._provenance.places.locate(rows)[1],
            lambda part: self._prints(rows[part]),
            options=self.reader.options,
            normalize=self._normalize,
            records=self._provenance.records.get(source, 0) + self.reader.left_out_of(source),
        )

    def check(self, part: Source, rows: I64) -> None:
        """Read a source of many documents; InputChanged if some rows of it, ascending, are not what they were."""
        self.known(part.name, rows).check_source(part)

    def check_files(self, part: FilesSource, touched: Sequence[int]) -> None:
        """Read files of one document each, by their places; InputChanged if one is not what it was."""
        places = self._provenance.places
        rows = np.arange(*places.span_of(part.name))
        mine = np.isin(places.locate(rows)[1], np.array(touched) + 1)
        check_each(part, self.known(part.name, rows[mine]))


def check_each(part: FilesSource, known: Known) -> None:
    """Read the files of which something is known, each by itself."""
    for place in known.rows.tolist():
        known.check_batch(part.read(place - 1, place))
    known.check_end(None)


@dataclass
class SecondReading:
    """What must be found again in the inputs, and whether it is."""

    again: Rereading
    _stamps: Mapping[str, Stamps]
    """Of the files of each source, from before the first reading."""
    _rows_of: Callable[[str, bool], I64]
    """Gives the rows of a source, ascending, that are compared with what was read; the flag says that it is doubted."""
    _doubted: set[str] = field(default_factory=set)
    """Sources whose files are not quite what they were: what is kept there is looked at while it is copied."""

    def begin(self) -> None:
        """Raise InputChanged if a file is not what it was, by the stamps and before anything is copied.

        What is gone is said best then, and what goes to stdout is not taken back.
        """
        written = self.again.reader.written_parts
        self._doubted.update(part.name for part in self._touched() if part in written)

    def end(self) -> None:
        """Raise InputChanged if a file that was read is, when all is copied, no longer what it was."""
        for part in self._touched():
            if part.name not in self._doubted:
                self._doubted.add(part.name)
                self.again.check(part, self._rows(part.name))

    def known_of(self, source: str) -> Known:
        """Return what the texts of a source were that are looked at while it is copied."""
        return self.again.known(source, self._rows(source))

    def _rows(self, source: str) -> I64:
        """Return the rows to compare. On Windows, which has no time of the last change, every source is doubted."""
        return self._rows_of(source, source in self._doubted or os.name == "nt")

    def _touched(self) -> Iterator[Source]:
        """Yield the sources of many documents a file of which is not quite what it was; all others are."""
        for part, touched in touched_parts(self.again.reader.parts, self._stamps):
            if isinstance(part, FilesSource):
                self.again.check_files(part, touched)
            else:
                yield part


def touched_parts(parts: Iterable[Source], stamps: Mapping[str, Stamps]) -> Iterator[tuple[Source, list[int]]]:
    """Yield each source of which files may have changed, with their places; InputChanged if one certainly has."""
    for part in parts:
        what, touched = stamps[part.name].look() if part.name in stamps else (None, [])
        if what is not None:
            raise InputChanged(
                f"{what} when the run began. Leave the inputs as they are until it is done, and run again from the "
                "start."
            )
        if touched:
            yield part, touched
