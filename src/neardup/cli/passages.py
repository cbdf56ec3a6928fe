"""``neardup passages``: what is repeated inside documents, and the collection without it.

What is found and cut is in ``neardup.tasks.repeats``, pages and ``neardup.passages`` in ``neardup.tasks.passages``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup._version import __version__
from neardup.cli import WRITTEN, forms, options, passages_options, running, silence_stdout
from neardup.cli.options import STDOUT
from neardup.cli.voice import usage_errors
from neardup.params import LOCAL, ClusterOptions, InputOptions, Normalize, Preset, RunOptions

if TYPE_CHECKING:
    from neardup.cli.targets import Target
    from neardup.engine.repeats.near import NearRepeats

LENGTH = ("unit", "span", "min_bytes", "min_words", "min_chars", "threshold", "shingle")
"""Options that say what a passage is."""
CUTTING = ("snap", "min_cut", "min_left")
"""Options that say how it is cut."""
LOCAL_ONLY: tuple[str, ...] = ("unit", "span", "threshold", "shingle", "against", "ignore", "group_by", "min_count")
LOCAL_ONLY += ("min_docs", "min_share", "gaps", "min_match", "min_similarity", "second_pass", "report")
"""Options that a cluster has no part for."""


@forms.command(
    "passages",
    "passages docs.jsonl -o spans.jsonl",
    "passages issues/ --min-chars 200 --gaps 150 --normalize casefold,space -o reprints.csv",
    "passages crawl/ --min-bytes 200 -o spans.parquet --memory 4GB",
    "passages crawl/ --unit line --min-chars 20 -o lines.csv",
    "passages docs.jsonl --preset c4 -o clean.jsonl",
    "passages docs.jsonl --cut first --snap sentence -o clean.jsonl --spans spans.csv --cuts cuts.csv",
    "passages train.jsonl --against test.jsonl --min-words 13 -o contaminated.csv",
    "passages crawl/ --group-by folder:1 --min-share 0.05 --cut none --snap line -o clean/",
    "passages docs.jsonl --report passages.html",
)
@options.inputs
@passages_options.compared
@passages_options.selected
@passages_options.changed
@passages_options.written
@options.json_summary
@options.reading
@options.working
@options.clustered
@options.voices
def passages(
    *,
    ctx: click.Context,
    inputs: tuple[Path, ...],
    preset: Preset | None,
    normalize: Normalize | str,
    against: tuple[Path, ...],
    ignore: tuple[str, ...],
    output: str | None,
    cut: str | None,
    spans: str | None,
    cuts: str | None,
    second_pass: bool,
    report: str | None,
    reading: InputOptions,
    run: RunOptions,
    cluster: ClusterOptions,
    voice: forms.Voice,
    **wanted: Any,
) -> None:
    """Find the passages that stand at two or more places of a collection, and cut the copies.

    A passage is a stretch of at least --min-bytes bytes inside one document, or of so many words or characters; or,
    with --unit, a run of whole lines, sentences or paragraphs. All that repeat are found, and compared byte for byte,
    or unit for unit: in one document or in several, whatever stands around them. Which place is the first goes by the
    order of the input.

    INPUT is as for neardup find. The table has one row for each span: id, start and end (characters; bytes too), an
    earlier place of the same text, how often it stands, in how many documents, and whether it is the first.

    --against finds only what stands in a second collection, such as a benchmark; --group-by and --min-share find the
    boilerplate of each site; --ignore leaves a template out.

    With --cut the inputs are copied, as neardup dedup does it, and only the texts that lose something differ: every
    other field, document and byte stays. Inputs are then read twice, so stdin cannot be one. JSONL, CSV, TSV, Parquet,
    Arrow and text files can be written so.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; a run that fails or is stopped leaves
    no half-written output.
    """
    if preset is not None and output is None and "cut" in preset.options:  # a look before anything is cut
        cut = None
        preset = replace(preset, options={name: value for name, value in preset.options.items() if name != "cut"})
    if cut is None:
        for name in forms.typed(ctx, (*CUTTING, "spans", "cuts", "second_pass")):
            raise click.UsageError(f"--{name.replace('_', '-')} is for what is cut. Give --cut too, or leave it out.")
    for name in forms.typed(ctx, LOCAL_ONLY) if cluster.engine != LOCAL else ():
        named = f"--{name.replace('_', '-')}"
        raise click.UsageError(f"{named}: a cluster does not do this. Leave it out, or --engine {cluster.engine}.")
    from neardup.cli.passages_text import WARNING, passage_closing, passage_lines
    from neardup.cli.targets import check_page, write_targets
    from neardup.outputs.atomic import AtomicFiles

    read = (*inputs, *against, *map(Path, ignore))
    tables, files = _targets(
        inputs, output, spans, cuts, read=read, is_cut=cut is not None, json=voice.json, glob=reading.glob
    )
    if report is not None:
        files += check_page(read, report, files, glob=reading.glob)
    from neardup.tasks.repeats.chains import Changes, passage_run  # imported after the checks, because it loads kernels
    from neardup.tasks.repeats.copies import check_copies, write_cut_copies
    from neardup.tasks.repeats.decided import DecidedCuts
    from neardup.tasks.repeats.groups import top_groups
    from neardup.tasks.repeats.overview import losers, most_cut, top_passages
    from neardup.tasks.repeats.selection import Selection
    from neardup.tasks.repeats.unit_runs import cutting_of, length_of

    begin = time.perf_counter()
    page = clustered = None
    with usage_errors():
        length = length_of(**{name: wanted[name] for name in LENGTH})
        changes = Changes.of(length, *(wanted[name] for name in ("gaps", "min_match", "min_similarity")))
        selection = Selection.of({**wanted, "against": list(against) or None, "ignore": ignore})
    with ExitStack() as stack:
        with running.stoppable(ctx, quiet=voice.quiet) as observer:
            reader = selection.open(list(inputs), reading)
            task = {} if cut is None else {"output": output}
            place = running.work_place(output)
            steps = Normalize.parse(normalize)
            with usage_errors():
                cutting = cutting_of(length, cut or "first", **{name: wanted[name] for name in CUTTING})
            if cut is not None:
                with usage_errors():
                    check_copies(reader, str(output), [name for table in tables for name in table.files])
            if cluster.engine == LOCAL:
                run = running.placed(run, place)
                more = {"spill_to": place, "selection": selection, "near": _near(wanted["threshold"])}
                work = passage_run(changes, reader, length, run, observer, steps, task, **more)
                stack.enter_context(work)
                running.note_work(ctx, work, run, files)
            else:
                from neardup.spark.repeats.opening import open_passage_run

                how: dict[str, Any] = {"normalize": steps, "task": task, "observer": observer}
                opened = observer.in_background(lambda: open_passage_run(reader, length, run, cluster, **how))
                work = clustered = stack.enter_context(opened)
                running.note_work(ctx, work, run, files, storage=clustered.storage)
            decided = again = None
            if cut is None:
                observer.in_background(work.find)
            else:
                decided = observer.in_background(lambda: DecidedCuts(work, cutting))
                again = observer.in_background(decided.second_pass) if second_pass else None
        spec = {"command": "passages", **work.wanted, "version": __version__}
        if decided is not None:
            spec |= asdict(decided.cutting)
        together = AtomicFiles()
        try:
            with together:
                written = [(work.spans(), tables[0])] if tables[0].name is not None else []
                if decided is not None and tables[1].name is not None:
                    written.append((decided.table(), tables[1]))
                write_targets(written, together, spec=spec, threshold=1.0)
                if decided is not None:
                    try:
                        write_cut_copies(work, decided, str(output), together)
                    except BrokenPipeError:
                        if output != STDOUT:
                            raise
                        silence_stdout()
                if report is not None:
                    from neardup.tasks.passages.page import write_page

                    page = write_page(work, cutting, report, is_cut=cut is not None)
        finally:
            ctx.meta[WRITTEN] = files if together.are_named else []
        summary = {
            **work.summary().as_dict(),
            "preset": None if preset is None else preset.as_dict(),
            "blank": work.provenance.blank,
            "passed_over": [asdict(each) for each in reader.passed_over],
            "columns": [asdict(each) for each in reader.columns],
            "top_passages": top_passages(work),
            "most_repeated": losers(work, "first") if decided is None else most_cut(work, [decided.losses()]),
            "top_groups": top_groups(work),
            "cut": None if decided is None else decided.facts(),
            "second_pass": again,
            "report": None if page is None else {"path": str(page.path), "files": page.files, "bytes": page.bytes},
            **({} if clustered is None else clustered.engine_facts()),
            "seconds": round(time.perf_counter() - begin, 4),
        }
    lines = passage_lines(summary, faults=work.provenance.faults)
    voice.tell(summary, lines, passage_closing(summary, files), alarm=WARNING)


def _near(threshold: float | None) -> Callable[..., NearRepeats] | None:
    """What finds near-duplicate units, where these are asked for: it loads all of a search and a clean-up."""
    if threshold is None:
        return None
    from neardup.tasks.passages.near_units import find_near

    return find_near


def _targets(
    inputs: tuple[Path, ...],
    output: str | None,
    spans: str | None,
    cuts: str | None,
    *,
    read: Sequence[Path],
    is_cut: bool,
    json: bool,
    glob: str | Sequence[str] | None,
) -> tuple[tuple[Target, Target], list[str]]:
    """Where the tables of spans and of cuts go, and all names that are written; what cannot be is refused at once.

    ``read`` has all that is read: nothing is written over it.
    """
    from neardup.cli.targets import check_collisions, check_targets, choose_beside, mend_and_tell

    if is_cut and output is None:
        raise click.UsageError("there is no place for the clean copies. Give -o.")
    cure = "Give files with -o, --spans and --cuts."
    place, names = (output, (spans, cuts)) if is_cut else (None, (output, cuts))
    first, second = choose_beside(place, names, inputs, json=json, cure=cure)
    tables = [*first.files, *second.files]
    copies = [str(output)] if is_cut and output != STDOUT else []
    check_targets(read, tables, glob=glob)
    if copies and not os.path.isdir(copies[0]):
        check_collisions(read, [*copies, *tables], glob=glob)
    mend_and_tell(copies)
    return (first, second), [*tables, *copies]
