"""``neardup find``: near-duplicate pairs and clusters of a collection.

Here: the order of events of one run (check the outputs, search, write, tell) and where pairs go. The search
itself is in ``neardup.session``; how a run is set up and ended is in ``working``, what is shown in ``progress`` and
``summary``.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import WRITTEN, options, silence_stdout, working
from neardup.cli.checks import check_banding, check_exact, check_measure, check_voices, stdout_errors, stdout_format
from neardup.cli.working import STDOUT
from neardup.errors import InputError

if TYPE_CHECKING:
    from neardup.outputs.atomic import AtomicFiles
    from neardup.session import Finding, Run
    from neardup.tasks.audit.outcome import Audit

__all__ = ["command"]


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the pairs, the clusters and the figure go and how; all of it checked before the search begins."""

    pairs: str | None
    """A file, ``-`` for stdout, or None when pairs are not written (--json without -o)."""
    pairs_format: str | None
    clusters: str | None
    clusters_format: str | None
    plot: str | None

    @property
    def files(self) -> list[str]:
        """The outputs that are files."""
        return [name for name in (self.pairs, self.clusters, self.plot) if name not in (None, STDOUT)]


@click.command(
    "find",
    cls=options.ExactCommand,
    epilog="\b\nExamples:\n"
    "  neardup find corpus/ --shingle word:3 -t 0.7\n"
    "  neardup find docs.jsonl.gz -t 0.8 -o pairs.parquet --clusters clusters.csv\n"
    "  neardup find train.parquet --against test.jsonl --shingle word:5 -t 0.5",
)
@options.inputs
@options.measure
@options.threshold
@options.recall
@options.exact
@options.verify
@options.against
@options.shingle
@options.normalize
@options.output
@options.clusters
@options.output_format
@options.json_summary
@click.option(
    "--audit",
    type=options.whole("audit", 1),
    metavar="N",
    help="Then measure recall and precision: draw N documents, find all their near-duplicates exactly, and hold the"
    " pairs against them, as neardup audit does. Exit code 1 when the promise is broken.  [default: no audit]",
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
@options.voices
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    inputs: tuple[Path, ...],
    against: tuple[Path, ...],
    output: str | None,
    clusters: str | None,
    format: str | None,
    json: bool,
    audit: int | None,
    dry_run: bool,
    plot: str | None,
    quiet: bool,
    verbose: bool,
    **search: Any,
) -> None:
    """Find the near-duplicate pairs of a collection, and their clusters.

    INPUT is any mix of folders (one document a file), JSONL, CSV, TSV, Parquet and Arrow files, text files
    (one document each), each also compressed as .gz or .zst, glob patterns, and - for stdin.

    Pairs (id_a, id_b, similarity) go to stdout or to the file that -o names; everything else goes to stderr. With
    --measure containment they say too which one is part of the other (contained: a, b or both). What does not fit
    into --memory is worked on in files beside the output, and a run that was stopped goes on from there with --resume.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; a run that fails or is stopped leaves
    no half-written output.
    """
    check_voices(quiet=quiet, verbose=verbose)
    check_banding(search["slots"], search["bands"])
    check_exact(search, against)
    check_measure(search, audit=audit, dry_run=dry_run)
    if against and clusters is not None:
        raise click.UsageError("between two collections there are pairs and no clusters. Leave --clusters out.")
    if dry_run:
        from neardup.cli.dry import show_plan

        show_plan(ctx, inputs, against, search, json=json, quiet=quiet)
        return
    outputs = _outputs(
        (*inputs, *against),
        output=output,
        clusters=clusters,
        plot=plot,
        format=format,
        json=json,
        glob=search["glob"],
    )
    audited = _run(ctx, inputs, against, search, outputs, audit=audit, json=json, quiet=quiet, verbose=verbose)
    if audited is not None and audited.is_broken:
        ctx.exit(1)


def _outputs(
    inputs: tuple[Path, ...],
    *,
    output: str | None,
    clusters: str | None,
    plot: str | None,
    format: str | None,
    json: bool,
    glob: str | None,
) -> Outputs:
    """Decide where everything goes, and refuse at once what could not be written after hours of work.

    Raises:
        click.UsageError: two outputs meet, an output is an input, or a format is unknown.
        OutputError: a folder is missing or may not be written to.
    """
    from neardup.cli.targets import check_collisions, check_files
    from neardup.outputs.write import output_format

    pairs = output if output is not None or json else STDOUT
    if [pairs, clusters, STDOUT if json else None].count(STDOUT) > 1:
        raise click.UsageError("stdout can take one thing only. Give files with -o and --clusters.")
    file_format = None if format == "table" else format
    try:
        if plot is not None:
            working.check_plot(plot)
        outputs = Outputs(
            pairs,
            stdout_format(format) if pairs == STDOUT else pairs and output_format(pairs, format),
            clusters,
            clusters and output_format(clusters, file_format),
            plot,
        )
        check_collisions(inputs, outputs.files, glob=glob)
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc
    check_files(outputs.files)
    return outputs


