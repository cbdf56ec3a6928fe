"""Inputs in pieces that different machines read independently: where a ``Reader`` is cut, and the reading of a piece.

    bytes    the lines of a plain UTF-8 file of lines or of JSON Lines that begin in a range of its bytes
    pieces   some row groups of a Parquet file, batches of an Arrow file, or files that are one document each
    whole    everything else: what is small, compressed, transcoded, delimited, in an archive, or a dataset

The splits of a source, read in order, give what the source gives: the same documents, ids, places and bad records, in
other batches. Of a range of bytes nobody knows how many lines are before it until the ranges before it were read; its
lines are counted from 1, and whoever knows how many are before gives them their numbers (``numbered``,
``FaultInSplit.absolute``), or reads a split that tells it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from neardup.cutting import cut, starts_of
from neardup.errors import InputChanged, InputError
from neardup.inputs.blocks import shared_slabs
from neardup.inputs.columns import ReadColumns
from neardup.inputs.reader import Reader
from neardup.inputs.source import Source, Task, UnusableRecord
from neardup.inputs.stream import ByteStream, is_regular, size_of
from neardup.shown import shown_path
from neardup.types import Alone, Batch, Fault, NeedsRoom

BYTES, PIECES, WHOLE = "bytes", "pieces", "whole"
"""The kinds of splits."""
_PACKED = 16
"""How many times smaller than a split a file must be not to be looked into: Parquet may unpack to more."""
_LARGEST = 1 << 40
"""Bytes that a piece counts for at most, whatever a forged file says of it."""
_COUNTED = 1 << 20
"""Bytes in which newlines are counted at a time."""


SPLIT_BYTES, LARGEST_SPLIT, SPLITS = 64 << 20, 256 << 20, 2000
"""Bytes of a split as a rule, and of inputs of more than SPLITS of these: every task is told of all splits and sends to
every partition, so that twice as many splits cost four times as much. Larger ones would not fit a worker of 1 GB."""


def usual_bytes(nbytes: float) -> int:
    """About how many bytes a split should have, of inputs of ``nbytes``."""
    return int(min(max(SPLIT_BYTES, nbytes / SPLITS), LARGEST_SPLIT))


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a source that can be read without the others. ``asdict`` of it is JSON, and its keywords."""

    place: int
    """Of the source in ``Reader.parts``."""
    kind: str
    """BYTES, PIECES or WHOLE."""
    first: int
    stop: int
    """The bytes in which its lines begin, or the pieces that it has, from 0: ``first`` up to ``stop``, without that."""
    nbytes: int
    """Bytes to read, about: as stored, of Parquet as unpacked."""
    before: int | None
    """Lines, rows or files of the source before those of the split; None: not known before those were read."""

    @property
    def is_relative(self) -> bool:
        """Whether the rows of its batches and faults are counted from 1 in the split, and not in the source."""
        return self.before is None


