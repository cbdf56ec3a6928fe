"""``neardup index build``: an index of a whole collection."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from neardup.cli import options
from neardup.cli.index import shared

__all__ = ["command"]


@click.command(
    "build",
    epilog="\b\nExamples:\n"
    "  neardup index build papers.index papers.jsonl.gz -t 0.7\n"
    "  neardup index build pages.index pages/*.parquet --text body --id url --on-duplicate replace",
)
@shared.index_path
@options.inputs
@shared.making
@options.reading
@shared.on_duplicate
@options.threads
@shared.json_answer
@options.voices
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    index: Path,
    inputs: tuple[Path, ...],
    json: bool,
    quiet: bool,
    verbose: bool,
    **build: Any,
) -> None:
    """Make an index of a whole collection.

    INPUT is what `neardup find` reads: folders, JSONL, CSV, TSV, Parquet and Arrow files, text files, also compressed,
    glob patterns, and - for stdin. It is the quick way to what `index create` and `index add` give, and the index
    appears whole or not at all.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup import Index
    from neardup.cli import run_setup
    from neardup.cli.checks import check_banding, check_voices
    from neardup.cli.progress import observer

    check_voices(quiet=quiet, verbose=verbose)
    check_banding(build["slots"], build["bands"])
    begin = time.perf_counter()
    with observer(quiet=quiet) as watching:
        stoppable = run_setup.Stoppable(watching)
        held = run_setup.in_background(
            ctx, lambda: Index.build(index, list(inputs), observer=stoppable, **build), stoppable
        )
    with held:
        info, added = held.info(), held.built
    assert added is not None
    seconds = time.perf_counter() - begin
    rows = [
        *shared.added_rows(added, documents=info.documents, seconds=seconds),
        *shared.spec_rows(info, verbose=verbose),
    ]
    shared.tell(
        {**added.as_dict(), **info.as_dict(), "seconds": round(seconds, 4)},
        rows,
        shared.added_words(added, documents=info.documents, seconds=seconds, spec_id=info.spec_id),
        json=json,
        quiet=quiet,
        faults=added.faults,
    )
