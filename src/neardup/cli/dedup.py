"""``neardup dedup``: clean copies of a collection, and why each document that is missing there went.

Here: the options that no other command has, and the order of events of one run: check the outputs, search and choose,
write the table of removals and then the copies, tell. What goes is decided in ``neardup.tasks.dedup``.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup import params
from neardup.cli import WRITTEN, options, silence_stdout
from neardup.cli.checks import check_banding, check_exact, check_voices, stdout_errors
from neardup.cli.voice import print_json, say
from neardup.cli.working import STDOUT
from neardup.errors import InputError

if TYPE_CHECKING:
    from neardup.inputs.reader import Reader
    from neardup.outputs.atomic import AtomicFiles
    from neardup.params import Spec
    from neardup.tasks.dedup.run import Cleaning

__all__ = ["command"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is written where; checked before the search begins."""

    output: str | None
    """A folder, a file, ``-`` for stdout, or None under --dry-run."""
    removed: str | None
    """A file, ``-`` for stdout, or None."""
    removed_format: str | None
    annotate: bool
    dry_run: bool
    alarm: float

    @property
    def files(self) -> list[str]:
        """The table of removals, if it goes to a file."""
        return [self.removed] if self.removed not in (None, STDOUT) else []


def _alarm(value: Any) -> float:
    try:
        return params.check_share(float(value), "alarm")
    except ValueError as exc:  # InputError too
        raise InputError(f"alarm is {value}. Give a share from 0 to 1.") from exc


@click.command(
    "dedup",
    cls=options.ExactCommand,
    epilog="\b\nExamples:\n"
    "  neardup dedup docs.jsonl.gz -o clean.jsonl.gz --removed removed.csv\n"
    "  neardup dedup train/*.parquet --protect test.parquet -o clean/ --keep max:date --memory 4GB",
)
@options.inputs
@click.option(
    "--output",
    "-o",
    metavar="OUTPUT",
    help="Where the clean copies go: a folder, which gets a copy of each input file; for a single input a file; or"
    " - for one stream on stdout.  [default: none, and required unless --dry-run is given]",
)
@options.threshold
@click.option(
    "--keep",
    type=options.Checked("rule", params.Keep.parse),
    metavar="RULE",
    default=params.DEFAULT_KEEP,
    show_default=True,
    help="Which of a group of near-duplicates stays: first, last, longest, shortest, or the one of the largest or"
    " smallest value: max:COLUMN, min:COLUMN. Ties go to the first.",
)
@click.option(
    "--prefer",
    multiple=True,
    metavar="SOURCE",
    help="Input file, folder or pattern whose documents stay rather than others, whatever --keep says. May be given"
    " several times, the most preferred first.  [default: none]",
)
@click.option(
    "--protect",
    multiple=True,
    metavar="INPUT",
    type=click.Path(path_type=Path),
    help="Further input, none of whose documents is removed: those of the others that are near to them are. It is"
    " not copied, unless it is an INPUT too. May be given several times.  [default: none]",
)
@click.option(
    "--removed",
    metavar="FILE",
    help="File that tells of each removed document its id, source and row, the document kept for it, their exact"
    " similarity, their cluster, and what decided; .jsonl, .csv or .parquet.  [default: none is written]",
)
@click.option(
    "--annotate",
    is_flag=True,
    help="Remove nothing: copy everything, with columns cluster, keeper and similarity added.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Do everything but write the copies: the summary, and the file of --removed, say what would go. The plan of"
    " the run, as neardup plan makes it, comes before the summary.",
)
@click.option(
    "--alarm",
    type=options.Checked("share", _alarm),
    metavar="SHARE",
    default=params.DEFAULT_ALARM,
    show_default=True,
    help="The summary sounds an alarm for each source that loses more than this share of its documents.",
)
@options.json_summary
@options.recall
@options.exact
@options.verify
@options.shingle
@options.normalize
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
    output: str | None,
    removed: str | None,
    annotate: bool,
    dry_run: bool,
    alarm: float,
    json: bool,
    quiet: bool,
    verbose: bool,
    **search: Any,
) -> None:
    """Copy a collection without its near-duplicates, and say why each document went.

    INPUT is any mix of folders (one document a file), JSONL, CSV, TSV, Parquet and Arrow files and text files,
    each also compressed as .gz or .zst, and glob patterns. Each gets a copy of the same name, format and
    compression; what stays is untouched. Inputs are read twice, so stdin cannot be one.

    Documents are taken in the order of --protect, --prefer and --keep, then of the input: one that is still
    there is kept, and all those found near to it go. So each that goes has an exact similarity of at least
    the threshold to the one kept for it. Empty documents stay.

    What does not fit into --memory is worked on in files beside the output, and a run that was stopped goes
    on from there with --resume.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; a run that fails or is stopped leaves
    no half-written output.
    """
    check_voices(quiet=quiet, verbose=verbose)
    check_banding(search["slots"], search["bands"])
    check_exact(search)
    plan = _plan(
        (*inputs, *search["protect"]),
        Plan(output, removed, None, annotate, dry_run, alarm),
        json=json,
        glob=search["glob"],
    )
    _run(ctx, inputs, search, plan, json=json, quiet=quiet, verbose=verbose)


