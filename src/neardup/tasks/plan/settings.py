"""The settings that a plan compares: every banding that keeps a promise, and those of named rules. Numbers only."""

from __future__ import annotations

import math
from collections.abc import Iterable

from neardup import tuning
from neardup.errors import InputError
from neardup.params import DEFAULT_WEIGHTS, Bands, Spec
from neardup.tasks.plan.costs import Setting

__all__ = ["SLOTS", "by_every_rule", "by_rule", "of_spec", "settings"]

SLOTS = (64, 128, 256, 512)
"""Lengths of signatures that a plan compares, beside the one that was asked for."""


def settings(threshold: float, target: float, slots: Iterable[int]) -> list[Setting]:
    """Every banding of some numbers of slots that keeps the promise, each row count with its fewest and most bands."""
    found = []
    for length in slots:
        matches = tuning.choose_min_matches(threshold, slots=length, recall=target)
        for rows in range(1, length + 1):
            most = length // rows
            if tuning.s_curve(threshold, most, rows) < tuning.recall_for_bands(target):
                continue
            fewest = _fewest_bands(threshold, tuning.recall_for_bands(target), rows, most)
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


def of_spec(spec: Spec) -> Setting:
    """The setting that a spec has."""
    return Setting(spec.slots, spec.bands, spec.min_matches, spec.recall)


def by_rule(
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


def by_every_rule(spec: Spec, target: float, weights: tuple[float, float]) -> list[tuple[str, Setting]]:
    """The settings of all rules for the slots of a spec."""
    named = ((rule, by_rule(rule, spec.threshold, target, spec.slots, weights)) for rule in tuning.BAND_RULES)
    return [(rule, setting) for rule, setting in named if setting is not None]
