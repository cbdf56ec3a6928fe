"""Repeated passages of a path as one machine finds them, and as a cluster does: tables, cuts, clean copies, counts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.spark.inprocess import InProcess

from neardup.inputs.reader import open_inputs
from neardup.outputs.atomic import AtomicFiles
from neardup.params import InputOptions, Normalize, RunOptions
from neardup.spark.repeats.run import ClusterPassageRun
from neardup.spark.storage import Storage
from neardup.tasks.repeats.copies import check_copies, write_cut_copies
from neardup.tasks.repeats.decided import DecidedCuts
from neardup.tasks.repeats.overview import losers, top_passages
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.settings import Cutting, Length

MEMORY = 600 << 20
_numbers = count()


@dataclass
class Outcome:
    """All that is told and written of a run."""

    spans: pa.Table
    summary: dict[str, Any]
    lists: list[Any]
    faults: list[Any]
    cuts: pa.Table | None
    facts: dict[str, Any]
    copies: dict[str, bytes]


def outcome(
    path: Path,
    folder: Path,
    *,
    length: Length | None = None,
    cutting: Cutting | None = None,
    cluster: Any = None,
    split: int = 1000,
    on_bad: str = "fail",
    normalize: str = "none",
    is_local: bool = False,
    resume: bool = False,
    work: Path | None = None,
    memory: int = MEMORY,
) -> Outcome:
    """Find, and cut where ``cutting`` says what, the copies in a folder of their own below ``folder``."""
    number = next(_numbers)
    reader = open_inputs(path, InputOptions(on_bad=on_bad))
    given: Any = (reader, length or Length("byte", 20), RunOptions(threads=1))
    how: dict[str, Any] = {"normalize": Normalize.parse(normalize)}
    if is_local:
        run = PassageRun(*given, **how)
    else:
        storage = Storage(str(work or folder / f"work-{number}"))
        more: dict[str, Any] = {"cluster": cluster or InProcess(), "storage": storage, "worker_memory": memory}
        run = ClusterPassageRun(*given, **how, **more, split_bytes=split, go_on=resume)
    output = folder / f"out-{number}"
    with run:
        if cutting is not None:
            check_copies(reader, str(output))
        decided = DecidedCuts(run, cutting) if cutting is not None else None
        spans = run.spans().read_all()
        if decided is not None:
            with AtomicFiles() as files:
                write_cut_copies(run, decided, str(output), files)
        told = run.summary().as_dict()
        told.pop("seconds")
        copies = {}
        if decided is not None:
            found = [output] if output.is_file() else sorted(each for each in output.rglob("*") if each.is_file())
            copies = {str(each.relative_to(output)): each.read_bytes() for each in found}
        return Outcome(
            spans,
            told,
            [top_passages(run), losers(run, "first")],
            run.provenance.faults,
            None if decided is None else decided.table(),
            {} if decided is None else decided.facts(),
            copies,
        )


def both(path: Path, folder: Path, **how: Any) -> tuple[Outcome, Outcome]:
    """Of one machine, and of a cluster."""
    local = {name: how[name] for name in ("length", "cutting", "on_bad", "normalize") if name in how}
    return outcome(path, folder, is_local=True, **local), outcome(path, folder, **how)
