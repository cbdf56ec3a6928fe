"""Which pair is asked next, and what the answers say by then.

Questions are drawn from a work sample of the pool, as many of each similarity. The probability of a pair is
proportional to how much its answer is expected to lower a variance: of by how much the cells that may be best differ in
F1, and, once the best is known, of its precision and recall. These are covariances over draws of the model's weights (a
regression on the answer). A small part is drawn evenly, so that each pair may come. Where an answer is more likely
wrong than right by all others, its pair is asked once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from neardup.tasks.tune.cells import F32, Cells, product
from neardup.tasks.tune.model import SLOPES, WRONG, Features, Mixture, is_wrong
from neardup.tasks.tune.pool import Pool
from neardup.types import F64, I64, Mask

WORK = 800
"""Pairs of the work sample."""
STRATA = 40
"""Of the mean similarity, by which it is drawn."""
HEAVY, HEAVIER = 4, 4.0
"""Classes of the weight within a stratum, each of which begins at so many times the one before."""
DRAWS = 48
"""Of the model's weights for a question."""
CONTENDERS = 40
"""Cells of the highest expected F1, between which a question is to tell."""
LEADING, ANEW = 150, 8
"""Cells that are counted for a question; all of them again for every so many."""
EVEN = 0.03
"""Part of the probability that is dealt evenly."""
LEAST_ANSWERS = 20
SURE = 0.002
"""F1 that is expected to be lost by the choice, below which the choice is made."""
WIDE = 0.2
"""Width of precision and recall, two standard deviations to either side, below which nothing more is asked then."""
ZONE, ENOUGH, SLIGHT = 0.1, 3, 0.01
"""The lowest zone of a cell reaches from its threshold so far up. It must have so many answers, unless its pairs are
fewer or this share of the pairs found."""
IN_ZONE = 3
"""Every so many questions are about the lowest zone of the best cell while it has too few answers."""
TWICE = 0.5
"""Probability of an answer to be wrong from which its pair is asked once more."""


@dataclass(frozen=True, slots=True)
class Question:
    """A pair that was asked, and what came of it."""

    pair: int
    """Index into the work sample."""
    probability: float | None
    """With which it was drawn; None where it was not drawn: asked once more, or told beforehand."""
    expected: float
    """Probability of a duplicate, by the answers before."""
    answer: bool | None = None
    """None: not known, or nobody could tell."""


