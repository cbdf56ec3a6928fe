"""``neardup report``: pages that show the near-duplicates of a collection.

Here: the options that no other command has, and the order of events of one run. What goes into the pages is gathered in
``neardup.tasks.report``, what they look like is in ``neardup.pages.site``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from neardup import params
from neardup.cli import WRITTEN, options, run_setup, stopping
from neardup.cli.checks import check_search
from neardup.cli.forms import Voice, with_forms
from neardup.cli.run_setup import STDOUT
from neardup.errors import InputError

if TYPE_CHECKING:
    from neardup.params import InputOptions, RunOptions, SearchOptions
    from neardup.session import Run
    from neardup.tasks.audit.outcome import Audit
    from neardup.tasks.report.build import Reported
    from neardup.tasks.report.earlier_pairs import EarlierPairs
    from neardup.tasks.report.report_input import ReportInput

__all__ = ["command"]


def _size(value: Any) -> int | None:
    return params.parse_memory(value, "size")


@click.command(
    "report",
    cls=options.ExactCommand,
    epilog="\b\nExamples:\n"
    "  neardup report essays/ --shingle word:3 -t 0.2 -o report\n"
    "  neardup report docs.jsonl --pairs pairs.parquet -o report.html --single-file",
)
@options.inputs
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="DIR",
    help="Folder for the pages; made when it is not there, and an earlier report in it is replaced. With --single-file"
    " the name of an .html file.",
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
    "--audit",
    type=options.whole("audit", 1),
    metavar="N",
    help="Measure the recall too: draw N documents and find all their near-duplicates exactly, as neardup audit does."
    " Exit code 1 when the promise is broken.  [default: no audit]",
)
@click.option(
    "--size",
    type=options.Checked("size", _size),
    metavar="SIZE",
    help="How many bytes the report may have, about, such as 50MB. Past it the smaller clusters have no page."
    "  [default: 200MB; 20MB for a single file]",
)
@options.threshold
@options.recall
@options.exact
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
@with_forms
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    inputs: tuple[Path, ...],
    output: str,
    pairs: str | None,
    audit: int | None,
    search: SearchOptions,
    reading: InputOptions,
    run: RunOptions,
    voice: Voice,
    **site: Any,
) -> None:
    """Make pages that show the near-duplicates of a collection: they open from disk in any browser, without a network.

    They say what was read and found, what every threshold from -t upward would give, which clusters there are, and
    show for each pair both texts side by side with the passages that they share. INPUT and the options of the
    search are those of `neardup find`. Inputs are read twice, so stdin cannot be one.

    What was found, and the page to open, is told on stderr; nothing goes to stdout.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; a run that fails or is stopped leaves
    no half-written report.
    """
    from neardup import tuning
    from neardup.cli.summary import counted, duration, megabytes

    begin = time.perf_counter()
    check_search(search, audit=audit)
    if pairs is not None:
        _check_no_search(ctx)
    _check_site(inputs, output, **site)
    from neardup.inputs.reader import open_inputs  # these not before the checks: they load numba
    from neardup.tasks.report.build import build
    from neardup.tasks.report.earlier_pairs import read_pairs
    from neardup.tasks.report.originals import check_inputs

    filed = read_pairs(pairs) if pairs is not None else None
    spec = filed.spec if filed is not None else tuning.make_spec(search)
    with ExitStack() as stack:
        observer = stack.enter_context(stopping.stoppable(quiet=voice.quiet))
        reader = open_inputs(list(inputs), reading, item=spec.shingle.kind == "item")
        check_inputs(reader, output)
        place, task = run_setup.work_place(output), {"command": "report", "link": search.link}
        work = run_setup.open_run(ctx, reader, spec, search, run, place=place, task=task, observer=observer)
        stack.enter_context(run_setup.resumable_run(ctx, work, ()))

        def make() -> tuple[Reported, Audit | None]:
            basis, audited = _gather(work, filed, search.link, audit)
            return build(basis, output, audit=audited.as_dict() if audited is not None else None, **site), audited

        reported, audited = stopping.in_background(ctx, make, observer)
        ctx.meta[WRITTEN] = [output]
    page = output if site["single_file"] else str(Path(output) / reported.path.name)
    parts = [
        counted(reported.summary.documents, "document"),
        counted(reported.summary.pairs, "pair"),
        counted(reported.summary.clusters, "cluster"),
        duration(time.perf_counter() - begin),
        f"spec {reported.summary.spec_id}",
        f"report in {page} ({megabytes(reported.bytes)}, {counted(reported.files, 'file')})",
    ]
    lines = [] if filed is not None else _summary(reported, audited, work.provenance.faults, verbose=voice.verbose)
    voice.tell({}, lines, f"neardup: {', '.join(parts)}")
    if audited is not None and audited.is_broken:
        ctx.exit(1)


def _check_no_search(ctx: click.Context) -> None:
    """Raise UsageError for an option that the pairs of an earlier run have decided."""
    for name in (*(each for each in params.SearchOptions.names() if each != "link"), "resume", "audit"):
        if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise click.UsageError(f"--pairs brings its own spec, and searches nothing. Leave --{option} out.")


def _check_site(
    inputs: tuple[Path, ...],
    output: str,
    *,
    title: str | None,
    single_file: bool,
    sources: str | None,
    size: int | None,
) -> None:
    """Refuse at once what names and options tell.

    Raises:
        click.UsageError: stdin is an input, or a value is wrong.
        OutputError: something else is where the report should go.
    """
    from neardup.cli.targets import mend_and_tell
    from neardup.pages.site.write import check_site
    from neardup.tasks.report.build import check_size
    from neardup.tasks.report.origins import check_pattern

    if STDOUT in map(str, inputs):
        raise click.UsageError("inputs are read twice, and stdin can be read once. Save it to a file, and give that.")
    if output == STDOUT:
        raise click.UsageError("a report cannot go to stdout. Give a name with -o.")
    if single_file and Path(output).suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"{output} is to be one file. Give a name that ends in .html.")
    try:
        check_size(size, single_file=single_file)
        check_pattern(sources)
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc
    check_site(output, single_file=single_file)
    mend_and_tell([output])  # behind the check that nothing else has taken its place


def _gather(run: Run, filed: EarlierPairs | None, link: str, audit: int | None) -> tuple[ReportInput, Audit | None]:
    """What the report is made of: found, or as the pairs of an earlier run have it."""
    from neardup.tasks.report.report_input import from_pairs, from_search

    if filed is not None:
        return from_pairs(run, filed, link), None
    audited, found = None, run.search()
    if audit is not None:
        from neardup.tasks.audit.public import audit_search

        audited = audit_search(run, found, documents=audit)
    return from_search(run, found, link), audited


def _summary(reported: Reported, audited: Audit | None, faults: Sequence[object], *, verbose: bool) -> list[str]:
    """What was found, as lines."""
    from neardup.cli.summary import summary_lines

    lines = summary_lines(reported.summary.as_dict(), crowds=[], faults=faults, files=[], verbose=verbose)
    if audited is not None:
        from neardup.cli.audit_text import audit_lines

        lines += ["", *audit_lines(audited, files=[]), ""]
    return lines
