"""The clean copies: each piece of the inputs is rewritten by a task, from what the driver decided about its documents.

    driver ── rows that go, prints, fields ──► rewrite/ ──► tasks ── parts beside the targets; for addresses and streams
                                                                     in the storage
    parts of one target ── ranges of its bytes ──► tasks ── the target's part ── renamed by the driver

A piece is a range of the lines of a plain file, some row groups of Parquet, some texts of a folder, or a file: what
cannot be cut is rewritten by one task, with the code of one machine. Of CSV nobody knows where records begin, and what
a quote means, but who has read it from its beginning, so it is one piece for the reading too. A task that is done twice
writes under two names, and only of the one that was told first the driver ever knows; what others left is removed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import BinaryIO, cast

import numpy as np

from neardup.cutting import cut
from neardup.errors import InputChanged, OutputError
from neardup.inputs.addresses import is_remote
from neardup.inputs.datasets import DatasetSource
from neardup.inputs.folder import FilesSource
from neardup.inputs.source import ReadOptions, Source
from neardup.inputs.splits import PIECES
from neardup.shown import shown_path
from neardup.spark.exchange import Facts
from neardup.spark.packing import Arrays
from neardup.spark.parts import Whole, explained, is_seen, join_all, keep_footer, part_of, size_of, sweep
from neardup.spark.pieces import Job
from neardup.spark.reading import id_arrays, ids_from
from neardup.spark.reread import Piece, lines_of
from neardup.spark.work import ClusterWork
from neardup.spool.machine import sync_all
from neardup.tasks.dedup.again import JobOf
from neardup.tasks.rewrite.annotate import json_names
from neardup.tasks.rewrite.copy_names import Target
from neardup.tasks.rewrite.files import rewrite_file
from neardup.tasks.rewrite.model import Annotation, Known, Rewrite
from neardup.tasks.rewrite.parquet import can_be_joined
from neardup.tasks.rewrite.writer import (
    CleanWriter,
    copy_file,
    kept_files,
    new_part,
    shards,
    targets_of,
)

TASK_BYTES = 64 << 20
"""Input of one task, about, where it has several small files."""
_FILE_BYTES = 1 << 14
"""What a file counts for beside its bytes: opening one takes its time."""
TEXTS, DATASET, FILE = "texts", "dataset", "file"
"""Kinds of units: files of one document each, the shards of a dataset, and a file or a piece of one."""


@dataclass(slots=True)
class Unit:
    """What a task writes of one source: JSON values, and arrays."""

    facts: Facts
    arrays: Arrays
    nbytes: int
    """Of input, about."""
    place: tuple[int, int] = (-1, -1)
    """Its task, and its number there."""

    @property
    def finals(self) -> list[str]:
        """The targets, links followed; none, where it goes to a stream."""
        found: list[str] = self.facts["finals"]
        return found


@dataclass(slots=True)
class Copies:
    """The copies of a run, as they are planned."""

    files: list[list[Unit]] = field(default_factory=list)
    """Units of the targets that are pieces each of one file, in order; of others the one unit."""
    stream: list[tuple[Target, list[Unit]]] = field(default_factory=list)
    """Of a stream the units of each input, in order; none, where nothing of it goes in."""
    here: list[Target] = field(default_factory=list)
    """A file that is one document, for a stream: the driver copies it."""
    missing: set[Target] = field(default_factory=set)
    """Targets that are not written."""

    @property
    def units(self) -> list[Unit]:
        """All, in order."""
        return [unit for units in (*self.files, *(units for _, units in self.stream)) for unit in units]


def write_copies(
    work: ClusterWork,
    parts: Sequence[Source],
    writer: CleanWriter,
    job_of: JobOf,
    *,
    options: ReadOptions,
    pieces_of: Callable[[Source], list[Piece]],
) -> list[str]:
    """Write a copy of each source; the names of what was written. ``pieces_of``: in which pieces sources were read."""
    writer.part_of = partial(part_of, work.job.storage)
    with writer:
        plan = _planned(parts, writer, job_of, pieces_of, {source.name: i for i, source in enumerate(work.job.sources)})
        folders = {os.path.dirname(final) for unit in plan.units for final in unit.finals if not is_remote(final)}
        try:
            whole = _written(work, plan, writer, options)
        except BaseException as exc:
            if not writer.keep_parts or isinstance(exc, InputChanged):
                sweep(folders, writer.token, keep=set())
            raise
        sweep(folders, writer.token, keep={writer.part_of(final, token) for (final, _), (token, _) in whole.items()})
        for units in plan.files:
            for final in units[0].finals:
                writer.take(final, whole[final, 0][0])
        for target in plan.here:
            writer.copy(target)
        for target, units in plan.stream:
            with writer.continued(target, options.encoding) as out:
                for unit in units:
                    for piece in work.job.storage.pieces(unit.facts["name"]):
                        cast(BinaryIO, out).write(piece)
    return writer.outputs.names(plan.missing)


def _planned(
    parts: Sequence[Source],
    writer: CleanWriter,
    job_of: JobOf,
    pieces_of: Callable[[Source], list[Piece]],
    places: dict[str, int],
) -> Copies:
    """What is to be written of each source."""
    plan, is_stream = Copies(), writer.outputs.stream is not None
    for number, (part, targets) in enumerate(targets_of(parts, writer.outputs)):
        job = job_of(part)
        # as large as on one machine under the driver's limit: where row groups end is part of the bytes
        about = {"source": places[part.name], "kind": FILE, "finals": [], "head": True, "group_bytes": job.group_bytes}
        if isinstance(part, FilesSource):
            kept = kept_files(part, targets, job)
            plan.missing.update(set(targets) - set(kept))
            if is_stream:
                plan.here += kept
                continue
            size_of = {file.path: file.size + _FILE_BYTES for file in part.files}
            sizes = np.array([size_of[target.source] for target in kept], dtype=np.int64)
            for some in cut(sizes, TASK_BYTES):
                mine = kept[some]
                facts = about | {
                    "kind": TEXTS,
                    "finals": [writer.expect(target) for target in mine],
                    "sources": [target.source for target in mine],
                }
                plan.files.append([Unit(facts, {}, int(sizes[some].sum()))])
            continue
        if is_stream and number < writer.outputs.leader:
            plan.stream.append((targets[0], []))
            continue
        about["head"] = not is_stream or number == writer.outputs.leader
        if not is_stream:
            about["finals"] = [writer.expect(target) for target in targets]
        if isinstance(part, DatasetSource):
            about |= {"kind": DATASET, "sources": [target.source for target in targets]}
        units = _units(job, about, pieces_of(part), part.total_bytes or 0)
        if is_stream:
            plan.stream.append((targets[0], units))
        else:
            plan.files.append(units)
    return plan


def _units(job: Rewrite, about: Facts, pieces: list[Piece], nbytes: int) -> list[Unit]:
    """The units of one source: a piece each, where it was read in ranges of lines, or all of it."""
    is_cut = pieces[0].is_lines or _is_cut_at_groups(job, about, pieces)
    if not is_cut:
        records = None if job.known is None else job.known.records
        return [Unit(about | {"records": records, "piece": None, "added": None}, _arrays_of(job), nbytes)]
    added = json_names(job) if job.annotation is not None and job.format == "jsonl" else None
    units = []
    for piece in pieces:
        facts = about | {"records": piece.records, "piece": piece.split, "before": piece.before, "added": added}
        units.append(Unit(facts, _arrays_of(_part_of(job, piece)), piece.nbytes))
    return units


def _is_cut_at_groups(job: Rewrite, about: Facts, pieces: list[Piece]) -> bool:
    """Whether a file is rewritten by row groups; one that loses nothing is copied as it is."""
    if job.format != "parquet" or len(pieces) < 2 or not about["finals"]:
        return False
    return (job.removed.size > 0 or job.annotation is not None) and can_be_joined(job.path, job.options.limit)


def _part_of(job: Rewrite, piece: Piece) -> Rewrite:
    """What happens to the documents of a piece."""
    known, note = job.known, job.annotation
    removed = job.removed[piece.among(job.removed)]
    if known is not None:
        some, prints = piece.among(known.rows), known.prints
        known = replace(known, rows=known.rows[some], prints=lambda part: prints(some)[part])
    if note is not None:
        at = piece.among(note.rows)
        note = Annotation(note.rows[at], note.cluster[at], note.keeper[at], note.similarity[at])
    return replace(job, removed=removed, known=known, annotation=note)


def _arrays_of(job: Rewrite) -> Arrays:
    """What happens to some documents, as arrays."""
    arrays: Arrays = {"removed": job.removed}
    if job.known is not None:
        arrays |= {"rows": job.known.rows, "prints": job.known.prints(slice(0, job.known.rows.size))}
    note = job.annotation
    if note is not None:
        arrays |= {"noted": note.rows, "cluster": note.cluster, "similarity": note.similarity, **id_arrays(note.keeper)}
    return arrays


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What the tasks of one stage have in common."""

    name: str
    token: str
    options: ReadOptions


