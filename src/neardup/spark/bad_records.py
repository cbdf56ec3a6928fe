"""Bad records of a frame: they are named by its rows and their ids, not by the files that it was written to.

Rows are counted from 1, as in the table of removals. How many come before a file is known when all are read; for an
error the footers of the files before it are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import InputError
from neardup.inputs.columnar.parquet import arrow_file
from neardup.inputs.source import UnusableRecord
from neardup.inputs.splits import PIECES, SplitReading
from neardup.spark.pieces import Inputs
from neardup.types import Fault

SIDES = ("input", "protect")
"""What the sources of a clean-up of frames are called."""


def with_ids(job: Inputs, reading: SplitReading, faults: Sequence[Fault]) -> list[Fault]:
    """Bad records of a split with their ids in the reasons, where it is a part of a frame that has ids."""
    columns, piece = reading.columns, reading.split
    if not (job.frames and faults and columns is not None and columns.id):
        return list(faults)
    try:
        with pq.ParquetFile(arrow_file(job.sources[piece.place].name), pre_buffer=False) as file:
            groups = range(piece.first, piece.stop) if piece.kind == PIECES else range(file.num_row_groups)
            ids = file.read_row_groups(list(groups), columns=[columns.id]).column(0)
            first = 1 + (piece.before or 0)
            return [_with_id(fault, ids[fault.row - first].as_py()) for fault in faults]
    except (OSError, pa.ArrowException, LookupError, InputError):  # it is the file that is bad
        return list(faults)


def _with_id(fault: Fault, value: object) -> Fault:
    return fault if value is None else replace(fault, reason=f"{fault.reason}; its id is {value!r}")


def unusable_row(job: Inputs, reading: SplitReading, error: UnusableRecord) -> UnusableRecord:
    """The error of a record of a frame, by the row of that."""
    if not job.frames or not error.fault.row:
        return error
    (fault,) = with_ids(job, reading, [error.fault])
    place, first, side = reading.split.place, 0, 0
    while place >= first + job.frames[side]:
        first += job.frames[side]
        side += 1
    row = fault.row
    for source in job.sources[first:place]:
        with pq.ParquetFile(arrow_file(source.name), pre_buffer=False) as file:
            row += file.metadata.num_rows
    what = "the frame" if len(job.frames) == 1 else f"the frame {SIDES[side]}"
    return UnusableRecord(Fault(f"row {row} of {what}", 0, fault.reason), error.cure)


def by_frame(faults: Sequence[Fault], first_records: Mapping[str, tuple[int, int]]) -> list[Fault]:
    """Bad records by the rows of their frames; ``first_records``: of each file its frame, and the rows before it."""
    found = []
    for fault in faults:
        side, before = first_records[fault.source]
        found.append(Fault(SIDES[side], fault.row and fault.row + before, fault.reason))
    return found
