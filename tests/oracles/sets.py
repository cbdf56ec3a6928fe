"""Pairs of sets whose Jaccard similarity is a given fraction exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

I64 = NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """How a pair is made: sizes of A alone, of both, of B alone."""

    left: int
    shared: int
    right: int

    @property
    def union(self) -> int:
        return self.left + self.shared + self.right

    @property
    def similarity(self) -> Fraction:
        return Fraction(self.shared, self.union)


def shape_at(similarity: Fraction, size: int, *, balanced: bool) -> Shape:
    """The smallest pair with a union of at least ``size`` and exactly this similarity.

    Balanced: what the two do not share is split evenly. Otherwise B lies inside A: |B|/|A| is the
    similarity, the most unequal sizes that reach it.
    """
    union = similarity.denominator * -(-size // similarity.denominator)
    shared = int(similarity * union)
    rest = union - shared
    right = rest // 2 if balanced else 0
    return Shape(rest - right, shared, right)


def many_pairs(shape: Shape, pairs: int, *, first: int = 0, step: int = 1) -> tuple[I64, I64]:
    """CSR (offsets, items) of 2 * pairs sets; sets 2i and 2i + 1 are pair i, no two pairs share an item.

    Items are the integers ``first + step * n``, consecutive in every pair: structured on purpose.
    """
    base = np.arange(pairs, dtype=np.int64)[:, None] * shape.union
    own = np.arange(shape.union, dtype=np.int64)[None, :]
    whole = first + step * (base + own)
    a = whole[:, : shape.left + shape.shared]
    b = whole[:, shape.left :]
    sizes = np.tile([a.shape[1], b.shape[1]], pairs)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return offsets, np.hstack([a, b]).ravel()


def as_table(offsets: I64, items: I64) -> pa.Table:
    """An Arrow table ``id, text`` with a list of integers a row."""
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(items))
    return pa.table({"id": np.arange(offsets.size - 1), "text": lists})