def _written(work: ClusterWork, plan: Copies, writer: CleanWriter, options: ReadOptions) -> Whole:
    """Have all targets written. From then on the parts stay for a run that goes on with this one, should it fail.

    Such a run finds that they are written. If they have their names already, they are written once more.
    """
    job, name = work.job, work.next_name("rewrite")
    tasks = _put(job, name, plan.units)
    how = Rewriting(name, writer.token, options)
    while True:
        found = work.map("write", range(tasks), partial(rewrite, job, how))
        was_done, writer.keep_parts = work.was_done, True
        whole: Whole = {}
        for copy in [*plan.files, *(units for _, units in plan.stream)]:
            for piece, unit in enumerate(copy):
                task, number = unit.place
                token, size = found[task]["written"][number]
                unit.facts["name"] = _in_storage(name, token)
                whole |= {(final, piece): (token, size) for final in unit.finals}
        cut = [units for units in plan.files if len(units) > 1]
        parquet = {units[0].finals[0] for units in cut if _has_footer(job, units[0].facts)}
        join_all(work, [(units[0].finals[0], len(units)) for units in cut], whole, writer.token, parquet=parquet)
        unseen = next((key for key in whole if not is_seen(job, key[0], *whole[key])), None)
        if unseen is None:
            return whole
        if not was_done:
            writer.keep_parts = False
            raise OutputError(
                f"cannot write {shown_path(unseen[0])}: a worker has written a part of it, which is not in "
                f"{shown_path(os.path.dirname(unseen[0]))} as the driver sees it. Give an output that all machines see "
                "under the same path."
            )


