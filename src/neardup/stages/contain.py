"""Containment of shingle sets: which documents hold a set, or enough of it, none missed.

Here: ``Parts``, an index of the sets that may be part of something, and the probe of it with other sets in memory. Who
fetches texts, and how a collection larger than memory is passed over, is in ``engine.joins.containment``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.kernels import containing, rarest
from neardup.kernels.containing import Scratch
from neardup.stages.join import Rarity
from neardup.stages.shingle import SALT
from neardup.types import F64, I64, SetBlock

__all__ = ["Contained", "Parts", "Scratch"]

FURTHER_SHARE = 0.05
"""Of what a container may lack: so much more it must hold, or strangers would be counted in full too often."""
FURTHER = 4.0
"""Shingles that it must hold beside."""
SLACK = 64.0
"""Documents that the shingles taken for this may hold, together, beside as many as the first ones do."""
BITS_PER_KEY = 8
"""Of the bitmap, up to twice as many: one strange shingle in twenty is looked up in the table for nothing."""
ROOM = 1 << 14
"""Pairs that a probe has room for at first."""


@dataclass(frozen=True, slots=True)
class Contained:
    """Pairs of rows: ``part`` is the document that is contained."""

    part: I64
    whole: I64
    similarity: F64
    """The share of the part that the whole holds."""
    candidates_met: int
    """Pairs that shared one of the kept shingles."""
    overlaps_counted: int
    """Of these, pairs that shared enough of them to be counted in full."""


class Parts:
    """Sets that may be contained in others, indexed by their rarest shingles."""

    def __init__(self, sets: SetBlock, rarity: Rarity, threshold: float, *, documents: int) -> None:
        """Choose shingles and build the table. O(shingles).

        Args:
            sets: none empty.
            rarity: how rare shingles are among all documents, these and those that will be probed with.
            threshold: least share of a set that its container has.
            documents: how many there are in all.

        Memory: 8 bytes for each shingle that is kept while it is built, and 32 from then on.
        """
        n = sets.sizes.size
        self.sets, self.threshold = sets, threshold
        tokens = np.empty(int(sets.sizes.sum()), dtype=np.uint64)  # what is left over is never touched
        held, self._needed = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32)
        total = rarest.choose(
            *(sets, rarity.classes, rarity.bits, rarity.often, documents, threshold),
            *(FURTHER_SHARE, FURTHER, SLACK, tokens, held, self._needed),
        )
        self._table = rarest.Table(*rarest.table_of(tokens[:total], held, SALT, BITS_PER_KEY * total))

    def scratch(self) -> Scratch:
        """Fresh scratch."""
        n = self.sets.sizes.size
        return Scratch(np.zeros(n, dtype=np.int32), np.empty(n + 1, dtype=np.int32))

    def probe(self, others: SetBlock, scratch: Scratch) -> Iterator[Contained]:
        """Indexed sets that are contained in each of ``others``, some pairs at a time; these may be in any order.

        Of two sets the smaller is the part, and of equally large ones that of the smaller row: so each pair comes
        once, where all sets are indexed that can be part of something and all are probed with. A set is no part of
        itself.
        """
        state = np.zeros(4, dtype=np.int64)
        room = ROOM
        while state[0] < others.sizes.size:
            state[1] = state[2] = 0
            part, whole, similarity = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64)
            n = containing.probe(
                *(others, self.sets, self._needed, self._table, self.threshold),
                *(scratch, state, part, whole, similarity),
            )
            room = max(room, int(state[3]))
            yield Contained(part[:n], whole[:n], similarity[:n], int(state[1]), int(state[2]))
