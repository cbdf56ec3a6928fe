"""Which documents may form pairs at all, where not all with all: those of different people, and none among sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neardup.types import F64, I32, I64, Mask


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two documents may form a pair unless they have one group, or both are references."""

    group: I32 | None
    """int32[n]: a number for each document, the same for documents that are not compared with each other; -1: of no
    group, compared with all. None: there are no groups."""
    is_reference: Mask | None
    """bool[n]: documents that are compared with the others and not among themselves. None: there are none."""

    def allows(self, left: I64, right: I64) -> Mask:
        """bool[m]: which of the pairs of rows may be formed. O(m)."""
        allowed = np.ones(left.size, dtype=np.bool_)
        if self.group is not None:
            allowed &= (self.group[left] != self.group[right]) | (self.group[left] < 0)
        if self.is_reference is not None:
            allowed &= ~(self.is_reference[left] & self.is_reference[right])
        return allowed

    def restricted(self, check: Callable[[I64, I64, float], F64]) -> Callable[[I64, I64, float], F64]:
        """A check that leaves out what may form no pair: those have NaN, and their texts are not looked at."""

        def restricted(left: I64, right: I64, threshold: float) -> F64:
            similarity = np.full(left.size, np.nan)
            some = np.flatnonzero(self.allows(left, right))
            similarity[some] = check(left[some], right[some], threshold)
            return similarity

        return restricted