def _put(job: Job, name: str, units: list[Unit]) -> int:
    """Put units where the tasks find them; the number of tasks."""
    tasks = list(cut(np.array([unit.nbytes + _FILE_BYTES for unit in units], dtype=np.int64), TASK_BYTES))

    def arrays() -> Iterator[tuple[str, Arrays]]:
        for task, some in enumerate(tasks):
            mine: Arrays = {}
            for number, unit in enumerate(units[some]):
                unit.place = task, number
                mine |= {f"{number}-{column}": values for column, values in unit.arrays.items()}
                unit.arrays = {}
            yield f"{name}/{task:06d}", mine

    job.storage.put_all(arrays())
    for task, some in enumerate(tasks):
        job.storage.put_facts(f"{name}/{task:06d}", {"units": [unit.facts for unit in units[some]]})
    return len(tasks)


def rewrite(job: Job, how: Rewriting, task: int) -> Facts:
    """Write the units of a task; the token and the bytes of each."""
    facts = job.storage.get_facts(f"{how.name}/{task:06d}")
    arrays = job.storage.get(f"{how.name}/{task:06d}")
    written = []
    for number, about in enumerate(facts["units"]):
        mine = {name.removeprefix(f"{number}-"): arrays[name] for name in arrays if name.startswith(f"{number}-")}
        token = f"{how.token}.{task:x}.{number:x}.{os.urandom(4).hex()}"
        written.append((token, _write_unit(job, how, about, mine, token)))
    return {"written": written}


def _write_unit(job: Job, how: Rewriting, about: Facts, arrays: Arrays, token: str) -> int:
    """Write a unit under a token of its own; its bytes, or -1."""
    finals = about["finals"]
    if about["kind"] == TEXTS:
        for final, path in zip(finals, about["sources"], strict=True):
            with explained(final):
                copy_file(path, part_of(job.storage, final, token))
        sync_all()
        return -1
    source = job.sources[about["source"]]
    rewriting = _rewrite_of(job, how, about, arrays, source)
    if about["kind"] == DATASET:
        assert isinstance(source, DatasetSource)
        for final, each in zip(finals, shards(source, rewriting), strict=True):
            _write_part(job, final, token, each, about)
        return -1
    if _has_footer(job, about):
        size = _write_part(job, finals[0], token, rewriting, about)
        return keep_footer(job, finals[0], token, size)
    if finals:
        return _write_part(job, finals[0], token, rewriting, about)
    with job.storage.creating(_in_storage(how.name, token)) as out:
        rewrite_file(rewriting, cast(BinaryIO, out), plain=True, head=about["head"])
    return -1


def _has_footer(job: Job, about: Facts) -> bool:
    """Whether a unit is some row groups of a Parquet file."""
    return about["kind"] == FILE and about["piece"] is not None and job.splits[about["piece"]].kind == PIECES


def _in_storage(stage: str, token: str) -> str:
    """Where a unit is kept that goes to a stream."""
    return f"{stage}-stream/{token}"


def _write_part(job: Job, final: str, token: str, task: Rewrite, about: Facts) -> int:
    part = part_of(job.storage, final, token)
    with explained(final):
        try:
            with new_part(final, part) as out:
                rewrite_file(task, out, head=about["head"])
            return size_of(part)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise


def _rewrite_of(job: Job, how: Rewriting, about: Facts, arrays: Arrays, source: Source) -> Rewrite:
    """What the driver said, as the code of one machine takes it."""
    piece = groups = None
    if _has_footer(job, about):
        split = job.splits[about["piece"]]
        groups = range(split.first, split.stop)
    elif about["piece"] is not None:
        piece = lines_of(job, about["piece"], about["before"], how.options)
    known = note = None
    if "rows" in arrays:
        known = Known(
            source.name,
            arrays["rows"],
            lambda part: arrays["prints"][part],
            options=how.options,
            normalize=job.spec.normalize,
            records=about["records"],
            piece=piece,
        )
    if "noted" in arrays:
        note = Annotation(arrays["noted"], arrays["cluster"], ids_from(arrays), arrays["similarity"])
    return Rewrite(
        source.name,
        source.format,
        how.options,
        removed=arrays["removed"],
        annotation=note,
        known=known,
        group_bytes=about["group_bytes"],
        piece=piece,
        groups=groups,
        rows_before=about["before"] if groups is not None else 0,
        added=None if about["added"] is None else tuple(about["added"]),
    )
