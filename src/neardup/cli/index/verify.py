"""``neardup index verify``: every file checked, and mended where that can be done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neardup.cli import options
from neardup.cli.index import shared
from neardup.cli.voice import print_json, say

if TYPE_CHECKING:
    from neardup.index.outcomes import Verified

__all__ = ["command"]


@click.command(
    "verify",
    epilog="\b\nExamples:\n  neardup index verify papers.index\n  neardup index verify papers.index --no-repair --json",
)
@shared.index_path
@click.option(
    "--no-repair",
    is_flag=True,
    help="Only look: change nothing. Works beside a command that is changing the index.",
)
@shared.json_answer
@options.voices
@click.pass_context
@shared.voiced
def command(ctx: click.Context, /, *, index: Path, no_repair: bool, voice: shared.Voice) -> None:
    """Check every byte of every file of an index, and mend what can be mended.

    Files of postings are made from the documents, and made again where they are damaged or missing. The documents
    themselves cannot be made again: what is wrong with them is named. The answer goes to stdout.

    Exit codes: 0 nothing was wrong, 1 something was wrong (also when it was mended) or the check failed, 2 wrong
    usage, 130 stopped by Ctrl-C.
    """
    from neardup import Index
    from neardup.cli.checks import stdout_errors

    with Index.open(index, read_only=no_repair) as held:
        found = shared.watched(ctx, lambda _: held.verify(repair=not no_repair))
        documents = len(held)
    with stdout_errors():
        if voice.json:
            print_json(found.as_dict())
        else:
            say(*_lines(found, str(index), documents, repair=not no_repair), err=False)
    if not found.ok:
        ctx.exit(1)


def _lines(found: Verified, shown: str, documents: int, *, repair: bool) -> list[str]:
    from neardup.cli.summary import counted

    if found.ok:
        return [f"{shown}: {counted(documents, 'document')}, no fault"]
    lines = [f"{shown}: {counted(len(found.faults), 'fault')}"]
    lines += [f"  {fault}" for fault in found.faults]
    lines += [f"made again: {name}" for name in found.healed]
    if not repair:
        lines.append(f"To mend what can be mended: neardup index verify {shown}")
    return lines