@dataclass(slots=True)
class Dialogue:
    """Questions and answers over a pool. The same pool, seed and answers give the same questions.

    ``next`` gives a pair, ``answer`` takes what was said of it, ``undo`` takes the last answer back. ``is_sure`` and
    ``asked`` tell when to stop.
    """

    pool: Pool
    seed: int
    slopes: tuple[float, ...] = SLOPES
    """Of the model's priors."""
    counted: Cells | None = None
    """The cells of the pool, where somebody has counted them: seconds for millions of pairs."""
    cells: Cells = field(init=False)
    rows: I64 = field(init=False)
    """int64[m]: the pairs of the work sample, as indices into the pool."""
    weight: F64 = field(init=False)
    """float64[m]: pairs of the collection that each stands for."""
    represents: F64 = field(init=False)
    """float64[m]: the pairs of distinct texts that each stands for. Each has one answer, whatever its copies."""
    history: list[Question] = field(init=False, default_factory=list)
    features: Features = field(init=False)
    members: F32 = field(init=False)
    """float32[c, m]: pairs of the collection that a pair of the work sample stands for in a cell that finds it."""
    _stratum: I64 = field(init=False)
    """int64[pool]: by which the work sample was drawn."""
    _sampled: int = field(init=False)
    """Pairs that were drawn; behind them come those of labels."""
    _known: I64 = field(init=False)
    """Pairs of the pool whose answers were there beforehand."""
    _pending: Question | None = field(init=False, default=None)
    _leading: I64 = field(init=False)
    _probabilities: F32 = field(init=False)
    _posterior: Mixture = field(init=False)
    _loss: float = field(init=False, default=1.0)
    _figures: F64 = field(init=False)
    """float64[2, s]: precision and recall of the best cell, for each draw of the weights."""
    _unasked: Mask = field(init=False)
    """bool[m]: the lowest zone of the best cell, if it has too few answers; else no pair."""

    def __post_init__(self) -> None:
        pool = self.pool
        similarity, weight = pool.similarity, pool.weight
        self.cells = self.counted or Cells.of(pool.settings, pool.floors, similarity, weight, pool.equal)
        mean = np.sqrt(similarity[: pool.counted]).mean(axis=1)
        own = strata_of(mean, weight[: pool.counted])
        rows, stands_for = work_sample(own, size=WORK, rng=np.random.default_rng([self.seed, 0]))
        self._stratum = np.full(len(pool), own.max(initial=0) + 1)  # that of pairs that only teach
        self._stratum[: pool.counted] = own
        self._sampled, self._known = rows.size, np.empty(0, dtype=np.int64)
        self._work_on(rows, stands_for)
        self._leading = np.arange(len(self.cells))
        self._refit()

    def _work_on(self, rows: I64, stands_for: F64) -> None:
        """Make pairs of the pool, each of which stands for so many others of it, the work sample."""
        self.rows, self.weight = rows, stands_for * self.pool.weight[rows]
        similarity = self.pool.similarity[rows]
        self.represents = self.weight / np.broadcast_to(self.pool.copies, len(self.pool))[rows]
        self.features = Features.of(similarity, self.represents)
        self.members = self.cells.members(similarity) * self.weight.astype(np.float32)

    @property
    def asked(self) -> int:
        """Answers so far; those who could not tell count too."""
        return len(self.history)

    @property
    def is_sure(self) -> bool:
        """Whether no further question is worth its trouble."""
        is_narrow = bool((4 * self._figures.std(axis=1) <= WIDE).all())
        return self.asked >= LEAST_ANSWERS and self._loss <= SURE and is_narrow and not self._unasked.any()

    def next(self) -> int | None:
        """The pair to ask about, as an index into the pool; None when all were asked. The same until it is answered."""
        if self._pending is None:
            self._pending = self._again() or self._drawn()
        return None if self._pending is None else int(self.rows[self._pending.pair])

    def answer(self, is_duplicate: bool | None) -> None:
        """Take the answer on the pair that ``next`` gave; None: nobody can tell."""
        if self._pending is None:
            raise ValueError("no question is open")
        own = self._pending
        self.history.append(Question(own.pair, own.probability, own.expected, is_duplicate))
        self._pending = None
        self._refit()

    def undo(self) -> bool:
        """Take back the last answer, so that its pair is asked again; whether there was one."""
        if not self.history:
            return False
        last = self.history.pop()
        self._refit()
        self._pending = Question(last.pair, last.probability, last.expected)
        return True

    def learn(self, pairs: I64, answers: list[bool]) -> None:
        """Take answers that were there before, by index into the pool; these pairs join the work sample."""
        drawn = self.rows[[each.pair for each in self.history if each.probability is not None]]
        self._known = np.union1d(self._known, np.setdiff1d(pairs, drawn))
        rows = np.concatenate((self.rows, np.setdiff1d(pairs, self.rows)))
        self._work_on(rows, represented(self._stratum, rows, self._sampled, self._known))
        self._refit()
        place = {int(row): i for i, row in enumerate(self.rows)}
        expected = self._probabilities.mean(axis=1)
        told = zip((place[int(row)] for row in pairs), answers, strict=True)
        self.history += [Question(pair, None, float(expected[pair]), said) for pair, said in told]
        self._refit()

    def answered(self) -> tuple[I64, Mask]:
        """Return the pairs of the work sample that have an answer, and the answers."""
        told = [each for each in self.history if each.answer is not None]
        pairs = np.array([each.pair for each in told], dtype=np.int64)
        return pairs, np.array([each.answer for each in told], dtype=np.bool_)

    def shares(self, draws: int, trust: float = 1.0, least: int = 0) -> F32:
        """Draw float32[m, draws]: the share of duplicates among the texts' pairs that each pair stands for.

        An answer counts ``trust`` for the model, and decides its own pair unless it is wrong. All other pairs are
        duplicates or not by lot.
        """
        rng = np.random.default_rng([self.seed, 1, draws])
        pairs, answers = self.answered()
        posterior = self._posterior if trust == 1 else Mixture.of(self.features, pairs, answers, self.slopes, trust)
        probability = posterior.probabilities(self.features, draws, rng).astype(np.float64)
        told = np.bincount(pairs, np.where(answers, 1, -1), minlength=self.rows.size)
        likely = probability * ((1 - WRONG) / WRONG) ** told[:, None]
        own = likely / (likely + 1 - probability)
        count = np.maximum(np.rint(self.represents), 1).astype(np.int64)[:, None]
        share = (own + (count - 1) * probability) / count
        decided = np.flatnonzero(np.broadcast_to(self.pool.copies, len(self.pool))[self.rows] > least)
        count, own, probability = count[decided], own[decided], probability[decided]
        lots = (rng.random(own.shape) < own) + rng.binomial(count - 1, np.clip(probability, 0, 1))
        share[decided] = lots / count
        return share.astype(np.float32)

    def _refit(self) -> None:
        self._posterior = Mixture.of(self.features, *self.answered(), self.slopes)
        self._probabilities = self.shares(DRAWS, least=1)
        if self.asked % ANEW == 0:
            self._leading = np.arange(len(self.cells))
        true, every = self._totals(self._leading)
        values = self.cells.f1(self._leading, true, every)
        expected = values.mean(axis=1)
        order = np.argsort(-expected, kind="stable")
        self._loss = float(values.max(axis=0).mean() - expected[order[0]]) if order.size else 0.0
        self._figures = np.ones((2, DRAWS))
        if order.size:
            own, found = true[order[0]], self.cells.found[self._leading[order[0]]]
            whole = np.stack((np.full_like(every, found), np.maximum(every, own))) + self.cells.equal
            self._figures = np.minimum((own + self.cells.equal) / np.maximum(whole, 1e-12), 1.0)
        is_asked, zones, of = self._zones()
        best = self._leading[order[:1]]
        self._unasked = np.any(zones[of[best]] & ~is_asked[best][:, None], axis=0, keepdims=True)[0]
        self._leading = self._leading[order[:LEADING]]

    def is_asked(self) -> Mask:
        """bool[c]: whether the lowest zone of each cell has answers enough."""
        return self._zones()[0]

    def _zones(self) -> tuple[Mask, Mask, I64]:
        """Return whether each cell's lowest zone was asked about, the pairs within ZONE of each threshold (bool[c, m]),
        and the cell whose pairs are that zone: a higher one of the setting if those of its own are next to none."""
        cells = self.cells
        similarity = self.pool.similarity[self.rows][:, cells.setting].T
        zones = (self.members > 0) & (similarity < cells.threshold[:, None] + ZONE)
        answers = zones[:, np.unique(self.answered()[0])].sum(axis=1)
        is_enough = answers >= np.minimum(ENOUGH, zones.sum(axis=1))
        is_slight = zones @ self.weight < SLIGHT * (cells.found + cells.equal)
        of = np.arange(len(cells))
        for at in range(len(cells) - 2, -1, -1):
            if is_slight[at] and cells.setting[at] == cells.setting[at + 1]:
                of[at] = of[at + 1]
        return (is_enough | is_slight)[of], zones, of

    def _totals(self, cells: I64) -> tuple[F64, F64]:
        """float64[c, s] and float64[s]: duplicates that some cells find, and all, for each draw of the weights."""
        true = product(self.members[cells], self._probabilities)
        every = product(self.weight.astype(np.float32), self._probabilities)
        return true.astype(np.float64), every.astype(np.float64)

    def _again(self) -> Question | None:
        """The pair whose only answer is most likely wrong, if it is more likely wrong than right."""
        pairs, answers = self.answered()
        expected = self._probabilities.mean(axis=1)
        times = np.bincount(pairs, minlength=self.rows.size)
        doubt = np.where(times[pairs] == 1, is_wrong(expected[pairs].astype(np.float64), answers), 0.0)
        if not doubt.size or doubt.max() <= TWICE:
            return None
        pair = int(pairs[np.argmax(doubt)])
        return Question(pair, None, float(expected[pair]))

    def _drawn(self) -> Question | None:
        """A pair that was not asked yet, drawn by what its answer is worth."""
        is_open = np.ones(self.rows.size, dtype=np.bool_)
        is_open[[each.pair for each in self.history]] = False
        if not is_open.any():
            return None
        zone = is_open & self._unasked
        if zone.any() and (self._loss <= SURE or self.asked % IN_ZONE == IN_ZONE - 1):
            is_open = zone
        expected = self._probabilities.mean(axis=1).astype(np.float64)
        aims = self._figures
        if self._loss > SURE:
            some = self._leading[:CONTENDERS]
            aims = self.cells.f1(some, *self._totals(some))
            aims = aims - aims.mean(axis=0)
        aims = aims - aims.mean(axis=1, keepdims=True)
        beside = self._probabilities - expected[:, None].astype(np.float32)
        shared = product(beside, aims.T.astype(np.float32)) / DRAWS
        heard = WRONG + (1 - 2 * WRONG) * expected
        worth = np.where(is_open, (shared.astype(np.float64) ** 2).sum(axis=1) / (heard * (1 - heard)), 0.0)
        even = is_open / np.count_nonzero(is_open)
        total = float(worth.sum())
        chance = (1 - EVEN) * worth / total + EVEN * even if total > 0 else even
        chance /= chance.sum()
        pair = int(np.random.default_rng([self.seed, 2, len(self.history)]).choice(chance.size, p=chance))
        return Question(pair, float(chance[pair]), float(expected[pair]))


