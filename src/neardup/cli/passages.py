"""``neardup passages``: what is repeated inside documents, and the collection without it.

What is found and cut is in ``neardup.tasks.passages``.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import click

from neardup.cli import WRITTEN, forms, options, running
from neardup.cli.options import STDOUT
from neardup.params import InputOptions, RunOptions

MIN_BYTES = 100
"""As ``neardup.passages`` has it; written here so that the help loads no numpy."""


@forms.command(
    "passages",
    "passages docs.jsonl -o spans.jsonl",
    "passages crawl/ --min-bytes 200 -o spans.parquet --memory 4GB",
)
@options.inputs
@options.defaulted(
    "--min-bytes",
    type=options.whole("min-bytes", 16, 1 << 16),
    metavar="N",
    default=MIN_BYTES,
    help="Bytes of the shortest passage, in UTF-8: 100 are about 17 English words, or 33 Chinese characters.",
)
@click.option(
    "--output",
    "-o",
    metavar="OUTPUT",
    help="File for the table of spans; .jsonl, .csv, .parquet or .xlsx; - is stdout.  [default: none is written]",
)
@options.json_summary
@options.reading
@options.together(options.threads, options.memory, options.workdir)
@options.voices
def passages(
    *,
    ctx: click.Context,
    inputs: tuple[Path, ...],
    min_bytes: int,
    output: str | None,
    reading: InputOptions,
    run: RunOptions,
    voice: forms.Voice,
) -> None:
    """Find the passages that stand at two or more places of a collection.

    A passage is a stretch of at least --min-bytes bytes inside one document. All that repeat are found, and compared
    byte for byte: in one document or in several, whatever stands around them. Which place is the first goes by the
    order of the input.

    INPUT is as for neardup find. The table has one row for each span: id, start and end (characters; bytes too), an
    earlier place of the same text, how often it stands, in how many documents, and whether it is the first.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; a run that fails or is stopped leaves
    no half-written output.
    """
    from neardup.cli.passages_text import WARNING, passage_closing, passage_lines
    from neardup.cli.targets import Target, check_targets, write_targets
    from neardup.cli.voice import usage_errors
    from neardup.outputs.atomic import AtomicFiles
    from neardup.outputs.write import output_format

    if output == STDOUT and voice.json:
        raise click.UsageError("stdout can take one thing only. Give a file with -o.")
    with usage_errors():
        table = Target(output, output and output_format(output, None))
    files = check_targets(inputs, table.files, glob=reading.glob)
    from neardup.inputs.reader import open_inputs  # these not before the checks: they load numba
    from neardup.tasks.passages.overview import losers, top_passages
    from neardup.tasks.passages.run import PassageRun

    begin = time.perf_counter()
    with ExitStack() as stack:
        with running.stoppable(ctx, quiet=voice.quiet) as observer:
            reader = open_inputs(list(inputs), reading)
            work = stack.enter_context(PassageRun(reader, min_bytes, run, observer))
            observer.in_background(work.find)
        spec = {"command": "passages", "min_bytes": min_bytes}
        together = AtomicFiles()
        try:
            with together:
                written = [(work.spans(), table)] if table.name is not None else []
                write_targets(written, together, spec=spec, threshold=1.0)
        finally:
            ctx.meta[WRITTEN] = files if together.are_named else []
        summary = {
            **work.summary().as_dict(),
            "blank": work.provenance.blank,
            "passed_over": [asdict(each) for each in reader.passed_over],
            "columns": [asdict(each) for each in reader.columns],
            "top_passages": top_passages(work),
            "most_repeated": losers(work, "first"),
            "seconds": round(time.perf_counter() - begin, 4),
        }
    lines = passage_lines(summary, faults=work.provenance.faults)
    voice.tell(summary, lines, passage_closing(summary, files), alarm=WARNING)
