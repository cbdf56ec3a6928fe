"""``neardup demo``: find and report on a small collection that comes with the package."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from neardup.cli import forms, options
from neardup.cli.voice import say

THRESHOLD = "0.5"
SOURCES = "^[^:]+"
"""The version of a chapter stands before the colon of its id."""
TITLE = "24 chapters of the New Testament in 11 English versions"


@forms.command("demo", "demo", "demo -o somewhere/demo")
@options.defaulted(
    "--output",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    default=Path("neardup-demo"),
    help="Folder for the texts and the report; what an earlier demo left there is made again.",
)
@options.quiet
def demo(*, ctx: click.Context, output: Path, quiet: bool) -> None:
    """Find the near-duplicates of a small collection, and make a report to look at.

    The collection comes with neardup: 24 chapters of the New Testament in 11 English versions, some of which are
    revisions of others. The texts are left beside the report, so that you can use them further; the command that makes
    the report is printed. Nothing is opened, and nothing is sent anywhere.
    """
    from neardup import demo
    from neardup.outputs.atomic import AtomicFiles, output_error

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise output_error(output, exc) from exc
    texts = output / demo.TEXTS
    with AtomicFiles() as files:
        files.open(texts).write(demo.read())
    args = [str(texts), "-t", THRESHOLD, "--sources", SOURCES, "--title", TITLE, "-o", str(output / "report")]
    if not quiet:
        say(f"neardup report {shlex.join(args)}")
    group = ctx.find_root().command
    report = group.get_command(ctx, "report") if isinstance(group, click.Group) else None
    assert report is not None
    with report.make_context("report", [*args, "--quiet"] if quiet else args, parent=ctx) as inner:
        report.invoke(inner)
