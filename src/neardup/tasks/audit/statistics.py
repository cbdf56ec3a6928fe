"""The statistics of an audit: found and missed pairs give an interval, and the probability that chance is the cause."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.params import Spec
from neardup.screening import screen_loss
from neardup.stages.cluster import Components
from neardup.tasks.audit.outcome import AuditBin
from neardup.tuning import filter_loss, s_curve
from neardup.types import F64, I32, I64, Mask, Pairs

BINS = 10
"""The number of bins of similarity between the threshold and 1; pairs at exactly 1 have a separate bin."""
GRID = 64
"""The number of similarities at which the loss of filter and screen, which is small and smooth, is computed."""
COMMON = 0.004
"""The correlation of the misses of any two pairs. All pairs of a search share its hash functions, which matters if
shingles are common in the collection. Over hash seeds it is 0.001 on long texts and 0.004 on one-line titles, the most
that was measured (benchmarks/audit_seeds.py --hash-seeds). Without it, 2 of 320 kept promises were called broken."""
Z95 = 1.959963984540054
"""The number of standard deviations around the mean that hold 95 % of a normal distribution."""
TINY = 1e-300
STEPS = 10_000
"""The most terms of a continued fraction; it needs about the square root of the trials to converge."""
PRIOR_CORRELATION = 0.25
"""The assumed correlation of the misses within a group, as long as too few misses are known to measure it."""
PRIOR_MISSES = 4.0
"""The number of misses at which the measured effect gets the same weight as the assumed one."""


def expected_recall(similarity: F64, spec: Spec) -> F64 | None:
    """Return the probability with which a spec promises to find a pair, for each similarity from the threshold up.

    It is the S-curve of the bands, less the loss of the filter and the screen. None if the spec promises nothing.
    """
    if spec.recall is None:
        return None
    if spec.exact:
        return np.ones(similarity.size)
    grid = np.linspace(spec.threshold, 1.0, GRID)
    losses = [(filter_loss(s, spec.slots, spec.min_matches), screen_loss(s, spec.bands, spec.screening)) for s in grid]
    lost: F64 = np.interp(similarity, grid, np.sum(losses, axis=1))
    distinct, place = np.unique(similarity, return_inverse=True)
    curve = np.array([s_curve(s, spec.bands.bands, spec.bands.rows) for s in distinct.tolist()])
    return np.maximum(0.0, curve[place] - lost)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The found and the missed true pairs of a sample, as evidence about all pairs."""

    true: Pairs
    hit: Mask
    """bool[m]: whether each pair was found."""
    theory: F64 | None
    """float64[m]: the promised probability of finding each pair; None if nothing is promised."""
    groups: I32
    """int32[m]: the connected group of each pair."""
    drawn: I64
    """The rows of the sample."""
    population: int
    """The number of documents that the sample was drawn from."""
    spec: Spec
    """The spec that makes the promise."""

    @classmethod
    def of(cls, true: Pairs, hit: Mask, drawn: I64, population: int, spec: Spec) -> Evidence:
        """Make the evidence from the true pairs of a sample, the found ones and the spec."""
        return cls(true, hit, expected_recall(true.similarity, spec), _components(true), drawn, population, spec)

    def interval(self) -> tuple[float, float, float]:
        """Return the 95 % interval for the recall over all documents, and the design effect in it.

        Near copies of one document are found or missed together, so the variance is taken from the sums over the
        documents drawn, or over connected groups of pairs if their sums vary more. If the sample is a large part of all
        documents, the interval is narrower; if it is all of them, the interval is the recall itself.
        """
        pairs, found = self.hit.size, int(self.hit.sum())
        if not pairs:
            return 0.0, 1.0, 1.0
        effect = self._effect(self.hit - found / pairs)
        return *self._interval(found, pairs, effect), effect

    def _interval(self, found: int, pairs: int, effect: float) -> tuple[float, float]:
        """Return the interval for ``found`` of ``pairs``, under a design effect and the share of undrawn documents."""
        if not pairs:
            return 0.0, 1.0
        spread = effect * (1.0 - self.drawn.size / self.population)
        return wilson(found / spread, pairs / spread) if spread > 0 else (found / pairs, found / pairs)

    def chance(self) -> float | None:
        """Return the probability of at least this many misses if each pair's promise holds, or None without a promise.

        It is a binomial tail with the number of trials that gives the misses their true variance. Pairs have different
        promised probabilities, pairs of near copies are missed together, and one search has one set of hash functions.
        """
        if self.theory is None:
            return None
        misses = int(np.count_nonzero(~self.hit))
        losses = 1.0 - self.theory
        if not misses:
            return 1.0
        mean = float(losses.mean())
        if mean <= 0:
            return 0.0
        fitted = np.empty(self.hit.size)
        for part in self._parts():
            fitted[part] = self.hit[part].mean() if part.any() else 0.0
        effect = self._effect(self.hit - fitted) + COMMON * self.hit.size
        spread = effect * max(float(np.mean(losses * self.theory)), 1e-12) / max(mean * (1.0 - mean), 1e-12)
        return binomial_tail(misses / spread, self.hit.size / spread, mean)

    def bins(self, effect: float) -> tuple[AuditBin, ...]:
        """Return the recall by similarity; the interval of each bin uses the design effect of all pairs."""
        bins = []
        for low, high, part in zip(self._edges[:-1], self._edges[1:], self._parts(), strict=True):
            pairs, found = int(part.sum()), int(self.hit[part].sum())
            recall = found / pairs if pairs else None
            theory = float(self.theory[part].mean()) if pairs and self.theory is not None else None
            bins.append(AuditBin(low, high, pairs, found, recall, *self._interval(found, pairs, effect), theory))
        return tuple(bins)

    @property
    def _edges(self) -> list[float]:
        """The edges of the bins; the last bin is from 1 to 1."""
        threshold = self.spec.threshold
        if threshold >= 1.0:
            return [1.0, 1.0]
        step = (1.0 - threshold) / BINS
        return [threshold, *(round(threshold + i * step, 12) for i in range(1, BINS)), 1.0, 1.0]

    def _parts(self) -> list[Mask]:
        """Return a mask of the pairs in each bin."""
        edges = self._edges[:-1]
        at = np.searchsorted(edges, self.true.similarity, side="right") - 1
        return [at == number for number in range(len(edges))]

    def _place(self, rows: I64) -> I32:
        """Return the index in the sample of each row, or -1 for rows outside the sample; int32."""
        if not self.drawn.size:
            return np.full(rows.size, -1, dtype=np.int32)
        place = np.searchsorted(self.drawn, rows).astype(np.int32)
        np.minimum(place, self.drawn.size - 1, out=place)
        place[self.drawn[place] != rows] = -1
        return place

    def _effect(self, errors: NDArray[Any]) -> float:
        """Return the design effect of the errors of single pairs."""
        left, right = self._place(self.true.left), self._place(self.true.right)
        is_left, is_right = left >= 0, right >= 0
        share = 1.0 / (is_left.astype(np.float64) + is_right)
        ends = np.concatenate((left[is_left], right[is_right]))
        del left, right
        errors_of = np.concatenate((errors[is_left], errors[is_right]))
        by_document = design_effect(errors_of, ends, np.concatenate((share[is_left], share[is_right])))
        del share, errors_of
        by_group = design_effect(errors, self.groups)
        sizes = np.bincount(ends)
        sizes = sizes[sizes > 0]
        return blended_effect(max(by_document, by_group), int(np.count_nonzero(~self.hit)), sizes)


