"""Verified pairs of a run, however many: in memory or, where they outgrow it, in sorted runs of a workdir."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME
from neardup.engine.space import Space
from neardup.types import F64, I64, Pairs

__all__ = ["PairStore"]


class PairStore:
    """Pairs of numbers below n with a similarity; what comes out is sorted, each pair once."""

    def __init__(self, name: str, n: int, space: Space, *, part: float, is_lasting: bool = False) -> None:
        """Begin empty, or with what an interrupted run wrote down under this name.

        Args:
            name: of its files.
            n: rows.
            space: memory or workdir.
            part: share of the memory for data that it may hold; what is more goes to files, wherever the rest is.
            is_lasting: see ``Space.sorter``.
        """
        self._n = n
        self._sorter = space.sorter(name, payload=np.dtype(np.float64), part=part, is_lasting=is_lasting)

    def add(self, a: I64, b: I64, similarity: F64) -> None:
        """Add pairs; the smaller number of each goes first."""
        if a.size:
            left, right = np.minimum(a, b).astype(np.uint64), np.maximum(a, b).astype(np.uint64)
            self._sorter.add(left * np.uint64(self._n) + right, similarity)

    def __len__(self) -> int:
        """Pairs added; one that came twice counts twice."""
        return len(self._sorter)

    def flush(self) -> None:
        """Let nothing be in memory only, before a checkpoint."""
        self._sorter.flush()

    def pieces(self) -> Iterator[Pairs]:
        """The pairs, sorted by (left, right), each once, some at a time."""
        for keys, similarity in self._sorter.merged(ROWS_AT_A_TIME, unique=True):
            assert similarity is not None
            left, right = np.divmod(keys, np.uint64(self._n))
            yield Pairs(left.astype(np.int64), right.astype(np.int64), similarity)

    def gathered(self) -> Pairs:
        """All of them at once, for those who know that they are few."""
        columns = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
        columns += [(piece.left, piece.right, piece.similarity.copy()) for piece in self.pieces()]
        return Pairs(*(np.concatenate(column) for column in zip(*columns, strict=True)))

    def drop(self) -> None:
        """Forget the pairs."""
        self._sorter.drop()
