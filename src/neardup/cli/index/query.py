"""``neardup index query`` and ``pairs``: what in an index is near to given documents, and to each other."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import neardup
from neardup.cli import forms, options
from neardup.cli.index import shared
from neardup.cli.summary import left_out
from neardup.params import CONTAINMENT, InputOptions, ListOptions
from neardup.shown import counted, cut_text

if TYPE_CHECKING:
    from neardup.cli.index.tables import Asked, Counts
    from neardup.cli.running import Stoppable

TEXTS_AT_A_TIME = 128
"""Documents whose texts are read out of the index together."""


@forms.command(
    "query",
    "index query papers.index new.jsonl -t 0.9 --top all -o near.csv",
    "index query papers.index --string 'a text to look for'",
)
@shared.index_path
@click.argument("inputs", nargs=-1, metavar="[INPUT…]", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--string", metavar="TEXT", help="Ask about this text, in place of INPUT.  [default: none]")
@options.measure
@shared.near
@shared.top
@shared.where
@options.with_text
@click.option("--output", "-o", metavar="FILE", help="File for the documents found; - is stdout.  [default: stdout]")
@options.output_format
@options.json_summary
@options.reading
@options.threads
@options.voices
def query(
    *,
    ctx: click.Context,
    index: Path,
    inputs: tuple[Path, ...],
    string: str | None,
    measure: str,
    threshold: float | None,
    top: int | None,
    where: dict[str, Any] | None,
    output: str | None,
    format: str | None,
    threads: int | None,
    voice: forms.Voice,
    reading: InputOptions,
    with_text: bool | int,
) -> None:
    """Find the documents of an index that are similar to given ones.

    INPUT is what `neardup find` reads; - is stdin. The answer (query, id, similarity) is written to stdout or to the
    file that -o names: for each document of the input, in order, the documents of the index that reach the threshold,
    the most similar first. Similarities are exact. A document that is in the index finds itself. With --with-text it
    has the texts of both (query_text, text). If any document found has columns, they are in the column columns, as
    JSON. Works beside a command that is changing the index.

    With --measure containment: the documents that contain the one asked about, or are part of it; the answer has
    the column contained, which is the part: query, document or both. The threshold may be below that of the index.
    For this all stored texts are read, once for all of INPUT, which is held in memory.

    Exit codes: 0 done, also when nothing is found, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    if (string is None) == (not inputs):
        raise click.UsageError("give either INPUT or --string.")
    from neardup.cli.index import tables
    from neardup.cli.pair_table import fit_listing
    from neardup.cli.targets import check_listing

    (target, _) = tables.choose_targets(index, inputs, output, format, json=voice.json, glob=reading.glob)
    listing = ListOptions(with_text=with_text)
    check_listing([target], listing)
    most = (fit_listing(listing) if target.is_for_the_eye else listing).with_text
    from neardup.inputs.reader import open_inputs  # imported after the checks, because it loads kernels

    begin = time.perf_counter()
    how: dict[str, Any] = {"top": top, "threshold": threshold, "where": where}
    with neardup.Index.open(index, read_only=True, threads=threads) as held:
        counts = tables.Counts()
        item = held.spec.shingle.kind == "item"
        batches: Iterable[Asked]
        total = None
        if string is None:
            reader = open_inputs(list(inputs), reading, item=item)
            total, batches = reader.total_bytes, tables.asked(reader, counts)
        else:
            counts.documents, batches = 1, [tables.Asked(["string"], [string.split() if item else string], 0)]
        if measure == CONTAINMENT:
            batches, how["measure"] = tables.together(batches), measure

        def work(watching: Stoppable) -> Any:
            watching.stage("query", total, "bytes")
            return _hits(held, batches, how, watching, most)

        table, texts = shared.watched(ctx, work, quiet=voice.quiet)
        done = shared.Done(len(held), held.spec, begin)
        least = threshold if threshold is not None else done.spec.threshold
        listed = table if most is False else _with_texts(held, table, texts, most)
        files = tables.write(ctx, [(listed, target)], spec=done.spec.as_dict(), threshold=least, listing=listing)
    _tell(voice, done, table, counts, files, threshold=least)


def _hits(
    held: neardup.Index, batches: Iterable[Asked], how: dict[str, Any], watching: Stoppable, most: bool | int
) -> tuple[Any, list[str]]:
    """query, id, similarity (and contained) of all hits, in the order of the queries.

    With texts also the column asked, the place of the query in the second value: texts of queries that have hits.
    """
    import pyarrow as pa

    from neardup.cli.index import tables

    kinds = {"query": tables.IDS, "id": tables.IDS, "similarity": pa.float64()}
    if "measure" in how:
        kinds["contained"] = pa.string()
    kinds["columns"] = tables.COLUMNS
    columns = [name for name in kinds if name != "query"]
    if most is not False:
        kinds["asked"] = pa.int64()
    texts: list[str] = []

    def rows() -> Iterator[dict[str, list[Any]]]:
        for batch in batches:
            found = held.query(batch.texts, **how)
            queries = [name for name, hits in zip(batch.ids, found, strict=True) for _ in hits]
            fields: dict[str, list[Any]] = {
                name: [getattr(hit, name) for hits in found for hit in hits] for name in columns
            }
            if most is not False:
                fields["asked"] = []
                for text, hits in zip(batch.texts, found, strict=True):
                    fields["asked"] += [len(texts)] * len(hits)
                    texts.extend([_cut(text if isinstance(text, str) else " ".join(map(str, text)), most)] * bool(hits))
            yield {"query": queries, **fields}
            watching.advance(batch.consumed)

    return tables.gathered(kinds, rows()), texts


