"""A clean collection: the documents to remove, the reasons, and the inputs without them.

``choose`` decides by rows; here rows get their names, sources and columns, and ``rewrite`` writes the copies. Inputs
are read twice, and the second reading must find what the first one decided on: stamps of the file system show which
files may have been changed, texts whether they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers, strings
from neardup.cutting import distinct
from neardup.engine.fit import PASSAGES, unlike_protected
from neardup.engine.state import SearchState
from neardup.errors import InputError
from neardup.inputs.datasets import DatasetSource
from neardup.inputs.folder import FilesSource
from neardup.inputs.names import Places
from neardup.inputs.source import Source
from neardup.outputs.atomic import AtomicFiles
from neardup.outputs.rows import RowTable
from neardup.params import DEFAULT_MEASURE, OVERLAP
from neardup.result import CleanSummary, SourceShare
from neardup.session import Run, make_summary
from neardup.tasks.dedup.again import Again, again_of
from neardup.tasks.dedup.choose import RULES, Removals, choose, choose_overlapping
from neardup.tasks.dedup.edited import CutReader
from neardup.tasks.dedup.examples import example_table, pick_examples
from neardup.tasks.dedup.passages import SharedPassages
from neardup.tasks.dedup.policy import Origins, Policy, check_policy
from neardup.tasks.repeats.copies import field_of, with_cuts
from neardup.tasks.repeats.decided import DecidedCuts
from neardup.tasks.repeats.summary import PassageSummary
from neardup.tasks.rewrite.copy_names import plan_copies
from neardup.tasks.rewrite.model import GROUP_BYTES, Annotation, Rewrite
from neardup.tasks.rewrite.reread import SecondReading
from neardup.tasks.rewrite.writer import CleanWriter
from neardup.types import I64


def clean(run: Run, policy: Policy) -> Cleaning:
    """Search a collection and choose the documents to remove. The reader of ``run`` includes the protected sources."""
    check_policy(run.reader, policy)
    if run.spec.measure != OVERLAP:
        search = run.search()
        run.observer.stage("choose", None, "")
        again = again_of(run, search)
        origins = Origins(run, search, policy, again.values)
        _check_protected(origins, again)
        return Cleaning(run, policy, search, choose(search, origins), origins, again)
    gathered = run.gather(run.spec)
    again = again_of(run, gathered)
    origins = Origins(run, gathered, policy, again.values)
    _check_protected(origins, again)
    search, overlaps = run.overlap(gathered, origins.tier(np.arange(len(gathered.collection))) == 0)
    chosen = choose_overlapping(search, origins, overlaps)
    return Cleaning(run, policy, search, chosen, origins, again, overlaps.short)


def _check_protected(origins: Origins, again: Again) -> None:
    """Raise InputError if the protected files hold no text.

    A test set that was not fetched would otherwise look like one that shares nothing with the inputs.
    """
    if origins.protected and origins.are_files and not again.has_text(origins.protected):
        names = ", ".join(sorted(origins.protected))
        raise InputError(f"there is no text in what is protected ({names}). Check these inputs, or protect nothing.")


@dataclass(slots=True)
class Cleaning:
    """The documents to remove, with their ids; writes the clean copies."""

    run: Run
    policy: Policy
    search: SearchState
    chosen: Removals
    origins: Origins
    again: Again
    short_protected: int = 0
    """The number of protected documents shorter than an n-gram, if a rule of overlap decides."""
    reading: SecondReading = field(init=False)
    """Checks that the inputs are still those of the first reading."""
    passages: SharedPassages | None = field(init=False)
    """The passages in the removal table; None for Jaccard similarity, and if the texts were not kept."""
    written: list[str] = field(init=False, default_factory=list)
    """The names of the copies that were written."""
    repeated: PassageSummary | None = field(init=False, default=None)
    """Repeated passages inside the documents that are kept, if these were searched; see ``passage_step``."""
    cuts: DecidedCuts | None = field(init=False, default=None)
    """The parts to cut from these documents."""

    def __post_init__(self) -> None:
        collection = self.search.collection
        has_passages = collection.spec.measure != DEFAULT_MEASURE and collection.written is not None
        self.passages = SharedPassages(self.search, self.chosen) if has_passages else None
        self.reading = SecondReading(self.again, self.run.stamps, self._rows_to_compare)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the removal table."""
        id, text, whole = self.run.provenance.ids.type, pa.large_string(), pa.int64()
        kept = [("keeper", id), ("keeper_source", text), ("similarity", pa.float64()), ("cluster", whole)]
        more = [] if self.passages is None else self.passages.fields
        return pa.schema([("id", id), ("source", text), ("row", whole), *kept, ("rule", text), *more])

    def _rules(self, part: slice | I64) -> pa.Array:
        """Return the rules that removed some of the documents."""
        names = strings(str(self.policy.keep) if rule == "keep" else rule for rule in RULES)
        return names.take(numbers(self.chosen.rule[part].astype(np.int64)))

    def examples(self, count: int) -> pa.Table:
        """Return id, keeper, similarity, rule, text, keeper_text of a few removed documents; see ``examples``."""
        texts = self.search.collection.written
        assert texts is not None, "the run was not told to keep its texts"
        picked = pick_examples(self.chosen, count)
        texts.prepare(np.concatenate((self.chosen.rows[picked], self.chosen.keeper[picked])))
        starts = [None] * picked.size if self.passages is None else self.passages.starts(picked)
        return example_table(self.chosen, picked, self.run.provenance.ids, texts, self._rules(picked), starts)

    def removals(self, with_text: bool | int = False) -> RowTable | pa.RecordBatchReader:
        """Return one record for each removed document, in input order, as a stream.

        With texts also text and keeper_text: those of the document and of its keeper.
        """
        ids, chosen = self.run.provenance.ids, self.chosen

        def columns() -> Iterator[list[Any]]:
            for i, part in enumerate(ids.pieces(chosen.rows, chosen.keeper)):
                if i % 8 == 0:
                    self.run.space.release_memory()
                source, local = self.origins.names(chosen.rows[part])
                yield [
                    chosen.rows[part],
                    source,
                    numbers(local),
                    chosen.keeper[part],
                    self.origins.names(chosen.keeper[part])[0],
                    numbers(chosen.similarity[part]),
                    numbers(chosen.cluster[part]),
                    self._rules(part),
                    *([] if self.passages is None else self.passages.columns(part)),
                ]

        texts = self.search.collection.written
        if with_text is not False and texts is not None:
            texts.prepare(np.concatenate((chosen.rows, chosen.keeper)))
        return RowTable(self.schema, ids, columns()).with_texts(texts, ("text", "keeper_text"), with_text)

    def removed_from(self, source: str) -> I64:
        """Return the local rows of a source to remove, ascending; int64[n]."""
        return _rows_of(source, self.chosen.rows, self.run.provenance.places)[1]

    def _rows_to_compare(self, source: str, is_doubted: bool) -> I64:
        """Return the rows of a source to remove; if the source is doubted, also those of keepers.

        If the text of a keeper has been lost, removing its copies would lose the last of them. Comparing it costs as
        much as comparing a removed one; if its file still has all its stamps, the time of the last change among them,
        the text is there.
        """
        asked = [self.chosen.rows, *([distinct(self.chosen.keeper)] if is_doubted else [])]
        return distinct(np.concatenate([rows[_rows_of(source, rows, self.run.provenance.places)[0]] for rows in asked]))

    def _annotations(self) -> Callable[[str], Annotation]:
        """Return a function that gives cluster, keeper and similarity of the clustered documents of a source."""
        rows, cluster, keeper, similarity = self.chosen.clustered()

        def annotation_of(source: str) -> Annotation:
            part, local = _rows_of(source, rows, self.run.provenance.places)
            return Annotation(local, cluster[part], self.run.provenance.ids.take(keeper[part]), similarity[part])

        return annotation_of

    def write(self, output: str, files: AtomicFiles, *, annotate: bool = False) -> None:
        """Write the inputs without the removed documents, or all of them annotated, except protected sources.

        The copies get their names at the end of the block of ``files``, unless an input has been changed by then.
        """
        run, parts = self.run, self.run.reader.written_parts
        done: dict[str, int] = dict(run.space.state.get("written", {}))
        annotation_of = self._annotations() if annotate else None
        group_bytes = min(GROUP_BYTES, run.space.budget.share(0.1))

        def job_of(part: Source) -> Rewrite:
            known = None if isinstance(part, FilesSource) else self.reading.known_of(part.name)
            job = Rewrite(part.name, part.format, run.reader.options, known=known, group_bytes=group_bytes)
            if annotation_of is not None:
                return replace(job, annotation=annotation_of(part.name))
            job = replace(job, removed=self.removed_from(part.name))
            return job if self.cuts is None else with_cuts(job, part, self.cuts)

        def keep(name: str, size: int) -> None:
            done[name] = size
            run.space.checkpoint(written=done)

        self.reading.begin()
        files.check_before(self.reading.end)
        run.space.release_memory()
        run.observer.stage("write", len(parts), "files")
        outputs = plan_copies(run.reader, output)
        writer = CleanWriter(
            outputs,
            token=run.token,
            keep_parts=run.space.is_lasting,
            sent_from=f"{run.space.path}-copies",
            done=done,
            on_file_done=keep,
            files=files,
        )
        if any(isinstance(part, DatasetSource) for part in parts):
            run.observer.note(f"the copy is of Arrow files; datasets.load_dataset({output!r}) reads it")
        self.written = self.again.write(parts, writer, job_of)

    def data(self, *, annotate: bool = False) -> Any:
        """Return the given value without the removed documents, or with the three columns."""
        from neardup.tasks.dedup import objects

        value, name = self.run.reader.value, self.run.reader.parts[0].name
        if annotate:
            return objects.with_annotation(value, self._annotations()(name))
        gone = self.removed_from(name)
        if self.cuts is not None:
            rows, kept = self.cuts.rows_of(name)
            gone = np.union1d(gone, rows[~kept])
            new = [each.after.decode("utf-8", "replace") for _, each in self.cuts.documents_of(name)]
            value = objects.with_texts(value, rows - 1, new, field_of(self.run.reader.parts[0]))
        return objects.without_rows(value, gone - 1)

    def summary(self, *, alarm: float, dry_run: bool = False, annotated: bool = False) -> CleanSummary:
        """Summarise the run; sources that lose more than the share ``alarm`` are named."""
        tally, chosen, passages = self.search.tally, self.chosen, self._passages()
        left_out = 0 if passages is None else passages["cut"]["left_out"]
        if isinstance(self.run.reader, CutReader):  # which has left them out before the search
            tally = replace(tally, documents=tally.documents + left_out)
        size, keeper = chosen.largest()
        sources = tuple(SourceShare(*share) for share in self.origins.shares(chosen.rows))
        places = self.run.provenance.places
        counts = zip(places.sources, places.documents().tolist(), strict=True)
        texts = [part for part in self.run.reader.written_parts if isinstance(part, FilesSource)]
        plain = make_summary(
            self.run,
            tally,
            pairs=sum(len(piece) for piece in self.search.pairs.pieces()),
            clusters=chosen.clusters,
            crowds=self.search.leads.size,
            crowd_documents=int(self.search.weight[self.search.crowd >= 0].sum()),
            link="star",
        )
        # who removes documents wants none that only share passages
        hints = [hint for hint in plain.hints if hint.kind != PASSAGES]
        by_protected = bool(np.any(chosen.rule == RULES.index("protect")))
        if self.policy.protected and self.run.spec.measure == DEFAULT_MEASURE and not by_protected:
            hints.append(unlike_protected(self.run.spec))
        return CleanSummary(
            **{each.name: getattr(plain, each.name) for each in fields(plain) if each.name != "hints"},
            hints=tuple(hints),
            keep=str(self.policy.keep),
            removed=chosen.rows.size,
            kept=tally.documents - chosen.rows.size - left_out,
            protected=sum(count for source, count in counts if source in self.policy.protected),
            short_protected=self.short_protected,
            unreadable=sum(file.error is not None for part in texts for file in part.files),
            largest_cluster=size,
            largest_keeper=self.run.provenance.ids.take(np.array([keeper]))[0].as_py() if keeper >= 0 else None,
            sources=sources,
            alarm=alarm,
            alarms=tuple(each.source for each in sources if each.share > alarm),
            written=tuple(self.written),
            dry_run=dry_run,
            annotated=annotated,
            passages=passages,
        )

    def _passages(self) -> dict[str, Any] | None:
        if self.repeated is None or self.cuts is None:
            return None
        return {**self.repeated.as_dict(), "cut": self.cuts.facts()}


def _rows_of(source: str, rows: I64, places: Places) -> tuple[slice, I64]:
    """Return the slice of ``rows``, which are sorted, that belongs to a source, and its local rows."""
    part = slice(*np.searchsorted(rows, places.span_of(source)).tolist())
    return part, places.locate(rows[part])[1]
