"""A preset from the texts alone, without a single answer: which, why, and how sure it is.

The kind of text decides (script, marks of code, quoted lines), and the shape of the similarities says how sure that is:
where few pairs lie near the threshold and many above it, moving it would change little.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.engine.fit import QUOTING, look
from neardup.params import preset_options
from neardup.tasks.tune.grid import Setting
from neardup.tasks.tune.pool import Pool

LOOKED_AT, BEGINNING = 500, 1000
"""Texts, and characters of each, that tell the kind."""
SHORT = 300
"""Characters of half the texts up to which they are records."""
BESIDE = 0.1
"""About the threshold: pairs so near to it are in doubt."""
DOUBTFUL = 0.5
"""Pairs in doubt for each one surely above, from which nothing is sure."""
FEWEST = 5
"""Pairs above the threshold below which the shape says nothing."""
_QUOTED = re.compile(r"^\s*[>|]", re.MULTILINE)
_INDENTED = re.compile(r"^(?:\t| {2,})\S", re.MULTILINE)


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
    preset, reason = _kind([text[:BEGINNING] for text in texts[:LOOKED_AT]], texts)
    own = preset_options(preset)
    threshold, column = own["threshold"], _column(pool, own["shingle"], own["normalize"])
    similarity, weight = pool.similarity[:, column], pool.weight
    above = float(weight[similarity >= threshold + BESIDE].sum())
    near = float(weight[np.abs(similarity - threshold) < BESIDE].sum())
    doubt = ""
    if above < FEWEST:
        doubt = f"hardly any pair is clearly above {threshold:g}: about {above:,.0f}"
    elif near > DOUBTFUL * above:
        doubt = f"about {near:,.0f} pairs lie near {threshold:g}, and {above:,.0f} clearly above it"
    return Proposal(preset, reason, not doubt, doubt, above, near)


def _column(pool: Pool, shingle: str, normalize: str) -> int:
    """The setting of the pool that is most like a preset's: the same shingle, and its normalisation if it is there."""
    same = [k for k, each in enumerate(pool.settings) if each.shingle == shingle]
    wanted = Setting(shingle, normalize)
    return pool.settings.index(wanted) if wanted in pool.settings else same[0]


def _kind(beginnings: Sequence[str], texts: Sequence[str]) -> tuple[str, str]:
    """The preset for the kind of some texts, and how it is known."""
    has_no_spaces, has_marks = look(beginnings) if beginnings else (False, False)
    if has_no_spaces:
        return "unsegmented", "most texts are in a script without spaces between words"
    if has_marks and _share(_INDENTED, beginnings) > 0.5:
        return "code", "most texts have the marks and the indentation of source code"
    if _share(_QUOTED, beginnings) > QUOTING:
        return "web", "many texts quote lines of others, as messages do"
    half = int(np.median([len(text) for text in texts])) if texts else 0
    if half <= SHORT:
        return "articles", f"the texts are short, half of them of {half:,} characters at most, and so are its shingles"
    return "articles", f"the texts are prose, half of them of {half:,} characters or more"


def _share(mark: re.Pattern[str], texts: Sequence[str]) -> float:
    return sum(mark.search(text) is not None for text in texts) / max(1, len(texts))
