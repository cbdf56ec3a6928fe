"""``neardup index remove``: documents taken out by their ids."""

from __future__ import annotations

import time
from pathlib import Path

import click

from neardup.cli import options
from neardup.cli.forms import Voice, with_forms
from neardup.cli.index import shared
from neardup.errors import InputError

__all__ = ["command"]


@click.command(
    "remove",
    epilog="\b\nExamples:\n"
    "  neardup index remove papers.index 2101.00001 2101.00002\n"
    "  neardup index remove papers.index --from withdrawn.txt --missing skip",
)
@shared.index_path
@click.argument("ids", metavar="[ID…]", nargs=-1)
@click.option(
    "--from",
    "source",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="File with further ids, one a line; - is stdin. Compressed files are read too.  [default: none]",
)
@shared.missing
@shared.json_answer
@options.voices
@click.pass_context
@with_forms
def command(
    ctx: click.Context,
    /,
    *,
    index: Path,
    ids: tuple[str, ...],
    source: Path | None,
    missing: str,
    voice: Voice,
) -> None:
    """Remove documents by their ids: all of them, or with an error none.

    An id that is a number is written as it is. For an ID that begins with a dash, put -- before it.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup import Index
    from neardup.cli.summary import counted

    if not ids and source is None:
        raise click.UsageError("no ids are given. Name them, or a file of them with --from.")
    begin = time.perf_counter()
    with Index.open(index, read_only=False) as held:
        wanted = list(dict.fromkeys([*ids, *(_lines(source) if source is not None else [])]))

        def work(_: object) -> int:
            removed = held.remove(wanted, missing=missing)
            shared.note_done(ctx, removed, "removed")
            return removed

        removed = shared.watched(ctx, work)
        done = shared.Done(len(held), held.spec, begin)
    absent = len(wanted) - removed
    done.tell(
        voice,
        {"removed": removed, "missing": absent},
        [("removed", f"{removed:,}; {counted(absent, 'id')} not there")],
        [f"{removed:,} removed", f"{absent:,} not there"],
        details=[("spec", done.spec.id)] if voice.verbose else [],
    )


def _lines(source: Path) -> list[str]:
    """The ids in a file: its lines without their ends, but for empty ones.

    Raises:
        InputError: it cannot be read, or is no UTF-8.
    """
    from neardup.inputs.blocks import read_all
    from neardup.inputs.source import RecordLimit

    data = read_all(source, limit=RecordLimit())
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise InputError(f"{source}:{line}: the line is no valid UTF-8. Give ids one a line, in UTF-8.") from exc
    return [line for line in (line.removesuffix("\r") for line in text.split("\n")) if line]
