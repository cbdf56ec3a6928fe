"""The run behind a command: set up from its options, ended by Ctrl-C at once, and what it leaves to go on from.

Here: ``open_run``, ``resumable_run``, ``in_background``, ``work_place``. What a run does is in ``neardup.session``;
what a command does with it is in the module of the command.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neardup.cli import WORK, interrupted, stop_now
from neardup.errors import InputError
from neardup.params import DEFAULT_MEASURE, DEFAULT_VERIFY

if TYPE_CHECKING:
    from neardup.cli.progress import Watching
    from neardup.inputs.reader import Reader
    from neardup.params import Spec
    from neardup.session import Run

__all__ = [
    "READING",
    "STDOUT",
    "Stoppable",
    "check_plot",
    "decided",
    "in_background",
    "make_spec",
    "open_run",
    "reading",
    "resumable_run",
    "work_place",
]

STDOUT = "-"
WORK_SUFFIX = ".neardup-work"
WORK_NAME = "neardup-work"
GRACE = 2.0
"""Seconds that a stopped search has to come to an end, so that its workdir is closed or removed in order."""

_SPEC = (
    "threshold", "recall", "shingle", "normalize", "sketch", "slots", "bands", "seed", "crowd",
)  # fmt: skip
READING = ("text", "id", "glob", "encoding", "boilerplate", "on_bad", "input_format")

Outcome = TypeVar("Outcome")


class Stoppable:
    """An observer that passes everything on until it is stopped; then it ends the search at its next step."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End the search at its next step."""
        self._stopped.set()

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """See Watching."""
        self._go_on()
        self._watching.stage(name, total, unit)

    def advance(self, amount: int) -> None:
        """See Watching."""
        self._go_on()
        self._watching.advance(amount)

    def note(self, message: str) -> None:
        """See Watching."""
        self._watching.note(message)

    def _go_on(self) -> None:
        if self._stopped.is_set():
            raise KeyboardInterrupt


def make_spec(options: Mapping[str, Any]) -> Spec:
    """The spec that the options of a command ask for; banding where the plan is to decide."""
    from neardup import tuning

    return tuning.make_spec(
        **{name: options[name] for name in _SPEC},
        collapse_exact=options.get("collapse_exact", False),
        exact=options.get("exact") == "yes" or bool(options.get("against")),
        measure=options.get("measure", DEFAULT_MEASURE),
        verify=options.get("verify", DEFAULT_VERIFY),
    )


def reading(options: Mapping[str, Any], spec: Spec) -> dict[str, Any]:
    """How inputs are opened: arguments of ``open_inputs``."""
    how = {name: options[name] for name in READING}
    return {**how, "block": options["block_size"], "item": spec.shingle.kind == "item"}


def decided(
    ctx: click.Context,
    reader: Reader,
    spec: Spec,
    options: Mapping[str, Any],
    *,
    place: Path,
    observer: Stoppable,
) -> tuple[Spec, str | None]:
    """The spec, and why, where ``--exact auto`` leaves it to the plan; an interrupted run goes on as it began."""
    if options["exact"] != "auto" or options.get("against"):
        return spec, None
    from neardup.session import check_threads
    from neardup.tasks.plan.decision import decide

    if options["resume"]:
        from neardup.spool.manifest import Manifest
        from neardup.tuning import as_exact

        begun = Manifest.read(options["workdir"] or place).identity["spec"]
        return as_exact(spec) if begun.get("exact", False) else spec, "as it was begun"
    if not reader.is_lasting:
        raise click.UsageError("--exact auto reads the inputs twice, and a pipe can be read once. Save it to a file.")
    threads = check_threads(options["threads"])
    reading = {"threads": threads, "memory": options["memory"], "observer": observer}
    return in_background(ctx, lambda: decide(reader, spec, target=options["recall"], **reading), observer)


def check_plot(target: str) -> None:
    """Say before the work whether a figure could be drawn and has a name that it can be written under.

    Raises:
        InputError, MissingDependency: it could not.
    """
    from neardup.tasks.figures.style import check_matplotlib, check_suffix

    if target == STDOUT:
        raise InputError("a figure cannot go to stdout. Give a name that ends in .png, .svg or .pdf.")
    check_suffix(target)
    check_matplotlib()


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
    reader: Reader,
    spec: Spec,
    options: Mapping[str, Any],
    *,
    place: Path,
    task: dict[str, Any],
    observer: Stoppable,
) -> Run:
    """Set up a run; nothing is read yet.

    Args:
        reader: the inputs.
        spec: what decides which pairs are found.
        options: threads, memory, workdir and resume, as given.
        place: where to go when memory gets short and no workdir is named.
        task: what else must be the same when the run is resumed.
        observer: told about progress.

    Raises:
        SpoolError: an interrupted run has left its work in ``place``, and it is not to be resumed.
    """
    from neardup.session import Run, check_threads

    workdir, resume = options["workdir"], options["resume"]
    if workdir is None and not resume:
        _refuse_left_work(place)
    return Run(
        reader,
        spec,
        check_threads(options["threads"]),
        options["memory"],
        place if workdir is None and resume else workdir,
        spill_to=place,
        resume=resume,
        task=task,
        observer=observer,
    )


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
        if run.resume:
            for name in outputs:
                remove_leftovers(name)
        if run.reader.is_lasting:
            ctx.meta[WORK] = run.space.path
        yield run


def in_background(ctx: click.Context, work: Callable[[], Outcome], stoppable: Stoppable) -> Outcome:
    """Do ``work`` in a thread and wait for it, so that this thread is free to hear Ctrl-C at once.

    A compiled kernel or a pool of threads would keep the main thread from seeing the signal until it returns. After
    Ctrl-C the work has a moment to end; then the process does, and the workdir is as of its last checkpoint.
    """
    from concurrent.futures import Future

    if interrupted.is_set():
        raise KeyboardInterrupt  # it came while a library was being imported, which did not pass it on
    future: Future[Outcome] = Future()

    def do() -> None:
        try:
            future.set_result(work())
        except BaseException as exc:
            future.set_exception(exc)

    threading.Thread(target=do, name="neardup-work", daemon=True).start()
    try:
        return future.result()
    except KeyboardInterrupt:
        stoppable.stop()
        try:
            future.exception(timeout=GRACE)
        except (TimeoutError, KeyboardInterrupt):
            stop_now(ctx)
        raise
