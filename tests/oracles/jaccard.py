"""Jaccard similarity, and what "at least t" means."""

from __future__ import annotations

import math
from collections.abc import Set
from fractions import Fraction


def jaccard(a: Set[object], b: Set[object]) -> Fraction:
    """|a & b| / |a | b| as a fraction; 0 when both are empty."""
    union = len(a | b)
    return Fraction(len(a & b), union) if union else Fraction(0)


def reaches(shared: int, union: int, threshold: float) -> bool:
    """True when shared/union, rounded once to a float64, is at least ``threshold``.

    Said without a division: a correctly rounded quotient is >= t exactly when the true quotient is at least
    the midpoint between t and the float below it (at the midpoint itself, when t is the even neighbour).
    """
    if union == 0:
        return False
    below = math.nextafter(threshold, 0.0)
    middle = (Fraction(below) + Fraction(threshold)) / 2
    value = Fraction(shared, union)
    return value > middle or (value == middle and float(middle) == threshold)
