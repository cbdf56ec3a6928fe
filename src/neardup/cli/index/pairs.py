"""``neardup index pairs``: the near-duplicates inside an index."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

import neardup
from neardup.cli import forms, options
from neardup.cli.index import shared, tables


@forms.command(
    "pairs",
    "index pairs papers.index -o pairs.parquet",
    "index pairs papers.index -o pairs.csv --clusters clusters.csv --link connected",
)
@shared.index_path
@options.output
@options.clusters
@options.output_format
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
    **search: Any,
) -> None:
    """Find the near-duplicate pairs inside an index, and their clusters.

    What `neardup find` gives for the documents of the index, in the order in which they were added: pairs (id_a, id_b,
    similarity) on stdout or in the file that -o names. Works beside a command that is changing the index, on the
    documents that are there when it begins.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup.cli.summary import closing_line, summary_lines, with_writing

    targets = tables.choose_targets(index, (), output, format, json=voice.json, clusters=clusters)
    with neardup.Index.open(index, read_only=True, threads=search["threads"]) as held:
        found = shared.watched(ctx, lambda watching: held.find(observer=watching, **search), quiet=voice.quiet)
    begin = time.perf_counter()
    written = zip([found.pairs, found.clusters], targets, strict=True)
    files = tables.write(ctx, written, spec=found.spec.as_dict(), threshold=found.spec.threshold)
    summary = with_writing(found.summary.as_dict(), time.perf_counter() - begin)
    crowds = found.crowds.to_pylist()
    lines = summary_lines(summary, crowds=crowds, faults=found.faults, files=files, verbose=voice.verbose)
    voice.tell(summary, lines, closing_line(summary))
