"""Pairs with exact similarities against a view of the labels: scores, ranking, intervals.

Here: counts at thresholds, the best recall at a precision, and a bootstrap over groups of documents. Not here: where
pairs and labels come from (``labels.py``, ``labels_data.py``). Shares nothing with neardup.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labels_data import View

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

DRAWS = 500
"""Of a bootstrap."""


class Score(NamedTuple):
    """Pairs found and missed, of those that a view judges."""

    true: float
    false: float
    missed: float

    @property
    def recall(self) -> float:
        return self.true / (self.true + self.missed) if self.true + self.missed else 1.0

    @property
    def precision(self) -> float:
        """1 when nothing was found: nothing found is wrong."""
        return self.true / (self.true + self.false) if self.true + self.false else 1.0

    @property
    def f1(self) -> float:
        whole = 2 * self.true + self.false + self.missed
        return 2 * self.true / whole if whole else 1.0


@dataclass(frozen=True, slots=True)
class Found:
    """Pairs as sorted keys (smaller row in the upper half) and their exact similarity."""

    keys: I64
    similarity: F64


def judged(keys: I64, view: View) -> NDArray[np.bool_]:
    """Which pairs the labels say anything about."""
    known = np.ones(keys.size, dtype=bool)
    if view.side is not None:
        known &= view.side[keys >> 32] != view.side[keys & 0xFFFFFFFF]
    if view.among is not None:
        known &= view.among[keys >> 32] & view.among[keys & 0xFFFFFFFF]
    return known


def score(found: Found, view: View, thresholds: Iterable[float]) -> list[Score]:
    """Pairs found and missed at each threshold."""
    known = judged(found.keys, view)
    similarity, is_true = found.similarity[known], np.isin(found.keys[known], view.truth)
    scores = []
    for threshold in thresholds:
        hit = similarity >= threshold
        true = int((hit & is_true).sum())
        scores.append(Score(true, int(hit.sum()) - true, view.truth.size - true))
    return scores


def recall_at(found: Found, view: View, precision: float) -> float:
    """The best recall of any threshold, in the grid or between, that keeps ``precision``."""
    known = judged(found.keys, view)
    order = np.argsort(-found.similarity[known], kind="stable")
    similarity = found.similarity[known][order]
    true = np.cumsum(np.isin(found.keys[known][order], view.truth))
    # a threshold takes all pairs of one similarity or none, so only the last of them ends a list
    ends = np.append(similarity[1:] != similarity[:-1], True)[: similarity.size]
    good = ends & (true >= precision * np.arange(1, true.size + 1))
    return float(true[good].max(initial=0) / view.truth.size)


def interval(found: Found, view: View, threshold: float, *, draws: int = DRAWS, seed: int = 1) -> tuple[float, float]:
    """95 % of the F1 that draws of the groups of documents, with replacement, give.

    A pair inside a group counts as often as its group was drawn, one between two groups as often as the product.
    """
    known = judged(found.keys, view) & (found.similarity >= threshold)
    keys = found.keys[known]
    is_true = np.isin(keys, view.truth)
    parts = (keys[is_true], keys[~is_true], view.truth)
    groups = int(view.unit.max()) + 1
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(draws):
        # one more place at the end, always 1: the group NOT_DRAWN is its index
        drawn = np.append(np.bincount(rng.integers(groups, size=groups), minlength=groups), 1)
        true, false, due = (_weight(part, view.unit, drawn) for part in parts)
        values.append(Score(true, false, due - true).f1)
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def _weight(keys: I64, unit: I64, drawn: I64) -> float:
    left, right = unit[keys >> 32], unit[keys & 0xFFFFFFFF]
    return float(np.where(left == right, drawn[left], drawn[left] * drawn[right]).sum())
