"""A collection made ready for questions, and the result made of the answers: what every way of asking builds on."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import strings
from neardup.engine.kind import half_of
from neardup.engine.observe import Observer
from neardup.engine.space import Budget
from neardup.inputs.names import Provenance
from neardup.inputs.reader import Reader
from neardup.params import RunOptions, preset_options
from neardup.session import limit_records
from neardup.tasks.tune.answers import Key
from neardup.tasks.tune.dialogue import Dialogue
from neardup.tasks.tune.estimate import choose
from neardup.tasks.tune.grid import Setting, preset_of, settings_for
from neardup.tasks.tune.named import PAIRS, NamedDocuments, digest
from neardup.tasks.tune.outcome import AskedPair, Example, Tuned
from neardup.tasks.tune.pool import HELD, Pool, make_pool, with_pairs
from neardup.tasks.tune.proposal import LOOKED_AT, Proposal, propose
from neardup.tasks.tune.sampling import DrawnTexts, draw_texts
from neardup.types import I64

EXAMPLES = 3
"""The number of example pairs on each side of the threshold."""
DEFAULT = "copies"
"""The preset with the default settings."""


@dataclass(slots=True)
class TuningRun:
    """The drawn texts, their ids, and the dialogue about their pairs."""

    drawn: DrawnTexts
    ids: list[str | int]
    dialogue: Dialogue
    proposal: Proposal
    budget: int
    names: Provenance
    """The ids of all documents, and the parts of the inputs that were not read."""

    @classmethod
    def of(
        cls,
        reader: Reader,
        run: RunOptions,
        *,
        seed: int,
        budget: int,
        observer: Observer,
        told: Collection[Key] = (),
    ) -> TuningRun:
        """Read everything, draw texts, and find the pairs among them. ``told`` has the pairs that have an answer."""
        room, names = Budget.of(run.memory_limit), Provenance()
        limit_records(reader, room, run.workers)
        threads = room.threads(run.workers)
        observer.stage("read", reader.total_bytes, "bytes")
        with closing(reader.tasks(threads)) as tasks:
            named = NamedDocuments.of(told)
            drawn = draw_texts(tasks, names, seed=seed, threads=threads, observer=observer, named=named)
        some = [drawn.text(i) for i in range(min(LOOKED_AT, len(drawn.documents)))]
        threads = max(1, min(threads, room.share(0.5) // max(1, HELD * drawn.documents.data.size)))
        pool = make_pool(
            drawn.documents,
            settings_for(some),
            seed=seed,
            weigh=drawn.weigh,
            equal=drawn.equal_pairs,
            copies=drawn.copies,
            total=drawn.total,
            threads=threads,
            observer=observer,
        )
        proposal = propose(some, pool)
        pool = with_pairs(pool, drawn.blob, _missing(drawn, pool, told), threads=threads)
        ids = names.ids.take(np.concatenate((drawn.rows, drawn.other_rows))).to_pylist()
        return cls(drawn, ids, Dialogue(pool, seed), proposal, budget, names)

    def question(self) -> AskedPair | None:
        """Return the next pair to ask about, or None if no further question is worthwhile."""
        dialogue = self.dialogue
        if dialogue.asked >= self.budget or dialogue.is_sure:
            return None
        at = dialogue.next()
        if at is None:
            return None
        a, b = int(dialogue.pool.left[at]), int(dialogue.pool.right[at])
        texts = self.drawn.text(a), self.drawn.text(b)
        return AskedPair(self.ids[a], self.ids[b], *texts, dialogue.asked + 1, self.budget)

    def result(self) -> Tuned:
        """Return the settings by the answers so far, or the proposed preset if there are no answers."""
        dialogue, pool = self.dialogue, self.dialogue.pool
        drawn = self.drawn
        counts = {"documents": drawn.total, "texts": len(drawn.documents), "pairs": pool.counted}
        counts["too_long"] = drawn.too_long
        shared: dict[str, Any] = {"proposal": self.proposal, "answers": self._answers(), **counts}
        if not dialogue.asked or not len(dialogue.cells):
            return Tuned(
                options=preset_options(self.proposal.preset),
                preset=self.proposal.preset,
                expected=None,
                default=None,
                is_separating=True,
                is_cautious=False,
                is_sure=self.proposal.is_sure,
                above=(),
                below=(),
                **shared,
            )
        usual = preset_options(DEFAULT)
        at = dialogue.cells.place(Setting(usual["shingle"], usual["normalize"]), usual["threshold"])
        choice = choose(dialogue, {} if at is None else {"default": at})
        own = choice.expected
        above, below = self._examples(choice.cell)
        preset = preset_of(own.setting, own.threshold, half=half_of(list(map(drawn.text, range(len(drawn.documents))))))
        return Tuned(
            options=preset_options(preset) if preset == "short" else own.setting.arguments(own.threshold),
            preset=preset,
            expected=own,
            default=choice.beside.get("default"),
            is_separating=choice.is_separating,
            is_cautious=choice.is_cautious,
            is_sure=dialogue.is_sure,
            above=above,
            below=below,
            **shared,
        )

    def _answers(self) -> pa.Table:
        """Return the pairs by id with the answers."""
        dialogue = self.dialogue
        pairs = [int(dialogue.rows[each.pair]) for each in dialogue.history]
        sides = {
            name: [str(self.ids[int(side[at])]) for at in pairs]
            for name, side in (("id_a", dialogue.pool.left), ("id_b", dialogue.pool.right))
        }
        said = pa.array([each.answer for each in dialogue.history], type=pa.bool_())
        return pa.table({"id_a": strings(sides["id_a"]), "id_b": strings(sides["id_b"]), "answer": said})

    def _examples(self, cell: int) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
        """Return the pairs nearest to the threshold of a cell, above and below it."""
        cells, pool = self.dialogue.cells, self.dialogue.pool
        similarity = pool.similarity[:, cells.setting[cell]].astype(np.float64)
        away = similarity - np.float64(np.float32(cells.threshold[cell]))
        sides = np.flatnonzero(away >= 0), np.flatnonzero(away < 0)
        above, below = (some[np.argsort(np.abs(away[some]), kind="stable")[:EXAMPLES]] for some in sides)
        return tuple(map(self._example, above, similarity[above])), tuple(map(self._example, below, similarity[below]))

    def _example(self, at: int, similarity: float) -> Example:
        a, b = int(self.dialogue.pool.left[at]), int(self.dialogue.pool.right[at])
        return Example(self.ids[a], self.ids[b], self.drawn.text(a), self.drawn.text(b), float(similarity))


def _missing(drawn: DrawnTexts, pool: Pool, told: Collection[Key]) -> I64:
    """Return the keys of at most PAIRS answered pairs missing from the pool, whatever the order of the answers."""
    keys = {key: drawn.key_of(key) for key in told}
    known = {key: place for key, place in keys.items() if place is not None and place >> 32 != place & 0xFFFFFFFF}
    there = pool.rows_of(np.array(list(known.values()), dtype=np.int64))
    missing = sorted((key for key, place in known.items() if place not in there), key=digest)[:PAIRS]
    return np.array(sorted({known[key] for key in missing}), dtype=np.int64)
