"""Which repeated windows count: those of one group, those at enough places, those that stand in another collection.

Documents are read in this order: the inputs, another collection, templates. A window's first place is in a template if
it stands in one, else in the other collection if it stands there, else where it stands first in the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from neardup.types import I32, I64

NOWHERE = 1 << 62
"""A place behind every text."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which windows of the inputs count, by rows of the documents that were read."""

    inputs: int
    """Documents of the inputs: they are the first ones."""
    templates: int
    """Row of the first template; what lies between is of another collection."""
    is_across: bool = False
    """Only windows that stand in the other collection count."""
    min_count: int = 2
    """Places of the inputs at which a window stands, at least."""
    groups: I32 = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    """int32[inputs]: the group of each document, in which alone its windows are looked for; empty: all are one."""
    min_documents: I64 = field(default_factory=lambda: np.ones(1, dtype=np.int64))
    """int64[groups]: documents of the group that hold a window, at least."""

    @classmethod
    def all_of(cls, documents: int) -> Choice:
        """Every window at two or more places of so many documents."""
        return cls(documents, documents)

    @property
    def is_choosing(self) -> bool:
        """Whether some repeated windows may not count."""
        return self.is_across or self.min_count > 2 or bool((self.min_documents > 1).any())

    def is_all_of(self, documents: int) -> bool:
        """Whether every repeated window counts of all these documents, which are those that were read."""
        return documents == self.inputs and not (self.is_choosing or self.groups.size)

    def without_numbers(self) -> Choice:
        """The same at any number of places, two or, of another collection, one, and in any number of documents."""
        least = np.ones_like(self.min_documents)
        return replace(self, min_count=1 if self.is_across else 2, min_documents=least)

    def places(self, offsets: I64) -> tuple[int, int]:
        """The places from which on text is foreign, and that of templates; NOWHERE where there is none."""
        size = offsets.size - 1
        found = [int(offsets[row]) if row < size else NOWHERE for row in (self.inputs, self.templates)]
        return found[0], found[1]

    def grouped(self, members: I64, starts: I64, documents: I64) -> tuple[I64, I64, I64]:
        """Groups of members, by key, divided by the groups of their documents; in each they rise.

        ``members`` are places in ``documents``; group g is ``members[starts[g] : starts[g + 1]]``, as it is in what is
        returned: members, starts, and the fewest documents of each group (int64). Foreign members are in each of the
        groups that a key's are divided into. O(n log n).
        """
        key = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        document = documents[members]
        is_foreign = document >= self.inputs
        own, own_key = members[~is_foreign], key[~is_foreign]
        group = self.groups[document[~is_foreign]].astype(np.int64) if self.groups.size else np.zeros_like(own)
        parts, of = np.unique(own_key * self.min_documents.size + group, return_inverse=True)
        part_key = parts // self.min_documents.size
        foreign, foreign_key = members[is_foreign], key[is_foreign]
        first = np.searchsorted(part_key, foreign_key)
        times = np.searchsorted(part_key, foreign_key, side="right") - first
        again = np.repeat(np.arange(foreign.size), times)
        at = np.arange(again.size) - np.repeat(np.cumsum(times) - times, times)
        joined, joined_of = np.concatenate((foreign[again], own)), np.concatenate((first[again] + at, of))
        order = np.lexsort((joined, joined_of))
        bounds = np.searchsorted(joined_of[order], np.arange(parts.size + 1))
        return joined[order], bounds, self.min_documents[parts % self.min_documents.size]

    def counted_runs(self, places: I64, starts: I64, documents: I64) -> tuple[I64, I64, I64, I64]:
        """Of equal runs of units those of the inputs that count, or stand in a template; as it is with windows.

        Group g of equal runs stands at ``places[starts[g] : starts[g + 1]]``, which rise, in ``documents``. Four
        int64[m] of runs: its place, the first place of an equal one, and at how many places and in how many documents
        of the inputs these stand. O(n log n).
        """
        turn = np.where(documents < self.inputs, 2, np.where(documents < self.templates, 1, 0))
        order = np.lexsort((places, turn))
        places, documents = places[order], documents[order]
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        members, starts, least = self.grouped(rank, starts, documents)
        places, documents = places[members], documents[members]
        if not places.size:
            return places, places, places, places
        heads, sizes = starts[:-1], np.diff(starts)
        is_own = documents < self.inputs
        is_new = np.append(True, documents[1:] != documents[:-1])
        is_new[heads] = True
        count = np.add.reduceat(is_own, heads, dtype=np.int64)
        holding = np.add.reduceat(is_own & is_new, heads, dtype=np.int64)
        stands_in = documents[heads]
        is_wanted = (count >= self.min_count) & (holding >= least)
        if self.is_across:
            is_wanted &= stands_in >= self.inputs
        is_wanted |= stands_in >= self.templates
        some = np.flatnonzero(is_own & np.repeat(is_wanted, sizes))
        group = np.repeat(np.arange(sizes.size), sizes)[some]
        return places[some], places[heads][group], count[group], holding[group]
