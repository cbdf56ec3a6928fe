"""One run: inputs read, repeats found, spans and clean texts given as streams.

What a run is told is in ``settings``, the table of spans in ``spans``, cuts and texts in ``cutting``, what is counted
in ``summary``.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from neardup._version import __version__
from neardup.engine.observe import Observer, Silent
from neardup.engine.repeats.choice import Choice
from neardup.engine.repeats.find import Repeats, find_repeats
from neardup.engine.repeats.kept import KeptSegments, SegmentsInOrder
from neardup.engine.repeats.lasting import stage_of
from neardup.engine.repeats.near import NearRepeats
from neardup.engine.repeats.read_units import WholeUnits
from neardup.engine.repeats.runs import find_runs
from neardup.engine.repeats.units import Units, Window
from neardup.engine.space import Budget, Space
from neardup.errors import InputChanged, InputError
from neardup.inputs.names import Provenance
from neardup.inputs.reader import Reader, Stamps
from neardup.params import Normalize, RunOptions
from neardup.session import compare_stamps, lasting_limits, limit_records, token_of, work_path
from neardup.stages.repeats.policies import Cuts
from neardup.stages.repeats.segments import Segments
from neardup.tasks.grouping import Groups, group_documents
from neardup.tasks.repeats.cutting import CutDocument, clean_texts, cut_documents, text_table, unsnapped_cuts
from neardup.tasks.repeats.selection import InputNames, Selection, Template, batch_of
from neardup.tasks.repeats.settings import LEAST, UNCHANGED, Cutting, Length
from neardup.tasks.repeats.spans import span_table
from neardup.tasks.repeats.summary import PassageSummary, summarize
from neardup.tasks.repeats.unit_runs import UnitRuns
from neardup.tasks.rewrite.reread import touched_parts
from neardup.types import I64, Batch, Documents

UNITS_SHARE = 1 / 80
"""The share of the memory for data that a document may have whose characters, words or units are compared. Measured: up
to 80 times its bytes are held while it is worked on."""
SENTENCES_SHARE = 1 / 320
"""The share where sentences are compared: for each, if of three letters only, the library takes 750 bytes."""


@dataclass(slots=True)
class PassageRun:
    """A run that is set up. A context manager: what it has on disk goes when the block ends.

    A workdir that was named stays when it fails, so that the run can be resumed.
    """

    reader: Reader
    length: Length | UnitRuns
    """Of the shortest stretch, or the units that are compared whole."""
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
    selection: Selection = field(default_factory=Selection)
    """Which passages are wanted; ``reader`` is what it opened."""
    near: Callable[..., NearRepeats] | None = None
    """``find_near`` of ``tasks.passages``, where units are compared by similarity."""
    groups: Groups | None = field(init=False, default=None)
    """Of the documents, where passages are looked for inside groups; there when the inputs were read."""
    provenance: InputNames = field(init=False, default_factory=InputNames)
    stamps: dict[str, Stamps] = field(init=False, default_factory=dict)
    """Of the files of each source, from before the first was read."""
    space: Space = field(init=False)
    begin: float = field(init=False, default_factory=time.perf_counter)
    templates: list[Template] = field(init=False, default_factory=list)
    _template_passages: int = field(init=False, default=0)
    _short_templates: int = field(init=False, default=0)
    _repeats: Repeats | None = field(init=False, default=None)
    _segments: SegmentsInOrder | None = field(init=False, default=None)

    @property
    def is_near(self) -> bool:
        """Whether units are compared by similarity."""
        return isinstance(self.length, UnitRuns) and self.length.threshold is not None

    @property
    def window(self) -> Window:
        """What is compared, where it is no whole unit."""
        return Window.of(self.length.kind, self.length.units)

    @property
    def is_resumable(self) -> bool:
        """Whether the work lasts from stage to stage."""
        return not self.is_near

    @property
    def wanted(self) -> dict[str, Any]:
        """The length of the shortest passage, what is compared, and which passages are wanted, as options."""
        chosen = self.selection.as_dict()
        return {**self.length.options, "normalize": str(self.normalize), **chosen, **self.may_differ}

    @property
    def may_differ(self) -> dict[str, Any]:
        """What may differ between two places of a passage, as options: nothing."""
        return {}

    def __enter__(self) -> PassageRun:
        self.stamps = self.reader.stamps()
        self.templates = self.selection.templates()
        workdir, resume = self.options.workdir, self.options.resume
        if resume and not self.is_resumable:
            raise InputError("a search for near-duplicates cannot be resumed. Leave resume out.")
        numbers = {"min_count": None, "min_docs": None, "min_share": None}
        if self.is_near and replace(self.selection, **numbers) != Selection():
            raise InputError(
                "near-duplicate units are looked for in all documents together. Leave --threshold (threshold=) out, or"
                " --against, --ignore and --group-by."
            )
        path = work_path(self.options, self.reader, self.spill_to)
        budget = self.budget or self._own_budget()
        if self.budget is None:
            limit_records(self.reader, budget, self.options.workers)
        self.reader.check()
        is_lasting = workdir is not None and self.is_resumable
        self.space = Space(budget, path, self.identity, at_once=is_lasting, resume=resume)
        self.space.lasting["stamps"] = compare_stamps(self.stamps, self.space.state.get("stamps", {}))
        if self.budget is None:
            limit_records(self.reader, budget, self.options.workers, lasting_limits(self.reader, self.space))
        return self

    def _own_budget(self) -> Budget:
        """Return the budget, in which a document may have what its units leave room for at worst."""
        budget = Budget.of(self.options.memory_limit)
        if self.length.kind == "byte" and self.normalize == UNCHANGED and not isinstance(self.length, UnitRuns):
            return budget
        is_sentence = isinstance(self.length, UnitRuns) and self.length.unit == "sentence"
        return replace(budget, record_share=min(budget.record_share, SENTENCES_SHARE if is_sentence else UNITS_SHARE))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_lasting = self.reader.is_lasting and self.options.workdir is not None
        # of an input that is another now, nothing can be gone on with
        finished = error is None or not is_lasting or isinstance(error, InputChanged)
        self.space.close(finished=finished, refused=isinstance(error, InputError))

    @property
    def identity(self) -> dict[str, Any]:
        """What must be equal for an interrupted run to go on: all that decides which segments there are, and their
        names; not what is made of them."""
        inputs = {"inputs": self.reader.identity(), "reading": self.reader.settings, "across": self.reader.across}
        ignored = {"ignored": [template.passages for template in self.templates]}
        return {"command": "passages", **self.wanted, "version": __version__, **inputs, **ignored, **self.task}

    @property
    def token(self) -> str:
        """A name for the run that is the same when it is resumed."""
        return token_of([self.space.identity, str(self.space.path)])

    def find(self) -> Repeats:
        """Read the inputs and find what repeats; done once."""
        if self._repeats is None:
            if stage_of(self.space) is None:
                self.observer.stage("reading", self.reader.total_bytes, "B")
            with closing(self.reader.tasks(self.options.workers)) as tasks:
                how: dict[str, Any] = {"names": self.provenance, "space": self.space, "choose": self._choose}
                how |= {"total_bytes": self.reader.total_bytes, "templates": self.templates}
                self._repeats = self.search(tasks, **how)
        return self._repeats

    def search(
        self,
        tasks: Iterator[Callable[[], Batch]],
        *,
        total_bytes: int | None,
        names: Provenance,
        space: Space,
        templates: Sequence[Template] = (),
        choose: Callable[[int], Choice] = Choice.all_of,
    ) -> Repeats:
        """What repeats in some texts, with the settings of the run; ``templates`` are read behind them."""
        length = self.length
        how: dict[str, Any] = {"total_bytes": total_bytes, "names": names, "space": space}
        how |= {"threads": self.options.workers, "observer": self.observer}
        if isinstance(length, UnitRuns):
            whole = WholeUnits(length.unit, self.normalize, length.kind, length.least or 1)
            if length.threshold is None:
                if templates:
                    tasks = self._with_templates(tasks, templates, whole.longest_runs, f"{length.unit}", "span", 1)
                return find_runs(tasks, whole, length.units, choose=choose, **how)
            assert self.near is not None, "near-duplicate units are found by another task"
            near = self.near(tasks, whole, length.threshold, length.shingle, memory=self.options.memory, **how)
            least = self.selection.least_documents(np.array([near.documents], dtype=np.int64))
            return near.choose(self.selection.least_count(), int(least[0]))
        units, window = Units(length.kind, self.normalize, space), self.window
        if templates:

            def sizes(documents: Documents) -> I64:
                found: I64 = np.diff(units.of(documents).documents.offsets) // window.unit
                return found

            kind = length.kind
            tasks = self._with_templates(tasks, templates, sizes, kind, f"min_{kind}s", LEAST[kind])
        return find_repeats(tasks, window, units=units, choose=choose, **how)

    def _with_templates(
        self,
        tasks: Iterator[Callable[[], Batch]],
        templates: Sequence[Template],
        sizes_of: Callable[[Documents], I64],
        *how: Any,
    ) -> Iterator[Callable[[], Batch]]:
        """The tasks, and behind them one with the passages of templates, of so many units each.

        InputError where those of a file are too short to be looked for; ``how`` are the last parameters of
        ``Template.check``.
        """
        batch = batch_of(templates)
        sizes = sizes_of(batch.documents)
        self._template_passages, self._short_templates, first = sizes.size, 0, 0
        for template in templates:
            of_it = sizes[first : first + len(template.passages)].tolist()
            self._short_templates += template.check(of_it, self.window.span, *how)
            first += len(of_it)
        return chain(tasks, [lambda: batch])

    def _choose(self, documents: int) -> Choice:
        """Which windows count, when the inputs, the other collection and the templates were read."""
        places = self.provenance.places
        inputs = len(places) if self.reader.across is None else places.first_row(self.reader.across)
        if (by := self.selection.grouping) is not None:
            self.groups = group_documents(self, by)
            if by.column is not None:  # which was read after the texts
                list(touched_parts(self.reader.parts, self.stamps))
        return self.choice(inputs, documents, self.groups)

    def choice(self, inputs: int, documents: int, groups: Groups | None) -> Choice:
        """Which windows count of ``documents`` that were read: inputs, another collection, and the templates."""
        selection = self.selection
        sizes = np.array([inputs], dtype=np.int64) if groups is None else groups.sizes()
        return Choice(
            inputs,
            documents - self._template_passages,
            selection.is_across,
            selection.least_count(),
            np.empty(0, dtype=np.int32) if groups is None else groups.of,
            selection.least_documents(sizes),
        )

    def segments(self) -> SegmentsInOrder:
        """All segments; walked once."""
        repeats = self.find()
        if self._segments is None:
            self._segments = KeptSegments(repeats, self.space)
        return self._segments

    def spans(self) -> pa.RecordBatchReader:
        """A stream of all spans in the order of the input; the columns are those of ``RepeatedPassages.spans``."""
        repeats = self.find()
        return span_table(repeats, self.segments().repeats(), self.provenance.ids, self.groups)

    def cuts(self, policy: str) -> Iterator[Cuts]:
        """What a policy cuts, in bytes of the texts as read, before cuts are moved inward; those of one document come
        together."""
        return unsnapped_cuts(self.find(), self.segments(), policy)

    def texts(self, cutting: Cutting) -> pa.RecordBatchReader:
        """A stream of id, text, cut_bytes, is_kept of every document, in the order of the input."""
        texts = clean_texts(self.find(), self.cut_documents(cutting), cutting.least_left)
        return text_table(self.provenance.ids, texts)

    def cut_documents(self, cutting: Cutting, spared: array[int] | None = None) -> Iterator[CutDocument]:
        """Yield the documents of which something is cut, in the order of the input.

        ``spared`` receives the rows of those that are not cut because nothing would be left of them.
        """
        spared = array("q") if spared is None else spared
        return cut_documents(self.find(), self.segments(), cutting, spared if self.spares(cutting) else None)

    def spares(self, cutting: Cutting) -> bool:
        """Whether documents stay whole of which nothing would be left.

        They do if their text would be lost everywhere and no ``min_left`` was given. Under the other policies, and
        against another collection, that text is somewhere else too, and they are left out.
        """
        return cutting.min_left is None and cutting.policy == "none" and not self.selection.is_across

    def summary(self) -> PassageSummary:
        """Summarise the search of this run."""
        return self.summary_of(self.find(), self.segments(), self.groups, bad=self.provenance.bad)

    def summary_of(
        self, repeats: Repeats, segments: Iterable[Segments], groups: Groups | None, *, bad: int = 0
    ) -> PassageSummary:
        """Summarise a search with the settings of this run."""
        return summarize(
            repeats,
            segments,
            self.length,
            self.normalize,
            bad=bad,
            begin=self.begin,
            selection=self.selection,
            templates=(self._template_passages, self._short_templates),
            groups=groups,
        )
