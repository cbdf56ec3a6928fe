"""The run behind a command: set up from its options, and what it leaves to go on from.

What a run does is in ``neardup.session``; what a command does with it is in the module of the command.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import WORK
from neardup.cli.stopping import Stoppable, in_background
from neardup.params import AUTO, RunOptions, SearchOptions

if TYPE_CHECKING:
    from neardup.inputs.reader import Reader
    from neardup.params import Spec
    from neardup.session import Run
    from neardup.tasks.plan.outcome import Plan

__all__ = [
    "STDOUT",
    "open_run",
    "plan_run",
    "resumable_run",
    "work_place",
]

STDOUT = "-"
WORK_SUFFIX = ".neardup-work"
WORK_NAME = "neardup-work"


def work_place(output: str | None) -> Path:
    """Where work goes to disk when no workdir is named: beside the output, or in the current folder."""
    from neardup.outputs.atomic import is_special

    if output is None or output == STDOUT or is_special(output):
        return Path(WORK_NAME)
    path = Path(output)
    if path.name in ("", ".."):
        path = Path(os.path.abspath(path))
    return path.with_name(path.name + WORK_SUFFIX)


def open_run(
    ctx: click.Context,
    reader: Reader,
    spec: Spec,
    search: SearchOptions,
    run: RunOptions,
    *,
    place: Path,
    task: dict[str, Any],
    observer: Stoppable,
) -> Run:
    """Set up a run; nothing is read yet, unless ``--exact auto`` leaves it to the plan how pairs are found.

    Args:
        ctx: of the command.
        reader: the inputs.
        spec: what decides which pairs are found.
        search: what it was made from.
        run: what the run may use, and how it goes on.
        place: where to go when memory gets short and no workdir is named.
        task: what else must be the same when the run is resumed.
        observer: told about progress.

    Raises:
        SpoolError: an interrupted run has left its work in ``place``, and it is not to be resumed.
    """
    from neardup.session import Run
    from neardup.tasks.plan.decision import decide

    if run.workdir is None and run.resume:
        run = replace(run, workdir=place)
    elif run.workdir is None:
        _refuse_left_work(place)
    if search.exact == AUTO and not run.resume and not reader.is_lasting:
        raise click.UsageError("--exact auto reads the inputs twice, and a pipe can be read once. Save it to a file.")
    spec, choice = in_background(ctx, lambda: decide(reader, spec, search, run, observer), observer)
    return Run(reader, spec, run, spill_to=place, task=task, choice=choice, observer=observer)


def plan_run(reader: Reader, spec: Spec, search: SearchOptions, run: RunOptions, observer: Stoppable) -> Plan:
    """The plan for a spec as it is, beside other settings and the exact join."""
    from neardup.tasks.plan.make import make_plan

    return make_plan(reader, spec, run, target=search.recall, observer=observer)


def _refuse_left_work(place: Path) -> None:
    """Say at once, and not when memory gets short, that the work of an interrupted run is there."""
    from neardup.spool import Workdir
    from neardup.spool.manifest import MANIFEST

    if (place / MANIFEST).exists():
        Workdir.create(place, {}).remove()  # raises with the words for what it finds, unless it is gone by now


@contextmanager
def resumable_run(ctx: click.Context, run: Run, outputs: Sequence[str]) -> Iterator[Run]:
    """The run, entered; should it fail, the message at the end tells where its work is and how to go on.

    Where it goes on with an interrupted one, what that had begun to write into the files ``outputs`` is taken away.
    """
    from neardup.outputs.write import remove_leftovers

    with run:
        if run.options.resume:
            for name in outputs:
                remove_leftovers(name)
        if run.reader.is_lasting:
            ctx.meta[WORK] = run.space.path
        yield run
