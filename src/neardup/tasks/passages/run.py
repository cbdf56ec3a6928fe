"""One run: inputs read, repeats found, spans and clean texts given as streams.

What a run is told is in ``settings``, the table of spans in ``spans``, cuts and texts in ``cutting``, what is counted
in ``summary``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from neardup._version import __version__
from neardup.engine.observe import Observer, Silent
from neardup.engine.repeats.find import Repeats, find_repeats
from neardup.engine.repeats.kept import KeptSegments
from neardup.engine.repeats.lasting import stage_of
from neardup.engine.repeats.units import Units, Window
from neardup.engine.space import Budget, Space
from neardup.errors import InputChanged
from neardup.inputs.names import Provenance
from neardup.inputs.reader import Reader
from neardup.params import Normalize, RunOptions
from neardup.session import lasting_limits, limit_records, token_of, work_path
from neardup.stages.repeats.policies import Cuts
from neardup.tasks.passages.cutting import CutDocument, clean_texts, cut_documents, text_table, unsnapped_cuts
from neardup.tasks.passages.settings import UNCHANGED, Cutting, Length
from neardup.tasks.passages.spans import span_table
from neardup.tasks.passages.summary import PassageSummary, summarize


@dataclass(slots=True)
class PassageRun:
    """A run that is set up. A context manager: what it has on disk goes when the block ends.

    A workdir that was named stays when it fails, so that the run can be resumed.
    """

    reader: Reader
    length: Length
    """Of the shortest stretch."""
    options: RunOptions = field(default_factory=RunOptions)
    observer: Observer = field(default_factory=Silent)
    normalize: Normalize = UNCHANGED
    """How texts are changed before they are compared."""
    task: dict[str, Any] = field(default_factory=dict)
    """What else must be equal for an interrupted run to go on."""
    spill_to: Path | None = None
    """Where to go when memory gets short, if no workdir is named; None: a temporary folder."""
    budget: Budget | None = None
    """Where the run is a step of another: what it may have of the memory. The limits of records are that one's."""
    provenance: Provenance = field(init=False, default_factory=Provenance)
    space: Space = field(init=False)
    begin: float = field(init=False, default_factory=time.perf_counter)
    _repeats: Repeats | None = field(init=False, default=None)
    _segments: KeptSegments | None = field(init=False, default=None)

    @property
    def shortest(self) -> dict[str, Any]:
        """The length of the shortest passage, and what is compared, as options."""
        return {f"min_{self.length.kind}s": self.length.units, "normalize": str(self.normalize)}

    def __enter__(self) -> PassageRun:
        workdir, resume = self.options.workdir, self.options.resume
        path = work_path(self.options, self.reader, self.spill_to)
        budget = self.budget or Budget.of(self.options.memory_limit)
        self.space = Space(budget, path, self.identity, at_once=workdir is not None, resume=resume)
        if self.budget is None:
            limit_records(self.reader, budget, self.options.workers, lasting_limits(self.reader, self.space))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_lasting = self.reader.is_lasting and self.options.workdir is not None
        # of an input that is another now, nothing can be gone on with
        self.space.close(finished=error is None or not is_lasting or isinstance(error, InputChanged))

    @property
    def identity(self) -> dict[str, Any]:
        """What must be equal for an interrupted run to go on: all that decides which segments there are, and their
        names; not what is made of them."""
        inputs = {"inputs": self.reader.identity(), "reading": self.reader.settings}
        return {"command": "passages", **self.shortest, "version": __version__, **inputs, **self.task}

    @property
    def token(self) -> str:
        """A name for the run that is the same when it is resumed."""
        return token_of([self.space.identity, str(self.space.path)])

    def find(self) -> Repeats:
        """Read the inputs and find what repeats; done once."""
        if self._repeats is None:
            if stage_of(self.space) is None:
                self.observer.stage("reading", self.reader.total_bytes, "B")
            threads, length = self.options.workers, self.length
            with closing(self.reader.tasks(threads)) as tasks:
                self._repeats = find_repeats(
                    tasks,
                    Window.of(length.kind, length.units),
                    units=Units(length.kind, self.normalize, self.space),
                    total_bytes=self.reader.total_bytes,
                    threads=threads,
                    names=self.provenance,
                    observer=self.observer,
                    space=self.space,
                )
        return self._repeats

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
        found = self.find(), self.segments()
        return summarize(*found, self.length, self.normalize, bad=self.provenance.bad, begin=self.begin)
