"""The signatures of a run, by row: those that cost more to make than to hold are held, the others are made again.

A signature of 128 slots takes 512 bytes, more than most short documents. Nearly all of them are asked for once, to make
the keys of the bands, while the text is there. So only those of long documents are held, which take a small part of
what the texts would, and those of hot buckets, which are asked for in every band (``hold``). Any other is made from the
text of a candidate when that is read to be checked. While a collection is small all are held.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.cutting import cut
from neardup.engine.reading.again import PIECE_BYTES, SourceTexts
from neardup.engine.reading.families import Hashers, read_slots, sketch_batch
from neardup.engine.threads import in_order
from neardup.params import Spec
from neardup.spool import Column, MemoryColumn
from neardup.stages.text import chosen
from neardup.types import I64, U32, Documents, Mask

LONG = 8
"""Documents are long where their texts have so many times the bytes of their signatures."""


class Signatures:
    """Signatures of rows, of one width."""

    def __init__(self, spec: Spec, hashers: Hashers, texts: SourceTexts, *, keep: bool, near: bool) -> None:
        """None yet; with ``keep`` all are wanted, with ``near`` until ``leave`` is called."""
        self._spec = spec
        self._hashers = hashers
        self._texts = texts
        self._keep = keep
        self._near = near
        self._holds = True
        self.slots = read_slots(spec)
        self._stores = [self._store()]

    def _store(self) -> tuple[MemoryColumn, MemoryColumn]:
        """Rows, rising, and their signatures."""
        return MemoryColumn(np.int64), MemoryColumn(np.uint32, self.slots)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(rows.nbytes + values.nbytes for rows, values in self._stores)

    @property
    def held(self) -> U32:
        """uint32[n, slots]: those that were added and are held, in order."""
        values: U32 = self._stores[0][1].array
        return values

    def wants(self, n: int, text_bytes: int) -> bool:
        """Whether those of n documents of so many bytes should be added."""
        if self._keep or self._spec.sketch == "none":
            return self._keep
        return self._holds and (self._near or 4 * self.slots * LONG * n <= text_bytes)

    def add(self, first: int, values: U32, more: float) -> None:
        """Hold those of rows from ``first`` on; ``more``: as often as what there is so far is still to come."""
        if self._holds:
            rows, held = self._stores[0]
            rows.append(np.arange(first, first + values.shape[0]), more)
            held.append(values, more)

    def replace(self, values: Column) -> None:
        """Take those of all rows, where they could be made only when all texts were read."""
        self.slots = values.width
        store = self._store()
        store[0].append(np.arange(len(values)))
        store[1].append(values.slice(0, len(values)))
        self._stores = [store]

    def leave(self) -> None:
        """Want only those of long documents from now on; those that are held are dropped, unless all are kept."""
        self._near = False
        if not self._keep:
            self._stores = [self._store()]

    def drop(self) -> None:
        """Hold none of those that are added: memory is short. Whoever was told to keep all never gets here."""
        self._holds = False
        self._stores = [self._store()]

    def hold(self, rows: I64, *, threads: int, most: int) -> None:
        """Make those of ``rows`` (rising) now, and hold them, if they take ``most`` bytes or less."""
        unknown = np.ones(rows.size, dtype=np.bool_)
        for _, at, _ in self._found(rows):
            unknown[at] = False
        some = rows[unknown]
        if some.size == 0 or some.size * 4 * self.slots > most:
            return
        store = self._store()
        pieces = (some[part] for part in cut(self._texts.lengths(some), PIECE_BYTES))
        for part, values in in_order(lambda piece: (piece, self.take(piece)), pieces, threads=threads):
            store[0].append(part)
            store[1].append(values)
        self._stores.append(store)

    def take(self, rows: I64) -> U32:
        """uint32[m, slots]: those of some rows, in any order, repeats allowed."""
        if rows.size > 1 and not bool(np.all(rows[1:] > rows[:-1])):
            distinct, place = np.unique(rows, return_inverse=True)
            values: U32 = self.take(distinct)[place]
            return values
        values = np.empty((rows.size, self.slots), dtype=np.uint32)
        at = np.flatnonzero(self.put_held(rows, values))
        for documents, local, part in self._texts.parts(rows[at]):
            values[at[part]] = self.make(documents, local)
        return values

    def put_held(self, rows: I64, values: U32) -> Mask:
        """Fill in those of ``rows`` (rising) that are held; bool[m]: which are not."""
        unknown = np.ones(rows.size, dtype=np.bool_)
        for held, at, place in self._found(rows):
            if at.size == rows.size:
                np.take(held, place, axis=0, out=values, mode="clip")  # with "raise" it would copy once more
            else:
                values[at] = held[place]
            unknown[at] = False
        return unknown

    def _found(self, rows: I64) -> Iterator[tuple[U32, I64, I64]]:
        """Of each store with some of ``rows`` (rising): its signatures, which of the rows it has, and where."""
        for known, held in self._stores:
            place = np.minimum(np.searchsorted(known.array, rows), len(known) - 1)
            at = np.flatnonzero(known.array[place] == rows) if len(known) else place[:0]
            if at.size:
                yield held.array, at, place[at]

    def make(self, documents: Documents, places: I64) -> U32:
        """uint32[m, slots]: those of documents of a block of normalised texts."""
        values, _, _ = sketch_batch(chosen(documents, places), self._spec, self._hashers)
        return values
