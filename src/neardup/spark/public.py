"""Frames of Spark in, frames out: ``neardup.spark.find`` and ``neardup.spark.dedup``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup import params, tuning
from neardup.arrays import numbers, strings
from neardup.calls import hinted
from neardup.engine.observe import Observer
from neardup.errors import InputError
from neardup.inputs.reader import Reader
from neardup.params import (
    Bands,
    CandidateShingle,
    InputOptions,
    Keep,
    ListOptions,
    Normalize,
    Preset,
    RunOptions,
    SearchOptions,
    Shingle,
    Spec,
    check_share,
    with_preset,
)
from neardup.result import CleanSummary, SourceShare, Summary
from neardup.shown import shown_path
from neardup.spark.bad_records import SIDES
from neardup.spark.door import FRAME, Door, check_parquet, is_frame
from neardup.spark.frames import read_files, read_frame, without_rows
from neardup.spark.open import check_clustered, run_of
from neardup.spark.run import ClusterRun
from neardup.tasks.dedup.policy import Policy, open_protected
from neardup.tasks.dedup.run import Cleaning, clean
from neardup.tasks.find import open_across
from neardup.types import I64, Fault
from neardup.watching import watched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True, eq=False)
class ClusterResult:
    """Pairs and clusters of a frame, as frames of Spark. They are read from the workdir, which must stay for them."""

    pairs: DataFrame
    """id_a, id_b, similarity: as ``Result.pairs``."""
    clusters: DataFrame
    """id, cluster, keeper, similarity: as ``Result.clusters``."""
    crowds: DataFrame
    """leader, documents: as ``Result.crowds``."""
    summary: Summary
    spec: Spec
    faults: tuple[Fault, ...]
    """The first bad records, with reasons; the files that they name are those of the workdir."""

    def __repr__(self) -> str:
        return repr(self.summary).replace(type(self.summary).__name__, f"spark.{type(self).__name__}", 1)

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


@dataclass(frozen=True, slots=True, eq=False)
class ClusterCleaned:
    """A frame without its near-duplicates, as a frame of Spark. It is read from the workdir, which must stay for it."""

    clean: DataFrame
    """All rows that stay, with all columns as they were, in no order."""
    removals: DataFrame
    """id, source, row, keeper, keeper_source, similarity, cluster, rule: as ``Cleaned.removed``.

    Of a frame the source is ``input``, or ``protect``, and the row is counted from 1.
    """
    summary: CleanSummary
    spec: Spec
    faults: tuple[Fault, ...]
    """The first bad records, with reasons; the files that they name are those of the workdir."""

    def __repr__(self) -> str:
        return repr(self.summary).replace(type(self.summary).__name__, f"spark.{type(self).__name__}", 1)

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


@hinted
@watched
@with_preset
def find(
    inputs: Any,
    *,
    workdir: str | os.PathLike[str],
    preset: str | Preset | None = None,
    threshold: float = params.DEFAULT_THRESHOLD,
    recall: float = params.DEFAULT_RECALL,
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    sketch: str = params.DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    candidates_by: str | CandidateShingle | None = None,
    seed: int = params.DEFAULT_SEED,
    verify: str = params.DEFAULT_VERIFY,
    link: str = "star",
    sort: str | None = None,
    top: int | None = None,
    collapse_exact: bool = False,
    crowd: int = params.DEFAULT_CROWD,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    glob: str | None = None,
    encoding: str = "utf-8",
    boilerplate: str = "keep",
    on_bad: str = "fail",
    input_format: str | None = None,
    threads: int | None = None,
    block: int | None = None,
    memory: int | str | None = None,
    resume: bool = False,
    observer: Observer | None = None,
    progress: bool = False,
) -> ClusterResult:
    """Find the near-duplicates of a frame of Spark, on its cluster; the answer is that of ``neardup.find``.

    The frame is worked out once and written to the workdir as Parquet; all stages read these files. Documents without
    ids are called by their numbers in the frame, from 0, in the order of its partitions.

    Args:
        inputs: a frame of Spark; or a path, or a list of ``pathlib.Path``, as for ``neardup.find``, which all machines
            see. Paths are read by the session of this process, or a new one.
        workdir: folder that the driver and all workers see: a path of a shared file system, or an address such as
            ``s3://bucket/folder``. It is made, and must hold no other answer. The answer lies there when the run is
            done, and the frames that are given back are read from it: delete it when they are no longer wanted.
        preset, threshold, recall, shingle, normalize, sketch, slots, bands, candidates_by, seed, verify, link, sort,
            top, collapse_exact, crowd: as for ``neardup.find``.
        text, id: names of the columns of the text and of the id, which is of strings or whole numbers; as for
            ``neardup.find``.
        glob, encoding, boilerplate, on_bad, input_format, block: as for ``neardup.find``.
        threads, memory: what the driver may use, as for ``neardup.find``.
        resume: go on with an interrupted run of the same inputs and options in ``workdir``, behind the stages that are
            done. A frame that was written there is taken as it is, and not worked out again.
        observer, progress: as for ``neardup.find``; told of the tasks of each stage.

    Returns:
        ClusterResult with the frames ``pairs``, ``clusters`` and ``crowds``, and the summary.

    Raises:
        InputError: an option, a frame, a file or a record cannot be used; the message names it and the cure.
        SpoolError: the workdir holds something else, or cannot be used by all.
        MissingDependency: PySpark or Java is not there.

    >>> import neardup.spark
    >>> found = neardup.spark.find(frame, text="body", id="url", workdir="/shared/work")  # doctest: +SKIP
    >>> found.pairs.show()  # doctest: +SKIP
    """
    given = locals()
    search, run, listing = SearchOptions.of(given), RunOptions.of(given), ListOptions.of(given)
    reading, spec = InputOptions.of(given), tuning.make_spec(search)
    door = _Door(inputs, None, run, observer)
    reader = open_across(door.inputs, None, reading, item=spec.shingle.kind == "item")
    with door.run(reader, spec, {"command": "find", "link": search.link}, search.used_preset) as work:
        found = work.find(search.link)
        tables = (
            door.table("pairs", found.pairs(listing)),
            door.table("clusters", found.clusters()),
            door.table("crowds", found.crowds().to_reader()),
        )
        return ClusterResult(*tables, summary=found.summary(), spec=spec, faults=found.faults)


@hinted
@watched
@with_preset
def dedup(
    inputs: Any,
    *,
    workdir: str | os.PathLike[str],
    keep: str | Keep = params.DEFAULT_KEEP,
    prefer: str | Sequence[str] = (),
    protect: Any = None,
    alarm: float = params.DEFAULT_ALARM,
    preset: str | Preset | None = None,
    threshold: float = params.DEFAULT_THRESHOLD,
    recall: float = params.DEFAULT_RECALL,
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    sketch: str = params.DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    candidates_by: str | CandidateShingle | None = None,
    seed: int = params.DEFAULT_SEED,
    verify: str = params.DEFAULT_VERIFY,
    crowd: int = params.DEFAULT_CROWD,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    glob: str | None = None,
    on_bad: str = "fail",
    threads: int | None = None,
    block: int | None = None,
    memory: int | str | None = None,
    resume: bool = False,
    observer: Observer | None = None,
    progress: bool = False,
) -> ClusterCleaned:
    """Give a frame of Spark back without its near-duplicates, and say why each was removed, as ``neardup.dedup`` does.

    The frame is worked out once and written to the workdir as Parquet; what is given back are the rows of these files
    that stay. Columns of every type that Spark writes as Parquet come back as they were.

    Args:
        inputs: a frame of Spark, or a path or list of ``pathlib.Path`` of Parquet files, which all machines see.
        workdir: as for ``find``.
        keep: ``first``, ``last``, ``longest``, ``shortest``, ``max:COLUMN``, ``min:COLUMN`` or ``none``; as for
            ``neardup.dedup``.
        prefer: input files, folders or patterns whose documents are kept rather than others, the first first. A frame
            has no files; there ``keep="max:COLUMN"`` says what is preferred.
        protect: another frame, or paths, whose documents are never removed nor given back; near-duplicates of them are
            removed.
        alarm: the summary has an alarm where more than this share is removed.
        preset, threshold, recall, shingle, normalize, sketch, slots, bands, candidates_by, seed, verify, crowd, text,
            id, glob, on_bad, threads, block, memory, resume, observer, progress: as for ``find``. Bad records that are
            skipped stay in what is given back.

    Returns:
        ClusterCleaned with the frames ``clean`` and ``removals``, and the summary.

    Raises:
        InputError: an option, a frame, a file or a record cannot be used; the message names it and the cure.
        SpoolError: the workdir holds something else, or cannot be used by all.
        MissingDependency: PySpark or Java is not there.

    >>> import neardup.spark
    >>> cleaned = neardup.spark.dedup(frame, text="body", workdir="/shared/work")  # doctest: +SKIP
    >>> cleaned.clean.write.parquet("/shared/clean")  # doctest: +SKIP
    """
    given = locals()
    search, run, reading = SearchOptions.of(given), RunOptions.of(given), InputOptions.of(given)
    policy = Policy(Keep.parse(keep), (prefer,) if isinstance(prefer, str) else tuple(prefer))
    spec = tuning.make_spec(search)
    check_share(alarm, "alarm")
    if protect is not None and is_frame(inputs) != is_frame(protect):
        raise InputError("of inputs and protect one is a frame and the other is not. Give both as frames, or as paths.")
    if is_frame(inputs) and policy.prefer:
        raise InputError("prefer is for inputs that are files; of a frame give keep='max:COLUMN'. Leave prefer out.")
    door = _Door(inputs, protect, run, observer)
    reader, protected = open_protected(door.inputs, door.protect, reading, item=spec.shingle.kind == "item")
    check_parquet([part for part in reader.parts if part.name not in protected])
    policy = replace(policy, protected=protected)
    with door.run(reader, spec, {"dedup": policy.facts()}, search.used_preset) as work:
        cleaning = clean(work, policy)
        removals = door.table("removals", door.named(work, cleaning.removals()))
        summary = door.as_one(cleaning.summary(alarm=alarm), work, alarm)
        faults = tuple(work.provenance.faults)
        return ClusterCleaned(door.without(cleaning), removals, summary, spec, faults)


class _Door(Door):
    """A call that searches for near-duplicates."""

    def run(self, reader: Reader, spec: Spec, task: dict[str, Any], preset: Preset | None) -> ClusterRun:
        """The run, not entered yet."""
        check_clustered(reader, spec, self.options)
        how: dict[str, Any] = {"task": task, "preset": preset, "observer": self.observer, "frames": self.frames}
        return run_of(self.session, reader, spec, self.options, **how)

    def named(self, run: ClusterRun, removals: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """The removals; of a frame with its rows in place of files and their rows."""
        if not run.frames:
            return removals
        first = run.first_records()
        names = strings(SIDES[side] for side, _ in first.values())
        known = pa.array(map(shown_path, first), pa.large_string())
        before = np.array([records for _, records in first.values()], dtype=np.int64)
        schema = removals.schema

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in removals:
                columns = dict(zip(schema.names, batch.columns, strict=True))
                place = pc.index_in(columns["source"], known)
                columns["row"] = pc.add(columns["row"], numbers(before).take(place))
                columns["source"] = names.take(place)
                columns["keeper_source"] = names.take(pc.index_in(columns["keeper_source"], known))
                yield pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def without(self, cleaning: Cleaning) -> DataFrame:
        """The inputs without what goes."""
        parts = [part.name for part in cleaning.run.reader.written_parts]
        places, gone = cleaning.run.provenance.places, cleaning.chosen.rows
        numbered = {name: source for source, name in enumerate(places.sources)}

        def removed() -> Iterator[tuple[str, I64]]:
            for name in parts:
                first = stop = 0
                if name in numbered:
                    first, stop = np.searchsorted(gone, places.span(numbered[name])).tolist()
                yield name, places.locate(gone[first:stop])[1] - 1

        if self.frame is None:
            frame = read_files(self.session, parts)
        else:
            frame = read_frame(self.session, self.storage, FRAME, self.frame.schema)
        return without_rows(frame, self.storage, removed())

    def as_one(self, summary: CleanSummary, run: ClusterRun, alarm: float) -> CleanSummary:
        """The summary; a frame is one source in it, and not the files that it was written to."""
        if not run.frames:
            return summary
        counts = [[0, 0] for _ in run.frames]
        sides = {shown_path(name): side for name, (side, _) in run.first_records().items()}
        for source in summary.sources:
            counts[sides[source.source]][0] += source.documents
            counts[sides[source.source]][1] += source.removed
        sources = tuple(SourceShare(name, *count) for name, count in zip(SIDES, counts, strict=False))
        return replace(summary, sources=sources, alarms=tuple(each.source for each in sources if each.share > alarm))
