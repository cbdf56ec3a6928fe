"""``neardup report``: pages that show the near-duplicates of a collection.

Here: the options that no other command has, and the order of events of one run. What goes into the pages is gathered in
``neardup.tasks.report``, what they look like is in ``neardup.pages.site``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from neardup import params
from neardup.cli import WRITTEN, options
from neardup.cli.checks import check_banding, check_exact, check_measure, check_voices
from neardup.cli.voice import say
from neardup.cli.working import STDOUT
from neardup.errors import InputError

if TYPE_CHECKING:
    from neardup.inputs.reader import Reader
    from neardup.params import Spec
    from neardup.session import Run
    from neardup.tasks.audit.outcome import Audit
    from neardup.tasks.report.build import Reported
    from neardup.tasks.report.filed import FiledPairs

__all__ = ["command"]

SEARCHED = (
    "threshold", "recall", "exact", "measure", "shingle", "normalize", "collapse_exact", "crowd", "slots", "bands",
    "sketch", "seed", "verify", "resume",
)  # fmt: skip
"""Options that pairs of an earlier run have decided."""


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
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    inputs: tuple[Path, ...],
    output: str,
    pairs: str | None,
    audit: int | None,
    quiet: bool,
    verbose: bool,
    **search: Any,
) -> None:
    """Make pages that show the near-duplicates of a collection: they open from disk in any browser, without a network.

    They say what was read and found, what every threshold from -t upward would give, which clusters there are, and
    show for each pair both texts side by side with the passages that they share. INPUT and the options of the
    search are those of `neardup find`. Inputs are read twice, so stdin cannot be one.

    What was found, and the page to open, is told on stderr; nothing goes to stdout.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; a run that fails or is stopped leaves
    no half-written report.
    """
    begin = time.perf_counter()
    check_voices(quiet=quiet, verbose=verbose)
    check_banding(search["slots"], search["bands"])
    check_exact(search)
    check_measure(search, audit=audit)
    _check_options(ctx, inputs, output, pairs, audit, search)
    reported, audited, summary = _run(ctx, inputs, search, output, pairs, audit=audit, quiet=quiet)
    if not quiet:
        page = output if search["single_file"] else str(Path(output) / reported.path.name)
        _tell(reported, page, audited, summary, seconds=time.perf_counter() - begin, verbose=verbose)
    if audited is not None and audited.is_broken:
        ctx.exit(1)


def _check_options(
    ctx: click.Context,
    inputs: tuple[Path, ...],
    output: str,
    pairs: str | None,
    audit: int | None,
    search: Mapping[str, Any],
) -> None:
    """Refuse at once what names and options tell.

    Raises:
        click.UsageError: stdin is an input, an option is about a search that is not made, or a value is wrong.
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
    if search["single_file"] and Path(output).suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"{output} is to be one file. Give a name that ends in .html.")
    if pairs is not None:
        given = [name for name in SEARCHED if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE]
        given += ["audit"] * (audit is not None)
        if given:
            option = given[0].replace("_", "-")
            raise click.UsageError(f"--pairs brings its own spec, and searches nothing. Leave --{option} out.")
    try:
        check_size(search["size"], single_file=search["single_file"])
        check_pattern(search["sources"])
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc
    check_site(output, single_file=search["single_file"])
    mend_and_tell([output])  # behind the check that nothing else has taken its place


def _run(
    ctx: click.Context,
    inputs: tuple[Path, ...],
    search: dict[str, Any],
    output: str,
    pairs: str | None,
    *,
    audit: int | None,
    quiet: bool,
) -> tuple[Reported, Audit | None, dict[str, Any]]:
    """Search, or read the pairs, and write the report; with the summary, crowds and faults for a person."""
    from neardup.cli import working
    from neardup.cli.progress import observer
    from neardup.inputs.reader import open_inputs
    from neardup.tasks.report.filed import read_pairs
    from neardup.tasks.report.originals import check_inputs

    filed = read_pairs(pairs) if pairs is not None else None
    spec = filed.spec if filed is not None else working.make_spec(search)
    with ExitStack() as stack:
        watching = stack.enter_context(observer(quiet=quiet))
        stoppable = working.Stoppable(watching)
        reader: Reader = open_inputs(list(inputs), **working.reading(search, spec))
        check_inputs(reader, output)
        place = working.work_place(output)
        choice = None
        if filed is None:
            spec, choice = working.decided(ctx, reader, spec, search, place=place, observer=stoppable)
        run = working.open_run(
            reader,
            spec,
            search,
            place=place,
            task={"command": "report", "link": search["link"]},
            observer=stoppable,
        )
        run.choice = choice
        stack.enter_context(working.resumable_run(ctx, run, ()))
        reported, audited = working.in_background(
            ctx, lambda: _report(run, filed, spec, output, search, audit), stoppable
        )
        ctx.meta[WRITTEN] = [output]
        return reported, audited, {"searched": filed is None, "faults": run.ledger.faults}


def _report(
    run: Run, filed: FiledPairs | None, spec: Spec, output: str, search: Mapping[str, Any], audit: int | None
) -> tuple[Reported, Audit | None]:
    from neardup.tasks.report.build import build
    from neardup.tasks.report.ground import from_pairs, from_search

    audited = None
    if filed is not None:
        ground = from_pairs(run, filed, search["link"])
    else:
        found = run.search()
        if audit is not None:
            from neardup.tasks.audit.audit import audit_search

            audited = audit_search(run, found, documents=audit)
        ground = from_search(run, found, search["link"])
    reported = build(
        ground,
        output,
        title=search["title"],
        single_file=search["single_file"],
        sources=search["sources"],
        size=search["size"],
        audit=audited.as_dict() if audited is not None else None,
    )
    return reported, audited


def _tell(
    reported: Reported, page: str, audited: Audit | None, more: Mapping[str, Any], *, seconds: float, verbose: bool
) -> None:
    """Say what was found, how long it took, and how large the report is."""
    from neardup.cli.summary import counted, duration, megabytes, summary_lines

    summary = reported.summary.as_dict()
    if more["searched"]:
        lines = summary_lines(summary, crowds=[], faults=more["faults"], files=[], verbose=verbose)
        if audited is not None:
            from neardup.cli.audit_text import audit_lines

            lines += ["", *audit_lines(audited, files=[]), ""]
        say(*lines)
    parts = [
        counted(summary["documents"], "document"),
        counted(summary["pairs"], "pair"),
        counted(summary["clusters"], "cluster"),
        duration(seconds),
        f"spec {summary['spec_id']}",
        f"report in {page} ({megabytes(reported.bytes)}, {counted(reported.files, 'file')})",
    ]
    say(f"neardup: {', '.join(parts)}")
