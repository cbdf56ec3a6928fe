"""``neardup index compact``: the room of removed documents given back."""

from __future__ import annotations

import time
from pathlib import Path

import click

from neardup.cli import options
from neardup.cli.index import shared

__all__ = ["command"]


@click.command(
    "compact",
    epilog="\b\nExamples:\n"
    "  neardup index compact papers.index\n"
    "  neardup index compact papers.index --json | grep total_bytes",
)
@shared.index_path
@shared.json_answer
@options.voices
@click.pass_context
@shared.voiced
def command(ctx: click.Context, /, *, index: Path, voice: shared.Voice) -> None:
    """Give back the room that removed documents take, and put all postings into one file.

    Nothing else changes: queries give what they gave, a little faster. Readers go on meanwhile. An index keeps itself
    tidy while it is written to; this is for the end of a large change, or before it is copied elsewhere.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup import Index
    from neardup.cli.summary import counted, duration, megabytes

    begin = time.perf_counter()
    with Index.open(index, read_only=False) as held:
        before = held.info()
        shared.watched(ctx, lambda _: held.compact())
        after = held.info()
    seconds = time.perf_counter() - begin
    sizes = f"{megabytes(after.total_bytes)}, before {megabytes(before.total_bytes)}"
    rows = [
        ("documents", f"{after.documents:,}"),
        ("segments", f"{after.segments:,}, before {before.segments:,}"),
        ("size", sizes),
        *([("spec", after.spec_id)] if voice.verbose else []),
    ]
    closing = [counted(after.documents, "document"), sizes, duration(seconds), f"spec {after.spec_id}"]
    summary = {**after.as_dict(), "before": before.as_dict(), "seconds": round(seconds, 4)}
    shared.tell(voice, summary, rows, closing)
