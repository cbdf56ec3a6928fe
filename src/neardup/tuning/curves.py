"""Probabilities of being found: the S-curve of a banding, and what the estimate filter loses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from neardup.errors import InputError
from neardup.params import Bands

__all__ = ["filter_loss", "match_tail", "promised_recall", "s_curve"]


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


def match_tail(threshold: float, slots: int) -> Iterator[float]:
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
    return next(itertools.islice(match_tail(threshold, slots), min(min_matches, slots), None))


def promised_recall(threshold: float, bands: Bands, *, slots: int, min_matches: int) -> float:
    """Probability that a pair at the threshold is found: bands, less what the estimate filter may lose."""
    found = s_curve(threshold, bands.bands, bands.rows)
    return max(0.0, found - filter_loss(threshold, slots, min_matches))