def _with_texts(held: neardup.Index, table: Any, texts: Sequence[str], most: bool | int) -> Any:
    """The hits with query_text and text in place of asked, as a stream; a document that is gone by now has none."""
    import numpy as np
    import pyarrow as pa

    from neardup.arrays import nullable, strings

    own = table.drop_columns(["asked"])
    schema = own.schema
    for name in ("query_text", "text"):
        schema = schema.append(pa.field(name, pa.large_string()))

    def filled() -> Iterator[Any]:
        for start in range(0, table.num_rows, TEXTS_AT_A_TIME):
            asked, ids = (table[name].slice(start, TEXTS_AT_A_TIME).to_pylist() for name in ("asked", "id"))
            stored = held.get_many(ids)
            known = np.array([each is not None for each in stored])
            found = nullable(strings("" if each is None else _cut(each.text, most) for each in stored), known)
            part = [column.combine_chunks() for column in own.slice(start, TEXTS_AT_A_TIME).columns]
            yield from pa.Table.from_arrays(
                [*part, strings(texts[place] for place in asked), found], schema=schema
            ).to_batches()

    return pa.RecordBatchReader.from_batches(schema, filled())


def _cut(text: str, most: bool | int) -> str:
    return text if most is True else cut_text(text, most)


def _tell(
    voice: forms.Voice, done: shared.Done, table: Any, counts: Counts, files: Sequence[str], *, threshold: float
) -> None:
    found = len(table["query"].unique())
    is_containment = "contained" in table.column_names
    word = CONTAINMENT if is_containment else "similarity"
    answered = f"{found:,} of {counted(counts.documents, 'query').replace('querys', 'queries')}"
    numbers = {"queries": counts.documents, "answered": found, "hits": table.num_rows}
    done.tell(
        voice,
        {**numbers, **counts.left_out, "threshold": threshold},
        [
            ("found", f"{counted(table.num_rows, 'hit')} of {word} {threshold:g} or more"),
            ("queries", f"{counts.documents:,}, {found:,} of them with a hit"),
            *left_out(counts.bad, counts.blank, counts.passed_over),
        ],
        [counted(table.num_rows, "hit"), f"{answered} with one"],
        size=counted(done.documents, "document"),
        files=files,
        last={"measure": CONTAINMENT} if is_containment else {},
        faults=counts.faults,
    )


@forms.command(
    "pairs",
    "index pairs papers.index -o pairs.parquet",
    "index pairs papers.index -o pairs.csv --clusters clusters.csv --link connected",
)
@shared.index_path
@options.output
@options.clusters
@options.output_format
@options.listing
@options.json_summary
@options.link
@options.threads
@options.memory
@options.voices
def pairs(
    *,
    ctx: click.Context,
    index: Path,
    output: str | None,
    clusters: str | None,
    format: str | None,
    voice: forms.Voice,
    listing: ListOptions,
    **search: Any,
) -> None:
    """Find the near-duplicate pairs inside an index, and their clusters.

    What `neardup find` gives for the documents of the index, in the order in which they were added: pairs (id_a, id_b,
    similarity) on stdout or in the file that -o names. Works beside a command that is changing the index, on the
    documents that are there when it begins.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup.cli.index import tables
    from neardup.cli.pair_table import fit_listing
    from neardup.cli.summary import closing_line, summary_lines, with_writing
    from neardup.cli.targets import check_listing

    targets = tables.choose_targets(index, (), output, format, json=voice.json, clusters=clusters)
    check_listing(targets, listing)
    search |= asdict(fit_listing(listing) if targets[0].is_for_the_eye and clusters is None else listing)
    with neardup.Index.open(index, read_only=True, threads=search["threads"]) as held:
        found = shared.watched(ctx, lambda watching: held.find(observer=watching, **search), quiet=voice.quiet)
    begin = time.perf_counter()
    written = list(zip([found.pairs, found.clusters], targets, strict=True))
    files = tables.write(ctx, written, spec=found.spec.as_dict(), threshold=found.spec.threshold, listing=listing)
    summary = with_writing(found.summary.as_dict(), time.perf_counter() - begin, listing.top)
    for hint in summary["hints"]:  # an index keeps its settings, and does not know its inputs, so no command fits
        hint["text"] += f" For that, build a new index with {forms.options_tried(hint)}."
    crowds = found.crowds.to_pylist()
    lines = summary_lines(summary, crowds=crowds, faults=found.faults, verbose=voice.verbose)
    voice.tell(summary, lines, closing_line(summary, files))
