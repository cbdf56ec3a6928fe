"""What the similarities of a pair say of it, given some answers: Bayesian logistic regression.

The log-odds of a pair are a prior mean plus a weighted sum of features with independent standard normal weights, so
that a feature's size is the prior's scale (ridge regression, C. M. Bishop, "Pattern Recognition and Machine Learning",
2006, sections 4.3 to 4.5). Features are: the mean over settings of the square root of the similarity, what each
setting sees beside that (principal components), and a few smooth waves of both, which let the line bend. An answer is
wrong with a fixed probability, which bounds what a single one can do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.types import F64, I64, Mask

STEEP, FLAT_SLOPE = 60.0, 20.0
"""Prior log-odds from the least to the most similar pair of a collection, -30 to 30 or -10 to 10: near-duplicates are
similar. The steep prior chooses better, the flat one leaves more open; intervals are of both."""
OFFSET_SCALE, SLOPE_SCALE, SETTING_SCALE, WAVE_SCALE = 5.0, 6.0, 3.0, 1.0
"""Standard deviations of the prior: where the line is, how steep it is, how much one setting may matter beside
the others, and how far the line may bend."""
COMPONENTS, WAVES = 12, 20
WAVE_LENGTH, SIDE_LENGTH = 0.2, 2.0
"""Over the mean, which goes from 0 to 1, and over the first components, of standard deviation 1."""
LARGEST = 4.0
"""Of a component: a few odd pairs do not stretch it."""
WAVE_SEED = 5
WRONG = 0.06
"""Answers that are taken to be wrong."""
FLAT_WRONG = 0.15
"""The same with the flat prior: labels follow wording less closely than the model has it."""
ITERATIONS = 25
FLAT = 1e-5
"""Gain of the log posterior below which the maximum is found."""
STEEPEST = 40.0
"""Log-odds beyond which a probability is taken to be 0 or 1."""


@dataclass(frozen=True, slots=True)
class Features:
    """The features of some pairs, scaled by the prior."""

    values: F64
    """float64[m, d]."""
    mean: F64
    """float64[m]: prior mean of the log-odds."""

    @classmethod
    def of(cls, similarity: NDArray[Any]) -> Features:
        """Of similarities float[m, k], with the steep prior. O(m k^2)."""
        roots: F64 = np.sqrt(similarity.astype(np.float64))
        mean = roots.mean(axis=1)
        low, high = float(mean.min(initial=1.0)), float(mean.max(initial=0.0))
        place = (mean - low) / (high - low) if high > low else np.full(mean.size, 0.5)
        beside = roots - mean[:, None]
        sides = _components(beside - beside.mean(axis=0) if mean.size else beside)
        draws = np.random.default_rng(WAVE_SEED).normal(size=(1 + min(3, sides.shape[1]), WAVES // 2))
        phase = np.column_stack((place / WAVE_LENGTH, sides[:, :3] / SIDE_LENGTH)) @ draws
        waves = np.concatenate((np.cos(phase), np.sin(phase)), axis=1) * np.sqrt(2 / WAVES)
        columns = (
            np.full((mean.size, 1), OFFSET_SCALE),
            SLOPE_SCALE * (place[:, None] - 0.5),
            SETTING_SCALE * sides,
            WAVE_SCALE * waves,
        )
        return cls(np.concatenate(columns, axis=1), STEEP * (place - 0.5))

    @property
    def flat(self) -> Features:
        """The same with the flat prior."""
        return Features(self.values, self.mean * (FLAT_SLOPE / STEEP))


def _components(beside: F64) -> F64:
    """Principal components of what the settings see beside their mean; the first has a standard deviation of 1."""
    left, scale, _ = np.linalg.svd(beside, full_matrices=False)
    count = min(COMPONENTS, scale.size)
    sides = left[:, :count] * scale[:count]
    deviation = float(np.sqrt(np.mean(sides[:, 0] ** 2))) if count and sides.shape[0] else 0.0
    if deviation < 1e-9:
        return np.zeros_like(sides)
    clipped: F64 = np.clip(sides / deviation, -LARGEST, LARGEST)
    return clipped


@dataclass(frozen=True, slots=True)
class Posterior:
    """Weights after some answers: a normal distribution about the most probable ones (Laplace's approximation)."""

    weights: F64
    """float64[d]."""
    precision: F64
    """float64[d, d]: the expected curvature of the negative log posterior."""

    def probabilities(self, features: Features, noise: F64) -> F64:
        """float64[m, s]: of each pair to be a duplicate, for s draws of the weights from standard normal ``noise``."""
        lower = np.linalg.cholesky(self.precision)
        drawn = self.weights[:, None] + np.linalg.solve(lower.T, noise)
        return logistic(features.mean[:, None] + features.values @ drawn)


def logistic(odds: F64) -> F64:
    """Probabilities of log-odds."""
    probability: F64 = 1.0 / (1.0 + np.exp(-np.clip(odds, -STEEPEST, STEEPEST)))
    return probability


def fit(
    features: Features, asked: I64, is_duplicate: Mask, *, start: F64 | None = None, wrong: float = WRONG
) -> Posterior:
    """Weights given the answers for the pairs ``asked`` (int64[n], a pair may come twice).

    Fisher scoring with halved steps where one does not gain: with wrong answers the posterior has no concave logarithm.
    O(n d^2 + d^3) an iteration; milliseconds for 40 answers and 34 features.
    """
    values, mean, sign = features.values[asked], features.mean[asked], np.where(is_duplicate, 1.0, -1.0)
    size = features.values.shape[1]
    weights = np.zeros(size) if start is None else start.copy()
    now = log_posterior(weights, values, mean, sign, wrong)
    precision = np.eye(size)
    for _ in range(ITERATIONS):
        odds = mean + values @ weights
        right = logistic(sign * odds)
        gradient = (
            values.T @ (sign * (1 - 2 * wrong) * right * (1 - right) / (wrong + (1 - 2 * wrong) * right)) - weights
        )
        precision = np.eye(size) + values.T @ (values * _information(odds, wrong)[:, None])
        step = np.linalg.solve(precision, gradient)
        length, then = 1.0, log_posterior(weights + step, values, mean, sign, wrong)
        while then < now and length > 1e-3:
            length /= 2
            then = log_posterior(weights + length * step, values, mean, sign, wrong)
        if then < now:
            break
        weights, gain, now = weights + length * step, then - now, then
        if gain < FLAT:
            break
    return Posterior(weights, precision)


def log_posterior(weights: F64, values: F64, mean: F64, sign: F64, wrong: float) -> float:
    """Logarithm of the posterior density, up to a constant."""
    right = wrong + (1 - 2 * wrong) * logistic(sign * (mean + values @ weights))
    return float(np.log(right).sum() - 0.5 * weights @ weights)


def _information(odds: F64, wrong: float) -> F64:
    """Fisher information of an answer on the log-odds: never negative, where the curvature itself can be."""
    probability = logistic(odds)
    heard = wrong + (1 - 2 * wrong) * probability
    information: F64 = ((1 - 2 * wrong) * probability * (1 - probability)) ** 2 / (heard * (1 - heard))
    return information


def is_wrong(probability: F64, is_duplicate: Mask, wrong: float = WRONG) -> F64:
    """Probability that an answer was wrong, given that of its pair to be a duplicate."""
    contrary = np.where(is_duplicate, 1 - probability, probability)
    share: F64 = wrong * contrary / (wrong * contrary + (1 - wrong) * (1 - contrary))
    return share
