"""The setting that is chosen after some answers, and what is to be expected of it.

The cell of the highest expected F1. Its figures are those of draws of the model's weights, in each of which the pairs
are duplicates or not by lot: so an interval has in it what the answers leave open and what chance does with the pairs
that were not asked. For intervals an answer counts less, since the model is not the truth. Recall is of the duplicates
among the pairs of the pool: nobody can be asked about what no setting of the grid puts there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from neardup.tasks.tune.cells import product
from neardup.tasks.tune.dialogue import SURE, Dialogue
from neardup.tasks.tune.grid import THRESHOLDS, Setting
from neardup.types import F64

DRAWS = 400
INTERVAL = (0.025, 0.975)
TRUST = 0.5
"""What an answer counts for the intervals."""
NEAREST = 5
"""Answers nearest to a pair in similarity, by which alone its share is estimated."""
SEPARATING = 0.6
"""Expected F1 below which it is said that no setting of wording separates duplicates from others."""


class Figure(NamedTuple):
    """An expected value and the interval that holds it with 95 %."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: F64, cautious: F64, heard: float) -> Figure:
        """Take the value of ``draws`` and the interval of ``cautious`` (both float64[s]), widened to hold ``heard``."""
        (low, high), value = np.quantile(cautious, INTERVAL), float(draws.mean())
        return cls(value, min(value, heard, float(low)), max(value, heard, float(high)))


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a setting is expected to do on the collection."""

    setting: Setting
    threshold: float
    found: float
    """Pairs that it finds, about."""
    precision: Figure
    recall: Figure
    """Of the duplicates that any setting of the grid may find."""
    f1: Figure

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        figures = {name: getattr(self, name)._asdict() for name in ("precision", "recall", "f1")}
        return {"options": self.setting.arguments(self.threshold), "found": self.found, **figures}


@dataclass(frozen=True, slots=True)
class Choice:
    """The cell that was chosen, and others beside it."""

    cell: int
    expected: Expectation
    beside: dict[str, Expectation]
    """By name, of cells that were asked for: the default, a preset."""
    is_cautious: bool
    """Whether a better one is expected where too few pairs were asked about, so that this one is the safer choice."""
    is_separating: bool
    """Whether any setting is expected to tell duplicates from others."""


def choose(dialogue: Dialogue, beside: dict[str, int] | None = None, *, trust: float = TRUST) -> Choice:
    """Choose after the answers so far; ``beside``: cells by name whose figures are wanted too."""
    cells, rows = dialogue.cells, np.arange(len(dialogue.cells))
    drawn = dialogue.shares(DRAWS)
    every = product(dialogue.weight.astype(np.float32), drawn).astype(np.float64)
    f1 = cells.f1(rows, product(dialogue.members, drawn).astype(np.float64), every).mean(axis=1)
    best, may_be = int(np.argmax(f1)), dialogue.is_asked()
    if not may_be.any():
        may_be = (cells.setting == cells.setting[best]) & (cells.threshold == THRESHOLDS[-1])
    cell = int(np.argmax(np.where(may_be, f1, -1.0)))
    both = drawn.astype(np.float64), dialogue.shares(DRAWS, trust).astype(np.float64)
    expected = expectation(dialogue, cell, both)
    others = {name: expectation(dialogue, at, both) for name, at in (beside or {}).items()}
    return Choice(cell, expected, others, bool(f1[best] - f1[cell] > SURE), expected.f1.value >= SEPARATING)


def expectation(dialogue: Dialogue, cell: int, both: tuple[F64, F64]) -> Expectation:
    """The figures of a cell: values and intervals from shares float64[m, s] for draws of the weights."""
    cells = dialogue.cells
    values, intervals = (_figures(dialogue, cell, drawn) for drawn in both)
    heard = *_heard(dialogue, cell, values[1]), float(values[2].mean())
    return Expectation(
        cells.settings[cells.setting[cell]],
        float(cells.threshold[cell]),
        float(cells.found[cell]) + cells.equal,
        *(Figure.of(*own) for own in zip(values, intervals, heard, strict=True)),
    )


def _heard(dialogue: Dialogue, cell: int, recall: F64) -> tuple[float, float]:
    """Estimate precision and recall of a cell by the answers alone.

    Each pair found is taken to be like the NEAREST answered ones that are found. Recall is 1 unless a pair that is not
    found was called a duplicate; then it is that of the model.
    """
    pairs, answers = dialogue.answered()
    inside = dialogue.members[cell] > 0
    similarity = dialogue.pool.similarity[dialogue.rows, dialogue.cells.setting[cell]]
    told, weight, equal = inside[pairs], dialogue.weight[inside], dialogue.cells.equal
    away = np.abs(similarity[inside][:, None] - similarity[pairs[told]])
    share = answers[told][np.argsort(away, axis=1, kind="stable")[:, :NEAREST]].mean(axis=1) if told.any() else 1.0
    true = float((weight * share).sum()) + equal
    precision = true / max(float(weight.sum()) + equal, 1e-12)
    return precision, float(recall.mean()) if answers[~told].any() else 1.0


def _figures(dialogue: Dialogue, cell: int, drawn: F64) -> tuple[F64, F64, F64]:
    """Return precision, recall and F1 of a cell for each draw, float64[s].

    A pair that stands for others is one of a sample of them; another sample would have other numbers of its kind. So
    the number that it stands for is drawn too (the Bayesian bootstrap; D. Rubin, Annals of Statistics 1981).
    """
    cells, inside = dialogue.cells, dialogue.members[cell] > 0
    others = np.random.default_rng([dialogue.seed, 3]).exponential(size=drawn.shape)
    one = (1 / np.maximum(dialogue.represents, 1))[:, None]
    amount = dialogue.weight[:, None] * (one + (1 - one) * others)
    counted, every = amount[inside].sum(axis=0), (amount * drawn)
    found = float(cells.found[cell])
    true = found * every[inside].sum(axis=0) / np.maximum(counted, 1e-12)
    missed = every[~inside].sum(axis=0)
    f1 = cells.f1(np.array([cell]), true[None], true + missed)[0]
    true, found = true + cells.equal, found + cells.equal
    precision = true / found if found else np.ones_like(true)
    recall = np.where(true + missed > 0, true / np.maximum(true + missed, 1e-12), 1.0)
    return precision, recall, f1
