"""The joins of shingle sets in memory: all pairs of a threshold, by similarity or containment, none missed.

By similarity: prefix filter over rare-first shingles, size filter, the positional filter at the end of both prefixes,
early-stopping merge: AllPairs (Bayardo, Ma, Srikant 2007) and PPJoin (Xiao, Wang, Lin, Yu 2008), of whose filters
these are the ones that pay (Mann, Augsten, Bouros: An Empirical Evaluation of Set Similarity Join Techniques, 2016,
section 5). Before the join, a document is dropped when more of its shingles are unique to it than a partner may lack.

By containment: an index of the sets that may be part of something, by their rarest shingles (``kernels.containing``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import containing, joining, leading, rarest
from neardup.kernels.containing import Outlined, Scratch
from neardup.kernels.verify import UNIQUE
from neardup.stages.shingle import SALT, Hasher
from neardup.types import F64, I32, I64, U8, U32, U64, Documents, Mask, PaddedSets, SetBlock

PART_CELLS = 18
"""Binary logarithm of the cells that are counted at a time: 512 kB of the table, which a processor's cache holds."""
SMALL_BITS = 24
"""Binary logarithm of the cells of a small table."""
ROOM = 1 << 14
"""Pairs that a probe has room for at first."""
FURTHER_SHARE = 0.05
"""Of what a container may lack: so much more it must hold, or strangers would be counted in full too often."""
FURTHER = 4.0
"""Shingles that it must hold beside."""
SLACK = 64.0
"""Documents that the shingles taken for this may hold, together, beside as many as the first ones do."""
BITS_PER_KEY = 8
"""Of the bitmap, up to twice as many: one strange shingle in twenty is looked up in the table for nothing."""

Table = NDArray[Any]

_NO_KEYS: U32 = np.empty(0, dtype=np.uint32)
_RISING: I64 = np.empty(0, dtype=np.int64)
NO_CROWDS: I32 = np.empty(0, dtype=np.int32)
"""In place of the crowd of each set, where there are no crowds."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells that the shingles of some documents fall into, sorted by part of the table."""

    values: U32
    starts: I64
    """int64[parts + 1] into ``values``."""
    side: int
    """1, 2 or, for both, 3: the side of the join that the documents are on."""


@dataclass(frozen=True, slots=True)
class Rarity:
    """How rare shingles are: the class of each cell."""

    classes: U8
    """uint8[2**bits]: 0 or 1 where no other document can share the shingle, else rising with the times it was met."""
    bits: int

    @property
    def often(self) -> F64:
        """float64[256]: about how many documents hold a shingle of each class, seldom fewer."""
        counts = np.arange(256, dtype=np.float64)
        if self.bits <= SMALL_BITS:
            counts[128:] = 128 * 2.0 ** ((counts[128:] - 128) / 14)
        return np.maximum(counts, 1.0)

    def dropped(self) -> Rarity:
        """Without the classes, where nobody asks for them any more."""
        return Rarity(self.classes[:0].copy(), self.bits)


def _part_bits(bits: int) -> int:
    return max(0, bits - PART_CELLS)


def cells(
    documents: Documents,
    docs: I64,
    hasher: Hasher,
    *,
    bits: int,
    side: int,
    raw: U32,
    values: U32,
    lows: int = 0,
    keys: U32 = _NO_KEYS,
) -> Cells:
    """Cells of all shingles of ``docs`` (indices into the block) in a table of ``2**bits``; ``bits`` at most 32.

    ``raw`` and ``values`` are room for all of them; the result is in ``values``. ``keys``, unless it is empty, is
    uint32[docs]: there goes a hash of the ``lows`` lowest shingles of each, in which near-copies are likely to agree.
    """
    starts = np.empty((1 << _part_bits(bits)) + 1, dtype=np.int64)
    text = documents.data, documents.offsets
    joining.cells_of(hasher.params, *text, docs, bits, _part_bits(bits), raw, starts, values, lows, keys)
    return Cells(values[: starts[-1]], starts, side)


