"""``--dry-run``: the plan of a run in place of the run, or before it. Its text is in ``plan_text``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import working
from neardup.cli.checks import stdout_errors
from neardup.cli.voice import print_json, say

if TYPE_CHECKING:
    from neardup.inputs.reader import Reader
    from neardup.params import Spec
    from neardup.tasks.plan.outcome import Plan

__all__ = ["make_plan", "show_plan"]


def show_plan(
    ctx: click.Context,
    inputs: Sequence[Path],
    against: Sequence[Path],
    search: dict[str, Any],
    *,
    json: bool,
    quiet: bool,
) -> None:
    """Print on stdout what a run with these options would cost; nothing is found and nothing written."""
    from neardup.cli.plan_text import plan_lines
    from neardup.cli.progress import observer
    from neardup.inputs.reader import open_inputs

    if against:
        raise click.UsageError("--dry-run plans for one collection. Leave --against out.")
    banding = {**search, "exact": None}
    spec = working.make_spec(banding)
    with observer(quiet=quiet) as watching:
        stoppable = working.Stoppable(watching)
        reader = open_inputs(list(inputs), **working.reading(search, spec))
        plan = working.in_background(ctx, lambda: make_plan(reader, spec, search, stoppable), stoppable)
    with stdout_errors():
        if json:
            print_json(plan.as_dict())
        else:
            say(*plan_lines(plan, inputs=[], options=[]), err=False)


def make_plan(reader: Reader, spec: Spec, search: dict[str, Any], observer: working.Stoppable) -> Plan:
    """The plan for a spec as it is, beside other settings and the exact join."""
    from neardup.session import check_threads
    from neardup.tasks.plan.make import make_plan

    return make_plan(
        reader,
        spec,
        target=search["recall"],
        threads=check_threads(search["threads"]),
        memory=search["memory"],
        observer=observer,
    )
