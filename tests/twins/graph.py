"""Components by walking, stars by the greedy rule as it is stated, runs of pairs by counting rows in a set."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np


def _neighbours(left: np.ndarray, right: np.ndarray, n: int) -> list[set[int]]:
    near: list[set[int]] = [set() for _ in range(n)]
    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        near[a].add(b)
        near[b].add(a)
    return near


def components(left: np.ndarray, right: np.ndarray, n: int) -> list[int]:
    """Smallest row of each row's component."""
    near = _neighbours(left, right, n)
    label = [-1] * n
    for row in range(n):  # rising, so the first row of a component is its smallest
        walk = [row] if label[row] < 0 else []
        while walk:
            at = walk.pop()
            label[at] = row
            walk.extend(other for other in near[at] if label[other] < 0)
    return label


def stars(left: np.ndarray, right: np.ndarray, order: np.ndarray, n: int, fixed: Collection[int] = ()) -> list[int]:
    """Keeper of each row: in ``order``, a free or fixed row keeps its free neighbours, and a free one itself."""
    near = _neighbours(left, right, n)
    keeper = [-1] * n
    for row in order.tolist():
        is_free = keeper[row] < 0
        if is_free or row in fixed:
            taken = {other for other in near[row] if keeper[other] < 0}
            for other in taken | ({row} if is_free else set()):
                keeper[other] = row
    return keeper


def reach(left: np.ndarray, right: np.ndarray, cost: np.ndarray, begin: int, budget: int) -> int:
    """End of the longest run from ``begin`` whose distinct rows cost at most ``budget``; one pair at least."""
    for end in range(left.size, begin + 1, -1):
        rows = {*left[begin:end].tolist(), *right[begin:end].tolist()}
        if sum(int(cost[row]) for row in rows) <= budget:
            return end
    return min(begin + 1, left.size)
