"""What an S-curve gets wrong on either side of a threshold, as areas, and the rule that makes their sum least."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from neardup.errors import InputError
from neardup.params import DEFAULT_WEIGHTS, Bands
from neardup.types import F64

__all__ = ["Areas", "area_rule", "areas"]

MOST_NODES = 257


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
