"""What a document that goes has in common with the one it goes for: which is part of which, and the longest passage.

Texts are those that people wrote, not the normalised ones, and places are characters of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import nullable, numbers, strings
from neardup.engine.joins.containment import sizes_of
from neardup.engine.results.passages import Marker
from neardup.engine.state import SearchState
from neardup.engine.threads import in_order
from neardup.params import CONTAINMENT
from neardup.stages.passages import Occurrences, find_stretch
from neardup.tasks.dedup.choose import Removals
from neardup.types import I64

PASSAGE = 200
"""Characters of a passage that the table shows, at most."""
TEXT_BYTES = 120
"""Memory for each byte of two texts while their passages are looked for."""
MOST_KNOWN = 1 << 18
"""Shingles of documents that are kept for others, of 24 bytes, that each thread remembers."""
CONTAINED = ("removed", "both", "keeper")
"""Which of the two is part of the other: where the one that goes has the smaller set, one as large, the larger."""


class SharedPassages:
    """Columns of the table of removals: ``contained``, where the measure is containment, and those of the passage."""

    def __init__(self, search: SearchState, chosen: Removals) -> None:
        """The run must have kept its texts as they were written."""
        spec = search.collection.spec
        self._search, self._chosen = search, chosen
        self._marker = Marker(shingle=spec.shingle, normalize=spec.normalize)
        self._sizes = None
        if spec.measure == CONTAINMENT:
            rows = np.union1d(chosen.rows, chosen.keeper)
            self._sizes = sizes_of(search.collection, rows, search.check.hasher, threads=search.tally.threads)

    @property
    def fields(self) -> list[tuple[str, Any]]:
        """Names and types."""
        contained = [] if self._sizes is None else [("contained", pa.large_string())]
        places = [(name, pa.int64()) for name in ("start", "end", "keeper_start", "keeper_end")]
        return [*contained, *places, ("passage", pa.large_string())]

    def starts(self, part: I64) -> list[tuple[int, int] | None]:
        """Where the passages of some of the removals begin in both texts; None where there is none."""
        places = self._found(part)[0]
        return [(own, other) if own >= 0 else None for own, _, other, _ in places.tolist()]

    def columns(self, part: slice) -> list[Any]:
        """Of some of the removals."""
        places, passages = self._found(part)
        known = places[:, 0] >= 0
        found = [nullable(numbers(places[:, i]), known) for i in range(4)]
        found.append(nullable(strings(passages), known))
        if self._sizes is not None:
            sides = self._sizes.sides(self._chosen.rows[part], self._chosen.keeper[part])
            found.insert(0, strings(CONTAINED).take(numbers(sides)))
        return found

    def _found(self, part: slice | I64) -> tuple[I64, list[str]]:
        """int64[m, 4], start and end in the document that goes and in the other, -1 for none; and the passages."""
        rows, keeper, texts = self._chosen.rows[part], self._chosen.keeper[part], self._search.collection.written
        assert texts is not None, "the run was not told to keep its texts"
        places, passages = np.full((rows.size, 4), -1, dtype=np.int64), [""] * rows.size

        def find(piece: slice) -> None:
            known: dict[int, Occurrences] = {}  # keepers come back
            own, others = (texts.take(each[piece], None).to_pylist() for each in (rows, keeper))
            every = zip(range(piece.start, piece.stop), keeper[piece].tolist(), own, others, strict=True)
            for at, row, mine, theirs in every:
                if TEXT_BYTES * (len(mine) + len(theirs)) > self._search.space.budget.work:
                    continue
                if row not in known:
                    if sum(each.hashes.size for each in known.values()) > MOST_KNOWN:
                        known.clear()
                    known[row] = self._marker.occurrences(theirs)
                found = find_stretch(self._marker.occurrences(mine), known[row])
                if found is not None:
                    places[at] = (*found[0], *found[1])
                    passages[at] = mine[found[0][0] : found[0][1]][:PASSAGE]

        if self._search.collection.spec.shingle.kind != "item":  # of sets there are no passages
            for _ in in_order(find, texts.pieces(rows, keeper, most=None), threads=self._search.tally.threads):
                pass
        return places, passages
