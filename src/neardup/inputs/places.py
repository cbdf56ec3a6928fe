"""Where each document of a run came from, batch by batch: its source, its line or row there, and where its id is."""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.spool import Column, MemoryColumn, Workdir
from neardup.types import I64, Batch

__all__ = ["ID_BASE", "ID_KIND", "SIZE", "START", "Places"]

_FIELDS = 7
START, SIZE, _SOURCE, _FIRST, _BASE, ID_KIND, ID_BASE = range(_FIELDS)
"""Fields of a batch: first document and their number; source; local row of the first; where the local rows
begin among those that are kept, -1 where they follow each other; what ``names.Ids`` says of the ids."""


class Places:
    """Sources and local rows in input order, appended batch by batch.

    Of a batch whose rows follow each other only the ends are kept. Rows are the documents' places in the run, from 0;
    local rows are the 1-based lines or rows that the readers count.
    """

    def __init__(self) -> None:
        self.sources: list[str] = []
        """Names of the sources that gave documents, in the order of their first."""
        self._known: dict[str, int] = {}
        self._batches: list[tuple[int, ...]] = []
        self._table = np.empty((0, _FIELDS), dtype=np.int64)
        self._rows: Column = MemoryColumn(np.int64)
        self._stored: Column | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Bytes held in memory."""
        return 350 * len(self._batches) + (self._rows.nbytes if self._stored is None else 0)

    def append(self, batch: Batch, id_kind: int = 0, id_base: int = 0) -> None:
        """Add a batch."""
        source = self._known.setdefault(batch.source, len(self.sources))
        if source == len(self.sources):
            self.sources.append(batch.source)
        n = len(batch.documents)
        if n == 0:
            return
        first, last = int(batch.rows[0]), int(batch.rows[-1])
        base = -1
        if last - first + 1 != n:
            base = len(self._rows)
            self._rows.append(batch.rows)
        self._batches.append((self._size, n, source, first, base, id_kind, id_base))
        self._size += n
        if self._stored is not None:
            self._stored.append(np.array(self._batches[-1:], dtype=np.int64))

    def spill(self, workdir: Workdir) -> None:
        """Go on in files."""
        rows = workdir.column("place-rows", np.int64)
        for _, values in self._rows.scan(1 << 16):
            rows.append(values)
        self._rows = rows
        self._stored = workdir.column("place-batches", np.int64, _FIELDS)
        if self._batches:
            self._stored.append(np.array(self._batches, dtype=np.int64))

    def state(self) -> dict[str, Any]:
        """JSON values from which ``restore`` makes it again, with its files."""
        return {"sources": self.sources}

    def restore(self, workdir: Workdir, state: dict[str, Any]) -> None:
        """Become what an interrupted run's was."""
        self.__init__()  # type: ignore[misc]
        self.sources = list(state["sources"])
        self._known = {name: number for number, name in enumerate(self.sources)}
        self._rows = workdir.column("place-rows", np.int64)
        self._stored = workdir.column("place-batches", np.int64, _FIELDS)
        self._batches = [tuple(entry) for _, table in self._stored.scan(1 << 12) for entry in table.tolist()]
        self._size = sum(entry[SIZE] for entry in self._batches)

    def locate(self, rows: I64) -> tuple[I64, I64]:
        """Number of the source and local row of each of ``rows``, int64[m] both."""
        table = self.table
        at = np.searchsorted(table[:, START], rows, side="right") - 1
        inside = rows - table[at, START]
        local = table[at, _FIRST] + inside
        base = table[at, _BASE]
        gaps = np.flatnonzero(base >= 0)
        if gaps.size:
            local[gaps] = self._rows.take(base[gaps] + inside[gaps])
        return table[at, _SOURCE], local

    def span(self, source: int) -> tuple[int, int]:
        """First row of a source and the row behind its last; sources are read one after the other."""
        table = self.table
        mine = np.flatnonzero(table[:, _SOURCE] == source)
        if not mine.size:
            return 0, 0
        last = table[mine[-1]]
        return int(table[mine[0], START]), int(last[START] + last[SIZE])

    def documents(self) -> I64:
        """int64[sources]: documents that each source gave."""
        table = self.table
        counts = np.zeros(len(self.sources), dtype=np.int64)
        np.add.at(counts, table[:, _SOURCE], table[:, SIZE])
        return counts

    @property
    def table(self) -> I64:
        """int64[batches, fields]: the batches that have documents, in order."""
        if len(self._table) != len(self._batches):
            self._table = np.array(self._batches, dtype=np.int64).reshape(-1, _FIELDS)
        return self._table
