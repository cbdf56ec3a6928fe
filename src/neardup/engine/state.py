"""The results of each step of a run: the gathered collection, its verified pairs, and the pairs of all rows."""

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
"""Memory for each document that has a pair or a copy while clusters are made, in addition to DOCUMENT_BYTES."""
CROWD_BYTES = 8
"""The part of DOCUMENT_BYTES that is needed only if there are crowds."""


@dataclass(slots=True)
class RunTally:
    """The counts and times of a run."""

    documents: int = 0
    read_bytes: int = 0
    empty: int = 0
    short: int = 0
    exact_copies: int = 0
    """The number of documents with the same normalised text as an earlier document."""
    candidates: int = 0
    checked: int = 0
    overfull: int = 0
    threads: int = 1
    """The number of threads used: fewer than requested if memory is short."""
    seconds: dict[str, float] = field(default_factory=dict)
    exchanged: dict[str, int] = field(default_factory=dict)
    """The bytes that tasks of a Spark cluster sent to each other, by stage."""


@dataclass(slots=True)
class Gathered:
    """A collection with its exact copies grouped, and the tools to search it for pairs."""

    collection: Collection
    copies: Copies
    weight: I32
    """int32[n]: the number of documents that each representative counts for."""
    check: Checker
    tally: RunTally
    stages: Stages
    names: RowNames
    pairing: Pairing | None = field(default=None, kw_only=True)
    """The pairs that documents may form, or None if any two may. With a pairing, exact copies are not grouped."""

    @property
    def space(self) -> Space:
        """The memory budget and the workdir."""
        return self.collection.space


@dataclass(slots=True)
class SearchState(Gathered):
    """A collection with its verified pairs, in terms of representatives of exact copies."""

    pairs: PairStore
    """Verified pairs of representatives."""
    crowd: I32
    """int32[n]: the leader of each row's crowd, or -1. A leader leads itself."""
    split_row: int | None = None
    """The first row of a second collection, if only pairs across the two are wanted. None: any two may be a pair."""
    rejected: PairStore | None = None
    """The checked pairs that are below the threshold, for a search with bands that keeps its keys."""

    @classmethod
    def of(cls, gathered: Gathered, pairs: PairStore, crowd: I32, split_row: int | None = None) -> SearchState:
        """Combine a gathered collection with the pairs and crowds found in it."""
        known = {each.name: getattr(gathered, each.name) for each in fields(gathered)}
        return cls(**known, pairs=pairs, crowd=crowd, split_row=split_row)

    def need_memory(self, involved: I64) -> None:
        """Raise InputError unless the data of all documents fits into memory. ``involved`` are the rows with a pair."""
        copies = self.copies
        alone = copies.several[~np.isin(copies.several, involved, assume_unique=True)]
        paired = sum(int(copies.weight[rows].sum(dtype=np.int64)) for rows in (involved, alone))
        n = len(self.collection)
        each = DOCUMENT_BYTES if self.leads.size else DOCUMENT_BYTES - CROWD_BYTES
        size = each * n + PAIRED_BYTES * paired
        self.space.need_memory(size, f"{n} documents, of which {paired} have near-duplicates,")

    @property
    def leads(self) -> I64:
        """The leaders of crowds, sorted."""
        at = np.flatnonzero(self.crowd >= 0)
        leads: I64 = at[self.crowd[at] == at]
        return leads

    def listed_leaders(self) -> ListedLeaders:
        """Choose the row by which each crowd leader is listed, from its exact copies."""
        return ListedLeaders(self.leads, self.copies, self.names.first_of)


@dataclass(frozen=True, slots=True)
class FoundRows:
    """The pairs and clusters of all rows."""

    pairs: PairStore
    members: Members
    crowd_leaders: I64
    crowd_documents: I64
    """The number of documents in each crowd, leader included."""
    tally: RunTally
    sizes: Sizes | None = None
    """The set sizes of rows that have pairs, for containment only: the smaller document is part of the larger one."""
    texts: WrittenTexts | None = None
    """The texts of all rows as they were written, or None if they are not kept."""
    prints: Column | None = None
    """uint64[n, 2]: a hash of each row's normalised text, by which a reread text is known to be unchanged."""
