"""Partners by counting: which shingles are kept, and whom each document shares enough of them with."""

from __future__ import annotations

from collections import Counter

import numpy as np
from tests.twins.hashing import ALL, Params, shingle_hashes


def count(params: Params, texts: list[bytes], bound: int, cells: int) -> Counter[int]:
    """How many shingles of the texts, with repeats, fall into each cell."""
    hashes = (h for text in texts for h in shingle_hashes(params, text))
    return Counter(cell_of(h, cells) for h in hashes if h < bound)


def cell_of(value: int, cells: int) -> int:
    """The place of a hash among so many: by its bits from the twelfth on."""
    return (value >> 12) % cells


def choose(
    offsets: np.ndarray, hashes: np.ndarray, bound: int, common: list[int], seen: int, threshold: float,
    share: float, spare: float,
) -> list[tuple[list[int], int, int]]:  # fmt: skip
    """Of each set: the shingles kept, how many a partner holds of them, and how many in all."""
    chosen = []
    for s in range(offsets.size - 1):
        row = hashes[offsets[s] : offsets[s + 1]].tolist()
        held = {h: min(seen, common[cell_of(h, len(common))]) for h in row}
        rare = sorted((h for h in row if h < bound), key=lambda h: (min(1023, held[h]), h))
        least = next(m for m in range(len(row) + 1) if m / len(row) >= threshold)
        lacking = len(row) - least
        kept = row
        strangers = 0.0
        for i, h in enumerate(rare, 1):
            strangers += max(0, held[h] - 1) / max(1, seen - 1)
            if i - lacking >= 1.5 * strangers + share * lacking + spare:
                kept = rare[:i]
                break
        chosen.append((kept, len(kept) - lacking, least))
    return chosen


def scan(
    params: Params,
    texts: list[bytes],
    threshold: float,
    sizes: list[int],
    sets: list[tuple[list[int], int, int]],
    plain: int,
    rows: list[int],
    own: list[int],
    crowded: list[bool],
) -> set[tuple[int, int]]:
    """(row, set) of every document and set that share enough kept shingles, are not too unlike in size and may be a
    pair."""
    found = set()
    for text, row, inside in zip(texts, rows, crowded, strict=True):
        hashes = {min(h, ALL - 1) for h in shingle_hashes(params, text)}
        for s, (kept, needed, least) in enumerate(sets):
            if own[s] == row or len(hashes) < least or (inside and s >= plain):
                continue
            shared = len(hashes & set(kept))
            most = shared + sizes[s] - len(kept)
            # the most that the two can have in common, over the least that they then come to together
            if shared >= needed and most >= threshold * (len(hashes) + sizes[s] - most) * (1 - 1e-12):
                found.add((row, s))
    return found
