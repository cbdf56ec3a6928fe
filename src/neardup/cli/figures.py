"""``neardup figures``: pictures of what the method does on a collection.

Here: the order of events of the command. What is drawn, and how it looks, is in ``neardup.tasks.figures``.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from neardup.cli import WRITTEN, options
from neardup.cli.checks import check_banding, check_voices, stdout_errors
from neardup.cli.voice import print_names, say

__all__ = ["FIGURE_FORMATS", "FIGURE_NAMES", "command"]

FIGURE_NAMES = ("s-curves", "recall", "bands", "similarities", "clusters")
FIGURE_FORMATS = ("png", "svg", "pdf")


@click.command(
    "figures",
    epilog="\b\nExamples:\n"
    "  neardup figures docs.jsonl -o figures\n"
    "  neardup figures corpus/ -t 0.7 -o figures --format svg --only s-curves --only bands",
)
@options.inputs
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Folder for the figures; made when it is not there. A file of the same name is replaced.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(FIGURE_FORMATS),
    help="Format of the files; may be given more than once.  [default: png]",
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(FIGURE_NAMES),
    metavar="NAME",
    help=f"Draw this figure only; may be given more than once: {', '.join(FIGURE_NAMES)}.  [default: all]",
)
@options.threshold
@options.recall
@options.shingle
@options.normalize
@options.crowd
@options.reading
@options.signatures
@options.working
@options.voices
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    inputs: tuple[Path, ...],
    output: str,
    formats: tuple[str, ...],
    only: tuple[str, ...],
    quiet: bool,
    verbose: bool,
    **search: Any,
) -> None:
    """Draw what the method does on a collection: five figures, each in a file of its own.

    s-curves (which pairs the bands make candidates), recall (found against true pairs), bands (what each further band
    brings), similarities (of the pairs found) and clusters (their sizes).

    INPUT and the options of the search are those of `neardup find`. The names of the files written go to stdout.
    Needs matplotlib: pip install 'neardup[plot]'.
    """
    check_voices(quiet=quiet, verbose=verbose)
    check_banding(search["slots"], search["bands"])
    begin = time.perf_counter()
    written = _run(ctx, inputs, search, output, names=only, formats=formats or ("png",), quiet=quiet)
    with stdout_errors():
        print_names(written)
    if not quiet:
        _tell(len(written), output, time.perf_counter() - begin)


def _run(
    ctx: click.Context,
    inputs: tuple[Path, ...],
    search: dict[str, Any],
    output: str,
    *,
    names: tuple[str, ...],
    formats: tuple[str, ...],
    quiet: bool,
) -> list[str]:
    """Search, draw and write; the names of the files are kept for the message on Ctrl-C as they are complete."""
    from neardup.cli import working
    from neardup.cli.index.shared import left_out
    from neardup.cli.progress import observer
    from neardup.cli.summary import labelled
    from neardup.inputs.reader import open_inputs
    from neardup.tasks.figures import sheets
    from neardup.tasks.figures.style import check_matplotlib

    check_matplotlib()
    spec = working.make_spec(search)
    reader = open_inputs(list(inputs), **working.reading(search, spec))
    folder = sheets.make_folder(output)
    written: list[str] = []
    ctx.meta[WRITTEN] = written
    with observer(quiet=quiet) as watching:
        stoppable = working.Stoppable(watching)
        run = working.open_run(
            reader,
            spec,
            search,
            place=working.work_place(output),
            task={"command": "figures"},
            observer=stoppable,
        )

        def work() -> None:
            written.extend(sheets.write(run, folder, names=names, formats=formats))

        with working.resumable_run(ctx, run, ()):
            working.in_background(ctx, work, stoppable)
    if not quiet:
        say(*labelled(left_out(run.ledger.bad, run.ledger.blank, reader.passed_over)))
    return written


def _tell(files: int, output: str, seconds: float) -> None:
    from neardup.cli.summary import counted, duration

    say(f"neardup: {counted(files, 'file')} in {output}, {duration(seconds)}")
