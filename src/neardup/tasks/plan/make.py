"""Making a plan: from a reader and a spec to settings with their costs. Nothing of it is used by a run by itself."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from neardup import tuning
from neardup.engine.fit import Hint, slow_hint
from neardup.engine.observe import Observer
from neardup.errors import InputError
from neardup.inputs.reader import Reader
from neardup.params import DEFAULT_WEIGHTS, Bands, RunOptions, Spec
from neardup.tasks.plan.costs import Setting
from neardup.tasks.plan.measured import MeasuredCollection
from neardup.tasks.plan.outcome import Option, Plan, RuleOption, is_as_fast
from neardup.tuning import LEAST_ROWS

SLOTS = (64, 128, 256, 512)
"""Lengths of signatures that a plan compares, beside the one that was asked for."""
TIE = 1.03
"""Settings whose times differ by less are taken as equal."""


def make_table(spec: Spec, target: float, *, weights: tuple[float, float]) -> Plan:
    """A plan without data: the setting of ``spec``, the usual numbers of slots, and the rules of the literature."""
    usual = (_by_rule("recall", spec.banded_at, target, slots) for slots in sorted({*SLOTS, spec.slots}))
    return Plan(
        threshold=spec.threshold,
        target=target,
        spec=spec,
        chosen=Option.of(_of_spec(spec)),
        options=tuple(Option.of(setting) for setting in usual if setting is not None),
        rules=_rules(spec, target, weights, Option.of),
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
    observer: Observer,
    open_slots: Iterable[int] = (),
    weights: tuple[float, float] = DEFAULT_WEIGHTS,
) -> Plan:
    """Read a collection once, measure a sample, and say what runs over it will cost.

    The counts are the same for any number of threads and any order of the input; seconds are measured. From
    ``open_slots``, with bands, the cheapest setting that keeps the recall ``target`` is chosen. Where there are none
    the plan is for ``spec`` as it is, and shows others beside it.
    """
    begin = time.perf_counter()
    at = spec.banded_at
    # with candidates by other shingles that is the setting of ``spec``, where it was left open
    is_usual = spec.candidates_by is None
    default = _by_rule("recall", at, target, tuning.choose_slots(at, target)) if is_usual else None
    least = 1 if is_usual else LEAST_ROWS
    wanted = settings(at, target, open_slots, least_rows=least)
    compared = [*wanted, *settings(at, target, SLOTS, least_rows=least), _of_spec(spec), *filter(None, [default])]
    measured = MeasuredCollection.of(reader, spec, {setting.slots for setting in compared}, run, observer)
    costs = {setting: measured.option(setting) for setting in dict.fromkeys(compared)}
    chosen = _cheapest(costs[setting] for setting in wanted) if wanted else costs[_of_spec(spec)]
    spec = replace(spec, slots=chosen.slots, bands=chosen.bands, min_matches=chosen.min_matches)
    spec = replace(spec, recall=chosen.recall) if is_usual else spec
    usual = [] if default is None else [costs[default]]
    hints = [*measured.hints, *_slow(chosen, measured.collected.distinct, spec)]
    shown = [*_best_of_each(costs.values(), target), *usual, chosen]
    return Plan(
        threshold=spec.threshold,
        target=target,
        spec=spec,
        chosen=chosen,
        options=tuple(sorted({(each.slots, each.bands): each for each in shown}.values(), key=_seconds)),
        rules=_rules(spec, target, weights, measured.option),
        collection=measured.collected,
        exact=measured.exact,
        threads=measured.threads,
        memory_limit=measured.budget.limit,
        seconds=time.perf_counter() - begin,
        hints=tuple(hints),
    )


def _slow(chosen: Option, distinct: int, spec: Spec) -> list[Hint]:
    """The hint that the chosen setting takes long, if it does."""
    assert chosen.estimate is not None
    return slow_hint(chosen.estimate.candidates.expected, distinct * (distinct - 1) / 2, spec)


def choose_method(
    reader: Reader, spec: Spec, run: RunOptions, *, target: float, observer: Observer
) -> tuple[bool, str]:
    """Whether the exact join is predicted to be as fast as the bands of ``spec``, and the reason in words."""
    measured = MeasuredCollection.of(reader, spec, {spec.slots}, run, observer)
    bands, exact = measured.predict(_of_spec(spec)), measured.exact
    if exact is None:
        return True, "there is nothing to compare"
    return is_as_fast(exact, bands), (
        f"{exact.total_seconds:.1f} s predicted for the exact join and {bands.total_seconds:.1f} s for {spec.bands} "
        f"bands, which promise {math.floor(1e4 * _of_spec(spec).recall) / 1e4:.4f} where {target:g} was asked for"
    )


def _seconds(option: Option) -> float:
    return option.total_seconds


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


def settings(threshold: float, target: float, slots: Iterable[int], *, least_rows: int = 1) -> list[Setting]:
    """Every banding of some numbers of slots that keeps the promise, each row count with its fewest and most bands."""
    found, for_bands = [], tuning.recall_for_bands(target)
    for length in slots:
        matches = tuning.choose_min_matches(threshold, slots=length, recall=target)
        for rows in range(least_rows, length + 1):
            most = length // rows
            if tuning.s_curve(threshold, most, rows) < for_bands:
                continue
            fewest = _fewest_bands(threshold, for_bands, rows, most)
            for count in sorted({fewest, most}):
                bands = Bands(count, rows)
                recall = tuning.promised_recall(threshold, bands, slots=length, min_matches=matches)
                if recall >= target:
                    found.append(Setting(length, bands, matches, recall))
    return found


def _fewest_bands(threshold: float, recall: float, rows: int, most: int) -> int:
    """The fewest bands of so many rows that reach a recall, given that ``most`` do."""
    miss = 1.0 - threshold**rows
    count = 1 if miss <= 0 else max(1, math.ceil(math.log1p(-recall) / math.log(miss)))
    while count < most and tuning.s_curve(threshold, count, rows) < recall:
        count += 1  # the logarithms were off by a rounding
    return min(count, most)


def _of_spec(spec: Spec) -> Setting:
    """The setting that a spec has."""
    recall = tuning.promised_recall(spec.banded_at, spec.bands, slots=spec.slots, min_matches=spec.min_matches)
    return Setting(spec.slots, spec.bands, spec.min_matches, recall)


def _by_rule(
    rule: str, threshold: float, target: float, slots: int, weights: tuple[float, float] = DEFAULT_WEIGHTS
) -> Setting | None:
    """The setting of a named rule; None where it cannot reach the target at all."""
    recall = tuning.recall_for_bands(target)
    try:
        bands = tuning.choose_bands(threshold, slots=slots, recall=recall, rule=rule, weights=weights)
    except InputError:
        return None
    matches = tuning.choose_min_matches(threshold, slots=slots, recall=target)
    return Setting(slots, bands, matches, tuning.promised_recall(threshold, bands, slots=slots, min_matches=matches))


def _rules(
    spec: Spec, target: float, weights: tuple[float, float], option: Callable[[Setting], Option]
) -> tuple[RuleOption, ...]:
    """What the rules of the literature choose for the slots of a spec."""
    at = spec.banded_at
    found = ((rule, _by_rule(rule, at, target, spec.slots, weights)) for rule in tuning.BAND_RULES)
    return tuple(RuleOption.of(rule, option(setting), at) for rule, setting in found if setting is not None)