class FaultInSplit(InputError):
    """A record that fails the run, in a split of which nobody knows how many lines are before it."""

    def __init__(self, fault: Fault, cure: str, first: int) -> None:
        """``fault.row`` is counted from the first line that begins at byte ``first`` of the file or behind it."""
        self.fault = fault
        self.cure = cure
        self.first = first
        where = f"line {fault.row:,} of those that begin at byte {first:,} or behind"
        super().__init__(f"{fault.source}: {where}: {fault.reason}.{cure and ' '}{cure}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fault, self.cure, self.first)

    def absolute(self, before: int) -> UnusableRecord:
        """The error that reading the whole source raises; ``before``: lines before those of the split."""
        return UnusableRecord(replace(self.fault, row=self.fault.row + before), self.cure)


def plan_splits(reader: Reader, most_bytes: int) -> list[Split]:
    """Cut the sources of a reader into splits of about ``most_bytes`` that can be read independently, in input order.

    Every source has one split at least, an empty one too. Small row groups, batches and files share a split; one that
    is larger than ``most_bytes`` has its own. What cannot be looked into is one split, whose reading says what is
    wrong, when it comes to it. Of large files of JSON Lines the beginning is read, 4 MB as a rule, for the names of
    their fields, which stay in the source (``Source.columns``); of Parquet and Arrow files what says where the pieces
    are. The limit of records (``ReadOptions.limit``) must be set before, since it is sent with the sources.

    Raises:
        InputError: a source is no file, so that no other process can read it.
    """
    splits: list[Split] = []
    for place, source in enumerate(reader.parts):
        _check_is_in_files(source)
        splits.extend(_cut(source, place, max(1, most_bytes)))
    return splits


def _check_is_in_files(source: Source) -> None:
    pipe = source.pipe
    if pipe is None and source.format:
        return
    if pipe is None:
        what = f"{source.name} is in the memory of this process, and"
    else:
        what = "standard input" if pipe == "-" else f"the pipe {shown_path(pipe)}"
    raise InputError(
        f"{what} cannot be read by the workers of a cluster. Write it to a file that all of them see, and give that."
    )


def _cut(source: Source, place: int, most: int) -> list[Split]:
    size = source.total_bytes or 0
    whole = [Split(place, WHOLE, 0, 0, size, before=0)]
    try:
        if size > most and source.is_cut_at_lines():
            count = -(-size // most)
            ends = (size * i // count for i in range(count + 1))
            return [Split(place, BYTES, a, b, b - a, before=None if a else 0) for a, b in pairwise(ends)]
        pieces = source.pieces() if size > most // _PACKED or source.format == "text" else []
    except InputError:
        return whole
    costs = np.array([min(max(nbytes, 0), _LARGEST) for nbytes, _ in pieces], dtype=np.int64)
    runs = list(cut(costs, most))
    before = starts_of(np.array([rows for _, rows in pieces], dtype=np.int64))
    if len(runs) < 2:
        return whole
    return [
        Split(place, PIECES, run.start, run.stop, int(costs[run].sum()), before=int(before[run.start])) for run in runs
    ]


class SplitReading:
    """The reading of one split, once."""

    def __init__(self, source: Source, split: Split) -> None:
        """Nothing is read yet."""
        self.split = split
        self._source = source
        self._slabs = shared_slabs()  # held from one reading to the next
        self._records: dict[int, int] = {}
        self._made: int | None = None

    @property
    def is_relative(self) -> bool:
        """Whether rows are counted from 1 in the split (``Split.is_relative``)."""
        return self.split.is_relative

    @property
    def columns(self) -> ReadColumns | None:
        """What is read of the source, as ``Source.columns``; known when the first task was made."""
        return self._source.columns

    @property
    def passed(self) -> Sequence[Any]:
        """What the source holds and is not read, as ``Source.passed``; asked for when all tasks were done."""
        return self._source.passed

    @property
    def records(self) -> int:
        """Lines, rows or files that the split has: good, bad and blank ones. Known when all tasks were done."""
        if self._made is None or len(self._records) < self._made:
            raise RuntimeError("the records of a split are known when all of its tasks were done")
        return sum(self._records.values())

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks of the split in order, each returning a ``Batch`` as those of ``Source.tasks`` do.

        Raises InputError as those do, when a task is made or done. Where the number of a line is not known, a record
        that fails the run is a FaultInSplit.
        """
        made = 0
        for task in self._source.tasks():
            doing = partial(self._do, made, task.task if isinstance(task, Alone) else task)
            yield Alone(doing) if isinstance(task, Alone) else doing
            made += 1
            del task, doing  # their memory may be used again for the next
        self._made = made

    def _do(self, number: int, task: Task) -> Batch:
        try:
            batch = task()
        except NeedsRoom as exc:
            raise NeedsRoom(Alone(partial(self._do, number, exc.task.task))) from exc
        except UnusableRecord as exc:
            if not self.is_relative:
                raise
            raise FaultInSplit(exc.fault, exc.cure, self.split.first) from exc
        self._records[number] = len(batch.documents) + batch.bad + batch.blank
        return batch


def read_split(source: Source, split: Split) -> SplitReading:
    """Read one split of a source that ``plan_splits`` cut, here or in another process.

    The source must not have been opened where it was pickled. It is left as it is, so that one of them serves all the
    splits that a process reads. Give ``replace(split, before=…)`` for absolute rows where the number of lines before
    is known.

    Raises:
        InputChanged: the file is not as large as it was when it was cut.
    """
    _check_is_same(source)
    part = copy(source)
    if split.kind != WHOLE:
        part.part = range(split.first, split.stop)
        part.first_row = (split.before or 0) + 1
    return SplitReading(part, split)


def _check_is_same(source: Source) -> None:
    """A worker may see another file under the same name, and pieces of another file are no pieces."""
    if source.format == "text" or source.total_bytes is None or not is_regular(source.name):
        return  # many files, or reading it says best what is wrong
    size = size_of(source.name)
    if size != source.total_bytes:
        raise InputChanged(
            f"{shown_path(source.name)} has {size:,} bytes, and had {source.total_bytes:,} when it was looked at. "
            "Start again when nobody writes to it; or give a path under which all machines see the same file."
        )


def numbered(batch: Batch, before: int) -> Batch:
    """A batch of a relative split with the rows of the source: ``before`` lines come before the split."""
    faults = tuple(replace(fault, row=fault.row + before) for fault in batch.faults)
    return replace(batch, rows=batch.rows + before, faults=faults)


def lines_before(source: Source, split: Split) -> int:
    """Lines, rows or files before those of a split; lines are counted in the file, all of which is read up to there.

    For an error, where the splits before were not read.
    """
    if split.before is not None:
        return split.before
    found, left = 1, split.first - 1  # the line that a newline at the last byte before the split ends began before
    buffer = bytearray(_COUNTED)
    with ByteStream(source.name) as stream:
        while left and (got := stream.fill(memoryview(buffer)[:left])):
            found += buffer.count(b"\n", 0, got)
            left -= got
    return found
