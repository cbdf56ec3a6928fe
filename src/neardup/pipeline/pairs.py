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

    def __init__(self, name: str, n: int, space: Space, *, part: float, may_spill: bool = False) -> None:
        """Begin empty, or with what an interrupted run wrote down under this name.

        Args:
            name: of its files.
            n: rows.
            space: memory or workdir.
            part: share of the memory for data that it may hold.
            may_spill: open the workdir when the pairs outgrow that share, although the rest is in memory.
        """
        self._name = name
        self._n = n
        self._space = space
        self._most = space.budget.share(part)
        self._may_spill = may_spill and space.path is not None and space.workdir is None
        self._sorter = self._made()

    def _made(self) -> Sorter:
        return Sorter(self._name, payload=np.dtype(np.float64), budget=self._most, workdir=self._space.workdir)

    def add(self, a: I64, b: I64, similarity: F64) -> None:
        """Add pairs; the smaller number of each goes first."""
        if a.size:
            left, right = np.minimum(a, b).astype(np.uint64), np.maximum(a, b).astype(np.uint64)
            self._sorter.add(left * np.uint64(self._n) + right, similarity)
            if self._may_spill and 2 * self._sorter.nbytes > self._most:  # sorting takes as much again
                self._spill()

    def _spill(self) -> None:
        """Go on in files; what is there already moves."""
        self._may_spill = False
        self._space.open()
        held, self._sorter = self._sorter, self._made()
        for keys, similarity in held.merged(PIECE, unique=False):
            self._sorter.add(keys, similarity)

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
