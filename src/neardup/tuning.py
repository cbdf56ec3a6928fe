"""Choose the slots, bands, estimate filter and screen that a search leaves open, and make its spec.

These are pure functions of numbers; ``tasks.plan`` finds the cheapest setting for a collection. The rules for bands
from the literature centre the S-curve on the threshold and so miss a good part of the pairs *at* it; they are here for
comparison and for use by name.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from neardup.calls import hinted
from neardup.errors import InputError, did_you_mean
from neardup.params import (
    CONTAINMENT,
    DEFAULT_SKETCH,
    DEFAULT_WEIGHTS,
    MAX_SLOTS,
    NO_CROWD,
    OVERLAP,
    Bands,
    CandidateShingle,
    Normalize,
    Overlap,
    Screen,
    SearchOptions,
    Shingle,
    Spec,
    check_exact,
    check_probability,
    check_slots,
    check_threshold,
)
from neardup.screening import choose_screen, screen_loss

if TYPE_CHECKING:
    import numpy as np

    from neardup.types import F64


BAND_RULES = ("recall", "threshold", "divisor", "log", "area")
"""The rule that neardup uses, and four rules from the literature that centre the curve on the threshold."""
DEFAULT_SLOTS = 128
FILTER_SHARE = 0.02
"""The share of the misses allowed by the recall target that the estimate filter may use up."""
SCREEN_SHARE = 0.1
"""The share of these misses that the screen of candidate pairs may use up."""
MOST_NODES = 257
"""The most points of a quadrature."""
CANDIDATE_SLOTS = 512
"""The most slots up to which candidates by other shingles get bands with more rows than they need."""
LEAST_ROWS = 2
"""The fewest rows of bands for these candidates: with one row, all documents that share a common shingle would meet."""


@hinted
def s_curve(similarity: float, bands: int, rows: int) -> float:
    """Return the probability that a pair of this similarity becomes a candidate: 1 - (1 - s**rows)**bands.

    Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.4.2.

    >>> round(s_curve(0.8, bands=20, rows=5), 5)
    0.99964
    """
    if not 0.0 <= similarity <= 1.0:
        raise InputError(f"similarity is {similarity}. Give a value from 0 to 1.")
    if bands < 1 or rows < 1:
        raise InputError(f"bands is {bands} and rows is {rows}. Give at least 1 of each.")
    return 1.0 - (1.0 - similarity**rows) ** bands


def match_tail(threshold: float, slots: int) -> Iterator[float]:
    """Yield P(X < m) for m = 0, 1, … up to ``slots``, where X is binomial with ``slots`` trials at ``threshold``."""
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
    """Return the probability that a pair at the threshold agrees in fewer than ``min_matches`` slots: a binomial tail.

    The default sketch varies less than independent permutations, so for that sketch the result is an upper bound.
    """
    return next(itertools.islice(match_tail(threshold, slots), min(min_matches, slots), None))


def promised_recall(threshold: float, bands: Bands, *, slots: int, min_matches: int, screen: Screen) -> float:
    """Return the probability that a pair at the threshold is found: the S-curve less the losses of filter and screen.

    A pair that meets in a large bucket may be lost in the filter, any other in the screen; the sum bounds both losses.
    """
    found = s_curve(threshold, bands.bands, bands.rows)
    return max(0.0, found - filter_loss(threshold, slots, min_matches) - screen_loss(threshold, bands, screen))


def screen_for(threshold: float, bands: Bands, *, slots: int, recall: float) -> Screen:
    """Choose the screen of a run, within the screen's share of the recall budget."""
    return choose_screen(threshold, bands, slots=slots, loss=SCREEN_SHARE * (1.0 - recall))


