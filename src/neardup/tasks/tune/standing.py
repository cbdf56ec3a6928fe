"""How many pairs of the pool each pair of the work sample stands for, when some are known beforehand.

A pair that is known, by a label, stands for itself: nothing about it is left to be estimated. Those of the work sample
that are not known are an even draw from the pairs of their stratum that are not, and stand for these.
"""

from __future__ import annotations

import numpy as np

from neardup.types import F64, I64


def represented(stratum: I64, rows: I64, sampled: int, known: I64) -> F64:
    """float64[m], for ``rows`` (int64[m], indices into the pool): first ``sampled`` drawn ones, then known others.

    ``stratum`` (int64[pool]) is that of each pair of the pool. Where a stratum has no drawn pair left that is not known
    and yet pairs that nobody knows, its drawn pairs stand for all of it, as before.
    """
    count = np.bincount(stratum)
    own, is_drawn, is_known = stratum[rows], np.arange(rows.size) < sampled, np.isin(rows, known)
    drawn, still_open, told = (
        np.bincount(own[some], minlength=count.size) for some in (is_drawn, is_drawn & ~is_known, is_known)
    )
    before = np.where(is_drawn, (count / np.maximum(drawn, 1))[own], 0.0)
    since = np.where(is_known, 1.0, ((count - told) / np.maximum(still_open, 1))[own])
    is_covered = (still_open > 0) | (count == told)
    amount: F64 = np.where(is_covered[own], since, before)
    return amount
