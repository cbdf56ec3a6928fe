"""``neardup.spark.passages``: the repeated passages of a frame of Spark, and the frame without them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from neardup.calls import hinted
from neardup.engine.observe import Observer
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.outputs.atomic import AtomicFiles
from neardup.params import InputOptions, Normalize, RunOptions
from neardup.spark.door import CLEAN, Door, check_parquet
from neardup.spark.frames import read_frame
from neardup.spark.repeats.opening import check_passages, passage_run_of
from neardup.tasks.repeats.copies import check_copies, write_cut_copies
from neardup.tasks.repeats.decided import DecidedCuts
from neardup.tasks.repeats.summary import PassageSummary
from neardup.tasks.repeats.unit_runs import cutting_of, length_of
from neardup.types import Fault
from neardup.watching import watched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True, eq=False)
class ClusterPassages:
    """Repeated passages, as frames of Spark. They are read from the workdir, which must stay for them."""

    spans: DataFrame
    """id, start, end, start_byte, end_byte, source_id, source_start, count, count_min, documents, first, elsewhere: as
    ``RepeatedPassages.spans``."""
    clean: DataFrame | None
    """With ``cut`` all rows, with the texts without what is cut; all else in them is as it was. In no order."""
    cuts: DataFrame | None
    """With ``cut`` id, cut_bytes, left (characters) and kept of each document of which something is cut."""
    summary: PassageSummary
    faults: tuple[Fault, ...]
    """The first bad records, with reasons."""

    def __repr__(self) -> str:
        found = self.summary
        return f"<spark.{type(self).__name__}: {found.spans:,} spans in {found.documents:,} documents>"


@hinted
@watched
def passages(
    inputs: Any,
    *,
    workdir: str | os.PathLike[str],
    min_bytes: int | None = None,
    min_chars: int | None = None,
    normalize: str | Normalize = "none",
    cut: str | None = None,
    snap: str | None = None,
    min_cut: int | None = None,
    min_left: int | None = None,
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
) -> ClusterPassages:
    """Find the repeated passages of a frame of Spark, on its cluster, as ``neardup.passages`` does, and cut them.

    The frame is worked out once and written to the workdir as Parquet; all stages read these files. Documents without
    ids are called by their numbers in the frame, from 0, in the order of its partitions.

    Args:
        inputs: a frame of Spark; or a path, or a list of ``pathlib.Path``, as for ``neardup.passages``, which all
            machines see; with ``cut`` of Parquet files.
        workdir: folder that the driver and all workers see, as for ``neardup.spark.find``. It holds the texts a second
            time while the run is at work, and the answer when it is done.
        min_bytes, min_chars, normalize: as for ``neardup.passages``.
        cut: give the frame back without repeated passages too: ``first``, ``first-greedy``, ``none`` or
            ``other-documents``, as for ``RepeatedPassages.cut``. None: nothing is cut.
        snap, min_cut, min_left: as for ``RepeatedPassages.cut``; only with ``cut``. Rows of which fewer than
            ``min_left`` characters are left are not in ``clean``.
        text, id: names of the columns of the text and of the id; with ``cut`` one column of text.
        glob, encoding, boilerplate, on_bad, input_format, block: as for ``neardup.passages``.
        threads, memory: what the driver may use.
        resume: go on with an interrupted run of the same inputs and options in ``workdir``, behind the stages that are
            done.
        observer, progress: as for ``neardup.spark.find``.

    Returns:
        ClusterPassages with the frames ``spans``, ``clean`` and ``cuts``, and the summary.

    Raises:
        InputError: an option, a frame, a file or a record cannot be used; the message names it and the cure.
        SpoolError: the workdir holds something else, or cannot be used by all.
        MissingDependency: PySpark or Java is not there.

    >>> import neardup.spark
    >>> found = neardup.spark.passages(frame, text="body", cut="first", workdir="/shared/work")  # doctest: +SKIP
    >>> found.clean.write.parquet("/shared/clean")  # doctest: +SKIP
    """
    given = locals()
    run, reading = RunOptions.of(given), InputOptions.of(given)
    how: dict[str, Any] = {"min_bytes": min_bytes, "min_words": None, "min_chars": min_chars}
    length = length_of(unit=None, span=None, threshold=None, shingle=None, **how)
    if cut is None and (snap is not None or min_cut is not None or min_left is not None):
        raise InputError("snap, min_cut and min_left are for what is cut. Give cut too, or leave them out.")
    cutting = cutting_of(length, cut or "first", snap=snap, min_cut=min_cut, min_left=min_left)
    door = Door(inputs, None, run, observer)
    reader = open_inputs(door.inputs, reading)
    output = f"{door.storage.root}/{CLEAN}"
    if cut is not None:
        check_parquet(reader.parts)
        check_copies(reader, output)
    check_passages(reader, length, door.options)
    task = {} if cut is None else {"cut": asdict(cutting)}
    more: dict[str, Any] = {"task": task, "observer": door.observer, "frames": door.frames}
    more["normalize"] = Normalize.parse(normalize)
    with passage_run_of(door.session, reader, length, door.options, **more) as work:
        decided = None if cut is None else DecidedCuts(work, cutting)
        spans = door.table("spans", work.spans())
        clean = cuts = None
        if decided is not None:
            cuts = door.table("cuts", decided.table().to_reader())
            with AtomicFiles() as files:
                write_cut_copies(work, decided, output, files)
            clean = read_frame(door.session, door.storage, CLEAN, None if door.frame is None else door.frame.schema)
        return ClusterPassages(spans, clean, cuts, work.summary(), tuple(work.provenance.faults))
