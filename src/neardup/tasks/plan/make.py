"""Make a plan: settings with their costs, from a reader and a spec. No run uses a plan by itself."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from operator import attrgetter

from neardup import tuning
from neardup.engine.fit import slow_hint
from neardup.engine.observe import Observer
from neardup.errors import InputError
from neardup.inputs.reader import Reader
from neardup.params import DEFAULT_WEIGHTS, Bands, RunOptions, Spec
from neardup.tasks.plan.costs import Setting, least_seconds
from neardup.tasks.plan.measured import MeasuredCollection
from neardup.tasks.plan.outcome import Option, Plan, RuleOption, is_as_fast
from neardup.tuning import LEAST_ROWS

SLOTS = (40, 64, 128, 256, 512)
"""The numbers of slots that a plan compares, besides the one that was asked for. The fewest suit short texts."""
TIE = 1.03
"""The factor within which the times of two settings are taken as equal."""


def make_table(spec: Spec, target: float, *, weights: tuple[float, float]) -> Plan:
    """Make a plan without data: the setting of ``spec``, the usual numbers of slots, and rules of the literature."""
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
    open_slots: Collection[int] = (),
    weights: tuple[float, float] = DEFAULT_WEIGHTS,
) -> Plan:
    """Read a collection once, measure a sample, and predict the costs of runs over the collection.

    The counts are the same for any number of threads and any order of the input; seconds are measured. The plan chooses
    the cheapest setting of bands with one of ``open_slots`` that keeps the recall ``target``. If ``open_slots`` is
    empty, the plan is for ``spec`` as it is, and shows other settings for comparison.
    """
    begin = time.perf_counter()
    at = spec.banded_at
    # with candidates by other shingles, ``spec`` itself has the default setting, unless the user chose one
    is_usual = spec.candidates_by is None
    default = _by_rule("recall", at, target, tuning.choose_slots(at, target)) if is_usual else None
    least = 1 if is_usual else LEAST_ROWS
    given = [_of_spec(spec), *filter(None, [default])]
    lengths = {*open_slots, *SLOTS}
    measured = MeasuredCollection.of(reader, spec, lengths.union(each.slots for each in given), run, observer)
    asked, *usual = map(measured.option, given)
    fastest = [each for slots in lengths for each in _fastest(slots, at, target, least, measured)]
    chosen = _cheapest([each for each in fastest if each.slots in open_slots] or [asked])
    spec = replace(spec, slots=chosen.slots, bands=chosen.bands, min_matches=chosen.min_matches, screen=chosen.screen)
    spec = replace(spec, recall=chosen.recall) if is_usual else spec
    assert chosen.estimate is not None, "it was measured"
    pairs = measured.collected.distinct * (measured.collected.distinct - 1) / 2
    slow = slow_hint(min(pairs, chosen.estimate.candidates.expected), pairs, spec)
    shown = [*fastest, *usual, chosen]
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
        hints=(*measured.hints, *slow),
    )


def choose_method(
    reader: Reader, spec: Spec, run: RunOptions, *, target: float, observer: Observer
) -> tuple[bool, str]:
    """Return whether the exact join is predicted to be as fast as the bands of ``spec``, and the reason in words."""
    measured = MeasuredCollection.of(reader, spec, {spec.slots}, run, observer)
    bands, exact = measured.predict(_of_spec(spec)), measured.exact
    if exact is None:
        return True, "there is nothing to compare"
    return is_as_fast(exact, bands), (
        f"{exact.total_seconds:.1f} s predicted for the exact join and {bands.total_seconds:.1f} s for {spec.bands} "
        f"bands, which promise {math.floor(1e4 * _of_spec(spec).recall) / 1e4:.4f} where {target:g} was asked for"
    )


_seconds = attrgetter("total_seconds")


def _cheapest(options: Iterable[Option]) -> Option:
    """Return the fastest option; ties within TIE go to the fewest slots, then the most rows, then the highest recall.

    The most rows give the fewest candidates, so among equal times that option suffers least if the prediction is wrong.
    """
    every = list(options)
    least = min(map(_seconds, every))
    equal = (each for each in every if _seconds(each) <= TIE * least)
    return min(equal, key=lambda each: (each.slots, -each.bands.rows, -each.recall))


def _fastest(slots: int, at: float, target: float, least_rows: int, measured: MeasuredCollection) -> list[Option]:
    """Return a list of the cheapest bands with ``slots`` that keep the promise, empty if no bands do.

    Choosing a screen takes milliseconds. So bands that are slower than others even without a check are skipped, as are
    bands with fewer rows than bands that already are as fast as any can be.
    """
    found: list[Option] = []
    known = measured.profile, measured.speeds, slots
    shapes = shapes_of(at, target, slots, least_rows=least_rows)
    least = {bands: least_seconds(*known, bands, threads=measured.threads) for bands in shapes}
    for bands in sorted(least, key=lambda each: (-each.rows, -each.bands)):
        if not found or least[bands] <= TIE * min(map(_seconds, found)):
            found.append(measured.option(setting_for(at, target, slots, bands)))
            if _seconds(found[-1]) <= TIE * min(least.values()):
                break
    return [_cheapest(found)] if found else []


def shapes_of(threshold: float, target: float, slots: int, *, least_rows: int = 1) -> list[Bands]:
    """Return all bands with ``slots`` that keep the promise: for each number of rows, the fewest and the most bands."""
    found, for_bands = [], tuning.recall_for_bands(target)
    for rows in range(least_rows, slots + 1):
        most = slots // rows
        if tuning.s_curve(threshold, most, rows) >= for_bands:
            fewest = _fewest_bands(threshold, for_bands, rows, most)
            found += [Bands(count, rows) for count in sorted({fewest, most})]
    return found


def setting_for(threshold: float, target: float, slots: int, bands: Bands) -> Setting:
    """Choose the filter and the screen for ``bands``, within their shares of the recall budget."""
    matches = tuning.choose_min_matches(threshold, slots=slots, recall=target)
    screen = tuning.screen_for(threshold, bands, slots=slots, recall=target)
    recall = tuning.promised_recall(threshold, bands, slots=slots, min_matches=matches, screen=screen)
    return Setting(slots, bands, matches, screen, recall)


def _fewest_bands(threshold: float, recall: float, rows: int, most: int) -> int:
    """Return the fewest bands of ``rows`` rows that reach a recall, given that ``most`` bands do."""
    miss = 1.0 - threshold**rows
    count = 1 if miss <= 0 else max(1, math.ceil(math.log1p(-recall) / math.log(miss)))
    while count < most and tuning.s_curve(threshold, count, rows) < recall:
        count += 1  # the logarithms have a rounding error
    return min(count, most)


def _of_spec(spec: Spec) -> Setting:
    """Return the setting of a spec."""
    slots, bands, matches, screen = spec.slots, spec.bands, spec.min_matches, spec.screening
    recall = tuning.promised_recall(spec.banded_at, bands, slots=slots, min_matches=matches, screen=screen)
    return Setting(slots, bands, matches, screen, recall)


def _by_rule(
    rule: str, threshold: float, target: float, slots: int, weights: tuple[float, float] = DEFAULT_WEIGHTS
) -> Setting | None:
    """Return the setting of a named rule, or None if no setting reaches the target."""
    recall = tuning.recall_for_bands(target)
    try:
        bands = tuning.choose_bands(threshold, slots=slots, recall=recall, rule=rule, weights=weights)
    except InputError:
        return None
    return setting_for(threshold, target, slots, bands)


def _rules(
    spec: Spec, target: float, weights: tuple[float, float], option: Callable[[Setting], Option]
) -> tuple[RuleOption, ...]:
    """Return the settings that the rules of the literature choose for the slots of a spec."""
    at = spec.banded_at
    found = ((rule, _by_rule(rule, at, target, spec.slots, weights)) for rule in tuning.BAND_RULES)
    return tuple(RuleOption.of(rule, option(setting), at) for rule, setting in found if setting is not None)
