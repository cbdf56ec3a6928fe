"""Choosing slots, bands and the estimate filter from a threshold and a recall target.

Here: the S-curve, band choice by recall and by the rules of the literature, the split of the recall budget between
bands and estimate filter, and the spec of a run made from its options. Predicting cost from a sample is not here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from neardup.errors import InputError, did_you_mean
from neardup.params import (
    DEFAULT_CROWD,
    DEFAULT_NORMALIZE,
    DEFAULT_RECALL,
    DEFAULT_SEED,
    DEFAULT_SHINGLE,
    DEFAULT_SKETCH,
    DEFAULT_THRESHOLD,
    Bands,
    Normalize,
    Shingle,
    Spec,
    check_probability,
    check_sketch,
    check_slots,
    check_threshold,
)

__all__ = [
    "BAND_RULES",
    "DEFAULT_SLOTS",
    "FILTER_SHARE",
    "choose_bands",
    "choose_min_matches",
    "choose_slots",
    "filter_loss",
    "make_spec",
    "promised_recall",
    "s_curve",
]

BAND_RULES = ("recall", "log", "divisor")
DEFAULT_SLOTS = 128
FILTER_SHARE = 0.02
"""Share of the misses allowed by the recall target that the estimate filter may use up."""


def s_curve(similarity: float, bands: int, rows: int) -> float:
    """Probability that a pair of this similarity becomes a candidate: 1 - (1 - s**rows)**bands.

    Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.4.2.

    >>> round(s_curve(0.8, bands=20, rows=5), 5)
    0.99964
    """
    if not 0.0 <= similarity <= 1.0:
        raise InputError(f"similarity is {similarity}. Give a value from 0 to 1.")
    if bands < 1 or rows < 1:
        raise InputError(f"bands is {bands} and rows is {rows}. Give at least 1 of each.")
    return 1.0 - (1.0 - similarity**rows) ** bands


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


def _tail(threshold: float, slots: int) -> Iterator[float]:
    """P(X < m) for m = 0, 1, … of a binomial X of ``slots`` trials at ``threshold``."""
    yield 0.0
    if threshold >= 1.0:
        yield from (0.0 for _ in range(slots))
        return
    log_t, log_u = math.log(threshold), math.log1p(-threshold)
    choose = math.lgamma(slots + 1)
    below = 0.0
    for i in range(slots):
        ways = choose - math.lgamma(i + 1) - math.lgamma(slots - i + 1)
        below += math.exp(ways + i * log_t + (slots - i) * log_u)
        yield below


def filter_loss(threshold: float, slots: int, min_matches: int) -> float:
    """Probability that a pair at the threshold agrees in fewer than ``min_matches`` slots: a binomial tail.

    The default sketch varies less than independent permutations, so this is an upper bound for it.
    """
    return next(itertools.islice(_tail(threshold, slots), min(min_matches, slots), None))


def choose_min_matches(threshold: float, *, slots: int, recall: float) -> int:
    """Most matching slots that may be asked of a candidate within the filter's share of the recall budget."""
    budget = FILTER_SHARE * (1.0 - recall)
    within = itertools.takewhile(lambda loss: loss <= budget, _tail(threshold, slots))
    return sum(1 for _ in within) - 1


def promised_recall(threshold: float, bands: Bands, *, slots: int, min_matches: int) -> float:
    """Probability that a pair at the threshold is found: bands, less what the estimate filter may lose."""
    found = s_curve(threshold, bands.bands, bands.rows)
    return max(0.0, found - filter_loss(threshold, slots, min_matches))


def make_spec(
    *,
    threshold: float = DEFAULT_THRESHOLD,
    recall: float = DEFAULT_RECALL,
    shingle: str | Shingle = DEFAULT_SHINGLE,
    normalize: str | Normalize = DEFAULT_NORMALIZE,
    sketch: str = DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    seed: int = DEFAULT_SEED,
    crowd: int = DEFAULT_CROWD,
    collapse_exact: bool = False,
) -> Spec:
    """Check the options of a run and choose what was left open; the arguments are those of ``find``.

    ``recall`` of the result is the one that the chosen slots, bands and filter give at the threshold.

    Raises:
        InputError: an option is out of range, or two contradict each other.
    """
    threshold = check_threshold(threshold)
    target = check_probability(recall, "recall")
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed!r}. Give a whole number from 0 to 2**63 - 1.")
    if not isinstance(crowd, int) or isinstance(crowd, bool) or crowd < 2:
        raise InputError(f"crowd is {crowd!r}. Give a whole number of at least 2, such as {DEFAULT_CROWD}.")
    if slots is not None:
        check_slots(slots)
    # the filter may use up its share of the misses, the bands the rest
    for_bands = target + FILTER_SHARE * (1.0 - target)
    if bands is not None:
        shape = Bands.parse(bands)
        slots = check_slots(shape.slots) if slots is None else slots
        if shape.slots > slots:
            raise InputError(
                f"bands {shape} need {shape.slots} slots, slots is {slots}. Give more slots or smaller bands."
            )
    else:
        slots = choose_slots(threshold, for_bands) if slots is None else slots
        if s_curve(threshold, slots, 1) < for_bands:
            choose_bands(threshold, slots=slots, recall=target)  # says what the best is
            raise InputError(
                f"{slots} slots reach recall {target} only just, with nothing left for the estimate filter. "
                "Give more slots or a lower recall."
            )
        shape = choose_bands(threshold, slots=slots, recall=for_bands)
    matches = choose_min_matches(threshold, slots=slots, recall=target)
    return Spec(
        threshold=threshold,
        recall=promised_recall(threshold, shape, slots=slots, min_matches=matches),
        shingle=Shingle.parse(shingle),
        normalize=Normalize.parse(normalize),
        sketch=check_sketch(sketch),
        slots=slots,
        bands=shape,
        seed=seed,
        min_matches=matches,
        crowd=crowd,
        collapse_exact=collapse_exact,
    )
