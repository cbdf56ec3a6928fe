"""The clean copies of a whole collection: each source by its kind, all of them together, file by file resumable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from neardup.errors import InputError
from neardup.inputs.datasets import DatasetSource
from neardup.inputs.folder import FilesSource
from neardup.inputs.formats import DOCUMENT
from neardup.inputs.reader import Reader
from neardup.inputs.source import Source
from neardup.shown import shown_path
from neardup.tasks.dedup.rewrite.files import check_annotatable
from neardup.tasks.dedup.rewrite.ipc import count_ipc
from neardup.tasks.dedup.rewrite.model import Rewrite, changed
from neardup.tasks.dedup.rewrite.outputs import OutputSet, plan_dataset, plan_outputs
from neardup.tasks.dedup.rewrite.writer import CleanWriter

__all__ = ["plan_copies", "write_copies"]

_SPLIT = "train"
"""What ``load_dataset`` calls a split that has no name."""


def plan_copies(reader: Reader, output: str) -> OutputSet:
    """Decide where the copies of all sources go that are to be written.

    Args:
        reader: the inputs; copies of the only folder among them have names relative to it, and no file that is read is
            written over.
        output: a folder, for a single file a file, "-" for stdout; for a folder of ``datasets`` a new folder.

    Raises:
        InputError: the output cannot hold these inputs, or would replace one, or an input cannot be read again.
        OutputError: a folder is missing or may not be written to.
    """
    parts = reader.written_parts
    datasets = [part for part in parts if isinstance(part, DatasetSource)]
    if datasets:
        if len(datasets) < len(parts) or reader.base is None:
            raise InputError(
                "a folder of the library datasets is cleaned by itself: give it as the only input, and -o a new folder."
            )
        return plan_dataset([(_split_of(part, reader.base), part.dataset.paths) for part in datasets], output)
    others = [path for part in reader.parts for path in part.paths or []]
    return plan_outputs(_files(parts), output, options=reader.options, base=reader.base, inputs=others)


def _split_of(part: DatasetSource, base: str) -> str:
    """The name of a split: that of its folder in a dictionary of splits, else what was recorded when it was saved."""
    folder = part.dataset.folder
    if os.path.realpath(folder) != os.path.realpath(base):
        return os.path.basename(folder.rstrip(os.sep))
    recorded = part.dataset.state.get("_split")
    return recorded if isinstance(recorded, str) and recorded.isidentifier() else _SPLIT


def _files(parts: Sequence[Source]) -> list[tuple[str, str]]:
    """Path and format of every input file, in order."""
    found: list[tuple[str, str]] = []
    for part in parts:
        if isinstance(part, FilesSource):
            found += [(file.path, DOCUMENT if file.is_document else "text") for file in part.files]
        else:
            found.append((part.name, part.format))
    return found


def write_copies(
    parts: Sequence[Source],
    outputs: OutputSet,
    writer: CleanWriter,
    job_of: Callable[[Source], Rewrite],
    *,
    on_source_done: Callable[[], None],
) -> list[str]:
    """Write a copy of each source without the rows that go, or with columns that tell about clusters.

    Args:
        parts: the sources, of which ``outputs`` was planned.
        outputs: where each copy goes.
        writer: writes them; entered.
        job_of: what happens to a source.
        on_source_done: called after each.

    Returns:
        Names of what was written.

    Raises:
        InputError: an input cannot be read again, was changed, or cannot be annotated.
        OutputError: a copy cannot be written.
    """
    targets = iter(outputs)
    missing: set[str | None] = set()
    for part in parts:
        job = job_of(part)
        if isinstance(part, FilesSource):
            if job.annotation is not None:
                check_annotatable(part.name, "text")
            kept = np.ones(len(part.files), dtype=np.bool_)
            kept[job.removed - 1] = False
            for stays, file in zip(kept.tolist(), part.files, strict=True):
                target = next(targets)
                if not stays or file.error is not None:  # one that could not be read, and was skipped
                    missing.add(target.path)
                elif not writer.is_done(target):
                    writer.copy(target)
        else:
            for each in _shards(part, job) if isinstance(part, DatasetSource) else [job]:
                target = next(targets)
                if not writer.is_done(target):
                    writer.rewrite(target, each)
        on_source_done()
    if outputs.stream is not None:
        return [outputs.output]
    return [shown_path(path) for path in outputs.paths() if path not in missing]


def _shards(part: DatasetSource, job: Rewrite) -> Iterator[Rewrite]:
    """What happens to each shard of a dataset, whose rows are numbered across all of them."""
    note, known = job.annotation, job.known
    first = 1
    for path in part.dataset.paths:
        count = count_ipc(path, shown_path(path))
        removed = job.removed[slice(*np.searchsorted(job.removed, (first, first + count)))]
        yield replace(
            job,
            path=path,
            format="arrow",
            removed=removed - (first - 1),
            annotation=None if note is None else note.part(first, count),
            known=None if known is None else known.part(first, count),
        )
        first += count
    wanted = job.removed if note is None else note.rows
    found = int(np.searchsorted(wanted, first))
    if found != wanted.size:
        raise changed(part.name, wanted.size, found)
    if known is not None:
        known.check_count(first - 1)
