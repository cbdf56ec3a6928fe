"""The chances of a screen, by enumeration and slot by slot, and the pairs that it lets pass, one after the other.

Nothing here is shared with the product: it multiplies polynomials band by band and compares words.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

Chances = NDArray[np.float64]


def enumerated(
    similarity: Fraction, bands: int, rows: int, slots: int, fields: int, width: int
) -> tuple[list[Fraction], list[Fraction]]:
    """Sum up all patterns of equal slots, and all patterns of the fields of slots that differ.

    Returns the chances of j agreeing fields together with one band that agrees, and with several.
    """
    one, several = [Fraction(0)] * (fields + 1), [Fraction(0)] * (fields + 1)
    by_chance = Fraction(1, 2**width)
    for equal in product([False, True], repeat=slots):
        met = sum(all(equal[band * rows : (band + 1) * rows]) for band in range(bands))
        if met == 0:
            continue
        chance = similarity ** sum(equal) * (1 - similarity) ** (slots - sum(equal))
        differing = fields - sum(equal[:fields])
        for lucky in product([False, True], repeat=differing):
            agreeing = sum(equal[:fields]) + sum(lucky)
            luck = by_chance ** sum(lucky) * (1 - by_chance) ** (differing - sum(lucky))
            (one if met == 1 else several)[agreeing] += chance * luck
    return one, several


def by_slots(
    similarities: Chances, bands: int, rows: int, slots: int, fields: int, width: int
) -> tuple[Chances, Chances]:
    """The same chances for many similarities, float64[similarities, fields + 1], one slot after the other."""
    t = similarities[:, None]
    # the chance of j agreeing fields, by the bands that agree (none, one, more) and whether this band does so far
    state = np.zeros((3, 2, similarities.size, fields + 1))
    state[0, 1, :, 0] = 1.0
    for slot in range(slots):
        equal, differ = np.zeros_like(state), state.sum(axis=1) * (1 - t)
        equal[:] = state * t
        if slot < fields:
            equal[..., 1:], equal[..., 0] = equal[..., :-1].copy(), 0.0
            lucky = np.zeros_like(differ)
            lucky[..., 1:] = differ[..., :-1]
            differ = differ * (1 - 0.5**width) + lucky * 0.5**width
        state = equal
        state[:, 0] += differ
        if slot % rows == rows - 1 and slot // rows < bands:
            whole, broken = state[:, 1], state[:, 0]
            state = np.zeros_like(state)
            state[:, 1] = broken  # the next band begins whole
            state[1, 1] += whole[0]
            state[2, 1] += whole[1] + whole[2]
    met = state.sum(axis=1)
    return met[1], met[2]


def share_lost(one: Chances, several: Chances, least: int, least_alone: int) -> Chances:
    """The share of the candidate pairs that a screen loses, by similarity."""
    lost = one[:, :least_alone].sum(axis=1) + several[:, :least].sum(axis=1)
    met = one.sum(axis=1) + several.sum(axis=1)
    share: Chances = np.divide(lost, met, out=np.zeros_like(lost), where=met > 0)
    return share


def agreeing(a: NDArray[np.uint32], b: NDArray[np.uint32], fields: int, width: int) -> int:
    """The number of fields in which two signatures agree."""
    return sum(x % 2**width == y % 2**width for x, y in zip(a.tolist()[:fields], b.tolist()[:fields], strict=True))


def checked_pairs(
    values: NDArray[np.uint32], bands: int, rows: int, screen: tuple[int, int, int, int], min_matches: int, small: int
) -> tuple[set[tuple[int, int]], int]:
    """Return the pairs that are worth an exact check, and the number of candidates.

    These are meetings: in each small bucket, and in a large one if it is of the first band. Pairs that pass by their
    fields count once.

    ``screen`` has fields, width, least and least alone. It decides on pairs of buckets of up to ``small`` members. In
    larger buckets ``min_matches`` equal slots are asked for, in the first band where both documents agree.
    """
    fields, width, least, least_alone = screen
    buckets: list[list[list[int]]] = []
    for band in range(bands):
        groups: dict[bytes, list[int]] = defaultdict(list)
        for row, signature in enumerate(values):
            groups[signature[band * rows : (band + 1) * rows].tobytes()].append(row)
        buckets.append(list(groups.values()))
    in_large = {row for groups in buckets for group in groups if len(group) > small for row in group}
    met: dict[tuple[int, int], list[bool]] = defaultdict(list)
    for groups in buckets:
        for group in groups:
            for pair in combinations(group, 2):
                met[pair].append(len(group) <= small)
    passing, candidates = set(), 0
    for (a, b), is_small in met.items():
        same_slots = int((values[a] == values[b]).sum())
        is_vouched = not is_small[0] and same_slots >= min_matches
        is_alone = sum(is_small) == 1 and not (a in in_large and b in in_large)
        needed = least_alone if is_alone else least
        is_near = any(is_small) and agreeing(values[a], values[b], fields, width) >= needed
        if is_vouched or is_near:
            passing.add((a, b))
        once = is_near and not is_vouched
        candidates += (not is_small[0]) + (1 if once else sum(is_small))
    return passing, candidates
