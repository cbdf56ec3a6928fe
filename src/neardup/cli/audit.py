"""``neardup audit``: the recall and the precision of a search, measured on its own collection."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from neardup.cli import WRITTEN, forms, options, running
from neardup.cli.voice import usage_errors
from neardup.params import DEFAULT_AUDIT, DEFAULT_SEED, InputOptions, RunOptions, SearchOptions


@forms.command("audit", "audit corpus/ -t 0.8", "audit docs.jsonl -t 0.7 --documents 5000 --json --misses missed.csv")
@options.inputs
@options.preset
@options.threshold
@options.number(
    "--documents",
    (1, None),
    default=DEFAULT_AUDIT,
    help="Documents to sample: all near-duplicates of each are found exactly. More make the interval narrower.",
)
@options.number("--sample-seed", (0, None), default=DEFAULT_SEED, help="Seed that chooses which documents are sampled.")
@click.option("--json", is_flag=True, help="Print the audit as one JSON object.")
@click.option(
    "--misses",
    metavar="FILE",
    help="File for the true pairs that were not found: id_a, id_b, similarity; .jsonl, .csv or .parquet.",
)
@options.plot
@options.recall
@options.exact
@options.candidates_by
@options.shingle
@options.normalize
@options.signatures
@options.crowd
@options.reading
@options.working
@options.voices
def audit(
    *,
    ctx: click.Context,
    inputs: tuple[Path, ...],
    documents: int,
    sample_seed: int,
    misses: str | None,
    plot: str | None,
    search: SearchOptions,
    reading: InputOptions,
    run: RunOptions,
    voice: forms.Voice,
) -> None:
    """Measure the recall and the precision of a search on its own collection.

    The search is run as `neardup find` would run it with these options. Then some documents are sampled, all
    their near-duplicates are found exactly in one pass over the texts, and compared with what the search
    found: recall with its interval, in all and by similarity, beside what the promise expects.

    The audit goes to stdout, everything else to stderr. The only pairs written are those of --misses.

    Exit codes: 0 the promise is kept, 1 it is broken or the run failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup import tuning
    from neardup.cli.audit_text import audit_lines
    from neardup.cli.summary import labelled, preset_rows
    from neardup.cli.targets import check_targets
    from neardup.outputs.atomic import AtomicFiles
    from neardup.outputs.write import Output, output_format, write_tables

    if misses == options.STDOUT:
        raise click.UsageError("stdout takes the audit. Give --misses a file.")
    if misses is not None:
        with usage_errors():
            output_format(misses, None)
    files = check_targets(inputs, [misses], glob=reading.glob, plot=plot)
    spec = tuning.make_spec(search)
    from neardup.inputs.reader import open_inputs  # imported after the checks, because these load kernels
    from neardup.tasks.audit.public import audit_search

    with ExitStack() as stack:
        with running.stoppable(ctx, quiet=voice.quiet) as observer:
            reader = open_inputs(list(inputs), reading, item=spec.shingle.kind == "item")
            task = {"command": "audit"}
            opened = running.open_run(observer, reader, spec, search, run, output=misses, task=task, files=files)
            work = stack.enter_context(opened)
            audit = observer.in_background(
                lambda: audit_search(work, work.search(), documents=documents, sample_seed=sample_seed)
            )
        with AtomicFiles() as together:
            if misses is not None:
                write_tables([Output(audit.missed, misses)], spec=work.spec.as_dict(), files=together)
            if plot is not None:
                from neardup.tasks.figures.sheets import plot_audit

                plot_audit(audit, work, plot, together)
        ctx.meta[WRITTEN] = files
    lines = [*audit_lines(audit, files=files, is_alone=True), *labelled(preset_rows(search.used_preset))]
    voice.answer({**audit.as_dict(), **forms.preset_facts(search)}, lines)
    if audit.is_broken:
        ctx.exit(1)
