"""Choosing slots, bands and the estimate filter from a threshold and a recall target, and by the rules of the
literature."""

from __future__ import annotations

import itertools
import math

from neardup.errors import InputError, did_you_mean
from neardup.params import Bands, check_probability, check_slots, check_threshold
from neardup.tuning.curves import match_tail, s_curve

__all__ = [
    "BAND_RULES",
    "DEFAULT_SLOTS",
    "FILTER_SHARE",
    "choose_bands",
    "choose_min_matches",
    "choose_slots",
]

BAND_RULES = ("recall", "log", "divisor")
DEFAULT_SLOTS = 128
FILTER_SHARE = 0.02
"""Share of the misses allowed by the recall target that the estimate filter may use up."""


def choose_bands(threshold: float, *, slots: int, recall: float = 0.99, rule: str = "recall") -> Bands:
    """Bands for a threshold, by one of three rules.

    ``recall``
        the most rows for which a pair at the threshold is found with at least ``recall``, so that candidates
        are fewest; as many bands as the slots allow. What neardup uses.
    ``log``
        the smallest b with b ln b >= -slots ln t, which solves t = (1/b)**(b/slots) (Hanna, Hunt; Chang, Tang).
        It centres the curve on t: about half to two thirds of the pairs at t are found.
    ``divisor``
        the divisor b of ``slots`` for which (1/b)**(b/slots) is nearest to t (Vilaseca, Lacasa, Martín).

    Raises:
        InputError: an argument is out of range, or no number of rows reaches the recall.
    """
    check_threshold(threshold)
    check_slots(slots)
    if rule == "recall":
        check_probability(recall, "recall")
        for rows in range(slots, 0, -1):
            if s_curve(threshold, slots // rows, rows) >= recall:
                return Bands(slots // rows, rows)
        raise InputError(
            f"{slots} slots cannot reach recall {recall} at threshold {threshold} "
            f"(the best is {s_curve(threshold, slots, 1):.6f}). Give more slots or a lower recall."
        )
    if rule == "log":
        needed = -slots * math.log(threshold)
        count = next(b for b in range(1, slots + 1) if b * math.log(b) >= needed or b == slots)
        return Bands(count, max(1, slots // count))
    if rule == "divisor":
        divisors = [b for b in range(1, slots + 1) if slots % b == 0]
        nearest = min(divisors, key=lambda b: abs((1.0 / b) ** (b / slots) - threshold))
        return Bands(nearest, slots // nearest)
    raise InputError(f"rule is {rule!r}; known are {', '.join(BAND_RULES)}.{did_you_mean(str(rule), BAND_RULES)}")


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