@hinted
def choose_bands(
    threshold: float,
    *,
    slots: int,
    recall: float = 0.99,
    rule: str = "recall",
    weights: tuple[float, float] = DEFAULT_WEIGHTS,
) -> Bands:
    """Choose bands for a threshold t by one of these rules.

    ``recall``
        the most rows for which a pair at the threshold is found with a probability of at least ``recall``, so that
        candidates are fewest; as many bands as the slots allow. neardup uses this rule.
    ``threshold``
        the rows r, with as many bands b as the slots allow, for which (1/b)**(1/r) is nearest to t (Leskovec,
        Rajaraman, Ullman).
    ``divisor``
        the divisor b of ``slots`` for which (1/b)**(b/slots) is nearest to t (Vilaseca, Lacasa, Martín).
    ``log``
        the smallest b with b ln b >= -slots ln t, which solves t = (1/b)**(b/slots) (Hanna, Hunt; Chang, Tang).
    ``area``
        the bands with the least weighted sum of two areas: false positives below t and false negatives above t,
        each multiplied by its weight in ``weights`` (datasketch).

    All rules except the first centre the curve on t: they find about half to two thirds of the pairs at t.

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
    if rule == "area":
        return area_rule(threshold, slots, weights=weights)
    return {"threshold": threshold_rule, "divisor": divisor_rule, "log": log_rule}[rule](threshold, slots)


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


def knee(bands: Bands) -> float:
    """Return the similarity near which the S-curve is steepest: (1/b)**(1/r).

    Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.4.2.

    >>> round(knee(Bands(20, 5)), 3)
    0.549
    """
    return float((1.0 / bands.bands) ** (1.0 / bands.rows))


def threshold_rule(threshold: float, slots: int) -> Bands:
    """Return as many bands of r rows as the slots allow, for the r whose (1/b)**(1/r) is nearest to the threshold.

    If two are equally near, take the one with fewer rows. Source: see ``knee``.
    """
    choices = [Bands(slots // rows, rows) for rows in range(1, slots + 1)]
    return min(choices, key=lambda bands: abs(knee(bands) - threshold))


def divisor_rule(threshold: float, slots: int) -> Bands:
    """Take the divisor b of the slots whose (1/b)**(b/slots) is nearest to the threshold (Vilaseca, Lacasa, Martín)."""
    choices = [Bands(count, slots // count) for count in range(1, slots + 1) if slots % count == 0]
    return min(choices, key=lambda bands: abs(knee(bands) - threshold))


def log_rule(threshold: float, slots: int) -> Bands:
    """Take the least b with b ln b >= -slots ln t, which solves t = (1/b)**(b/slots) (Hanna, Hunt; Chang, Tang)."""
    needed = -slots * math.log(threshold)
    count = next(b for b in range(1, slots + 1) if b * math.log(b) >= needed or b == slots)
    return Bands(count, max(1, slots // count))


@dataclass(frozen=True, slots=True)
class Areas:
    """The errors of an S-curve on either side of a threshold, as areas."""

    false_positive: float
    """The area below the curve and left of the threshold: dissimilar pairs that become candidates."""
    false_negative: float
    """The area above the curve and right of the threshold: near-duplicates that do not become candidates."""


def areas(threshold: float, bands: Bands) -> Areas:
    """Return both areas, by integrating the S-curve over the similarity.

    >>> found = areas(0.5, Bands(25, 5))
    >>> round(found.false_positive, 4), round(found.false_negative, 4)
    (0.0537, 0.0338)
    """
    import numpy as np  # imported here and below, because only areas need numpy

    below, above = _areas(threshold, np.array([bands.bands]), np.array([bands.rows]), bands.slots)
    return Areas(float(below[0]), float(above[0]))


def area_rule(threshold: float, slots: int, *, weights: tuple[float, float] = DEFAULT_WEIGHTS) -> Bands:
    """Return the bands within the slots for which the weighted sum of both areas is least; datasketch's rule.

    Ties go to fewer bands, then to fewer rows. The rule tries O(slots ln slots) settings with up to 257 points each.
    The ``weights`` apply to false positives and false negatives, in this order; they need not sum to 1.

    Raises:
        InputError: a weight is negative, or both are 0.
    """
    import numpy as np

    false_positive, false_negative = weights
    if false_positive < 0 or false_negative < 0 or false_positive + false_negative <= 0:
        raise InputError(f"weights are {weights}. Give two numbers of at least 0, one of them above it.")
    counts = [(b, r) for b in range(1, slots + 1) for r in range(1, slots // b + 1)]
    bands, rows = np.array(counts).T
    best, error = (1, 1), math.inf
    for i in range(0, bands.size, 4096):
        below, above = _areas(threshold, bands[i : i + 4096], rows[i : i + 4096], slots)
        total = false_positive * below + false_negative * above
        least = int(np.argmin(total))
        if total[least] < error:
            best, error = counts[i + least], float(total[least])
    return Bands(*best)


def _areas(threshold: float, bands: np.ndarray, rows: np.ndarray, slots: int) -> tuple[F64, F64]:
    """Return both areas for many settings of at most ``slots`` slots.

    The curve is a polynomial of degree b r, which Gauss-Legendre quadrature with half as many points integrates
    exactly. Above 512 slots MOST_NODES points suffice: the error stays far below a rounding error of the curve.
    """
    nodes, weight = quadrature(min(slots // 2 + 1, MOST_NODES))
    left = threshold / 2 * (nodes + 1)
    right = threshold + (1 - threshold) / 2 * (nodes + 1)
    missed_left = (1 - left ** rows[:, None]) ** bands[:, None]
    missed_right = (1 - right ** rows[:, None]) ** bands[:, None]
    return threshold / 2 * (1 - missed_left) @ weight, (1 - threshold) / 2 * missed_right @ weight


@lru_cache(maxsize=8)
def quadrature(points: int) -> tuple[F64, F64]:
    """Return the nodes and weights of Gauss-Legendre quadrature on (-1, 1)."""
    import numpy as np

    nodes, weight = np.polynomial.legendre.leggauss(points)
    return nodes, weight


def recall_for_bands(recall: float) -> float:
    """Return the recall that bands must reach so that filter and screen may use up their shares of the misses."""
    return recall + (FILTER_SHARE + SCREEN_SHARE) * (1.0 - recall)


def choose_slots(threshold: float, recall: float) -> int:
    """Choose the slots if the user gave none: DEFAULT_SLOTS, doubled until some banding reaches the recall.

    At t = 0.8, sketching with 128 slots costs half as much as with 256 on short texts, and a tenth less on long ones;
    the screen drops most of the candidates that the coarser bands add (benchmarks/RESULTS.md).
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
    """Return the most matching slots that the filter may require within its share of the recall budget."""
    budget = FILTER_SHARE * (1.0 - recall)
    within = itertools.takewhile(lambda loss: loss <= budget, match_tail(threshold, slots))
    return sum(1 for _ in within) - 1


