"""``neardup find``: near-duplicate pairs and clusters of a collection.

Here: the order of events of one run (check the outputs, search, write, tell) and where pairs go. The search
itself is ``neardup.find``; what is shown while it runs and afterwards is in ``progress`` and ``summary``.
"""

from __future__ import annotations

import json as jsonlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neardup.cli import WRITTEN, options, silence_stdout
from neardup.errors import InputError
from neardup.params import Bands

if TYPE_CHECKING:
    from neardup.result import Result

__all__ = ["command"]

STDOUT = "-"

Outcome = TypeVar("Outcome")


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
    stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; a run that fails or is
    stopped leaves no half-written file.
    """
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other. Give one of them.")
    _check_banding(search["slots"], search["bands"])
    plan = _plan(inputs, output=output, clusters=clusters, format=format, json=json, glob=search["glob"])
    result = _search(inputs, search, quiet=quiet)
    seconds = _write(ctx, result, plan)
    _tell(ctx, result, plan, seconds=seconds, json=json, quiet=quiet, verbose=verbose)


def _check_banding(slots: int | None, bands: Bands | None) -> None:
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


def _search(inputs: tuple[Path, ...], search: dict[str, Any], *, quiet: bool) -> Result:
    from neardup import api
    from neardup.cli.progress import observer

    block = search.pop("block_size")
    with observer(quiet=quiet) as watching:
        return _in_background(lambda: api.find(list(inputs), block=block, observer=watching, **search))


def _in_background(work: Callable[[], Outcome]) -> Outcome:
    """Run ``work`` in a thread and wait for it, so that this thread is free to hear Ctrl-C at once.

    A compiled kernel or a pool of threads would keep the main thread from seeing the signal until it returns.
    """
    from concurrent.futures import Future

    future: Future[Outcome] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as exc:
            future.set_exception(exc)

    threading.Thread(target=run, name="neardup-find", daemon=True).start()
    return future.result()


def _write(ctx: click.Context, result: Result, plan: Plan) -> float:
    """Write the files, then stdout; return the seconds it took."""
    from neardup.formats.write import Output, write_table, write_tables

    start = time.perf_counter()
    spec = result.spec.as_dict()
    files = []
    if plan.pairs not in (None, STDOUT):
        files.append(Output(result.pairs, plan.pairs, plan.pairs_format))
    if plan.clusters not in (None, STDOUT):
        files.append(Output(result.clusters, plan.clusters, plan.clusters_format))
    write_tables(files, spec=spec)
    ctx.meta[WRITTEN] = plan.files
    try:
        if plan.pairs == STDOUT and plan.pairs_format == "table":
            from neardup.cli.summary import print_pairs

            with _stdout_errors():
                print_pairs(result.pairs, threshold=result.spec.threshold)
        elif plan.pairs == STDOUT:
            write_table(result.pairs, STDOUT, format=plan.pairs_format, spec=spec)
        if plan.clusters == STDOUT:
            write_table(result.clusters, STDOUT, format=plan.clusters_format, spec=spec)
    except BrokenPipeError:
        silence_stdout()  # the reader has seen enough; the files are complete, the summary follows
    return time.perf_counter() - start


@contextmanager
def _stdout_errors() -> Iterator[None]:
    """Turn a system error met while printing into an OutputError; a closed pipe stays what it is."""
    from neardup.formats.atomic import output_error

    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise output_error("stdout", exc) from exc


def _tell(
    ctx: click.Context, result: Result, plan: Plan, *, seconds: float, json: bool, quiet: bool, verbose: bool
) -> None:
    from neardup.cli.summary import closing_line, summary_lines, with_writing

    summary = with_writing(result.summary.as_dict(), seconds)
    if json:
        with _stdout_errors():
            click.echo(jsonlib.dumps(summary, ensure_ascii=False, indent=2))
    if quiet:
        return
    if not json:
        crowds = result.crowds.to_pylist()
        lines = summary_lines(summary, crowds=crowds, faults=result.faults, files=plan.files, verbose=verbose)
        click.echo("\n".join(lines), err=True)
    click.echo(closing_line(summary), err=True)
