"""What a clean-up needs once its search is done: inputs are read again for some documents, and the copies are written.

``Again`` does it on this machine. A run that is searched elsewhere has it done there: ``again_of`` knows by whom.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from neardup.engine.state import Gathered
from neardup.inputs.folder import FilesSource
from neardup.inputs.source import Source
from neardup.session import Run
from neardup.tasks.rewrite.model import Known, Rewrite
from neardup.tasks.rewrite.writer import CleanWriter, write_copies
from neardup.types import I64

JobOf = Callable[[Source], Rewrite]
"""What happens to the documents of a source."""


class Again:
    """The second reading of a run's inputs. Rows are those of the search; local rows those of a source."""

    def __init__(self, run: Run, search: Gathered) -> None:
        """Nothing is read yet."""
        self._run = run
        self._search = search

    def has_text(self, sources: Collection[str]) -> bool:
        """Whether any document of some sources has text."""
        places, counts = self._run.provenance.places, self._search.collection.counts
        spans = (places.span(i) for i, name in enumerate(places.sources) if name in sources)
        return any(np.any(counts.take(np.arange(first, end))) for first, end in spans)

    def values(self, column: str, wanted: Mapping[str, I64]) -> Any:
        """See ``columns.reread.read_values``."""
        from neardup.tasks.columns.reread import read_values

        return read_values(self._run.reader, column, wanted)

    def known(self, source: str, rows: I64) -> Known:
        """What is known of the texts of some rows of a source, rising."""
        run, prints = self._run, self._search.collection.prints
        return Known(
            source,
            run.provenance.places.locate(rows)[1],
            lambda part: prints.take(rows[part]),
            options=run.reader.options,
            normalize=run.spec.normalize,
            records=run.provenance.records.get(source, 0),
        )

    def check(self, part: Source, rows: I64) -> None:
        """Read a source of many documents; InputChanged where some rows of it, rising, are not what they were."""
        self.known(part.name, rows).check_source(part)

    def check_files(self, part: FilesSource, touched: Sequence[int]) -> None:
        """Read files of one document each, by their places; InputChanged where one is not what it was."""
        places = self._run.provenance.places
        if part.name not in places.sources:
            return
        rows = np.arange(*places.span(places.sources.index(part.name)))
        local = places.locate(rows)[1]
        mine = np.isin(local, np.array(touched) + 1)
        check_each(part, self.known(part.name, rows[mine]))

    def write(self, parts: Sequence[Source], writer: CleanWriter, job_of: JobOf) -> list[str]:
        """Write a copy of each source; the names of what was written."""
        with self._search.stages.stage("write"), writer:
            return write_copies(parts, writer, job_of, on_source_done=lambda: self._run.observer.advance(1))


def check_each(part: FilesSource, known: Known) -> None:
    """Read the files of which something is known, each by itself."""
    for place in known.rows.tolist():
        known.check_batch(part.read(place - 1, place))
    known.check_end(None)


@singledispatch
def again_of(run: Run, search: Gathered) -> Again:
    """Who reads the inputs of a run again."""
    return Again(run, search)