def _components(pairs: Pairs) -> I32:
    """Return the number of the connected group of each pair."""
    last = max(int(pairs.left.max(initial=-1)), int(pairs.right.max(initial=-1)))
    groups = Components(last + 1)
    groups.join(pairs.left, pairs.right)
    return np.unique(groups.labels()[pairs.left], return_inverse=True)[1].astype(np.int32)


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a probability; neither number needs to be whole.

    Source: Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).

    >>> low, high = wilson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    if trials <= 0:
        return 0.0, 1.0
    share, z = successes / trials, Z95
    centre = share + z * z / (2 * trials)
    reach = z * math.sqrt(max(0.0, share * (1 - share)) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = 0.0 if successes <= 0 else max(0.0, (centre - reach) / scale)
    high = 1.0 if successes >= trials else min(1.0, (centre + reach) / scale)
    return low, high


def binomial_tail(least: float, trials: float, probability: float) -> float:
    """Return P(X >= least) of a binomial X, by the incomplete beta function, so that no number needs to be whole.

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
    """Return the regularised incomplete beta function I_x(a, b), by Lentz's continued fraction on its faster side.

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
    """Return the value, or TINY if it is too small to divide by."""
    return value if abs(value) > TINY else TINY


def design_effect(errors: F64, groups: I32 | I64, weights: F64 | None = None) -> float:
    """Return the ratio of the variance of a sum to the variance of independent terms, at least 1.

    Terms of one group may depend on each other; terms of different groups do not. The ratio follows from the sums of
    the errors by group; it is 1 if there are no errors. If a term is in several groups, ``weights`` has the share of
    the term that belongs to each of its groups.
    """
    shared = errors if weights is None else errors * weights
    alone = float(np.sum(shared * errors))
    if alone <= 0:
        return 1.0
    sums = np.bincount(groups, weights=shared)[np.bincount(groups) > 0]
    spread = sums.size / max(1, sums.size - 1)
    return max(1.0, spread * float(np.sum(sums * sums)) / alone)


def blended_effect(measured: float, misses: int, sizes: I64) -> float:
    """Blend a measured design effect with an assumed one if misses are few; ``sizes`` are the terms of each group."""
    total = float(sizes.sum())
    mean = float(np.sum(sizes.astype(np.float64) ** 2)) / total if total else 1.0
    guessed = 1.0 + PRIOR_CORRELATION * (mean - 1.0)
    return max(1.0, (misses * measured + PRIOR_MISSES * guessed) / (misses + PRIOR_MISSES))
