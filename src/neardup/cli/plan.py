"""``neardup plan``: choose bands, and predict candidates, memory and time before a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import forms, options, running
from neardup.cli.voice import usage_errors
from neardup.errors import InputError
from neardup.params import DEFAULT_WEIGHTS

if TYPE_CHECKING:
    from neardup.tasks.plan.outcome import Plan


def _rule(value: Any) -> str:
    from neardup.tuning import check_rule

    return check_rule(value)


def _weights(value: Any) -> tuple[float, float]:
    try:
        positives, negatives = map(float, str(value).split(","))
    except ValueError as exc:
        raise InputError(f"weights is {value}. Give two numbers with a comma between, such as 0.5,0.5.") from exc
    return positives, negatives


@forms.command("plan", "plan docs.jsonl -t 0.8", "plan -t 0.8 --slots 128")
@click.argument("inputs", nargs=-1, metavar="[INPUT…]", type=click.Path(path_type=Path, allow_dash=True))
@options.preset
@options.threshold
@options.recall
@options.shingle
@options.normalize
@options.slots
@options.bands
@options.candidates_by
@click.option(
    "--rule",
    type=options.Checked("name", _rule),
    metavar="NAME",
    help="Take the bands of a rule: recall (what neardup uses), or of the literature threshold, divisor, log or area,"
    " which find about half to two thirds of the pairs at the threshold.",
)
@options.defaulted(
    "--weights",
    type=options.Checked("two numbers", _weights),
    metavar="FP,FN",
    default=",".join(map(str, DEFAULT_WEIGHTS)),
    help="Weights of the areas of false positives and of false negatives, for the rule area.",
)
@options.sketch
@options.seed
@options.collapse_exact
@options.crowd
@click.option("--json", is_flag=True, help="Print the plan as one JSON object.")
@options.plot
@options.reading
@options.threads
@options.memory
@options.voices
def plan(*, ctx: click.Context, inputs: tuple[Path, ...], plot: str | None, voice: forms.Voice, **asked: Any) -> None:
    """Choose bands, and predict candidates, memory and time before a run.

    INPUT is what `neardup find` reads; it is read once, and a sample of its texts is compared. The setting chosen is
    the one that is predicted to be fastest among those that keep the recall promise. Without INPUT the plan shows what
    a threshold and a number of slots give, and what the rules of the literature would take.

    The plan goes to stdout, everything else to stderr. Nothing but the figure of --plot is written, and no run is
    started.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup.cli.plan_text import plan_lines

    forms.check_banding(asked["slots"], asked["bands"])
    if asked["rule"] is not None and asked["bands"] is not None:
        raise click.UsageError("--rule and --bands exclude each other. Give one of them.")
    if plot is not None:
        from neardup.cli.targets import check_targets

        check_targets(inputs, [], glob=asked["glob"], plot=plot)
    made = _make(ctx, inputs, asked, quiet=voice.quiet)
    if plot is not None:
        from neardup.tasks.figures.sheets import plot_spec

        plot_spec(made.spec, plot)
    told = forms.with_commands(ctx, made.as_dict())
    lines = plan_lines(made, inputs=[str(path) for path in inputs], options=_typed(ctx), told=told)
    voice.answer(told, lines)


def _make(ctx: click.Context, inputs: tuple[Path, ...], asked: dict[str, Any], *, quiet: bool) -> Plan:
    from neardup.tasks.plan.public import plan

    if not inputs:
        with usage_errors():
            return plan(None, **asked)
    with running.stoppable(ctx, quiet=quiet) as observer:
        return observer.in_background(lambda: plan(list(inputs), observer=observer, **asked))


def _typed(ctx: click.Context) -> list[str]:
    """The options that were typed and that ``find`` takes too, other than those that the plan decides."""
    decided = {"threshold", "recall", "slots", "bands", "candidates_by", "rule", "weights"}
    here = {"json", "plot", "quiet", "verbose", "inputs"}
    return forms.retyped(ctx, list(forms.typed(ctx, set(ctx.params) - decided - here)))
