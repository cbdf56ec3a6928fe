"""Cells, which are settings at a threshold: how many pairs each finds, and what share of them may be duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.tasks.tune.grid import THRESHOLDS, Setting
from neardup.types import F64, I64

F32 = NDArray[np.float32]
MOST = 1 << 18
"""Multiplications up to which OpenBLAS uses one thread."""
_ROWS = 4
"""Least rows of a block: a single one would be a product of another kind, which is shared out sooner."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a pool."""

    settings: tuple[Setting, ...]
    setting: I64
    """int64[c]: index into ``settings``."""
    threshold: F64
    """float64[c]."""
    found: F64
    """float64[c]: pairs of the collection that it finds, as the pool stands for them, beside those of equal texts."""
    equal: float
    """Pairs of equal texts, which each finds and which are duplicates."""

    @classmethod
    def of(cls, settings: tuple[Setting, ...], floors: F64, similarity: F32, weight: F64, equal: float) -> Cells:
        """All thresholds at or above the floor of each setting, counted on all pairs of a pool."""
        setting, threshold, found = [], [], []
        for k in range(len(settings)):
            own = [each for each in THRESHOLDS if each >= floors[k] - 1e-9]
            place = np.searchsorted(np.array(own, dtype=np.float32), similarity[:, k], side="right")
            counted = np.bincount(place, weights=weight, minlength=len(own) + 1)
            setting += [k] * len(own)
            threshold += own
            found.append(counted[::-1].cumsum()[::-1][1:])
        return cls(settings, np.array(setting, dtype=np.int64), np.array(threshold), np.concatenate(found), equal)

    def __len__(self) -> int:
        return self.setting.size

    def members(self, similarity: F32) -> F32:
        """float32[c, m]: 1 where a cell finds a pair. Similarities are of sets, so that float32 tells them apart."""
        return (similarity[:, self.setting] >= self.threshold.astype(np.float32)).T.astype(np.float32)

    def place(self, setting: Setting, threshold: float) -> int | None:
        """The cell of a setting at a threshold, if it is one."""
        if setting not in self.settings:
            return None
        is_it = (self.setting == self.settings.index(setting)) & np.isclose(self.threshold, threshold)
        return int(np.argmax(is_it)) if is_it.any() else None

    def f1(self, cells: I64, true: F64, duplicates: F64) -> F64:
        """float64[c, s]: F1 of some cells, of which ``true`` (float64[c, s]) pairs are among all ``duplicates``
        (float64[s]), both beside pairs of equal texts; 1 where there is nothing to find."""
        whole = self.found[cells, None] + duplicates[None] + 2 * self.equal
        value: F64 = np.where(whole > 0, 2 * (true + self.equal) / np.maximum(whole, 1e-12), 1.0)
        return value


def product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return ``left @ right``, of a matrix or a vector and a matrix, both of one type, without starting threads.

    OpenBLAS shares out all but the smallest products, and its threads wait for each other with their cores at work. A
    dialogue took five times as long as its work does, and more if other programs ran. In blocks, the calling thread
    makes each product, and the result does not depend on the number of cores.

    >>> product(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0], [10.0]])).tolist()
    [[21.0], [43.0]]
    """
    if left.ndim == 1:
        whole: NDArray[Any] = np.einsum("i,ij->j", left, right)
        return whole
    (m, k), n = left.shape, right.shape[1]
    columns = min(n, max(1, MOST // max(1, _ROWS * k)))
    rows = max(_ROWS, MOST // max(1, k * columns))
    made = np.empty((m, n), dtype=left.dtype)
    for row in range(0, m, rows):
        for column in range(0, n, columns):
            here = slice(row, row + rows), slice(column, column + columns)
            made[here] = left[here[0]] @ right[:, here[1]]
    return made
