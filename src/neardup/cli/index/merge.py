"""``neardup index merge``: the documents of other indexes added to one."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neardup.cli import options
from neardup.cli.forms import Voice, with_forms
from neardup.cli.index import shared

if TYPE_CHECKING:
    from neardup.cli.stopping import Stoppable

__all__ = ["command"]


@click.command(
    "merge",
    epilog="\b\nExamples:\n"
    "  neardup index merge all.index monday.index tuesday.index\n"
    "  neardup index merge all.index newest.index --on-duplicate replace",
)
@shared.index_path
@click.argument("others", metavar="OTHER…", nargs=-1, required=True, type=click.Path(path_type=Path))
@shared.on_duplicate
@shared.json_answer
@options.voices
@click.pass_context
@with_forms
def command(ctx: click.Context, /, *, index: Path, others: tuple[Path, ...], on_duplicate: str, voice: Voice) -> None:
    """Add all documents of OTHER indexes to INDEX, one index after the other; the others stay as they are.

    All must have been made for the same: threshold, shingles, normalisation, bands and seed. Near-duplicates are not
    looked for: `neardup index pairs` finds them afterwards.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; the indexes that were added before a failure
    stay added.
    """
    from neardup import Added, Index

    _check_distinct(index, others)
    begin = time.perf_counter()
    with Index.open(index, read_only=False) as held:

        def work(watching: Stoppable) -> Added:
            total = Added()
            for path in others:
                watching.advance(0)  # after Ctrl-C the next one is not begun
                total += held.merge(path, on_duplicate=on_duplicate)
            return total

        added = shared.watched(ctx, work, adding_to=held)
        info, spec = held.info(), held.spec
    shared.Done(info.documents, spec, begin).tell(
        voice,
        added.as_dict(),
        shared.added_rows(added),
        shared.added_words(added),
        details=shared.spec_rows(info, verbose=True) if voice.verbose else [],
    )


def _check_distinct(index: Path, others: tuple[Path, ...]) -> None:
    """Refuse an index that is named twice: its documents would meet themselves."""
    seen = {os.path.realpath(index)}
    for path in others:
        real = os.path.realpath(path)
        if real in seen:
            raise click.UsageError(f"{click.format_filename(path)} is named twice. Give each index once.")
        seen.add(real)
