"""A preset from the texts alone, without a single answer: which, why, and how sure it is.

The kind of text decides (``engine.kind``, which the hints of searches are made of too), and the shape of the
similarities says how sure that is: where few pairs lie near the threshold and many above it, moving it would change
little.
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
"""Texts, and characters of each, that tell the kind."""
BESIDE = 0.1
"""About the threshold: pairs so near to it are in doubt."""
DOUBTFUL = 0.5
"""Pairs in doubt for each one surely above, from which nothing is sure."""
FEWEST = 5
"""Pairs above the threshold below which the shape says nothing."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A preset for a collection."""

    preset: str
    reason: str
    """What of the texts speaks for it."""
    is_sure: bool
    doubt: str
    """Why it is not sure; empty if it is."""
    above: float
    """Pairs clearly above its threshold, about."""
    near: float
    """Pairs near it, which may be duplicates or not."""

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def propose(texts: Sequence[str], pool: Pool) -> Proposal:
    """The preset for some texts and the pairs among them; ``texts`` need be beginnings only."""
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
    """The setting of the pool that is most like a preset's: the same shingle, and its normalisation if it is there."""
    same = [k for k, each in enumerate(pool.settings) if each.shingle == shingle]
    wanted = Setting(shingle, normalize)
    return pool.settings.index(wanted) if wanted in pool.settings else same[0]
