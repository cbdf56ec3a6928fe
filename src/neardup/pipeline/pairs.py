"""Verified pairs of a run, however many: in memory or in sorted runs of a workdir."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.pipeline.space import Space
from neardup.spool import Sorter
from neardup.types import F64, I64, Pairs

__all__ = ["PairStore"]

PIECE = 1 << 16
"""Pairs handed out at a time."""


class PairStore:
    """Pairs of numbers below n with a similarity; what comes out is sorted, each pair once."""

    def __init__(self, name: str, n: int, space: Space, *, part: float) -> None:
        """Begin empty, or with what an interrupted run wrote down under this name.

        Args:
            name: of its files.
            n: rows.
            space: memory or workdir.
            part: share of the memory for data that it may hold.
        """
        self._n = n
        self._space = space
        self._sorter = Sorter(
            name, payload=np.dtype(np.float64), budget=space.budget.share(part), workdir=space.workdir
        )

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
        if self._space.workdir is not None:
            self._sorter.flush()

    def pieces(self) -> Iterator[Pairs]:
        """The pairs, sorted by (left, right), each once, some at a time."""
        for keys, similarity in self._sorter.merged(PIECE, unique=True):
            assert similarity is not None
            left, right = np.divmod(keys, np.uint64(self._n))
            yield Pairs(left.astype(np.int64), right.astype(np.int64), similarity)

    def drop(self) -> None:
        """Forget the pairs."""
        self._sorter.drop()
