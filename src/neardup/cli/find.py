"""``neardup find``: near-duplicate pairs and clusters of a collection; the search itself is in ``neardup.session``."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neardup.cli import WRITTEN, forms, options, running
from neardup.params import CONTAINMENT, LOCAL, ClusterOptions, InputOptions, ListOptions, RunOptions, SearchOptions

if TYPE_CHECKING:
    from pyarrow import RecordBatchReader

    from neardup.cli.targets import Target
    from neardup.engine.state import SearchState
    from neardup.session import Finding, Run
    from neardup.tasks.audit.outcome import Audit


FOUND = 3
"""Exit code of ``--check`` when there are near-duplicates; 1 and 2 say that the command itself failed."""


@forms.command(
    "find",
    "find corpus/ --shingle word:3 -t 0.7",
    "find docs.jsonl.gz -t 0.8 -o pairs.parquet --clusters clusters.csv",
    "find train.parquet --against test.jsonl --shingle word:5 -t 0.5",
    "find docs/ -t 0.9 --check",
)
@options.inputs
@options.measure
@options.preset
@options.threshold
@options.recall
@options.exact
@options.candidates_by
@options.verify
@options.against
@options.shingle
@options.normalize
@options.output
@options.clusters
@click.option(
    "--candidates",
    metavar="FILE",
    help="File for every candidate pair of distinct texts: both ids, the bands in which the two met, the estimated"
    " similarity, the exact one, and the verdict.  [default: none is written]",
)
@options.output_format
@options.listing
@options.json_summary
@options.number(
    "--audit",
    (1, None),
    help="Then measure recall and precision: sample N documents, find all their near-duplicates exactly, and compare"
    " the pairs with them, as neardup audit does. Exit code 1 when the promise is broken.  [default: no audit]",
)
@click.option(
    "--check",
    is_flag=True,
    help="End with exit code 3 when near-duplicates were found: for hooks, CI and scripts. Pairs are listed as always,"
    " on stdout as a table unless --format says otherwise.  [default: the exit code is 0]",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Find nothing: say what the run would cost, as neardup plan does, with these options.",
)
@options.plot
@options.link
@options.collapse_exact
@options.crowd
@options.reading
@options.signatures
@options.working
@options.clustered
@options.voices
def find(
    *,
    ctx: click.Context,
    inputs: tuple[Path, ...],
    against: tuple[Path, ...],
    output: str | None,
    clusters: str | None,
    candidates: str | None,
    format: str | None,
    plot: str | None,
    audit: int | None,
    check: bool,
    dry_run: bool,
    search: SearchOptions,
    reading: InputOptions,
    listing: ListOptions,
    run: RunOptions,
    cluster: ClusterOptions,
    voice: forms.Voice,
) -> None:
    """Find the near-duplicate pairs of a collection, and their clusters.

    INPUT is any mix of folders (of all these), JSONL, CSV, TSV, Parquet, Arrow and .xlsx files, text files
    (one document each), each also compressed (.gz, .zst, .bz2, .xz, .lz4), glob patterns, and - for stdin. Inputs and
    outputs may be addresses, such as s3://bucket/raw/*.jsonl.

    Pairs (id_a, id_b, similarity) go to stdout or to the file that -o names; everything else goes to stderr. With
    --measure containment they also say which one is part of the other (contained: a, b or both), with --with-text
    both texts (text_a, text_b; of clusters text, keeper_text). What does not fit into --memory is worked on in
    files beside the output, and a run that was stopped continues from there with --resume.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 near-duplicates found under --check, 130 stopped by Ctrl-C; a run
    that fails or is stopped leaves no half-written output.
    """
    if against:
        search = replace(search, exact=True)
        if clusters is not None:
            raise click.UsageError("between two collections there are pairs and no clusters. Leave --clusters out.")
        if dry_run:
            raise click.UsageError("--dry-run plans for one collection. Leave --against out.")
    if candidates is not None and cluster.engine != LOCAL:
        raise click.UsageError("--candidates is for one machine. Leave it out on a cluster.")
    if dry_run and check:
        raise click.UsageError("--dry-run finds nothing that --check could judge. Leave one of them out.")
    if check and search.collapse_exact:
        raise click.UsageError("--collapse-exact leaves exact copies out, which --check has to see. Leave it out.")
    if dry_run and cluster.engine != LOCAL:
        raise click.UsageError("--dry-run plans for one machine. Leave --engine spark out.")
    if dry_run and search.measure == CONTAINMENT:
        raise click.UsageError("--dry-run plans for Jaccard similarity only. Leave --measure containment out.")
    from neardup import tuning

    if dry_run:
        from neardup.cli.plan_text import plan_lines
        from neardup.inputs.reader import open_inputs
        from neardup.tasks.plan.make import make_plan

        spec = tuning.make_spec(replace(search, exact=False))
        with running.stoppable(ctx, quiet=voice.quiet) as observer:
            reader = open_inputs(list(inputs), reading, item=spec.shingle.kind == "item")
            plan = observer.in_background(lambda: make_plan(reader, spec, run, target=search.recall, observer=observer))
        told = forms.with_commands(ctx, replace(plan, preset=search.used_preset).as_dict())
        voice.answer(told, plan_lines(plan, told=told))
        return
    from neardup.cli.summary import closing_line, summary_lines, with_writing
    from neardup.cli.targets import check_listing, check_targets, choose_tables, write_targets
    from neardup.outputs.atomic import AtomicFiles

    if check and output is None:
        format = format or "table"  # for whoever reads the log of a hook or of CI
    tables = [*choose_tables(output, clusters, format, json=voice.json, cure="Give files with -o and --clusters.")]
    check_listing(tables, listing)
    tables += choose_tables(None, candidates, format, json=True, cure="Give a file with --candidates.")[1:]
    named = [name for target in tables for name in target.files]
    files = check_targets((*inputs, *against), named, glob=reading.glob, plot=plot)
    spec = tuning.make_spec(search)
    # imported after the checks, because it loads kernels
    from neardup.tasks.find import candidate_table, candidate_task, check_candidates, open_across

    with ExitStack() as stack:
        with running.stoppable(ctx, quiet=voice.quiet) as observer:
            reader = open_across(list(inputs), list(against) or None, reading, item=spec.shingle.kind == "item")
            output, task = tables[0].name, {"command": "find", "link": search.link, **candidate_task(bool(candidates))}
            keep = listing.with_text is not False
            opened = running.open_run(
                observer,
                reader,
                spec,
                search,
                run,
                output=output,
                task=task,
                files=files,
                keep_written=keep,
                cluster=cluster,
            )
            work = stack.enter_context(opened)
            if candidates:
                check_candidates(work.spec)
            found, finding, audited = observer.in_background(lambda: _find(work, search.link, audit, bool(candidates)))
        together = AtomicFiles()
        try:
            with together:
                start, pairs = time.perf_counter(), _pairs(finding, tables[0], listing)
                clustered = None if clusters is None else finding.clusters(listing.with_text)
                compared = candidate_table(work, found) if candidates and found is not None else None
                write_targets(
                    list(zip([pairs, clustered, compared], tables, strict=True)),
                    together,
                    spec=work.spec.as_dict(),
                    threshold=work.spec.threshold,
                    listing=listing,
                )
                for _ in pairs:
                    pass  # where they were not all asked for: the summary counts them as they pass
                seconds = time.perf_counter() - start
                if plot is not None:
                    from neardup.tasks.figures.sheets import plot_finding

                    plot_finding(finding, work, plot, together)
        finally:
            ctx.meta[WRITTEN] = files if together.are_named else []
        summary = forms.with_commands(ctx, with_writing(finding.summary().as_dict(), seconds, listing.top))
        crowds = finding.crowds().to_pylist()
    lines = summary_lines(summary, crowds=crowds, faults=finding.faults, verbose=voice.verbose)
    closing = closing_line(summary, files)
    if audited is not None:
        from neardup.cli.audit_text import audit_lines

        summary["audit"] = audited.as_dict()
        lines += ["", *audit_lines(audited, files=[]), ""]
    voice.tell(summary, lines, closing)
    if audited is not None and audited.is_broken:
        ctx.exit(1)
    if check and summary["pairs"]:
        ctx.exit(FOUND)


def _pairs(finding: Finding, target: Target, listing: ListOptions) -> RecordBatchReader:
    """The pairs as they are listed; where only some are shown, only these have texts."""
    from neardup.cli.pair_table import fit_listing, rows_shown

    if target.is_for_the_eye:
        return finding.pairs(fit_listing(listing), text_rows=rows_shown(listing))
    return finding.pairs(listing if target.name is not None else ListOptions())


def _find(run: Run, link: str, audit: int | None, is_listed: bool) -> tuple[SearchState | None, Finding, Audit | None]:
    """Search; measure the recall, and keep the search for the list of candidates, if that was asked for."""
    if audit is None and not is_listed:
        return None, run.find(link), None
    search, audited = run.search(keep_keys=is_listed), None
    if audit is not None:
        from neardup.tasks.audit.public import audit_search

        audited = audit_search(run, search, documents=audit)
    return search, run.finding(search, link), audited
