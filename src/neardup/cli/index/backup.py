"""``neardup index backup``: a copy of an index, made while it is in use."""

from __future__ import annotations

import time
from pathlib import Path

import click

from neardup.cli import options
from neardup.cli.index import shared

__all__ = ["command"]


@click.command(
    "backup",
    epilog="\b\nExamples:\n"
    "  neardup index backup papers.index /backups/papers.index\n"
    "  neardup index backup papers.index /backups/papers.index --replace --json",
)
@shared.index_path
@click.argument("target", metavar="TARGET", type=click.Path(path_type=Path))
@click.option(
    "--replace",
    is_flag=True,
    help="Replace the index that is at TARGET, when the copy is whole. Anything else is never replaced.",
)
@shared.json_answer
@options.voices
@click.pass_context
@shared.voiced
def command(ctx: click.Context, /, *, index: Path, target: Path, replace: bool, voice: shared.Voice) -> None:
    """Copy an index to the folder TARGET, as of one moment.

    The index may be in use meanwhile: others add to it, remove, compact, serve it, and need not wait. The copy holds
    what one of their changes left, all of it and nothing more, and is an index of its own. It is read in full once
    while it is made, and gets its name when it is whole and on the disk: a command that is stopped or killed leaves
    nothing that opens, and the next one cleans up after it.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup import Index
    from neardup.cli.summary import counted, duration, megabytes

    begin = time.perf_counter()
    with Index.open(index, read_only=True) as held:
        info = shared.watched(
            ctx, lambda watching: held.backup(target, replace=replace, observer=watching), quiet=voice.quiet
        )
    seconds = time.perf_counter() - begin
    shown = click.format_filename(target)
    rows = [
        ("copied", f"{counted(info.documents, 'document')}, as of change {info.generation:,}"),
        ("to", shown),
        ("size", megabytes(info.total_bytes)),
        ("time", duration(seconds)),
        *(shared.spec_rows(info, verbose=True) if voice.verbose else []),
    ]
    shared.tell(
        voice,
        {**info.as_dict(), "seconds": round(seconds, 4)},
        rows,
        [f"{shown} made", counted(info.documents, "document"), duration(seconds), f"spec {info.spec_id}"],
    )
