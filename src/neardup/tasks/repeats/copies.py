"""Clean copies of inputs of whose texts passages are cut out; all else in them stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from neardup.errors import InputError
from neardup.inputs.addresses import real_place
from neardup.inputs.columnar.objects import is_dataset
from neardup.inputs.datasets import DatasetSource
from neardup.inputs.folder import FilesSource
from neardup.inputs.reader import Reader
from neardup.inputs.source import Source
from neardup.outputs.atomic import AtomicFiles, output_place
from neardup.shown import shown_path
from neardup.stages.sketch import fingerprints
from neardup.tasks.repeats.cutting import bytes_of
from neardup.tasks.repeats.decided import DecidedCuts
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.settings import UNCHANGED
from neardup.tasks.rewrite.copy_names import plan_copies
from neardup.tasks.rewrite.model import GROUP_BYTES, Replaced, Rewrite
from neardup.tasks.rewrite.reread import Rereading, SecondReading
from neardup.tasks.rewrite.writer import CleanWriter, write_copies
from neardup.types import I64, U64, Documents

_FORMATS = ("jsonl", "lines", "csv", "tsv", "parquet", "arrow", "text")


def check_copies(reader: Reader, output: str, others: Sequence[str] = ()) -> None:
    """Raise InputError where an input cannot be written without passages, or one of ``others`` would be a copy."""
    check_cuttable(reader)
    if not all(part.paths is not None for part in reader.written_parts):
        raise InputError("inputs are read twice, and a pipe can be read once. Save it to a file, and give that.")
    places = {real_place(path) for path in plan_copies(reader, output).paths()}
    for name in others:
        if real_place(output_place(name)) in places:
            raise InputError(f"{name} would be the copy of an input too. Give another name.")


def write_cut_copies(run: PassageRun, cuts: DecidedCuts, output: str, files: AtomicFiles) -> None:
    """Write the copies; they get their names at the end of the block of ``files``, unless an input has changed.

    A text that is cut is always compared with what was read; if the stamps of a file differ, all its texts are.
    """
    reader, places, repeats = run.reader, run.provenance.places, run.find()
    group_bytes = min(GROUP_BYTES, run.space.budget.share(0.1))

    def prints(rows: I64) -> U64:
        return fingerprints(Documents.from_bytes(bytes_of(repeats, row) for row in rows.tolist()))

    def rows_of(source: str, is_doubted: bool) -> I64:
        return np.arange(*places.span_of(source)) if is_doubted else np.empty(0, dtype=np.int64)

    reading = SecondReading(Rereading(reader, run.provenance, UNCHANGED, prints), run.stamps, rows_of)
    reading.begin()
    files.check_before(reading.end)

    def job_of(part: Source) -> Rewrite:
        known = None if isinstance(part, FilesSource) else reading.known_of(part.name)
        job = Rewrite(part.name, part.format, reader.options, known=known, group_bytes=group_bytes)
        return with_cuts(job, part, cuts)

    with CleanWriter(plan_copies(reader, output), token=run.token, files=files) as writer:
        write_copies(reader.written_parts, writer, job_of, on_source_done=lambda: None)


def with_cuts(job: Rewrite, part: Source, cuts: DecidedCuts) -> Rewrite:
    """What happens to a source, and cuts beside; documents that have too little left go too."""
    rows, kept = cuts.rows_of(part.name)
    if not rows.size:
        return job
    removed = np.union1d(job.removed, rows[~kept])
    stays = ~np.isin(rows, removed)
    documents = (each for _, each in cuts.documents_of(part.name))
    texts = ((each.before, each.after if is_kept else None) for each, is_kept in zip(documents, stays, strict=True))
    return replace(job, removed=removed, replaced=Replaced(part.name, rows, texts, field_of(part)))


def field_of(part: Source) -> str:
    """The column or field of a source that holds the text; nothing where a document has none."""
    columns = part.columns or part.looked_at
    return columns.text[0] if columns is not None and columns.text else ""


def check_cuttable(reader: Reader) -> None:
    """Raise InputError unless the texts of all sources that are written can be written back into them."""
    if is_dataset(reader.value):
        raise InputError(
            "texts in a datasets.Dataset are not replaced. Give its table: dataset.with_format('arrow')[:]."
        )
    for part in reader.written_parts:
        if part.paths is not None:
            _check_source(part)
        columns = part.columns or part.looked_at
        if columns is not None and len(columns.text) > 1:
            raise InputError(
                f"the text is made of the columns {', '.join(map(repr, columns.text))}, and what is cut is written back"
                " into one. Give one with --text."
            )


def _check_source(part: Source) -> None:
    what = part.format
    if isinstance(part, DatasetSource):
        what = "a folder of the library datasets"
    elif isinstance(part, FilesSource):
        found = next((file for file in part.files if file.is_document), None)
        if found is None:
            return
        raise InputError(
            f"{shown_path(found.path)}: the text of such a document cannot be written back into it. Cut texts are"
            " written for JSONL, CSV, TSV, Parquet, Arrow and text files; choose these with --glob."
        )
    elif what in _FORMATS:
        return
    raise InputError(
        f"{shown_path(part.name)} is {what}, into which cut texts are not written. Give JSONL, CSV, TSV, Parquet, Arrow"
        " or text files."
    )
