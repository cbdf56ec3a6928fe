"""What is cut of which document of a run, decided once: to be told, listed, and written by ``tasks.dedup``."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import flags, numbers
from neardup.tasks.repeats.cutting import CutDocument, KeptCuts
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.second import second_pass
from neardup.tasks.repeats.settings import Cutting
from neardup.types import I64, Mask

MOST_ROWS = (1 << 62) - 1
_NAMED = 5
"""The number of documents of each kind that are named in the facts."""


class DecidedCuts:
    """Documents that are cut, and what is left of them: 33 bytes for each document, and 24 for each cut."""

    def __init__(self, run: PassageRun, cutting: Cutting) -> None:
        """Read the inputs, find what repeats, and what is cut of which document."""
        self.cutting = cutting
        self._run = run
        self._cuts = KeptCuts(run.find(), run.space)
        self._local: dict[str, I64] = {}
        self._spared = array("q")
        facts = array("q")
        for each in run.cut_documents(cutting, self._spared):
            facts.extend((each.row, each.cut_bytes, each.left))
            self._cuts.append(each)
        self._rows, self._lost, self._left = np.array(facts, dtype=np.int64).reshape(-1, 3).T.copy()
        self._kept: Mask = self._left >= cutting.least_left

    def second_pass(self) -> dict[str, Any]:
        """What the same search would find in the copies, as JSON values."""
        found = second_pass(self._run, self._cuts.documents(), self.cutting.least_left).as_dict()
        return {name: found[name] for name in ("spans", "passages", "repeated_bytes", "later_bytes", "bytes")}

    def losses(self) -> tuple[I64, I64]:
        """Rows of the documents that are cut, rising, and the bytes that each loses."""
        return self._rows, self._lost

    def facts(self) -> dict[str, Any]:
        """What is cut, as JSON values."""
        out, spared = self._rows[~self._kept], np.array(self._spared, dtype=np.int64)
        ids = self._run.provenance.ids
        return {
            **asdict(self.cutting),
            "documents": self._rows.size,
            "bytes": int(self._lost.sum()),
            "left_out": out.size,
            "left_out_ids": ids.take(out[:_NAMED]).to_pylist(),
            "left_whole": spared.size,
            "left_whole_ids": ids.take(spared[:_NAMED]).to_pylist(),
        }

    def table(self) -> pa.Table:
        """id, cut_bytes, left (characters) and kept of each document that is cut, in the order of the input."""
        columns = {
            "id": self._run.provenance.ids.take(self._rows),
            "cut_bytes": numbers(self._lost),
            "left": numbers(self._left),
            "kept": flags(self._kept),
        }
        return pa.table(columns)

    def rows_of(self, source: str) -> tuple[I64, Mask]:
        """The lines or rows of a source whose documents are cut, rising, and which of these are kept."""
        mine = self._part(source)
        if source not in self._local:
            self._local[source] = self._run.provenance.places.locate(self._rows[mine])[1]
        return self._local[source], self._kept[mine]

    def documents_of(self, source: str, first: int = 0, last: int = MOST_ROWS) -> Iterator[tuple[int, CutDocument]]:
        """Yield each of these from row ``first`` to row ``last``, with its row."""
        local = self.rows_of(source)[0]
        low, high = np.searchsorted(local, (first, last + 1)).tolist()
        begin = self._part(source).start
        yield from zip(local[low:high].tolist(), self._cuts.documents(begin + low, begin + high), strict=True)

    def _part(self, source: str) -> slice:
        """Which of the documents that are cut are of a source."""
        return slice(*np.searchsorted(self._rows, self._run.provenance.places.span_of(source)).tolist())
