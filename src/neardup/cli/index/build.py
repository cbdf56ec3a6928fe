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
@shared.voiced
def command(ctx: click.Context, /, *, index: Path, inputs: tuple[Path, ...], voice: shared.Voice, **build: Any) -> None:
    """Make an index of a whole collection.

    INPUT is what `neardup find` reads: folders, JSONL, CSV, TSV, Parquet and Arrow files, text files, also compressed,
    glob patterns, and - for stdin. It is the quick way to what `index create` and `index add` give, and the index
    appears whole or not at all.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup import Index
    from neardup.cli.checks import check_banding

    check_banding(build["slots"], build["bands"])
    begin = time.perf_counter()
    made = shared.watched(
        ctx, lambda watching: Index.build(index, list(inputs), observer=watching, **build), quiet=voice.quiet
    )
    with made:
        info, added, spec = made.info(), made.built, made.spec
    assert added is not None
    shared.Done(info.documents, spec, begin).tell(
        voice,
        {**added.as_dict(), **info.as_dict()},
        shared.added_rows(added),
        shared.added_words(added),
        details=shared.spec_rows(info, verbose=voice.verbose),
        faults=added.faults,
    )
