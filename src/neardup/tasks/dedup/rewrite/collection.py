"""The clean copies of a whole collection: each source by its kind, all of them together, file by file resumable."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import InputError
from neardup.inputs.datasets import DatasetSource
from neardup.inputs.folder import FilesSource
from neardup.inputs.formats import DOCUMENT
from neardup.inputs.source import ReadOptions, Source
from neardup.outputs.atomic import AtomicFiles
from neardup.shown import shown_path
from neardup.tasks.dedup.rewrite.datasets import rewrite_dataset, rewrite_dataset_dict
from neardup.tasks.dedup.rewrite.files import check_annotatable
from neardup.tasks.dedup.rewrite.known import Known
from neardup.tasks.dedup.rewrite.model import I64, Annotation
from neardup.tasks.dedup.rewrite.outputs import OutputSet
from neardup.tasks.dedup.rewrite.writer import CleanWriter

__all__ = ["check_collection", "write_collection"]

Removed = Callable[[str], I64]
Annotated = Callable[[str], Annotation]


def check_collection(
    parts: Sequence[Source], output: str, *, options: ReadOptions, base: str | None, others: Sequence[str]
) -> OutputSet | None:
    """Say before a long run whether the copies could be written; see ``write_collection`` for the arguments.

    Returns:
        Where each copy goes; None for datasets, which are folders of their own.

    Raises:
        InputError: the output cannot hold these inputs, or would replace one, or an input cannot be read again.
        OutputError: a folder is missing or may not be written to.
    """
    if any(isinstance(part, DatasetSource) for part in parts):
        if not all(isinstance(part, DatasetSource) for part in parts) or base is None:
            raise InputError(
                "a folder of the library datasets is cleaned by itself: give it as the only input, and -o a new folder."
            )
        _check_new_folder(output)
        return None
    return OutputSet(_files(parts), output, options=options, base=base, inputs=others)


def write_collection(
    parts: Sequence[Source],
    output: str,
    *,
    options: ReadOptions,
    base: str | None,
    others: Sequence[str],
    removed_from: Removed,
    annotation_of: Annotated | None,
    known_of: Callable[[str], Known],
    token: str,
    group_bytes: int,
    keep_parts: bool,
    done: Mapping[str, int],
    on_file_done: Callable[[str, int], None],
    on_source_done: Callable[[], None],
    files: AtomicFiles,
) -> list[str]:
    """Write a copy of each source without the rows that go, or with columns that tell about clusters.

    Args:
        parts: the sources.
        output: a folder, for a single file a file, "-" for stdout.
        options: how they were read.
        base: the folder that was given as the only input; names of copies are relative to it.
        others: further files that are read and must not be written over.
        removed_from: the rows of a source that go, by its name; rising.
        annotation_of: what is added to the records of a source instead, or None.
        known_of: what is known of the texts of a source, by its name, and must still be so.
        token: a name for the run, the same when it is resumed.
        group_bytes: decoded bytes of Parquet or Arrow that are written in one piece, about.
        keep_parts: files that are finished outlive an error.
        done, on_file_done: as for ``CleanWriter``.
        on_source_done: called after each source.
        files: the copies get their names at the end of its block.

    Returns:
        Names of what was written.

    Raises:
        InputError: an input cannot be read again, was changed, or cannot be annotated.
        OutputError: a copy cannot be written.
    """
    outputs = check_collection(parts, output, options=options, base=base, others=others)
    if outputs is None:
        return _write_datasets(parts, output, base or "", removed_from, annotation_of, known_of, files)
    writer = CleanWriter(
        outputs,
        options=options,
        token=token,
        keep_parts=keep_parts,
        done=done,
        on_file_done=on_file_done,
        group_bytes=group_bytes,
        files=files,
    )
    targets = iter(outputs)
    missing: set[str | None] = set()
    with writer:
        for part in parts:
            gone = removed_from(part.name) if annotation_of is None else np.empty(0, dtype=np.int64)
            if isinstance(part, FilesSource):
                if annotation_of is not None:
                    check_annotatable(part.name, "text")
                kept = np.ones(len(part.files), dtype=np.bool_)
                kept[gone - 1] = False
                for stays, file in zip(kept.tolist(), part.files, strict=True):
                    target = next(targets)
                    if not stays or file.error is not None:  # one that could not be read, and was skipped
                        missing.add(target.path)
                    elif not writer.is_done(target):
                        writer.copy(target)
                on_source_done()
                continue
            target = next(targets)
            if not writer.is_done(target):
                note = annotation_of(part.name) if annotation_of is not None else None
                writer.rewrite(target, removed=gone, annotation=note, known=known_of(part.name))
            on_source_done()
    if outputs.stream is not None:
        return [outputs.output]
    return [shown_path(path) for path in outputs.paths() if path not in missing]


def _files(parts: Sequence[Source]) -> list[tuple[str, str]]:
    """Path and format of every input file, in order."""
    found: list[tuple[str, str]] = []
    for part in parts:
        if isinstance(part, FilesSource):
            found += [(file.path, DOCUMENT if file.is_document else "text") for file in part.files]
        else:
            found.append((part.name, str(getattr(part, "format", ""))))
    return found


def _check_new_folder(output: str) -> None:
    if output == "-":
        raise InputError("a folder of the library datasets cannot go to stdout. Give -o a new folder.")
    if os.path.lexists(output) and (not os.path.isdir(output) or os.listdir(output)):
        raise InputError(f"{shown_path(output)} exists, and a dataset is a folder of its own. Give -o a new folder.")


def _write_datasets(
    parts: Sequence[Source],
    output: str,
    base: str,
    removed_from: Removed,
    annotation_of: Annotated | None,
    known_of: Callable[[str], Known],
    files: AtomicFiles,
) -> list[str]:
    """One dataset, or the splits of a dictionary of them."""
    splits: dict[str, Any] = {os.path.basename(part.name.rstrip(os.sep)): part.name for part in parts}
    nothing = np.empty(0, dtype=np.int64)
    if len(parts) == 1 and os.path.realpath(parts[0].name) == os.path.realpath(base):
        name = parts[0].name
        note = None if annotation_of is None else annotation_of(name)
        gone = nothing if note else removed_from(name)
        rewrite_dataset(base, Path(output), gone, note, known=known_of(name), files=files)
    else:
        known = {split: known_of(name) for split, name in splits.items()}
        cut = {split: removed_from(name) for split, name in splits.items()} if annotation_of is None else {}
        notes = {split: annotation_of(name) for split, name in splits.items()} if annotation_of is not None else None
        rewrite_dataset_dict(base, Path(output), cut, notes, known=known, files=files)
    return [shown_path(output)]
