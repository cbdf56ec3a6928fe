"""Frames of Spark in, frames out: what the calls of ``neardup.spark`` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from neardup.engine.observe import Observer, Silent
from neardup.errors import InputError, SpoolError
from neardup.inputs.columnar.parquet import ParquetSource
from neardup.inputs.source import Source
from neardup.params import RunOptions
from neardup.shown import shown_path
from neardup.spark.frames import Place, read_frame, session_of, write_frame
from neardup.spark.open import open_session, place_of_work, pyspark_sql
from neardup.spark.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WORK, FRAME, _PROTECTED = "work", "frame", "protected"
CLEAN = "clean"
_TABLES = ("pairs", "clusters", "crowds", "removals", "spans", "cuts", CLEAN)
"""Folders of a workdir."""


def is_frame(value: Any) -> bool:
    """Whether something is a frame of Spark."""
    return isinstance(value, pyspark_sql().DataFrame)


def check_parquet(parts: Sequence[Source]) -> None:
    """Raise InputError unless all sources are Parquet files, which are given back as a frame."""
    for part in parts:
        if not isinstance(part, ParquetSource):
            raise InputError(
                f"{shown_path(part.name)} is no Parquet file, and only such files are given back as a frame. Read it "
                "as a frame, such as by spark.read.json, and give that; or clean the files with the command."
            )


class Door:
    """One call: its session, and its workdir, in which frames and answers lie."""

    def __init__(self, inputs: Any, protect: Any, run: RunOptions, observer: Observer | None) -> None:
        """Write the frames among the inputs; SpoolError where the workdir holds another answer."""
        self.frame: DataFrame | None = inputs if is_frame(inputs) else None
        self.session: SparkSession = open_session(None, ()) if self.frame is None else session_of(self.frame)
        self.storage = Storage(place_of_work(run))
        self._run, self.observer = run, observer or Silent()
        work = Storage(f"{self.storage.root}/{_WORK}")
        self._go_on = run.resume and work.has_work()
        found = [name for name in (FRAME, _WORK, *_TABLES) if self.storage.has(name)]
        if found and not run.resume:
            raise SpoolError(
                f"{self.storage.root} holds the answer, or the work, of another run: {', '.join(found)}. Name another "
                "folder with workdir=, go on with an interrupted run by resume=True, or delete it."
            )
        if run.resume and not self.storage.has(FRAME if self.frame is not None else _WORK):
            raise SpoolError(f"{self.storage.root} holds no work of an interrupted run. Run without resume=True.")
        if run.resume and not self._go_on and any(self.storage.has(name) for name in _TABLES):  # work goes at the end
            raise SpoolError(f"{self.storage.root} holds the answer of a run that is done. Name another folder.")
        self.inputs = inputs if self.frame is None else self._written(self.frame, FRAME)
        self.protect = protect if self.frame is None or protect is None else self._written(protect, _PROTECTED)

    def _written(self, frame: DataFrame, name: str) -> list[Place]:
        self.observer.stage(f"write the {name}", None, "tasks")
        told = 0

        def tell(done: int) -> None:
            nonlocal told
            self.observer.advance(max(0, done - told))
            told = max(told, done)

        return write_frame(frame, self.storage, name, go_on=self._run.resume, on_done=tell)

    @property
    def options(self) -> RunOptions:
        """Of the run of the call, whose work has a folder of its own in the workdir."""
        return replace(self._run, workdir=f"{self.storage.root}/{_WORK}", resume=self._go_on)

    @property
    def frames(self) -> tuple[int, ...]:
        """How many files each frame was written as; none, where the inputs are paths."""
        counts = [len(files) for files in (self.inputs, self.protect) if files is not None]
        return tuple(counts) if self.frame is not None else ()

    def table(self, name: str, batches: pa.RecordBatchReader) -> DataFrame:
        """Write a table of the answer, and give it as a frame."""
        self.storage.put_table(name, batches)
        return read_frame(self.session, self.storage, name)
