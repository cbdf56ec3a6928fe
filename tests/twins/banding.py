"""Band keys, buckets by a dict, every pair of a bucket, leaders one after another."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from tests.twins.hashing import ALL, M1, mix


def band_keys(values: np.ndarray, rows: np.ndarray, first: int, width: int, keys: np.ndarray) -> None:
    """Key of slots ``first`` to ``first + width`` of each of ``rows``."""
    for i, row in enumerate(rows):
        x = (first + 1) * M1 & ALL
        for value in values[row, first : first + width].tolist():
            x = mix((x + value) & ALL)
        keys[i] = x


def buckets(keys: np.ndarray, rows: np.ndarray) -> set[tuple[int, ...]]:
    """Groups of two rows and more with one key, each in the order of ``rows``."""
    groups: dict[int, list[int]] = {}
    for key, row in zip(keys.tolist(), rows.tolist(), strict=True):
        groups.setdefault(key, []).append(row)
    return {tuple(group) for group in groups.values() if len(group) > 1}


def matches(values: np.ndarray, a: int, b: int) -> int:
    """Slots in which two signatures agree."""
    return sum(x == y for x, y in zip(values[a].tolist(), values[b].tolist(), strict=True))


def agree(values: np.ndarray, a: int, b: int, band: int, width: int) -> bool:
    """Whether two signatures agree in all rows of a band."""
    part = slice(band * width, (band + 1) * width)
    return values[a, part].tolist() == values[b, part].tolist()


def bucket_pairs(
    members: np.ndarray,
    starts: np.ndarray,
    values: np.ndarray,
    band: int,
    width: int,
    min_matches: int,
    crowd: np.ndarray,
    by_crowd: bool,
) -> tuple[list[tuple[int, int]], int]:
    """All pairs of all buckets, smaller row first, and how many were met before the filter.

    ``by_crowd`` promises an order of the members and changes no answer.
    """
    pairs, met = [], 0
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        for a, b in combinations(members[begin:end].tolist(), 2):
            if crowd[a] >= 0 and crowd[a] == crowd[b]:
                continue
            if band >= 0 and [each for each in range(band + 1) if agree(values, a, b, each, width)] != [band]:
                continue
            met += 1
            if matches(values, a, b) >= min_matches:
                pairs.append((min(a, b), max(a, b)))
    return pairs, met


def star_leaders(
    members: np.ndarray,
    values: np.ndarray,
    leader: np.ndarray,
    known: np.ndarray,
    most: int,
    min_matches: int,
    best: np.ndarray,
) -> None:
    """Nearest leader of each member, the earlier one of two equally near, or -1."""
    leaders = known.tolist()[:most]
    best[:] = -1
    for i, row in enumerate(members.tolist()):
        if leader[row] >= 0 or row in leaders:
            continue
        near = [lead for lead in leaders if matches(values, row, lead) >= min_matches]
        if near:
            best[i] = max(near, key=lambda lead: matches(values, row, lead))
        elif len(leaders) < most:
            leaders.append(row)
