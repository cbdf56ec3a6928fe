"""``neardup audit``: the recall and the precision of a search, measured on its own collection.

Here: the options and the order of events. The audit is made by ``neardup.tasks.audit``, its text in ``audit_text``.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import WRITTEN, options
from neardup.cli.options import Checked
from neardup.cli.voice import print_json, say
from neardup.errors import InputError
from neardup.params import DEFAULT_AUDIT, DEFAULT_SEED

if TYPE_CHECKING:
    from neardup.tasks.audit.outcome import Audit

__all__ = ["command"]

BROKEN = 1
"""Exit code where the promise is broken."""


def _documents(value: Any) -> int:
    return _number(value, "documents", least=1)


def _sample_seed(value: Any) -> int:
    return _number(value, "sample-seed", least=0)


def _number(value: Any, name: str, *, least: int) -> int:
    text = str(value).strip()
    if not text.isdecimal() or not least <= int(text) < 2**63:
        raise InputError(f"{name} is {value}. Give a whole number of {least} or more.")
    return int(text)


@click.command(
    "audit",
    cls=options.ExactCommand,
    epilog="\b\nExamples:\n"
    "  neardup audit corpus/ -t 0.8\n"
    "  neardup audit docs.jsonl -t 0.7 --documents 5000 --json --misses missed.csv",
)
@options.inputs
@options.threshold
@click.option(
    "--documents",
    type=Checked("number", _documents),
    metavar="N",
    default=DEFAULT_AUDIT,
    show_default=True,
    help="Documents to draw: all near-duplicates of each are found exactly. More make the interval narrower.",
)
@click.option(
    "--sample-seed",
    type=Checked("number", _sample_seed),
    metavar="N",
    default=DEFAULT_SEED,
    show_default=True,
    help="Which documents are drawn.",
)
@click.option("--json", is_flag=True, help="Print the audit as one JSON object.")
@click.option(
    "--misses",
    metavar="FILE",
    help="File for the true pairs that were not found: id_a, id_b, similarity; .jsonl, .csv or .parquet.",
)
@options.plot
@options.recall
@options.exact
@options.shingle
@options.normalize
@options.signatures
@options.crowd
@options.reading
@options.working
@options.voices
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    inputs: tuple[Path, ...],
    documents: int,
    sample_seed: int,
    json: bool,
    misses: str | None,
    plot: str | None,
    quiet: bool,
    verbose: bool,
    **search: Any,
) -> None:
    """Measure the recall and the precision of a search on its own collection.

    The search is run as `neardup find` would run it with these options. Then some documents are drawn, all
    their near-duplicates are found exactly in one pass over the texts, and what the search found is held
    against them: recall with its interval, in all and by similarity, beside what the promise expects.

    The audit goes to stdout, everything else to stderr. No pairs are written but those that --misses asks for.

    Exit codes: 0 the promise is kept, 1 it is broken or the run failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup.cli.audit_text import audit_lines
    from neardup.cli.checks import check_banding, check_exact, check_voices, stdout_errors

    check_voices(quiet=quiet, verbose=verbose)
    check_banding(search["slots"], search["bands"])
    check_exact(search)
    files = _targets(inputs, misses, plot, search["glob"])
    sample = {"documents": documents, "sample_seed": sample_seed}
    audit = _run(ctx, inputs, search, misses, plot, **sample, quiet=quiet)
    with stdout_errors():
        if json:
            print_json(audit.as_dict())
        else:
            say(*audit_lines(audit, files=files, is_alone=True), err=False)
    if audit.is_broken:
        ctx.exit(BROKEN)


def _targets(inputs: tuple[Path, ...], misses: str | None, plot: str | None, glob: str | None) -> list[str]:
    """The files to be written, refused at once where that could not be done."""
    from neardup.cli.targets import check_collisions, check_files
    from neardup.cli.working import STDOUT, check_plot
    from neardup.outputs.write import output_format

    if misses == STDOUT:
        raise click.UsageError("stdout takes the audit. Give --misses a file.")
    files = [name for name in (misses, plot) if name is not None]
    try:
        if misses is not None:
            output_format(misses, None)
        if plot is not None:
            check_plot(plot)
        check_collisions(inputs, files, glob=glob)
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc
    check_files(files)
    return files


def _run(
    ctx: click.Context,
    inputs: tuple[Path, ...],
    search: dict[str, Any],
    misses: str | None,
    plot: str | None,
    *,
    documents: int,
    sample_seed: int,
    quiet: bool,
) -> Audit:
    from neardup.cli import working
    from neardup.cli.progress import observer
    from neardup.inputs.reader import open_inputs
    from neardup.outputs.atomic import AtomicFiles
    from neardup.outputs.write import Output, write_tables
    from neardup.tasks.audit.audit import audit_search

    spec = working.make_spec(search)
    files = [name for name in (misses, plot) if name is not None]
    with ExitStack() as stack:
        with observer(quiet=quiet) as watching:
            stoppable = working.Stoppable(watching)
            reader = open_inputs(list(inputs), **working.reading(search, spec))
            place = working.work_place(misses)
            spec, choice = working.decided(ctx, reader, spec, search, place=place, observer=stoppable)
            run = working.open_run(reader, spec, search, place=place, task={"command": "audit"}, observer=stoppable)
            run.choice = choice
            stack.enter_context(working.resumable_run(ctx, run, files))
            audit = working.in_background(
                ctx,
                lambda: audit_search(run, run.search(), documents=documents, sample_seed=sample_seed),
                stoppable,
            )
        with AtomicFiles() as together:
            if misses is not None:
                write_tables([Output(audit.missed, misses)], spec=spec.as_dict(), files=together)
            if plot is not None:
                from neardup.tasks.figures.sheets import plot_audit

                plot_audit(audit, run, plot, together)
        ctx.meta[WRITTEN] = files
    return audit
