"""Sums over a pool from the answers and the probabilities with which their pairs were drawn.

Each draw gives an estimate of a sum that is right on average whatever the model: what the model says of all pairs that
were not asked, the answers of those that were, and the error of the model on the pair drawn, divided by the
probability of drawing it. What the model says comes from the answers before, so each draw is unbiased given these, and
so is every average with weights that are fixed beforehand (S. Farquhar, Y. Gal, T. Rainforth, "On Statistical Bias in
Active Learning", 2021; N. Marchant, B. Rubinstein, "In Search of an Entity Resolution OASIS", 2017, section 4). A good
model makes its variance small, a bad one does not make it wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from neardup.types import F64


@dataclass(slots=True)
class WeightedSums:
    """Estimates of sums over duplicates, one for each row of a matrix of members; draws come one by one."""

    total: F64
    """float64[c]: of the estimates so far, the later ones with more weight, since the model is better then."""
    squares: F64
    weight: float = 0.0
    draws: int = field(default=0)

    @classmethod
    def empty(cls, rows: int) -> WeightedSums:
        """Before the first draw."""
        return cls(np.zeros(rows), np.zeros(rows))

    def add(self, expected: F64, of_drawn: F64, error: float, probability: float) -> None:
        """Take a draw: ``expected`` (float64[c]) are the sums if the model were right and the answers so far true.

        ``of_drawn`` (float64[c]): how much the drawn pair counts in each sum; ``error``: its answer, 0 or 1, less what
        the model said; ``probability``: of drawing it.
        """
        estimate = expected + of_drawn * (error / probability)
        self.draws += 1
        self.weight += self.draws
        self.total += self.draws * estimate
        self.squares += self.draws * estimate**2

    def sums(self) -> F64:
        """float64[c]: the weighted mean of the estimates."""
        return self.total / self.weight

    def deviations(self) -> F64:
        """float64[c]: the standard error of that mean, as the estimates differ."""
        spread = np.maximum(self.squares / self.weight - self.sums() ** 2, 0.0)
        draws = self.draws
        effective = 1.5 * draws * (draws + 1) / (2 * draws + 1)  # (sum of weights)^2 / sum of their squares
        deviation: F64 = np.sqrt(spread / max(effective - 1.0, 1e-9))
        return deviation
