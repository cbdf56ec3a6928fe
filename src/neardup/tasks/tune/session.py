"""Questions with a memory: labels that exist, the answers of earlier runs, and a file that keeps those of this one.

Which pair is asked next and what follows from the answers is in ``tuning_run`` and ``dialogue``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from neardup.inputs.names import Ids
from neardup.tasks.tune.answers import Answer, AnswerFile, Key, Labels
from neardup.tasks.tune.asking import Asker, Reply
from neardup.tasks.tune.outcome import AskedPair
from neardup.tasks.tune.tuning_run import TuningRun


@dataclass(slots=True)
class Tally:
    """What was said, and how much of what was known before could not be used."""

    yes: int = 0
    no: int = 0
    skipped: int = 0
    labels: int = 0
    """Of the yes and no, those of labels."""
    earlier: int = 0
    """Of all, those of earlier runs."""
    labels_gone: int = 0
    """Labels with an id that the inputs do not have."""
    labels_aside: int = 0
    """Labels on pairs that are not among those that are asked about: too unlike under all settings, or not drawn."""
    labels_contradicting: int = 0
    """Pairs that were labelled both ways."""
    earlier_gone: int = 0
    """Answers of earlier runs with an id that the inputs do not have any more."""
    earlier_aside: int = 0
    """Answers of earlier runs on pairs that are not asked about now."""

    def as_dict(self) -> dict[str, int]:
        """As plain JSON values."""
        return asdict(self)


@dataclass(slots=True)
class Session:
    """A tuning run whose answers last."""

    run: TuningRun
    budget: int
    """Questions at most, those of earlier runs among them. Labels do not count."""
    answers: AnswerFile
    tally: Tally = field(default_factory=Tally)
    _new: list[AskedPair] = field(default_factory=list)
    """Pairs that were answered in this run, whose answers may be taken back."""

    @classmethod
    def of(cls, run: TuningRun, *, labels: Labels, answers: AnswerFile, budget: int) -> Session:
        """Learn labels, then hear earlier answers: in the place of questions where the same is asked again, so that
        their probabilities of drawing stand, else as labels."""
        own = cls(run, budget, answers)
        tally = own.tally
        tally.labels_contradicting = labels.contradicting
        if not labels.said and not answers.told:
            return own
        there = _there(run.names.ids, {id for key in (*labels.said, *answers.told) for id in key})
        rows = own._rows({*labels.said, *answers.told})
        usable = {rows[key]: said for key, said in labels.said.items() if key in rows}
        tally.labels = own._learn(usable)
        tally.labels_gone = sum(not there.issuperset(key) for key in labels.said)
        tally.labels_aside = len(labels.said) - tally.labels_gone - tally.labels
        own._hear_earlier(rows)
        tally.earlier_gone = sum(len(told) for key, told in answers.told.items() if not there.issuperset(key))
        tally.earlier_aside = len(answers) - tally.earlier_gone - tally.earlier
        return own

    def _hear_earlier(self, rows: dict[Key, int]) -> None:
        waiting = {
            rows[key]: [one.is_duplicate for one in told] for key, told in self.answers.told.items() if key in rows
        }
        dialogue = self.run.dialogue
        while (row := dialogue.next()) is not None and waiting.get(row):
            said = waiting[row].pop(0)
            dialogue.answer(said)
            self._count(said, 1)
            self.tally.earlier += 1
        for at in range(max(map(len, waiting.values()), default=0)):  # a pair may have been asked twice
            rest = {row: said for row, told in waiting.items() if at < len(told) and (said := told[at]) is not None}
            self.tally.earlier += self._learn(rest)

    def _learn(self, said: dict[int, bool]) -> int:
        """Learn what is said of pairs of the pool; how many of them are among those that are asked about."""
        is_asked = set(self.run.dialogue.rows.tolist())
        usable = {row: said[row] for row in sorted(said) if row in is_asked}
        if usable:
            self.run.dialogue.learn(np.array(list(usable), dtype=np.int64), list(usable.values()))
        for each in usable.values():
            self._count(each, 1)
        return len(usable)

    def _rows(self, keys: set[Key]) -> dict[Key, int]:
        """Where pairs are in the pool, of those that are there."""
        pool = self.run.dialogue.pool
        wanted = {id for key in keys for id in key}
        of_id = {str(id): i for i, id in enumerate(self.run.ids) if str(id) in wanted}
        places = {tuple(sorted((of_id[a], of_id[b]))): (a, b) for a, b in keys if a in of_id and b in of_id}
        near = np.flatnonzero(np.isin(pool.left, list(of_id.values())) & np.isin(pool.right, list(of_id.values())))
        rows = {(int(pool.left[row]), int(pool.right[row])): int(row) for row in near}
        return {key: rows[place] for place, key in places.items() if place in rows}

    @property
    def asked(self) -> int:
        """Questions that count: those of this run and of earlier ones."""
        return self.tally.earlier + len(self._new)

    def next(self) -> AskedPair | None:
        """The next question; None when the budget is spent, or nothing more is worth asking."""
        if self.asked >= self.budget:
            return None
        self.run.budget = self.run.dialogue.asked + 1  # what labels said is no question
        pair = self.run.question()
        return None if pair is None else replace(pair, number=self.asked + 1, budget=self.budget)

    def answer(self, pair: AskedPair, is_duplicate: bool | None, by: str) -> None:
        """Take the answer on the pair that ``next`` gave, and keep it."""
        dialogue = self.run.dialogue
        dialogue.answer(is_duplicate)
        drawn = dialogue.history[-1].probability
        self.answers.add(Answer(pair.id_a, pair.id_b, is_duplicate, drawn, by))
        self._new.append(pair)
        self._count(is_duplicate, 1)

    def undo(self) -> bool:
        """Take back the last answer of this run; whether there was one."""
        if not self._new:
            return False
        pair, last = self._new.pop(), self.run.dialogue.history[-1]
        self.run.dialogue.undo()
        self.answers.add(Answer(pair.id_a, pair.id_b, last.answer, None, ""), is_undone=True)
        self._count(last.answer, -1)
        return True

    def hold(self, asker: Asker) -> None:
        """Ask until there is nothing more to ask, or the asker stops."""
        while (pair := self.next()) is not None:
            reply = asker.ask(pair)
            if reply is Reply.STOP:
                return
            if reply is Reply.UNDO:
                self.undo()
            else:
                self.answer(pair, reply.says, asker.name)

    def _count(self, said: bool | None, by: int) -> None:
        name = {True: "yes", False: "no", None: "skipped"}[said]
        setattr(self.tally, name, getattr(self.tally, name) + by)


def _there(ids: Ids, wanted: set[str]) -> set[str]:
    """Those of some ids that documents have."""
    found: set[str] = set()
    every: Any = np.arange(len(ids))
    for piece in ids.pieces(every):
        found |= wanted.intersection(map(str, ids.take(every[piece]).to_pylist()))
        if len(found) == len(wanted):
            break
    return found
