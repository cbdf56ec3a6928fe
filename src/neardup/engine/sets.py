"""Sets of shingles of a collection's documents, built in buffers that are used again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from neardup.cutting import starts_of
from neardup.engine.reading.collection import Collection
from neardup.stages import shingle as shingle_stage
from neardup.stages.shingle import Hasher
from neardup.types import I64, U64

__all__ = ["Buffers", "built_sets"]


class Buffers:
    """Arrays that threads use one after the other: fresh pages of memory cost more than filling them."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._spare: list[NDArray[Any]] = []

    def take(self, size: int, *, fresh: int) -> NDArray[Any]:
        """An array of at least ``size`` values; one that has to be made has at least ``fresh``."""
        try:
            buffer = self._spare.pop()
        except IndexError:
            pass
        else:
            if buffer.size >= size:
                return buffer
        return np.empty(max(size, fresh), dtype=self._dtype)

    def give_back(self, buffer: NDArray[Any]) -> None:
        """Let the next ``take`` have it; nobody may look at it any more."""
        self._spare.append(buffer)

    def clear(self) -> None:
        """Give up the memory of those that are not in use."""
        self._spare.clear()


@contextmanager
def built_sets(
    collection: Collection, rows: I64, counts: I64, hasher: Hasher, buffers: Buffers, *, fresh: int
) -> Iterator[tuple[U64, I64, I64]]:
    """Sets of documents, for as long as the block lasts: (hashes in a buffer, where each starts, its size).

    Args:
        collection: texts.
        rows: int64[n], rising.
        counts: int64[n], shingles with repeats of each.
        hasher: shingle and seed.
        buffers: of uint64.
        fresh: shingles that a fresh buffer has room for, at least.
    """
    starts = starts_of(counts)
    sizes = np.empty(rows.size, dtype=np.int64)
    hashes = buffers.take(int(starts[-1]), fresh=fresh)
    for documents, local, part in collection.texts.parts(rows):
        places = starts[part.start : part.stop + 1]
        shingle_stage.build_rows(documents, local, counts[part], hasher, places, sizes[part], hashes)
    yield hashes, starts[:-1], sizes
    buffers.give_back(hashes)
