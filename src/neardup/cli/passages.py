"""``neardup passages``: what is repeated inside documents, and the collection without it.

What is found and cut is in ``neardup.tasks.passages``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neardup._version import __version__
from neardup.cli import WRITTEN, forms, options, running, silence_stdout
from neardup.cli.options import STDOUT
from neardup.cli.voice import usage_errors
from neardup.errors import InputError
from neardup.params import (
    DEFAULT_SHINGLE,
    PIPELINES,
    InputOptions,
    Normalize,
    Preset,
    RunOptions,
    Shingle,
    check_preset,
    check_share,
    check_threshold,
    pipelines_help,
)

if TYPE_CHECKING:
    from neardup.cli.targets import Target

POLICIES = ("first", "first-greedy", "none", "other-documents")
SNAPS = ("char", "word", "line", "sentence")
UNITS = ("line", "sentence", "paragraph")
"""As ``neardup.passages`` has them. These are written here so that the help loads no numpy; a test compares them."""


def _share(value: object) -> float:
    try:
        return check_share(float(str(value)), "min_share")
    except ValueError as exc:  # InputError too
        raise InputError(f"min_share is {value}. Give a share from 0 to 1.") from exc


def _similarity(value: object) -> float:
    try:
        return check_share(float(str(value)), "min_similarity")
    except ValueError as exc:
        raise InputError(f"min_similarity is {value}. Give a number from 0.3 to 1.") from exc


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
@click.option(
    "--preset",
    "preset",
    type=options.Checked("pipeline", partial(check_preset, option="preset", names=PIPELINES)),
    metavar="PIPELINE",
    help="What a known pipeline did with repeated lines and sentences, in place of the defaults. Options given with it"
    f" win, and --cut is only set with -o. {pipelines_help()}.  [default: none]",
)
@click.option(
    "--unit",
    type=click.Choice(UNITS),
    help="Compare whole lines, sentences or paragraphs: a passage is then a run of --span of them. A paragraph ends at"
    " a blank line. Sentences need neardup[sentences].  [default: passages begin and end anywhere]",
)
@click.option(
    "--span",
    type=options.whole("span", 1, 1000),
    metavar="N",
    help="With --unit: lines, sentences or paragraphs of the shortest passage.  [default: 1]",
)
@click.option(
    "--threshold",
    "-t",
    type=options.Checked("number", check_threshold),
    metavar="T",
    help="With --unit: near-duplicates from this similarity on, one by one, in place of equal units. They are found as"
    " neardup dedup finds documents; the table has the similarity to the first one of a group.  [default: equal units]",
)
@click.option(
    "--shingle",
    type=options.Checked("unit:k", Shingle.parse),
    metavar="UNIT:K",
    help=f"With --threshold: what the similarity is taken of, as for neardup find.  [default: {DEFAULT_SHINGLE}]",
)
@click.option(
    "--min-bytes",
    type=options.whole("min-bytes", 1, 1 << 16),
    metavar="N",
    help="Bytes of the shortest passage, in UTF-8, from 16: 100 are about 17 English words, or 33 Chinese characters."
    " With --unit this and the next two say how large a unit must be, from 1, to count.  [default: 100, without the"
    " next two and --unit]",
)
@click.option(
    "--min-words",
    type=options.whole("min-words", 1, 1 << 16),
    metavar="N",
    help="Words instead, from 4: runs of letters, marks and numbers. What stands between words is not compared, and a"
    " passage is from its first word to its last.",
)
@click.option(
    "--min-chars",
    type=options.whole("min-chars", 1, 1 << 16),
    metavar="N",
    help="Characters instead, from 16.",
)
@options.defaulted(
    "--normalize",
    type=options.Checked("steps", Normalize.parse),
    metavar="STEPS",
    default="none",
    help="What is compared, as for neardup find, such as nfc,casefold,space; each unit by itself. Lengths are"
    " of the normalised text, and spans and cuts are places in the text as it was read.",
)
@click.option(
    "--against",
    multiple=True,
    metavar="INPUT",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Second collection: find only what stands in it, and cut that, at every place of the inputs and by every"
    " policy. The sources of spans (source_id) are its documents; places and documents are counted in the inputs. May"
    " be given several times.  [default: none]",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="FILE",
    help="Template, such as a licence: what stands in it is no repeat. Passages in it are apart by lines of --- alone."
    " A stretch that is in part of the template and in part of what stands around it is still found if it repeats, but"
    " no byte of the template is cut. Several are allowed.  [default: all text counts]",
)
@click.option(
    "--group-by",
    metavar="RULE",
    help="Look for passages inside each group of documents by itself, such as the pages of a site: folder:1, the first"
    " folder below the inputs; column:NAME; or a regular expression that is searched in each id. The table has the"
    " columns group and group_documents too.  [default: the whole collection is one]",
)
@click.option(
    "--min-count",
    type=options.whole("min-count", 1, (1 << 32) - 1),
    metavar="N",
    help="Find only what stands at so many places, of the group if there are groups.  [default: 2, with --against 1]",
)
@click.option(
    "--min-docs",
    type=options.whole("min-docs", 1, (1 << 32) - 1),
    metavar="N",
    help="Find only what stands in so many documents, of the group if there are groups.  [default: 1]",
)
@click.option(
    "--min-share",
    type=options.Checked("share", _share),
    metavar="SHARE",
    help="Find only what stands in such a share of all documents, or of those of its group, such as 0.05; in two at"
    " least.  [default: any share]",
)
@click.option(
    "--gaps",
    type=options.whole("gaps", 1, 1000),
    metavar="N",
    help="Find passages that stand again with changes too, such as errors of a scanner: bytes, words or characters"
    " between two equal stretches of a passage, at most. The table has other columns then.  [default: all is compared"
    " exactly]",
)
@click.option(
    "--min-match",
    type=options.whole("min-match", 2),
    metavar="N",
    help="With --gaps: length of an equal stretch.  [default: 12 bytes or characters, or 3 words]",
)
@click.option(
    "--min-similarity",
    type=options.Checked("share", _similarity),
    metavar="S",
    help="With --gaps: least similarity of a passage and the earlier one, from 0.3 to 1: one less what differs (edit"
    " distance) as a share of the longer of the two.  [default: 0.5]",
)
@click.option(
    "--output",
    "-o",
    metavar="OUTPUT",
    help="File for the table of spans; .jsonl, .csv, .parquet or .xlsx; - is stdout. With --cut the place of the clean"
    " copies, as for neardup dedup: a folder, for a single input a file, or - for one stream.  [default: none is"
    " written, and required with --cut]",
)
@click.option(
    "--cut",
    type=click.Choice(POLICIES),
    help="Write copies of the inputs without what is repeated. first: each passage still stands whole at its first"
    " place. first-greedy: more is cut, and a passage that overlaps with an earlier one may be lost everywhere. none:"
    " no copy stays. other-documents: as first, but what is repeated inside one document only is left there."
    "  [default: nothing is cut]",
)
@click.option(
    "--snap",
    type=click.Choice(SNAPS),
    help="To what a cut is moved inward, so that no word, line or sentence is cut in two. Not with --unit: units are"
    " cut whole, with the white space on one side.  [default: word]",
)
@click.option(
    "--min-cut",
    type=options.whole("min-cut", 0),
    metavar="N",
    help="Bytes of the shortest cut, after it was moved inward.  [default: those of the shortest passage, 0 with"
    " --unit]",
)
@options.defaulted(
    "--min-left",
    type=options.whole("min-left", 0),
    metavar="N",
    default=0,
    help="Characters that a document that was cut must have left. With fewer it is left out of the copies; --cuts"
    " lists it.",
)
@click.option(
    "--spans",
    metavar="FILE",
    help="With --cut: file for the table of spans.  [default: none is written]",
)
@click.option(
    "--cuts",
    metavar="FILE",
    help="With --cut: file that says of each document that was cut its id, cut_bytes, the characters left, and whether"
    " it was kept.  [default: none is written]",
)
@click.option(
    "--second-pass",
    is_flag=True,
    help="With --cut: search the clean copies in the same way, and say how much still repeats in them. A cut brings"
    " together what stood on its two sides, and one that was moved inward leaves the ends of a passage. Nothing more is"
    " cut. Takes about as long as the first search of so much text.",
)
@click.option(
    "--report",
    metavar="PAGE",
    help="Write a page to look at: the passages where they stand, and what --cut takes of each document, or would take."
    " A name that ends in .html is one file, of about 20 MB at most; another a folder, of about 200 MB at most."
    "  [default: none is written]",
)
@options.json_summary
@options.reading
@options.working
@options.voices
def passages(
    *,
    ctx: click.Context,
    inputs: tuple[Path, ...],
    preset: Preset | None,
    unit: str | None,
    span: int | None,
    threshold: float | None,
    shingle: Shingle | None,
    min_bytes: int | None,
    min_words: int | None,
    min_chars: int | None,
    normalize: Normalize | str,
    against: tuple[Path, ...],
    ignore: tuple[str, ...],
    group_by: str | None,
    min_count: int | None,
    min_docs: int | None,
    min_share: float | None,
    gaps: int | None,
    min_match: int | None,
    min_similarity: float | None,
    output: str | None,
    cut: str | None,
    snap: str | None,
    min_cut: int | None,
    min_left: int,
    spans: str | None,
    cuts: str | None,
    second_pass: bool,
    report: str | None,
    reading: InputOptions,
    run: RunOptions,
    voice: forms.Voice,
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
        for name in forms.typed(ctx, ("snap", "min_cut", "min_left", "spans", "cuts", "second_pass")):
            raise click.UsageError(f"--{name.replace('_', '-')} is for what is cut. Give --cut too, or leave it out.")
    from neardup.cli.passages_text import WARNING, passage_closing, passage_lines
    from neardup.cli.targets import check_page, write_targets
    from neardup.outputs.atomic import AtomicFiles

    read = (*inputs, *against, *map(Path, ignore))
    tables, files = _targets(
        inputs, output, spans, cuts, read=read, is_cut=cut is not None, json=voice.json, glob=reading.glob
    )
    if report is not None:
        files += check_page(read, report, files, glob=reading.glob)
    from neardup.tasks.dedup.near_units import find_near  # not before the checks: these load numba
    from neardup.tasks.passages.chains import Changes, passage_run
    from neardup.tasks.passages.copies import check_copies, write_cut_copies
    from neardup.tasks.passages.decided import DecidedCuts
    from neardup.tasks.passages.groups import top_groups
    from neardup.tasks.passages.overview import losers, most_cut, top_passages
    from neardup.tasks.passages.page import write_page
    from neardup.tasks.passages.selection import Selection
    from neardup.tasks.passages.unit_runs import cutting_of, length_of

    begin = time.perf_counter()
    page = None
    with usage_errors():
        length = length_of(
            unit=unit,
            span=span,
            min_bytes=min_bytes,
            min_words=min_words,
            min_chars=min_chars,
            threshold=threshold,
            shingle=shingle,
        )
        changes = Changes.of(length, gaps, min_match, min_similarity)
        selection = Selection(list(against) or None, ignore, group_by, min_count, min_docs, min_share)
    with ExitStack() as stack:
        with running.stoppable(ctx, quiet=voice.quiet) as observer:
            reader = selection.open(list(inputs), reading)
            task = {} if cut is None else {"output": output}
            place = running.work_place(output)
            run = running.placed(run, place)
            steps = Normalize.parse(normalize)
            more = {"spill_to": place, "selection": selection, "near": find_near}
            work = passage_run(changes, reader, length, run, observer, steps, task, **more)
            stack.enter_context(work)
            running.note_work(ctx, work.space, reader, files if run.resume else ())
            decided = again = None
            with usage_errors():
                cutting = cutting_of(length, cut or "first", snap=snap, min_cut=min_cut, min_left=min_left)
                if report is not None:
                    work.check_plain("a page")
            if cut is None:
                observer.in_background(work.find)
            else:
                with usage_errors():
                    check_copies(reader, str(output), [name for table in tables for name in table.files])
                decided = observer.in_background(lambda: DecidedCuts(work, cutting))
                again = observer.in_background(decided.second_pass) if second_pass else None
        spec = {"command": "passages", **work.shortest, "version": __version__}
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
            "seconds": round(time.perf_counter() - begin, 4),
        }
    lines = passage_lines(summary, faults=work.provenance.faults)
    voice.tell(summary, lines, passage_closing(summary, files), alarm=WARNING)


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
    from neardup.cli.targets import Target, check_collisions, check_targets, mend_and_tell
    from neardup.outputs.write import output_format

    if is_cut and output is None:
        raise click.UsageError("there is no place for the clean copies. Give -o.")
    if [output, spans, cuts, STDOUT if json else None].count(STDOUT) > 1:
        raise click.UsageError("stdout can take one thing only. Give files with -o, --spans and --cuts.")
    if is_cut and STDOUT in map(str, inputs):
        raise click.UsageError("inputs are read twice, and stdin can be read once. Save it to a file, and give that.")
    names = (spans if is_cut else output, cuts)
    with usage_errors():
        first, second = (Target(name, name and output_format(name, None)) for name in names)
    tables = [*first.files, *second.files]
    copies = [str(output)] if is_cut and output != STDOUT else []
    check_targets(read, tables, glob=glob)
    if copies and not os.path.isdir(copies[0]):
        check_collisions(read, [*copies, *tables], glob=glob)
    mend_and_tell(copies)
    return (first, second), [*tables, *copies]
