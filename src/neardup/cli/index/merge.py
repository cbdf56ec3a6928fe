"""``neardup index merge``: the documents of other indexes added to one."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import options
from neardup.cli.index import shared

if TYPE_CHECKING:
    from neardup.cli.run_setup import Stoppable
    from neardup.index.model import Added

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
def command(
    ctx: click.Context,
    /,
    *,
    index: Path,
    others: tuple[Path, ...],
    on_duplicate: str,
    json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Add all documents of OTHER indexes to INDEX, one index after the other; the others stay as they are.

    All must have been made for the same: threshold, shingles, normalisation, bands and seed. Near-duplicates are not
    looked for: `neardup index pairs` finds them afterwards.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; the indexes that were added before a failure
    stay added.
    """
    from neardup import Index
    from neardup.cli.checks import check_voices
    from neardup.engine.observe import Silent

    check_voices(quiet=quiet, verbose=verbose)
    _check_distinct(index, others)
    begin = time.perf_counter()
    with Index.open(index, read_only=False) as held:
        stoppable = shared.Counting(Silent(), ctx, held)
        parts = []
        for path in others:
            with Index.open(path, read_only=True) as other:
                parts.append(_merged(ctx, held, other, on_duplicate, stoppable))
        info = held.info()
    added = sum(parts[1:], parts[0])
    seconds = time.perf_counter() - begin
    rows = [
        *shared.added_rows(added, documents=info.documents, seconds=seconds),
        *(shared.spec_rows(info, verbose=True) if verbose else []),
    ]
    shared.tell(
        {**added.as_dict(), "documents": info.documents, "seconds": round(seconds, 4), "spec_id": info.spec_id},
        rows,
        shared.added_words(added, documents=info.documents, seconds=seconds, spec_id=info.spec_id),
        json=json,
        quiet=quiet,
    )


def _check_distinct(index: Path, others: tuple[Path, ...]) -> None:
    """Refuse an index that is named twice: its documents would meet themselves."""
    seen = {os.path.realpath(index)}
    for path in others:
        real = os.path.realpath(path)
        if real in seen:
            raise click.UsageError(f"{click.format_filename(path)} is named twice. Give each index once.")
        seen.add(real)


def _merged(ctx: click.Context, held: Any, other: Any, on_duplicate: str, stoppable: Stoppable) -> Added:
    from neardup.cli import run_setup

    added: Added = run_setup.in_background(ctx, lambda: held.merge(other, on_duplicate=on_duplicate), stoppable)
    return added