def candidate_threshold(threshold: float, shingle: Shingle, other: Shingle) -> float:
    """Return the similarity of a pair at the threshold in the longer shingles ``other``, if its edits are independent.

    If two texts of one size have Jaccard similarity t, each shares c = 2 t / (1 + t) of its k-shingles with the other.
    If each character survived the edits independently, they would share c**(n / k) of their runs of n characters.
    Real edits come in clumps and spoil fewer shingles for the same similarity, so most real pairs are above the result,
    near 0.4 in ``char:5`` all but a few in a hundred (benchmarks/RESULTS.md). Rounded down to three decimals.

    >>> candidate_threshold(0.4, Shingle.parse("char:5"), Shingle.parse("char:12"))
    0.15
    """
    shared: float = (2 * threshold / (1 + threshold)) ** (other.letters / shingle.letters)
    return math.floor(1000 * shared / (2 - shared) + 1e-9) / 1000


def candidate_bands(threshold: float, recall: float) -> Bands:
    """Choose the fewest bands that find candidates by other shingles with the recall at the threshold.

    The bands have as many rows as CANDIDATE_SLOTS allows, and at least LEAST_ROWS.

    Raises:
        InputError: the bands would need more than MAX_SLOTS slots.
    """
    chosen = Bands(_bands_needed(threshold, recall, LEAST_ROWS), LEAST_ROWS)
    if chosen.slots > MAX_SLOTS:
        raise InputError(
            f"candidates_by: a similarity of {threshold:g} in these shingles takes more than {MAX_SLOTS} slots for a "
            f"recall of {recall:g}. Give shorter shingles, or a lower recall."
        )
    rows = LEAST_ROWS + 1
    while rows <= CANDIDATE_SLOTS and (more := Bands(_bands_needed(threshold, recall, rows), rows)).slots <= (
        CANDIDATE_SLOTS
    ):
        chosen, rows = more, rows + 1
    return chosen


def _bands_needed(threshold: float, recall: float, rows: int) -> int:
    """Return the fewest bands of ``rows`` rows that find a pair at the threshold with a recall."""
    miss = 1.0 - threshold**rows
    if miss >= 1.0:
        return MAX_SLOTS + 1
    count = 1 if miss <= 0.0 else max(1, math.ceil(math.log1p(-recall) / math.log(miss)))
    while count <= MAX_SLOTS and s_curve(threshold, count, rows) < recall:
        count += 1  # the logarithms have a rounding error
    return count


