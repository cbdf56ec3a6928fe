"""Provide the signatures of a run by row. Unless they are held, they are computed again from the texts when needed.

A signature of 128 slots takes 512 bytes, more than most short documents. Nearly every signature is needed only once, to
make keys and bits, while its text is in memory. Members of large buckets need theirs in every band, so these are held.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.cutting import cut
from neardup.engine.reading.again import PIECE_BYTES, SourceTexts
from neardup.engine.reading.families import Hashers, read_slots, sketch_batch
from neardup.engine.threads import in_order
from neardup.params import Spec
from neardup.stages.text import chosen
from neardup.types import I64, U32, Documents


class Signatures:
    """The signatures of all rows, with the same number of slots each."""

    def __init__(self, spec: Spec, hashers: Hashers, texts: SourceTexts) -> None:
        """Begin empty."""
        self._spec = spec
        self._hashers = hashers
        self._texts = texts
        self._slots = read_slots(spec)
        self._stores: list[tuple[I64, U32]] = []
        """Sorted rows and their signatures."""

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        return sum(rows.nbytes + values.nbytes for rows, values in self._stores)

    def replace(self, values: U32) -> None:
        """Hold the signatures of all rows, for a family that can make them only after all texts are read."""
        self._slots = values.shape[1]
        self._stores = [(np.arange(len(values)), values)]

    def hold(self, rows: I64, *, threads: int, most: int) -> None:
        """Make and hold the signatures of sorted ``rows``, if they take at most ``most`` bytes."""
        unknown = np.ones(rows.size, dtype=np.bool_)
        for _, at, _ in self._found(rows):
            unknown[at] = False
        some = rows[unknown]
        if some.size == 0 or some.size * 4 * self._slots > most:
            return
        values = np.empty((some.size, self._slots), dtype=np.uint32)
        pieces = cut(self._texts.lengths(some), PIECE_BYTES)
        for part, made in in_order(lambda part: (part, self.take(some[part])), pieces, threads=threads):
            values[part] = made
        self._stores.append((some, values))

    def take(self, rows: I64) -> U32:
        """Return the signatures of ``rows``, uint32[m, slots]. The rows may be in any order, and may repeat."""
        if rows.size > 1 and not bool(np.all(rows[1:] > rows[:-1])):
            distinct, place = np.unique(rows, return_inverse=True)
            values: U32 = self.take(distinct)[place]
            return values
        values, unknown = np.empty((rows.size, self._slots), dtype=np.uint32), np.ones(rows.size, dtype=np.bool_)
        for held, at, place in self._found(rows):
            unknown[at] = False
            if at.size == rows.size:
                np.take(held, place, axis=0, out=values, mode="clip")  # mode "raise" would make another copy
            else:
                values[at] = held[place]
        at = np.flatnonzero(unknown)
        for documents, local, part in self._texts.parts(rows[at]):
            values[at[part]] = self._make(documents, local)
        return values

    def _found(self, rows: I64) -> Iterator[tuple[U32, I64, I64]]:
        """Yield (signatures, indices in ``rows``, indices in the store) for each store with some of the sorted rows."""
        for known, held in self._stores:
            place = np.minimum(np.searchsorted(known, rows), known.size - 1)
            at = np.flatnonzero(known[place] == rows)
            if at.size:
                yield held, at, place[at]

    def _make(self, documents: Documents, places: I64) -> U32:
        """Compute the signatures of some documents of a block of normalised texts, uint32[m, slots]."""
        values, _, _ = sketch_batch(chosen(documents, places), self._spec, self._hashers)
        return values
