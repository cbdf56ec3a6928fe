"""Copies spelled out: from pairs of representatives to pairs of all rows. Finding the copies is in ``engine``."""

from __future__ import annotations

from neardup.kernels import spelling
from neardup.types import F64, I64

__all__ = ["cross_copies", "pair_copies"]


def cross_copies(left: I64, right: I64, similarity: F64, starts: I64, members: I64) -> tuple[I64, I64, F64]:
    """Every copy of each left row with every copy of its right row, at the similarity of the two.

    Args:
        left, right, similarity: pairs of representatives.
        starts, members: group of row r is ``members[starts[r]:starts[r + 1]]``, rising.

    Returns:
        smaller row, larger row, similarity. O(pairs written).
    """
    a, b, values = spelling.cross_copies(left, right, similarity, starts, members)
    return a, b, values


def pair_copies(rows: I64, starts: I64, members: I64) -> tuple[I64, I64]:
    """Every pair inside the group of each of ``rows``: smaller row, larger row. O(pairs written)."""
    a, b = spelling.pair_copies(rows, starts, members)
    return a, b