def strata_of(mean: F64, weight: F64) -> I64:
    """Return the stratum of each pair: STRATA equal parts of the range of ``mean``, each in HEAVY parts by ``weight``.

    Pairs that stand for many times the average of their part are drawn apart from the others.
    """
    low, high = float(mean.min(initial=1.0)), float(mean.max(initial=0.0))
    part = np.minimum(((mean - low) / max(high - low, 1e-12) * STRATA).astype(np.int64), STRATA - 1)
    average = np.bincount(part, weights=weight, minlength=STRATA) / np.maximum(np.bincount(part, minlength=STRATA), 1)
    heavy = np.clip(np.log(weight / average[part]) / np.log(HEAVIER), 0, HEAVY - 1).astype(np.int64)
    stratum: I64 = part * HEAVY + heavy
    return stratum


def work_sample(stratum: I64, *, size: int, rng: np.random.Generator) -> tuple[I64, F64]:
    """Draw pairs of every stratum, as many of each, up to ``size``; and return how many each stands for.

    What a stratum has too few of goes to the others.
    """
    if stratum.size <= size:
        return np.arange(stratum.size), np.ones(stratum.size)
    count = np.bincount(stratum)
    take = np.zeros(count.size, dtype=np.int64)
    while share := (size - int(take.sum())) // max(1, int(np.count_nonzero(take < count))):
        take += np.minimum(share, count - take)
        if (take == count).all():
            break
    order = np.argsort(stratum, kind="stable")
    starts = np.concatenate(([0], np.cumsum(count)))
    rows = [rng.choice(order[starts[s] : starts[s + 1]], int(take[s]), replace=False) for s in range(count.size)]
    stands_for = [np.full(int(take[s]), count[s] / max(1, take[s])) for s in range(count.size)]
    return np.concatenate(rows).astype(np.int64), np.concatenate(stands_for)


def represented(stratum: I64, rows: I64, sampled: int, known: I64) -> F64:
    """Return how many pairs of the pool each of ``rows`` stands for: first ``sampled`` drawn ones, then known others.

    A pair that is known, by a label, stands for itself. The drawn pairs that are not known are an even draw from the
    pairs of their stratum that are not known, and stand for these. ``rows`` is int64[m], indices into the pool.
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
