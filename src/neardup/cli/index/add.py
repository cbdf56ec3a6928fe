"""``neardup index add``: documents added, all of them or only those that are new."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import options
from neardup.cli.index import shared, tables

if TYPE_CHECKING:
    from neardup.cli.index.reading import Counts
    from neardup.cli.run_setup import Stoppable
    from neardup.cli.targets import Target
    from neardup.inputs.reader import Reader

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
    json: bool,
    threads: int | None,
    quiet: bool,
    verbose: bool,
    **reading: Any,
) -> None:
    """Add documents to an index.

    INPUT is what `neardup find` reads: folders, JSONL, CSV, TSV, Parquet and Arrow files, text files, also compressed,
    glob patterns, and - for stdin. Documents are added in batches; each is there whole or not at all, and stays when
    the command is stopped or fails later on.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup.cli.checks import check_voices

    check_voices(quiet=quiet, verbose=verbose)
    if not if_new:
        for value, name in ((output, "-o"), (format, "--format"), (threshold, "--threshold")):
            if value is not None:
                raise click.UsageError(f"{name} is for the list of --if-new. Give that too, or leave {name} out.")
        _add(ctx, index, inputs, reading, on_duplicate, threads, json=json, quiet=quiet, verbose=verbose)
        return
    (target, _) = tables.choose_targets(index, inputs, output, format, json=json, glob=reading["glob"])
    how = {"threshold": threshold, "on_duplicate": on_duplicate}
    _admit(ctx, index, inputs, reading, how, target, threads, json=json, quiet=quiet, verbose=verbose)


def _add(
    ctx: click.Context,
    index: Path,
    inputs: tuple[Path, ...],
    reading: dict[str, Any],
    on_duplicate: str,
    threads: int | None,
    *,
    json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Add everything."""
    from neardup import Index
    from neardup.cli import run_setup
    from neardup.cli.progress import observer

    begin = time.perf_counter()
    with Index.open(index, read_only=False, threads=threads) as held:
        with observer(quiet=quiet) as watching:
            stoppable = shared.Counting(watching, ctx, held)
            added = run_setup.in_background(
                ctx,
                lambda: held.add(list(inputs), on_duplicate=on_duplicate, observer=stoppable, **reading),
                stoppable,
            )
        documents, spec = len(held), held.spec
    seconds = time.perf_counter() - begin
    shared.tell(
        {**added.as_dict(), "documents": documents, "seconds": round(seconds, 4), "spec_id": spec.id},
        [*shared.added_rows(added, documents=documents, seconds=seconds), *shared.id_and_spec(spec, verbose=verbose)],
        shared.added_words(added, documents=documents, seconds=seconds, spec_id=spec.id),
        json=json,
        quiet=quiet,
        faults=added.faults,
    )


def _admit(
    ctx: click.Context,
    index: Path,
    inputs: tuple[Path, ...],
    reading: dict[str, Any],
    how: dict[str, Any],
    target: Target,
    threads: int | None,
    *,
    json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Add what is new, and list what became of each document."""
    import pyarrow.compute as pc

    from neardup import Index
    from neardup.cli import run_setup
    from neardup.cli.index.reading import Counts, open_reader
    from neardup.cli.progress import observer
    from neardup.cli.summary import counted, duration

    begin = time.perf_counter()
    counts = Counts()
    with Index.open(index, read_only=False, threads=threads) as held:
        reader = open_reader(inputs, reading, item=held.spec.shingle.kind == "item")
        with observer(quiet=quiet) as watching:
            stoppable = shared.Counting(watching, ctx, held)
            stoppable.stage("add", reader.total_bytes, "bytes")
            table = run_setup.in_background(ctx, lambda: _admitted(held, reader, counts, how, stoppable), stoppable)
        documents, spec = len(held), held.spec
    least = how["threshold"] if how["threshold"] is not None else spec.threshold
    files = tables.write(ctx, [(table, target)], spec=spec.as_dict(), threshold=least)
    seconds = time.perf_counter() - begin
    new = pc.sum(table["is_new"]).as_py() or 0
    near = table.num_rows - table["similarity"].null_count
    skipped = table.num_rows - new - near
    rows = [
        ("added", f"{new:,} of {counted(counts.documents, 'document')}"),
        ("not added", f"{near:,} near to another, {skipped:,} with an id that was there"),
        *shared.left_out(counts.bad, counts.blank, counts.passed_over),
        ("in the index", counted(documents, "document")),
        ("time", duration(seconds)),
        *([("written", ", ".join(files))] if files else []),
        *shared.id_and_spec(spec, verbose=verbose),
    ]
    summary = {
        "read": counts.documents, "added": new, "near": near, "skipped": skipped, **counts.left_out,
        "threshold": least, "documents": documents, "seconds": round(seconds, 4), "spec_id": spec.id,
    }  # fmt: skip
    closing = [
        counted(counts.documents, "document"),
        f"{new:,} added",
        f"{documents:,} in the index",
        duration(seconds),
        f"spec {spec.id}",
    ]
    shared.tell(summary, rows, closing, json=json, quiet=quiet, faults=counts.faults)


def _admitted(held: Any, reader: Reader, counts: Counts, how: dict[str, Any], stoppable: Stoppable) -> Any:
    """id, is_new, match, similarity of every document, in order."""
    import pyarrow as pa

    from neardup.cli.index.admitting import admit, steps
    from neardup.cli.index.reading import asked, id_column, joined

    columns: list[tuple[Any, ...]] = []
    for batch in asked(reader, counts):
        for _, step in steps(held, batch.ids, batch.texts):
            outcomes = admit(held, step, how)
            columns.append(
                (
                    id_column([each.id for each in outcomes]),
                    pa.array([each.is_new for each in outcomes], pa.bool_()),
                    id_column([each.match for each in outcomes]),
                    pa.array([each.similarity for each in outcomes], pa.float64()),
                )
            )
            stoppable.advance(0)
        stoppable.advance(batch.consumed)
    ids, is_new, matches, similarities = zip(*columns, strict=True) if columns else ((), (), (), ())
    return pa.table(
        {
            "id": joined(ids),
            "is_new": pa.chunked_array(list(is_new), pa.bool_()),
            "match": joined(matches),
            "similarity": pa.chunked_array(list(similarities), pa.float64()),
        }
    )
