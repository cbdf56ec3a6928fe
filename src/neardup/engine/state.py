"""What a run knows as it goes on: the collection that was gathered, its verified pairs, the rows that were found."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from neardup.engine.check import Checker
from neardup.engine.observe import Stages
from neardup.engine.pairing import Pairing
from neardup.engine.reading.collection import Collection, RowNames
from neardup.engine.reading.copies import Copies
from neardup.engine.reading.written import WrittenTexts
from neardup.engine.results.expand import ListedLeaders, Members
from neardup.engine.results.pairs import PairStore
from neardup.engine.space import DOCUMENT_BYTES, Space
from neardup.spool import Column
from neardup.types import I32, I64

if TYPE_CHECKING:
    from neardup.engine.joins.containment import Sizes

PAIRED_BYTES = 110
"""Memory for each document that has a pair or a copy, beside DOCUMENT_BYTES, while clusters are made."""
CROWD_BYTES = 8
"""Of DOCUMENT_BYTES, those that are needed only if there are crowds."""


@dataclass(slots=True)
class RunTally:
    """What a run counted."""

    documents: int = 0
    read_bytes: int = 0
    empty: int = 0
    short: int = 0
    exact_copies: int = 0
    """Documents whose normalised text an earlier document has."""
    candidates: int = 0
    checked: int = 0
    overfull: int = 0
    threads: int = 1
    """That worked at a time; fewer than wanted where memory is short."""
    seconds: dict[str, float] = field(default_factory=dict)
    exchanged: dict[str, int] = field(default_factory=dict)
    """Bytes that tasks of a cluster sent to each other, by stage."""


@dataclass(slots=True)
class Gathered:
    """A collection that was read, its copies known: what pairs are looked for in, and with what."""

    collection: Collection
    copies: Copies
    weight: I32
    """int32[n]: documents that each representative counts for."""
    check: Checker
    tally: RunTally
    stages: Stages
    names: RowNames
    pairing: Pairing | None = field(default=None, kw_only=True)
    """Which documents may form pairs; None: any two. Where it is given no copies are put together."""

    @property
    def space(self) -> Space:
        """Memory budget and workdir."""
        return self.collection.space


@dataclass(slots=True)
class SearchState(Gathered):
    """A collection with its verified pairs, in terms of representatives of exact copies."""

    pairs: PairStore
    """Verified pairs of representatives."""
    crowd: I32
    """int32[n]: the leader of each row's crowd or -1; a leader is its own."""
    split_row: int | None = None
    """First row of the collection that the others are held against; None: all are compared with all."""
    rejected: PairStore | None = None
    """Pairs that the exact check found to be below the threshold, of a search with bands that keeps its keys."""

    @classmethod
    def of(cls, gathered: Gathered, pairs: PairStore, crowd: I32, split_row: int | None = None) -> SearchState:
        """What was gathered, and what was found in it."""
        known = {each.name: getattr(gathered, each.name) for each in fields(gathered)}
        return cls(**known, pairs=pairs, crowd=crowd, split_row=split_row)

    def need_memory(self, involved: I64) -> None:
        """Raise unless there is memory for what must be held of all documents; ``involved`` are those with a pair."""
        copies = self.copies
        alone = copies.several[~np.isin(copies.several, involved, assume_unique=True)]
        paired = sum(int(copies.weight[rows].sum(dtype=np.int64)) for rows in (involved, alone))
        n = len(self.collection)
        each = DOCUMENT_BYTES if self.leads.size else DOCUMENT_BYTES - CROWD_BYTES
        size = each * n + PAIRED_BYTES * paired
        self.space.need_memory(size, f"{n} documents, of which {paired} have near-duplicates,")

    @property
    def leads(self) -> I64:
        """Leaders of crowds, rising."""
        at = np.flatnonzero(self.crowd >= 0)
        leads: I64 = at[self.crowd[at] == at]
        return leads

    def listed_leaders(self) -> ListedLeaders:
        """By which of its copies each leader of a crowd is listed."""
        return ListedLeaders(self.leads, self.copies, self.names.first_of)


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Pairs and clusters of all rows."""

    pairs: PairStore
    members: Members
    crowd_leaders: I64
    crowd_documents: I64
    """Documents of each crowd, leader included."""
    tally: RunTally
    sizes: Sizes | None = None
    """Of the rows that have pairs, where the measure is containment: they say which one is part of the other."""
    texts: WrittenTexts | None = None
    """Of all rows, where they are kept."""
    prints: Column | None = None
    """uint64[n, 2]: of the normalised text of each row, by which a text that is read again is known to be the same."""
