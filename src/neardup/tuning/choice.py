"""Choosing slots, bands and the estimate filter from a threshold and a recall target, or bands by a named rule.

The rules of the literature are in ``rules``; which setting is cheapest on a collection is in ``tasks.plan.costs``.
"""

from __future__ import annotations

import itertools

from neardup.errors import InputError, did_you_mean
from neardup.params import DEFAULT_WEIGHTS, Bands, check_probability, check_slots, check_threshold
from neardup.tuning.curves import match_tail, s_curve

__all__ = [
    "BAND_RULES",
    "DEFAULT_SLOTS",
    "FILTER_SHARE",
    "check_rule",
    "choose_bands",
    "choose_min_matches",
    "choose_slots",
    "recall_for_bands",
]

BAND_RULES = ("recall", "threshold", "divisor", "log", "area")
"""What neardup uses, and four of the literature that centre the curve on the threshold."""
DEFAULT_SLOTS = 128
FILTER_SHARE = 0.02
"""Share of the misses allowed by the recall target that the estimate filter may use up."""


def choose_bands(
    threshold: float,
    *,
    slots: int,
    recall: float = 0.99,
    rule: str = "recall",
    weights: tuple[float, float] = DEFAULT_WEIGHTS,
) -> Bands:
    """Bands for a threshold, by one of these rules.

    ``recall``
        the most rows for which a pair at the threshold is found with at least ``recall``, so that candidates
        are fewest; as many bands as the slots allow. What neardup uses.
    ``threshold``
        the rows r, with as many bands b as the slots allow, for which (1/b)**(1/r) is nearest to t (Leskovec,
        Rajaraman, Ullman).
    ``divisor``
        the divisor b of ``slots`` for which (1/b)**(b/slots) is nearest to t (Vilaseca, Lacasa, Martín).
    ``log``
        the smallest b with b ln b >= -slots ln t, which solves t = (1/b)**(b/slots) (Hanna, Hunt; Chang, Tang).
    ``area``
        the bands for which the areas of false positives and false negatives beside t, each multiplied by its
        weight in ``weights``, have the least sum (datasketch).

    All but the first centre the curve on t: about half to two thirds of the pairs at t are found.

    Raises:
        InputError: an argument is out of range, or no number of rows reaches the recall.

    >>> str(choose_bands(0.8, slots=128)), str(choose_bands(0.8, slots=128, rule="area"))
    ('21x6', '9x13')
    """
    check_threshold(threshold)
    check_slots(slots)
    if rule == "recall":
        return _by_recall(threshold, slots, check_probability(recall, "recall"))
    check_rule(rule)
    from neardup.tuning.rules import by_rule  # needs numpy, which nothing else here does

    return by_rule(rule, threshold, slots, weights)


def check_rule(value: str) -> str:
    """Return the name of a rule for bands, or raise InputError listing them."""
    if value not in BAND_RULES:
        raise InputError(f"rule is {value!r}; known are {', '.join(BAND_RULES)}.{did_you_mean(str(value), BAND_RULES)}")
    return value


def _by_recall(threshold: float, slots: int, recall: float) -> Bands:
    for rows in range(slots, 0, -1):
        if s_curve(threshold, slots // rows, rows) >= recall:
            return Bands(slots // rows, rows)
    raise InputError(
        f"{slots} slots cannot reach recall {recall} at threshold {threshold} "
        f"(the best is {s_curve(threshold, slots, 1):.6f}). Give more slots or a lower recall."
    )


def recall_for_bands(recall: float) -> float:
    """What the bands must reach so that ``recall`` is kept when the estimate filter has used up its share."""
    return recall + FILTER_SHARE * (1.0 - recall)


def choose_slots(threshold: float, recall: float) -> int:
    """Slots for a run whose user named none: DEFAULT_SLOTS, doubled until some banding reaches the recall.

    At 128 slots and t = 0.8 sketching costs half of what 256 cost on short texts and a tenth less on long ones;
    the candidates that the coarser bands add die in the estimate filter (benchmarks/RESULTS.md).
    """
    slots = DEFAULT_SLOTS
    while s_curve(threshold, slots, 1) < recall:
        slots *= 2
        if slots > 4096:
            raise InputError(
                f"no number of slots up to 4096 reaches recall {recall} at threshold {threshold}. "
                "Give a higher threshold or a lower recall."
            )
    return slots


def choose_min_matches(threshold: float, *, slots: int, recall: float) -> int:
    """Most matching slots that may be asked of a candidate within the filter's share of the recall budget."""
    budget = FILTER_SHARE * (1.0 - recall)
    within = itertools.takewhile(lambda loss: loss <= budget, match_tail(threshold, slots))
    return sum(1 for _ in within) - 1
