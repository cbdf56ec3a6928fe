"""The index, as a dictionary: every question is answered by holding the asked text against every document there is.

The twin of ``neardup.Index`` with a banding that misses nothing. Ids are compared as text and given back as they came;
a document that is replaced counts as added anew, so it is the last in the order. No clusters here: they are those of
``find`` over the documents in their order, which has twins of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from tests.oracles.jaccard import jaccard, reaches
from tests.oracles.text import shingles

Id = int | str
Text = str | Collection[int | str]
Found = tuple[Id, float]
"""An id and its similarity."""


class DuplicateError(Exception):
    """The id is there already; ``args[0]`` is it."""


class MissingError(Exception):
    """The id is not there; ``args[0]`` is it."""


@dataclass
class Entry:
    """A document."""

    id: Id
    text: Text
    members: frozenset[object]


@dataclass
class NaiveIndex:
    """A dictionary of documents by their id as text."""

    threshold: float
    shingle: str
    normalize: str = "nfc"
    entries: dict[str, Entry] = field(default_factory=dict)

    def set_of(self, text: Text) -> frozenset[object]:
        """The shingle set of a document; the words of a text or the members of a collection, as text, for items."""
        if self.shingle != "item":
            assert isinstance(text, str)
            return shingles(text, self.shingle, self.normalize)
        members = text.split() if isinstance(text, str) else map(str, text)
        return frozenset(member for member in members if member)

    def copy(self) -> NaiveIndex:
        """The same documents in a dictionary of their own."""
        return NaiveIndex(self.threshold, self.shingle, self.normalize, dict(self.entries))

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, id: Id) -> bool:
        return str(id) in self.entries

    @property
    def ids(self) -> list[Id]:
        """In order of addition, as they were given."""
        return [entry.id for entry in self.entries.values()]

    @property
    def texts(self) -> list[Text]:
        """In the same order."""
        return [entry.text for entry in self.entries.values()]

    @property
    def empty(self) -> int:
        """How many have no shingle."""
        return sum(not entry.members for entry in self.entries.values())

    def get(self, id: Id) -> tuple[Id, Text] | None:
        """The id as it was given, and the text."""
        entry = self.entries.get(str(id))
        return None if entry is None else (entry.id, entry.text)

    def add_each(self, ids: Iterable[Id], texts: Iterable[Text], on_duplicate: str = "error") -> list[str]:
        """One after the other; what became of each."""
        told = []
        for id, text in zip(ids, texts, strict=True):
            is_there = id in self
            if is_there and on_duplicate in ("error", "skip"):
                told.append("duplicate" if on_duplicate == "error" else "skipped")
                continue
            self.entries.pop(str(id), None)
            self.entries[str(id)] = Entry(id, text, self.set_of(text))
            told.append("replaced" if is_there else "added")
        return told

    def add(self, ids: Iterable[Id], texts: Iterable[Text], on_duplicate: str = "error") -> list[str]:
        """The same, all or nothing: with "error" the first id that is there ends it."""
        ids = list(ids)
        before = dict(self.entries)
        told = self.add_each(ids, texts, on_duplicate)
        if "duplicate" in told:
            self.entries = before
            raise DuplicateError(ids[told.index("duplicate")])
        return told

    def remove(self, ids: Iterable[Id], missing: str = "error") -> int:
        """How many are gone; an id that was named twice goes once."""
        names = list(dict.fromkeys(map(str, ids)))
        for name in names:
            if missing == "error" and name not in self.entries:
                raise MissingError(name)
        return sum(self.entries.pop(name, None) is not None for name in names)

    def query(self, text: Text, *, top: int | None = None, threshold: float | None = None) -> list[Found]:
        """Best first; of equals the earlier one."""
        asked = self.set_of(text)
        least = self.threshold if threshold is None else threshold
        found = [
            (entry.id, float(jaccard(asked, entry.members)))
            for entry in self.entries.values()
            if asked and reaches(len(asked & entry.members), len(asked | entry.members), least)
        ]
        return sorted(found, key=lambda hit: -hit[1])[:top]

    def add_if_new(
        self, ids: Iterable[Id], texts: Iterable[Text], *, threshold: float | None = None
    ) -> list[Found | None]:
        """One after the other: None for a document that came in, else the best that was there. All ids are new."""
        answers: list[Found | None] = []
        for id, text in zip(ids, texts, strict=True):
            match = next(iter(self.query(text, top=1, threshold=threshold)), None)
            if match is None:
                self.add([id], [text])
            answers.append(match)
        return answers

    def pairs(self) -> dict[frozenset[str], float]:
        """All pairs, by their ids as text."""
        found = {}
        for (name, a), (other, b) in itertools.combinations(self.entries.items(), 2):
            if reaches(len(a.members & b.members), len(a.members | b.members), self.threshold):
                found[frozenset((name, other))] = float(jaccard(a.members, b.members))
        return found

    def merge(self, other: NaiveIndex, on_duplicate: str = "error") -> list[str]:
        """Take in all of the other, in its order."""
        return self.add(other.ids, other.texts, on_duplicate)
