"""Pieces of bytes kept for later, in memory or, where they are many, in the workdir of the run."""

from __future__ import annotations

import numpy as np

from neardup.engine.space import Space
from neardup.spool import FileTexts, MemoryTexts
from neardup.types import I64, Documents

__all__ = ["Shelf"]


class Shelf:
    """Keeps pieces in the order in which they come, and gives them back by their numbers."""

    def __init__(self, name: str, space: Space, *, part: float) -> None:
        """An empty one.

        Args:
            name: of its files.
            space: memory or workdir.
            part: share of the memory for data that it may hold.
        """
        self._name = f"report-{name}"
        self._space = space
        self._most = space.budget.share(part)
        self._texts: MemoryTexts | FileTexts = MemoryTexts()
        if space.workdir is not None:
            self._move()

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, pieces: list[bytes]) -> None:
        """Keep some more."""
        if pieces:
            self._texts.append(Documents.from_bytes(pieces))
            if isinstance(self._texts, MemoryTexts) and self._texts.nbytes > self._most:
                self._move()

    def get(self, numbers: I64) -> list[bytes]:
        """Some pieces, in the order asked for."""
        rising, back = np.unique(numbers, return_inverse=True)
        pieces: list[bytes] = []
        for documents, local, _ in self._texts.parts(rising):
            pieces += [documents.blob(i) for i in local.tolist()]
        return [pieces[i] for i in back.tolist()]

    def drop(self) -> None:
        """Forget all."""
        if isinstance(self._texts, FileTexts) and self._space.workdir is not None:
            self._space.workdir.delete(self._name)
        self._texts = MemoryTexts()

    def _move(self) -> None:
        """Go on in files."""
        workdir = self._space.scratch()
        if workdir.names(f"{self._name}."):
            workdir.delete(self._name)  # of an interrupted run
        texts = workdir.texts(self._name)
        if isinstance(self._texts, MemoryTexts):
            for block in self._texts.blocks:
                texts.append(block)
        self._texts = texts
