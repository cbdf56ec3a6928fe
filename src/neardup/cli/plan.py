"""``neardup plan``: choose bands, and predict candidates, memory and time before a run.

Here: the options and the order of events. The plan is made by ``neardup.tasks.plan``, its text in ``plan_text``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neardup.cli import options
from neardup.cli.options import Checked
from neardup.cli.voice import print_json, say
from neardup.errors import InputError
from neardup.params import DEFAULT_WEIGHTS

__all__ = ["command"]


def _rule(value: Any) -> str:
    from neardup.tuning import check_rule

    return check_rule(value)


def _weights(value: Any) -> tuple[float, float]:
    try:
        positives, negatives = map(float, str(value).split(","))
    except ValueError as exc:
        raise InputError(f"weights is {value}. Give two numbers with a comma between, such as 0.5,0.5.") from exc
    return positives, negatives


@click.command(
    "plan",
    epilog="\b\nExamples:\n  neardup plan docs.jsonl -t 0.8\n  neardup plan -t 0.8 --slots 128",
)
@click.argument("inputs", nargs=-1, metavar="[INPUT…]", type=click.Path(path_type=Path, allow_dash=True))
@options.threshold
@options.recall
@options.shingle
@options.normalize
@options.slots
@options.bands
@click.option(
    "--rule",
    type=Checked("name", _rule),
    metavar="NAME",
    help="Take the bands of a rule: recall (what neardup uses), or of the literature threshold, divisor, log or area,"
    " which find about half to two thirds of the pairs at the threshold.",
)
@click.option(
    "--weights",
    type=Checked("two numbers", _weights),
    metavar="FP,FN",
    default=",".join(map(str, DEFAULT_WEIGHTS)),
    show_default=True,
    help="What the rule area weighs the area of false positives by, and that of false negatives.",
)
@options.sketch
@options.seed
@options.collapse_exact
@options.crowd
@click.option("--json", is_flag=True, help="Print the plan as one JSON object.")
@options.plot
@options.reading
@options.threads
@options.block_size
@options.memory
@options.voices
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    inputs: tuple[Path, ...],
    rule: str | None,
    json: bool,
    plot: str | None,
    quiet: bool,
    verbose: bool,
    **search: Any,
) -> None:
    """Choose bands, and predict candidates, memory and time before a run.

    Every INPUT of `neardup find` will do; it is read once, and a sample of its texts is compared. The setting chosen is
    the one that is predicted to be fastest among those that keep the recall promise. Without INPUT the plan shows what
    a threshold and a number of slots come to, and what the rules of the literature would take.

    The plan goes to stdout, everything else to stderr. Nothing but the figure of --plot is written, and no run is
    started.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup.cli.checks import check_banding, check_voices, stdout_errors
    from neardup.cli.plan_text import plan_lines

    check_voices(quiet=quiet, verbose=verbose)
    check_banding(search["slots"], search["bands"])
    if rule is not None and search["bands"] is not None:
        raise click.UsageError("--rule and --bands exclude each other. Give one of them.")
    if plot is not None:
        _check_plot(inputs, plot, search["glob"])
    made = _make(ctx, inputs, search, rule, quiet=quiet)
    if plot is not None:
        from neardup.tasks.figures.sheets import plot_spec

        plot_spec(made.spec, plot)
    with stdout_errors():
        if json:
            print_json(made.as_dict())
        else:
            say(*plan_lines(made, inputs=[str(path) for path in inputs], options=_typed(ctx, search)), err=False)


def _check_plot(inputs: tuple[Path, ...], plot: str, glob: str | None) -> None:
    """Refuse at once a figure that could not be drawn or written."""
    from neardup.cli.targets import check_collisions, check_files
    from neardup.cli.working import check_plot

    try:
        check_plot(plot)
        check_collisions(inputs, [plot], glob=glob)
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc
    check_files([plot])


def _make(
    ctx: click.Context, inputs: tuple[Path, ...], search: dict[str, Any], rule: str | None, *, quiet: bool
) -> Any:
    from neardup.cli import working
    from neardup.cli.progress import observer
    from neardup.tasks.plan.public import plan

    block = search.pop("block_size")
    if not inputs:
        try:
            return plan(None, rule=rule, block=block, **search)
        except InputError as exc:
            raise click.UsageError(str(exc)) from exc
    with observer(quiet=quiet) as watching:
        stoppable = working.Stoppable(watching)
        return working.in_background(
            ctx, lambda: plan(list(inputs), rule=rule, block=block, observer=stoppable, **search), stoppable
        )


def _typed(ctx: click.Context, search: dict[str, Any]) -> list[str]:
    """The options that were typed and that ``find`` takes too, other than those that the plan decides."""
    words = []
    decided = ("threshold", "recall", "slots", "bands", "rule", "weights")
    here = ("json", "plot", "quiet", "verbose", "inputs")
    for option in ctx.command.params:
        source = ctx.get_parameter_source(option.name or "")
        if option.name in decided + here or source is not click.core.ParameterSource.COMMANDLINE:
            continue
        value = search.get(option.name or "", ctx.params.get(option.name or ""))
        words += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return words
