"""``neardup index create``: an empty index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neardup.cli import options
from neardup.cli.index import shared

__all__ = ["command"]


@click.command(
    "create",
    epilog="\b\nExamples:\n"
    "  neardup index create papers.index\n"
    "  neardup index create tweets.index --shingle word:2 -t 0.6",
)
@shared.index_path
@shared.making
@shared.json_answer
@options.voices
@shared.voiced
def command(*, index: Path, voice: shared.Voice, **spec: Any) -> None:
    """Make an empty index.

    INDEX is a folder that is made. Threshold, recall, shingles and the rest are fixed for its life: every document
    that is added and every query is worked on alike.

    Exit codes: 0 done, 1 failed, 2 wrong usage.
    """
    from neardup import Index
    from neardup.cli.checks import check_banding

    check_banding(spec["slots"], spec["bands"])
    with Index.create(index, **spec) as made:
        info = made.info()
    shown = click.format_filename(index)
    rows = [("made", shown), *shared.spec_rows(info, verbose=voice.verbose)]
    shared.tell(voice, info.as_dict(), rows, [f"{shown} made", "0 documents", f"spec {info.spec_id}"])
