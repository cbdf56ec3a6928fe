"""``neardup report``: pages that show the near-duplicates of a collection.

What goes into the pages is gathered in ``neardup.tasks.report``, what they look like is in ``neardup.pages.site``.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import WRITTEN, forms, options, running
from neardup.cli.options import STDOUT
from neardup.cli.voice import usage_errors
from neardup.params import CLEANING, PURPOSES, InputOptions, RunOptions, SearchOptions, parse_memory
from neardup.shown import counted, duration, megabytes

if TYPE_CHECKING:
    from neardup.tasks.audit.outcome import Audit
    from neardup.tasks.report.build import Reported
    from neardup.tasks.report.wanted import Wanted


@forms.command(
    "report",
    "report essays/ --for essays --purpose copying -o report",
    "report docs.jsonl --pairs pairs.parquet -o report.html",
)
@options.inputs
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="DIR",
    help="Folder for the pages; made if it does not exist, and an earlier report in it is replaced. A name that"
    " ends in .html is one file, as with --single-file.",
)
@click.option(
    "--pairs",
    metavar="FILE",
    help="Search nothing: show the pairs that neardup find -o FILE wrote over the same inputs.  [default: search]",
)
@click.option("--title", metavar="TEXT", help="Title of the report.  [default: made of the names of the inputs]")
@click.option("--single-file", is_flag=True, help="Write one .html file, to send, in place of a folder.")
@click.option(
    "--sources",
    metavar="REGEX",
    help="Regular expression that is searched in each id: its first group, or the match, names the source of the"
    " document.  [default: the input file; in a folder the sub-folder]",
)
@click.option(
    "--purpose",
    type=click.Choice(PURPOSES),
    default=CLEANING,
    show_default=True,
    help="What the pages are for. cleaning: which documents could go. copying: who shares how much with whom, by the"
    " share of the smaller document that is in the larger one; nothing is said of removing.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="FILE",
    help="Text that does not count, such as the questions of an assignment: its shingles are taken out of every"
    " document before anything is compared. Passages in it are apart by lines of --- alone. Several are allowed."
    "  [default: all text counts]",
)
@options.several_inputs(
    "--originals",
    type=click.Path(path_type=Path),
    help="Texts that others may have used, beside the inputs or among them: compared with all submissions, never with"
    " each other, and shown as originals. Several are allowed.  [default: none]",
)
@options.several_inputs(
    "--against",
    type=click.Path(path_type=Path),
    help="Earlier documents, such as those of other years: the submissions are compared with them too, and they are not"
    " compared with each other. Several are allowed.  [default: none]",
)
@click.option(
    "--group-by",
    metavar="RULE",
    help="Whose a document is: folder:1, the first folder below the inputs; column:NAME; or a regular expression that"
    " is searched in each id. Documents of one person are never compared with each other."
    "  [default: each document by itself]",
)
@click.option(
    "--pseudonyms",
    metavar="KEYFILE",
    help="Show pseudonyms in place of the names of people and documents. KEYFILE is a CSV that leads back from them; it"
    " is made if it is not there, and gives the same names in each report. Texts are not rewritten."
    "  [default: names are shown]",
)
@click.option(
    "--verdicts",
    multiple=True,
    metavar="FILE",
    help="Verdicts and notes that were exported from the pages of an earlier report, to be shown in this one. Several"
    " are allowed, of several graders too.  [default: none]",
)
@options.number(
    "--passages",
    (16, 1 << 16),
    help="Look for passages of N bytes or more that stand at two or more places too, as neardup passages does, and show"
    " them in a view of their own; 100 are about 17 English words.  [default: not looked for]",
)
@options.number(
    "--audit",
    (1, None),
    help="Measure the recall too: sample N documents and find all their near-duplicates exactly, as neardup audit does."
    " Exit code 1 when the promise is broken.  [default: no audit]",
)
@click.option(
    "--size",
    type=options.Checked("size", partial(parse_memory, name="size")),
    metavar="SIZE",
    help="Size of the report, about, such as 50MB. Beyond it the smaller clusters have no page."
    "  [default: 200MB; 20MB for a single file]",
)
@options.preset
@options.threshold
@options.recall
@options.exact
@options.candidates_by
@options.verify
@options.measure
@options.shingle
@options.normalize
@options.link
@options.collapse_exact
@options.crowd
@options.reading
@options.signatures
@options.working
@options.voices
def report(
    *,
    ctx: click.Context,
    inputs: tuple[Path, ...],
    output: str,
    pairs: str | None,
    search: SearchOptions,
    reading: InputOptions,
    run: RunOptions,
    voice: forms.Voice,
    **site: Any,
) -> None:
    """Make pages that show the near-duplicates of a collection: they open from disk in any browser, without a network.

    They say what was read and found, what every threshold from -t upward would give, which clusters there are, and
    show for each pair both texts side by side with the passages that they share. INPUT and the options of the
    search are those of `neardup find`. Inputs are read twice, so stdin cannot be one.

    What was found, and the page to open, is printed on stderr; nothing on stdout.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; a run that fails or is stopped leaves
    no half-written report.
    """
    from neardup import tuning

    begin = time.perf_counter()
    if pairs is not None:
        _check_no_search(ctx)
    wanted = _check_site(inputs, output, site)
    from neardup.cli.summary import summary_lines
    from neardup.tasks.report.build import build  # imported after the checks, because these load kernels
    from neardup.tasks.report.earlier_pairs import read_pairs
    from neardup.tasks.report.originals import check_inputs
    from neardup.tasks.report.prepared import Prepared
    from neardup.tasks.report.repeats import report_passages
    from neardup.tasks.report.report_input import report_input

    filed = read_pairs(pairs) if pairs is not None else None
    with usage_errors():
        if filed is not None:
            wanted.check_filed()
        search = wanted.adapted(search)
    spec = filed.spec if filed is not None else tuning.make_spec(search)
    prepared = Prepared.of(wanted, spec, output)
    with running.stoppable(ctx, quiet=voice.quiet) as observer:
        reader = prepared.open(list(inputs), reading)
        check_inputs(reader, output)
        repeated = None
        if wanted.passages is not None:
            repeated = observer.in_background(partial(report_passages, reader, spec, wanted, run, observer))
        task = {"command": "report", "link": search.link, **prepared.task}
        with running.open_run(
            observer, reader, spec, search, run, output=output, task=task, template=prepared.template
        ) as work:

            def make() -> tuple[Reported, Audit | None]:
                basis, audited = report_input(work, prepared.asked(filed, search.link))
                return build(
                    basis, output, wanted, verdicts=prepared.verdicts, audit=audited, passages=repeated
                ), audited

            reported, audited = observer.in_background(make)
            ctx.meta[WRITTEN] = [output]
    page = output if wanted.single_file else str(Path(output) / reported.path.name)
    found = reported.summary
    counts = [counted(found.documents, "document"), counted(found.pairs, "pair"), counted(found.clusters, "cluster")]
    closing = [
        f"report in {page} ({megabytes(reported.bytes)}, {counted(reported.files, 'file')})",
        f"in {duration(time.perf_counter() - begin)}",
    ]
    lines: list[str] = []
    if filed is not None:
        closing[:0] = counts
    else:
        faults = work.provenance.faults
        told = forms.with_commands(ctx, found.as_dict())
        lines = summary_lines(told, crowds=[], faults=faults, verbose=voice.verbose)
    if audited is not None:
        from neardup.cli.audit_text import audit_lines

        lines += ["", *audit_lines(audited, files=[]), ""]
    voice.tell({}, lines, f"neardup: {', '.join(closing)}")
    if audited is not None and audited.is_broken:
        ctx.exit(1)


def _check_no_search(ctx: click.Context) -> None:
    """Raise UsageError for an option that the pairs of an earlier run have decided."""
    decided = [name for name in SearchOptions.names() if name != "link"]
    options = {param.name: param.opts[0] for param in ctx.command.params}
    for name in forms.typed(ctx, [*decided, "resume", "audit"]):
        raise click.UsageError(f"--pairs has its own spec, and searches nothing. Leave {options[name]} out.")


def _check_site(inputs: tuple[Path, ...], output: str, site: dict[str, Any]) -> Wanted:
    """What is wanted, refused at once where names and options tell that it cannot be."""
    from neardup.cli.targets import check_no_stdin, mend_and_tell
    from neardup.pages.site.write import check_site, is_named_page, is_page
    from neardup.tasks.report.wanted import Wanted

    check_no_stdin(inputs)
    if output == STDOUT:
        raise click.UsageError("a report cannot go to stdout. Give a name with -o.")
    site["single_file"] = site["single_file"] or is_page(output)
    if site["single_file"] and not is_named_page(output):
        raise click.UsageError(f"{output} is to be one file. Give a name that ends in .html.")
    with usage_errors():
        wanted = Wanted.of({**site, **{name: list(site[name]) or None for name in ("originals", "against")}})
    check_site(output, single_file=site["single_file"])
    mend_and_tell([output])  # after the check, so that nothing else can be at this path
    return wanted
