"""Questions with a memory: labels that exist, the answers of earlier runs, and a file that keeps those of this one.

Which pair is asked next and what follows from the answers is in ``tuning_run`` and ``dialogue``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from neardup.tasks.tune.answers import Answer, AnswerFile, Key, Labels
from neardup.tasks.tune.asking import Asker, Reply
from neardup.tasks.tune.outcome import AskedPair
from neardup.tasks.tune.tuning_run import TuningRun

MORE = 2000
"""Labels of pairs outside the work sample that are learned, at most: each makes every question slower."""


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
    labels_same: int = 0
    """Labels of two documents of one text, which are duplicates under every setting."""
    labels_repeated: int = 0
    """Labels of copies of a pair that has one."""
    labels_aside: int = 0
    """Labels of pairs that are too unlike under all settings, of texts that were not kept, or beyond MORE."""
    labels_contradicting: int = 0
    """Pairs that were labelled both ways."""
    earlier_gone: int = 0
    """Answers of earlier runs with an id that the inputs do not have any more."""
    earlier_aside: int = 0
    """Answers of earlier runs on pairs that are not asked about now."""


@dataclass(slots=True)
class Session:
    """A tuning run whose answers last."""

    run: TuningRun
    budget: int
    """Questions at most, those of earlier runs among them. Labels do not count."""
    answers: AnswerFile
    tally: Tally = field(default_factory=Tally)
    stranger: str | None = None
    """An id of labels or earlier answers that the inputs do not have, if there is one."""
    _new: list[AskedPair] = field(default_factory=list)
    """Pairs that were answered in this run, whose answers may be taken back."""

    @classmethod
    def of(cls, run: TuningRun, *, labels: Labels, answers: AnswerFile, budget: int) -> Session:
        """Learn labels, then hear earlier answers: in the place of questions where the same is asked again, so that
        their probabilities of drawing stand, else as labels."""
        own = cls(run, budget, answers)
        tally = own.tally
        tally.labels_contradicting = labels.contradicting
        drawn, pool = run.drawn, run.dialogue.pool
        keys = {key: drawn.key_of(key) for key in (*labels.said, *answers.told)}
        places = np.array([place for place in keys.values() if place is not None], dtype=np.int64)
        row_of = pool.rows_of(places)
        rows = {key: row_of[place] for key, place in keys.items() if place in row_of}
        own._learn_labels(labels.said, rows, keys)
        own._hear_earlier(rows)
        own.stranger = min((id for key in keys for id in key if id not in drawn.places), default=None)
        tally.earlier_gone = sum(len(told) for key, told in answers.told.items() if own._is_gone(key))
        tally.earlier_aside = len(answers) - tally.earlier_gone - tally.earlier
        return own

    def _is_gone(self, key: Key) -> bool:
        return not all(id in self.run.drawn.places for id in key)

    def _learn_labels(self, said: dict[Key, bool], rows: dict[Key, int], keys: dict[Key, int | None]) -> None:
        """Learn labels; those of copies of one pair are one label, or contradict each other."""
        tally = self.tally
        of_row: dict[int, set[bool]] = {}
        for key, is_duplicate in said.items():
            if key in rows:
                of_row.setdefault(rows[key], set()).add(is_duplicate)
        tally.labels_contradicting += sum(len(words) > 1 for words in of_row.values())
        tally.labels = self._learn({row: next(iter(words)) for row, words in of_row.items() if len(words) == 1})
        tally.labels_gone = sum(map(self._is_gone, said))
        tally.labels_same = sum((place := keys[key]) is not None and place >> 32 == place & 0xFFFFFFFF for key in said)
        tally.labels_repeated = sum(key in rows for key in said) - len(of_row)
        used = tally.labels + tally.labels_repeated + sum(len(words) > 1 for words in of_row.values())
        tally.labels_aside = len(said) - tally.labels_gone - tally.labels_same - used

    def _hear_earlier(self, rows: dict[Key, int]) -> None:
        waiting: dict[int, list[bool | None]] = {}
        for key, told in self.answers.told.items():
            if key in rows:
                waiting.setdefault(rows[key], []).extend(one.is_duplicate for one in told)
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
        """Learn what is said of pairs of the pool, at most MORE of those that are not in the work sample; how many."""
        dialogue = self.run.dialogue
        rows = np.array(sorted(said), dtype=np.int64)
        more = np.setdiff1d(rows, dialogue.rows)
        if more.size > MORE:
            drawn = np.random.default_rng([dialogue.seed, 4]).choice(more, MORE, replace=False)
            rows = np.setdiff1d(rows, np.setdiff1d(more, drawn))
        if rows.size:
            dialogue.learn(rows, [said[row] for row in rows.tolist()])
        for row in rows.tolist():
            self._count(said[row], 1)
        return int(rows.size)

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
