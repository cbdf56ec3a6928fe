"""The rules of the literature for choosing bands, and what an S-curve gets wrong on either side of a threshold.

The rules centre the S-curve on the threshold, so that a good part of the pairs *at* it is missed; they are here to be
compared and used by name. The rule of a recall target, which neardup uses, is in ``choice``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from neardup.errors import InputError
from neardup.params import DEFAULT_WEIGHTS, Bands
from neardup.types import F64

__all__ = ["Areas", "area_rule", "areas", "by_rule", "divisor_rule", "knee", "log_rule", "threshold_rule"]

MOST_NODES = 257
"""Points of a quadrature, at most."""


def by_rule(rule: str, threshold: float, slots: int, weights: tuple[float, float]) -> Bands:
    """The bands of a rule by its name; the weights are those of ``area_rule``, and nothing to the others."""
    if rule == "area":
        return area_rule(threshold, slots, weights=weights)
    return {"threshold": threshold_rule, "divisor": divisor_rule, "log": log_rule}[rule](threshold, slots)


def knee(bands: Bands) -> float:
    """Similarity near which the S-curve is steepest: (1/b)**(1/r).

    Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.4.2.

    >>> round(knee(Bands(20, 5)), 3)
    0.549
    """
    return float((1.0 / bands.bands) ** (1.0 / bands.rows))


def threshold_rule(threshold: float, slots: int) -> Bands:
    """As many bands of r rows as the slots allow, for the r whose (1/b)**(1/r) is nearest to the threshold.

    Of two equally near the one with fewer rows. Source: as ``knee``.
    """
    choices = [Bands(slots // rows, rows) for rows in range(1, slots + 1)]
    return min(choices, key=lambda bands: abs(knee(bands) - threshold))


def divisor_rule(threshold: float, slots: int) -> Bands:
    """The divisor b of the slots for which (1/b)**(b/slots) is nearest to the threshold (Vilaseca, Lacasa, Martín)."""
    choices = [Bands(count, slots // count) for count in range(1, slots + 1) if slots % count == 0]
    return min(choices, key=lambda bands: abs(knee(bands) - threshold))


def log_rule(threshold: float, slots: int) -> Bands:
    """The smallest b with b ln b >= -slots ln t, which solves t = (1/b)**(b/slots) (Hanna, Hunt; Chang, Tang)."""
    needed = -slots * math.log(threshold)
    count = next(b for b in range(1, slots + 1) if b * math.log(b) >= needed or b == slots)
    return Bands(count, max(1, slots // count))


@dataclass(frozen=True, slots=True)
class Areas:
    """What an S-curve gets wrong on either side of a threshold."""

    false_positive: float
    """Area below the curve left of the threshold: strangers that become candidates."""
    false_negative: float
    """Area above the curve right of it: near-duplicates that do not."""


def areas(threshold: float, bands: Bands) -> Areas:
    """Both areas, by integration of the S-curve over the similarity.

    >>> found = areas(0.5, Bands(25, 5))
    >>> round(found.false_positive, 4), round(found.false_negative, 4)
    (0.0537, 0.0338)
    """
    below, above = _areas(threshold, np.array([bands.bands]), np.array([bands.rows]), bands.slots)
    return Areas(float(below[0]), float(above[0]))


def area_rule(threshold: float, slots: int, *, weights: tuple[float, float] = DEFAULT_WEIGHTS) -> Bands:
    """The bands within the slots for which the weighted sum of both areas is least; datasketch's rule.

    Of equals the one with fewer bands, then with fewer rows. O(slots ln slots) settings, some 64 to 257 points each.

    Args:
        threshold: 0 < t <= 1.
        slots: length of a signature; the bands may leave some unused.
        weights: of the false positives and the false negatives; they need not sum to 1.

    Raises:
        InputError: a weight is negative, or both are 0.
    """
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
    """Areas of many settings of at most ``slots`` slots.

    The curve is a polynomial of degree b r, which Gauss-Legendre quadrature of half as many points integrates
    exactly. Past 512 slots the points stay MOST_NODES, and the error far below a rounding error of the curve.
    """
    nodes, weight = _quadrature(min(slots // 2 + 1, MOST_NODES))
    left = threshold / 2 * (nodes + 1)
    right = threshold + (1 - threshold) / 2 * (nodes + 1)
    missed_left = (1 - left ** rows[:, None]) ** bands[:, None]
    missed_right = (1 - right ** rows[:, None]) ** bands[:, None]
    return threshold / 2 * (1 - missed_left) @ weight, (1 - threshold) / 2 * missed_right @ weight


@lru_cache(maxsize=8)
def _quadrature(points: int) -> tuple[F64, F64]:
    """Nodes and weights of Gauss-Legendre quadrature on (-1, 1)."""
    nodes, weight = np.polynomial.legendre.leggauss(points)
    return nodes, weight
