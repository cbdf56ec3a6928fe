"""What ``neardup.tune`` gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from neardup.shown import counted
from neardup.tasks.tune.estimate import Expectation
from neardup.tasks.tune.proposal import Proposal


@dataclass(frozen=True, slots=True)
class AskedPair:
    """Two documents, shown to whoever says whether they are duplicates."""

    id_a: str | int
    id_b: str | int
    text_a: str
    text_b: str
    number: int
    """Of the question, from 1."""
    budget: int
    """Questions at most."""


@dataclass(frozen=True, slots=True)
class Example:
    """A pair just above or below the threshold."""

    id_a: str | int
    id_b: str | int
    text_a: str
    text_b: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Tuned:
    """The settings that were found, and what to expect of them."""

    options: dict[str, Any]
    """For ``find``, ``dedup`` and the others: ``neardup.find(inputs, **tuned.options)``. Those of the proposed preset
    where nobody was asked."""
    preset: str | None
    """The preset that stands for just these, if one does."""
    expected: Expectation | None
    """What they are expected to do on the collection; None where nobody was asked."""
    default: Expectation | None
    """What the default setting would do; None where nobody was asked or it is none of the grid."""
    is_separating: bool
    """False: no setting of wording tells these duplicates from others; ``options`` are the best there are."""
    is_cautious: bool
    """Whether a lower threshold may be better, but too few answers are near it, so that a safer one was taken."""
    is_sure: bool
    """Whether it stopped because no further question was worth its trouble, or, without answers, whether the proposal
    is sure."""
    proposal: Proposal
    """The preset that the texts alone speak for."""
    answers: pa.Table
    """``id_a``, ``id_b``, ``answer`` (bool; null: nobody could tell), in the order in which they were asked."""
    above: tuple[Example, ...]
    """Pairs just above the threshold."""
    below: tuple[Example, ...]
    """Pairs just below it."""
    documents: int
    """Of the collection."""
    texts: int
    """Distinct texts among which pairs were looked for."""
    pairs: int
    """Pairs from which questions were chosen."""
    too_long: int
    """Documents of more than ``LONGEST`` bytes, which were left out of these."""

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values, without texts."""
        plain = {name: getattr(self, name) for name in self.__slots__ if name not in ("above", "below")}
        nested = {name: plain[name] and plain[name].as_dict() for name in ("expected", "default", "proposal")}
        return {**plain, **nested, "answers": self.answers.num_rows}

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        asked = counted(self.answers.num_rows, "answer")
        return f"<neardup.Tuned: {told or 'the defaults'}; {asked}, {'sure' if self.is_sure else 'not sure'}>"

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import Table, opening, view

        facts = [("preset", self.preset or "none"), *((name, str(value)) for name, value in self.options.items())]
        facts += [("answers", f"{self.answers.num_rows:,}"), ("documents", f"{self.documents:,}")]
        expected = [
            [name, *(f"{figure.value:.2f}" for figure in (each.precision, each.recall, each.f1))]
            for name, each in (("these settings", self.expected), ("the defaults", self.default))
            if each is not None
        ]
        tables = [Table(["", "precision", "recall", "F1"], expected, "What to expect")]
        for caption, examples in (("Just above the threshold", self.above), ("Just below it", self.below)):
            rows: list[list[object]] = []
            for each in examples:
                rows.append([each.similarity, str(each.id_a), opening(each.text_a)])
                rows.append([None, str(each.id_b), opening(each.text_b)])
            tables.append(Table(["similarity", "document", "text"], rows, caption, together=2))
        notes = [] if self.is_separating else ["No setting of wording tells these duplicates from others."]
        notes += [note for note in (self.proposal.reason, self.proposal.doubt) if note and not self.answers.num_rows]
        return view(repr(self).strip("<>"), facts=facts, tables=tables, notes=notes)
