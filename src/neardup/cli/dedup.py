"""``neardup dedup``: clean copies of a collection, and why each document that is missing there went.

What goes is decided in ``neardup.tasks.dedup``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup import params
from neardup.cli import WRITTEN, forms, options, passages_options, running, silence_stdout
from neardup.cli.options import STDOUT
from neardup.cli.voice import columns, usage_errors
from neardup.errors import InputError
from neardup.inputs.addresses import as_path, real_place
from neardup.params import ClusterOptions, InputOptions, RunOptions, SearchOptions

if TYPE_CHECKING:
    from neardup.cli.targets import Target
    from neardup.inputs.reader import Reader
    from neardup.outputs.atomic import AtomicFiles
    from neardup.tasks.dedup.run import Cleaning


def _alarm(value: Any) -> float:
    try:
        return params.check_share(float(value), "alarm")
    except ValueError as exc:  # InputError too
        raise InputError(f"alarm is {value}. Give a share from 0 to 1.") from exc


@forms.command(
    "dedup",
    "dedup docs.jsonl.gz -o clean.jsonl.gz --removed removed.csv",
    "dedup train/*.parquet --protect test.parquet -o clean/ --keep max:date --memory 4GB",
    "dedup train.jsonl --protect test.jsonl --overlap gpt3 -o clean.jsonl --removed leaked.csv",
    "dedup crawl.jsonl --passages first --snap sentence -o clean.jsonl --removed removed.csv --cuts cuts.csv",
)
@options.inputs
@click.option(
    "--output",
    "-o",
    metavar="OUTPUT",
    help="Place of the clean copies: a folder, which gets a copy of each input file; for a single input a file; or"
    " - for one stream on stdout.  [default: none, and required unless --dry-run is given]",
)
@options.preset
@options.measure
@options.threshold
@options.defaulted(
    "--keep",
    type=options.Checked("rule", params.Keep.parse),
    metavar="RULE",
    default=params.DEFAULT_KEEP,
    help="Which of a group of near-duplicates is kept: first, last, longest, shortest, or the one with the largest or"
    " smallest value: max:COLUMN, min:COLUMN. Ties go to the first. none: all members of a group are removed.",
)
@click.option(
    "--prefer",
    multiple=True,
    metavar="SOURCE",
    help="Input file, folder or pattern whose documents are kept rather than others, whatever --keep says. May be given"
    " several times, the most preferred first.  [default: none]",
)
@options.several_inputs(
    "--protect",
    type=click.Path(path_type=Path),
    help="Further input whose documents are never removed; near-duplicates of them are removed from the others. It"
    " is not copied, unless it is an INPUT too. May be given several times.  [default: none]",
)
@click.option(
    "--overlap",
    type=options.Checked("rule", params.Overlap.parse),
    metavar="RULE",
    help="Compare the documents with those of --protect only, by n-grams: gpt3, llama3 or dolma, rules that makers of"
    " language models have published; or N: one shared n-gram of N words is enough; char:N, byte:N the same. With"
    " :SHARE behind it, such as 13:0.5, that share of the words of a protected document must be in n-grams that the"
    " other has.  [default: compare documents with each other]",
)
@click.option(
    "--removed",
    metavar="FILE",
    help="File that says for each removed document its id, source and row, the document kept for it, their exact"
    " similarity, their cluster, and what decided; by containment or overlap also the longest passage that both share;"
    " .jsonl, .csv or .parquet.  [default: none is written]",
)
@options.with_text
@options.number(
    "--show",
    (1, None),
    help="Show N examples of removed documents, each with the one kept for it, on stderr before the summary: spread"
    " over all similarities, the least similar first, both texts from where they differ.  [default: none]",
)
@passages_options.inside
@click.option(
    "--annotate",
    is_flag=True,
    help="Remove nothing: copy everything, with columns cluster, keeper and similarity added.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Do everything but write the copies: the summary, and the file of --removed, say what would be removed. The"
    " plan of the run, as neardup plan makes it, comes before the summary.",
)
@options.defaulted(
    "--alarm",
    type=options.Checked("share", _alarm),
    metavar="SHARE",
    default=params.DEFAULT_ALARM,
    help="The summary has an alarm for each source that loses more than this share of its documents.",
)
@options.json_summary
@options.recall
@options.exact
@options.candidates_by
@options.verify
@options.shingle
@options.normalize
@options.crowd
@options.reading
@options.signatures
@options.working
@options.clustered
@options.voices
def dedup(
    *,
    ctx: click.Context,
    inputs: tuple[Path, ...],
    output: str | None,
    keep: params.Keep,
    prefer: tuple[str, ...],
    protect: tuple[Path, ...],
    overlap: params.Overlap | None,
    removed: str | None,
    with_text: bool | int,
    show: int | None,
    cuts: str | None,
    annotate: bool,
    dry_run: bool,
    alarm: float,
    search: SearchOptions,
    reading: InputOptions,
    run: RunOptions,
    cluster: ClusterOptions,
    voice: forms.Voice,
    **inside: Any,
) -> None:
    """Copy a collection without its near-duplicates, and say why each was removed.

    INPUT is any mix of folders (of all these), JSONL, CSV, TSV, Parquet, Arrow and .xlsx files and text files,
    each also compressed (.gz, .zst, .bz2, .xz, .lz4), and glob patterns. Each gets a copy of the same name, format and
    compression; what is kept is unchanged. Inputs are read twice, so stdin cannot be one. Inputs and outputs may be
    addresses, such as s3://bucket/raw.

    Documents are taken in the order of --protect, --prefer and --keep, then of the input: one that is
    still there is kept, and all near-duplicates found of it are removed. So each removed document has an exact
    similarity of at least the threshold to the one kept for it. Empty documents are kept. With --overlap only
    documents that overlap with a protected one are removed. With --passages, what repeats inside the documents that
    stay is cut out of their texts then.

    What does not fit into --memory is worked on in files beside the output, and a run that was stopped
    continues from there with --resume.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; a run that fails or is stopped leaves
    no half-written output.
    """
    from neardup import tuning
    from neardup.cli.plan_text import plan_lines
    from neardup.cli.summary import ALARM, clean_closing_line, clean_lines, example_lines, with_writing
    from neardup.outputs.atomic import AtomicFiles

    if output is None and not dry_run:
        raise click.UsageError("there is no place for the clean copies. Give -o, or --dry-run to write none.")
    if with_text is not False and removed is None:
        raise click.UsageError("--with-text is for the table of removals. Give --removed FILE too, or leave it out.")
    if show is not None and voice.quiet:
        raise click.UsageError("--show prints on stderr, and --quiet prints nothing there. Give one of them.")
    copies = None if dry_run else output
    passages_options.check_inside(ctx, inside["passages"], annotate=annotate, engine=cluster.engine)
    table, cut_table = _targets((*inputs, *protect), copies, (removed, cuts), json=voice.json, glob=reading.glob)
    if overlap is not None:
        for name in forms.typed(ctx, (*SearchOptions.names(), "keep", "prefer")):
            raise click.UsageError(f"--overlap decides what is compared, and what is removed. Leave --{name} out.")
        if not protect:
            raise click.UsageError("--overlap compares documents with protected ones. Name these with --protect.")
    elif keep.rule == "none" and prefer:
        raise click.UsageError("--keep none keeps no document rather than others. Leave --prefer out.")
    else:
        tuning.make_spec(search)  # contradictions are reported before kernels are loaded
    from neardup.cli.passages_text import step_rows
    from neardup.tasks.dedup.passage_step import PassageStep, cut_before, cut_passages
    from neardup.tasks.dedup.policy import Policy, check_policy, make_spec, open_protected
    from neardup.tasks.dedup.run import clean
    from neardup.tasks.plan.make import make_plan

    named = [*table.files, *cut_table.files]
    policy = Policy(keep, prefer)
    with usage_errors():
        spec = make_spec(search, overlap, policy, is_protected=bool(protect))
    reader, protected = open_protected(list(inputs), list(protect), reading, item=spec.shingle.kind == "item")
    if copies is not None:
        _check_copies(reader, copies, named)
    with usage_errors():
        step = PassageStep.of(inside)
    if step is not None:
        step.check(reader, spec, run)
    policy = replace(policy, protected=protected)
    check_policy(reader, policy)
    with ExitStack() as stack:
        with running.stoppable(ctx, quiet=voice.quiet) as observer:
            output, task = copies or removed, {"dedup": {**policy.facts(), "output": copies, "annotate": annotate}}
            plan = None
            if step is not None:
                task["dedup"]["passages"] = step.facts()
                place = running.work_place(output)
                how: dict[str, Any] = {"task": task, "spill_to": place, "in_background": observer.in_background}
                before = cut_before(reader, step, protected, running.placed(run, place), observer, **how)
                reader, run = stack.enter_context(before)
            if dry_run and reader.is_lasting and not spec.exact:
                plan = observer.in_background(
                    lambda: make_plan(reader, spec, run, target=search.recall, observer=observer)
                )
            how = {"output": output, "task": task, "files": named, "cluster": cluster}
            has_passages = removed is not None and spec.measure != params.DEFAULT_MEASURE
            how["keep_written"] = has_passages or with_text is not False or show is not None
            opened = running.open_run(observer, reader, spec, search, run, **how)
            work = stack.enter_context(opened)
            cleaning = observer.in_background(lambda: clean(work, policy))
            if step is not None:
                stack.enter_context(cut_passages(cleaning, step, observer.in_background))
            shown = [] if show is None else cleaning.examples(show).to_pylist()
            files = AtomicFiles()
            try:
                tables = [(cleaning.removals(with_text), table)] if table.name is not None else []
                if cleaning.cuts is not None and cut_table.name is not None:
                    tables.append((cleaning.cuts.table(), cut_table))
                seconds = _write(cleaning, copies, tables, files, annotate=annotate)
            finally:
                if files.are_named:
                    ctx.meta[WRITTEN] = [*named, *([] if copies is None else [copies])]
        told = cleaning.summary(alarm=alarm, dry_run=dry_run, annotated=annotate)
    sources = [{**asdict(source), "share": source.share} for source in told.sources]
    summary = forms.with_commands(ctx, with_writing({**told.as_dict(), "sources": sources}, seconds))
    planned = [] if plan is None else [*plan_lines(plan), ""]
    if plan is not None:
        summary["plan"] = plan.as_dict()
    if show is not None:
        summary["examples"] = shown
        planned += example_lines(shown, summary, width=columns(sys.stderr))
    named = [*_copies(copies, len(told.written)), *named]
    found = summary["passages"]
    rows = [] if found is None else step_rows(found, is_spared=dry_run)
    lines = clean_lines(summary, faults=work.provenance.faults, verbose=voice.verbose, passages=rows)
    voice.tell(summary, [*planned, *lines], clean_closing_line(summary, named), alarm=ALARM)


def _targets(
    inputs: tuple[Path, ...],
    copies: str | None,
    tables: tuple[str | None, str | None],
    *,
    json: bool,
    glob: str | Sequence[str] | None,
) -> tuple[Target, Target]:
    """Where the removals go, and the table of cuts.

    Refuses at once what could not be written after hours of work, as far as names tell.
    """
    from neardup.cli.targets import check_collisions, check_files, choose_beside, mend_and_tell

    cure = "Give files with -o, --removed and --cuts."
    removed, cuts = choose_beside(copies, tables, inputs, json=json, cure=cure)
    names = [*removed.files, *cuts.files]
    check_collisions(inputs, names, glob=glob)
    for name in names:
        if copies is not None:
            _check_apart(name, copies)
    if copies is not None and copies != STDOUT:
        mend_and_tell([copies, *names])
    check_files(names)
    return removed, cuts


def _check_apart(removed: str, copies: str) -> None:
    """Raise UsageError when the copies and the removals would be one file, or one lies in the place of the other."""
    first, second = as_path(real_place(removed)), as_path(real_place(copies))
    if first == second:
        raise click.UsageError(f"{removed} is named for two outputs. Give each a file of its own.")
    if second.startswith(os.path.join(first, "")):
        raise click.UsageError(f"{copies} would lie in {removed}, which is a file. Give another name.")


def _check_copies(reader: Reader, copies: str, tables: Sequence[str]) -> None:
    """Say before the search what stands in the way of the copies."""
    from neardup.tasks.rewrite.copy_names import plan_copies

    if not reader.is_lasting:
        raise InputError(
            "inputs are read twice, and a pipe or a device can be read once. Save it to a file, and give that."
        )
    with usage_errors():
        plan_copies(reader, copies)
    inside = os.path.join(as_path(real_place(copies)), "")
    for table in tables:
        for part in reader.written_parts if as_path(real_place(table)).startswith(inside) else ():
            if os.path.basename(part.name) == os.path.basename(table):
                raise click.UsageError(f"{table} could be the copy of the input {part.name}. Give another name.")


def _write(
    cleaning: Cleaning,
    copies: str | None,
    tables: Sequence[tuple[Any, Target]],
    files: AtomicFiles,
    *,
    annotate: bool,
) -> float:
    """Write the tables and the copies, and return the seconds that the tables took.

    All files are renamed into place together, the tables first, so that the copies never appear without their reasons.
    """
    from neardup.cli.targets import write_targets

    start, spec = time.perf_counter(), cleaning.run.spec
    with files:
        write_targets(tables, files, spec=spec.as_dict(), threshold=spec.threshold)
        seconds = time.perf_counter() - start
        try:
            if copies is not None:
                cleaning.write(copies, files, annotate=annotate)
            elif cleaning.policy.keep.column is not None:
                files.check_before(cleaning.reading.end)  # the column was read after the texts
        except BrokenPipeError:
            if copies != STDOUT:
                raise
            silence_stdout()
    return seconds


def _copies(output: str | None, count: int) -> list[str]:
    if output in (None, STDOUT):
        return []
    return [f"{output} ({count:,} files)" if count > 1 else str(output)]
