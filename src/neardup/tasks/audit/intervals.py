"""How sure a measured share is: intervals, tails, and what pairs that miss together cost.

Pure functions of numbers and arrays. What is measured, and on what, is in ``neardup.tasks.audit``.
"""

from __future__ import annotations

import math

import numpy as np

from neardup.types import F64, I32, I64

__all__ = ["Z95", "binomial_tail", "blended_effect", "design_effect", "wilson"]

Z95 = 1.959963984540054
"""Standard deviations within which 95 % of a normal distribution lie."""
TINY = 1e-300
STEPS = 10_000
"""Terms after which a continued fraction counts as converged; it takes about the root of the trials."""
PRIOR_CORRELATION = 0.25
"""How strongly pairs of one group are taken to miss together while too few misses were seen to tell."""
PRIOR_MISSES = 4.0
"""Misses that this guess weighs as much as."""


def wilson(successes: float, trials: float, *, z: float = Z95) -> tuple[float, float]:
    """Wilson's interval of a probability; neither number need be whole.

    Source: Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).

    >>> low, high = wilson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    if trials <= 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + z * z / (2 * trials)
    reach = z * math.sqrt(max(0.0, share * (1 - share)) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = 0.0 if successes <= 0 else max(0.0, (centre - reach) / scale)
    high = 1.0 if successes >= trials else min(1.0, (centre + reach) / scale)
    return low, high


def binomial_tail(least: float, trials: float, probability: float) -> float:
    """P(X >= least) of a binomial X; by the incomplete beta function where the numbers are not whole.

    >>> round(binomial_tail(2, 3, 0.5), 6)
    0.5
    """
    if least <= 0:
        return 1.0
    if probability <= 0 or least > trials:
        return 0.0
    if probability >= 1:
        return 1.0
    return _incomplete_beta(least, trials - least + 1, probability)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by Lentz's continued fraction where that converges fast.

    Source: Abramowitz, Stegun, Handbook of Mathematical Functions, 26.5.8.
    """
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(b, a, 1.0 - x)
    ends = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    fraction = c = 1.0
    d = 0.0
    for step in range(STEPS):
        m = step // 2
        if step == 0:
            term = 1.0
        elif step % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / _away(1.0 + term * d)
        c = _away(1.0 + term / c)
        fraction *= c * d
        if abs(1.0 - c * d) < 1e-14:
            break
    return min(1.0, max(0.0, math.exp(ends) * (fraction - 1.0) / a))


def _away(value: float) -> float:
    """The value, or one that can be divided by."""
    return value if abs(value) > TINY else TINY


def design_effect(errors: F64, groups: I32 | I64, weights: F64 | None = None) -> float:
    """How many times the variance of a sum is that of independent terms: at least 1.

    The terms of one group may lean on each other, those of different groups do not. From the sums of the errors by
    group; 1 where there are no errors.

    Args:
        errors: float64[m], each term less what was expected of it.
        groups: int[m], the number of the group of each, from 0; not every number need be there.
        weights: float64[m], share of a term that its group answers for, where one term may come in several groups.
    """
    shared = errors if weights is None else errors * weights
    alone = float(np.sum(shared * errors))
    if alone <= 0:
        return 1.0
    sums = np.bincount(groups, weights=shared)[np.bincount(groups) > 0]
    spread = sums.size / max(1, sums.size - 1)
    return max(1.0, spread * float(np.sum(sums * sums)) / alone)


def blended_effect(measured: float, misses: int, sizes: I64) -> float:
    """A measured design effect, held up by a guess while there are few misses to measure it from.

    Args:
        measured: what ``design_effect`` gave.
        misses: how many terms it rests on.
        sizes: int64[g], terms of each group.
    """
    total = float(sizes.sum())
    mean = float(np.sum(sizes.astype(np.float64) ** 2)) / total if total else 1.0
    guessed = 1.0 + PRIOR_CORRELATION * (mean - 1.0)
    return max(1.0, (misses * measured + PRIOR_MISSES * guessed) / (misses + PRIOR_MISSES))
