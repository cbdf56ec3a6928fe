"""``neardup find``: near-duplicate pairs and clusters of a collection.

Here: the order of events of one run (check the outputs, search, write, tell) and where pairs go. The search
itself is in ``neardup.runs``; how a run is set up and ended is in ``working``, what is shown in ``progress`` and
``summary``.
"""

from __future__ import annotations

import json as jsonlib
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import WRITTEN, options, silence_stdout
from neardup.cli.working import STDOUT
from neardup.errors import InputError
from neardup.params import Bands

if TYPE_CHECKING:
    from neardup.runs import Finding

__all__ = ["check_banding", "check_voices", "command", "stdout_errors"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the pairs and the clusters go and how; all of it checked before the search begins."""

    pairs: str | None
    """A file, ``-`` for stdout, or None when pairs are not written (--json without -o)."""
    pairs_format: str | None
    clusters: str | None
    clusters_format: str | None

    @property
    def files(self) -> list[str]:
        """The outputs that are files."""
        return [name for name in (self.pairs, self.clusters) if name not in (None, STDOUT)]


@click.command(
    "find",
    epilog="\b\nExamples:\n"
    "  neardup find corpus/ --shingle word:3 -t 0.7\n"
    "  neardup find docs.jsonl.gz -t 0.8 -o pairs.parquet --clusters clusters.csv",
)
@options.inputs
@options.threshold
@options.recall
@options.shingle
@options.normalize
@options.output
@options.clusters
@options.output_format
@options.json_summary
@options.link
@options.collapse_exact
@options.crowd
@options.text_column
@options.id_column
@options.glob
@options.encoding
@options.on_bad
@options.input_format
@options.slots
@options.bands
@options.sketch
@options.seed
@options.threads
@options.block_size
@options.memory
@options.workdir
@options.resume
@options.quiet
@options.verbose
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    inputs: tuple[Path, ...],
    output: str | None,
    clusters: str | None,
    format: str | None,
    json: bool,
    quiet: bool,
    verbose: bool,
    **search: Any,
) -> None:
    """Find the near-duplicate pairs of a collection, and their clusters.

    INPUT is any mix of folders (one document a file), JSONL, CSV, TSV, Parquet and Arrow files, text files
    (one document each), each also compressed as .gz or .zst, glob patterns, and - for stdin.

    Pairs (id_a, id_b, similarity) go to stdout or to the file that -o names; everything else goes to
    stderr. What does not fit into --memory is worked on in files beside the output, and a run that was
    stopped goes on from there with --resume.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; a run that fails or is stopped leaves
    no half-written output.
    """
    check_voices(quiet=quiet, verbose=verbose)
    check_banding(search["slots"], search["bands"])
    plan = _plan(inputs, output=output, clusters=clusters, format=format, json=json, glob=search["glob"])
    _run(ctx, inputs, search, plan, json=json, quiet=quiet, verbose=verbose)


def check_voices(*, quiet: bool, verbose: bool) -> None:
    """Raise UsageError when silence and details are both asked for."""
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other. Give one of them.")


def check_banding(slots: int | None, bands: Bands | None) -> None:
    """Raise UsageError when the bands need more slots than there are to be."""
    if slots is not None and bands is not None and bands.slots > slots:
        raise click.UsageError(
            f"--bands {bands} needs {bands.slots} slots and --slots is {slots}. Leave --slots out, or raise it."
        )


def _plan(
    inputs: tuple[Path, ...],
    *,
    output: str | None,
    clusters: str | None,
    format: str | None,
    json: bool,
    glob: str | None,
) -> Plan:
    """Decide where everything goes, and refuse at once what could not be written after hours of work.

    Raises:
        click.UsageError: two outputs meet, an output is an input, or a format is unknown.
        OutputError: a folder is missing or may not be written to.
    """
    from neardup.cli.targets import check_collisions
    from neardup.formats.atomic import check_target
    from neardup.formats.write import output_format

    pairs = output if output is not None or json else STDOUT
    if [pairs, clusters, STDOUT if json else None].count(STDOUT) > 1:
        raise click.UsageError("stdout can take one thing only. Give files with -o and --clusters.")
    file_format = None if format == "table" else format
    try:
        plan = Plan(
            pairs,
            _stdout_format(format) if pairs == STDOUT else pairs and output_format(pairs, format),
            clusters,
            clusters and output_format(clusters, file_format),
        )
        check_collisions(inputs, plan.files, glob=glob)
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc
    for name in plan.files:
        check_target(name)
    return plan


def _stdout_format(format: str | None) -> str:
    terminal = sys.stdout is not None and sys.stdout.isatty()
    if format == "parquet" and terminal:
        raise click.UsageError("Parquet is not for a terminal. Give a file with -o.")
    return format or ("table" if terminal else "jsonl")


def _run(
    ctx: click.Context,
    inputs: tuple[Path, ...],
    search: dict[str, Any],
    plan: Plan,
    *,
    json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    from neardup.cli import working
    from neardup.cli.progress import observer
    from neardup.formats import open_inputs

    spec = working.make_spec(search)
    with ExitStack() as stack:
        with observer(quiet=quiet) as watching:
            stoppable = working.Stoppable(watching)
            run = working.open_run(
                open_inputs(list(inputs), **working.reading(search, spec)),
                spec,
                search,
                place=working.work_place(plan.pairs),
                task={"command": "find", "link": search["link"]},
                observer=stoppable,
            )
            stack.enter_context(working.kept(ctx, run, plan.files))
            finding = working.in_background(ctx, lambda: run.find(search["link"]), stoppable)
        seconds = _write(ctx, finding, plan, spec=spec.as_dict(), threshold=spec.threshold)
        summary = finding.summary().as_dict()
        crowds = finding.crowds().to_pylist()
        faults = finding.faults
    _tell(summary, crowds, faults, plan, seconds=seconds, json=json, quiet=quiet, verbose=verbose)


def _write(ctx: click.Context, finding: Finding, plan: Plan, *, spec: dict[str, Any], threshold: float) -> float:
    """Write the files, then stdout; return the seconds it took."""
    from neardup.formats.write import Output, write_table, write_tables

    start = time.perf_counter()
    pairs, clusters = finding.pairs(), finding.clusters() if plan.clusters is not None else None
    files = []
    if plan.pairs not in (None, STDOUT):
        files.append(Output(pairs, plan.pairs, plan.pairs_format))
    if plan.clusters not in (None, STDOUT):
        files.append(Output(clusters, plan.clusters, plan.clusters_format))
    write_tables(files, spec=spec)
    ctx.meta[WRITTEN] = plan.files
    try:
        if plan.pairs == STDOUT and plan.pairs_format == "table":
            from neardup.cli.summary import print_pairs

            with stdout_errors():
                print_pairs(pairs, threshold=threshold)
        elif plan.pairs == STDOUT:
            write_table(pairs, STDOUT, format=plan.pairs_format, spec=spec)
        if plan.clusters == STDOUT:
            write_table(clusters, STDOUT, format=plan.clusters_format, spec=spec)
    except BrokenPipeError:
        silence_stdout()  # the reader has seen enough; the files are complete, the summary follows
    for _ in pairs:
        pass  # where they were not all asked for: the summary counts them as they pass
    return time.perf_counter() - start


@contextmanager
def stdout_errors() -> Iterator[None]:
    """Turn a system error met while printing into an OutputError; a closed pipe stays what it is."""
    from neardup.formats.atomic import output_error

    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise output_error("stdout", exc) from exc


def _tell(
    summary: dict[str, Any],
    crowds: list[dict[str, Any]],
    faults: Sequence[object],
    plan: Plan,
    *,
    seconds: float,
    json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    from neardup.cli.summary import closing_line, summary_lines, with_writing

    summary = with_writing(summary, seconds)
    if json:
        with stdout_errors():
            click.echo(jsonlib.dumps(summary, ensure_ascii=False, indent=2))
    if quiet:
        return
    if not json:
        lines = summary_lines(summary, crowds=crowds, faults=faults, files=plan.files, verbose=verbose)
        click.echo("\n".join(lines), err=True)
    click.echo(closing_line(summary), err=True)
