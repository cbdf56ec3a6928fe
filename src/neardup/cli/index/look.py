"""``neardup index get``, ``list`` and ``statistics``: some documents of an index, and counts of them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import neardup
from neardup.cli import forms, options
from neardup.cli.index import shared
from neardup.cli.summary import labelled
from neardup.errors import InputError
from neardup.shown import counted, megabytes

if TYPE_CHECKING:
    from neardup.cli.running import Stoppable

_PAGE = 1000
"""The number of documents that are read together."""
_output = click.option("--output", "-o", metavar="FILE", help="File for the documents; - is stdout.  [default: stdout]")


@forms.command("get", "index get papers.index 2101.00001", "index get papers.index 17 18 --format csv -o documents.csv")
@shared.index_path
@click.argument("ids", metavar="ID…", nargs=-1, required=True)
@_output
@options.output_format
@options.voices
def get(
    *, ctx: click.Context, index: Path, ids: tuple[str, ...], output: str | None, format: str | None, voice: forms.Voice
) -> None:
    """Print documents by their ids.

    The answer (id, text) goes to stdout or to the file that -o names, in the order of the ids. If any of the documents
    has columns, they are in a last column, as JSON. Works beside a command that is changing the index.

    Exit codes: 0 done, 1 failed, including an id without a document, 2 wrong usage.
    """
    from neardup.cli.index import tables

    (target, _) = tables.choose_targets(index, (), output, format, json=False)
    with neardup.Index.open(index, read_only=True) as held:
        found = held.get_many(ids)
        if None in found:
            absent = ids[found.index(None)]
            raise InputError(f"there is no document {absent!r} in {click.format_filename(index)}. Leave the id out.")
        fields = {name: [getattr(each, name) for each in found] for name in ("id", "text", "columns")}
        table = tables.gathered({"id": tables.IDS, "text": tables.TEXT, "columns": tables.COLUMNS}, [fields])
        tables.write(ctx, [(table, target)], spec=held.spec.as_dict(), threshold=0.0)


@forms.command(
    "list", "index list papers.index --newest --top 20", "index list papers.index --prefix 2101. --top all -o ids.csv"
)
@shared.index_path
@click.option("--prefix", default="", metavar="TEXT", help="List only documents whose id begins so.  [default: none]")
@shared.where
@click.option("--newest", is_flag=True, help="List the documents that were added last first.")
@options.defaulted(
    "--top",
    type=options.Checked("number", options.parse_top),
    metavar="N",
    default="50",
    help="List at most N documents; all lists every one.",
)
@options.number(
    "--opening",
    (0, None),
    default=80,
    help="Print the first N characters of each text, and its length; 0 reads no texts, which is faster.",
)
@_output
@options.output_format
@options.voices
def list(
    *,
    ctx: click.Context,
    index: Path,
    top: int | None,
    output: str | None,
    format: str | None,
    voice: forms.Voice,
    **page: Any,
) -> None:
    """List documents in the order in which they were added.

    The answer (id, added, characters, opening) goes to stdout or to the file that -o names. If any of the documents
    has columns, they are in a last column, as JSON. Works beside a command that is changing the index.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    import pyarrow as pa

    from neardup.cli.index import tables

    (target, _) = tables.choose_targets(index, (), output, format, json=False)
    kinds = {"id": tables.IDS, "added": pa.string()}
    if page["opening"]:
        kinds |= {"characters": pa.int64(), "opening": tables.TEXT}
    kinds["columns"] = tables.COLUMNS

    def rows(held: neardup.Index, watching: Stoppable) -> Iterator[dict[str, Sequence[Any]]]:
        after, left = None, top
        while left is None or left > 0:
            found = held.page(after, size=_PAGE if left is None else min(left, _PAGE), **page)
            yield {name: [getattr(each, name) for each in found.documents] for name in kinds}
            watching.advance(0)
            after, left = found.next, None if left is None else left - len(found.documents)
            if after is None:
                return

    with neardup.Index.open(index, read_only=True) as held:
        table = shared.watched(ctx, lambda watching: tables.gathered(kinds, rows(held, watching)))
        tables.write(ctx, [(table, target)], spec=held.spec.as_dict(), threshold=0.0)


@forms.command("statistics", "index statistics papers.index", "index statistics papers.index --json")
@shared.index_path
@shared.json_answer
@options.voices
def statistics(*, ctx: click.Context, index: Path, voice: forms.Voice) -> None:
    """Count distinct texts, copies, and documents that share a band.

    The answer goes to stdout. All postings are read for it, which takes about a second for a million documents. Works
    beside a command that is changing the index.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    with neardup.Index.open(index, read_only=True) as held:
        found = shared.watched(ctx, lambda _: held.statistics())
    sharing, copied = "not counted: there are too many postings", counted(found.copied, "document")
    if found.sharing is not None:
        sharing = f"{counted(found.sharing, 'document')} with a band of another text; all others have exact copies only"
    rows = [
        ("documents", f"{found.documents:,}, {found.empty:,} empty"),
        ("distinct", counted(found.distinct, "text")),
        ("copies", f"{copied} with the text of another; {found.largest_group:,} of the same"),
        ("sharing", sharing),
        ("segments", f"{len(found.segments):,}; {counted(found.tail_documents, 'document')} in none yet"),
        ("size", megabytes(found.total_bytes)),
        ("recall", ", ".join(f"{chance:.1%} at {at:g}" for at, chance in found.recall_curve[8::2])),
    ]
    voice.answer(found.as_dict(), labelled(rows))
