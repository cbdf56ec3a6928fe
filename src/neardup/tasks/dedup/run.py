"""A clean collection: which documents go, why, and the inputs without them.

``tasks.dedup.choose`` decides by rows; here rows get their names, sources and columns, and ``rewrite`` writes
the copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers, strings
from neardup.cutting import ROWS_AT_A_TIME
from neardup.engine.state import SearchState
from neardup.inputs.datasets import DatasetSource
from neardup.inputs.folder import FilesSource
from neardup.inputs.source import Source
from neardup.outputs.atomic import AtomicFiles
from neardup.result import CleanSummary, SourceShare
from neardup.session import Run, make_summary
from neardup.tasks.dedup.choose import RULES, Removals, choose
from neardup.tasks.dedup.origins import Origins
from neardup.tasks.dedup.policy import Policy, check_policy
from neardup.tasks.dedup.rereading import SecondReading
from neardup.tasks.dedup.rewrite.collection import plan_copies, write_copies
from neardup.tasks.dedup.rewrite.model import Annotation, Rewrite
from neardup.tasks.dedup.rewrite.writer import CleanWriter
from neardup.types import I64

__all__ = ["Cleaning", "clean"]


def clean(run: Run, policy: Policy) -> Cleaning:
    """Search a collection and decide which documents go.

    Args:
        run: set up and entered; its reader has the protected sources too.
        policy: which document of a cluster is kept.
    """
    check_policy(run.reader, policy)
    search = run.search()
    run.observer.stage("choose", None, "")
    origins = Origins(run, search, policy)
    chosen = choose(search, origins)
    return Cleaning(run, policy, search, chosen, origins, SecondReading(run, search, chosen))


@dataclass(slots=True)
class Cleaning:
    """Documents that go, under their names; writes the clean copies."""

    run: Run
    policy: Policy
    search: SearchState
    chosen: Removals
    origins: Origins
    reading: SecondReading
    """Whether the inputs are still what was decided on."""
    written: list[str] = field(default_factory=list)
    """Names of the copies, when they are written."""

    @property
    def schema(self) -> pa.Schema:
        """Of the removal table."""
        id_type = self.run.provenance.ids.type
        text = pa.large_string()
        return pa.schema(
            [
                ("id", id_type),
                ("source", text),
                ("row", pa.int64()),
                ("keeper", id_type),
                ("keeper_source", text),
                ("similarity", pa.float64()),
                ("cluster", pa.int64()),
                ("rule", text),
            ]
        )

    def removals(self) -> pa.RecordBatchReader:
        """One record for each document that goes, in input order, as a stream."""
        ids, chosen, schema = self.run.provenance.ids, self.chosen, self.schema
        rules = strings(str(self.policy.keep) if rule == "keep" else rule for rule in RULES)

        def batches() -> Iterator[pa.RecordBatch]:
            for i, part in enumerate(ids.pieces(chosen.rows, chosen.keeper)):
                if i % 8 == 0:
                    self.run.space.release_memory()
                source, local = self.origins.names(chosen.rows[part])
                columns = [
                    ids.take(chosen.rows[part]),
                    source,
                    numbers(local),
                    ids.take(chosen.keeper[part]),
                    self.origins.names(chosen.keeper[part])[0],
                    numbers(chosen.similarity[part]),
                    numbers(chosen.cluster[part]),
                    rules.take(numbers(chosen.rule[part].astype(np.int64))),
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def removed_from(self, source: str) -> I64:
        """int64: local rows of a source that go, rising."""
        return self._local(source, self.chosen.rows)[1]

    def _local(self, source: str, rows: I64) -> tuple[slice, I64]:
        """Where in ``rows``, rising, those of a source lie, and their local rows."""
        places = self.run.provenance.places
        if source not in places.sources:
            return slice(0, 0), np.empty(0, dtype=np.int64)
        first, end = places.span(places.sources.index(source))
        part = slice(*np.searchsorted(rows, (first, end)).tolist())
        return part, places.locate(rows[part].astype(np.int64))[1]

    def annotations(self) -> Callable[[str], Annotation]:
        """Gives cluster, keeper and similarity of the documents of a source that are in clusters."""
        rows, cluster, keeper, similarity = self.chosen.clustered()

        def annotation_of(source: str) -> Annotation:
            part, local = self._local(source, rows)
            return Annotation(local, cluster[part], self.run.provenance.ids.take(keeper[part]), similarity[part])

        return annotation_of

    def check_inputs(self) -> None:
        """Say at the end of a run whether the files that were read are still what they were.

        Raises:
            InputChanged: one is not; it is named.
        """
        self.reading.end()

    def write(self, output: str, files: AtomicFiles, *, annotate: bool = False) -> None:
        """Write the inputs without the documents that go, or all of them annotated; protected ones beside the inputs
        are not written.

        Args:
            output: a folder, for a single input a file, "-" for stdout.
            files: the copies get their names at the end of its block, unless an input was changed till then.
            annotate: add cluster, keeper and similarity to the records, and leave none out.

        Raises:
            InputChanged: an input is not what it was when it was read first.
            InputError, OutputError: it cannot be read again, or a copy cannot be written.
        """
        run, parts = self.run, self.run.reader.written_parts
        done: dict[str, int] = dict(run.space.state.get("written", {}))
        annotation_of = self.annotations() if annotate else None
        group_bytes = min(64 << 20, run.space.budget.share(0.1))

        def job_of(part: Source) -> Rewrite:
            job = Rewrite(part.name, part.format, run.reader.options, group_bytes=group_bytes)
            if annotation_of is None:
                job = replace(job, removed=self.removed_from(part.name))
            else:
                job = replace(job, annotation=annotation_of(part.name))
            return job if isinstance(part, FilesSource) else replace(job, known=self.reading.known_of(part.name))

        def keep(name: str, size: int) -> None:
            done[name] = size
            run.space.checkpoint(written=done)

        self.reading.begin()
        files.check_before(self.check_inputs)
        run.space.release_memory()
        run.observer.stage("write", len(parts), "files")
        outputs = plan_copies(run.reader, output)
        writer = CleanWriter(
            outputs, token=run.token, keep_parts=run.space.is_lasting, done=done, on_file_done=keep, files=files
        )
        if any(isinstance(part, DatasetSource) for part in parts):
            run.observer.note(f"the copy is of Arrow files; datasets.load_dataset({output!r}) reads it")
        with self.search.stages.stage("write"), writer:
            self.written = write_copies(parts, outputs, writer, job_of, on_source_done=lambda: run.observer.advance(1))

    def data(self, *, annotate: bool = False) -> Any:
        """The value that was given, without the documents that go, or with the three columns."""
        from neardup.tasks.dedup import objects

        value, name = self.run.reader.value, self.run.reader.parts[0].name
        if annotate:
            return objects.with_annotation(value, self.annotations()(name))
        return objects.without_rows(value, self.removed_from(name) - 1)

    def sources(self) -> tuple[SourceShare, ...]:
        """Documents and removals of each source that gave documents, in input order."""
        places, gone = self.run.provenance.places, self.chosen.rows
        total: dict[str, list[int]] = {}
        for number, name in enumerate(places.sources):
            first, end = places.span(number)
            low, high = np.searchsorted(gone, (first, end)).tolist()
            if not self.origins.is_folder(number):
                counts = total.setdefault(name, [0, 0])
                counts[0] += end - first
                counts[1] += high - low
                continue
            for at, begin, stop in ((0, first, end), (1, low, high)):
                for i in range(begin, stop, ROWS_AT_A_TIME):
                    some = np.arange(i, min(i + ROWS_AT_A_TIME, stop))
                    names = self.origins.names(gone[some] if at else some)[0].value_counts()
                    for entry in names.to_pylist():
                        total.setdefault(entry["values"], [0, 0])[at] += entry["counts"]
        return tuple(SourceShare(name, documents, removed) for name, (documents, removed) in total.items())

    def _protected(self) -> int:
        places = self.run.provenance.places
        counts = zip(places.sources, places.documents().tolist(), strict=True)
        return sum(count for source, count in counts if source in self.policy.protected)

    def _unreadable(self) -> int:
        parts = [part for part in self.run.reader.written_parts if isinstance(part, FilesSource)]
        return sum(file.error is not None for part in parts for file in part.files)

    def summary(self, *, alarm: float, dry_run: bool = False, annotated: bool = False) -> CleanSummary:
        """What was read, found and removed.

        Args:
            alarm: sources that lost more than this share are named.
            dry_run: nothing was written.
            annotated: records got columns, and none was removed.
        """
        tally, chosen = self.search.tally, self.chosen
        size, keeper = chosen.largest()
        sources = self.sources()
        leads = self.search.leads
        crowd_documents = int(self.search.weight[np.flatnonzero(self.search.crowd >= 0)].sum())
        plain = make_summary(
            self.run,
            tally,
            pairs=sum(len(piece) for piece in self.search.pairs.pieces()),
            clusters=int(np.unique(chosen.keeper).size),
            crowds=leads.size,
            crowd_documents=crowd_documents,
            link="star",
        )
        return CleanSummary(
            **{each.name: getattr(plain, each.name) for each in fields(plain)},
            keep=str(self.policy.keep),
            removed=chosen.rows.size,
            kept=tally.documents - chosen.rows.size,
            protected=self._protected(),
            unreadable=self._unreadable(),
            largest_cluster=size,
            largest_keeper=self.run.provenance.ids.take(np.array([keeper]))[0].as_py() if size else None,
            sources=sources,
            alarm=alarm,
            alarms=tuple(each.source for each in sources if each.share > alarm),
            written=tuple(self.written),
            dry_run=dry_run,
            annotated=annotated,
        )
