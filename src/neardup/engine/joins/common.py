"""What both joins share: which documents can have a partner, the order of the work, what was found, and how it lasts.

documents ── cells of their shingles ──► occurrences ──► rarity ── drop ──► those that are left, again while it pays
those that are left ── ``JoinWork.join`` of ``exact`` or ``containment`` ──► pairs
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from neardup.cutting import cut, starts_of
from neardup.engine.check import Buffers, Checker, built_sets
from neardup.engine.joins import crowds
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.results.pairs import PairStore
from neardup.engine.threads import in_order
from neardup.kernels.joining import DOUBTFUL
from neardup.stages import join as join_stage
from neardup.stages.join import NO_CROWDS, Cells, Joined, Leaders, Occurrences, Rarity
from neardup.stages.shingle import Hasher
from neardup.types import F64, I32, I64, U8, U32, U64, Mask, PaddedSets, SetBlock

BOTH = 3
"""A document on both sides of the join; any two of them may pair."""
SLAB = 1 << 18
"""Shingles that a thread hashes at a time."""
HELD = 96
"""Slabs whose cells are held before they are counted, at most: the more, the less often the table comes through the
cache."""
WORTH = 0.7
"""Share of the shingles that may be left for another round to pay."""
LEADERS_SHARE = 0.1
"""Of the memory for data, for the sets of those that may lead crowds; there is a pass for each piece of them."""
LEADER_BYTES = 48
"""Memory for each shingle of them: itself, in a prefix, in the table of postings."""
LEAST_BITS, MOST_BITS = 12, 32
"""Of the table of occurrences: binary logarithms of its cells."""

Key = tuple[int, int]


@dataclass(slots=True)
class Join:
    """What a join found."""

    pairs: PairStore
    candidates_met: int = 0
    """Pairs that shared one of their rarest shingles."""
    overlaps_counted: int = 0
    """Of these, pairs whose common shingles were counted."""
    crowd: I32 = field(default_factory=NO_CROWDS.copy)
    """int32[n]: the leader of each row's crowd or -1; empty where there is no crowd."""


@dataclass(frozen=True, slots=True)
class Queue:
    """Documents in the order in which they are worked on: by size, equally large ones by row."""

    rows: I64
    counts: I64
    """int64[n], shingles with repeats."""
    sizes: I64
    """int64[n], the order: shingles of the set or, where it was not built yet, ``counts``."""
    sides: U8

    def __len__(self) -> int:
        return self.rows.size

    def __getitem__(self, part: slice | I64) -> Queue:
        """Some of them."""
        return Queue(self.rows[part], self.counts[part], self.sizes[part], self.sides[part])

    def behind(self, key: Key | None) -> int:
        """Documents up to the one of this size and row; none where there is no key."""
        if key is None:
            return 0
        first, last = np.searchsorted(self.sizes, [key[0], key[0] + 1])
        return int(first + np.searchsorted(self.rows[first:last], key[1], side="right"))

    def key(self, stop: int) -> Key | None:
        """Size and row of the document before place ``stop``: the same one, whatever the memory of a resumed run."""
        return (int(self.sizes[stop - 1]), int(self.rows[stop - 1])) if stop else None


