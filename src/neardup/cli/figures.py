"""``neardup figures``: pictures of what the method does on a collection."""

from __future__ import annotations

import time
from pathlib import Path

import click

from neardup.cli import WRITTEN, forms, options, running
from neardup.cli.voice import print_names, say, stdout_errors
from neardup.params import InputOptions, RunOptions, SearchOptions
from neardup.shown import counted, duration

FIGURE_NAMES = ("s-curves", "recall", "bands", "similarities", "clusters", "rates", "candidates", "hashes", "scaling")
FIGURE_FORMATS = ("png", "svg", "pdf")


@forms.command(
    "figures",
    "figures docs.jsonl",
    "figures corpus/ -t 0.7 -o figures --format svg --only s-curves --only bands",
)
@options.inputs
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False),
    metavar="DIR",
    default="figures",
    show_default=True,
    help="Folder for the figures, made if it does not exist. A file of the same name is replaced.",
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
@options.preset
@options.threshold
@options.recall
@options.shingle
@options.normalize
@options.crowd
@options.reading
@options.signatures
@options.working
@options.voices
def figures(
    *,
    ctx: click.Context,
    inputs: tuple[Path, ...],
    output: str,
    formats: tuple[str, ...],
    only: tuple[str, ...],
    search: SearchOptions,
    reading: InputOptions,
    run: RunOptions,
    voice: forms.Voice,
) -> None:
    """Draw figures of the method on your own documents, each in a file of its own with its numbers as CSV.

    s-curves (which pairs become candidates), recall (found pairs, of the true ones), bands (what each further band
    adds), similarities (of the pairs found), clusters (their sizes), rates (true pairs found, by threshold),
    candidates (by the number of bands that 100 hashes are cut into), hashes (how evenly they spread the shingles) and
    scaling (time by the number of documents, with the deterministic ways). The last four use at most 5,000 documents.

    INPUT and the options of the search are those of `neardup find`. The names of the files written go to stdout.
    Needs matplotlib: pip install 'neardup[plot]'.
    """
    from neardup import tuning
    from neardup.cli.summary import labelled, left_out, preset_rows
    from neardup.drawing.style import check_matplotlib
    from neardup.inputs.reader import open_inputs
    from neardup.tasks.figures import sheets

    begin = time.perf_counter()
    check_matplotlib()
    spec = tuning.make_spec(search)
    reader = open_inputs(list(inputs), reading, item=spec.shingle.kind == "item")
    written: list[str] = []
    ctx.meta[WRITTEN] = written  # as they are complete, for the message on Ctrl-C
    with running.stoppable(ctx, quiet=voice.quiet) as observer:
        task = {"command": "figures"}
        with running.open_run(observer, reader, spec, search, run, output=output, task=task) as work:
            drawn = sheets.write(work, sheets.make_folder(output), names=only, formats=formats or ("png",))
            observer.in_background(lambda: written.extend(drawn))
    if not voice.quiet:
        rows = left_out(work.provenance.bad, work.provenance.blank, reader.passed_over, reader.columns)
        say(*labelled([*rows, *preset_rows(search.used_preset)]))
    with stdout_errors():
        print_names(written)
    if not voice.quiet:
        say(f"neardup: {counted(len(written), 'file')} in {output}, {duration(time.perf_counter() - begin)}")
