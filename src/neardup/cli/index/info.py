"""``neardup index info``: what an index is and holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neardup.cli import options
from neardup.cli.index import shared
from neardup.cli.voice import print_json, say

if TYPE_CHECKING:
    from neardup.index.outcomes import IndexInfo

__all__ = ["command"]


@click.command(
    "info",
    epilog="\b\nExamples:\n  neardup index info papers.index\n  neardup index info papers.index --json",
)
@shared.index_path
@shared.json_answer
@options.voices
@shared.voiced
def command(*, index: Path, voice: shared.Voice) -> None:
    """Say what an index is and holds: documents, threshold, recall, shingles, files and their sizes.

    The answer goes to stdout. It works beside a command that is changing the index.

    Exit codes: 0 done, 1 failed, 2 wrong usage.
    """
    from neardup import Index
    from neardup.cli.checks import stdout_errors
    from neardup.cli.summary import labelled

    with Index.open(index, read_only=True) as held:
        info = held.info()
    with stdout_errors():
        if voice.json:
            print_json(info.as_dict())
        else:
            say(*labelled(_rows(info, verbose=voice.verbose)), err=False)


def _rows(info: IndexInfo, *, verbose: bool) -> list[tuple[str, str]]:
    from neardup.cli.summary import counted, megabytes

    each = f", {info.total_bytes / info.documents:,.0f} bytes a document" if info.documents else ""
    files = [(f"  {name}", megabytes(size)) for name, size in info.bytes.items()] if verbose else []
    width = max((len(label) for label, _ in files), default=0)
    healed = [("healed", f"{counted(info.healed, 'file')} made again from the documents")] if info.healed else []
    return [
        ("index", str(info.path)),
        ("documents", f"{info.documents:,}, {info.empty:,} empty"),
        *shared.spec_rows(info, verbose=verbose),
        ("segments", f"{info.segments:,} of {counted(info.segment_documents, 'document')}"),
        ("removed", f"{info.removed:,} whose room is not given back yet"),
        ("size", f"{megabytes(info.total_bytes)}{each}"),
        *((f"{label:<{width}}  ", size) for label, size in files),
        *healed,
        ("format", f"{info.format}, made by neardup {info.created_by}"),
    ]
