"""A clean collection: which documents go, why, and the inputs without them.

``tasks.dedup.choose`` decides by rows; here rows get their names, sources and columns, and ``rewrite`` writes
the copies.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers, strings
from neardup.engine.state import SearchState
from neardup.errors import InputChanged
from neardup.inputs.folder import FilesSource
from neardup.inputs.reader import Reader, files_of
from neardup.inputs.source import Source
from neardup.outputs.atomic import AtomicFiles
from neardup.result import CleanSummary, SourceShare
from neardup.session import Run, make_summary
from neardup.tasks.dedup.choose import RULES, Chosen, Order, choose
from neardup.tasks.dedup.origins import Origins
from neardup.tasks.dedup.policy import Policy, check_policy
from neardup.tasks.dedup.rewrite.known import Known
from neardup.tasks.dedup.rewrite.model import Annotation
from neardup.types import I64

__all__ = ["Cleaning", "check_output", "clean"]

PIECE = 1 << 16
"""Rows named at a time."""


def check_output(reader: Reader, output: str) -> None:
    """Say before a long run whether the clean copies could be written to ``output``.

    Raises:
        InputError, OutputError: they could not; the message says why and what to do.
    """
    from neardup.tasks.dedup.rewrite.collection import check_collection

    check_collection(reader.written_parts, output, options=reader.options, base=reader.base, others=_files_read(reader))


def _files_read(reader: Reader) -> list[str]:
    return [path for part in reader.parts for path in files_of(part) or []]


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
    prepare = origins.prepare if policy.keep.column is not None else None
    chosen = choose(search, Order(origins.tier, origins.value, prepare))
    return Cleaning(run, policy, search, chosen, origins)


@dataclass(slots=True)
class Cleaning:
    """Documents that go, under their names; writes the clean copies."""

    run: Run
    policy: Policy
    search: SearchState
    chosen: Chosen
    origins: Origins
    written: list[str] = field(default_factory=list)
    _keepers: I64 | None = None
    _doubted: set[str] = field(default_factory=set)
    """Sources whose files are no longer quite what they were: what is kept there is looked at while it is copied."""

    @property
    def schema(self) -> pa.Schema:
        """Of the removal table."""
        id_type = self.run.ledger.ids.type
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
        ids, chosen, schema = self.run.ledger.ids, self.chosen, self.schema
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
        places = self.run.ledger.places
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
            return Annotation(local, cluster[part], self.run.ledger.ids.take(keeper[part]), similarity[part])

        return annotation_of

    def _known_of(self, source: str) -> Known:
        """What the texts of a source were that go; where it is doubted, also those of documents kept for others.

        A kept text that is no longer there would take the last of its copies along. But it costs as much to look at
        as one that goes, and that its file has all its old stamps, the time of the last change among them, tells that
        it is there; on Windows there is no such time.
        """
        rows = np.empty(0, dtype=np.int64)
        places = self.run.ledger.places
        if source in places.sources:
            first, end = places.span(places.sources.index(source))
            asked = [self.chosen.rows]
            if source in self._doubted or os.name == "nt":
                if self._keepers is None:
                    self._keepers = np.unique(self.chosen.keeper)
                asked.append(self._keepers)
            found = [each[slice(*np.searchsorted(each, (first, end)))] for each in asked]
            rows = np.sort(np.concatenate(found))  # who is kept for another does not go
        return self._known(source, rows)

    def _known(self, source: str, rows: I64) -> Known:
        run, prints = self.run, self.search.collection.prints
        local = run.ledger.places.locate(rows)[1] if rows.size else rows
        return Known(
            source,
            local,
            lambda part: prints.take(rows[part]),
            options=run.reader.options,
            normalize=run.spec.normalize,
            records=run.ledger.records.get(source, 0),
        )

    def check_inputs(self) -> None:
        """Say at the end of a run whether the files that were read are still what they were.

        Raises:
            InputChanged: one is not; it is named.
        """
        for part in self._touched():
            if part.name not in self._doubted:
                self._doubted.add(part.name)
                self._known_of(part.name).check_source(part)

    def _touched(self) -> Iterator[Source]:
        """The sources of many documents a file of which a file is not quite what it was; all others are."""
        for part in self.run.reader.parts:
            stamps = self.run.stamps.get(part.name)
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
        places = self.run.ledger.places
        if part.name not in places.sources:
            return
        rows = np.arange(*places.span(places.sources.index(part.name)))
        local = places.locate(rows)[1]
        mine = np.isin(local, np.array(touched) + 1)
        known = self._known(part.name, rows[mine])
        for place in local[mine].tolist():
            known.check_batch(part.read(place - 1, place))
        known.check_end(None)

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
        from neardup.tasks.dedup.rewrite.collection import write_collection

        run = self.run
        done: dict[str, int] = dict(run.space.state.get("written", {}))

        def keep(name: str, size: int) -> None:
            done[name] = size
            run.space.checkpoint(written=done)

        written = run.reader.written_parts
        for part in self._touched():  # now too: what is gone is said best, and what goes to stdout is not taken back
            if part in written:
                self._doubted.add(part.name)
        files.check_before(self.check_inputs)
        run.space.release_memory()
        run.observer.stage("write", len(run.reader.written_parts), "files")
        with self.search.stages.stage("write"):
            self.written = write_collection(
                run.reader.written_parts,
                output,
                options=run.reader.options,
                base=run.reader.base,
                others=_files_read(run.reader),
                removed_from=self.removed_from,
                annotation_of=self.annotations() if annotate else None,
                known_of=self._known_of,
                files=files,
                token=run.token,
                group_bytes=min(64 << 20, run.space.budget.share(0.1)),
                keep_parts=run.space.is_lasting,
                done=done,
                on_file_done=keep,
                on_source_done=lambda: run.observer.advance(1),
            )

    def data(self, *, annotate: bool = False) -> Any:
        """The value that was given, without the documents that go, or with the three columns."""
        from neardup.tasks.dedup import objects

        value, name = self.run.reader.value, self.run.reader.parts[0].name
        if annotate:
            return objects.with_annotation(value, self.annotations()(name))
        return objects.without_rows(value, self.removed_from(name) - 1)

    def sources(self) -> tuple[SourceShare, ...]:
        """Documents and removals of each source that gave documents, in input order."""
        places, gone = self.run.ledger.places, self.chosen.rows
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
                for i in range(begin, stop, PIECE):
                    some = np.arange(i, min(i + PIECE, stop))
                    names = self.origins.names(gone[some] if at else some)[0].value_counts()
                    for entry in names.to_pylist():
                        total.setdefault(entry["values"], [0, 0])[at] += entry["counts"]
        return tuple(SourceShare(name, documents, removed) for name, (documents, removed) in total.items())

    def _protected(self) -> int:
        places = self.run.ledger.places
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
            largest_keeper=self.run.ledger.ids.take(np.array([keeper]))[0].as_py() if size else None,
            sources=sources,
            alarm=alarm,
            alarms=tuple(each.source for each in sources if each.share > alarm),
            written=tuple(self.written),
            dry_run=dry_run,
            annotated=annotated,
        )
