"""From representatives back to all rows: pairs and clusters with the exact copies in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neardup.params import Spec
from neardup.pipeline.copies import Copies
from neardup.stages import copies as copy_stage
from neardup.types import F64, I64, Pairs

__all__ = ["Spelled", "expand"]


@dataclass(frozen=True, slots=True)
class Spelled:
    """Pairs and clusters of all rows."""

    pairs: Pairs
    members: I64
    label: I64
    keeper: I64
    similarity: F64
    speaker: I64
    """int64[n]: for each representative the row of its group that is named for it."""


def expand(
    pairs: Pairs,
    copies: Copies,
    crowd: I64,
    leads: I64,
    keeper: I64,
    label: I64,
    to_keeper: F64,
    spec: Spec,
    first_of: Callable[[I64], int],
) -> Spelled:
    """Spell out pairs and clusters of representatives for all rows. O(rows + pairs written).

    Outside crowds a pair of representatives stands for all pairs of their copies, and copies are pairs among
    themselves. In a crowd each row is listed with its leader's row only. With ``collapse_exact`` representatives
    speak for their copies.
    """
    n = copies.weight.size
    speaker = np.arange(n)
    for lead in leads[copies.weight[leads] > 1].tolist():
        speaker[lead] = first_of(copies.of(lead))
    if spec.collapse_exact or copies.rows.size == np.count_nonzero(copies.representative >= 0):
        spelled = pairs
    else:
        spelled = _spell(pairs, copies, crowd, speaker, spec)
    known = np.flatnonzero(copies.representative >= 0)
    of = copies.representative[known]
    keepers = speaker[keeper[of]]
    similarity = to_keeper[of]
    size = np.bincount(keepers, minlength=n)
    inside = size[keepers] > 1
    members, keepers, of = known[inside], keepers[inside], of[inside]
    return Spelled(spelled, members, label[of], keepers, similarity[inside], speaker)


def _spell(pairs: Pairs, copies: Copies, crowd: I64, speaker: I64, spec: Spec) -> Pairs:
    weight = copies.weight
    inside = (crowd[pairs.left] >= 0) & (crowd[pairs.left] == crowd[pairs.right])
    starred = inside | (weight[pairs.left] * weight[pairs.right] > spec.crowd**2)
    plain = ~starred
    found = [
        copy_stage.cross_copies(
            pairs.left[plain], pairs.right[plain], pairs.similarity[plain], copies.starts, copies.members
        )
    ]
    found += [
        _star(pairs, p, copies, crowd, speaker, is_crowd=bool(inside[p])) for p in np.flatnonzero(starred).tolist()
    ]
    several = copies.rows[weight[copies.rows] > 1]
    left, right = copy_stage.pair_copies(several[crowd[several] < 0], copies.starts, copies.members)
    found.append((left, right, np.ones(left.size)))
    for row in several[crowd[several] == several].tolist():
        group = copies.of(row)
        others = group[group != speaker[row]]
        found.append(_ordered(np.full(others.size, speaker[row]), others, 1.0))
    return Pairs.gathered(found)


def _star(pairs: Pairs, p: int, copies: Copies, crowd: I64, speaker: I64, *, is_crowd: bool) -> tuple[I64, I64, F64]:
    """Pair p where its copies are too many to cross: one row speaks for one side, all copies of the other are listed.

    Inside a crowd that row is the leader's, else the larger group's.
    """
    left, right = int(pairs.left[p]), int(pairs.right[p])
    a, b = copies.of(left), copies.of(right)
    speaks = crowd[left] == left if is_crowd else a.size >= b.size
    if speaks:
        return _ordered(np.full(b.size, speaker[left]), b, float(pairs.similarity[p]))
    return _ordered(a, np.full(a.size, speaker[right]), float(pairs.similarity[p]))


def _ordered(a: I64, b: I64, similarity: float) -> tuple[I64, I64, F64]:
    return np.minimum(a, b), np.maximum(a, b), np.full(a.size, similarity)
