"""Reread the texts of some rows once, in input order, and store them in the order in which they are checked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.cutting import cut
from neardup.engine.reading.again import PIECE_BYTES, made_texts
from neardup.engine.reading.collection import Collection
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.spool import Column, Parts, Texts
from neardup.stages.text import arranged, chosen
from neardup.types import I32, I64, Documents

MEMORY_PART = 0.15
"""The share of the memory for data up to which the texts stay in memory."""
BATCH_PART = 0.05
"""The share that a batch of texts may take before it is sorted by block and written to a file."""
ROWS = 1 << 20
"""The number of rows that are looked up in columns at a time."""


class LaidTexts:
    """The texts of some rows, stored in an order of their own."""

    def __init__(self, texts: Texts, rows: Column, places: Column) -> None:
        """Open stored texts. ``rows`` are sorted, and the text of the i-th row is ``texts[places[i]]``."""
        self._texts = texts
        self._rows: I64 = rows.slice(0, len(rows))
        self._places: I32 = places.slice(0, len(places))

    def parts(self, rows: I64) -> Iterator[tuple[Documents, I64, slice]]:
        """Yield texts as ``Texts.parts`` does."""
        places = self._places[np.searchsorted(self._rows, rows)].astype(np.int64)
        order = np.argsort(places, kind="stable")
        local = np.empty(rows.size, dtype=np.int64)
        if np.array_equal(order, np.arange(rows.size)):
            yield from self._texts.parts(places)
            return
        for documents, found, _ in self._texts.parts(places[order]):  # only files are out of order, and give one block
            local[order] = found
            yield documents, local, slice(0, rows.size)


def lay_texts(collection: Collection, rows: I64, block: I32, *, threads: int) -> Parts:
    """Reread the texts of sorted ``rows`` in threads, and store them by the ``block`` of each row.

    Returns a function that yields the texts, like ``Texts.parts``. Texts of the collection are used in place if they
    are in memory, or if there is no folder for files. Texts that fit into their share of the memory stay there, in
    input order. In a file, texts of one block are adjacent if they were read in the same batch.
    """
    texts, space = collection.texts, collection.space
    if texts.is_at_hand or space.path is None:
        return texts.parts
    pieces: list[I64] = []
    total = 0
    for i in range(0, rows.size, ROWS):
        some = rows[i : i + ROWS]
        sizes = texts.lengths(some)
        total += int(sizes.sum())
        pieces += [some[part] for part in cut(sizes, PIECE_BYTES)]
    fits = space.workdir is None and total <= space.budget.share(MEMORY_PART)
    if fits:
        block = np.zeros_like(block)
    else:
        space.need(total, "reading candidate documents again")
        space.scratch()
    laid, of_rows, places = made_texts("laid", space), *_columns(space)
    batch = PIECE_BYTES if fits else max(PIECE_BYTES, space.budget.share(BATCH_PART))

    def read(part: I64) -> list[Documents]:
        return [chosen(documents, local) for documents, local, _ in texts.parts(part)]

    held: list[Documents] = []
    for found in in_order(read, pieces, threads=threads):
        held += found
        if sum(documents.nbytes for documents in held) >= batch:
            _lay(laid, held, block, places)
            held = []
    if held:
        _lay(laid, held, block, places)
    of_rows.append(rows)
    return LaidTexts(laid, of_rows, places).parts


def restored_texts(collection: Collection) -> Parts:
    """Return a function that yields the texts stored by an interrupted run, or the collection's if it stored none."""
    rows, places = _columns(collection.space)
    laid = made_texts("laid", collection.space)
    return LaidTexts(laid, rows, places).parts if len(rows) else collection.texts.parts


def _lay(laid: Texts, held: list[Documents], block: I32, places: Column) -> None:
    """Append a batch of texts, sorted by block, and the index of each text in the store."""
    first, count = len(places), sum(map(len, held))
    order = np.argsort(block[first : first + count], kind="stable")
    place = np.empty(count, dtype=np.int32)
    place[order] = np.arange(first, first + count, dtype=np.int32)
    laid.append(arranged(held, order))
    places.append(place)


def _columns(space: Space) -> tuple[Column, Column]:
    return space.column("laid-rows", np.int64), space.column("laid-places", np.int32)