def _plan(inputs: tuple[Path, ...], asked: Plan, *, json: bool, glob: str | None) -> Plan:
    """Refuse at once what could not be written after hours of work, as far as names tell.

    Raises:
        click.UsageError: two outputs meet, an output is an input, or a format is unknown.
        OutputError: the folder of the removals is missing or may not be written to.
    """
    from neardup.cli.targets import check_collisions, check_files, mend_and_tell
    from neardup.outputs.write import output_format

    output = None if asked.dry_run else asked.output
    if asked.output is None and not asked.dry_run:
        raise click.UsageError("there is no place for the clean copies. Give -o, or --dry-run to write none.")
    if [output, asked.removed, STDOUT if json else None].count(STDOUT) > 1:
        raise click.UsageError("stdout can take one thing only. Give files with -o and --removed.")
    if STDOUT in map(str, inputs) and not asked.dry_run:
        raise click.UsageError("inputs are read twice, and stdin can be read once. Save it to a file, and give that.")
    try:
        removed_format = asked.removed and output_format(asked.removed, None)
        if asked.removed not in (None, STDOUT):
            check_collisions(inputs, [asked.removed], glob=glob)
            _check_apart(asked.removed, output)
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc
    plan = Plan(output, asked.removed, removed_format, asked.annotate, asked.dry_run, asked.alarm)
    if output not in (None, STDOUT):
        mend_and_tell([output, *plan.files])
    check_files(plan.files)
    return plan


def _check_apart(removed: str, output: str | None) -> None:
    """Raise InputError when the copies and the removals would be one file, or one lies in the place of the other."""
    if output is None:
        return
    table, copies = os.path.realpath(removed), os.path.realpath(output)
    if table == copies:
        raise InputError(f"{removed} is named for two outputs. Give each a file of its own.")
    if copies.startswith(os.path.join(table, "")):
        raise InputError(f"{output} would lie in {removed}, which is a file. Give another name.")


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
    from neardup.cli.dry import make_plan
    from neardup.cli.plan_text import plan_lines
    from neardup.cli.progress import observer
    from neardup.tasks.dedup.policy import Policy, check_policy, open_protected
    from neardup.tasks.dedup.run import clean

    spec = working.make_spec(search)
    reader, protected = open_protected(list(inputs), list(search["protect"]), **working.reading(search, spec))
    _check_copies(reader, plan)
    policy = Policy(search["keep"], search["prefer"], protected)
    check_policy(reader, policy)
    with ExitStack() as stack:
        with observer(quiet=quiet) as watching:
            stoppable = working.Stoppable(watching)
            place = working.work_place(plan.output or plan.removed)
            planned = None
            if plan.dry_run and reader.is_lasting and not spec.exact:
                planned = working.in_background(ctx, lambda: make_plan(reader, spec, search, stoppable), stoppable)
            spec, choice = working.decided(ctx, reader, spec, search, place=place, observer=stoppable)
            run = working.open_run(
                reader,
                spec,
                search,
                place=place,
                task={"dedup": {**policy.facts(), "output": plan.output, "annotate": plan.annotate}},
                observer=stoppable,
            )
            run.choice = choice
            stack.enter_context(working.resumable_run(ctx, run, plan.files))
            cleaning = working.in_background(ctx, lambda: clean(run, policy), stoppable)
            seconds = _write(ctx, cleaning, plan, spec)
        told = cleaning.summary(alarm=plan.alarm, dry_run=plan.dry_run, annotated=plan.annotate)
        summary = _as_dict(told)
        if planned is not None:
            summary["plan"] = planned.as_dict()
        faults = run.ledger.faults
    if planned is not None and not (quiet or json):
        say(*plan_lines(planned, inputs=[], options=[]), "")
    _tell(summary, faults, plan, seconds=seconds, json=json, quiet=quiet, verbose=verbose)


