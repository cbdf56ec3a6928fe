"""How the work behind a command runs: set up from its options, watched, stopped by Ctrl-C at once, and gone on with."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neardup.cli import WORK, interrupted, stop_now
from neardup.cli.options import STDOUT
from neardup.params import AUTO, LOCAL, ClusterOptions, RunOptions, SearchOptions

if TYPE_CHECKING:
    from neardup.engine.observe import Observer
    from neardup.engine.reading.template import Template
    from neardup.inputs.reader import Reader
    from neardup.params import Spec
    from neardup.session import Run
    from neardup.spark.storage import Storage
    from neardup.tasks.repeats.run import PassageRun

GRACE = 2.0
"""Seconds that a stopped search has to come to an end, so that its workdir is closed or removed in order."""

Outcome = TypeVar("Outcome")


class Stoppable:
    """An observer that passes everything on until it is stopped; then it ends the search at its next step.

    ``note_done`` is called at once, before each advance, and when Ctrl-C comes.
    """

    def __init__(self, ctx: click.Context, observer: Observer, note_done: Callable[[], None] = lambda: None) -> None:
        self.ctx = ctx
        self.is_logged = getattr(observer, "is_logged", False)
        """Whether what it passes on goes to the log; then functions of Python log nothing of their own."""
        self._note_done = note_done
        self._observer = observer
        self._stopped = threading.Event()
        note_done()

    def in_background(self, work: Callable[[], Outcome]) -> Outcome:
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
            self.stop()
            try:
                future.exception(timeout=GRACE)
            except (TimeoutError, KeyboardInterrupt):
                stop_now(self.ctx)
            raise

    def stop(self) -> None:
        self._note_done()
        self._stopped.set()

    def stage(self, name: str, total: int | None, unit: str) -> None:
        self._go_on()
        self._observer.stage(name, total, unit)

    def advance(self, amount: int) -> None:
        self._note_done()
        self._go_on()
        self._observer.advance(amount)

    def note(self, message: str) -> None:
        self._observer.note(message)

    def _go_on(self) -> None:
        if self._stopped.is_set():
            raise KeyboardInterrupt


@contextmanager
def stoppable(ctx: click.Context, *, quiet: bool) -> Iterator[Stoppable]:
    """An observer that shows on stderr what is going on, unless ``quiet``; a bar is wiped away at the end."""
    from neardup.progress import observer

    with observer(quiet=quiet) as shown:
        yield Stoppable(ctx, shown)


@contextmanager
def open_run(
    observer: Stoppable,
    reader: Reader,
    spec: Spec,
    search: SearchOptions,
    run: RunOptions,
    *,
    output: str | None,
    task: dict[str, Any],
    files: Sequence[str] = (),
    keep_written: bool = False,
    template: Template | None = None,
    cluster: ClusterOptions | None = None,
) -> Iterator[Run]:
    """The run of a search, entered; should it fail, the message at the end tells where its work is and how to go on.

    Nothing is read yet, unless ``--exact auto`` leaves it to the plan how pairs are found. When memory gets short and
    no workdir is named, work goes to disk beside ``output``; ``task`` is what else must be the same when the run is
    resumed, beside ``keep_written``, which is as for ``Run``, as ``template`` is; ``cluster`` does the work. Where it
    goes on with an interrupted one, what that had begun to write into ``files`` is taken away.
    Raises SpoolError when an interrupted run has left its work there, and it is not to be resumed.
    """
    from neardup.session import Run
    from neardup.tasks.plan.decision import decide

    how: dict[str, Any] = {"task": task, "keep_written": keep_written, "preset": search.used_preset}
    if cluster is not None and cluster.engine != LOCAL:
        from neardup.spark.open import open_cluster_run

        opened = observer.in_background(lambda: open_cluster_run(reader, spec, run, cluster, **how, observer=observer))
        with opened as work:
            note_work(observer.ctx, work, run, files, storage=opened.storage)
            yield work
        return
    place = work_place(output)
    run = placed(run, place)
    if search.exact == AUTO and not run.resume and not reader.is_lasting:
        raise click.UsageError("--exact auto reads the inputs twice, and a pipe can be read once. Save it to a file.")
    spec, choice = observer.in_background(lambda: decide(reader, spec, search, run, observer))
    how |= {"spill_to": place, "choice": choice, "template": template}
    with Run(reader, spec, run, **how, observer=observer) as work:
        note_work(observer.ctx, work, run, files)
        yield work


def note_work(
    ctx: click.Context, work: Run | PassageRun, run: RunOptions, files: Sequence[str], *, storage: Storage | None = None
) -> None:
    """Note where the work of an entered run is, for the message if it fails; a cluster keeps it in ``storage``.

    If the run continues an interrupted one, remove the beginnings of ``files`` that the interrupted run had written.
    """
    from neardup.outputs.write import remove_leftovers
    from neardup.spool.manifest import MANIFEST

    for name in files if run.resume else ():
        remove_leftovers(name)
    path = work.space.path
    if storage is not None:
        ctx.meta[WORK] = run.workdir, storage.has_work
    elif work.reader.is_lasting:
        ctx.meta[WORK] = path, lambda: path is not None and (path / MANIFEST).exists()


def work_place(output: str | None) -> Path:
    """Where work goes to disk when no workdir is named: beside the output, or in the current folder."""
    from neardup.inputs.addresses import is_remote
    from neardup.outputs.atomic import is_special, output_place

    if output is None or output == STDOUT or is_special(output) or is_remote(output := output_place(output)):
        return Path("neardup-work")
    path = Path(output)
    if path.name in ("", ".."):
        path = Path(os.path.abspath(path))
    return path.with_name(f"{path.name}.neardup-work")


def placed(run: RunOptions, place: Path) -> RunOptions:
    """The options of a run whose work goes to ``place`` where no workdir is named; an interrupted one is resumed there.

    SpoolError where an interrupted run has left its work there, and it is not to be resumed.
    """
    if run.workdir is None and run.resume:
        return replace(run, workdir=place)
    if run.workdir is None:
        _refuse_left_work(place)
    return run


def _refuse_left_work(place: Path) -> None:
    """Say at once, and not when memory gets short, that the work of an interrupted run is there."""
    from neardup.spool import Workdir
    from neardup.spool.manifest import MANIFEST

    if (place / MANIFEST).exists():
        Workdir.create(place, {}).remove()  # raises with the words for what it finds, unless it is gone by now
