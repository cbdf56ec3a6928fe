"""Documents that have much in common, told apart by the shingles that few of them hold. What calls it: ``engine``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from neardup.cutting import starts_of
from neardup.kernels import rarest, sharing
from neardup.kernels.sharing import Few
from neardup.stages.shingle import SALT, Hasher
from neardup.types import I32, I64, U8, U64, Documents, Mask

BITS_PER_KEY = 8
"""Of the bitmap in front of an index: one strange shingle in twenty is looked up for nothing."""
LEAST_BITS, MOST_BITS = 12, 26
"""Of the table in which shingles are counted, as binary logarithms of its cells: 64 MB, whatever the memory limit, for
by it the candidates are counted."""
PAIRS_AT_A_TIME = 1 << 16
ANOTHER = np.uint64(0x9E3779B97F4A7C14)
"""With these bits turned a salt is another one, and odd as before."""
KINDS = 64
"""Numbers of shared shingles that are told apart, by their binary logarithm."""


class Tally:
    """How often shingles were met in some documents: at least as often as they were, in few cells more often."""

    def __init__(self, shingles: int) -> None:
        """Nothing is counted yet; so many are expected."""
        self.bits = max(LEAST_BITS, min(MOST_BITS, shingles.bit_length()))
        self.times: U8 = np.zeros(1 << self.bits, dtype=np.uint8)

    def see(self, documents: Documents, docs: I64, hasher: Hasher) -> None:
        """Count the shingles of some documents. O(shingles)."""
        sharing.count_all(hasher.params, documents.data, documents.offsets, docs, self.bits, self.times)


class KeptTally:
    """How often the shingles were kept that few hold; of several tables each tells others apart."""

    def __init__(self, room: int) -> None:
        """Nothing is counted yet; the table takes so many bytes at most."""
        self._times: U8 = np.zeros(1 << (room.bit_length() - 1), dtype=np.uint8)
        self._salt = SALT

    def see(self, few: Few) -> None:
        """Count those of some documents. O(shingles kept)."""
        sharing.count_kept(few.tokens, self._salt, self._times)

    def shared(self, few: Few) -> Few:
        """Documents that were counted without the shingles that were counted once, which nobody shares."""
        tokens, held = few.tokens.copy(), few.held.copy()
        n = sharing.drop_alone(tokens, held, self._salt, self._times)
        return few._replace(held=held, starts=starts_of(held), tokens=tokens[:n].copy())

    def again(self, held: list[Few]) -> list[Few]:
        """The same of what is left, which are all that there are, as other cells tell them apart."""
        self._salt ^= ANOTHER
        self._times[:] = 0
        for few in held:
            self.see(few)
        return [self.shared(few) for few in held]


def few_of(documents: Documents, docs: I64, rows: I64, counts: I64, hasher: Hasher, tally: Tally, *, most: int) -> Few:
    """The shingles of each of ``docs`` that 2 to ``most`` of the documents of ``tally`` hold. O(shingles).

    ``counts`` are shingles with repeats, as sketching counted them.
    """
    sizes, common, held = (np.empty(docs.size, dtype=np.int64) for _ in range(3))
    room = np.empty(int(counts.sum()), dtype=np.uint64)
    n = sharing.few_of(
        *(hasher.params, documents.data, documents.offsets, docs, counts, tally.bits, tally.times, most, SALT),
        *(sizes, common, held, room),
    )
    return Few(rows, sizes, common, held, starts_of(held), room[:n].copy())


def joined(parts: Sequence[Few]) -> Few:
    """Several as one."""
    rows, sizes, common, held = (
        np.concatenate([np.empty(0, np.int64), *(part[i] for part in parts)]) for i in range(4)
    )
    tokens: U64 = np.concatenate([np.empty(0, np.uint64), *(part.tokens for part in parts)])
    return Few(rows, sizes, common, held, starts_of(held), tokens)


def chosen(few: Few, which: I64) -> Few:
    """Some of them."""
    held = few.held[which]
    at = np.repeat(few.starts[which] - starts_of(held)[:-1], held) + np.arange(int(held.sum()))
    return Few(few.rows[which], few.sizes[which], few.common[which], held, starts_of(held), few.tokens[at])


@dataclass(slots=True)
class Sharing:
    """An index of documents by the shingles that few hold. Memory: 30 to 40 bytes for each that is kept."""

    few: Few
    threshold: float
    _table: rarest.Table = field(init=False)

    def __post_init__(self) -> None:
        few = self.few
        tokens = few.tokens
        bitmap, slots, posts = rarest.table_of(tokens, few.starts[:-1], few.held, SALT, BITS_PER_KEY * tokens.size)
        self._table = rarest.Table(bitmap, slots, posts, SALT)

    def numbers(self, others: Few) -> I64:
        """int64[KINDS]: pairs with ``others`` that could be similar, by the logarithm of what they share.

        Those that share half of what either has beside common shingles are not counted.
        """
        numbers = np.zeros(KINDS, dtype=np.int64)
        sharing.shares(others, self.few, self._table, self.threshold, *self._scratch(), numbers)
        return numbers

    def pairs(self, others: Few, *, floor: int) -> Iterator[tuple[I64, I64]]:
        """Pairs (left < right) with ``others``, or among the indexed ones if it is these, that could be similar.

        They share ``floor`` of the shingles that few hold, or half of all that either has beside common ones.
        """
        scratch = self._scratch()
        room = max(PAIRS_AT_A_TIME, self.few.rows.size)
        first = 0
        while first < others.rows.size:
            left, right = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
            same = others is self.few
            first, n = sharing.shared(
                *(others, self.few, self._table, same, first, floor, self.threshold, *scratch, left, right)
            )
            yield left[:n], right[:n]

    def _scratch(self) -> tuple[I32, I32]:
        n = self.few.rows.size
        return np.zeros(n, dtype=np.int32), np.empty(n + 1, dtype=np.int32)


def may_hide(sizes: I64, common: I64, threshold: float) -> Mask:
    """bool[n]: documents that could be similar to another, or to one like themselves, by common shingles alone.

    Two documents could be when both have as many of these as their overlap needs: with f = c (1 + t) / t - size, where
    c is a document's ``common``, when f of each is at least the size of the other.
    """
    reach = common * (1 + threshold) / threshold - sizes + 1  # rounding must not hide any
    order = np.argsort(sizes, kind="stable")
    best = np.maximum.accumulate(reach[order])
    smaller = np.searchsorted(sizes[order], reach, side="right")
    hides: Mask = (smaller > 0) & (best[np.maximum(smaller, 1) - 1] >= sizes)
    return hides
