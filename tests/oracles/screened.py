"""The pairs that banding finds, from signatures: buckets by a dict, fields compared as numbers, pair after pair."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from tests.oracles.screen import agreeing


@dataclass(frozen=True)
class Rules:
    """What decides which candidate pairs are checked."""

    bands: int
    rows: int
    min_matches: int
    fields: int
    width: int
    least: int
    least_alone: int
    small: int
    """Members of a bucket up to which its pairs are screened by fields; in larger ones whole signatures decide."""


def checked_pairs(values: NDArray[np.uint32], rules: Rules) -> tuple[set[tuple[int, int]], int]:
    """Give the pairs that are worth an exact check, and how often two documents share a bucket."""
    buckets: list[list[list[int]]] = []
    for band in range(rules.bands):
        groups: dict[bytes, list[int]] = defaultdict(list)
        for row, signature in enumerate(values):
            groups[signature[band * rules.rows : (band + 1) * rules.rows].tobytes()].append(row)
        buckets.append(list(groups.values()))
    in_large = {row for groups in buckets for group in groups if len(group) > rules.small for row in group}
    met: dict[tuple[int, int], list[bool]] = defaultdict(list)
    for groups in buckets:
        for group in groups:
            for pair in combinations(group, 2):
                met[pair].append(len(group) <= rules.small)
    passing = set()
    for (a, b), is_small in met.items():
        same_slots = int((values[a] == values[b]).sum())
        is_vouched = not is_small[0] and same_slots >= rules.min_matches
        is_alone = sum(is_small) == 1 and not (a in in_large and b in in_large)
        needed = rules.least_alone if is_alone else rules.least
        if is_vouched or (any(is_small) and agreeing(values[a], values[b], rules.fields, rules.width) >= needed):
            passing.add((a, b))
    return passing, sum(map(len, met.values()))
