"""Pairs of copies by ``itertools``."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np


def _group(row: int, starts: np.ndarray, members: np.ndarray) -> list[int]:
    return members[starts[row] : starts[row + 1]].tolist()


def cross_copies(
    left: np.ndarray, right: np.ndarray, similarity: np.ndarray, starts: np.ndarray, members: np.ndarray
) -> list[list]:
    """Every row of each left group with every row of its right group: smaller row, larger row, similarity."""
    rows = [
        (min(a, b), max(a, b), share)
        for x, y, share in zip(left.tolist(), right.tolist(), similarity.tolist(), strict=True)
        for a, b in product(_group(x, starts, members), _group(y, starts, members))
    ]
    return [[row[i] for row in rows] for i in range(3)]


def pair_copies(rows: np.ndarray, starts: np.ndarray, members: np.ndarray) -> list[list]:
    """Every pair inside the group of each of ``rows``; groups are rising, so the smaller row comes first."""
    pairs = [pair for row in rows.tolist() for pair in combinations(_group(row, starts, members), 2)]
    return [[pair[i] for pair in pairs] for i in range(2)]