class Occurrences:
    """A table of how often each cell was met: up to 255 times, in a small table up to 65,535 times.

    1 byte a cell, 2 where two sides are kept apart. What is met more often than can be counted is behind everything
    else in the order of shingles, and rarely comes into a prefix where there are many shingles.
    """

    def __init__(self, bits: int, *, is_across: bool) -> None:
        """``2**bits`` cells, all 0; ``is_across``: pairs lie across two sides only."""
        self.bits = bits
        self.parts = 1 << _part_bits(bits)
        self._table: Table = np.zeros(1 << bits, dtype=np.uint16 if bits <= SMALL_BITS else np.uint8)
        self._sides: U8 = np.zeros((1 << bits) if is_across else 0, dtype=np.uint8)

    def count(self, met: Sequence[Cells], first: int, last: int) -> None:
        """Count the cells of the parts ``first`` to ``last``; other threads may count other parts meanwhile."""
        addresses = np.array([some.values.__array_interface__["data"][0] for some in met], dtype=np.int64)
        starts, sides = np.stack([some.starts for some in met]), np.array([some.side for some in met], dtype=np.uint8)
        most = np.iinfo(self._table.dtype).max
        joining.count_cells(addresses, starts, sides, first, last, most, self._table, self._sides)

    def rarity(self) -> Rarity:
        """Make classes from the counts, and use up the table.

        Where pairs lie across two sides, no partner has a shingle of a cell that was met on one side only. Its class is
        UNIQUE if it was met once, so that one document has it once, and else 0.
        """
        classes: U8 = _CLASS_OF[self._table] if self._table.dtype == np.uint16 else self._table
        if self._sides.size:
            is_kept: Mask = np.equal(self._sides, 3, out=self._sides.view(np.bool_))
            is_kept |= classes == UNIQUE
            classes *= is_kept  # a sixth of the time of an assignment by mask
        self._table, self._sides = self._table[:0], self._sides[:0]
        return Rarity(classes, self.bits)


def _class_of() -> U8:
    """Class of each count up to 65,535: itself up to 128, then 14 to each doubling."""
    count = np.arange(1 << 16)
    log = np.log2(np.maximum(count, 128) / 128)
    return np.where(count <= 128, count, 128 + np.ceil(14 * log)).astype(np.uint8)


_CLASS_OF = _class_of()


def survivors(documents: Documents, docs: I64, counts: I64, hasher: Hasher, rarity: Rarity, threshold: float) -> Any:
    """Return uint8[m]: ALIVE if one of ``docs`` could have a partner of at least ``threshold``, DOUBTFUL, or else 0."""
    fate = np.empty(docs.size, dtype=np.uint8)
    text = documents.data, documents.offsets
    joining.survivors(hasher.params, *text, docs, counts, rarity.classes, rarity.bits, threshold, fate)
    return fate


def pack(sets: U64, starts: I64, sizes: I64, rarity: Rarity, threshold: float, out: U64) -> int:
    """Move sets that could have a partner to the front of ``out`` (empty: only sizes are wanted), the rest to size 0.

    ``starts`` and ``sizes`` are changed. Returns the shingles kept.
    """
    return int(joining.pack(sets, starts, sizes, rarity.classes, rarity.bits, threshold, out))


@dataclass(frozen=True, slots=True)
class Joined:
    """Pairs of an indexed set, ``left``, and a probing one, ``right``."""

    left: I64
    right: I64
    similarity: F64
    candidates_met: int
    """Pairs that shared one of the shingles that are kept."""
    overlaps_counted: int
    """Of these, pairs that were counted in full, or, for containment, held against the outline of the part."""


def _probed(probe: Callable[[I64, I64, I64, F64], int], first: int, stop: int) -> Iterator[Joined]:
    """What a kernel finds for the sets ``first`` to ``stop``, some pairs at a time.

    ``probe`` takes the kernel's state and room for pairs, and returns the pairs written. It stops early where those of
    the next set might not fit: ``state[0]`` is that set, ``state[3]`` the room that it needs.
    """
    state = np.array([first, 0, 0, 0], dtype=np.int64)
    room = ROOM
    while state[0] < stop:
        state[1] = state[2] = 0
        left, right, similarity = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64)
        n = probe(state, left, right, similarity)
        room = max(room, int(state[3]))
        yield Joined(left[:n], right[:n], similarity[:n], int(state[1]), int(state[2]))


