"""One run: inputs read, repeats found, spans and clean texts given as streams.

What a run is told is in ``settings``, the table of spans in ``spans``, cuts and texts in ``cutting``, what is counted
in ``summary``.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from neardup._version import __version__
from neardup.engine.observe import Observer, Silent
from neardup.engine.repeats.find import Repeats, find_repeats
from neardup.engine.repeats.kept import KeptSegments
from neardup.engine.repeats.runs import WholeUnits, find_runs
from neardup.engine.repeats.units import Units, Window
from neardup.engine.space import Budget, Space
from neardup.inputs.names import Provenance
from neardup.inputs.reader import Reader
from neardup.params import Normalize, RunOptions
from neardup.session import limit_records
from neardup.stages.repeats.policies import Cuts
from neardup.tasks.passages.cutting import CutDocument, clean_texts, cut_documents, text_table, unsnapped_cuts
from neardup.tasks.passages.settings import UNCHANGED, Cutting, Length
from neardup.tasks.passages.spans import span_table
from neardup.tasks.passages.summary import Counts, PassageSummary
from neardup.tasks.passages.unit_runs import UnitRuns
from neardup.types import Batch


@dataclass(slots=True)
class PassageRun:
    """A run that is set up. A context manager: what it has on disk goes when the block ends."""

    reader: Reader
    length: Length | UnitRuns
    """Of the shortest stretch, or the units that are compared whole."""
    options: RunOptions = field(default_factory=RunOptions)
    observer: Observer = field(default_factory=Silent)
    normalize: Normalize = UNCHANGED
    """How texts are changed before they are compared."""
    provenance: Provenance = field(init=False, default_factory=Provenance)
    space: Space = field(init=False)
    begin: float = field(init=False, default_factory=time.perf_counter)
    _repeats: Repeats | None = field(init=False, default=None)
    _segments: KeptSegments | None = field(init=False, default=None)

    @property
    def shortest(self) -> dict[str, Any]:
        """The length of the shortest passage, and what is compared, as options."""
        return {**self.length.options, "normalize": str(self.normalize)}

    def __enter__(self) -> PassageRun:
        budget = Budget.of(self.options.memory_limit)
        workdir = self.options.workdir
        temporary = Path(tempfile.gettempdir()) / f"neardup-{os.getpid()}-{time.time_ns():x}"
        path = temporary if workdir is None else Path(workdir)
        identity = {"command": "passages", **self.shortest, "version": __version__}
        self.space = Space(budget, path, identity)
        limit_records(self.reader, budget, self.options.workers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.space.close(finished=True)

    def find(self) -> Repeats:
        """Read the inputs and find what repeats; done once."""
        if self._repeats is None:
            self.observer.stage("reading", self.reader.total_bytes, "B")
            with closing(self.reader.tasks(self.options.workers)) as tasks:
                self._repeats = self._found(tasks)
        return self._repeats

    def _found(self, tasks: Iterator[Callable[[], Batch]]) -> Repeats:
        length = self.length
        how: dict[str, Any] = {
            "total_bytes": self.reader.total_bytes,
            "threads": self.options.workers,
            "names": self.provenance,
            "observer": self.observer,
            "space": self.space,
        }
        if isinstance(length, UnitRuns):
            whole = WholeUnits(length.unit, self.normalize, length.kind, length.least or 1)
            return find_runs(tasks, whole, length.units, **how)
        units = Units(length.kind, self.normalize, self.space)
        return find_repeats(tasks, Window.of(length.kind, length.units), units=units, **how)

    def segments(self) -> KeptSegments:
        """All segments; walked once."""
        repeats = self.find()
        if self._segments is None:
            self._segments = KeptSegments(repeats, self.space)
        return self._segments

    def spans(self) -> pa.RecordBatchReader:
        """A stream of all spans in the order of the input; the columns are those of ``RepeatedPassages.spans``."""
        return span_table(self.find(), self.segments(), self.provenance.ids)

    def cuts(self, policy: str) -> Iterator[Cuts]:
        """What a policy cuts, in bytes of the texts as read, before cuts are moved inward; those of one document come
        together."""
        return unsnapped_cuts(self.find(), self.segments(), policy)

    def texts(self, cutting: Cutting) -> pa.RecordBatchReader:
        """A stream of id, text, cut_bytes, is_kept of every document, in the order of the input."""
        texts = clean_texts(self.find(), self.cut_documents(cutting), cutting.min_left)
        return text_table(self.provenance.ids, texts)

    def cut_documents(self, cutting: Cutting) -> Iterator[CutDocument]:
        """The documents of which something is cut, in the order of the input."""
        return cut_documents(self.find(), self.segments(), cutting)

    def summary(self) -> PassageSummary:
        """What was read and found."""
        repeats, length = self.find(), self.length
        sizes = np.diff(repeats.text.offsets)
        return PassageSummary(
            documents=sizes.size,
            too_short=int(np.count_nonzero(sizes < length.units)),
            bytes=repeats.originals.text.size,
            bad=self.provenance.bad,
            **asdict(Counts.of(repeats, self.segments())),
            unit=length.options.get("unit"),
            span=length.options.get("span"),
            min_bytes=length.options.get("min_bytes"),
            min_words=length.options.get("min_words"),
            min_chars=length.options.get("min_chars"),
            normalize=str(self.normalize),
            seconds=round(time.perf_counter() - self.begin, 4),
        )
