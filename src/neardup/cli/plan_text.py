"""A plan as text for people: aligned, no wider than 100 columns. It decides nothing."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neardup.cli.summary import hint_rows, labelled, left_out, preset_rows
from neardup.params import SPARK
from neardup.shown import counted, duration, megabytes, percent
from neardup.tuning import s_curve

if TYPE_CHECKING:
    from neardup.tasks.plan.beside import BreakEven
    from neardup.tasks.plan.cluster import ClusterEstimate, StageCost
    from neardup.tasks.plan.costs import Estimate, Range
    from neardup.tasks.plan.outcome import ClusterPlan, Collected, Option, Plan

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
        if plan.cluster is not None:
            words += ["--workdir", "WORKDIR"]
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
        if plan.cluster is not None and option.cluster is not None:
            return [*lines, *_clustered(plan, plan.cluster, option.cluster, cost)]
        felt = [(name, spent) for name, spent in cost.seconds.items() if spent >= 0.01 * cost.total_seconds]
        lines += [
            f"time          {duration(cost.total_seconds)} with {counted(plan.threads, 'thread')}",
            *_wrapped(f"{name} {duration(spent)}" for name, spent in felt),
            f"memory        {megabytes(cost.memory)} of {megabytes(plan.memory_limit)}"
            + (f"; {megabytes(cost.disk)} on disk" if cost.disk else ""),
        ]
    return lines


def _clustered(plan: Plan, cluster: ClusterPlan, cost: ClusterEstimate, here: Estimate) -> list[str]:
    """What the cluster takes, by stages, and one machine beside it."""
    shape, driver = cluster.shape, cost.driver_memory
    lines = [
        "",
        f"  stage            tasks    partitions    shuffled{'CPU':>14}{'time':>14}",
        *map(_stage, cost.stages),
        "",
        f"cluster       {counted(shape.cores, 'core')} of {megabytes(shape.memory)}, {counted(cost.tasks, 'task')}",
        f"time          {_between(cost.seconds, duration)}",
        f"CPU           {_between(cost.cpu_seconds, duration)} of all machines; one machine"
        f" {duration(cluster.one_machine_cpu)}",
        f"shuffled      {_between(cost.shuffled, megabytes)}, and as much on Spark's local disks together",
        f"workdir       {_between(cost.workdir, megabytes)}",
        f"workers       {megabytes(cost.worker_memory)} for the Python process of a core, beside"
        f" {megabytes(shape.jvm)} for the JVM",
        f"driver        {_between(driver, megabytes)} of {megabytes(plan.memory_limit)}, for"
        f" {_range(cost.known)} known documents",
        f"one machine   {duration(here.total_seconds)} with {counted(plan.threads, 'thread')},"
        f" {megabytes(here.memory)}" + (f", {megabytes(here.disk)} on disk" if here.disk else ""),
        *_paragraph("better", _better(plan, cluster, cost, here)),
    ]
    for warning in cluster.warnings:
        lines += _paragraph("beware", warning)
    return lines


def _stage(stage: StageCost) -> str:
    tasks, parts = (f"{number:,}" if number else "-" for number in (stage.tasks, stage.partitions))
    sent = megabytes(stage.shuffled) if stage.shuffled else "-"
    took = (duration(seconds) for seconds in (stage.cpu_seconds, stage.seconds))
    return f"  {stage.name:<11}{tasks:>11}{parts:>14}{sent:>12}" + "".join(f"{each:>14}" for each in took)


def _between(found: Range, show: Callable[[float], str]) -> str:
    return f"{show(found.expected)} ({show(found.low)} to {show(found.high)})"


def _better(plan: Plan, cluster: ClusterPlan, cost: ClusterEstimate, here: Estimate) -> str:
    """Who should do it, and from what size on that changes."""
    ratio = here.total_seconds / cost.seconds.expected
    if not cluster.fits_one_machine:
        return "the cluster: one machine with this --memory cannot take so many documents."
    even = cluster.break_even
    if even is None:
        return "one machine: there is nothing to compare."
    if plan.better_engine == SPARK:
        told = f"the cluster: {ratio:.1f} times as fast as one machine."
        return f"{told} It begins to pay at {_even(even)} like these."
    told = f"one machine: it takes {duration(here.total_seconds)}, this cluster {duration(cost.seconds.expected)}."
    if even.is_limit:
        return f"{told} It is as fast up to {_even(even)} like these, and cannot take more with this --memory."
    return f"{told} The cluster begins to pay at {_even(even)} like these."


def _even(even: BreakEven) -> str:
    return f"about {_short(even.documents)} documents ({megabytes(even.bytes)} of text)"


def _paragraph(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDEST, initial_indent=f"{label:<{LABEL}}", subsequent_indent=" " * LABEL)


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
    last = ("memory", "disk") if plan.cluster is None else ("driver", "shuffled")
    lines = [f"  slots     bands  recall  knee{'candidates':>12}{'checked':>10}{'time':>12}{last[0]:>11}{last[1]:>10}"]
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
    cost, cluster = option.estimate, option.cluster
    if cost is None:
        return line
    memory, disk = cost.memory, cost.disk
    if cluster is not None:
        memory, disk = round(cluster.driver_memory.expected), round(cluster.shuffled.expected)
    return (
        f"{line}{_short(cost.candidates.expected):>12}{_short(cost.checked.expected):>10}"
        f"{duration(option.total_seconds):>12}{megabytes(memory):>11}{megabytes(disk) if disk else '-':>10}"
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
