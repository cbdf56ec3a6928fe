"""Documents that are added if they are new, a few at a time: what ``add --if-new`` and ``dedup-stream`` do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

__all__ = ["STEP", "Outcome", "Step", "admit", "plain", "steps", "stored_texts"]

STEP = 1000
"""Documents of one transaction: all of them are added, or with an error none."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one document."""

    id: Any
    is_new: bool
    match: Any = None
    """Id of the document that it is near to; None as well where only its id was there."""
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Documents on their way, and which of them the index does not have word for word under their ids."""

    ids: Sequence[Any]
    texts: Sequence[Any]
    """Strings, or lists of the items of sets."""
    unknown: Sequence[int]
    """Their places."""
    copies: Mapping[int, int]
    """Places of those that repeat id and text of one before them in the step, and the place of that."""


def steps(index: Any, ids: Sequence[Any], texts: Sequence[Any], *, made: bool = False) -> Iterator[tuple[slice, Step]]:
    """Yield documents in steps, with their place; each step is looked at when the one before it is done.

    Args:
        index: open for writing.
        ids, texts: of the documents.
        made: the ids are hashes of the texts. Where another text has the id of one already, by chance or malice, the
            one that comes later gets "-2", "-3" and so on behind it.
    """
    for start in range(0, len(ids), STEP):
        part = slice(start, start + STEP)
        yield part, _step(index, ids[part], texts[part], made=made)


def _step(index: Any, ids: Sequence[Any], texts: Sequence[Any], *, made: bool) -> Step:
    """An empty document is near to nothing, so that it is there already shows in its id and text only."""
    unknown: list[int] = []
    copies: dict[int, int] = {}
    latest: dict[str, tuple[str, int]] = {}
    names = list(ids)
    for place, (id, text, stored) in enumerate(zip(ids, texts, stored_texts(index, ids), strict=True)):
        name, now = str(id), plain(text)
        before, at = latest.get(name, (stored, place))
        further = count(2)
        while made and before not in (None, now):
            name = names[place] = f"{id}-{next(further)}"
            before, at = latest.get(name, (stored_texts(index, [name])[0], place))
        if before != now:
            unknown.append(place)
        elif at != place:
            copies[place] = at
            continue
        latest[name] = (now, place)
    return Step(names, texts, unknown, copies)


def stored_texts(index: Any, ids: Sequence[Any]) -> list[str | None]:
    """The text that the index has for each id."""
    return [None if each is None else each.text for each in index.get_many(ids)]


def plain(text: Any) -> str:
    """A text; of a set, as the index gives it back."""
    return text if isinstance(text, str) else " ".join(text)


def admit(index: Any, step: Step, how: Mapping[str, Any]) -> list[Outcome]:
    """Add what is new of a step; what is there word for word is a near-duplicate of itself."""
    outcomes = [Outcome(id, False, id, 1.0) for id in step.ids]
    ids, texts = [step.ids[place] for place in step.unknown], [step.texts[place] for place in step.unknown]
    for place, admission in zip(step.unknown, index.add_if_new(ids, texts, **how), strict=True):
        match = admission.match
        outcomes[place] = Outcome(
            step.ids[place],
            admission.is_new,
            None if match is None else match.id,
            None if match is None else match.similarity,
        )
    for place, first in step.copies.items():
        if not outcomes[first].is_new:
            outcomes[place] = outcomes[first]
    return outcomes
