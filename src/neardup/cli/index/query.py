"""``neardup index query``: the documents of an index that are near to given ones."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import options
from neardup.cli.index import shared, tables
from neardup.params import CONTAINMENT

if TYPE_CHECKING:
    from neardup.cli.index.reading import Asked, Counts
    from neardup.cli.run_setup import Stoppable

__all__ = ["command"]

STRING = "string"
"""What the text of --string is called in the table."""


@click.command(
    "query",
    epilog="\b\nExamples:\n"
    "  neardup index query papers.index new.jsonl -t 0.9 --top all -o near.csv\n"
    "  neardup index query papers.index --string 'a text to look for'",
)
@shared.index_path
@click.argument("inputs", nargs=-1, metavar="[INPUT…]", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--string", metavar="TEXT", help="Ask about this text, in place of INPUT.  [default: none]")
@options.measure
@shared.near
@shared.top
@click.option("--output", "-o", metavar="FILE", help="File for the documents found; - is stdout.  [default: stdout]")
@options.output_format
@options.json_summary
@options.reading
@options.threads
@options.voices
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    index: Path,
    inputs: tuple[Path, ...],
    string: str | None,
    measure: str,
    threshold: float | None,
    top: int | None,
    output: str | None,
    format: str | None,
    json: bool,
    threads: int | None,
    quiet: bool,
    verbose: bool,
    **reading: Any,
) -> None:
    """Find the documents of an index that are near to given ones.

    INPUT is what `neardup find` reads; - is stdin. The answer (query, id, similarity) goes to stdout or to the file
    that -o names: for each document of the input, in order, the documents of the index that are at least as similar
    as the threshold, the most similar first. Similarities are exact. A document that is in the index finds itself.
    Works beside a command that is changing the index.

    With --measure containment: the documents that contain the one asked about, or are part of it; the answer has
    the column contained, which is the part: query, document or both. The threshold may be below that of the index.
    For this all stored texts are read, once for all of INPUT, which is held in memory.

    Exit codes: 0 done, also when nothing is found, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup import Index
    from neardup.cli.checks import check_voices

    check_voices(quiet=quiet, verbose=verbose)
    if (string is None) == (not inputs):
        raise click.UsageError("give either INPUT or --string.")
    (target, _) = tables.choose_targets(index, inputs, output, format, json=json, glob=reading["glob"])
    begin = time.perf_counter()
    with Index.open(index, read_only=True, threads=threads) as held:
        from neardup.cli.index.reading import Asked, Counts, asked, open_reader, together

        counts = Counts()
        item = held.spec.shingle.kind == "item"
        batches: Iterable[Asked]
        total = None
        if string is None:
            reader = open_reader(inputs, reading, item=item)
            total, batches = reader.total_bytes, asked(reader, counts)
        else:
            counts.documents, batches = 1, [Asked([STRING], [string.split() if item else string], 0)]
        how: dict[str, Any] = {"top": top, "threshold": threshold}
        if measure == CONTAINMENT:
            batches, how["measure"] = together(batches), measure
        table = _found(ctx, held, batches, total, how, quiet=quiet)
        spec, documents = held.spec, len(held)
    least = threshold if threshold is not None else spec.threshold
    files = tables.write(ctx, [(table, target)], spec=spec.as_dict(), threshold=least)
    _tell(
        table,
        counts,
        files,
        {
            "documents": documents,
            "threshold": least,
            "measure": measure,
            "seconds": time.perf_counter() - begin,
            "spec": spec,
        },
        json=json,
        quiet=quiet,
        verbose=verbose,
    )


def _found(
    ctx: click.Context,
    held: Any,
    batches: Iterable[Asked],
    total: int | None,
    how: dict[str, Any],
    *,
    quiet: bool,
) -> Any:
    """query, id, similarity of all hits, in the order of the queries."""
    from neardup.cli import run_setup
    from neardup.cli.progress import observer

    with observer(quiet=quiet) as watching:
        stoppable = run_setup.Stoppable(watching)
        stoppable.stage("query", total, "bytes")
        return run_setup.in_background(ctx, lambda: _ask(held, batches, how, stoppable), stoppable)


def _ask(held: Any, batches: Iterable[Asked], how: dict[str, Any], stoppable: Stoppable) -> Any:
    import pyarrow as pa

    from neardup.cli.index.reading import id_column, joined

    queries, ids, similarities, contained = [], [], [], []
    for batch in batches:
        found = held.query(batch.texts, **how)
        queries.append(id_column([name for name, hits in zip(batch.ids, found, strict=True) for _ in hits]))
        ids.append(id_column([hit.id for hits in found for hit in hits]))
        similarities.append(pa.array([hit.similarity for hits in found for hit in hits], pa.float64()))
        if "measure" in how:
            contained.append(pa.array([hit.contained for hits in found for hit in hits], pa.string()))
        stoppable.advance(batch.consumed)
    columns = {"query": joined(queries), "id": joined(ids), "similarity": pa.chunked_array(similarities, pa.float64())}
    if "measure" in how:
        columns["contained"] = pa.chunked_array(contained, pa.string())
    return pa.table(columns)


def _tell(
    table: Any,
    counts: Counts,
    files: Sequence[str],
    facts: dict[str, Any],
    *,
    json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    from neardup.cli.summary import counted, duration

    found = len(table["query"].unique())
    word = facts["measure"] if facts["measure"] == CONTAINMENT else "similarity"
    seconds, spec, in_index = facts["seconds"], facts["spec"], counted(facts["documents"], "document")
    answered = f"{found:,} of {counted(counts.documents, 'query').replace('querys', 'queries')}"
    rows = [
        ("found", f"{counted(table.num_rows, 'hit')} of {word} {facts['threshold']:g} or more"),
        ("queries", f"{counts.documents:,}, {found:,} of them with a hit"),
        *shared.left_out(counts.bad, counts.blank, counts.passed_over),
        ("in the index", in_index),
        ("time", duration(seconds)),
        *([("written", ", ".join(files))] if files else []),
        *shared.id_and_spec(spec, verbose=verbose),
    ]
    summary = {
        "queries": counts.documents, "answered": found, "hits": table.num_rows, **counts.left_out,
        "threshold": facts["threshold"], "documents": facts["documents"],
        "seconds": round(seconds, 4), "spec_id": spec.id,
    }  # fmt: skip
    if facts["measure"] == CONTAINMENT:
        summary["measure"] = CONTAINMENT
    closing = [counted(table.num_rows, "hit"), f"{answered} with one", in_index, duration(seconds), f"spec {spec.id}"]
    shared.tell(summary, rows, closing, json=json, quiet=quiet, faults=counts.faults)
