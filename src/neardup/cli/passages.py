"""``neardup passages``: what is repeated inside documents, and the collection without it.

What is found and cut is in ``neardup.tasks.passages``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neardup._version import __version__
from neardup.cli import WRITTEN, forms, options, running, silence_stdout
from neardup.cli.options import STDOUT
from neardup.cli.voice import usage_errors
from neardup.params import InputOptions, Normalize, RunOptions

if TYPE_CHECKING:
    from neardup.cli.targets import Target

POLICIES = ("first", "first-greedy", "none", "other-documents")
SNAPS = ("char", "word", "line", "sentence")
"""As ``neardup.passages`` has them. These are written here so that the help loads no numpy; a test compares them."""


@forms.command(
    "passages",
    "passages docs.jsonl -o spans.jsonl",
    "passages crawl/ --min-bytes 200 -o spans.parquet --memory 4GB",
    "passages docs.jsonl --cut first --snap sentence -o clean.jsonl --spans spans.csv --cuts cuts.csv",
    "passages docs.jsonl --report passages.html",
)
@options.inputs
@click.option(
    "--min-bytes",
    type=options.whole("min-bytes", 16, 1 << 16),
    metavar="N",
    help="Bytes of the shortest passage, in UTF-8: 100 are about 17 English words, or 33 Chinese characters."
    "  [default: 100, without the next two]",
)
@click.option(
    "--min-words",
    type=options.whole("min-words", 4, 1 << 16),
    metavar="N",
    help="Words instead: runs of letters, marks and numbers. What stands between words is not compared, and a passage"
    " is from its first word to its last.",
)
@click.option(
    "--min-chars",
    type=options.whole("min-chars", 16, 1 << 16),
    metavar="N",
    help="Characters instead.",
)
@options.defaulted(
    "--normalize",
    type=options.Checked("steps", Normalize.parse),
    metavar="STEPS",
    default="none",
    help="What is compared, as for neardup find, such as nfc,casefold,space. Lengths are of the normalised text, and"
    " spans and cuts are places in the text as it was read.",
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
@options.defaulted(
    "--snap",
    type=click.Choice(SNAPS),
    default="word",
    help="To what a cut is moved inward, so that no word, line or sentence is cut in two.",
)
@click.option(
    "--min-cut",
    type=options.whole("min-cut", 0),
    metavar="N",
    help="Bytes of the shortest cut, after it was moved inward.  [default: those of the shortest passage]",
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
    "--report",
    metavar="PAGE",
    help="Write a page to look at: the passages where they stand, and what --cut takes of each document, or would take."
    " A name that ends in .html is one file, of about 20 MB at most; another a folder, of about 200 MB at most."
    "  [default: none is written]",
)
@options.json_summary
@options.reading
@options.together(options.threads, options.memory, options.workdir)
@options.voices
def passages(
    *,
    ctx: click.Context,
    inputs: tuple[Path, ...],
    min_bytes: int | None,
    min_words: int | None,
    min_chars: int | None,
    normalize: Normalize,
    output: str | None,
    cut: str | None,
    snap: str,
    min_cut: int | None,
    min_left: int,
    spans: str | None,
    cuts: str | None,
    report: str | None,
    reading: InputOptions,
    run: RunOptions,
    voice: forms.Voice,
) -> None:
    """Find the passages that stand at two or more places of a collection, and cut the copies.

    A passage is a stretch of at least --min-bytes bytes inside one document, or of so many words or characters. All
    that repeat are found, and compared byte for byte, or word for word: in one document or in several, whatever stands
    around them. Which place is the first goes by the order of the input.

    INPUT is as for neardup find. The table has one row for each span: id, start and end (characters; bytes too), an
    earlier place of the same text, how often it stands, in how many documents, and whether it is the first.

    With --cut the inputs are copied, as neardup dedup does it, and only the texts that lose something differ: every
    other field, document and byte stays. Inputs are then read twice, so stdin cannot be one. JSONL, CSV, TSV, Parquet,
    Arrow and text files can be written so.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; a run that fails or is stopped leaves
    no half-written output.
    """
    if cut is None:
        for name in forms.typed(ctx, ("snap", "min_cut", "min_left", "spans", "cuts")):
            raise click.UsageError(f"--{name.replace('_', '-')} is for what is cut. Give --cut too, or leave it out.")
    from neardup.cli.passages_text import WARNING, passage_closing, passage_lines
    from neardup.cli.targets import check_page, write_targets
    from neardup.outputs.atomic import AtomicFiles

    tables, files = _targets(inputs, output, spans, cuts, is_cut=cut is not None, json=voice.json, glob=reading.glob)
    if report is not None:
        files += check_page(inputs, report, files, glob=reading.glob)
    from neardup.inputs.reader import open_inputs  # these not before the checks: they load numba
    from neardup.tasks.passages.copies import CleanCopies
    from neardup.tasks.passages.overview import losers, most_cut, top_passages
    from neardup.tasks.passages.page import write_page
    from neardup.tasks.passages.run import Cutting, Length, PassageRun

    begin = time.perf_counter()
    page = None
    with usage_errors():
        length = Length.of(min_bytes, min_words, min_chars)
    with ExitStack() as stack:
        with running.stoppable(ctx, quiet=voice.quiet) as observer:
            reader = open_inputs(list(inputs), reading)
            work = stack.enter_context(PassageRun(reader, length, run, observer, normalize))
            copies = None
            cutting = Cutting(cut or "first", snap, length.least_bytes if min_cut is None else min_cut, min_left)
            if cut is not None:
                others = [name for table in tables for name in table.files]
                with usage_errors():
                    copies = CleanCopies(work, cutting, str(output), others)
            observer.in_background(work.find if copies is None else copies.decide)
        spec = {"command": "passages", **work.shortest, "version": __version__}
        if copies is not None:
            spec |= asdict(copies.cutting)
        together = AtomicFiles()
        try:
            with together:
                written = [(work.spans(), tables[0])] if tables[0].name is not None else []
                if copies is not None and tables[1].name is not None:
                    written.append((copies.table(), tables[1]))
                write_targets(written, together, spec=spec, threshold=1.0)
                if copies is not None:
                    try:
                        copies.write(together)
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
            "blank": work.provenance.blank,
            "passed_over": [asdict(each) for each in reader.passed_over],
            "columns": [asdict(each) for each in reader.columns],
            "top_passages": top_passages(work),
            "most_repeated": losers(work, "first") if copies is None else most_cut(work, [copies.losses()]),
            "cut": None if copies is None else copies.facts(),
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
    is_cut: bool,
    json: bool,
    glob: str | Sequence[str] | None,
) -> tuple[tuple[Target, Target], list[str]]:
    """Where the tables of spans and of cuts go, and all names that are written; what cannot be is refused at once."""
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
    check_targets(inputs, tables, glob=glob)
    if copies and not os.path.isdir(copies[0]):
        check_collisions(inputs, [*copies, *tables], glob=glob)
    mend_and_tell(copies)
    return (first, second), [*tables, *copies]