def _run(
    ctx: click.Context,
    inputs: tuple[Path, ...],
    against: tuple[Path, ...],
    search: dict[str, Any],
    outputs: Outputs,
    *,
    audit: int | None,
    json: bool,
    quiet: bool,
    verbose: bool,
) -> Audit | None:
    from neardup.cli.progress import observer
    from neardup.cli.summary import tell
    from neardup.inputs.across import open_across

    search["against"] = against
    spec = working.make_spec(search)
    with ExitStack() as stack:
        with observer(quiet=quiet) as watching:
            stoppable = working.Stoppable(watching)
            reader = open_across(list(inputs), list(against) or None, **working.reading(search, spec))
            place = working.work_place(outputs.pairs)
            spec, choice = working.decided(ctx, reader, spec, search, place=place, observer=stoppable)
            run = working.open_run(
                reader,
                spec,
                search,
                place=place,
                task={"command": "find", "link": search["link"]},
                observer=stoppable,
            )
            run.choice = choice
            stack.enter_context(working.resumable_run(ctx, run, outputs.files))
            finding, audited = working.in_background(ctx, lambda: _find(run, search["link"], audit), stoppable)
        seconds = _write(ctx, run, finding, outputs)
        summary = finding.summary().as_dict()
        crowds = finding.crowds().to_pylist()
        faults = finding.faults
    lines: list[str] = []
    if audited is not None:
        from neardup.cli.audit_text import audit_lines

        summary["audit"] = audited.as_dict()
        lines = ["", *audit_lines(audited, files=[]), ""]
    tell(summary, crowds, faults, outputs.files, audit=lines, seconds=seconds, json=json, quiet=quiet, verbose=verbose)
    return audited


def _find(run: Run, link: str, audit: int | None) -> tuple[Finding, Audit | None]:
    if audit is None:
        return run.find(link), None
    from neardup.tasks.audit.audit import audit_search

    search = run.search()
    audited = audit_search(run, search, documents=audit)
    return run.finding(search, link), audited


def _write(ctx: click.Context, run: Run, finding: Finding, outputs: Outputs) -> float:
    """Write the tables, stdout and the figure; then all files get their names. Returns the seconds for the tables."""
    from neardup.outputs.atomic import AtomicFiles

    files = AtomicFiles()
    try:
        with files:
            seconds = _write_tables(finding, outputs, files, spec=run.spec.as_dict(), threshold=run.spec.threshold)
            if outputs.plot is not None:
                from neardup.tasks.figures.sheets import plot_finding

                plot_finding(finding, run, outputs.plot, files)
    finally:
        ctx.meta[WRITTEN] = outputs.files if files.are_named else []
    return seconds


def _write_tables(
    finding: Finding, outputs: Outputs, files: AtomicFiles, *, spec: dict[str, Any], threshold: float
) -> float:
    """Write what goes to files, then what goes to stdout; return the seconds it took."""
    from neardup.outputs.write import Output, write_table, write_tables

    start = time.perf_counter()
    pairs, clusters = finding.pairs(), finding.clusters() if outputs.clusters is not None else None
    tables = []
    if outputs.pairs not in (None, STDOUT):
        tables.append(Output(pairs, outputs.pairs, outputs.pairs_format))
    if outputs.clusters not in (None, STDOUT):
        tables.append(Output(clusters, outputs.clusters, outputs.clusters_format))
    write_tables(tables, spec=spec, files=files)
    try:
        if outputs.pairs == STDOUT and outputs.pairs_format == "table":
            from neardup.cli.summary import print_pairs

            with stdout_errors():
                print_pairs(pairs, threshold=threshold)
        elif outputs.pairs == STDOUT:
            write_table(pairs, STDOUT, format=outputs.pairs_format, spec=spec)
        if outputs.clusters == STDOUT:
            write_table(clusters, STDOUT, format=outputs.clusters_format, spec=spec)
    except BrokenPipeError:
        silence_stdout()  # the reader has seen enough; the files are complete, the summary follows
    for _ in pairs:
        pass  # where they were not all asked for: the summary counts them as they pass
    return time.perf_counter() - start