def _check_copies(reader: Reader, plan: Plan) -> None:
    """Say before the search what stands in the way of the copies.

    Raises:
        click.UsageError: the output cannot hold copies of these inputs, or would replace one.
        OutputError: its folder is missing.
    """
    from neardup.tasks.dedup.rewrite.collection import plan_copies

    if plan.output is None:
        return
    if not reader.is_lasting:
        raise InputError(
            "inputs are read twice, and a pipe or a device can be read once. Save it to a file, and give that."
        )
    try:
        plan_copies(reader, plan.output)
        _check_table(reader, plan.output, plan.removed)
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc


def _check_table(reader: Reader, output: str, removed: str | None) -> None:
    """Raise InputError when a copy in the folder of the copies would have the name of the table of removals."""
    if removed is None or not os.path.realpath(removed).startswith(os.path.join(os.path.realpath(output), "")):
        return
    for part in reader.written_parts:
        if os.path.basename(part.name) == os.path.basename(removed):
            raise InputError(f"{removed} could be the copy of the input {part.name}. Give another name.")


def _write(ctx: click.Context, cleaning: Cleaning, plan: Plan, spec: Spec) -> float:
    """Write the removals and the copies, which get their names together, the removals first, so that whoever sees the
    copies has the reasons; seconds for the removals."""
    from neardup.outputs.atomic import AtomicFiles
    from neardup.outputs.write import Output, write_tables

    start = time.perf_counter()
    table = []
    if plan.removed is not None:
        table = [Output(cleaning.removals(), plan.removed, plan.removed_format)]
    files = AtomicFiles()
    try:
        with files:
            try:
                write_tables(table, spec=spec.as_dict(), files=files)
            except BrokenPipeError:
                silence_stdout()  # the reader has seen enough; the copies and the summary follow
            seconds = time.perf_counter() - start
            if plan.output is not None:
                _write_copies(cleaning, plan.output, files, annotate=plan.annotate)
            elif cleaning.policy.keep.column is not None:
                files.check_before(cleaning.check_inputs)  # the column was read after the texts
    finally:
        if files.are_named:
            ctx.meta[WRITTEN] = [*plan.files, *([] if plan.output is None else [plan.output])]
    return seconds


def _write_copies(cleaning: Cleaning, output: str, files: AtomicFiles, *, annotate: bool) -> None:
    try:
        cleaning.write(output, files, annotate=annotate)
    except BrokenPipeError:
        if output != STDOUT:
            raise
        silence_stdout()


def _as_dict(summary: Any) -> dict[str, Any]:
    """The summary as plain JSON values, with the share that each source lost."""
    plain: dict[str, Any] = summary.as_dict()
    shares = [source.share for source in summary.sources]
    plain["sources"] = [{**source, "share": share} for source, share in zip(plain["sources"], shares, strict=True)]
    return plain


def _tell(
    summary: dict[str, Any],
    faults: list[Any],
    plan: Plan,
    *,
    seconds: float,
    json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    from neardup.cli.summary import ALARM, clean_closing_line, clean_lines, with_writing

    summary = with_writing(summary, seconds)
    if json:
        with stdout_errors():
            print_json(summary)
    if quiet:
        return
    if not json:
        files = [*_copies(plan.output, len(summary["written"])), *plan.files]
        for line in clean_lines(summary, faults=faults, files=files, verbose=verbose):
            say(line, fg="red" if line.startswith(ALARM) else None)
    say(clean_closing_line(summary))


def _copies(output: str | None, count: int) -> list[str]:
    if output in (None, STDOUT):
        return []
    return [f"{output} ({count:,} files)" if count > 1 else str(output)]
