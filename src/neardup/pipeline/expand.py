"""From representatives back to all rows: pairs and clusters with the exact copies in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neardup.params import Spec
from neardup.pipeline.copies import Copies
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


def _cross(a: I64, b: I64) -> tuple[I64, I64]:
    return np.repeat(a, b.size), np.tile(b, a.size)


def _spell(pairs: Pairs, copies: Copies, crowd: I64, speaker: I64, spec: Spec) -> Pairs:
    weight = copies.weight
    plain = (weight[pairs.left] == 1) & (weight[pairs.right] == 1)
    lefts, rights, values = [pairs.left[plain]], [pairs.right[plain]], [pairs.similarity[plain]]
    rest = np.flatnonzero(~plain)
    triples = zip(pairs.left[rest].tolist(), pairs.right[rest].tolist(), pairs.similarity[rest].tolist(), strict=True)
    for left, right, similarity in triples:
        a, b = copies.of(left), copies.of(right)
        if crowd[left] >= 0 and crowd[left] == crowd[right]:
            # a star: the leader is named by one row, its member's copies are all listed
            a = speaker[left : left + 1] if crowd[left] == left else a
            b = speaker[right : right + 1] if crowd[right] == right else b
        elif a.size + b.size > spec.crowd:
            # too many to cross: one row speaks for the larger group
            a, b = (speaker[left : left + 1], b) if a.size >= b.size else (a, speaker[right : right + 1])
        x, y = _cross(a, b)
        lefts.append(x)
        rights.append(y)
        values.append(np.full(x.size, similarity))
    for row in copies.rows[weight[copies.rows] > 1].tolist():
        group = copies.of(row)
        if crowd[row] < 0:
            i, j = np.triu_indices(group.size, 1)
            lefts.append(group[i])
            rights.append(group[j])
        elif crowd[row] == row:
            others = group[group != speaker[row]]
            lefts.append(np.full(others.size, speaker[row]))
            rights.append(others)
        else:
            continue
        values.append(np.ones(lefts[-1].size))
    x, y, similarity = np.concatenate(lefts), np.concatenate(rights), np.concatenate(values)
    left, right = np.minimum(x, y), np.maximum(x, y)
    order = np.lexsort((right, left))
    return Pairs(left[order], right[order], similarity[order])
