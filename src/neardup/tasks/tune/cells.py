"""Cells, which are settings at a threshold: how many pairs each finds, and what share of them may be duplicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.tasks.tune.grid import THRESHOLDS, Setting
from neardup.types import F64, I64

F32 = NDArray[np.float32]


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