class Prefixes:
    """The rarest shingles of the sets of a block, with which they are indexed and probed with."""

    def __init__(self, block: SetBlock, rarity: Rarity, threshold: float, crowds: I32 = NO_CROWDS) -> None:
        """Choose them. O(shingles); the sets are only read. ``crowds``: the crowd that each set is in, or -1."""
        self.block, self.threshold, self.crowds = block, threshold, crowds
        self.kept = joining.Prefixes(*joining.prefixes_of(block, rarity.classes, rarity.bits, threshold))


class Index:
    """The sets of a block, ready to be probed with sets of its own or of larger ones."""

    def __init__(self, prefixes: Prefixes) -> None:
        """Build the posting lists. O(shingles of the prefixes)."""
        self._indexed = prefixes
        order = np.argsort(prefixes.crowds, kind="stable")
        self._postings = joining.Postings(*joining.postings_of(prefixes.kept, order))

    def probe(self, probing: Prefixes, first: int, stop: int) -> Iterator[Joined]:
        """Pairs of the sets ``first`` to ``stop`` with indexed ones before them in the order of size, some at a time.

        Pairs inside a crowd are passed over.

        ``probing`` are the prefixes that were indexed, or those of sets that all come behind the indexed ones.
        """
        indexed = self._indexed
        overlap = np.zeros(indexed.block.sizes.size, dtype=np.int32)
        touched = np.empty(indexed.block.sizes.size, dtype=np.int32)
        sides = probing.block, probing.kept, indexed.block, indexed.kept, self._postings
        scratch = probing.crowds, indexed.crowds, probing is indexed, stop, indexed.threshold, overlap, touched
        for some in _probed(lambda *found: joining.probe(*sides, *scratch, *found), first, stop):
            yield replace(some, left=indexed.block.rows[some.left], right=probing.block.rows[some.right])


def most_central(sets: SetBlock, members: I64, starts: I64) -> I64:
    """int64[groups]: rows of the sets that are most similar to the others of their group; see the kernel."""
    chosen = np.empty(starts.size - 1, dtype=np.int64)
    leading.most_central(sets, members, starts, chosen)
    return sets.rows[chosen]


