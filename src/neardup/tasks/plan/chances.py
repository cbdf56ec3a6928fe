"""What bands and the estimate filter do with a pair that agrees in so many slots: exact counterparts of the S-curve.

Arrays over the number of slots; the S-curve is in ``tuning.choice``, which needs no numpy.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from neardup.params import Bands
from neardup.types import F64

__all__ = ["band_chances", "pass_chances", "slot_shares"]

MOST_EXACT = 1000
"""Slots up to which binomial coefficients are floats."""


def band_chances(slots: int, bands: Bands) -> F64:
    """Probability that a pair is met by bands, for each number of slots from 0 to ``slots`` in which it agrees.

    Which slots these are is left to chance. An unbiased counterpart of ``s_curve`` for what is seen instead of what is
    true. Ways to place M matches so that no band is full are the coefficients of ((1 + x)**r - x**r)**b (1 + x)**rest.
    Above 1000 slots they leave the range of a float64, and bands are taken as independent, which they then nearly are.

    >>> band_chances(4, Bands(2, 2)).round(3).tolist()
    [0.0, 0.0, 0.333, 1.0, 1.0]
    """
    if slots > MOST_EXACT:
        agree = np.arange(slots + 1, dtype=np.float64)
        full = np.ones(slots + 1)
        for i in range(bands.rows):
            full *= np.maximum(agree - i, 0) / (slots - i)
        met: F64 = 1.0 - (1.0 - full) ** bands.bands
        return met
    spoilt = _ways(bands.rows)
    spoilt[-1] = 0.0
    placed = _ways(slots - bands.slots)
    count = bands.bands
    while count:  # powers by squaring
        if count & 1:
            placed = np.convolve(placed, spoilt)
        count >>= 1
        if count:
            spoilt = np.convolve(spoilt, spoilt)
    chances: F64 = np.clip(1.0 - placed / _ways(slots), 0.0, 1.0)
    return chances


def _ways(n: int) -> F64:
    """Binomial coefficients C(n, 0) to C(n, n)."""
    return np.array([math.comb(n, m) for m in range(n + 1)], dtype=np.float64)


@lru_cache(maxsize=16)
def slot_shares(many: int, few: int) -> F64:
    """float64[many + 1, few + 1]: how likely a pair that agrees in M of ``many`` slots agrees in m of ``few`` of them.

    The hypergeometric distribution; ``few`` is at most ``many``. Kept, for it is wanted for every banding: read only.
    """
    log = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, many + 1)))))
    seen, kept = np.arange(many + 1)[:, None], np.arange(few + 1)[None, :]
    possible = (kept <= seen) & (few - kept <= many - seen)
    a, b = np.where(possible, kept, 0), np.where(possible, few - kept, 0)
    left = np.where(possible, many - seen, few)
    ways = log[np.where(possible, seen, 0)] - log[a] - log[np.where(possible, seen, 0) - a]
    ways = ways + log[left] - log[b] - log[left - b] - (log[many] - log[few] - log[many - few])
    return np.where(possible, np.exp(ways), 0.0)


def pass_chances(many: int, slots: int, bands: Bands, min_matches: int) -> tuple[F64, F64]:
    """For a pair that agrees in M of ``many`` slots: how likely bands of ``slots`` meet it, and the filter passes it.

    Returns:
        float64[many + 1] each; the second is the probability of both.
    """
    shares = slot_shares(many, slots)
    met = band_chances(slots, bands)
    passed = np.where(np.arange(slots + 1) >= min_matches, met, 0.0)
    return shares @ met, shares @ passed