class JoinWork:
    """One join of a collection."""

    rounds: int
    """Times that documents without a partner are looked for, at most."""
    most_cells: int | None = None
    """The most cells of the table of occurrences. None: as many as the budget allows."""
    fit: int | None = None
    """Shingles of the sets that are indexed at a time; None: as many as the budget allows. Tests set it."""
    rarity: Rarity
    """How rare shingles are among the documents that are joined."""

    def __init__(
        self,
        collection: Collection,
        rows: I64,
        hasher: Hasher,
        *,
        weight: I32,
        check: Checker,
        sides: U8 | None,
        threads: int,
        observer: Observer,
    ) -> None:
        """Nothing is read yet. ``rows`` are representatives that are not empty, rising.

        ``weight`` is int32[n], documents that each row of the collection stands for. ``sides`` is uint8[rows]: 1 and 2
        where a pair needs one document of each side, 3 for both; None: any two, and there may be crowds.
        """
        self.check, self._weight = check, weight
        self.collection, self.hasher, self.space = collection, hasher, collection.space
        self.threshold = collection.spec.threshold
        self.enough = crowds.near_enough(self.threshold)
        """How similar a document of a crowd is to its leader, at least."""
        self.rows, self.is_across = rows, sides is not None
        self.sides = np.full(rows.size, BOTH, dtype=np.uint8) if sides is None else sides
        self.threads, self.observer = threads, observer
        pairs = PairStore("verified", len(collection), self.space, part=0.25, is_lasting=True)
        self.found = Join(pairs, *self.space.state.get("joined", (0, 0)))
        self._lock = threading.Lock()
        self._buffers = Buffers(np.uint64)

    def run(self) -> Join:
        """Find all pairs, or the rest of them if the run was interrupted.

        Raises TooLargeError if two documents do not fit into memory together.
        """
        state = self.space.state
        if "verified" in state:
            if state.get("crowded"):
                self.found.crowd = np.array(self.space.column("crowds", np.int32).slice(0, len(self.collection)))
            return self.found
        rows, sides = self._pruned(self.rows, self.sides)
        self._find_crowds(rows)
        if rows.size:
            self.join(rows, sides)
        if self.space.is_lasting:
            if self.found.crowd.size:
                self.space.column("crowds", np.int32).append(self.found.crowd)
            self._checkpoint(verified=True, crowded=self.found.crowd.size > 0)
        return self.found

    def join(self, rows: I64, sides: U8) -> None:
        """Find the pairs of the documents that pruning left."""
        raise NotImplementedError

    def near(self, left: I64, right: I64) -> tuple[Mask, F64]:
        """Which pairs have a Jaccard similarity that crowds ask for, by the check; of these, the similarity as found.

        The join goes by hashes of a public key, for which texts can be made that lie.
        """
        raise NotImplementedError

    # Crowds

    def crowds_of(self, rows: I64) -> I32:
        """The crowd of each of these rows, or -1; empty where there is no crowd at all."""
        return self.found.crowd[rows] if self.found.crowd.size else NO_CROWDS

    def _find_crowds(self, rows: I64) -> None:
        """Find the crowds among the documents that pruning left, and list their stars."""
        proposed = self._proposed[np.isin(self._proposed, rows)]
        if not proposed.size:
            return
        leader = self._led(rows, proposed)
        at = np.flatnonzero((leader >= 0) & (leader != rows))
        members, leaders = rows[at], leader[at]
        enough, similarity = self.near(np.minimum(members, leaders), np.maximum(members, leaders))
        members, leaders = members[enough], leaders[enough]
        crowd = crowds.grown(len(self.collection), members, leaders, self._weight, self.collection.spec.crowd)
        inside = crowd[members] >= 0
        if inside.any():
            self.found.crowd = crowd
            self.found.pairs.add(members[inside], leaders[inside], similarity[inside])

    def _most_central(self, sample: I64, starts: I64) -> I64:
        """Of each group of a sample the document that is most similar to the others."""
        counts = self.collection.counts.take(sample)

        def choose(groups: slice) -> I64:
            part = slice(int(starts[groups.start]), int(starts[groups.stop]))
            rows = np.sort(sample[part])
            with self.built(rows, self.collection.counts.take(rows)) as built:
                block = SetBlock(rows, np.full(rows.size, BOTH, np.uint8), *built)
                members = np.searchsorted(rows, sample[part])
                return join_stage.most_central(block, members, starts[groups.start : groups.stop + 1] - part.start)

        groups = cut(np.add.reduceat(counts, starts[:-1]) if sample.size else counts, SLAB)
        return np.concatenate((sample[:0], *in_order(choose, groups, threads=self.threads)))

    def _led(self, rows: I64, proposed: I64) -> I64:
        """The first of the documents that may lead that each row is near enough to, or -1; leaders lead themselves.

        Where their sets do not fit into memory together there is a pass over the texts for each piece of them. One that
        is near to one before it does not lead.
        """
        leader = np.full(rows.size, -1, dtype=np.int64)
        fit = self.fit if self.fit is not None else self.space.budget.share(LEADERS_SHARE) // LEADER_BYTES
        counts = self.collection.counts.take(rows)
        for piece in cut(self.collection.counts.take(proposed), max(1, fit)):
            some = proposed[piece]
            some = some[leader[np.searchsorted(rows, some)] < 0]
            if not some.size:
                continue
            rising = np.sort(some)
            hashes, starts, sizes = self.packed(rising, self.collection.counts.take(rising), threads=self.threads)
            place = np.searchsorted(rising, some)
            sets = SetBlock(some, np.full(some.size, BOTH, np.uint8), starts[place], sizes[place], hashes)
            leaders = Leaders(sets, self.rarity, self.enough)
            free = np.flatnonzero(leader < 0)
            self.observer.stage("crowds", free.size, "documents")

            def lead(slab: slice, free: I64 = free, leaders: Leaders = leaders) -> int:
                at = free[slab]
                with self.built(rows[at], counts[at]) as built:
                    block = SetBlock(rows[at], np.full(at.size, BOTH, np.uint8), *built)
                    leader[at] = leaders.first(block)
                return at.size

            for done in in_order(lead, slabs(counts[free]), threads=self.threads):
                self.observer.advance(done)
        return leader

    # Pruning

    def _pruned(self, rows: I64, sides: U8) -> tuple[I64, U8]:
        """The documents that could have a partner, when ``rarity`` says how rare shingles are among them.

        More than one of the ``rounds`` is only for pairs of which both documents are left: those of Jaccard similarity.
        After one round all that were given are still counted, and those that are left could be part of any of them: a
        document may lack as much of itself by either measure.
        """
        self._proposed = rows[:0]
        keys = np.empty(rows.size if self._may_have_crowds(rows) else 0, dtype=np.uint32)
        for _ in range(self.rounds):
            counts = self.collection.counts.take(rows)
            total = int(counts.sum())
            self.rarity = self._rarity_of(rows, sides, counts, total, keys)
            if keys.size:  # of all documents: whom pruning leaves depends on the memory
                self._proposed = self._most_central(*crowds.samples(self.collection, rows, self._weight, keys))
                keys = keys[:0]
            alive = self._alive(rows, counts)
            rows, sides = rows[alive], sides[alive]
            if int(counts[alive].sum()) > WORTH * total:
                break
        return rows, sides

    def _may_have_crowds(self, rows: I64) -> bool:
        """Whether there are documents enough, all of one side."""
        return not self.is_across and int(self._weight[rows].sum(dtype=np.int64)) > self.collection.spec.crowd

    def _rarity_of(self, rows: I64, sides: U8, counts: I64, total: int, keys: U32) -> Rarity:
        cells_fit = self.most_cells or self.space.budget.share(0.33) // (2 if self.is_across else 1)
        bits = max(LEAST_BITS, min(total.bit_length(), cells_fit.bit_length() - 1, MOST_BITS))
        table = Occurrences(bits, is_across=self.is_across)
        buffers = Buffers(np.uint32)
        lows = crowds.lows_of(self.threshold)
        self.observer.stage("rarity", rows.size, "documents")

        def cells(slab: slice) -> tuple[U32, list[Cells]]:
            side, size = int(sides[slab.start]), int(counts[slab].sum())
            raw, values = (buffers.take(size, fresh=SLAB) for _ in range(2))
            found = []
            used = 0
            for documents, local, part in self.collection.texts.parts(rows[slab]):
                some = join_stage.cells(
                    documents,
                    local,
                    self.hasher,
                    bits=bits,
                    side=side,
                    raw=raw,
                    values=values[used:],
                    lows=lows,
                    keys=keys[slab][part],
                )
                found.append(some)
                used += some.values.size
            buffers.give_back(raw)
            return values, found

        most = max(1, min(HELD, self.space.budget.share(0.25) // (4 * SLAB)))
        held: list[tuple[U32, list[Cells]]] = []
        every = list(slabs(counts, sides))
        for number, found in enumerate(in_order(cells, every, threads=self.threads), 1):
            held.append(found)
            if number % most == 0 or number == len(every):
                self._count_cells(table, [some for _, all_of in held for some in all_of])
                for values, _ in held:
                    buffers.give_back(values)
                held = []
        return table.rarity()

    def _count_cells(self, table: Occurrences, held: list[Cells]) -> None:
        step = -(-table.parts // (4 * self.threads))
        ranges = ((first, min(first + step, table.parts)) for first in range(0, table.parts, step))
        for _ in in_order(lambda part: table.count(held, *part), ranges, threads=self.threads):
            pass

    def _alive(self, rows: I64, counts: I64) -> Mask:
        fate = np.empty(rows.size, dtype=np.uint8)

        def look(slab: slice) -> int:
            for documents, local, part in self.collection.texts.parts(rows[slab]):
                fate[slab][part] = join_stage.survivors(
                    documents, local, counts[slab][part], self.hasher, self.rarity, self.threshold
                )
            return int(slab.stop - slab.start)

        for done in in_order(look, slabs(counts), threads=self.threads):
            self.observer.advance(done)
        # building these sets takes less time than another round with the documents that it drops
        doubtful = np.flatnonzero(fate == DOUBTFUL)
        _, _, sizes = self.packed(rows[doubtful], counts[doubtful], threads=self.threads, is_kept=False)
        fate[doubtful] = sizes > 0
        return fate > 0

    # What was found

    def add(self, found: Iterable[Joined]) -> tuple[int, int]:
        """Take note of pairs, from any thread; returns what ``count`` takes."""
        met = counted = 0
        for some in found:
            with self._lock:
                self.found.pairs.add(some.left, some.right, some.similarity)
            met += some.candidates_met
            counted += some.overlaps_counted
        return met, counted

    def count(self, candidates_met: int, overlaps_counted: int) -> None:
        """Add to what was counted; from the thread of ``run``."""
        self.found.candidates_met += candidates_met
        self.found.overlaps_counted += overlaps_counted

    def keep(self, **done: Key | int | None) -> None:
        """Let what was found so far last, where it is time to."""
        if self.space.is_due:
            with self._lock:
                self._checkpoint(**done)

    def _checkpoint(self, **done: Key | int | bool | None) -> None:
        self.found.pairs.flush()
        self.space.checkpoint(joined=[self.found.candidates_met, self.found.overlaps_counted], **done)

    # Sets

    def packed(self, rows: I64, counts: I64, *, threads: int, is_kept: bool = True) -> tuple[U64, I64, I64]:
        """Sets of rising rows: (hashes, where each starts, its size); without ``is_kept`` the sizes only.

        A document that turns out to have too many shingles of its own for any partner has the size 0.
        """
        places = starts_of(counts)
        hashes = np.empty(int(places[-1]) if is_kept else 0, dtype=np.uint64)  # what is left over is never touched
        starts, sizes = np.empty(rows.size, dtype=np.int64), np.empty(rows.size, dtype=np.int64)

        def build(slab: slice) -> None:
            out = hashes[int(places[slab.start]) : int(places[slab.stop])]
            with self.built(rows[slab], counts[slab]) as (begins, some, built):
                join_stage.pack(built, begins, some, self.rarity, self.threshold, out)
            starts[slab], sizes[slab] = begins + places[slab.start], some

        for _ in in_order(build, slabs(counts), threads=threads):
            pass
        return hashes, starts, sizes

    def built(self, rows: I64, counts: I64) -> AbstractContextManager[PaddedSets]:
        """Whole sets of rising rows, for as long as the block lasts; from any thread. See ``built_sets``."""
        return built_sets(self.collection, rows, counts, self.hasher, self._buffers, fresh=SLAB)


def slabs(counts: I64, sides: U8 | None = None) -> Iterator[slice]:
    """Runs of documents of about ``SLAB`` shingles, each of one side."""
    borders = [] if sides is None else (np.flatnonzero(sides[1:] != sides[:-1]) + 1).tolist()
    for first, stop in pairwise((0, *borders, counts.size)):
        for part in cut(counts[first:stop], SLAB):
            yield slice(first + part.start, first + part.stop)
