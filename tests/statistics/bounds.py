"""The gates of the statistical tests, in one place: 5 sigma everywhere."""

from __future__ import annotations

import math

SIGMAS = 5.0


def share_sigma(probability: float, trials: int) -> float:
    """Standard error of a share of ``trials`` independent hits."""
    return math.sqrt(probability * (1 - probability) / trials)


def lowest_share(probability: float, trials: int) -> float:
    """The share below which a promise of ``probability`` counts as broken."""
    return probability - SIGMAS * share_sigma(probability, trials)


def highest_variance(similarity: float, slots: int, trials: int) -> float:
    """The largest sample variance of an estimate that is at most the classical J(1 - J)/slots.

    The relative standard error of a sample variance is sqrt(2/(n - 1) + kurtosis/n), with the excess kurtosis
    of a binomial share.
    """
    spread = similarity * (1 - similarity)
    kurtosis = max(0.0, (1 - 6 * spread) / (slots * spread))
    error = math.sqrt(2 / (trials - 1) + kurtosis / trials)
    return spread / slots * (1 + SIGMAS * error)


def tail(count: int, trials: int, probability: float) -> float:
    """The chance of ``count`` hits or more, exactly: where hits are rare, sigmas say little."""
    odds = (math.log(probability), math.log1p(-probability))
    whole = math.lgamma(trials + 1)
    below = (
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(trials - k + 1) + k * odds[0] + (trials - k) * odds[1])
        for k in range(count)
    )
    return max(0.0, 1.0 - math.fsum(below))
