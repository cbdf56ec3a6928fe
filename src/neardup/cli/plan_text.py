"""A plan as text for people: aligned, no wider than 100 columns. It decides nothing."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neardup.cli.summary import hint_rows, labelled, left_out, preset_rows
from neardup.shown import counted, duration, megabytes, percent
from neardup.tuning import s_curve

if TYPE_CHECKING:
    from neardup.tasks.plan.costs import Estimate, Range
    from neardup.tasks.plan.outcome import Collected, Option, Plan

WIDEST, LABEL = 100, 14
"""Characters of a line, and of the labels at its left."""
WIDTH = 28
"""Characters of the longest bar."""


def plan_lines(
    plan: Plan, *, inputs: Sequence[str] = (), options: Sequence[str] = (), told: Mapping[str, Any] | None = None
) -> list[str]:
    """The plan, a line an item; with inputs and other options as they were typed, also the command line to copy.

    ``told``: the plan as values, with commands to its hints; without it, nothing is said of preset and hints.
    """
    lines = [] if plan.collection is None else [*_collection(plan.collection), ""]
    lines += [*_chosen(plan), "", *_options(plan), "", *_rules(plan)]
    if plan.exact is not None and plan.chosen.estimate is not None:
        lines += ["", *_exact(plan, plan.exact, plan.chosen.estimate)]
    if inputs:
        words = ["neardup", "find", *inputs, "-t", f"{plan.threshold:g}", "--recall", f"{plan.target:g}"]
        if plan.spec.candidates_by is not None:
            words += ["--candidates-by", str(plan.spec.candidates_by)]
        words += ["--slots", str(plan.spec.slots), "--bands", str(plan.spec.bands), *options]
        lines += ["", "to run it:", f"  {shlex.join(words)}"]
    beside = [] if told is None else [*preset_rows(told["preset"]), *hint_rows(told["hints"])]
    if beside:
        lines += ["", *labelled(beside)]
    return lines


def _collection(found: Collected) -> list[str]:
    sizes = found.sizes
    lines = [
        f"documents     {found.documents:,} ({megabytes(found.bytes)}), {found.exact_copies:,} exact copies,"
        f" {found.distinct:,} distinct texts"
    ]
    lines += labelled(left_out(found.bad, found.blank, found.passed_over, found.columns))
    if sizes:
        lines += _wrapped((f"{name} {megabytes(sizes[key])}" for key, name in _QUANTILES), "sizes")
    share = percent(found.sampled, found.distinct) if found.distinct else "none"
    lines.append(f"sample        {counted(found.sampled, 'text')} ({megabytes(found.sampled_bytes)}), {share} of them")
    if found.crowds:
        lines.append(f"crowds        {found.crowds:,} of about {_short(found.crowd_documents)} documents")
    return [*lines, *_histogram(found.similarity)]


_QUANTILES = (("0", "least"), ("0.25", "a quarter below"), ("0.5", "half below"), ("0.95", "95 % below"), ("1", "most"))


def _histogram(bins: Sequence[Range]) -> list[str]:
    """Pairs by similarity, two bins a line; the bars are logarithmic."""
    joined = [(bins[i].expected + bins[i + 1].expected, i / len(bins)) for i in range(0, len(bins), 2)]
    most = max(pairs for pairs, _ in joined)
    if most < 1:
        return []
    lines = ["similarity    pairs of distinct texts, estimated (bars are logarithmic)"]
    for pairs, low in joined:
        bar = "█" * max(1, round(WIDTH * _log(pairs) / _log(most))) if pairs >= 1 else ""
        lines.append(f"  {low:.1f} to {low + 2 / len(bins):.1f}  {_short(pairs):>8}  {bar}".rstrip())
    return lines


def _log(number: float) -> float:
    return math.log10(max(number, 1.0)) + 1.0


def _chosen(plan: Plan) -> list[str]:
    option, by = plan.chosen, plan.spec.candidates_by
    at = f"{plan.spec.banded_at:g}" if by is None else f"{plan.spec.banded_at:g} of {by.shingle}"
    lines = [
        f"chosen        {option.slots} slots, {option.bands} bands: recall {_recall(option.recall)} at"
        f" {at} (asked for {plan.target:g})"
    ]
    if by is not None:
        lines.append(
            f"              of pairs at {plan.threshold:g} of {plan.spec.shingle} nothing is promised: audit it"
        )
    if option.recall < plan.target:
        lines.append("              below the recall that was asked for: leave --bands and --rule out to keep it")
    lines.append(f"chances       {_around(plan)}")
    if option.estimate is not None:
        cost = option.estimate
        lines += [
            f"candidates    {_range(cost.candidates)}",
            f"checked       {_range(cost.checked)}",
            f"pairs         {_range(cost.pairs)}",
        ]
        felt = [(name, spent) for name, spent in cost.seconds.items() if spent >= 0.01 * cost.total_seconds]
        lines += [
            f"time          {duration(cost.total_seconds)} with {counted(plan.threads, 'thread')}",
            *_wrapped(f"{name} {duration(spent)}" for name, spent in felt),
            f"memory        {megabytes(cost.memory)} of {megabytes(plan.memory_limit)}"
            + (f"; {megabytes(cost.disk)} on disk" if cost.disk else ""),
        ]
    return lines


def _wrapped(parts: Iterable[str], label: str = "") -> list[str]:
    """A list in a column of its own, on as many lines as it needs."""
    gap = " " * LABEL
    joined = ", ".join(part.replace(" ", "\0") for part in parts)
    lines = textwrap.wrap(joined, WIDEST, initial_indent=f"{label:<{LABEL}}", subsequent_indent=gap)
    return [line.replace("\0", " ") for line in lines]


def _around(plan: Plan) -> str:
    """Probability of becoming a candidate at and around the threshold, rounded down."""
    bands = plan.chosen.bands
    places = [round(plan.spec.banded_at + step, 6) for step in (-0.2, -0.1, -0.05, 0.0, 0.05, 0.1)]
    chances = [(s_curve(at, bands.bands, bands.rows), at) for at in places if 0 < at <= 1]
    return ", ".join(f"{int(chance * 1000) / 1000:.3f} at {at:g}" for chance, at in chances)


def _options(plan: Plan) -> list[str]:
    lines = [f"  slots     bands  recall  knee{'candidates':>12}{'checked':>10}{'time':>12}{'memory':>11}{'disk':>10}"]
    lines += [_row(option, "*" if option == plan.chosen else " ", f"{option.slots:>5}") for option in plan.options]
    if plan.chosen not in plan.options:
        lines.append(_row(plan.chosen, "*", f"{plan.chosen.slots:>5}"))
    return lines if plan.chosen.estimate is not None else [line.split("  candidates")[0].rstrip() for line in lines]


def _rules(plan: Plan) -> list[str]:
    has_costs = plan.chosen.estimate is not None
    head = f"  rule ({plan.spec.slots} slots)     bands  recall  knee   areas: FP     FN"
    lines = [head + (f"{'candidates':>13}{'time':>11}" if has_costs else "")]
    for each in plan.rules:
        option = each.option
        line = (
            f"  {each.rule:<16}{option.bands!s:>9}  {_recall(option.recall):>6}  {option.knee:.2f}"
            f"{each.false_positive_area:>13.4f}{each.false_negative_area:>7.4f}"
        )
        if option.estimate is not None:
            line += f"{_short(option.estimate.candidates.expected):>13}{duration(option.total_seconds):>11}"
        lines.append(line)
    return lines


def _row(option: Option, mark: str, name: str) -> str:
    line = f"{mark} {name}{option.bands!s:>10}  {_recall(option.recall):>6}  {option.knee:.2f}"
    cost = option.estimate
    if cost is None:
        return line
    disk = megabytes(cost.disk) if cost.disk else "-"
    return (
        f"{line}{_short(cost.candidates.expected):>12}{_short(cost.checked.expected):>10}"
        f"{duration(option.total_seconds):>12}{megabytes(cost.memory):>11}{disk:>10}"
    )


def _exact(plan: Plan, exact: Estimate, bands: Estimate) -> list[str]:
    other = "as fast as these bands" if plan.recommended == "exact" else "slower than these bands"
    return [
        f"exact join    {duration(exact.total_seconds)}, {megabytes(exact.memory)}"
        + (f", {megabytes(exact.disk)} on disk" if exact.disk else "")
        + f"; nothing is missed: {other} ({duration(bands.total_seconds)})"
    ]


def _recall(value: float) -> str:
    """Four places, rounded down: a promise is not made larger by rounding."""
    return f"{int(value * 10_000) / 10_000:.4f}"


def _range(found: Range) -> str:
    return f"{_short(found.expected)} ({_short(found.low)} to {_short(found.high)})"


def _short(number: float) -> str:
    """A count in about three digits: 950, 12.3k, 4.5M."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= limit:
            scaled = number / (1e3 if unit == "k" else limit)
            return f"{scaled:.3g}{unit}" if scaled < 1000 else f"{scaled:,.0f}{unit}"
    return f"{number:,.0f}"
