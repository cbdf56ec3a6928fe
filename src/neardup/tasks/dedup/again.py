"""What a clean-up needs once its search is done: inputs are read again for some documents, and the copies are written.

``Again`` does it on this machine. A run that is searched elsewhere has it done there: ``again_of`` knows by whom.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from neardup.engine.state import Gathered
from neardup.inputs.source import Source
from neardup.session import Run
from neardup.stages.sketch import fingerprints
from neardup.stages.text import normalize_documents
from neardup.tasks.dedup.edited import CutReader
from neardup.tasks.rewrite.model import Rewrite
from neardup.tasks.rewrite.reread import Rereading
from neardup.tasks.rewrite.writer import CleanWriter, write_copies
from neardup.types import I64, U64, Documents

JobOf = Callable[[Source], Rewrite]
"""What happens to the documents of a source."""


class Again(Rereading):
    """The second reading of a run's inputs, for columns and copies too."""

    def __init__(self, run: Run, search: Gathered) -> None:
        """Nothing is read yet."""

        def prints(rows: I64) -> U64:
            found: U64 = search.collection.prints.take(rows)
            if isinstance(run.reader, CutReader) and (before := run.reader.as_read(run.provenance.places, rows)):
                found[list(before)] = fingerprints(
                    normalize_documents(Documents.from_bytes(before.values()), run.spec.normalize)
                )
            return found

        super().__init__(run.reader, run.provenance, run.spec.normalize, prints)
        self._run = run
        self._search = search

    def has_text(self, sources: Collection[str]) -> bool:
        """Whether any document of some sources has text."""
        places, counts = self._run.provenance.places, self._search.collection.counts
        return any(np.any(counts.take(np.arange(*places.span_of(name)))) for name in sources)

    def values(self, column: str, wanted: Mapping[str, I64]) -> Any:
        """See ``columns.reread.read_values``."""
        from neardup.tasks.columns.reread import read_values

        return read_values(self._run.reader, column, wanted)

    def write(self, parts: Sequence[Source], writer: CleanWriter, job_of: JobOf) -> list[str]:
        """Write a copy of each source; the names of what was written."""
        with self._search.stages.stage("write"), writer:
            return write_copies(parts, writer, job_of, on_source_done=lambda: self._run.observer.advance(1))


@singledispatch
def again_of(run: Run, search: Gathered) -> Again:
    """Who reads the inputs of a run again."""
    return Again(run, search)
