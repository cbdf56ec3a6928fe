"""``neardup index add``: documents added, all of them or only those that are new."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import options
from neardup.cli.forms import Voice, with_forms
from neardup.cli.index import shared, tables

if TYPE_CHECKING:
    from neardup import Index
    from neardup.cli.index.reading import Counts
    from neardup.cli.stopping import Stoppable
    from neardup.cli.targets import Target

__all__ = ["command"]


@click.command(
    "add",
    epilog="\b\nExamples:\n"
    "  neardup index add papers.index new.jsonl --on-duplicate replace\n"
    "  neardup index add papers.index new.parquet --if-new -o what-became-of-them.csv",
)
@shared.index_path
@options.inputs
@options.reading
@shared.on_duplicate
@click.option(
    "--if-new",
    is_flag=True,
    help="Add only documents that are near to none of the index, nor to one before them in the input, and list what"
    " became of each: id, is_new, match, similarity.",
)
@shared.near
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="File for the list of --if-new; - is stdout.  [default: stdout]",
)
@options.output_format
@options.json_summary
@options.threads
@options.voices
@click.pass_context
@with_forms
def command(
    ctx: click.Context,
    /,
    *,
    index: Path,
    inputs: tuple[Path, ...],
    on_duplicate: str,
    if_new: bool,
    threshold: float | None,
    output: str | None,
    format: str | None,
    threads: int | None,
    voice: Voice,
    **reading: Any,
) -> None:
    """Add documents to an index.

    INPUT is what `neardup find` reads: folders, JSONL, CSV, TSV, Parquet and Arrow files, text files, also compressed,
    glob patterns, and - for stdin. Documents are added in batches; each is there whole or not at all, and stays when
    the command is stopped or fails later on.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup import Index

    target = None
    if if_new:
        (target, _) = tables.choose_targets(index, inputs, output, format, json=voice.json, glob=reading["glob"])
    else:
        for value, name in ((output, "-o"), (format, "--format"), (threshold, "--threshold")):
            if value is not None:
                raise click.UsageError(f"{name} is for the list of --if-new. Give that too, or leave {name} out.")
    begin = time.perf_counter()
    with Index.open(index, read_only=False, threads=threads) as held:
        if target is not None:
            how = {"threshold": threshold, "on_duplicate": on_duplicate}
            table, counts = _add_new(ctx, held, inputs, reading, how, quiet=voice.quiet)
        else:
            added = shared.watched(
                ctx,
                lambda watching: held.add(list(inputs), on_duplicate=on_duplicate, observer=watching, **reading),
                quiet=voice.quiet,
                adding_to=held,
            )
        done = shared.Done(len(held), held.spec, begin)
    if target is not None:
        _tell_new(ctx, voice, done, table, counts, target, threshold)
    else:
        words = shared.added_words(added)
        done.tell(voice, added.as_dict(), shared.added_rows(added), words, faults=added.faults)


def _add_new(
    ctx: click.Context,
    held: Index,
    inputs: tuple[Path, ...],
    reading: dict[str, Any],
    how: dict[str, Any],
    *,
    quiet: bool,
) -> tuple[Any, Counts]:
    """Add what is new; id, is_new, match, similarity of every document, in order, and what was read."""
    import pyarrow as pa

    from neardup.cli.index.reading import Counts, asked, open_reader
    from neardup.index.stream.admitting import admit, steps

    counts = Counts()
    reader = open_reader(inputs, reading, item=held.spec.shingle.kind == "item")

    def rows(watching: Stoppable) -> Iterator[dict[str, list[Any]]]:
        watching.stage("add", reader.total_bytes, "bytes")
        for batch in asked(reader, counts):
            for _, step in steps(held, batch.ids, batch.texts):
                told = admit(held, step, how)
                yield {
                    "id": [each.id for each in told],
                    "is_new": [each.is_new for each in told],
                    "match": [each.match and each.match.id for each in told],
                    "similarity": [each.match and each.match.similarity for each in told],
                }
                watching.advance(0)
            watching.advance(batch.consumed)

    kinds = {"id": tables.IDS, "is_new": pa.bool_(), "match": tables.IDS, "similarity": pa.float64()}
    return shared.watched(ctx, lambda w: tables.gathered(kinds, rows(w)), quiet=quiet, adding_to=held), counts


def _tell_new(
    ctx: click.Context,
    voice: Voice,
    done: shared.Done,
    table: Any,
    counts: Counts,
    target: Target,
    threshold: float | None,
) -> None:
    """Write the list of what became of each document, and say how many were added."""
    import pyarrow.compute as pc

    from neardup.cli.summary import counted

    least = threshold if threshold is not None else done.spec.threshold
    files = tables.write(ctx, [(table, target)], spec=done.spec.as_dict(), threshold=least)
    new = pc.sum(table["is_new"]).as_py() or 0
    near = table.num_rows - table["similarity"].null_count
    skipped = table.num_rows - new - near
    read = counted(counts.documents, "document")
    numbers = {"read": counts.documents, "added": new, "near": near, "skipped": skipped}
    done.tell(
        voice,
        {**numbers, **counts.left_out, "threshold": least},
        [
            ("added", f"{new:,} of {read}"),
            ("not added", f"{near:,} near to another, {skipped:,} with an id that was there"),
            *shared.left_out(counts.bad, counts.blank, counts.passed_over),
        ],
        [read, f"{new:,} added"],
        files=files,
        faults=counts.faults,
    )
