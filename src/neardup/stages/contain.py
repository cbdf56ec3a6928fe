"""Containment of shingle sets: which documents hold a set, or enough of it, none missed.

Here: ``Parts``, an index of the sets that may be part of something, and the probe of it with other sets in memory. Who
fetches texts, and how a collection larger than memory is passed over, is in ``engine.joins.containment``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.kernels import containing, verify
from neardup.types import F64, I32, I64, U8, U64

__all__ = ["Contained", "Parts", "Rare", "Scratch", "Sets"]

SHARE = 0.05
"""Of what a container may lack: so much more it must hold, or strangers would be counted in full too often."""
SPARE = 4.0
"""Shingles that it must hold beside."""
SLACK = 64.0
"""Documents that the shingles taken for this may hold, together, beside as many as the first ones do."""
BITS_PER_KEY = 8
"""Of the bitmap, up to twice as many: one strange shingle in twenty is looked up in the table for nothing."""
ROOM = 1 << 14
"""Pairs that a probe has room for at first."""


@dataclass(frozen=True, slots=True)
class Rare:
    """How rare shingles are."""

    classes: U8
    """uint8[2**bits], by the leading bits of a shingle: 0 or 1 where no other document can share it, else rising."""
    bits: int
    often: F64
    """float64[256]: about how many documents hold a shingle of each class."""
    seen: int
    """Documents."""


@dataclass(frozen=True, slots=True)
class Sets:
    """Shingle sets in memory, and the documents that have them."""

    rows: I64
    sides: U8
    """1, 2 or 3; a pair needs both sides. 3 for all where any two may pair."""
    starts: I64
    """int64[n]: where each begins in ``hashes``."""
    sizes: I64
    hashes: U64

    def __len__(self) -> int:
        return self.rows.size


@dataclass(slots=True)
class Scratch:
    """What one thread writes on while it probes; may be used again for the same index."""

    hits: I32
    touched: I32


@dataclass(frozen=True, slots=True)
class Contained:
    """Pairs of rows: ``part`` is the document that is contained."""

    part: I64
    whole: I64
    similarity: F64
    """The share of the part that the whole holds."""
    met: int
    """Pairs that shared one of the kept shingles."""
    counted: int
    """Of these, pairs that shared enough of them to be counted in full."""


class Parts:
    """Sets that may be contained in others, indexed by their rarest shingles."""

    def __init__(self, own: Sets, rare: Rare, threshold: float) -> None:
        """Choose shingles and build the table. O(shingles).

        Args:
            own: in rising order of size, none empty.
            rare: how rare shingles are among all documents, these and those that will be probed with.
            threshold: least share of a set that its container has.

        Memory: 8 bytes for each shingle that is kept while it is built, and 32 from then on.
        """
        n = len(own)
        self.own, self.threshold = own, threshold
        tokens = np.empty(int(own.sizes.sum()), dtype=np.uint64)  # what is left over is never touched
        held, self._needed = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32)
        total = int(
            containing.rarest(
                *(own.hashes, own.starts, own.sizes, rare.classes, rare.bits, rare.often, rare.seen, threshold),
                *(SHARE, SPARE, SLACK, tokens, held, self._needed),
            )
        )
        tokens = tokens[:total]
        self._slots = np.full((total + total // 2 + 16, 2), verify.VACANT)
        self._marks = np.zeros(1 << max(0, (BITS_PER_KEY * total // 64).bit_length()), dtype=np.uint64)
        self._posts = np.empty(int(containing.enter(tokens, self._slots, self._marks)), dtype=np.int32)
        containing.post(tokens, held, self._slots, self._posts)

    def scratch(self) -> Scratch:
        """Fresh scratch."""
        n = len(self.own)
        return Scratch(np.zeros(n, dtype=np.int32), np.empty(n + 1, dtype=np.int32))

    def probe(self, others: Sets, scratch: Scratch) -> Iterator[Contained]:
        """Indexed sets that are contained in each of ``others``, some pairs at a time.

        Of two sets the smaller is the part, and of equally large ones that of the smaller row: so each pair comes
        once, where all sets are indexed that can be part of something and all are probed with. A set is no part of
        itself.
        """
        own = self.own
        state = np.zeros(4, dtype=np.int64)
        room = ROOM
        while state[0] < len(others):
            state[1] = state[2] = 0
            part, whole, similarity = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64)
            n = containing.probe(
                *(others.rows, others.sides, others.starts, others.sizes, others.hashes),
                *(own.rows, own.sides, own.starts, own.sizes, own.hashes, self._needed),
                *(self._marks, self._slots, self._posts, self.threshold),
                *(scratch.hits, scratch.touched, state, part, whole, similarity),
            )
            room = max(room, int(state[3]))
            yield Contained(part[:n], whole[:n], similarity[:n], int(state[1]), int(state[2]))
