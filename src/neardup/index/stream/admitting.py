"""Documents that are added if they are new, a few at a time: what ``add --if-new`` and ``dedup_stream`` do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from neardup.index.outcomes import Admission, Hit, Stored
from neardup.inputs.items import ITEM_SEPARATOR
from neardup.inputs.names import as_strings
from neardup.params import Spec
from neardup.types import Documents

STEP = 1000
"""Documents of one transaction: all of them are added, or with an error none."""


class OpenIndex(Protocol):
    """What a stream asks of an ``Index`` that is open for writing; that class is above this room (``index.store``)."""

    @property
    def path(self) -> Path | None: ...
    @property
    def spec(self) -> Spec: ...
    def get_many(self, ids: Any) -> list[Stored | None]: ...
    def add_if_new(self, ids: Any, texts: Any, columns: Any, *, threshold: float | None, on_duplicate: str) -> Any: ...
    def remove(self, ids: Any, *, missing: str) -> int: ...


@dataclass(frozen=True, slots=True)
class Step:
    """Documents on their way, and which of them the index does not have word for word under their ids."""

    ids: Sequence[Any]
    texts: Sequence[Any]
    """Strings, or lists of the items of sets."""
    columns: Sequence[Any]
    """Dicts, or None."""
    unknown: Sequence[int]
    """Their places."""
    copies: Mapping[int, int]
    """Places of those that repeat id and text of one before them in the step, and the place of that."""


def texts_of(documents: Documents, *, item: bool) -> list[Any]:
    """The texts of a block as strings; of sets, the lists of their items."""
    values: list[Any] = as_strings(documents, pa.large_binary() if item else pa.large_string()).to_pylist()
    if not item:
        return values
    return [[part.decode() for part in value.split(ITEM_SEPARATOR)] if value else [] for value in values]


def steps(
    index: OpenIndex, ids: Sequence[Any], texts: Sequence[Any], columns: Sequence[str | None] | None, *, made: bool
) -> Iterator[tuple[slice, Step]]:
    """Yield documents in steps, with their place; each step is looked at when the one before it is done.

    ``made``: the ids are hashes of the texts. Where another text has the id of one already, by chance or malice, the
    one that comes later gets "-2", "-3" and so on behind it.
    """
    for start in range(0, len(ids), STEP):
        part = slice(start, start + STEP)
        names, its_texts = list(ids[part]), texts[part]
        unknown: list[int] = []
        copies: dict[int, int] = {}
        latest: dict[str, tuple[str, int]] = {}
        # An empty document is near to nothing, so that it is there already shows in its id and text only.
        for place, (id, text, stored) in enumerate(zip(names, its_texts, stored_texts(index, names), strict=True)):
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
        beside = [text and json.loads(text) for text in columns[part]] if columns else [None] * len(names)
        yield part, Step(names, its_texts, beside, unknown, copies)


def stored_texts(index: OpenIndex, ids: Sequence[Any]) -> list[str | None]:
    """The text that the index has for each id."""
    return [None if each is None else each.text for each in index.get_many(ids)]


def plain(text: Any) -> str:
    """A text; of a set, as the index gives it back."""
    return text if isinstance(text, str) else " ".join(text)


def admit(index: OpenIndex, step: Step, how: Mapping[str, Any]) -> list[Admission]:
    """Add what is new of a step (``how``: see ``Index.add_if_new``); what is there already is like itself."""
    admissions = [Admission(id, False, Hit(id, 1.0, index.spec.bands.bands)) for id in step.ids]
    given = ([each[place] for place in step.unknown] for each in (step.ids, step.texts, step.columns))
    for place, told in zip(step.unknown, index.add_if_new(*given, **how), strict=True):
        admissions[place] = Admission(step.ids[place], told.is_new, told.match)
    for place, first in step.copies.items():
        if not admissions[first].is_new:
            admissions[place] = admissions[first]
    return admissions
