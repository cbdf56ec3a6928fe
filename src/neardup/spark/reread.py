"""Documents of the inputs are read again, by tasks on the pieces in which they were read first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from neardup.engine.threads import in_order
from neardup.inputs.folder import FilesSource
from neardup.inputs.source import ReadOptions
from neardup.inputs.splits import BYTES, WHOLE, read_split
from neardup.inputs.text.jsonl import JsonlSource
from neardup.inputs.text.lines import LinesSource
from neardup.spark import known
from neardup.spark.exchange import Facts
from neardup.spark.packing import Arrays
from neardup.spark.pieces import Job
from neardup.tasks.columns.reread import parts_of
from neardup.tasks.columns.values import Part
from neardup.tasks.rewrite.model import Known, Lines
from neardup.tasks.rewrite.reread import check_each
from neardup.types import I64


@dataclass(frozen=True, slots=True)
class Piece:
    """A split, and what the first reading counted in it."""

    split: int
    kind: str
    """As of ``Split``."""
    before: int
    """Lines, rows or files of the source before it."""
    rows: int
    """Those that it has."""
    records: int
    """Documents and bad records among them."""
    nbytes: int

    @property
    def is_lines(self) -> bool:
        """Whether it is a range of the lines of a plain file."""
        return self.kind == BYTES

    def among(self, local: I64) -> slice:
        """Where among rising local rows those of the piece are."""
        if self.kind == WHOLE:  # a record of CSV has several lines
            return slice(0, local.size)
        return slice(*np.searchsorted(local, (self.before + 1, self.before + self.rows + 1)).tolist())


def lines_of(job: Job, split: int, before: int, options: ReadOptions) -> Lines:
    """A reader of a split that is a range of lines, with their numbers in the file; it passes over bad ones."""
    source, piece = job.source_of(split), job.splits[split]
    assert isinstance(source, JsonlSource | LinesSource)
    found = type(source)(source.name, replace(options, on_bad="skip", block=None), total_bytes=source.total_bytes)
    found.columns = source.columns
    found.part, found.first_row = range(piece.first, piece.stop), before + 1
    return found


def read_values(job: Job, options: ReadOptions, column: str, name: str, task: int) -> Facts:
    """Read the values that some documents of a source have in a column."""
    asked = job.storage.get(f"{name}-asked/{task:06d}")
    split, before = asked["at"].tolist()
    source = job.source_of(split)
    if job.splits[split].kind == BYTES:
        source = lines_of(job, split, before, options)
    arrays: Arrays = {}
    number = 0
    for number, part in enumerate(parts_of(source, column, asked["rows"], options), start=1):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, pa.schema([("values", part.values.type)])) as out:
            out.write_batch(pa.RecordBatch.from_arrays([part.values], names=["values"]))
        arrays |= {f"rows{number}": part.rows, f"values{number}": np.frombuffer(sink.getvalue(), dtype=np.uint8)}
    job.storage.put(f"{name}/{task:06d}", **arrays)
    return {"parts": number, "source": source.name}


def parts_from(job: Job, name: str, facts: Facts) -> Iterator[Part]:
    """What ``read_values`` wrote down."""
    arrays = job.storage.get(name)
    for number in range(1, facts["parts"] + 1):
        table = pa.ipc.open_stream(pa.py_buffer(arrays[f"values{number}"])).read_all()
        yield Part(facts["source"], arrays[f"rows{number}"], table.column(0).combine_chunks())


def check_again(job: Job, options: ReadOptions, name: str, split: int) -> Facts:
    """Read a split; InputChanged where documents are not what they were."""
    asked = job.storage.get(f"{name}/{split:06d}")
    source = job.source_of(split)
    mine = Known(
        source.name,
        asked["rows"],
        lambda part: asked["prints"][part],
        options=options,
        normalize=job.spec.normalize,
    )
    reading = read_split(source, replace(job.splits[split], before=int(asked["before"])))
    for batch in in_order(lambda task: task(), reading.tasks(), threads=1):
        mine.check_batch(batch)
    mine.check_end(None)
    return {}


def check_files_again(job: Job, options: ReadOptions, name: str, split: int) -> Facts:
    """Read some files of a split that are one document each; InputChanged where one is not what it was."""
    facts, arrays = job.storage.get_facts(f"{name}/{split:06d}"), job.storage.get(f"read/{split:06d}")
    source = job.source_of(split)
    assert isinstance(source, FilesSource)
    local = known.local_rows(facts, arrays, slice(None))
    mine = np.isin(local, job.storage.get(f"{name}/{split:06d}")["rows"])
    prints = arrays["prints"][mine]
    normalize = job.spec.normalize
    check_each(source, Known(source.name, local[mine], lambda part: prints[part], options=options, normalize=normalize))
    return {}
