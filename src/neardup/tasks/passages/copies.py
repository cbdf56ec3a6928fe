"""Clean copies of the inputs of a run: what is repeated is cut out of their texts, all else stays."""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import flags, numbers
from neardup.errors import InputError
from neardup.inputs.addresses import real_place
from neardup.inputs.datasets import DatasetSource
from neardup.inputs.folder import FilesSource
from neardup.inputs.source import Source
from neardup.outputs.atomic import AtomicFiles, output_place
from neardup.shown import shown_path
from neardup.tasks.dedup.rewrite.copy_names import Target, plan_copies
from neardup.tasks.dedup.rewrite.model import GROUP_BYTES, Replaced, Rewrite
from neardup.tasks.dedup.rewrite.writer import CleanWriter, targets_of
from neardup.tasks.passages.run import CutDocument, Cutting, PassageRun
from neardup.types import I64, Mask

_NAMED = 5
"""Documents left out that are named in the facts."""
_FORMATS = ("jsonl", "lines", "csv", "tsv", "parquet", "arrow", "text")


class CleanCopies:
    """What is cut of each document of a run, and the copies without it."""

    def __init__(self, run: PassageRun, cutting: Cutting, output: str, others: Sequence[str] = ()) -> None:
        """Check what can be checked before the texts are read.

        ``others`` are files that are written too. InputError where an input cannot be written so, or one of them would
        be a copy.
        """
        self.cutting = cutting
        self._run = run
        self._output = output
        _check_columns(run.reader.options.text or ())
        for part in run.reader.written_parts:
            _check_source(part)
        if not all(part.paths is not None for part in run.reader.written_parts):
            raise InputError("inputs are read twice, and a pipe can be read once. Save it to a file, and give that.")
        places = {real_place(path) for path in plan_copies(run.reader, output).paths()}
        for name in others:
            if real_place(output_place(name)) in places:
                raise InputError(f"{name} would be the copy of an input too. Give another name.")
        self._rows: I64 = np.empty(0, dtype=np.int64)
        self._lost: I64 = self._rows
        self._left: I64 = self._rows
        self._kept: Mask = np.empty(0, dtype=np.bool_)

    def decide(self) -> None:
        """Read the inputs, find what repeats, and what is cut of which document; 25 bytes for each that is cut."""
        facts = array("q")
        for each in self._run.cut_documents(self.cutting):
            facts.extend((each.row, each.cut_bytes, each.left))
        self._rows, self._lost, self._left = np.array(facts, dtype=np.int64).reshape(-1, 3).T.copy()
        self._kept = self._left >= self.cutting.min_left

    def losses(self) -> tuple[I64, I64]:
        """Rows of the documents that are cut, rising, and the bytes that each loses."""
        return self._rows, self._lost

    def facts(self) -> dict[str, Any]:
        """What is cut, as JSON values."""
        out = self._rows[~self._kept]
        return {
            **asdict(self.cutting),
            "documents": self._rows.size,
            "bytes": int(self._lost.sum()),
            "left_out": out.size,
            "left_out_ids": self._run.provenance.ids.take(out[:_NAMED]).to_pylist(),
        }

    def table(self) -> pa.Table:
        """id, cut_bytes, left (characters) and kept of each document that is cut, in the order of the input."""
        columns = {
            "id": self._run.provenance.ids.take(self._rows),
            "cut_bytes": numbers(self._lost),
            "left": numbers(self._left),
            "kept": flags(self._kept),
        }
        return pa.table(columns)

    def write(self, files: AtomicFiles) -> None:
        """Write the copies; they get their names at the end of the block of ``files``."""
        run = self._run
        cut = run.cut_documents(self.cutting)
        writer = CleanWriter(plan_copies(run.reader, self._output), token=secrets.token_hex(8), files=files)
        group_bytes = min(GROUP_BYTES, run.space.budget.share(0.1))
        with writer:
            for part, targets in targets_of(run.reader.written_parts, writer.outputs):
                local, kept = self._of(part)
                texts = self._texts(islice(cut, local.size))
                if isinstance(part, FilesSource):
                    is_kept = dict(zip(local.tolist(), kept.tolist(), strict=True))
                    self._write_files(part, targets, writer, is_kept, texts)
                    continue
                replaced = Replaced(part.name, local, texts, _field(part)) if local.size else None
                facts: dict[str, Any] = {"removed": local[~kept], "replaced": replaced, "group_bytes": group_bytes}
                writer.rewrite(targets[0], Rewrite(part.name, part.format, run.reader.options, **facts))

    def _of(self, part: Source) -> tuple[I64, Mask]:
        """The lines or rows of a source whose documents are cut, and which of these are kept."""
        places = self._run.provenance.places
        if part.name not in places.sources:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
        mine = slice(*np.searchsorted(self._rows, places.span(places.sources.index(part.name))).tolist())
        return places.locate(self._rows[mine])[1], self._kept[mine]

    def _texts(self, cut: Iterator[CutDocument]) -> Iterator[tuple[bytes, bytes | None]]:
        for each in cut:
            yield each.before, each.after if each.left >= self.cutting.min_left else None

    def _write_files(
        self,
        part: FilesSource,
        targets: list[Target],
        writer: CleanWriter,
        kept: dict[int, bool],
        texts: Iterator[tuple[bytes, bytes | None]],
    ) -> None:
        """Copy files of one text each; ``kept`` has the numbers of those that are cut."""
        for row, (file, target) in enumerate(zip(part.files, targets, strict=True), start=1):
            if row not in kept:
                if file.error is None:
                    writer.copy(target)
                continue
            new = next(texts)
            if kept[row]:
                replaced = Replaced(file.path, np.ones(1, dtype=np.int64), iter([new]))
                writer.rewrite(target, Rewrite(file.path, "text", self._run.reader.options, replaced=replaced))


def _check_source(part: Source) -> None:
    """Raise InputError unless a text of the source can be written back."""
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


def _check_columns(names: Sequence[str]) -> None:
    if len(names) > 1:
        raise InputError(
            f"the text is made of the columns {', '.join(map(repr, names))}, and what is cut is written back into one."
            " Give one with --text."
        )


def _field(part: Source) -> str:
    columns = part.columns or part.look()
    return columns.text[0] if columns is not None and columns.text else ""
