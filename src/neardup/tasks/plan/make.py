"""Making a plan: from a reader and a spec to settings with their costs. Nothing of it is used by a run by itself."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace

from neardup import tuning
from neardup.engine.observe import Observer, Silent
from neardup.engine.space import Budget
from neardup.inputs.reader import Reader
from neardup.params import DEFAULT_WEIGHTS, RunOptions, Spec
from neardup.session import limit_records
from neardup.tasks.plan.measured import MeasuredCollection
from neardup.tasks.plan.outcome import Option, Plan, RuleOption, is_as_fast
from neardup.tasks.plan.settings import SLOTS, by_every_rule, by_rule, of_spec, settings

__all__ = ["choose_method", "make_plan", "make_table"]

TIE = 1.03
"""Settings whose times differ by less are taken as equal."""


def make_table(spec: Spec, target: float, *, weights: tuple[float, float] = DEFAULT_WEIGHTS) -> Plan:
    """A plan without data: the setting of ``spec``, the usual numbers of slots, and the rules of the literature."""
    options = []
    for slots in sorted({*SLOTS, spec.slots}):
        setting = by_rule("recall", spec.threshold, target, slots)
        if setting is not None:
            options.append(Option.of(setting))
    return Plan(
        threshold=spec.threshold,
        target=target,
        spec=spec,
        chosen=Option.of(of_spec(spec)),
        options=tuple(options),
        rules=tuple(
            RuleOption.of(rule, Option.of(setting), spec.threshold)
            for rule, setting in by_every_rule(spec, target, weights)
        ),
        collection=None,
        exact=None,
        threads=1,
        memory_limit=0,
        seconds=0.0,
    )


def make_plan(
    reader: Reader,
    spec: Spec,
    run: RunOptions,
    *,
    target: float,
    open_slots: Iterable[int] = (),
    weights: tuple[float, float] = DEFAULT_WEIGHTS,
    observer: Observer | None = None,
) -> Plan:
    """Read a collection, measure a sample, and say what runs over it will cost.

    The counts are the same for any number of threads and any order of the input; seconds are measured.

    Args:
        reader: the inputs; all of it is read, once.
        spec: of the run as it was asked for.
        run: threads and memory of the run, which the plan keeps to as well.
        target: the recall that was asked for.
        open_slots: numbers of slots from which, with bands, the cheapest setting is chosen; none: the plan is for
            ``spec`` as it is, and shows others beside it.
        weights: of the rule ``area``.
        observer: told about progress.

    Raises:
        InputError: an input cannot be read, or the memory limit is too small.
    """
    begin = time.perf_counter()
    budget, threads = Budget.of(run.memory_limit), run.workers
    limit_records(reader, budget, threads)
    default = by_rule("recall", spec.threshold, target, tuning.choose_slots(spec.threshold, target))
    wanted = settings(spec.threshold, target, open_slots)
    compared = [*wanted, *settings(spec.threshold, target, SLOTS), of_spec(spec), *filter(None, [default])]
    lengths = {setting.slots for setting in compared}
    measured = MeasuredCollection.of(reader, spec, lengths, budget, budget.threads(threads), observer or Silent())
    costs = {setting: Option.of(setting, measured.predict(setting)) for setting in dict.fromkeys(compared)}
    chosen = _cheapest(costs[setting] for setting in wanted) if wanted else costs[of_spec(spec)]
    spec = replace(spec, slots=chosen.slots, bands=chosen.bands, min_matches=chosen.min_matches, recall=chosen.recall)
    usual = [] if default is None else [costs[default]]
    shown = [*_best_of_each(costs.values(), target), *usual, chosen]
    return Plan(
        threshold=spec.threshold,
        target=target,
        spec=spec,
        chosen=chosen,
        options=tuple(sorted({(each.slots, each.bands): each for each in shown}.values(), key=_seconds)),
        rules=tuple(
            RuleOption.of(rule, Option.of(setting, measured.predict(setting)), spec.threshold)
            for rule, setting in by_every_rule(spec, target, weights)
        ),
        collection=measured.collected(reader.passed_over),
        exact=measured.exact,
        threads=measured.room.threads,
        memory_limit=budget.limit,
        seconds=time.perf_counter() - begin,
    )


def choose_method(
    reader: Reader, spec: Spec, run: RunOptions, *, target: float, observer: Observer | None = None
) -> tuple[bool, str]:
    """Whether the exact join is predicted to be as fast as the bands of ``spec``, and the reason in words.

    Arguments as for ``make_plan``.
    """
    budget, threads = Budget.of(run.memory_limit), run.workers
    limit_records(reader, budget, threads)
    measured = MeasuredCollection.of(reader, spec, {spec.slots}, budget, budget.threads(threads), observer or Silent())
    bands, exact = measured.predict(of_spec(spec)), measured.exact
    if exact is None:
        return True, "there is nothing to compare"
    return is_as_fast(exact, bands), (
        f"{exact.total_seconds:.1f} s predicted for the exact join and {bands.total_seconds:.1f} s for {spec.bands} "
        f"bands, which promise {math.floor(1e4 * spec.recall) / 1e4:.4f} where {target:g} was asked for"
    )


def _seconds(option: Option) -> float:
    return option.estimate.total_seconds if option.estimate is not None else 0.0


def _cheapest(options: Iterable[Option]) -> Option:
    """The fastest; of those as good as equal the one of fewest slots, then of most rows, then of the highest recall.

    Most rows are fewest candidates: where the time is the same, the setting that would suffer least from a surprise.
    """
    every = list(options)
    least = min(map(_seconds, every))
    equal = (each for each in every if _seconds(each) <= TIE * least)
    return min(equal, key=lambda each: (each.slots, -each.bands.rows, -each.recall))


def _best_of_each(options: Iterable[Option], target: float) -> list[Option]:
    """The cheapest that keeps the promise for each number of slots."""
    keeping = [option for option in options if option.recall >= target]
    lengths = sorted({option.slots for option in keeping})
    return [_cheapest(option for option in keeping if option.slots == length) for length in lengths]
