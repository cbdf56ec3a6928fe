"""What the similarities of a pair say of it, given some answers: Bayesian logistic regression.

The log-odds of a pair are a prior mean plus a weighted sum of features with independent standard normal weights, so
that a feature's size is the prior's scale (ridge regression, C. M. Bishop, "Pattern Recognition and Machine Learning",
2006, sections 4.3 to 4.5). Features are: the mean over settings of the square root of the similarity, what each
setting sees beside that (principal components), and a few smooth waves of both, which let the line bend. An answer is
wrong with a fixed probability, which bounds what a single one can do.

The prior mean rises with the similarity, and falls with the logarithm of the number of pairs that are as similar. That
is Bayes' rule for two kinds of pairs (I. Fellegi, A. Sunter, "A Theory for Record Linkage", 1969): where nearly all are
unlike by chance, their number tells how likely chance is, so a hundred times as many pairs of a lower similarity are no
hundred times as many duplicates. How steep the rise is cannot be known beforehand: several priors are fitted, and each
counts by how likely it made the answers (Bayesian model averaging, Bishop, section 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.tasks.tune.cells import F32, product
from neardup.types import F64, I64, Mask

SLOPES = (12.0, 24.0, 48.0)
"""Of the priors: rise of the log-odds from the least to the most similar pair, beside the fall with their number. Whole
collections with labels have 10 to 50."""
WRONG = 0.06
"""Answers that are taken to be wrong."""
OFFSET_SCALE, SLOPE_SCALE, SETTING_SCALE, WAVE_SCALE = 5.0, 6.0, 3.0, 1.0
"""Standard deviations of the prior: where the line is, how steep it is, how much one setting may matter beside
the others, and how far the line may bend."""
COMPONENTS, WAVES = 12, 20
WAVE_LENGTH, SIDE_LENGTH = 0.2, 2.0
"""Over the mean, which goes from 0 to 1, and over the first components, of standard deviation 1."""
LARGEST = 4.0
"""Of a component: a few odd pairs do not stretch it."""
WAVE_SEED = 5
BINS, BLUR = 40, 1.5
"""Of the mean, in which pairs are counted; and the standard deviation, in bins, by which the counts are smoothed."""
ABOVE = 8
"""Bins over which the duplicates are averaged that a lower bin may not exceed."""
ITERATIONS = 25
FLAT = 1e-5
"""Gain of the log posterior below which the maximum is found."""
STEPS, SHRINKS = 6, 30
"""Of a chain, and tries within a step."""
STEEPEST = 40.0
"""Log-odds beyond which a probability is taken to be 0 or 1."""


@dataclass(frozen=True, slots=True)
class Features:
    """The features of some pairs, scaled by the prior."""

    values: F64
    """float64[m, d]."""
    place: F64
    """float64[m]: from 0, the least similar pair, to 1, the most similar."""
    crowd: F64
    """float64[m]: logarithm of how many pairs are as similar, over the same of the most similar; at least 0."""
    amount: F32
    """float32[BINS, m]: pairs that each stands for, in the row of its place."""

    @classmethod
    def of(cls, similarity: NDArray[Any], weight: F64) -> Features:
        """Of similarities float[m, k], of pairs that stand for ``weight`` (float64[m]) each. O(m k^2)."""
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
        at = np.minimum((place * BINS).astype(np.int64), BINS - 1)
        amount = np.where(at == np.arange(BINS)[:, None], weight, 0.0).astype(np.float32)
        return cls(np.concatenate(columns, axis=1), place, _crowd(place, amount.sum(axis=1, dtype=np.float64)), amount)

    def mean(self, slope: float) -> F64:
        """float64[m]: prior mean of the log-odds."""
        mean: F64 = slope * (self.place - 0.5) - self.crowd
        return mean


def _crowd(place: F64, amount: F64) -> F64:
    """Logarithm of the number of pairs at each place, smoothed and never rising with the place; 0 at the top."""
    reach = int(4 * BLUR)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / BLUR) ** 2)
    count = np.pad(amount, reach, mode="edge")
    smooth = np.convolve(count, kernel / kernel.sum(), "valid")
    falling = np.log(np.maximum.accumulate(smooth[::-1] + 0.5)[::-1])
    crowd: F64 = np.interp(place, (np.arange(BINS) + 0.5) / BINS, falling - falling[-1])
    return crowd


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
    evidence: float
    """Logarithm of how likely the prior made the answers."""

    def drawn(self, noise: F64) -> F64:
        """float64[d, s]: draws of the weights from standard normal ``noise`` of that shape."""
        lower = np.linalg.cholesky(self.precision)
        draws: F64 = self.weights[:, None] + np.linalg.solve(lower.T, noise)
        return draws


@dataclass(frozen=True, slots=True)
class Mixture:
    """What priors of several slopes make of some answers."""

    asked: I64
    is_duplicate: Mask
    slopes: tuple[float, ...]
    trust: float
    parts: tuple[Posterior, ...]
    share: F64
    """float64[p]: how much each counts."""

    @classmethod
    def of(
        cls, features: Features, asked: I64, is_duplicate: Mask, slopes: tuple[float, ...], trust: float = 1.0
    ) -> Mixture:
        """Fit each to the answers for the pairs ``asked`` (int64[n], a pair may come twice).

        ``trust``: what an answer counts. Less than 1 leaves room for pairs that look alike to the model and differ in
        what it does not see (a tempered likelihood; P. Grünwald, T. van Ommen, "Inconsistency of Bayesian Inference for
        Misspecified Linear Models", 2017).
        """
        values = features.values[asked]
        parts = tuple(fit(values, features.mean(slope)[asked], is_duplicate, trust=trust) for slope in slopes)
        evidence = np.array([each.evidence for each in parts])
        likely = np.exp(evidence - evidence.max())
        return cls(asked, is_duplicate, slopes, trust, parts, likely / likely.sum())

    def probabilities(self, features: Features, draws: int, rng: np.random.Generator) -> F32:
        """float32[m, draws]: of each pair to be a duplicate; each prior has its share of the draws."""
        ends = np.rint(draws * np.cumsum(self.share)).astype(np.int64)
        of = np.searchsorted(ends, np.arange(draws), side="right")
        noise = rng.normal(size=(features.values.shape[1], draws))
        weights = np.concatenate([part.drawn(noise[:, of == i]) for i, part in enumerate(self.parts)], axis=1)
        mean = np.column_stack([features.mean(slope) for slope in self.slopes])
        sign = np.where(self.is_duplicate, 1.0, -1.0)[:, None]
        weights = settled(weights, features.values[self.asked], mean[self.asked][:, of], sign, self.trust, rng)
        odds = product(features.values.astype(np.float32), weights.astype(np.float32)) + mean.astype(np.float32)[:, of]
        return falling(features.amount, logistic(odds))


def settled(weights: F64, values: F64, mean: F64, sign: F64, trust: float, rng: np.random.Generator) -> F64:
    """Draws float64[d, s] of the normal approximation, moved towards the posterior itself; ``mean``: float64[n, s].

    Where all answers of a kind agree, their curvature is 0 and the approximation lets draws contradict them. So each
    makes STEPS steps of a chain whose limit is the posterior (I. Murray, R. Adams, D. MacKay, "Elliptical slice
    sampling", 2010).
    """

    def likelihood(some: F64) -> F64:
        whole: F64 = trust * np.log(WRONG + (1 - 2 * WRONG) * logistic(sign * (mean + values @ some))).sum(axis=0)
        return whole

    size = weights.shape[1]
    for _ in range(STEPS):
        other = rng.normal(size=weights.shape)
        level = likelihood(weights) + np.log(rng.random(size))
        high = np.asarray(rng.uniform(0, 2 * np.pi, size))
        low, angle = high - 2 * np.pi, high
        is_open = np.ones(size, dtype=np.bool_)
        for _ in range(SHRINKS):
            tried = weights * np.cos(angle) + other * np.sin(angle)
            is_open &= likelihood(tried) <= level
            if not is_open.any():
                break
            low, high = np.where(is_open & (angle < 0), angle, low), np.where(is_open & (angle >= 0), angle, high)
            angle = np.where(is_open, low + (high - low) * rng.random(size), angle)
        weights = np.where(is_open, weights, tried)
    return weights


def falling(amount: F32, probability: F32) -> F32:
    """Probabilities float32[m, s] of draws, lowered where pairs of a low similarity would be too many duplicates.

    Below the bin of similarity from which a threshold would be best, each has at most as many duplicates as the ABOVE
    before it have on average: they become rarer the less similar they are, however many pairs there are.
    """
    count = product(amount, probability)
    others = amount.sum(axis=1)[:, None] - count
    lowest = np.argmin(np.cumsum(count, axis=0) - count + np.cumsum(others[::-1], axis=0)[::-1], axis=0)
    factor = np.ones_like(count)
    for at in range(BINS - 2, -1, -1):
        most = count[at + 1 : at + 1 + ABOVE].mean(axis=0)
        factor[at] = np.where((at < lowest) & (count[at] > most), most / np.maximum(count[at], 1e-12), 1.0)
        count[at] *= factor[at]
    lowered: F32 = probability * np.where(probability < 0.5, factor[np.argmax(amount, axis=0)], np.float32(1.0))
    return lowered


def logistic(odds: NDArray[Any]) -> NDArray[Any]:
    """Probabilities of log-odds, of the same type."""
    probability: NDArray[Any] = 1.0 / (1.0 + np.exp(-np.clip(odds, -STEEPEST, STEEPEST)))
    return probability


def fit(values: F64, mean: F64, is_duplicate: Mask, *, wrong: float = WRONG, trust: float = 1.0) -> Posterior:
    """Weights given answers for pairs of features ``values`` (float64[n, d]) and prior mean ``mean`` (float64[n]).

    Fisher scoring with halved steps where one does not gain: with wrong answers the posterior has no concave logarithm.
    O(n d^2 + d^3) an iteration; milliseconds for 40 answers and 34 features.
    """
    sign = np.where(is_duplicate, 1.0, -1.0)
    size = values.shape[1]
    weights = np.zeros(size)
    now = log_posterior(weights, values, mean, sign, wrong, trust)
    for _ in range(ITERATIONS):
        odds = mean + values @ weights
        right = logistic(sign * odds)
        pull = sign * (1 - 2 * wrong) * right * (1 - right) / (wrong + (1 - 2 * wrong) * right)
        gradient = trust * (values.T @ pull) - weights
        step = np.linalg.solve(_precision(values, odds, wrong, trust), gradient)
        length, then = 1.0, log_posterior(weights + step, values, mean, sign, wrong, trust)
        while then < now and length > 1e-3:
            length /= 2
            then = log_posterior(weights + length * step, values, mean, sign, wrong, trust)
        if then < now:
            break
        weights, gain, now = weights + length * step, then - now, then
        if gain < FLAT:
            break
    precision = _precision(values, mean + values @ weights, wrong, trust)
    return Posterior(weights, precision, now - 0.5 * float(np.linalg.slogdet(precision)[1]))


def _precision(values: F64, odds: F64, wrong: float, trust: float) -> F64:
    """Return float64[d, d]: the expected curvature of the negative log posterior.

    The Fisher information of an answer on the log-odds is never negative, unlike the curvature itself.
    """
    probability = logistic(odds)
    heard = wrong + (1 - 2 * wrong) * probability
    information = ((1 - 2 * wrong) * probability * (1 - probability)) ** 2 / (heard * (1 - heard))
    precision: F64 = np.eye(values.shape[1]) + trust * values.T @ (values * information[:, None])
    return precision


def log_posterior(weights: F64, values: F64, mean: F64, sign: F64, wrong: float, trust: float) -> float:
    """Logarithm of the posterior density, up to a constant."""
    right = wrong + (1 - 2 * wrong) * logistic(sign * (mean + values @ weights))
    return float(trust * np.log(right).sum() - 0.5 * weights @ weights)


def is_wrong(probability: F64, is_duplicate: Mask, wrong: float = WRONG) -> F64:
    """Probability that an answer was wrong, given that of its pair to be a duplicate."""
    contrary = np.where(is_duplicate, 1 - probability, probability)
    share: F64 = wrong * contrary / (wrong * contrary + (1 - wrong) * (1 - contrary))
    return share
