"""Exact copies: documents of one normalised text become one representative with a weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.pipeline.collect import Collection
from neardup.types import I64

__all__ = ["Copies", "find_copies"]


@dataclass(frozen=True, slots=True)
class Copies:
    """Which rows are copies of which."""

    representative: I64
    """int64[n]: the first row with the same text; -1 for an empty document."""
    rows: I64
    """Rows that are compared: the representatives, rising."""
    weight: I64
    """int64[n]: documents that a representative stands for; 0 elsewhere."""
    starts: I64
    """int64[n + 1] into ``members``."""
    members: I64
    """Rows of each representative's group, rising, at ``starts[row]``."""

    def of(self, row: int) -> I64:
        """All rows that have the text of representative ``row``, itself first."""
        return self.members[self.starts[row] : self.starts[row + 1]]


def find_copies(collection: Collection) -> Copies:
    """Group documents by the 128-bit hash of their normalised text. O(n)."""
    n = len(collection)
    rows = np.flatnonzero(collection.counts > 0)
    prints = collection.fingerprints[rows]
    representative = np.full(n, -1, dtype=np.int64)
    representative[rows] = rows
    order = np.argsort(prints[:, 0], kind="stable")
    keys = prints[order, 0]
    same = np.flatnonzero(keys[1:] == keys[:-1])
    if same.size:
        # only rows that share half of their hash with a neighbour are looked at closely
        close = np.unique(np.concatenate((order[same], order[same + 1])))
        _, first, back = np.unique(prints[close], axis=0, return_index=True, return_inverse=True)
        representative[rows[close]] = rows[close[first[back.ravel()]]]
    known = representative[rows]
    weight = np.bincount(known, minlength=n).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(weight)))
    members = rows[np.argsort(known, kind="stable")]
    return Copies(representative, np.flatnonzero(weight > 0), weight, starts, members)
