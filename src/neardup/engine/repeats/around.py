"""What stands around anchors: the text, the documents, and the stretches of short period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.engine.repeats.choice import Choice
from neardup.engine.repeats.text import EndToEnd
from neardup.engine.repeats.units import Window
from neardup.kernels import anchors
from neardup.types import I64, U64

PLACE = np.uint64((1 << anchors.PLACES) - 1)


def places_of(rows: U64) -> I64:
    """int64[n]: the place of the first window of each anchor (uint64[n, 2], key and anchor)."""
    return ((rows[:, 1] >> anchors.BITS24) & PLACE).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Around:
    """A text whose anchors are grouped."""

    text: EndToEnd
    window: Window
    loops: I64
    """int64[m, 3], as ``anchors.select_anchors`` has them, in the order of the text."""
    choice: Choice
    """Which windows count."""

    def documents(self, places: I64) -> I64:
        """int64[n]: the document of each place."""
        found: I64 = np.searchsorted(self.text.offsets, places, side="right") - 1
        return found

    def weights(self, places: I64) -> I64:
        """int64[n]: the windows that the one at each place stands for: more than 1 in the first period of a loop."""
        weights = np.ones(places.size, dtype=np.int64)
        if self.loops.size:
            of = np.searchsorted(self.loops[:, 0], places, side="right") - 1
            begin, period, last = self.loops[np.maximum(of, 0)].T
            is_head = (of >= 0) & (places < begin + period)
            weights[is_head] += ((last - places) // period)[is_head]
        return weights
