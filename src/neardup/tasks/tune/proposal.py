"""Propose a preset from the texts alone, without any answers, with a reason and a degree of certainty.

The kind of text decides (``engine.kind``, which also gives the hints of searches). The distribution of similarities
says how certain the proposal is: if few pairs are near the threshold and many above it, moving the threshold would
change little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.engine.kind import half_of, kind_of
from neardup.params import preset_options
from neardup.tasks.tune.grid import Setting
from neardup.tasks.tune.pool import Pool

LOOKED_AT, BEGINNING = 500, 1000
"""The number of texts, and of characters of each, that decide the kind."""
BESIDE = 0.1
"""The distance from the threshold within which a pair is in doubt."""
DOUBTFUL = 0.5
"""The number of doubtful pairs for each pair above the threshold from which a proposal is uncertain."""
FEWEST = 5
"""The fewest pairs above the threshold for which the distribution says anything."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed preset for a collection."""

    preset: str
    reason: str
    """The property of the texts that supports the preset."""
    is_sure: bool
    doubt: str
    """The reason for uncertainty; empty if the proposal is certain."""
    above: float
    """The approximate number of pairs clearly above the threshold."""
    near: float
    """The approximate number of pairs near the threshold, which may or may not be duplicates."""

    def as_dict(self) -> dict[str, Any]:
        """Return the proposal as plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def propose(texts: Sequence[str], pool: Pool) -> Proposal:
    """Propose a preset for some texts and the pairs among them. The beginnings of the texts are enough."""
    half = half_of(texts)
    kind = kind_of([text[:BEGINNING] for text in texts[:LOOKED_AT]], half)
    own = preset_options(kind.preset)
    threshold, column = own["threshold"], _column(pool, own["shingle"], own["normalize"])
    similarity, weight = pool.similarity[:, column], pool.weight
    above = float(weight[similarity >= threshold + BESIDE].sum())
    near = float(weight[np.abs(similarity - threshold) < BESIDE].sum())
    doubt = ""
    if not len(pool):
        doubt = "there are no two texts that are alike"
    elif above < FEWEST:
        doubt = f"hardly any pair is clearly above {threshold:g}: about {above:,.0f}"
    elif near > DOUBTFUL * above:
        doubt = f"about {near:,.0f} pairs lie near {threshold:g}, and {above:,.0f} clearly above it"
    return Proposal(kind.preset, kind.reason, not doubt, doubt, above, near)


def _column(pool: Pool, shingle: str, normalize: str) -> int:
    """Return the column of the setting with the same shingle, and if possible the same normalisation, as the preset."""
    same = [k for k, each in enumerate(pool.settings) if each.shingle == shingle]
    wanted = Setting(shingle, normalize)
    return pool.settings.index(wanted) if wanted in pool.settings else same[0]