class Leaders:
    """Sets that may lead crowds, the first ones before others, indexed so that sets of any size find them."""

    def __init__(self, sets: SetBlock, rarity: Rarity, threshold: float) -> None:
        """Index them, and take out those that are ``threshold`` similar to one before them. O(shingles)."""
        self._sets, self._rarity, self._threshold = sets, rarity, threshold
        prefixes = Prefixes(sets, rarity, threshold).kept
        all_of = prefixes._replace(held_indexed=prefixes.held)
        self._postings = joining.Postings(*joining.postings_of(all_of, _RISING))
        self._leads = np.ones(sets.sizes.size, dtype=np.bool_)
        self._first(sets, prefixes, is_own=True)

    def first(self, sets: SetBlock) -> I64:
        """int64[m]: row of the first leader that each set is near enough to, or -1. From any thread."""
        at = self._first(sets, Prefixes(sets, self._rarity, self._threshold).kept, is_own=False)
        return np.where(at >= 0, self._sets.rows[at], -1)

    def _first(self, sets: SetBlock, prefixes: joining.Prefixes, *, is_own: bool) -> I64:
        found = np.empty(sets.sizes.size, dtype=np.int64)
        leading.first_leaders(sets, prefixes, self._sets, self._postings, self._threshold, is_own, self._leads, found)
        return found


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of the sets of some documents, in their order, to find out what contains them."""

    sizes: I64
    """int64[m]: 0 where too many of its shingles are its own for any container."""
    needed: I32
    """int32[m]: how many of the shingles by which it is known a container holds at least."""
    held: I64
    """int64[m]: shingles by which it is known ..."""
    tokens: U64
    """... and these, end to end."""
    lengths: I64
    """int64[m]: bytes of its outline ..."""
    outlines: U8
    """... and these, end to end."""


def kept_of(sets: PaddedSets, rarity: Rarity, threshold: float, *, documents: int) -> Kept:
    """Choose what to keep. O(shingles); from any thread. ``sets``, none of them empty, are used up.

    ``rarity`` is of all ``documents``, these and those that will be probed with.
    """
    n, total = sets.sizes.size, int(sets.sizes.sum())
    tokens = np.empty(total, dtype=np.uint64)
    held, needed, lengths = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int64)
    chosen = rarest.choose(
        *(sets, rarity.classes, rarity.bits, rarity.often, documents, threshold),
        *(FURTHER_SHARE, FURTHER, SLACK, tokens, held, needed),
    )
    outlines = np.empty(total + total // 4 + 2 * n, dtype=np.uint8)
    used = containing.outline(sets, lengths, outlines)
    return Kept(sets.sizes, needed, held, tokens[:chosen].copy(), lengths, outlines[:used].copy())


def joined(parts: Iterator[Kept], shingles: int, documents: int) -> Kept:
    """Several, of so many documents and at most so many shingles in all, as one; each is let go as it comes."""
    sizes, held, lengths = (np.empty(documents, dtype=np.int64) for _ in range(3))
    needed = np.empty(documents, dtype=np.int32)
    tokens = np.empty(shingles, dtype=np.uint64)  # what is left over is never touched, here and below
    outlines = np.empty(shingles + shingles // 4 + 2 * documents, dtype=np.uint8)
    n = chosen = used = 0
    for some in parts:
        at = slice(n, n + some.sizes.size)
        sizes[at], needed[at], held[at], lengths[at] = some.sizes, some.needed, some.held, some.lengths
        tokens[chosen : chosen + some.tokens.size] = some.tokens
        outlines[used : used + some.outlines.size] = some.outlines
        n, chosen, used = at.stop, chosen + some.tokens.size, used + some.outlines.size
    return Kept(sizes, needed, held, tokens[:chosen], lengths, outlines[:used])


class Parts:
    """Sets that may be contained in others, known by their rarest shingles and by outlines of all of them."""

    def __init__(self, rows: I64, sides: U8, crowds: Callable[[I64], I32], kept: Kept, threshold: float) -> None:
        """Build the table. O(shingles that are kept).

        ``rows`` and ``sides`` are those of the documents of ``kept``, of which those of size 0 are left out; ``crowds``
        gives the crowd that some rows are in, or -1, or nothing. Memory: 32 bytes for each distinct shingle of those
        by which the sets are known, 4 more for each set that has it, 2 of the bitmap, and the outlines.
        """
        alive = np.flatnonzero(kept.sizes)
        order = alive[np.argsort(kept.sizes[alive], kind="stable")]
        self.threshold = threshold
        self.sets = Outlined(
            *(rows[order], sides[order], kept.sizes[order], kept.needed[order], crowds(rows[order])),
            *((np.cumsum(kept.lengths) - kept.lengths)[order], kept.lengths[order], kept.outlines),
        )
        by_crowd = np.argsort(self.sets.crowds, kind="stable")
        tokens, starts, held = kept.tokens, (np.cumsum(kept.held) - kept.held)[order], kept.held[order]
        bits = BITS_PER_KEY * tokens.size
        self._table = rarest.Table(*rarest.table_of(tokens, starts, held, SALT, bits, by_crowd), SALT)

    def scratch(self) -> Scratch:
        """Fresh scratch."""
        n = self.sets.sizes.size
        return Scratch(np.zeros(n, dtype=np.int32), np.empty(n + 1, dtype=np.int32))

    def probe(self, others: SetBlock, scratch: Scratch, crowds: I32 = NO_CROWDS) -> Iterator[Joined]:
        """Indexed sets that may be contained in each of ``others``, some pairs at a time; these may be in any order.

        ``crowds`` are those of ``others``; pairs inside a crowd are passed over. A pair is (row of the part, place in
        ``others``), and ``contained`` says whether it is one.

        Of two sets the smaller is the part, and of equally large ones that of the smaller row: so each pair comes
        once, where all sets are indexed that can be part of something and all are probed with. A set is no part of
        itself.
        """
        given = others, self.sets, crowds, self._table, self.threshold, scratch
        for some in _probed(lambda *found: containing.probe(*given, *found[:3]), 0, others.sizes.size):
            yield replace(some, left=self.sets.rows[some.left])


def contained(left: I64, right: I64, parts: PaddedSets, others: PaddedSets, threshold: float) -> F64:
    """What the set ``right`` of others holds of the set ``left`` of parts, or -1 where it is below the threshold.

    A part is no larger than the other; pairs of one of the others stand together.
    """
    share = np.empty(left.size, dtype=np.float64)
    containing.held(left, right, parts, others, threshold, share)
    return share
