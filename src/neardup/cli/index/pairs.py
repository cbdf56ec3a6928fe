"""``neardup index pairs``: the near-duplicates inside an index."""

from __future__ import annotations

import json as jsonlib
import time
from pathlib import Path
from typing import Any

import click

from neardup.cli import options
from neardup.cli.index import shared, tables

__all__ = ["command"]


@click.command(
    "pairs",
    epilog="\b\nExamples:\n"
    "  neardup index pairs papers.index -o pairs.parquet\n"
    "  neardup index pairs papers.index -o pairs.csv --clusters clusters.csv --link connected",
)
@shared.index_path
@options.output
@options.clusters
@options.output_format
@options.json_summary
@options.link
@options.threads
@options.memory
@options.voices
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    index: Path,
    output: str | None,
    clusters: str | None,
    format: str | None,
    json: bool,
    quiet: bool,
    verbose: bool,
    **search: Any,
) -> None:
    """Find the near-duplicate pairs inside an index, and their clusters.

    What `neardup find` gives for the documents of the index, in the order in which they were added: pairs (id_a, id_b,
    similarity) on stdout or in the file that -o names. Works beside a command that is changing the index, on the
    documents that are there when it begins.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup import Index
    from neardup.cli import working
    from neardup.cli.find import check_voices, stdout_errors
    from neardup.cli.progress import observer
    from neardup.cli.summary import closing_line, summary_lines, with_writing

    check_voices(quiet=quiet, verbose=verbose)
    targets = tables.choose_targets(index, (), output, format, json=json, clusters=clusters)
    with Index.open(index, read_only=True, threads=search["threads"]) as held, observer(quiet=quiet) as watching:
        stoppable = working.Stoppable(watching)
        found = working.in_background(ctx, lambda: held.find(observer=stoppable, **search), stoppable)
    begin = time.perf_counter()
    written = zip([found.pairs, found.clusters], targets, strict=True)
    files = tables.write(ctx, written, spec=found.spec.as_dict(), threshold=found.spec.threshold)
    summary = with_writing(found.summary.as_dict(), time.perf_counter() - begin)
    if json:
        with stdout_errors():
            click.echo(jsonlib.dumps(summary, ensure_ascii=False, indent=2))
    if quiet:
        return
    if not json:
        crowds = found.crowds.to_pylist()
        lines = summary_lines(summary, crowds=crowds, faults=found.faults, files=files, verbose=verbose)
        click.echo("\n".join(lines), err=True)
    click.echo(closing_line(summary), err=True)