def _candidates_by(options: SearchOptions, shingle: Shingle) -> CandidateShingle | None:
    """Return the shingle that finds candidates, with its threshold, or None if it is the shingle of the check."""
    if options.candidates_by is None:
        return None
    asked = CandidateShingle.parse(options.candidates_by)
    given = f"candidates_by is {str(asked)!r}"
    if options.measure == CONTAINMENT or options.exact:
        who = "containment" if options.measure == CONTAINMENT else "exact"
        raise InputError(f"{given}, and {who} is found by a join, which has no such candidates. Give one of them.")
    if options.sketch != DEFAULT_SKETCH:
        raise InputError(f"{given}, for which there is the sketch {DEFAULT_SKETCH} only. Leave sketch out.")
    if "item" in (asked.shingle.kind, shingle.kind):
        raise InputError(f"{given} and shingle is '{shingle}': sets of items have no other shingles. Give one of them.")
    if asked.shingle == shingle:
        raise InputError(f"{given}, which is the shingle of the check itself. Give a longer one, or leave it out.")
    if asked.threshold is not None:
        return asked
    if asked.shingle.letters <= shingle.letters:
        raise InputError(
            f"{given}, which is no longer than the shingle {shingle}: unrelated texts would share more of them, not "
            f"less. Give a longer one, or say with @T from which similarity pairs are candidates."
        )
    threshold = candidate_threshold(options.threshold, shingle, asked.shingle)
    if threshold <= 0:
        raise InputError(f"{given}, which is too long to find pairs at {options.threshold:g} of {shingle}.")
    return CandidateShingle(asked.shingle, threshold)


def make_spec(options: SearchOptions | None = None, /, **fields: Any) -> Spec:
    """Make a spec, choosing the values that the options of a search leave open.

    The ``recall`` of the spec is the recall of its slots, bands, filter and screen at the threshold. It is 1 for the
    exact join, which always serves containment. It is None with ``candidates_by``: slots, bands and filter suit the
    threshold of those shingles, and the share of matching pairs that they find is not known in advance. If a plan is to
    choose (``exact="auto"``), the spec uses bands. Fields of ``options`` may be given by name instead.

    Raises:
        InputError: an option is out of range, or two contradict each other.
    """
    options = options or SearchOptions(**fields)
    target, slots, bands, shingle = options.recall, options.slots, options.bands, Shingle.parse(options.shingle)
    candidates_by = _candidates_by(options, shingle)
    threshold = options.threshold if candidates_by is None else candidates_by.threshold
    assert threshold is not None
    is_contained = options.measure == CONTAINMENT
    is_exact = check_exact(options.exact, options.measure) or is_contained
    if is_exact:
        if slots is not None or bands is not None or options.sketch != DEFAULT_SKETCH:
            who, other = ("containment", "another measure") if is_contained else ("the exact join", "no exact")
            raise InputError(f"{who} has no signatures. Give no slots, bands or sketch with it, or {other}.")
        slots, bands = DEFAULT_SLOTS, Bands(1, 1)  # placeholders: as_exact removes them
    for_bands = recall_for_bands(target)
    if candidates_by is not None and slots is None and bands is None:
        bands = candidate_bands(threshold, for_bands)
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
            choose_bands(threshold, slots=slots, recall=target)  # raises an error with the best recall
            raise InputError(
                f"{slots} slots reach recall {target} only just, with nothing left for filter and screen. "
                "Give more slots or a lower recall."
            )
        shape = choose_bands(threshold, slots=slots, recall=for_bands)
    matches = choose_min_matches(threshold, slots=slots, recall=target)
    screen = screen_for(threshold, shape, slots=slots, recall=target)
    promised = promised_recall(threshold, shape, slots=slots, min_matches=matches, screen=screen)
    spec = Spec(
        threshold=options.threshold,
        recall=promised if candidates_by is None else None,
        shingle=shingle,
        normalize=Normalize.parse(options.normalize),
        sketch=options.sketch,
        slots=slots,
        bands=shape,
        seed=options.seed,
        min_matches=matches,
        crowd=options.crowd or NO_CROWD,
        collapse_exact=options.collapse_exact,
        measure=options.measure,
        verify=options.verify,
        candidates_by=candidates_by,
        screen=screen,
    )
    return as_exact(spec) if is_exact else spec


def make_overlap_spec(rule: Overlap, options: SearchOptions) -> Spec:
    """Make the spec of a run that compares documents with protected ones by a rule of n-gram overlap.

    Raises:
        InputError: an option of a search is given that the rule already decides.
    """
    for each in fields(SearchOptions):
        usual = getattr(SearchOptions(), each.name)
        if getattr(options, each.name) != usual:
            raise InputError(
                f"{each.name} is {getattr(options, each.name)}, and overlap {rule} says itself what is compared. Leave "
                f"{each.name} out; overlap takes n-grams and a share of your own, such as 13:0.5."
            )
    spec = replace(make_spec(shingle=rule.shingle, normalize=rule.normalize), measure=OVERLAP, overlap=str(rule))
    return as_exact(replace(spec, threshold=rule.share or 0.0))


def as_exact(spec: Spec) -> Spec:
    """Return the spec of the same run by the exact join."""
    joined = replace(spec, recall=1.0, sketch="none", slots=0, bands=Bands(0, 0), min_matches=0, exact=True)
    return replace(joined, candidates_by=None, screen=None)
