"""Partners by counting: which shingles are kept, and whom each document shares enough of them with."""

from __future__ import annotations

from collections import Counter

import numpy as np
from tests.twins.hashing import ALL, shingle_hashes


def rarity(hashes: np.ndarray, common: np.ndarray) -> None:
    """Count the hashes by their leading bits."""
    bits = common.size.bit_length() - 1
    for cell, count in Counter(h >> (64 - bits) for h in hashes.tolist()).items():
        common[cell] += count


def choose(
    offsets: np.ndarray, hashes: np.ndarray, common: np.ndarray, threshold: float, spare: float
) -> list[tuple[list[int], int, int]]:
    """Of each set: the shingles kept, rarest first, how many a partner holds of them, and how many in all."""
    bits = common.size.bit_length() - 1
    n = offsets.size - 1
    chosen = []
    for s in range(n):
        row = hashes[offsets[s] : offsets[s + 1]].tolist()
        held = {h: min(n, int(common[h >> (64 - bits)])) for h in row}
        row.sort(key=lambda h: (held[h], h))
        least = next(m for m in range(len(row) + 1) if m / len(row) >= threshold)
        lacking = len(row) - least
        take = len(row)
        strangers = 0.0
        for i, h in enumerate(row, 1):
            strangers += (held[h] - 1) / max(1, n - 1)
            if i - lacking >= 3.0 * strangers + 0.25 * lacking + spare:
                take = i
                break
        chosen.append((row[:take], take - lacking, least))
    return chosen


def scan(
    kind: int,
    k: int,
    seed: int,
    texts: list[bytes],
    letters: np.ndarray,
    sets: list[tuple[list[int], int, int]],
    plain: int,
    rows: list[int],
    own: list[int],
    crowded: list[bool],
) -> set[tuple[int, int]]:
    """(row, set) of every document and set that share enough kept shingles and may be a pair."""
    found = set()
    for text, row, inside in zip(texts, rows, crowded, strict=True):
        hashes = [min(h, ALL - 1) for h in shingle_hashes(kind, k, seed, text, letters)]
        for s, (kept, needed, least) in enumerate(sets):
            if own[s] == row or len(hashes) < least or (inside and s >= plain):
                continue
            if len(set(hashes) & set(kept)) >= needed:
                found.add((row, s))
    return found
